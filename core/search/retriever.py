"""The retriever: from a search plan to evidence, on the ports. It writes nothing and knows no language model."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol

from core.domain.documents import Document, DocumentStatus, Passage, document_of, page_of
from core.domain.errors import IndexMismatchError, ModelUnavailableError
from core.domain.ports import Embedder, KeywordIndex, PassageIndex, Reranker
from core.domain.search import Candidate, Reason, SearchPlan, SearchResult
from core.domain.settings import Settings
from core.models.rank_features import FEATURES, PageKey, describe_candidates
from core.search.fuse import fuse_rankings
from core.search.matching import DECISIVE_MATCH, match_documents
from core.search.pack import Chosen, fill_budget, keep_best, to_evidence
from core.text.terms import content_terms

SEARCH_DEPTH = 60
"""Results asked of each index per wording."""
MOST_OPENED_TARGETS = 3
"""With more targets than this their openings would crowd out what was found."""

DOCUMENT_PULL = 1.0
"""How much a document's share of all results raises each of its passages."""

_NOT_INDEXED_YET = (DocumentStatus.QUEUED, DocumentStatus.READING, DocumentStatus.EMBEDDING, DocumentStatus.FAILED)

Ranking = list[tuple[str, float]]


class Library(Protocol):
    """The part of the library that the retriever reads."""

    def list(self) -> Sequence[Document]: ...

    def passages(self, passage_ids: Sequence[str]) -> Sequence[Passage]:
        """Those of the passages that (still) exist, in any order."""

    def page_passages(self, document_id: str, page_index: int) -> Sequence[Passage]:
        """In reading order; none for a page that is not there."""

    def pages_labelled(self, document_id: str, label: str) -> Sequence[int]:
        """Positions of the pages that carry this printed number."""

    def passages_of_pages(self, pages: Sequence[PageKey]) -> Sequence[Passage]:
        """All passages of (document id, page index) pairs, in reading order."""


