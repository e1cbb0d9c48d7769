"""The retriever: from a search plan to evidence, on the ports. It writes nothing and knows no language model."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from pincite.core.domain.documents import Document, DocumentStatus, PageKey, Passage, document_of, page_of
from pincite.core.domain.ports import Embedder, KeywordIndex, PassageIndex, Reranker
from pincite.core.domain.search import PIECE, Candidate, Reason, SearchPlan, SearchResult, SubQuery, piece_score
from pincite.core.domain.settings import Settings
from pincite.core.questions.matching import DECISIVE_MATCH, match_documents
from pincite.core.questions.places import years_in
from pincite.core.questions.plan import plans_of
from pincite.core.search.fuse import fuse_rankings
from pincite.core.search.pack import Chosen, fill_budget, keep_best, to_evidence
from pincite.core.search.rankings import Ranking, Rankings, RunIndexes

if TYPE_CHECKING:
    from pincite.core.store.library import Library

MAX_OPENED_TARGETS = 3
"""With more targets than this their openings would crowd out what was found."""
OPENING_PASSAGES = 3
"""Of each target, from its beginning."""
MIN_PIECE_ITEMS = 4
"""Passages that are kept for each of several things that are asked."""
DOCUMENT_PULL = 1.0
"""How much a document's share of all results raises each of its passages."""
STAGE_SCORES = frozenset(("keyword", "keyword printed", "dense", "document match", "fused", "reranked", "neighbour of"))
"""Evidence keeps these; what a reranker's score was made of stays with its ranking."""

_NOT_INDEXED_YET = (DocumentStatus.QUEUED, DocumentStatus.READING, DocumentStatus.EMBEDDING, DocumentStatus.FAILED)


@dataclass(frozen=True, slots=True)
class _Look:
    """What was found for one question, best first."""

    rankings: Rankings
    fused: list[Candidate]
    reranked: list[Candidate]
    targets: Sequence[str]
    named: list[str]
    """Documents that the question names in addition to the chosen ones."""
    notices: tuple[str, ...]


