"""How far each cell of some tables agrees with a question: in its row, column, groups, caption, period and kind.

Gives plain numbers; what they weigh is fitted (`python -m benchmarks tables`), and who ranks by them is `cells`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray

from pincite.core.domain.tables import Cell, Table
from pincite.core.questions.wording import without_how_much
from pincite.core.text.numbers import quantities
from pincite.core.text.terms import cached_terms, content_terms, root, specificity
from pincite.core.text.years import years_of

Matrix = NDArray[np.float64]
NAMES = (
    "row_asked", "row_said", "row_both", "label_said", "others_asked", "others_said",
    "column_asked", "column_said", "column_both", "head_said", "caption_asked", "own_asked", "own_said", "covered",
    "period_agrees", "period_differs", "latest", "total", "nil", "nameless",
    "figure", "percent", "head", "label", "dated", "most_in_column", "least_in_column", "most_in_row", "least_in_row",
    "first", "last", "after", "before",
)  # fmt: skip
"""Names of the measures; most are shares of words.

``*_asked`` is the share of the question's words that are in a text, and ``*_said`` the share of the text's words that
are in the question. The texts are the row's path (its ``label``), its other cells, the column's path (its own
``head``), the caption and the cell.
"""
KINDS = NAMES.index("figure")
"""Index of the first name for the kind of cell and its rank among others: what words of a question can ask for."""
_MIN_WEIGHT = 0.15
_MAX_ROOT_LENGTH = 5


@dataclass(frozen=True, slots=True)
class Place:
    """A cell of one of the tables."""

    table: int
    cell: Cell


@dataclass(frozen=True, slots=True)
class _Match:
    """Which of the question's terms a text holds, as bits, and the share of its own weight that these are."""

    bits: int = 0
    coverage: float = 0.0


class Question:
    """A question's terms, each with how telling it is.

    ``known``: terms that no table need hold, such as the names of what the documents are about.
    """

    def __init__(self, text: str, known: Iterable[str] = ()) -> None:
        self.text = text
        terms = dict.fromkeys(content_terms(text))
        self.terms = {term: 1 << number for number, term in enumerate(terms)}
        self._roots = {root(term): bit for term, bit in self.terms.items() if len(term) >= _MAX_ROOT_LENGTH}
        self._weights = [weight_of(term) for term in self.terms]
        needless = {term for words in known for term in content_terms(words) if term.isalpha()}
        needed = [weight for term, weight in zip(terms, self._weights, strict=True) if term not in needless]
        self._whole = sum(needed) or 1.0
        asked_terms = set(content_terms(without_how_much(text)))
        self._needed = _all(self.terms[term] for term in terms if term in asked_terms - needless)
        self.match, self.share = cache(self._matched), cache(self._shared)
        self.years = years_of(text)
        self.years_in_order = tuple(dict.fromkeys(q.year for q in quantities(text) if q.kind == "date" and q.year))

    def names(self, text: str) -> int:
        """Return the bits of a text's terms where all of them are the question's own words; else none."""
        found = self.match(text)
        return found.bits if found.coverage == 1 else 0

    def bits_of(self, text: str) -> int:
        """Return the bits of a text's terms that the question contains."""
        return self.match(text).bits

    def holds_all(self, *texts: str) -> bool:
        """Return whether the texts contain every term of the question but "how much"."""
        return self._needed == _all(self.match(text).bits for text in texts) & self._needed

    def _shared(self, bits: int) -> float:
        """Return the weight of these terms, as a share of the question's."""
        weights = (weight for number, weight in enumerate(self._weights) if bits >> number & 1)
        return min(1.0, sum(weights) / self._whole)

    def _matched(self, text: str) -> _Match:
        bits, own, shared = 0, 0.0, 0.0
        for term in set(cached_terms(text)):
            bit = self.terms.get(term) or (self._roots.get(root(term), 0) if len(term) >= _MAX_ROOT_LENGTH else 0)
            weight = weight_of(term)
            own += weight
            shared += weight if bit else 0.0
            bits |= bit
        return _Match(bits, shared / own if own else 0.0)


@lru_cache(maxsize=65536)
def weight_of(term: str) -> float:
    return max(_MIN_WEIGHT, specificity(term))


def measure(question: Question, tables: Sequence[Table]) -> tuple[list[Place], Matrix]:
    """Return the cells that may answer, and their measures in the order of NAMES."""
    places, rows = list[Place](), list[list[float]]()
    for number, table in enumerate(tables):
        for cell, values in _measured(question, table):
            places.append(Place(number, cell))
            rows.append(values)
    return places, np.array(rows, dtype=np.float64).reshape(len(rows), len(NAMES))


