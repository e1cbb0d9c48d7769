"""Hold one claim against its evidence, without a model: figures, names, quoted terms, negation, direction, modality.

Each disagreement is a finding with a line for people. How the findings add up to a verdict is left to `judge`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from core.judge.changed import changes
from core.judge.sources import Sentence, Sources, wording
from core.text.numbers import Quantity, derivation, quantities, same
from core.text.terms import content_terms, specificity


class FindingKind(StrEnum):
    FIGURE = "figure"
    """A figure or date that is nowhere in the evidence."""
    OTHER_FIGURE = "other figure"
    """The same, and the evidence gives another one there."""
    NAME = "name"
    """A name or quoted term that is nowhere in the evidence."""
    WORDING = "wording"
    """Other words than the evidence's, which may mean the same."""
    OTHERWISE = "otherwise"
    """The evidence says otherwise: of another year or row, another figure, denied, the opposite."""
    COMPUTED = "computed"
    """No disagreement: how a figure follows from the evidence."""


CONTRADICTIONS = frozenset({FindingKind.OTHER_FIGURE, FindingKind.OTHERWISE})
_NAME = re.compile(r"(?<![\w’'])[A-Z][\w’'&-]*(?:\s+(?:(?:of|the|de|van|von|and|&)\s+)?[A-Z][\w’'&-]*)*")
_NO_NAME = re.compile(
    r"(?:[AP]M|(?:Jan|Febr)uary|March|April|May|June|July|August|(?:Septem|Octo|Novem|Decem)ber"
    r"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|Fahrenheit|Celsius)$"
)
"""Capitals that are read as dates, times and units."""
_QUOTED = re.compile(r"\"([^\"\n]{2,200})\"|“([^“”\n]{2,200})”|«([^«»\n]{2,200})»")
DENIES = re.compile(
    r"\b(?:not?|never|neither|nor|none|without|cannot|unless|lacks?|fail(?:s|ed)? to|den(?:y|ies|ied)|false|untrue|"
    r"wrong(?:ly)?|kein\w*|nicht|ohne)\b|n['’]t\b",
    re.IGNORECASE,
)
_PLAIN_NO = re.compile(r"^(?:no|yes)[,.]\s+", re.IGNORECASE)
_FALLING = re.compile(
    r"\b(?:loss(?:es)?|lost|fell|falls?|falling|down|declin\w*|decreas\w*|drop\w*|reduc\w*|deficit|negative|minus|outflow\w*|"
    r"us(?:ed|es?)|expens\w*|costs?|paid|pay\w*|charges?|shr[aiu]nk\w*|verlust\w*|gefallen|sank)\b",
    re.IGNORECASE,
)
_COMPUTES = re.compile(
    r"\b(?:sum|total\w*|combined|together|altogether|aggregate|average\w*|mean|differ\w*|ratio|times|twice|doubl\w*|tripl\w*|"
    r"half|share|proportion|margin|percent\w*|change\w*|increas\w*|decreas\w*|declin\w*|reduc\w*|grew|grow\w*|rose|rises?|"
    r"rising|fell|falls?|falling|drop\w*|more|less|fewer|higher|lower|gain\w*|gap|net|comput\w*|calculat\w*|equals?)\b|%|=",
    re.IGNORECASE,
)
"""Words that say that a figure was worked out of others."""
MOST_FIGURES = 150
"""In one claim; with more it is no statement that anybody could check."""
_ALIKE, _SAME = 0.6, 0.75
"""Weighted share of a claim's terms that a sentence must hold before the two count as being about the same thing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One disagreement of a claim with its evidence (or, for COMPUTED, how a figure follows from it)."""

    kind: FindingKind
    detail: str


def check_claim(claim: str, evidence: Sources) -> tuple[Finding, ...]:
    """Return all findings on a bare claim against the evidence it rests on."""
    ranked = evidence.ranked(frozenset(content_terms(claim)))
    return tuple(
        dict.fromkeys(
            [
                *_number_findings(claim, evidence, ranked),
                *_name_findings(claim, evidence),
                *_quoted_term_findings(claim, evidence),
                *_rival_findings(claim, evidence),
                *_changed_findings(claim, ranked),
            ]
        )
    )