@dataclass(frozen=True, slots=True)
class _Rankings:
    """What the indexes said: per wording, and the best score of each passage."""

    keyword: list[Ranking]
    printed: list[Ranking]
    dense: list[Ranking]
    trouble: str
    """Why there was no search by meaning, if there was none."""


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
        """Find evidence among the plan's target documents, else the scope, else everything.

        Evidence is empty when nothing is above the score floor.
        """
        documents = {document.id: document for document in self._library.list()}
        ids = [identity for identity in (plan.document_ids or scope) if identity in documents]
        if not ids and (plan.document_ids or scope):
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
        asked, page_notices = self._asked_pages(plan, ids or named, documents)
        best = self._fuse(rankings, asked, affinity)[:width]
        pages = self._pages_of([identity for identity, _ in best])
        fused = _candidates(best, rankings, affinity, pages)
        counts = {identity: document.page_count for identity, document in documents.items()}
        described = describe_candidates(plan, fused, pages, counts)
        reranked = self._rerank(plan, described)
        targets = list(plan.document_ids) or named
        kept, left_out = keep_best(reranked, floor=floor, most=most, targets=targets)
        openings = self._openings(plan.document_ids) if kept else []
        chosen, over = fill_budget(kept, self._neighbours(kept, pages), openings, context_characters=context_characters)
        names = {identity: document.name for identity, document in documents.items()}
        return SearchResult(
            evidence=to_evidence([_without_figures(item) for item in chosen], names),
            rankings={
                **self._index_rankings(rankings, fused),
                "fused": tuple(fused),
                "reranked": tuple(reranked),
                "packed": tuple(item.candidate for item in chosen if item.reason is Reason.SEARCH),
            },
            left_out=(*left_out, *over),
            reranker=self._reranker.name,
            score_floor=floor,
            notes=tuple(f"The question names {documents[identity].name}." for identity in named if identity not in ids),
            notices=(
                *page_notices,
                *self._notices(rankings, [documents[i] for i in ids] if ids else list(documents.values())),
            ),
        )

    def _notices(self, rankings: _Rankings, searched: Sequence[Document]) -> tuple[str, ...]:
        """What the search by meaning left out, but for documents of which their status says so."""
        if rankings.trouble:
            return (f"Only words were searched, not meaning: {rankings.trouble}",)
        whole = [document.id for document in searched if document.status not in _NOT_INDEXED_YET]
        lacking = self._vectors.lacking(whole) if whole else 0
        return (f"{lacking:,} passages were searched by words alone; indexing goes on.",) if lacking else ()

    def _run_indexes(self, plan: SearchPlan, ids: Sequence[str], named: Sequence[str]) -> _Rankings:
        """Ask both indexes at once for all wordings, within the named documents where there are any.

        The question as asked also goes to the whole scope, so that a wrongly named document cannot hide the rest.
        """
        own = list(dict.fromkeys(query.text for query in plan.sub_queries))
        printed = [text for query in plan.sub_queries for text in query.variations if text not in own]
        narrow = list(named) or list(ids)

        wide = [list(ids)] if narrow != list(ids) else []

        def by_words(text: str, scope: Sequence[str]) -> Future[Ranking]:
            return self._pool.submit(self._keywords.search, text, document_ids=scope, limit=SEARCH_DEPTH)

        keyword = [by_words(text, narrow) for text in _different_words(own)]
        keyword += [by_words(own[0], scope) for scope in wide]
        expanded = [by_words(text, narrow) for text in printed[-1:]]
        dense, trouble = list[Ranking](), ""
        try:
            vectors = self._embedder.embed(own)
            dense += [self._vectors.search(vector, document_ids=narrow, limit=SEARCH_DEPTH) for vector in vectors]
            dense += [self._vectors.search(vectors[0], document_ids=scope, limit=SEARCH_DEPTH) for scope in wide]
        except (ModelUnavailableError, IndexMismatchError) as error:
            dense, trouble = [], str(error)
        return _Rankings([found.result() for found in keyword], [found.result() for found in expanded], dense, trouble)

    def _asked_pages(
        self, plan: SearchPlan, document_ids: Sequence[str], documents: Mapping[str, Document]
    ) -> tuple[dict[str, float], list[str]]:
        """Passages on pages that the question names, where it is clear which documents are meant, and what to tell.

        A printed number goes before a position in the file; where both exist and differ, both are searched.
        """
        asked: dict[str, float] = {}
        notices: list[str] = []
        if not plan.wanted_pages or not 0 < len(document_ids) <= MOST_OPENED_TARGETS:
            return asked, notices
        for identity in document_ids:
            last = documents[identity].page_count
            for name in plan.wanted_pages:
                position = {"first": 1, "last": last}.get(name) or (int(name) if name.isdigit() else 0)
                printed = [] if name in ("first", "last") else self._library.pages_labelled(identity, name)
                placed = [position - 1] if 0 < position <= last else []
                for index in [*printed, *placed]:
                    score = 1.0 if index in printed or not printed else 0.9
                    for passage in self._library.passages_of_pages([(identity, index)]):
                        asked.setdefault(passage.id, score)
                if printed and placed and placed[0] not in printed:
                    notices.append(
                        f"“Page {name}” was taken for the page with {name} printed on it, page {printed[0] + 1} of "
                        f"{documents[identity].name}; page {name} of the file was searched too."
                    )
        return asked, notices

    def _fuse(self, rankings: _Rankings, asked: Mapping[str, float], affinity: Mapping[str, float]) -> Ranking:
        """Passages of pages that were asked for, then all others by rank in every ranking and by their document."""
        fused = fuse_rankings(
            ([identity for identity, _ in ranking], weight / max(len(group), 1))
            for group, weight in ((rankings.keyword, 1.0), (rankings.printed, 1.0), (rankings.dense, 1.5))
            for ranking in group
        )
        fused = [*asked.items(), *((identity, score) for identity, score in fused if identity not in asked)]
        weights = _document_weights(fused[: self._settings.candidates], affinity)
        weighted = ((identity, score * weights.get(document_of(identity), 1.0)) for identity, score in fused)
        return sorted(weighted, key=lambda pair: (-pair[1], pair[0]))

    def _pages_of(self, passage_ids: Sequence[str]) -> dict[PageKey, list[Passage]]:
        """All passages of these passages' pages."""
        pages: dict[PageKey, list[Passage]] = {}
        for passage in self._library.passages_of_pages(list(dict.fromkeys(map(page_of, passage_ids)))):
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
            document, index = candidate.passage.document_id, candidate.passage.page_index
            run = list(pages.get((document, index), ()))
            place = next((number for number, passage in enumerate(run) if passage.id == candidate.passage.id), None)
            if place is None:
                continue
            before = run[place - 1 : place] if place else self._library.page_passages(document, index - 1)[-1:]
            after = run[place + 1 : place + 2] or self._library.page_passages(document, index + 1)[:1]
            around[candidate.passage.id] = [*before, *after]
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
        ids = [identity for group in tops.values() for ranking in group for identity, _ in ranking[: len(fused)]]
        passages = {p.id: p for p in self._library.passages([identity for identity in ids if identity not in known])}
        return {
            stage: tuple(
                known.get(identity) or Candidate(passages[identity], {stage: score})
                for ranking in group
                for identity, score in ranking[: len(fused)]
                if identity in known or identity in passages
            )
            for stage, group in tops.items()
        }