def _measured(question: Question, table: Table) -> Iterator[tuple[Cell, list[float]]]:
    caption = question.match(table.caption).bits
    by_row: dict[int, list[Cell]] = {}
    for cell in table.cells:
        by_row.setdefault(cell.row, []).append(cell)
    columns = [(question.match(heading.path), question.match(heading.label)) for heading in table.columns]
    column_years = [years_of(f"{heading.path} {heading.period}") for heading in table.columns]
    extremes = _Extremes(question, table)
    last = len(table.rows) - 1
    latest = max((year for years in column_years for year in years), default=0)
    for row, cells in by_row.items():
        heading = table.rows[row]
        path, own_label = question.match(heading.path), question.match(heading.label)
        row_years = years_of(heading.path)
        matches = [question.match(cell.text) for cell in cells]
        for at, cell in enumerate(cells):
            if not cell.text:
                continue
            others = [match for n, match in enumerate(matches) if n != at and cells[n].column >= table.head_columns]
            column, head = columns[cell.column]
            is_head, is_label = row < table.head_rows, cell.column < table.head_columns
            own, row_match = matches[at], _Match() if is_label else path
            years = row_years | column_years[cell.column]
            share, other_bits = question.share, _all(match.bits for match in others)
            asked, column_asked = share(row_match.bits), share(column.bits)
            yield (
                cell,
                [
                    asked, row_match.coverage, asked * row_match.coverage, 0.0 if is_label else own_label.coverage,
                    share(other_bits), max((match.coverage for match in others), default=0.0),
                    column_asked, column.coverage, column_asked * column.coverage, head.coverage,
                    share(caption), share(own.bits), own.coverage,
                    share(row_match.bits | other_bits | column.bits | caption),
                    float(bool(question.years & years)),
                    float(bool(question.years and years and not question.years & years)),
                    float(not question.years and bool(latest) and latest in column_years[cell.column]),
                    float(heading.total), float(not any(map(str.isalnum, cell.text))),
                    float(not heading.label and not is_head),
                    float(cell.value is not None), float(table.measure(cell)[0] == "%"),
                    float(is_head), float(is_label), float(bool(years_of(cell.text))),
                    *extremes.of(cell),
                    float(row == table.head_rows), float(row == last),
                    float(row > table.head_rows and extremes.rows.get(row - 1, 0.0)),
                    float(extremes.rows.get(row + 1, 0.0)),
                ],
            )  # fmt: skip


class _Extremes:
    """How well the question agrees with the columns in which a row holds the most or the least, and the other way."""

    def __init__(self, question: Question, table: Table) -> None:
        by_row, by_column = dict[int, list[Cell]](), dict[int, list[Cell]]()
        row_cells = dict[int, list[Cell]]()
        for cell in table.body:
            row_cells.setdefault(cell.row, []).append(cell)
            if cell.value is not None:
                by_row.setdefault(cell.row, []).append(cell)
                if not table.rows[cell.row].total:
                    by_column.setdefault(cell.column, []).append(cell)
        share, match = question.share, question.match
        self.rows = {
            row: share(_all(match(text).bits for text in (table.rows[row].path, *(cell.text for cell in cells))))
            for row, cells in row_cells.items()
        }
        asked_rows = {row: share(match(table.rows[row].path).bits) for row in by_row}
        asked_columns = {column: share(match(table.columns[column].path).bits) for column in by_column}
        self._in_column = _ends(by_column, asked_columns, lambda cell: cell.row)
        self._in_row = _ends(by_row, asked_rows, lambda cell: cell.column)

    def of(self, cell: Cell) -> tuple[float, float, float, float]:
        (most_r, least_r), (most_c, least_c) = self._in_column, self._in_row
        return (
            most_r.get(cell.row, 0),
            least_r.get(cell.row, 0),
            most_c.get(cell.column, 0),
            least_c.get(cell.column, 0),
        )


def _all(bits: Iterable[int]) -> int:
    return reduce(or_, bits, 0)


def _ends(
    lines: Mapping[int, Sequence[Cell]], asked: Mapping[int, float], across: Callable[[Cell], int]
) -> tuple[dict[int, float], dict[int, float]]:
    """For each place across the lines, how far the line is asked for in which it holds the most, and the least."""
    most, least = dict[int, float](), dict[int, float]()
    for line, cells in lines.items():
        if len(cells) < 2:
            continue
        values = [cell.value for cell in cells if cell.value is not None]
        for cell in cells:
            for ends, end in ((most, max(values)), (least, min(values))):
                if cell.value == end:
                    ends[across(cell)] = max(ends.get(across(cell), 0.0), asked[line])
    return most, least
