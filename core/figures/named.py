"""Works out the formulas that a trade has names for: an operand is a row printed under one of its names."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from core.domain.figures import Computation, Figure, Stated
from core.domain.tables import Cell, Table
from core.figures.agreement import years_of
from core.figures.asked import Form, wanted
from core.figures.cells import figure_of
from core.figures.formulas import Formula, Formulas, Needed, lettered, shipped_formulas
from core.text.stating import NotComputableError, statement
from core.text.terms import content_terms, specificity

LEAST_LIKE = 0.55
"""How far a row's label and a printed name must agree: the product of the weights' shares that both hold."""
_LATER_NAME = 0.98
_PART_OF_YEAR = frozenset(content_terms("quarter quarterly months weeks quarters interim"))
_LEAST_WEIGHT = 0.15


@dataclass(frozen=True, slots=True)
class Named:
    """``stated`` is what was computed; else ``missing`` says which operand the tables lack."""

    stated: Stated | None = None
    missing: str = ""


@dataclass(frozen=True, slots=True)
class _Row:
    table: Table
    row: int
    likeness: float


def named(question: str, tables: Sequence[Table], sure: float, formulas: Formulas | None = None) -> Named:
    """Compute what the question calls by its name. ``sure``: how often found operands give the right figure."""
    formulas = formulas or shipped_formulas()
    found = formulas.named_in(question)
    if found is None or not tables:
        return Named()
    asked = wanted(question)
    if asked is not None and asked.form in (Form.CHANGE, Form.GROWTH, Form.COMPOUND_GROWTH):
        return Named()  # two of them would be needed
    name, formula = found
    years = sorted(years_of(question))
    lacking: list[str] = []
    best: Stated | None = None
    for document_id in dict.fromkeys(table.document_id for table in tables):
        own = [table for table in tables if table.document_id == document_id]
        year = years[-1] if years else _latest(own)
        stated = _of_document(name, formula, own, year, formulas.operands, lacking) if year else None
        if stated is not None and (best is None or stated.probability > best.probability):
            best = stated
    if best is not None:
        return Named(Stated(best.text, best.figures, best.probability * sure, computation=best.computation))
    missing = " and ".join(dict.fromkeys(lacking))
    return Named(missing=f"The {name} was not computed: the tables that were found lack {missing}." if missing else "")


def _of_document(
    name: str,
    formula: Formula,
    tables: Sequence[Table],
    year: int,
    printed: Mapping[str, Sequence[str]],
    lacking: list[str],
) -> Stated | None:
    for expression in formula.expressions:
        needed, letters = lettered(expression)
        chosen = {one: _operand(one, tables, year, printed) for one in needed}
        lost = [one for one, found in chosen.items() if found is None]
        if lost:
            lacking += [] if lacking else [_called(one, year) for one in lost]
            continue
        operands = [found for found in chosen.values() if found is not None]
        figures = tuple(figure for figure, _ in operands)
        if len({figure.unit for figure in figures if figure.unit}) > 1:
            continue
        scale = max(figure.scale for figure in figures) if formula.unit == "money" else 1
        currency = next((figure.unit for figure in figures if figure.unit), "")
        unit = currency if formula.unit == "money" else formula.unit
        computation = Computation(f"{name[:1].upper()}{name[1:]}, {year}", letters, unit, scale)
        try:
            text = statement(figures, computation)
        except NotComputableError:
            continue
        likeness = 1.0
        for _, alike in operands:
            likeness *= alike
        return Stated(text, figures, likeness, computation=computation)
    return None


def _called(needed: Needed, year: int) -> str:
    return f"{needed.operand.replace('_', ' ')} ({year - needed.before})"


def _operand(
    needed: Needed, tables: Sequence[Table], year: int, printed: Mapping[str, Sequence[str]]
) -> tuple[Figure, float] | None:
    """The figure of that year in the row whose label is likest to one of the operand's printed names."""
    wanted_year = year - 1 if needed.before else year
    names = printed[needed.operand]
    for row in sorted(_rows(tables, tuple(names)), key=lambda row: -row.likeness):
        cells = list(_of_year(row.table, row.row, wanted_year))
        figure = figure_of(row.table, cells[0]) if cells else None
        if figure is not None:
            return figure, row.likeness
    return None


def _rows(tables: Sequence[Table], names: tuple[str, ...]) -> Iterator[_Row]:
    for table in tables:
        for number, heading in enumerate(table.rows):
            if number >= table.head_rows and (alike := _likeness(heading.label, names)) >= LEAST_LIKE:
                yield _Row(table, number, alike)


def _of_year(table: Table, row: int, year: int) -> Iterator[Cell]:
    """The row's figures of that year, those of whole years first; no shares."""
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
    """How far a label agrees with the likest of some names, the first a little before the others."""
    own = frozenset(_terms(label))
    return max((_shared(own, frozenset(_terms(name))) * _LATER_NAME**at for at, name in enumerate(names)), default=0.0)


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    both = _weight(one & other)
    return both * both / (_weight(one) * _weight(other)) if both else 0.0


def _weight(terms: Iterable[str]) -> float:
    return sum(max(_LEAST_WEIGHT, specificity(term)) for term in terms)


@lru_cache(maxsize=16384)
def _terms(text: str) -> tuple[str, ...]:
    return tuple(term for term in content_terms(text) if not term.isdigit())
