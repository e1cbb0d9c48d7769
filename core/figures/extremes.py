"""What a question asks of a column: all, its sum, or the row with the most or the least ("Which toll is the lowest?").

A small model, fitted by `python -m training fit-extremes`, decides from the question's words and from how well it
agrees with the table whether the most, the least or neither is wanted. Two rows that share it answer nothing.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from itertools import pairwise
from string import ascii_lowercase

from pincite.core.domain.figures import Computation, Stated
from pincite.core.domain.tables import Cell, Table
from pincite.core.figures.agreement import Question
from pincite.core.figures.cells import figure_of
from pincite.core.questions.wording import has_turning_words
from pincite.core.text.stating import MAX_OPERANDS, short, statement
from pincite.core.text.terms import content_terms, words
from pincite.core.text.years import YEAR

MIN_ROWS = 3
KINDS = ("neither", "most", "least")
Place = tuple[Table, Cell]


@dataclass(frozen=True, slots=True)
class ExtremeWeights:
    """The weights of each feature, one for each of KINDS."""

    of: Mapping[str, Sequence[float]]

    def chances(self, features: Mapping[str, float]) -> tuple[float, ...]:
        """Return the probability of each of KINDS."""
        known = [(self.of[name], value) for name, value in (*features.items(), ("bias", 1.0)) if name in self.of]
        scores = [math.exp(sum(weights[kind] * value for weights, value in known)) for kind in range(len(KINDS))]
        return tuple(score / sum(scores) for score in scores)


@cache
def shipped_weights() -> ExtremeWeights:
    return ExtremeWeights(
        json.loads(files("pincite.core.figures").joinpath("extremes.json").read_text(encoding="utf-8"))
    )


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, over all pages that the table goes on to, and how well the question agrees with it."""

    features: Mapping[str, float]
    label: int
    """The column that names its rows."""
    most: tuple[Place, ...]
    least: tuple[Place, ...]
    all: tuple[Place, ...]
    """Of every row that is no sum of others."""
    totals: tuple[Place, ...]
    """What the table prints as sums."""
    matches_row: bool
    """The question shares more with a row than the caption and the head over the rows do."""
    contested: bool
    """The question names another column that shares a word with this one no less ("largest mean loss"), or just as much
    of several that differ in more than their year: "Zone A", "Zone B"."""
    covers_question: bool
    """Its head, the head over the rows and the caption hold every term of the question: "sales by region"."""


def extreme(question: str, tables: Sequence[Table]) -> Stated | None:
    """Return the figure that is the most or the least of the column asked for; None where that is less likely than not.

    ``tables``: those of one page behind those of the page before.
    """
    found: list[tuple[float, Place]] = []
    for whole in wholes(tables):
        column = asked_column(question, whole)
        if column is None or column.contested or not (column.features["column named"] or by_caption(column)):
            continue
        neither, most, least = shipped_weights().chances(column.features)
        ends = column.most if most > least else column.least
        if len(ends) == 1 and neither < max(most, least):
            found.append((max(most, least), ends[0]))
    if not found:
        return None
    probability, (table, cell) = max(found, key=lambda one: one[0])
    figure = figure_of(table, cell)
    return Stated(statement((figure,)), (figure,), probability) if figure and probability >= 0.5 else None


def column_sum(question: str, tables: Sequence[Table], probability: float) -> Stated | None:
    """Return the sum over all rows of the column that is named, by its head or where it is the only one by the caption.

    As the table prints it, else computed. None where a row is named too, or several tables have such a column, or a
    table has several sums.
    """
    found: list[Stated] = []
    for column in _named_columns(question, tables):
        if not (column.features["column named"] or by_caption(column)):
            continue
        places = column.totals or column.all
        figures = tuple(figure for table, cell in places if (figure := figure_of(table, cell)) is not None)
        if column.totals and len(figures) == 1:
            found.append(Stated(statement(figures), figures, probability))
        elif MIN_ROWS <= len(figures) == len(column.all) <= MAX_OPERANDS:
            name = ", ".join(filter(None, [f"Sum of {len(figures)} rows", short(figures[0].column)]))
            scale = max(figure.scale for figure in figures)
            computation = Computation(name, " + ".join(ascii_lowercase[: len(figures)]), figures[0].unit, scale)
            found.append(Stated(statement(figures, computation), figures, probability, computation=computation))
    return found[0] if len(found) == 1 else None


def by_caption(column: Column) -> bool:
    """Return whether it is a table's only column of figures and the caption has more of the question than the rows."""
    return bool(column.features["one column"]) and column.features["covered"] > column.features["label"]


