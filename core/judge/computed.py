"""How a figure of a claim follows from figures of the evidence that it speaks of, by an operation that it names.

Operands are of one kind and unit, stand in rows and columns or in sentences that share the claim's words, and between
them those hold nearly all of its words. Which figures a claim gets wrong is left to `checks`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations

from core.judge.sources import Sentence, Sources, wording
from core.text.numbers import Quantity, comparable, is_close, quantities, same
from core.text.terms import content_terms, root, specificity

MOST_OPERANDS = 24
SHARED, COVERED, NAMED = 0.3, 0.5, 0.7
"""Weighted shares: of a claim's words that an operand's sentence, and those of all, hold; of a row's that it names."""
_UP = r"ris\w*|rose|increas\w*|grow\w*|grew|gain\w*|improv\w*|up|higher|above|more|exceed\w*|over"
_DOWN = r"fell|fall\w*|decreas\w*|declin\w*|drop\w*|reduc\w*|shr[aiu]nk\w*|down|lower|below|less|fewer|under|lost"
_RISING, _FALLING = (re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for words in (_UP, _DOWN))
_TOTAL = re.compile(r"\b(?:sums?|total\w*|combined|together|altogether|aggregate|add\w*|plus|overall|in all)\b", re.I)
_AVERAGE = re.compile(r"\b(?:averag\w*|mean)\b", re.IGNORECASE)
_APART = re.compile(
    rf"\b(?:differ\w*|gaps?|chang\w*|left|remain\w*|rest|not|minus|miss\w*|lack\w*|absent|unspent|unused|unpaid|without|after|between|{_UP}|{_DOWN})\b",
    re.I,
)
_SHARE = re.compile(
    r"(?:%|\bper ?cent|\bpercentage)\s(?:of|as)\b|\b(?:shares?|proportions?|portions?|fractions?|margins?|ratios?|"
    r"rates?|account\w*|represent\w*|ma[dk]e up|came to|comes? to|equals?)\b",
    re.IGNORECASE,
)
_RATIO = re.compile(
    r"\b(?:times|ratios?|multiples?|fold|per|each|every|an?|averag\w*|for)\b|(?<=\d)x\b|/", re.IGNORECASE
)
_CALCULATING = frozenset(
    content_terms(
        "sum total totals totalled combined together altogether aggregate add added adding plus overall difference "
        "differ differs gap change changed left remain remained remaining rest minus average averaged mean share "
        "proportion portion fraction margin ratio rate account accounted represent represented make made come came "
        "equal equals times multiple fold more fewer less higher lower above "
        "below exceed exceeds exceeded rise rose risen rising "
        "increase increased increasing grow grew grown growth gain gained improve improved fall fell fallen falling "
        "decrease decreased decline declined drop dropped reduce reduced reduction shrink shrank amount amounted "
        "compute computed calculate calculated percentage points point year years prior previous compared comparison "
        "relative percent"
    )
)
"""Words that say how a figure was worked out and not of what."""


@dataclass(frozen=True, slots=True)
class Input:
    """A figure of the evidence with its place: ``column`` is the year over it, or else its number in its row."""

    figure: Quantity
    sentence: Sentence
    column: int
    year: int

    @property
    def in_row(self) -> bool:
        return bool(self.sentence.row_label)


@dataclass(frozen=True, slots=True)
class _Result:
    """What an operation gives; ``scaled``: in the scale of the operands' table."""

    operands: tuple[Input, ...]
    template: str
    value: float
    scaled: bool = False

    @property
    def formula(self) -> str:
        return self.template.format(*(operand.figure.text.strip() for operand in self.operands))


