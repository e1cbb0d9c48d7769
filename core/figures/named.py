"""Works out the formulas that a trade has names for: an operand is a row printed under one of its names."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pincite.core.domain.figures import Computation, Figure, Stated
from pincite.core.domain.tables import Cell, Table
from pincite.core.figures.agreement import weight_of
from pincite.core.figures.cells import figure_of
from pincite.core.figures.computing import Computed
from pincite.core.figures.formulas import Formula, Formulas, Needed, Operand, lettered, shipped_formulas
from pincite.core.questions.operations import Form, wanted
from pincite.core.text.stating import NotComputableError, statement
from pincite.core.text.terms import content_terms
from pincite.core.text.years import years_of

MAX_YEARS = 9
ALIKE = 0.8
"""Minimum likeness of a row's label to a name for it to be the same."""
MIN_SIMILARITY = 0.55
"""How far a row's label and a printed name must agree: the product of the weights' shares that both hold."""
_LATER_NAME, _BUT_REMARK = 0.98, 0.85
_REMARK = re.compile(r"[,(–—].*", re.DOTALL)
_PART_OF_YEAR = frozenset(content_terms("quarter quarterly months weeks quarters interim"))


@dataclass(frozen=True, slots=True)
class _RowOfOperand:
    table: Table
    row: int
    likeness: float


def named(question: str, tables: Sequence[Table], sure: float, formulas: Formulas | None = None) -> Computed:
    """Compute what the question calls by its name. ``sure``: what operands that fit wholly are worth."""
    formulas = formulas or shipped_formulas()
    found = formulas.named_in(question)
    if found is None or not tables:
        return Computed()
    name, formula = found
    lacking: list[str] = []
    best: Stated | None = None
    for document_id in dict.fromkeys(table.document_id for table in tables):
        own = [table for table in tables if table.document_id == document_id]
        stated = _of_document(
            name, formula, own, _times(_without_name(question, formula), own), formulas.operands, lacking
        )
        if stated is not None and (best is None or stated.probability > best.probability):
            best = stated
    if best is not None:
        return Computed(Stated(best.text, best.figures, best.probability * sure, computation=best.computation))
    missing = " and ".join(dict.fromkeys(lacking))
    return Computed(
        missing=f"The {name} was not computed: the tables that were found lack {missing}." if missing else ""
    )


def as_printed(question: str, tables: Sequence[Table], formulas: Formulas) -> str:
    """The question with operands called as the tables call them, where no row has the name that the question uses."""
    changes: list[tuple[int, int, str]] = []
    for key, (start, end) in formulas.operands_in(question):
        operand = formulas.operands[key]
        rows = list(_rows(tables, operand))
        own = max((_likeness(_label(row), (question[start:end],)) for row in rows), default=0.0)
        best = max(rows, key=lambda row: row.likeness, default=None)
        if best is not None and own < ALIKE <= best.likeness:
            changes.append((start, end, _REMARK.sub("", _label(best)).lower()))
    for start, end, name in sorted(changes, reverse=True):
        question = f"{question[:start]}{name}{question[end:]}"
    return question


@dataclass(frozen=True, slots=True)
class _Times:
    """The years for which a formula is worked out, the last first, and how the results are joined."""

    years: tuple[int, ...]
    joined: str = "x"
    title: str = ""

    @property
    def before(self) -> tuple[int, ...]:
        return tuple(self.years[0] - year for year in self.years)


def _without_name(question: str, formula: Formula) -> str:
    for name in formula.names:
        question = re.sub(re.escape(name), " ", question, flags=re.IGNORECASE)
    return question


def _times(question: str, tables: Sequence[Table]) -> _Times:
    named = sorted(years_of(question), reverse=True) or [_latest(tables)]
    asked = wanted(question)
    form = asked.form if asked and len(named) > 1 else None
    match form:
        case Form.AVERAGE:
            years = tuple(range(named[0], named[-1] - 1, -1))[:MAX_YEARS]
            return _Times(years, f"({' + '.join('xyzuvwrst'[: len(years)])}) / {len(years)}", "Average ")
        case Form.CHANGE:
            return _Times((named[0], named[-1]), "x - y", "Change in ")
        case Form.GROWTH:
            return _Times((named[0], named[-1]), "(x - y) / y * 100", "Percentage change in ")
    return _Times((named[0],))


