"""Choose what goes before the engine: floor, duplicates, fair shares, neighbours, openings, budget and order."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.domain.documents import Passage
from core.domain.search import Candidate, Evidence, Reason

MOST_OF_A_PAGE = 2
"""Passages of one page among those kept; more of it comes as neighbours, and other pages get their chance."""
LIKENESS_OF_DUPLICATES = 0.9
"""Shared word triples over all word triples, from which on two passages say the same."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A passage taken for the answer, with the reason that Evidence names."""

    candidate: Candidate
    reason: Reason


def keep_best(
    ranked: Sequence[Candidate], *, floor: float, most: int, targets: Sequence[str] = ()
) -> tuple[list[Candidate], list[str]]:
    """Keep the best candidates above the floor, each text once, and say what was left out.

    With two or more target documents each gets its share of the places before any gets more.
    """
    left_out: list[str] = []
    good = [candidate for candidate in ranked if candidate.scores["reranked"] >= floor]
    if len(good) < len(ranked):
        left_out.append(f"{len(ranked) - len(good)} passages below the score floor of {floor:.2f}")
    distinct = drop_duplicates(good)
    if len(distinct) < len(good):
        left_out.append(f"{len(good) - len(distinct)} passages that repeat another")
    spread = spread_over_pages(distinct)
    kept = share_fairly(spread, most=most, targets=targets)
    if len(kept) < len(distinct):
        left_out.append(f"{len(distinct) - len(kept)} passages beyond the best {most}")
    return kept, left_out


def drop_duplicates(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Keep the first of passages with nearly the same words (running texts, repeated notices, copies of a file)."""
    kept: list[Candidate] = []
    seen: list[frozenset[tuple[str, ...]]] = []
    for candidate in candidates:
        words = _WORD.findall(candidate.passage.text.casefold())
        triples = frozenset(zip(words, words[1:], words[2:], strict=False)) or frozenset([tuple(words)])
        if any(len(triples & other) >= LIKENESS_OF_DUPLICATES * len(triples | other) for other in seen):
            continue
        seen.append(triples)
        kept.append(candidate)
    return kept


def spread_over_pages(ranked: Iterable[Candidate]) -> list[Candidate]:
    """Keep the best passages of each page."""
    taken: Counter[tuple[str, int]] = Counter()
    kept = []
    for candidate in ranked:
        page = (candidate.passage.document_id, candidate.passage.page_index)
        taken[page] += 1
        if taken[page] <= MOST_OF_A_PAGE:
            kept.append(candidate)
    return kept


def share_fairly(ranked: Sequence[Candidate], *, most: int, targets: Sequence[str]) -> list[Candidate]:
    """Take the best ``most``; with several targets, first up to an equal share of each, best first."""
    if len(targets) < 2:
        return list(ranked[:most])
    share = max(most // len(targets), 1)
    taken: Counter[str] = Counter()
    first: list[Candidate] = []
    for candidate in ranked:
        document = candidate.passage.document_id
        if document in targets and taken[document] < share:
            taken[document] += 1
            first.append(candidate)
    rest = [candidate for candidate in ranked if candidate not in first]
    chosen = {candidate.passage.id for candidate in [*first, *rest][:most]}
    return [candidate for candidate in ranked if candidate.passage.id in chosen]


def fill_budget(
    kept: Sequence[Candidate],
    neighbours: Mapping[str, Sequence[Passage]],
    openings: Sequence[Passage],
    *,
    context_characters: int,
) -> tuple[list[Chosen], list[str]]:
    """Take kept passages best first, then openings, then neighbours of the best, while they fit.

    ``neighbours`` maps a kept passage's id to the passages around it. The best passage is always taken.
    """
    chosen: list[Chosen] = []
    taken: set[str] = set()
    room = context_characters
    skipped: Counter[Reason] = Counter()

    def take(candidate: Candidate, reason: Reason) -> None:
        nonlocal room
        if candidate.passage.id in taken:
            return
        if chosen and len(candidate.passage.text) > room:
            skipped[reason] += 1
            return
        chosen.append(Chosen(candidate, reason))
        taken.add(candidate.passage.id)
        room -= len(candidate.passage.text)

    for candidate in kept:
        take(candidate, Reason.SEARCH)
    for passage in openings:
        take(Candidate(passage), Reason.OPENING)
    for candidate in kept:
        for passage in neighbours.get(candidate.passage.id, ()):
            take(Candidate(passage, {"neighbour of": candidate.scores["reranked"]}), Reason.NEIGHBOUR)
    return chosen, [f"{count} passages ({reason}) beyond the context budget" for reason, count in skipped.items()]


def to_evidence(chosen: Sequence[Chosen], names: Mapping[str, str]) -> tuple[Evidence, ...]:
    """Order evidence for a prompt: the strongest at both ends, what stands together kept so; number it from 1."""
    searched = [item for item in chosen if item.reason is Reason.SEARCH]
    order: list[Chosen] = []
    for item in [*searched[0::2], *reversed(searched[1::2])]:
        order += _with_neighbours(item, chosen, already=order)
    order += [item for item in chosen if item not in order and item.reason is Reason.NEIGHBOUR]
    openings = [item for item in chosen if item.reason is Reason.OPENING]
    middle = (len(searched) + 1) // 2
    order = [*order[:middle], *openings, *order[middle:]]
    return tuple(
        Evidence(
            number=number,
            passage=item.candidate.passage,
            document_name=names.get(item.candidate.passage.document_id, ""),
            scores=item.candidate.scores,
            reason=item.reason,
        )
        for number, item in enumerate(order, start=1)
    )


def _with_neighbours(item: Chosen, chosen: Sequence[Chosen], *, already: Sequence[Chosen]) -> list[Chosen]:
    """The passage between those neighbours that touch it on the page or across the page break."""
    passage = item.candidate.passage
    beside = [
        other
        for other in chosen
        if other.reason is Reason.NEIGHBOUR and other not in already and _touches(other.candidate.passage, passage)
    ]
    before = [o for o in beside if _place(o.candidate.passage) < _place(passage)]
    after = [o for o in beside if _place(o.candidate.passage) > _place(passage)]
    return [*before, item, *after]


def _touches(one: Passage, other: Passage) -> bool:
    return one.document_id == other.document_id and abs(one.page_index - other.page_index) <= 1


def _place(passage: Passage) -> tuple[int, int]:
    return passage.page_index, passage.start