class Retriever:
    """Searches with words and meaning at once, fuses, reranks and packs."""

    def __init__(
        self,
        *,
        library: "Library",
        keywords: KeywordIndex,
        vectors: PassageIndex,
        embedder: Embedder,
        reranker: Reranker,
        settings: Settings,
    ) -> None:
        self._library = library
        self._vectors = vectors
        self._reranker = reranker
        self._settings = settings
        self._run_indexes = RunIndexes(keywords, vectors, embedder)

    def search(
        self, plan: SearchPlan, library: Iterable[Document], *, context_characters: int, scope: Sequence[str] = ()
    ) -> SearchResult:
        """Find evidence among the plan's target documents, else the scope, else everything in the library.

        Of several things that are asked each gets its share. Evidence is empty when nothing is above the score floor.
        """
        documents = {document.id: document for document in library}
        looks = [self._look(one, scope, documents) for one in plans_of(plan)]
        numbers, found = [at for at, look in enumerate(looks) if look], [look for look in looks if look]
        if not found:
            return SearchResult((), notes=("None of the chosen documents is in the library.",))
        settings, retry = self._settings, plan.attempt  # each retry goes as far again as the first
        strict, loose = self._reranker.floors
        floor = (settings.score_floor or strict) * (loose / strict) ** retry
        most = settings.kept * (1 + retry)
        share = max(most // len(found), min(most, MIN_PIECE_ITEMS))
        kept_by_look = [keep_best(one.reranked, floor=floor, most=share, targets=one.targets) for one in found]
        by_piece = [_scored_for(at, kept, plan) for at, (kept, _) in zip(numbers, kept_by_look, strict=True)]
        kept = _distinct(filter(None, chain.from_iterable(zip_longest(*by_piece))))
        targets = [*plan.document_ids, *(scope if len(scope) == 1 else ()), *(at for one in found for at in one.named)]
        openings = self._openings(list(dict.fromkeys(targets))) if kept else []
        chosen, over = fill_budget(kept, self._neighbours(kept), openings, context_characters=context_characters)
        names = {identity: document.name for identity, document in documents.items()}
        reranked = _distinct(sorted(chain.from_iterable(one.reranked for one in found), key=_best_first))
        fused = _distinct(chain.from_iterable(one.fused for one in found))
        return SearchResult(
            evidence=to_evidence([_with_stage_scores(item) for item in chosen], documents),
            rankings={
                **self._index_rankings(found[0].rankings, fused),
                "fused": tuple(fused),
                "reranked": tuple(reranked),
                "packed": tuple(item.candidate for item in chosen if item.reason is Reason.SEARCH),
            },
            left_out=tuple(dict.fromkeys([*(note for _, left in kept_by_look for note in left), *over])),
            reranker=self._reranker.name,
            embedder=self._run_indexes.embedder,
            score_floor=floor,
            notes=tuple(dict.fromkeys(f"The question names {names[at]}." for one in found for at in one.named)),
            notices=tuple(dict.fromkeys(note for one in found for note in one.notices)),
            absent=tuple(found[0].rankings.absent) if len(found) == 1 else (),
        )

    def _look(self, plan: SearchPlan, scope: Sequence[str], documents: Mapping[str, Document]) -> _Look | None:
        """What is found for one question; None where none of its documents is there any more."""
        ids = [identity for identity in (plan.document_ids or scope) if identity in documents]
        if not ids and (plan.document_ids or scope):
            return None
        searched = [documents[identity] for identity in ids] or list(documents.values())
        affinity = match_documents(plan.standalone_question, plan.time_ranges, searched)
        named = _named(affinity)
        asked, page_notices = self._asked_pages(plan, [documents[identity] for identity in ids or named])
        rankings, fused, rated = self._rated(plan, ids, named, asked, affinity, documents)
        others = [self._read_as(reading, plan, ids, asked, documents) for reading in plan.readings]
        return _Look(
            rankings,
            fused,
            sorted(merged([rated, *others]), key=_best_first),
            plan.document_ids or tuple(named),
            [identity for identity in named if identity not in ids],
            (*page_notices, *self._not_searched(rankings, searched)),
        )

    def _read_as(
        self,
        reading: SubQuery,
        plan: SearchPlan,
        ids: Sequence[str],
        asked: Mapping[str, float],
        documents: Mapping[str, Document],
    ) -> list[Candidate]:
        """What another reading of the question finds, rated by it."""
        years = years_in(reading.text)
        read = replace(plan, standalone_question=reading.text, sub_queries=(reading,), time_ranges=years, readings=())
        searched = [documents[identity] for identity in ids] or list(documents.values())
        affinity = match_documents(reading.text, years, searched)
        return self._rated(read, ids, _named(affinity), asked, affinity, documents)[2]

    def _rated(
        self,
        plan: SearchPlan,
        ids: Sequence[str],
        named: Sequence[str],
        asked: Mapping[str, float],
        affinity: Mapping[str, float],
        documents: Mapping[str, Document],
    ) -> tuple[Rankings, list[Candidate], list[Candidate]]:
        """What the indexes found for one reading of the question, the best of it, and that with its relevance."""
        rankings = self._run_indexes(plan, ids, named)
        best = self._fuse(rankings, asked, affinity)[: self._settings.candidates * (1 + plan.attempt)]
        pages = self._pages_of([identity for identity, _ in best])
        fused = _candidates(best, rankings, affinity, pages)
        counts = {identity: document.page_count for identity, document in documents.items()}
        return rankings, fused, self._reranker.rate(plan, fused, pages, counts)

    def _not_searched(self, rankings: Rankings, searched: Sequence[Document]) -> tuple[str, ...]:
        """Return a notice about passages without vectors, except for documents with a status that already shows it."""
        if rankings.trouble:
            return (f"Only keyword search was used: {rankings.trouble}",)
        whole = [document.id for document in searched if document.status not in _NOT_INDEXED_YET]
        lacking = self._vectors.lacking(whole) if whole else 0
        return (f"Passages searched by words only, while indexing continues: {lacking:,}.",) if lacking else ()

    def _asked_pages(self, plan: SearchPlan, documents: Sequence[Document]) -> tuple[dict[str, float], list[str]]:
        """Return passages on pages that the question names, if it is clear which documents are meant, and notices.

        A printed number goes before a position in the file; where both exist and differ, both are searched.
        """
        asked: dict[str, float] = {}
        notices: list[str] = []
        for document in documents if len(documents) <= MAX_OPENED_TARGETS else ():
            for name in plan.wanted_pages:
                position = {"first": 1, "last": document.page_count}.get(name) or (int(name) if name.isdigit() else 0)
                printed = [] if name in ("first", "last") else self._library.pages_labelled(document.id, name)
                placed = [position - 1] if 0 < position <= document.page_count else []
                for index in [*printed, *placed]:
                    score = 1.0 if index in printed or not printed else 0.9
                    for passage in self._library.passages_of_pages([(document.id, index)]):
                        asked.setdefault(passage.id, score)
                if printed and placed and placed[0] not in printed:
                    notices.append(
                        f"“Page {name}” was taken to mean the page with {name} printed on it, page {printed[0] + 1} of "
                        f"{document.name}; page {name} of the file was searched too."
                    )
        return asked, notices

    def _fuse(self, rankings: Rankings, asked: Mapping[str, float], affinity: Mapping[str, float]) -> Ranking:
        """Passages of pages that were asked for, then all others by rank in every ranking and by their document."""
        fused = fuse_rankings(
            ([identity for identity, _ in ranking], weight / len(group))
            for group, weight in ((rankings.keyword, 1.0), (rankings.printed, 1.0), (rankings.dense, 1.5))
            for ranking in group
        )
        fused = [*asked.items(), *((identity, score) for identity, score in fused if identity not in asked)]
        weights = _document_weights(fused[: self._settings.candidates], affinity)
        weighted = ((identity, score * weights.get(document_of(identity), 1.0)) for identity, score in fused)
        return sorted(weighted, key=lambda pair: (-pair[1], pair[0]))

    def _pages_of(self, passage_ids: Sequence[str]) -> dict[PageKey, list[Passage]]:
        """Return all passages of these passages' pages."""
        pages: dict[PageKey, list[Passage]] = {}
        for passage in self._library.passages_of_pages(list(dict.fromkeys(map(page_of, passage_ids)))):
            pages.setdefault(passage.page, []).append(passage)
        return pages

    def _neighbours(self, kept: Sequence[Candidate]) -> dict[str, list[Passage]]:
        """Return the passage before and the passage after each kept one, across page breaks."""
        near = {(key[0], key[1] + step) for key in (c.passage.page for c in kept) for step in (-1, 0, 1)}
        run = sorted(
            self._library.passages_of_pages(sorted(near)), key=lambda p: (p.document_id, p.page_index, p.start)
        )
        places = {passage.id: place for place, passage in enumerate(run)}
        around: dict[str, list[Passage]] = {}
        for passage in (candidate.passage for candidate in kept if candidate.passage.id in places):
            place = places[passage.id]
            adjacent = [*run[max(place - 1, 0) : place], *run[place + 1 : place + 2]]
            around[passage.id] = [
                other
                for other in adjacent
                if other.document_id == passage.document_id and abs(other.page_index - passage.page_index) <= 1
            ]
        return around

    def _openings(self, document_ids: Sequence[str]) -> list[Passage]:
        """Return the first passages of each targeted document: what it is, who wrote it, when."""
        targets = document_ids if len(document_ids) <= MAX_OPENED_TARGETS else ()
        return [passage for one in targets for passage in self._library.opening_passages(one, OPENING_PASSAGES)]

    def _index_rankings(self, rankings: Rankings, fused: Sequence[Candidate]) -> dict[str, tuple[Candidate, ...]]:
        """What each index alone would have answered to the question as asked, for the trace and the playground."""
        known = {candidate.passage.id: candidate for candidate in fused}
        shown: dict[str, tuple[Candidate, ...]] = {}
        for stage, group in (("keyword", rankings.keyword), ("dense", rankings.dense)):
            scores = dict(group[0][: len(fused)]) if group else {}
            own = (Candidate(p, {stage: scores[p.id]}) for p in self._library.passages(list(scores)))
            shown[stage] = tuple(known.get(candidate.passage.id, candidate) for candidate in own)
        return shown


def _best_first(candidate: Candidate) -> tuple[float, float, str]:
    return -candidate.scores["reranked"], -candidate.scores["fused"], candidate.passage.id


def _distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return each passage where it comes first, with the best of its scores."""
    found = dict[str, Candidate]()
    for one in candidates:
        before = found.get(one.passage.id, one)
        best = {name: max(score, before.scores.get(name, score)) for name, score in one.scores.items()}
        found[one.passage.id] = before.scored(**best)
    return list(found.values())


def _scored_for(number: int, kept: Sequence[Candidate], plan: SearchPlan) -> list[Candidate]:
    """Return the candidates with what they are worth for this piece of the plan, where it has several."""
    name = piece_score(number)
    return [one.scored(**{name: one.scores["reranked"]}) if plan.pieces else one for one in kept]


def _named(affinity: Mapping[str, float]) -> list[str]:
    return sorted((i for i, score in affinity.items() if score >= DECISIVE_MATCH), key=lambda i: (-affinity[i], i))


def merged(readings: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """Every candidate once: its relevance is half that of the reading it fits best, half the mean over all readings.

    Where a reading did not find it, it counts as the last of what that reading found.
    """
    scores = [{one.passage.id: one.scores["reranked"] for one in rated} for rated in readings if rated]
    every = {one.passage.id: one for rated in reversed(readings) for one in rated}
    if len(scores) < 2:
        return list(every.values())
    lasts = [min(found.values()) for found in scores]
    fits = {
        identity: [found.get(identity, last) for found, last in zip(scores, lasts, strict=True)] for identity in every
    }
    return [one.scored(reranked=(max(fits[i]) + sum(fits[i]) / len(fits[i])) / 2) for i, one in every.items()]


def _with_stage_scores(item: Chosen) -> Chosen:
    kept = item.candidate.scores.items()
    scores = {name: score for name, score in kept if name in STAGE_SCORES or name.startswith(PIECE)}
    return replace(item, candidate=replace(item.candidate, scores=scores))


def _candidates(
    fused: Ranking, rankings: Rankings, affinity: Mapping[str, float], pages: Mapping[PageKey, Sequence[Passage]]
) -> list[Candidate]:
    """Return those of the passages that still exist, with the best score that each index gave them."""
    best = rankings.best_scores()
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


def _document_weights(fused: Sequence[tuple[str, float]], affinity: Mapping[str, float]) -> dict[str, float]:
    """The document comes first: one that is named, or that the search as a whole points to, pulls its passages up."""
    sums: dict[str, float] = {}
    for identity, score in fused:
        sums[document_of(identity)] = sums.get(document_of(identity), 0.0) + score
    total = sum(sums.values())
    if len(sums) < 2 or total <= 0:
        return {}
    return {document: 1 + affinity.get(document, 0.0) + DOCUMENT_PULL * part / total for document, part in sums.items()}