def _of_document(
    name: str,
    formula: Formula,
    tables: Sequence[Table],
    times: _Times,
    printed: Mapping[str, Operand],
    lacking: list[str],
) -> Stated | None:
    for expression in formula.expressions:
        needed, letters = lettered(expression, times.before, times.joined)
        chosen = {one: _operand(one, tables, times.years[0], printed) for one in needed}
        lost = [one for one, found in chosen.items() if found is None]
        if lost:
            lacking += [] if lacking else [_called(one, times.years[0]) for one in lost]
            continue
        operands = [found for found in chosen.values() if found is not None]
        figures = tuple(figure for figure, _ in operands)
        places = {(figure.page_index, figure.start) for figure in figures}
        if len(places) < len(figures) or len({figure.unit for figure in figures if figure.unit}) > 1:
            continue  # one row cannot be two things
        computation = _computation(name, letters, figures, formula, times)
        try:
            text = statement(figures, computation)
        except NotComputableError:
            continue
        likeness = {one.operand: found[1] for one, found in chosen.items() if found is not None}
        return Stated(text, figures, math.prod(likeness.values()), computation=computation)
    return None


def _computation(name: str, letters: str, figures: Sequence[Figure], formula: Formula, times: _Times) -> Computation:
    called = f"{times.title}{name}" if times.title else f"{name[:1].upper()}{name[1:]}"
    label = f"{called}, {' to '.join(map(str, sorted({times.years[0], times.years[-1]})))}"
    if times.title.startswith("Percentage"):
        return Computation(label, letters, "%")
    if formula.unit == "money":
        currency = next((figure.unit for figure in figures if figure.unit), "")
        return Computation(label, letters, currency, max(figure.scale for figure in figures))
    return Computation(label, letters, formula.unit)


def _called(needed: Needed, year: int) -> str:
    return f"{needed.operand.replace('_', ' ')} ({year - needed.years_before})"


def _operand(
    needed: Needed, tables: Sequence[Table], year: int, printed: Mapping[str, Operand]
) -> tuple[Figure, float] | None:
    """Return the figure of that year in the row with the label likest to one of the operand's printed names."""
    wanted_year = year - needed.years_before
    for row in sorted(_rows(tables, printed[needed.operand]), key=lambda row: -row.likeness):
        cells = list(_of_year(row.table, row.row, wanted_year))
        figure = figure_of(row.table, cells[0]) if cells else None
        if figure is not None:
            return figure, row.likeness
    return None


def _rows(tables: Sequence[Table], operand: Operand) -> Iterator[_RowOfOperand]:
    for table in tables:
        for number, heading in enumerate(table.rows):
            above = " ".join(heading.groups).lower()
            if number < table.head_rows or any(words in above for words in operand.not_under):
                continue
            if (alike := _likeness(_label(_RowOfOperand(table, number, 0)), operand.printed)) >= MIN_SIMILARITY:
                yield _RowOfOperand(table, number, alike)


def _label(row: _RowOfOperand) -> str:
    """What a row is called; a total without a name is called as its group."""
    heading = row.table.rows[row.row]
    return heading.label or (heading.groups[-1] if heading.total and heading.groups else "")


def _of_year(table: Table, row: int, year: int) -> Iterator[Cell]:
    """Yield the row's figures of that year, those of whole years first; no shares."""
    cells = [
        cell
        for cell in table.body
        if cell.row == row
        and cell.value is not None
        and table.measure(cell)[0] != "%"
        and years_of(f"{table.columns[cell.column].path} {table.columns[cell.column].period}") == {year}
    ]
    yield from sorted(cells, key=lambda cell: bool(_PART_OF_YEAR & set(_terms(table.columns[cell.column].path))))


def _latest(tables: Sequence[Table]) -> int:
    return max((year for table in tables for column in table.columns for year in years_of(column.path)), default=0)


@lru_cache(maxsize=16384)
def _likeness(label: str, names: tuple[str, ...]) -> float:
    """Return how far a label agrees with the likest of some names, the first a little before the others.

    Text behind a comma or in brackets ("Inventories, net (Note 6)") may be a remark.
    """
    whole, named = frozenset(_terms(label)), frozenset(_terms(_REMARK.sub("", label)))
    weighted_names = ((frozenset(_terms(name)), _LATER_NAME**at) for at, name in enumerate(names))
    return max(
        (max(_shared(whole, name), _BUT_REMARK * _shared(named, name)) * worth for name, worth in weighted_names),
        default=0.0,
    )


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    both = _weight(one & other)
    return both * both / (_weight(one) * _weight(other)) if both else 0.0


def _weight(terms: Iterable[str]) -> float:
    return sum(map(weight_of, terms))


@lru_cache(maxsize=16384)
def _terms(text: str) -> tuple[str, ...]:
    return tuple(term for term in content_terms(text) if not term.isdigit())