def _name_findings(claim: str, evidence: Sources) -> Iterator[Finding]:
    for match in _NAME.finditer(claim):
        parts = [part for part in re.findall(r"\b[A-Z][\w’'&]*", match.group()) if len(part) > 1]
        abbreviated = len(parts) > 1 and "".join(part[0] for part in parts) in evidence.acronyms
        if parts and _opens_sentence(claim, match.start()):
            parts = parts[1:]  # a capital that only opens the sentence is no sign of a name
        for part in parts:
            if not (abbreviated or _NO_NAME.match(part) or evidence.names(re.sub(r"['’]s?$", "", part))):
                yield Finding(FindingKind.NAME, f"“{part}” does not occur in the evidence")


def _opens_sentence(text: str, position: int) -> bool:
    before = text[max(0, position - 60) : position]
    bare = before.rstrip()
    space = before[len(bare) :]
    return not bare or "\n" in space or bare[-1] in '\n"“(|' or (bool(space) and bare[-1] in ".!?:;")


def _quoted_term_findings(claim: str, evidence: Sources) -> Iterator[Finding]:
    for match in _QUOTED.finditer(claim):
        quoted = next(group for group in match.groups() if group)
        bare = re.sub(r"^(?:The|A|An)\s", "", quoted.rstrip(",.;"))
        found = any(source.normalized.locate(bare) for source in evidence.sources)
        if found or bare.endswith("?") or evidence.mentions(bare):
            continue
        yield Finding(FindingKind.NAME, f"“{quoted}” is not in the evidence word for word")


def _number_findings(claim: str, evidence: Sources, ranked: list[tuple[float, Sentence]]) -> Iterator[Finding]:
    claimed = quantities(claim)
    if len(claimed) > MOST_FIGURES:
        yield Finding(FindingKind.FIGURE, f"it holds {len(claimed):,} figures, too many to check")
        return
    years = {quantity.year for quantity in claimed if quantity.kind == "date" and quantity.year}
    asked = quantities(evidence.question) if claimed else ()
    for quantity in claimed:
        holders = [sentence for sentence in evidence.sentences if _gives(sentence, quantity)]
        if holders:
            if quantity.kind != "date":
                yield from _attachment_findings(claim, quantity, years, holders, evidence)
        elif any(same(quantity, given) for given in asked) or _is_told(quantity, evidence):
            continue
        elif formula := _derived(claim, quantity, years, ranked):
            yield Finding(FindingKind.COMPUTED, formula)
        else:
            missing = f"{quantity.text.strip()} does not occur in the evidence"
            if rival := _rival(quantity, ranked):
                yield Finding(FindingKind.OTHER_FIGURE, f"{missing}; the closest passage says {rival}")
            else:
                yield Finding(FindingKind.FIGURE, missing)


def _derived(claim: str, quantity: Quantity, years: set[int], ranked: list[tuple[float, Sentence]]) -> str:
    """Return the formula that gives a figure, from the closest sentences or the column of the year it is told of."""
    if not _COMPUTES.search(claim):
        return ""
    nearest = [sentence for _, sentence in ranked[:4]]
    given = [figure for sentence in nearest for figure in sentence.quantities]
    table = nearest[0].source.sentences if nearest and years else []
    column = [f for row in table if row.row_label for f in row.quantities if row.years_of_columns.get(id(f)) in years]
    given = column + [figure for figure in given if figure not in column]
    scales = frozenset(scale for sentence in nearest for scale in sentence.source.scales)
    return derivation(quantity, given, scales or frozenset({1.0}))


def _is_told(quantity: Quantity, evidence: Sources) -> bool:
    """Let "three passages" stand where there are three, and "2" where the evidence spells "two"."""
    if quantity.kind != "number":
        return False
    spelled = {1.0: "one", 2.0: "two"}.get(quantity.value, "")
    return spelled in evidence.stems or (quantity.value == len(evidence.sources) and quantity.step == 0)


def _rival(quantity: Quantity, ranked: list[tuple[float, Sentence]]) -> str:
    """Name the figure of the same kind that the closest sentence gives instead."""
    if not ranked or ranked[0][0] < _ALIKE:
        return ""
    return next((given.text.strip() for given in ranked[0][1].quantities if given.kind == quantity.kind), "")


