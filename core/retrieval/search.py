"""The retriever: from a search plan to evidence, on the ports. It writes nothing and knows no language model."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol

from pincite.core.ports import Embedder, KeywordIndex, PassageIndex, Reranker
from pincite.core.retrieval.features import PageKey, describe_candidates
from pincite.core.retrieval.fuse import fuse_rankings
from pincite.core.retrieval.library import DECISIVE_MATCH, match_documents
from pincite.core.retrieval.pack import fill_budget, keep_best, to_evidence
from pincite.core.settings import Settings
from pincite.core.types import Candidate, Document, Passage, SearchPlan, SearchResult

SEARCH_DEPTH = 60
"""Results asked of each index per wording."""
MOST_OPENED_TARGETS = 3
"""With more targets than this their openings would crowd out what was found."""

Ranking = list[tuple[str, float]]


class Library(Protocol):
    """The part of the library that the retriever reads."""

    def list(self) -> Sequence[Document]: ...

    def passages(self, passage_ids: Sequence[str]) -> Sequence[Passage]:
        """Those of the passages that (still) exist, in any order."""

    def passages_of_pages(self, pages: Sequence[PageKey]) -> Sequence[Passage]:
        """All passages of (document id, page index) pairs, in reading order."""


@dataclass(frozen=True, slots=True)
class _Rankings:
    """What the indexes said: per wording, and the best score of each passage."""

    keyword: list[Ranking]
    printed: list[Ranking]
    dense: list[Ranking]


class Retriever:
    """Searches with words and meaning at once, fuses, reranks and packs."""

    def __init__(
        self,
        *,
        library: Library,
        keywords: KeywordIndex,
        vectors: PassageIndex,
        embedder: Embedder,
        reranker: Reranker,
        settings: Settings,
    ) -> None:
        self._library = library
        self._keywords = keywords
        self._vectors = vectors
        self._embedder = embedder
        self._reranker = reranker
        self._settings = settings
        self._pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="search")

    def search(self, plan: SearchPlan, *, context_characters: int, scope: Sequence[str] = ()) -> SearchResult:
        """Find evidence among the plan's target documents, else the scope, else everything. Empty evidence: nothing above the floor."""
        documents = {document.id: document for document in self._library.list()}
        ids = [identity for identity in (plan.document_ids or scope) if identity in documents]
        if (plan.document_ids or scope) and not ids:
            return SearchResult((), notes=("None of the chosen documents is in the library.",))
        retry = plan.attempt > 0
        floor = self._settings.retry_score_floor if retry else self._settings.score_floor
        most = self._settings.retry_kept if retry else self._settings.kept
        width = self._settings.candidates * (2 if retry else 1)
        matches = match_documents(
            plan.standalone_question, plan.time_ranges, [documents[i] for i in ids] if ids else list(documents.values())
        )
        affinity = {match.document_id: match.score for match in matches}
        named = [match.document_id for match in matches if match.score >= DECISIVE_MATCH]
        rankings = self._run_indexes(plan, ids, named)
        asked = self._asked_pages(plan, ids or named, documents)
        fused = self._fuse(rankings, asked, affinity, width)
        pages = self._pages_of(fused)
        counts = {identity: document.page_count for identity, document in documents.items()}
        described = describe_candidates(plan, fused, pages, counts)
        reranked = self._rerank(plan, described)
        targets = list(plan.document_ids) or named
        kept, left_out = keep_best(reranked, floor=floor, most=most, targets=targets)
        openings = self._openings(plan.document_ids) if kept else []
        chosen, over = fill_budget(kept, self._neighbours(kept, pages), openings, context_characters=context_characters)
        names = {identity: document.name for identity, document in documents.items()}
        return SearchResult(
            evidence=to_evidence(chosen, names),
            rankings={
                **self._index_rankings(rankings, fused),
                "fused": tuple(fused),
                "reranked": tuple(reranked),
                "packed": tuple(item.candidate for item in chosen if item.reason == "search"),
            },
            left_out=(*left_out, *over),
            reranker=self._reranker.name,
            score_floor=floor,
            notes=tuple(f"The question names {documents[identity].name}." for identity in named if identity not in ids),
        )

    def _run_indexes(self, plan: SearchPlan, ids: Sequence[str], named: Sequence[str]) -> _Rankings:
        """Ask both indexes for all wordings, over the scope and again within the documents that the question names."""
        main, others = plan.sub_queries[0], plan.sub_queries[1:]
        own = list(dict.fromkeys([main.text, *(query.text for query in others)]))
        printed = list(
            dict.fromkeys(text for query in plan.sub_queries for text in query.variations if text not in own)
        )
        scopes = [list(ids)] + ([list(named)] if named and set(named) != set(ids) else [])

        def by_words() -> tuple[list[Ranking], list[Ranking]]:
            def ask(texts: Sequence[str]) -> list[Ranking]:
                return [
                    self._keywords.search(text, document_ids=scope, limit=SEARCH_DEPTH)
                    for text in texts
                    for scope in scopes
                ]

            return ask(own), ask(printed)

        words = self._pool.submit(by_words)
        vectors = self._embedder.embed([*own, *printed[-1:]])
        dense = [
            self._vectors.search(vector, document_ids=scope, limit=SEARCH_DEPTH)
            for vector in vectors
            for scope in scopes
        ]
        keyword, expanded = words.result()
        return _Rankings(keyword, expanded, dense)

    def _asked_pages(
        self, plan: SearchPlan, document_ids: Sequence[str], documents: Mapping[str, Document]
    ) -> list[str]:
        """Ids of the passages on pages that the question names by position, where it is clear which documents are meant."""
        if not plan.wanted_pages or not 0 < len(document_ids) <= MOST_OPENED_TARGETS:
            return []
        keys = []
        for identity in document_ids:
            last = documents[identity].page_count
            for name in plan.wanted_pages:
                position = {"first": 1, "last": last}.get(name) or (int(name) if name.isdigit() else 0)
                keys += [(identity, position - 1)] if 0 < position <= last else []
        return [passage.id for passage in self._library.passages_of_pages(keys)]

    def _fuse(
        self, rankings: _Rankings, asked: Sequence[str], affinity: Mapping[str, float], width: int
    ) -> list[Candidate]:
        best = {
            "keyword": _best_scores(rankings.keyword),
            "keyword printed": _best_scores(rankings.printed),
            "dense": _best_scores(rankings.dense),
        }
        fused = fuse_rankings(
            ([identity for identity, _ in ranking], weight / max(len(group), 1))
            for group, weight in ((rankings.keyword, 1.0), (rankings.printed, 1.0), (rankings.dense, 1.5))
            for ranking in group
        )
        fused = [*((identity, 1.0) for identity in asked), *((i, score) for i, score in fused if i not in set(asked))]
        passages = {passage.id: passage for passage in self._library.passages([identity for identity, _ in fused])}
        weighted = [
            (identity, score * (1 + affinity.get(passages[identity].document_id, 0.0)))
            for identity, score in fused
            if identity in passages
        ]
        weighted.sort(key=lambda pair: (-pair[1], pair[0]))
        return [
            Candidate(
                passages[identity],
                {
                    **{name: scores[identity] for name, scores in best.items() if identity in scores},
                    "document match": affinity.get(passages[identity].document_id, 0.0),
                    "fused": score,
                },
            )
            for identity, score in weighted[:width]
        ]

    def _pages_of(self, candidates: Sequence[Candidate]) -> dict[PageKey, list[Passage]]:
        """All passages of the candidates' pages and of the pages beside them."""
        keys = dict.fromkeys(
            (c.passage.document_id, c.passage.page_index + step) for c in candidates for step in (-1, 0, 1)
        )
        pages: dict[PageKey, list[Passage]] = {}
        for passage in self._library.passages_of_pages(list(keys)):
            pages.setdefault((passage.document_id, passage.page_index), []).append(passage)
        return pages

    def _rerank(self, plan: SearchPlan, candidates: Sequence[Candidate]) -> list[Candidate]:
        scores = self._reranker.score(plan.sub_queries[0].text, candidates)
        scored = [
            replace(candidate, scores={**candidate.scores, "reranked": score})
            for candidate, score in zip(candidates, scores, strict=True)
        ]
        return sorted(scored, key=lambda c: (-c.scores["reranked"], -c.scores["fused"], c.passage.id))

    def _neighbours(
        self, kept: Sequence[Candidate], pages: Mapping[PageKey, Sequence[Passage]]
    ) -> dict[str, list[Passage]]:
        """The passage before and the passage after each kept one, across page breaks."""
        around: dict[str, list[Passage]] = {}
        for candidate in kept:
            document, page = candidate.passage.document_id, candidate.passage.page_index
            run = [p for step in (-1, 0, 1) for p in pages.get((document, page + step), ())]
            place = next((n for n, p in enumerate(run) if p.id == candidate.passage.id), None)
            if place is not None:
                around[candidate.passage.id] = [*run[max(place - 1, 0) : place], *run[place + 1 : place + 2]]
        return around

    def _openings(self, document_ids: Sequence[str]) -> list[Passage]:
        """The first passage of each targeted document: what it is, who wrote it, when."""
        if len(document_ids) > MOST_OPENED_TARGETS:
            return []
        first = self._library.passages_of_pages([(identity, 0) for identity in document_ids])
        return list({passage.document_id: passage for passage in reversed(first)}.values())[::-1]

    def _index_rankings(self, rankings: _Rankings, fused: Sequence[Candidate]) -> dict[str, tuple[Candidate, ...]]:
        """What each index alone would have answered to the question as asked, for the trace and the playground."""
        known = {candidate.passage.id: candidate for candidate in fused}
        tops = {"keyword": rankings.keyword[:1], "dense": rankings.dense[:1]}
        ids = [identity for group in tops.values() for ranking in group for identity, _ in ranking]
        passages = {p.id: p for p in self._library.passages([identity for identity in ids if identity not in known])}
        return {
            stage: tuple(
                known.get(identity) or Candidate(passages[identity], {stage: score})
                for ranking in group
                for identity, score in ranking
                if identity in known or identity in passages
            )
            for stage, group in tops.items()
        }


def _best_scores(rankings: Sequence[Ranking]) -> dict[str, float]:
    best: dict[str, float] = {}
    for ranking in rankings:
        for identity, score in ranking:
            best[identity] = max(score, best.get(identity, score))
    return best
