"""Choose what goes before the engine: floor, duplicates, fair shares, neighbours, openings, budget and order."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pincite.core.domain.documents import Document, Passage
from pincite.core.domain.search import Candidate, Evidence, Reason
from pincite.core.text.plain import counted

MAX_PER_PAGE = 2
"""Passages of one page among those kept; more of it comes as neighbours, and other pages get their chance."""
SHARE_OF_OPENINGS = 0.2
"""Of the room for evidence."""
LIKENESS_OF_DUPLICATES = 0.9
"""Minimum share of common word triples of two passages that count as duplicates."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A passage chosen for the answer."""

    candidate: Candidate
    reason: Reason
    neighbour_of: str = ""
    """Id of the chosen passage that this one is a neighbour of; empty for others."""


def keep_best(
    ranked: Sequence[Candidate], *, floor: float, most: int, targets: Sequence[str] = ()
) -> tuple[list[Candidate], list[str]]:
    """Keep the best candidates above the floor, each text once, and report what was left out.

    With two or more target documents each gets its share of the places before any gets more.
    """
    good = [candidate for candidate in ranked if candidate.scores["reranked"] >= floor]
    distinct = drop_duplicates(good)
    kept = share_fairly(spread_over_pages(distinct), most=most, targets=targets)
    left_out = {
        f"below the score floor of {floor:.2f}": len(ranked) - len(good),
        "repeating another": len(good) - len(distinct),
        f"beyond the best {most}": len(distinct) - len(kept),
    }
    return kept, [f"{counted(number, 'passage')} {why}" for why, number in left_out.items() if number]


def drop_duplicates(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Keep the first of passages with nearly the same words (running texts, repeated notices, copies of a file)."""
    kept: list[Candidate] = []
    seen: list[frozenset[tuple[str, ...]]] = []
    for candidate in candidates:
        words = _WORD.findall(candidate.passage.text.casefold())
        triples = frozenset(zip(words, words[1:], words[2:], strict=False)) or frozenset([tuple(words)])
        if not any(len(triples & other) >= LIKENESS_OF_DUPLICATES * len(triples | other) for other in seen):
            seen.append(triples)
            kept.append(candidate)
    return kept


def spread_over_pages(ranked: Iterable[Candidate]) -> list[Candidate]:
    """Keep the best passages of each page."""
    taken: Counter[tuple[str, int]] = Counter()
    kept = []
    for candidate in ranked:
        taken[candidate.passage.page] += 1
        if taken[candidate.passage.page] <= MAX_PER_PAGE:
            kept.append(candidate)
    return kept


def share_fairly(ranked: Sequence[Candidate], *, most: int, targets: Sequence[str]) -> list[Candidate]:
    """Take the best ``most``; with several targets, first up to an equal share of each. The order stays."""
    share = max(most // len(targets), 1) if len(targets) > 1 else 0
    taken: Counter[str] = Counter()
    first, rest = list[Candidate](), list[Candidate]()
    for candidate in ranked:
        document = candidate.passage.document_id
        within = document in targets and taken[document] < share
        taken[document] += within
        (first if within else rest).append(candidate)
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

    ``neighbours`` maps a kept passage's id to the passages around it. The best passage is always taken, and openings
    have up to ``SHARE_OF_OPENINGS`` of the room.
    """
    own = {candidate.passage.id for candidate in kept}
    opening = sum(len(passage.text) for passage in openings if passage.id not in own)
    reserved = min(opening, int(SHARE_OF_OPENINGS * context_characters))
    wanted = [Chosen(candidate, Reason.SEARCH) for candidate in kept]
    wanted += [Chosen(Candidate(passage), Reason.OPENING) for passage in openings]
    for candidate in kept:
        scores = {"neighbour of": candidate.scores["reranked"]}
        around = neighbours.get(candidate.passage.id, ())
        wanted += [Chosen(Candidate(near, scores), Reason.NEIGHBOUR, candidate.passage.id) for near in around]
    chosen: dict[str, Chosen] = {}
    skipped: Counter[Reason] = Counter()
    room = context_characters
    for item in wanted:
        passage = item.candidate.passage
        if passage.id in chosen:
            continue
        free = room - reserved if item.reason is Reason.SEARCH else room
        if chosen and len(passage.text) > free:
            skipped[item.reason] += 1
            continue
        chosen[passage.id] = item
        room -= len(passage.text)
    left_out = [f"{counted(number, 'passage')} ({why}) beyond the context budget" for why, number in skipped.items()]
    return list(chosen.values()), left_out


def to_evidence(chosen: Sequence[Chosen], documents: Mapping[str, Document]) -> tuple[Evidence, ...]:
    """Order evidence for a prompt: the strongest at both ends, neighbours together; number it from 1."""
    blocks = []
    for item in chosen:
        if item.reason is Reason.SEARCH:
            near = [other for other in chosen if other.neighbour_of == item.candidate.passage.id]
            blocks.append(sorted([item, *near], key=_place))
    openings = [item for item in chosen if item.reason is Reason.OPENING]
    order = [item for block in [*blocks[0::2], openings, *reversed(blocks[1::2])] for item in block]
    return tuple(
        evidence_of(number, item.candidate, documents, item.reason) for number, item in enumerate(order, start=1)
    )


def evidence_of(number: int, found: Candidate, documents: Mapping[str, Document], reason: Reason) -> Evidence:
    """Return a candidate as evidence, with what its document is called."""
    document = documents.get(found.passage.document_id)
    name, called = (document.name, document.called) if document else ("", ())
    return Evidence(number, found.passage, name, found.scores, reason, called)


def _place(item: Chosen) -> tuple[int, int]:
    return item.candidate.passage.page_index, item.candidate.passage.start