def whole_column(question: str, tables: Sequence[Table], probability: float, *, by_head: bool = False) -> Stated | None:
    """Return every row of the column that is named with what its rows are, and without other words; or by its head.

    Of several columns of one head the one with the table that the question covers best.
    """
    found: list[tuple[float, Stated]] = []
    for column in _named_columns(question, tables) if not has_turning_words(question) else ():
        figures = tuple(figure for table, cell in column.all if (figure := figure_of(table, cell)) is not None)
        named = column.features["column named"] and (by_head or (column.covers_question and column.features["label"]))
        if named and len(figures) <= MAX_OPERANDS and len({figure.label for figure in figures}) == len(column.all):
            found.append((column.features["covered"] * by_head, Stated(statement(figures), figures, probability)))
    found.sort(key=lambda one: -one[0])
    clear = len(found) == 1 or (len(found) > 1 and found[0][0] > found[1][0])
    return found[0][1] if clear else None


def _named_columns(question: str, tables: Sequence[Table]) -> Iterator[Column]:
    """Of each table the column that the question agrees with best, where it names no row and no other column."""
    columns = (asked_column(question, whole) for whole in wholes(tables))
    return (column for column in columns if column and not column.contested and not column.matches_row)


def asked_column(question: str, whole: Sequence[Table]) -> Column | None:
    """Return the column of figures that the question agrees with best; None where the table has none of enough rows."""
    asked, first = Question(question), whole[0]
    columns: dict[int, list[Place]] = {}
    for table in whole:
        for cell in table.body:
            if cell.value is not None and not table.rows[cell.row].total and cell.column < len(first.columns):
                columns.setdefault(cell.column, []).append((table, cell))
    columns = {at: places for at, places in columns.items() if len(places) >= MIN_ROWS and _comparable(places)}
    if not columns:
        return None
    matches = [asked.match(heading.path) for heading in first.columns]
    bits = [one.bits for one in matches]
    shares = [asked.share(one) for one in bits]
    # "the most school groups visit": a head that is named whole comes before one with a single word that is named
    best = max(columns, key=lambda at: (shares[at] * matches[at].coverage, -at))
    labels = [at for at in range(len(first.columns)) if at not in columns or at < first.head_columns]
    label = max(labels, key=lambda at: (shares[at], -at), default=0)
    rows = [table.rows[at].path for table in whole for at in range(table.head_rows, len(table.rows))]
    covered = bits[best] | bits[label] | asked.match(first.caption).bits
    values = [_amount(place) for place in columns[best]]
    spoken = words(question.lower())
    features = {f"word {word}": 1.0 for word in spoken}
    features |= {f"words {one} {other}": 1.0 for one, other in pairwise(spoken)}
    features |= {f"first {word}": 1.0 for word in spoken[:1]}
    features |= {
        "column": shares[best],
        "another column": max((shares[at] for at in columns if at != best), default=0.0),
        "column named": float(shares[best] > 0),
        "one column": float(len(columns) == 1),
        "label": shares[label],
        "row": max((asked.share(asked.match(row).bits) for row in rows), default=0.0),
        "covered": asked.share(covered),
        "rows": math.log(len(values)),
        "years": float(bool(asked.years)),
        "length": math.log(1 + len(spoken)),
    }
    ends = (max(values), min(values))
    most, least = (tuple(p for p in columns[best] if _amount(p) == end) for end in ends)
    unsaid = {at: sum(not asked.match(term).bits for term in content_terms(first.columns[at].path)) for at in columns}
    rivals = [at for at in columns if bits[at] & bits[best] and unsaid[at] <= unsaid[best]]
    contested = any(bits[at] & ~bits[best] for at in rivals)
    named_alike = {YEAR.sub("", first.columns[at].path) for at in columns if bits[at] == bits[best]}
    contested = contested or len(named_alike) > 1
    totals = tuple(
        (table, cell)
        for table in whole
        for cell in table.body
        if cell.value is not None and cell.column == best and table.rows[cell.row].total
    )
    about = bits[label] | asked.match(first.caption).bits
    matches_row = any(asked.match(row).bits & ~about for row in rows)
    covers_question = asked.holds_all(first.columns[best].path, first.columns[label].path, first.caption)
    return Column(features, label, most, least, tuple(columns[best]), totals, matches_row, contested, covers_question)


def _amount(place: Place) -> Decimal:
    """With the scale that is printed with the figure or over it."""
    table, cell = place
    return (cell.value or Decimal(0)) * table.measure(cell)[1]


def _comparable(places: Sequence[Place]) -> bool:
    return len({table.measure(cell)[0] for table, cell in places}) == 1


def wholes(tables: Sequence[Table]) -> Iterator[list[Table]]:
    """Tables with those that go on with them."""
    whole: list[Table] = []
    for table in tables:
        apart = whole and (table.document_id != whole[-1].document_id or table.page_index > whole[-1].page_index + 1)
        if whole and (apart or not table.continued):
            yield whole
            whole = []
        whole.append(table)
    if whole:
        yield whole