def _different_words(texts: Sequence[str]) -> list[str]:
    """Leave out wordings with the same words as an earlier one: a keyword index would answer the same."""
    seen: set[frozenset[str]] = set()
    kept = []
    for text in texts:
        terms = frozenset(content_terms(text))
        if terms not in seen:
            seen.add(terms)
            kept.append(text)
    return kept


def _without_figures(item: Chosen) -> Chosen:
    """Evidence keeps the scores of the stages; the reranker's figures stay with its ranking."""
    scores = {name: score for name, score in item.candidate.scores.items() if name not in FEATURES}
    return replace(item, candidate=replace(item.candidate, scores=scores))


def _candidates(
    fused: Ranking,
    rankings: _Rankings,
    affinity: Mapping[str, float],
    pages: Mapping[PageKey, Sequence[Passage]],
) -> list[Candidate]:
    """Those of the passages that still exist, with the best score that each index gave them."""
    best = {
        "keyword": _best_scores(rankings.keyword),
        "keyword printed": _best_scores(rankings.printed),
        "dense": _best_scores(rankings.dense),
    }
    passages = {passage.id: passage for run in pages.values() for passage in run}
    return [
        Candidate(
            passages[identity],
            {
                **{name: scores[identity] for name, scores in best.items() if identity in scores},
                "document match": affinity.get(document_of(identity), 0.0),
                "fused": score,
            },
        )
        for identity, score in fused
        if identity in passages
    ]


def _best_scores(rankings: Sequence[Ranking]) -> dict[str, float]:
    best: dict[str, float] = {}
    for ranking in rankings:
        for identity, score in ranking:
            best[identity] = max(score, best.get(identity, score))
    return best


def _document_weights(fused: Sequence[tuple[str, float]], affinity: Mapping[str, float]) -> dict[str, float]:
    """The document comes first: one that is named, or that the search as a whole points to, pulls its passages up."""
    sums: dict[str, float] = {}
    for identity, score in fused:
        sums[document_of(identity)] = sums.get(document_of(identity), 0.0) + score
    total = sum(sums.values())
    if len(sums) < 2 or total <= 0:
        return {}
    return {document: 1 + affinity.get(document, 0.0) + DOCUMENT_PULL * part / total for document, part in sums.items()}
