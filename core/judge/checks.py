"""Compare one claim with its evidence in what code can compute: figures, names, quoted terms, changed words.

Each disagreement is a finding with a line for people. What a claim means is for the trained checker, and how findings
add up to a verdict for `judge`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from pincite.core.domain.plugins import Group, results
from pincite.core.judge.restated import changes
from pincite.core.judge.sources import MAX_COMPARED, Sentence, Sources
from pincite.core.questions.wording import in_another_language
from pincite.core.text.numbers import Quantity, comparable, quantities, same
from pincite.core.text.plain import shortened
from pincite.core.text.terms import content_terms, root


class FindingKind(StrEnum):
    FIGURE_MISSING = "figure"
    """A figure or date that is nowhere in the evidence."""
    FIGURE_DIFFERS = "other_figure"
    """Findings of a figure or date for which the evidence has another."""
    NAME_MISSING = "name"
    """A name or quoted term that is nowhere in the evidence."""
    REWORDED = "wording"
    """Other words than those of the sentence that it nearly repeats."""
    COUNTED = "counted"
    """Another word next to a figure than in the sentence that it nearly repeats."""
    CUT_OFF = "cut_off"
    """Only the end of the sentence that it repeats is left out."""
    SIGN = "sign"
    """A figure without the minus that it has in a table."""
    REPORTED = "reported"
    """A finding of a check that another package offers."""
    CONTRADICTED = "otherwise"
    """A figure of another thing."""
    OTHER_CELL = "other_cell"
    """A figure of another row or year of a table."""


CONTRADICTIONS = frozenset({FindingKind.FIGURE_DIFFERS, FindingKind.CONTRADICTED, FindingKind.OTHER_CELL})
_NAME = re.compile(r"(?<![\w’'])[A-Z][\w’'&-]*(?:\s+(?:(?:of|the|de|van|von|and|&)\s+)?[A-Z][\w’'&-]*)*")
_NO_NAME = re.compile(
    r"(?:[AP]M|(?:Jan|Febr)uary|March|April|May|June|July|August|(?:Septem|Octo|Novem|Decem)ber"
    r"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|Fahrenheit|Celsius)$"
)
"""Capitals that are read as dates, times and units."""
_QUOTED = re.compile(r"\"([^\"\n]{2,200})\"|“([^“”\n]{2,200})”|«([^«»\n]{2,200})»")
MAX_FIGURES = 150
"""In one claim; with more it is no statement that anybody could check."""
_ALIKE = 0.6
"""Weighted share of a claim's terms that a sentence must hold before the two count as being about the same thing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One disagreement of a claim with its evidence."""

    kind: FindingKind
    detail: str


Check = Callable[[str, Sources], Iterable[Finding]]
"""Compares a bare claim with its evidence; registered as an entry point of the group ``pincite.checks``."""


def check_claim(claim: str, evidence: Sources) -> tuple[Finding, ...]:
    """Return all findings on a bare claim against the evidence it rests on."""
    return tuple(dict.fromkeys(results(Group.CHECKS, claim, evidence)))


def check_names(claim: str, evidence: Sources) -> Iterator[Finding]:
    """Yield the names in a claim that are not in the evidence."""
    for match in _NAME.finditer(claim):
        parts = [part for part in re.findall(r"\b[A-Z][\w’'&]*", match.group()) if len(part) > 1]
        abbreviated = len(parts) > 1 and "".join(part[0] for part in parts) in evidence.acronyms
        if parts and _opens_sentence(claim, match.start()):
            parts = parts[1:]  # a capital that only opens the sentence is no sign of a name
        for part in parts:
            if not (abbreviated or _NO_NAME.match(part) or evidence.names(re.sub(r"['’]s?$", "", part))):
                yield Finding(FindingKind.NAME_MISSING, f"“{part}” does not occur in the evidence")


def _opens_sentence(text: str, position: int) -> bool:
    before = text[max(0, position - 60) : position]
    bare = before.rstrip()
    space = before[len(bare) :]
    return not bare or "\n" in space or bare[-1] in '\n"“(|' or (bool(space) and bare[-1] in ".!?:;")