@dataclass(frozen=True, slots=True)
class _Claimed:
    """The operations that a claim names, the direction of its change, and what it gives figures per."""

    total: bool
    average: bool
    apart: bool
    share: bool
    ratio: bool
    rises: bool
    falls: bool
    per: frozenset[str]
    roots: frozenset[str]

    @classmethod
    def of(cls, claim: str) -> "_Claimed":
        return cls(
            total=bool(_TOTAL.search(claim)),
            average=bool(_AVERAGE.search(claim)),
            apart=bool(_APART.search(claim)),
            share=bool(_SHARE.search(claim)),
            ratio=bool(_RATIO.search(claim)),
            rises=bool(_RISING.search(claim)),
            falls=bool(_FALLING.search(claim)),
            per=frozenset(quantity.per for quantity in quantities(claim) if quantity.per),
            roots=frozenset(map(root, content_terms(claim))),
        )

    def counts(self, figure: Quantity) -> bool:
        """Say whether an amount is told for each of what a figure counts ("per kg", "at each of the sites")."""
        return figure.unit in self.per or any(root(term) in self.roots for term in figure.counted)


@dataclass(frozen=True, slots=True)
class Derivation:
    """How a figure follows: "1,234 - 1,100 = 134", from two."""

    formula: str
    operands: int


def computed(claim: str, quantity: Quantity, evidence: Sources) -> Derivation | None:
    """Return how a figure of the claim follows from the evidence, if it does."""
    if quantity.kind == "date" and quantity.date[1:] == (0, 0):  # 1777 may be a year or a number
        quantity = replace(quantity, kind="number", step=1.0)
    if not quantity.counts or quantity.named or quantity.unit in ("C", "F"):  # nobody adds temperatures
        return None
    terms = wording(content_terms(claim))
    said, about = set(map(root, terms)), set(map(root, terms - _CALCULATING))
    stated = [figure for figure in quantities(claim) if figure.start != quantity.start]
    years = {figure.year for figure in stated if figure.kind == "date" and figure.year}
    operands = list(islice(_operands(evidence, said, about, stated, years), MOST_OPERANDS))
    rows = frozenset[str]() if any(figure.counts for figure in stated) else _named_rows(operands, said)
    for result in _results(_Claimed.of(claim), quantity, operands, years):
        used = result.operands
        scales = used[0].sentence.source.scales if result.scaled and used[0].in_row else (1.0,)
        if any(is_close(quantity, result.value * scale) for scale in scales) and _covers(used, about, rows, evidence):
            return Derivation(f"{result.formula} = {quantity.text.strip()}", len(used))
    return None


def _operands(
    evidence: Sources, said: set[str], about: set[str], stated: Sequence[Quantity], years: set[int]
) -> Iterator[Input]:
    """Yield the figures that the claim states or whose row or sentence it speaks of, those of other years left out."""
    total = _weight(about)
    for sentence in evidence.sentences:
        words = {root(term) for term in sentence.row_label or sentence.wording}
        shared = words & (said if sentence.row_label else about)
        needed = NAMED * _weight(words) if sentence.row_label else SHARED * total
        figures = [figure for figure in sentence.quantities if figure.counts]
        dates = {figure.year for figure in sentence.quantities if figure.year}
        for place, figure in enumerate(figures):
            if not (
                _weight(shared) >= needed or any(same(claimed, figure, sentence.source.scales) for claimed in stated)
            ):
                continue
            year = sentence.years_of_columns.get(id(figure), next(iter(dates)) if len(dates) == 1 else 0)
            if len(years) < 2 or not year or year in years:
                yield Input(figure, sentence, year or place, year)


def _results(told: _Claimed, quantity: Quantity, operands: Sequence[Input], years: set[int]) -> Iterator[_Result]:
    """Yield the results of every operation that the claim names."""
    for one, other in permutations(operands, 2):
        dated = bool(one.year and other.year and one.year != other.year)
        if not other.figure.value or _of_other_years((one, other), years):
            continue
        if _are_alike(one, other):
            yield from _compared(told, quantity, one, other, dated=dated)
        elif told.ratio and comparable(quantity, one.figure) and told.counts(other.figure):
            yield _Result((one, other), "{} / {}", one.figure.value / other.figure.value)
    for together in _together(operands) if told.total or told.average else ():
        if comparable(quantity, together[0].figure) and not _of_other_years(together, years):
            total, added = sum(operand.figure.value for operand in together), " + ".join("{}" for _ in together)
            if told.total:
                yield _Result(together, added, total, scaled=True)
            if told.average:
                yield _Result(together, f"({added}) / {len(together)}", total / len(together), scaled=True)


