"""Quote a passage that another one changes, or with a replaced document: the newer text first, then the older."""

from collections.abc import Sequence
from dataclasses import replace

from pincite.core.answers.relevant import Found, place_of
from pincite.core.answers.selection import Selection, select
from pincite.core.answers.units import Unit, quotation_of
from pincite.core.domain.answers import AnswerPart, PartKind
from pincite.core.domain.search import Change, Evidence
from pincite.core.text.years import years_of

CHANGES = "This changes "
MIN_ANSWERED = 0.5
"""Minimum probability that a replaced document answers, for its words to be quoted after the newer ones."""


def in_force(evidence: Sequence[Evidence]) -> tuple[list[Evidence], list[Evidence]]:
    """Return what an answer is looked for in, and what newer documents replace; all of it where that is everything."""
    new = [item for item in evidence if not item.replaced_by]
    return (new, [item for item in evidence if item.replaced_by]) if new else (list(evidence), [])


def stated_in_force(stated: Sequence[AnswerPart], replaced: Sequence[Evidence]) -> list[AnswerPart]:
    """Return what is stated from other tables than those of replaced documents."""
    old = {item.number for item in replaced}
    return [part for part in stated if not old or not old.issuperset(part.numbers)]


def is_changed(found: Found | None) -> bool:
    """Return whether another passage changes the place of a figure."""
    return found is not None and any(one.start < found.end and found.start < one.end for one in found.item.changes)


def changes_to(unit: Unit, evidence: Sequence[Evidence]) -> list[tuple[Evidence, Change]]:
    """Return the evidence that changes a unit, the newest first."""
    items = {item.passage.id: item for item in evidence}
    own = [one for one in unit.item.changes if one.start < unit.end and unit.start < one.end]
    return [(items[one.passage_id], one) for one in own if one.passage_id in items]


def changed_answer(question: str, selection: Selection, evidence: Sequence[Evidence]) -> list[AnswerPart]:
    """Return what changes the best unit, then that; nothing where the question names a year: which holds is unknown."""
    if years_of(question):
        return []
    best = selection.scored[0].unit
    changes = changes_to(best, evidence)
    quoted = [AnswerPart(item.passage.text, (item.number,), PartKind.VERBATIM, 0) for item, _ in changes]
    sure = min(selection.right, *(change.probability for _, change in changes))
    note = AnswerPart(f"{CHANGES}{place_of(best.item)}:", kind=PartKind.NOTE)
    return [replace(quoted[0], probability=sure), *quoted[1:], note, quotation_of(best)]


def tells_change(parts: Sequence[AnswerPart]) -> bool:
    """Return whether an answer is a change and what it changes, in this order."""
    return any(part.kind is PartKind.NOTE and part.text.startswith(CHANGES) for part in parts)


def earlier_quotations(question: str, replaced: Sequence[Evidence]) -> list[AnswerPart]:
    """Return the quotations of the replaced documents, if one of them answers."""
    before = select(question, replaced)
    if before.answered < MIN_ANSWERED or not before.scored:
        return []
    unit = before.scored[0].unit
    note = AnswerPart(f"{place_of(unit.item)}, which {unit.item.replaced_by} replaces:", kind=PartKind.NOTE)
    return [note, quotation_of(unit)]