def check_quotations(claim: str, evidence: Sources) -> Iterator[Finding]:
    """Yield the terms in quotation marks that are not in the evidence."""
    for match in _QUOTED.finditer(claim):
        quoted = next(group for group in match.groups() if group)
        bare = re.sub(r"^(?:The|A|An)\s", "", quoted.rstrip(",.;"))
        found = any(source.normalized.locate(bare) for source in evidence.sources)
        if found or bare.endswith("?") or evidence.mentions(bare):
            continue
        yield Finding(FindingKind.NAME_MISSING, f"“{quoted}” is not in the evidence word for word")


def check_figures(claim: str, evidence: Sources) -> Iterator[Finding]:
    """Yield the figures and dates in a claim that the evidence does not have, or has for something else."""
    claimed, ranked = quantities(claim), evidence.ranked(frozenset(content_terms(claim)))
    if len(claimed) > MAX_FIGURES:
        yield Finding(FindingKind.FIGURE_MISSING, f"it holds {len(claimed):,} figures, too many to check")
        return
    for quantity in claimed:
        if quantity.named == "#" or any(same(quantity, given) for given in evidence.known_figures):
            continue
        holders = [sentence for sentence in evidence.sentences if _gives(sentence, quantity)]
        if against := _findings_of_holders(claim, quantity, holders, evidence):
            yield against
        elif not (holders or _is_stated(quantity, evidence)):
            missing = f"{quantity.text.strip()} does not occur in the evidence"
            if rival := _rival(quantity, ranked):
                yield Finding(FindingKind.FIGURE_DIFFERS, f"{missing}; the closest passage says {rival}")
            else:
                yield Finding(FindingKind.FIGURE_MISSING, missing)


def _is_stated(quantity: Quantity, evidence: Sources) -> bool:
    """Accept "three passages" if there are three, and "2" if the evidence spells "two"."""
    if quantity.kind != "number":
        return False
    spelled = {1.0: "one", 2.0: "two"}.get(quantity.value, "")
    return spelled in evidence.stems or (quantity.value == len(evidence.sources) and quantity.step == 0)


def _rival(quantity: Quantity, ranked: list[tuple[float, Sentence]]) -> str:
    """Name the figure of the same kind that the closest sentence gives instead."""
    if not ranked or ranked[0][0] < _ALIKE:
        return ""
    return next((given.text.strip() for given in ranked[0][1].quantities if given.kind == quantity.kind), "")


def _findings_of_holders(claim: str, quantity: Quantity, holders: list[Sentence], evidence: Sources) -> Finding | None:
    """Find a right figure that is given for the wrong thing, year or row, or without its minus."""
    figure = quantity.text.strip()
    years = {given.year for given in quantities(claim) if given.year}
    if not holders or quantity.kind in ("date", "label"):
        return None
    if counts := _counts_other(quantity, holders, evidence):
        return Finding(FindingKind.CONTRADICTED, f"the evidence does not say {figure} here; it says {counts}")
    given_years = [_years_of(holder, quantity) for holder in holders]
    if years and all(given_years) and not any(years & holder_years for holder_years in given_years):
        other = ", ".join(str(year) for year in sorted(given_years[0]))
        kind = (
            FindingKind.OTHER_CELL if all(holder.years_of_columns for holder in holders) else FindingKind.CONTRADICTED
        )
        return Finding(kind, f"{figure} belongs to {other} in the evidence")
    negative = all(_only_negative(holder, quantity) for holder in holders)
    if quantity.value > 0 and negative:
        return Finding(FindingKind.SIGN, f"{figure} is negative in the evidence")
    wanted = frozenset(content_terms(claim))
    labels = [holder.row_label for holder in holders]
    if not all(labels) or any(label <= wanted for label in labels):
        return None
    for row in evidence.sentences:
        if row.row_label and row.row_label <= wanted and row not in holders:
            detail = f"{figure} is in another row; the right one reads: {row.text.strip()}"
            return Finding(FindingKind.OTHER_CELL, detail)
    return _row_not_named(claim, quantity, holders)