def _compared(told: _Claimed, quantity: Quantity, one: Input, other: Input, *, dated: bool) -> Iterator[_Result]:
    """Yield difference, growth, share and ratio of two figures of one kind, in the direction that the claim tells."""
    first, second = one.figure.value, other.figure.value
    later = one if one.year > other.year else other
    right_way = not dated or told.rises is told.falls or told.rises is (later is one)
    if first >= second and told.apart and right_way:
        if comparable(quantity, one.figure):
            yield _Result((one, other), "{} - {}", first - second, scaled=True)
        if quantity.kind == "percent" != one.figure.kind and told.rises is not told.falls:
            base = other if told.rises else one
            formula = "({} - {}) / " + base.figure.text.strip()
            yield _Result((one, other), formula, 100 * (first - second) / abs(base.figure.value))
    if quantity.kind == "percent" != one.figure.kind and told.share and (not dated or later is one):
        yield _Result((one, other), "{} / {}", 100 * first / second)
    if quantity.kind == "number" and told.ratio and not quantity.unit and one.figure.kind != "percent":
        yield _Result((one, other), "{} / {}", first / second)


def _together(operands: Sequence[Input]) -> Iterator[tuple[Input, ...]]:
    """Yield the figures of one kind that are added up: two of them, those of a row, of a column, of a sentence."""
    for one, other in permutations(operands, 2):
        if _are_alike(one, other):
            yield (one, other)
    for place in dict.fromkeys((id(o.sentence), 0) if not o.in_row else (0, o.column) for o in operands):
        group = [o for o in operands if (id(o.sentence) if not o.in_row else 0, o.column if o.in_row else 0) == place]
        if len(group) > 2 and all(_are_alike(group[0], one) for one in group[1:]):
            yield tuple(group)
    for sentence in dict.fromkeys(o.sentence for o in operands if o.in_row):
        row = [operand for operand in operands if operand.sentence is sentence]
        if len(row) > 2:
            yield tuple(row)


def _of_other_years(operands: Sequence[Input], years: set[int]) -> bool:
    """Say whether all operands stand under years, and none under one that the claim names."""
    own = {operand.year for operand in operands}
    return bool(years) and 0 not in own and not own & years


def _are_alike(one: Input, other: Input) -> bool:
    """Say whether two figures can be added and compared: one kind, unit and rate, and one row or one column."""
    first, second = one.figure, other.figure
    if (first.kind, first.unit, first.per) != (second.kind, second.unit, second.per):
        return False
    if one.in_row != other.in_row:
        return False
    if one.in_row:
        return one.sentence is other.sentence or one.column == other.column
    return not (first.counted and second.counted) or bool(first.counted & second.counted)


def _named_rows(operands: Sequence[Input], said: set[str]) -> frozenset[str]:
    """Return the words of the rows that the claim names in full."""
    labels = (frozenset(map(root, operand.sentence.row_label)) for operand in operands)
    return frozenset(word for label in labels if label <= said for word in label)


def _covers(used: Sequence[Input], about: set[str], rows: frozenset[str], evidence: Sources) -> bool:
    """Say whether the operands' sentences and heads hold most words of the claim, and all of the rows that it names."""
    sentences = [line for operand in used for line in (operand.sentence, *operand.sentence.heads)]
    held = {root(term) for sentence in sentences for term in sentence.wording}
    if any(operand.in_row for operand in used):
        held |= {root(term) for term in content_terms(evidence.question)}
    return rows <= held and _weight(about & held) >= COVERED * _weight(about)


def _weight(terms: set[str]) -> float:
    return sum(map(specificity, terms))