def _attachment_findings(
    claim: str, quantity: Quantity, years: set[int], holders: list[Sentence], evidence: Sources
) -> Iterator[Finding]:
    """Find a right figure told of the wrong year or the wrong row, or without its minus."""
    figure = quantity.text.strip()
    if years:
        told = [_years_of(holder, quantity) for holder in holders]
        if all(told) and not any(years & holder_years for holder_years in told):
            other = ", ".join(str(year) for year in sorted(told[0]))
            yield Finding(FindingKind.OTHERWISE, f"{figure} belongs to {other} in the evidence")
            return
    if (
        quantity.value > 0
        and not _FALLING.search(claim)
        and all(_only_negative(holder, quantity) for holder in holders)
    ):
        yield Finding(FindingKind.OTHERWISE, f"{figure} is negative in the evidence")
        return
    wanted = frozenset(content_terms(claim))
    labels = [holder.row_label for holder in holders]
    if not all(labels) or any(label <= wanted for label in labels):
        return
    for row in evidence.sentences:
        if row.row_label and row.row_label <= wanted and row not in holders:
            yield Finding(
                FindingKind.OTHERWISE, f"{figure} stands in another row; the right one reads: {row.text.strip()}"
            )
            return


def _rival_findings(claim: str, evidence: Sources) -> Iterator[Finding]:
    """Find what a claim changes of a sentence that says the same otherwise: a figure or a date."""
    twins = _twins(claim, evidence)
    claimed = quantities(claim)
    if not twins or len(claimed) > MOST_FIGURES:
        return
    ranked = [(1.0, twin) for twin in twins]
    years = {quantity.year for quantity in claimed if quantity.kind == "date" and quantity.year}
    for quantity in claimed:
        if any(_gives(twin, quantity) for twin in twins):
            continue
        rivals = [
            given.text.strip()
            for given in twins[0].quantities
            if (given.kind == "date") == (quantity.kind == "date")
            and not any(same(other, given, twins[0].source.scales) for other in claimed)
        ]
        if rivals and not _derived(claim, quantity, years, ranked):
            detail = f"{quantity.text.strip()} is not said of this; of this the evidence says {rivals[0]}"
            yield Finding(FindingKind.OTHERWISE, detail)


def _changed_findings(claim: str, ranked: list[tuple[float, Sentence]]) -> Iterator[Finding]:
    """Find what stands in the place of the words of a sentence that the claim repeats otherwise."""
    claim = _PLAIN_NO.sub("", claim)
    found = [changed for _, sentence in ranked[:5] if (changed := changes(claim, sentence.text)) is not None]
    for change in min(found, key=len, default=()):
        kind = FindingKind.OTHERWISE if change.binding else FindingKind.WORDING
        yield Finding(kind, f"of this the evidence says “{change.theirs}”, not “{change.mine}”")


def _twins(claim: str, evidence: Sources) -> list[Sentence]:
    """Return the sentences with nearly all words of the claim and hardly any others, whatever their figures."""
    wanted = wording(content_terms(claim))
    total = sum(map(specificity, wanted))
    found = []
    for sentence in evidence.sentences:
        both = wanted & sentence.wording
        shared = sum(map(specificity, both))
        if shared and shared >= _SAME * total and len(both) >= _SAME * len(sentence.wording):
            found.append((shared, sentence))
    most = max((shared for shared, _ in found), default=0.0)
    return [sentence for shared, sentence in found if shared == most]


def _gives(sentence: Sentence, quantity: Quantity) -> bool:
    return any(same(quantity, given, sentence.source.scales) for given in sentence.quantities)


def _only_negative(sentence: Sentence, quantity: Quantity) -> bool:
    given = [figure for figure in sentence.quantities if same(quantity, figure, sentence.source.scales)]
    return bool(sentence.row_label) and all(figure.value < 0 for figure in given)


def _years_of(sentence: Sentence, quantity: Quantity) -> set[int]:
    """Return the years that a sentence, or the head of its column, gives a figure."""
    for figure in sentence.quantities:
        if same(quantity, figure, sentence.source.scales) and id(figure) in sentence.years_of_columns:
            return {sentence.years_of_columns[id(figure)]}
    return {figure.year for figure in sentence.quantities if figure.year}