def _row_not_named(claim: str, quantity: Quantity, rows: list[Sentence]) -> Finding | None:
    """Find a table figure in a claim that names something, but has no word of the figure's row or its heads."""
    figures = {term for one in quantities(claim) for term in content_terms(one.text)}
    about = {root(term) for term in content_terms(claim) if term not in figures}
    named = {root(term) for row in rows for line in (row, *row.heads) for term in line.terms}
    if not about or about & named or in_another_language(claim, [row.source.text for row in rows]):
        return None
    return Finding(FindingKind.REWORDED, f"{quantity.text.strip()} is in this row: {' '.join(rows[0].text.split())}")


def _counts_other(quantity: Quantity, holders: list[Sentence], evidence: Sources) -> str:
    """Return what the evidence gives of the thing that a figure counts or numbers, where it never gives this figure."""
    if not (quantity.counted or quantity.named):
        return ""

    def is_of_it(given: Quantity) -> bool:
        return bool(quantity.counted & given.counted) or bool(quantity.named and quantity.named == given.named)

    given = [(s, figure) for s in holders for figure in s.quantities if same(quantity, figure, s.source.scales)]
    if any(is_of_it(figure) or not (figure.counted or figure.named or figure.unit) for _, figure in given):
        return ""
    if any(quantity.counted & sentence.terms for sentence, _ in given):
        return ""  # "100 people, of 2,117 passengers": another word for the same
    of_it = (figure for sentence in evidence.sentences for figure in sentence.quantities if is_of_it(figure))
    return next((figure.text.strip() for figure in of_it), "")


def check_wording(claim: str, evidence: Sources) -> Iterator[Finding]:
    """Yield what replaces the words of the sentence that the claim nearly repeats."""
    ranked = evidence.ranked(frozenset(content_terms(claim)))
    found = [changed for _, sentence in ranked[:MAX_COMPARED] if (changed := changes(claim, sentence.text)) is not None]
    for change in min(found, key=len, default=()):
        kind = FindingKind.CUT_OFF if change.cut_off else FindingKind.REWORDED
        kind = FindingKind.COUNTED if change.counted else kind
        kind = FindingKind.CONTRADICTED if change.figures else kind
        if change.mine and change.theirs:
            detail = f"here the evidence says “{change.theirs}”, not “{change.mine}”"
        elif change.mine:
            detail = f"the sentence that it repeats does not have “{change.mine}”"
        else:
            detail = f"it leaves out “{shortened(change.theirs)}” from the sentence that it repeats"
        yield Finding(kind, detail)


def _gives(sentence: Sentence, quantity: Quantity) -> bool:
    """Return whether a sentence gives a figure; "chapter 3" does not give the number of chapters."""
    given = (one for one in sentence.quantities if not (quantity.counted and one.kind == "label"))
    return any(same(quantity, one, sentence.source.scales) for one in given)


def _only_negative(sentence: Sentence, quantity: Quantity) -> bool:
    given = [figure for figure in sentence.quantities if same(quantity, figure, sentence.source.scales)]
    return bool(sentence.row_label) and all(figure.value < 0 for figure in given)


def _years_of(sentence: Sentence, quantity: Quantity) -> set[int]:
    """Return the years of a figure by its sentence or the head of its column.

    Empty if it has more figures of the kind than years: "rose to 512, from 480 in 2021" gives no year for 512.
    """
    for figure in sentence.quantities:
        if same(quantity, figure, sentence.source.scales) and id(figure) in sentence.years_of_columns:
            return {sentence.years_of_columns[id(figure)]}
    years = {figure.year for figure in sentence.quantities if figure.year}
    of_kind = [figure for figure in sentence.quantities if figure.counts and comparable(quantity, figure)]
    return years if len(of_kind) <= len(years) else set()
