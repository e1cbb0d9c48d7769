"""Figures that follow from the cells of tables: operands found, formula set, worked out by code.

Where the tables lack what the question names, nothing is computed, and what is lacking is stated.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product

from pincite.core.domain.figures import Figure, Stated
from pincite.core.domain.keys import in_words
from pincite.core.domain.tables import Cell, Table
from pincite.core.figures.agreement import Place, Question
from pincite.core.figures.cells import Ranking, Weights, figure_of, rank
from pincite.core.figures.computations import computation_of
from pincite.core.figures.gates import Gates, features_of, shipped_gates
from pincite.core.questions.operations import Date, Form, Wanted, dates_of, wanted_of
from pincite.core.text.numbers import printed_figure, quantities
from pincite.core.text.stating import MAX_OPERANDS, MIN_SERIES, NotComputableError, statement
from pincite.core.text.terms import content_terms, words
from pincite.core.text.years import YEAR

_TRIED = 8
_TOGETHER = 2.0
"""How much likelier, in log odds, two operands are right that are in the same table and of the same column."""
UNWEIGHED = 0.5
"""The most that is sure of figures from several documents, for no labelled data weigh whether they go together, and of
one of several that could be meant."""


@dataclass(frozen=True, slots=True)
class Computed:
    """``stated`` is what was computed; else ``missing`` is what the tables lack, where that is known."""

    stated: Stated | None = None
    missing: str = ""
    features: Mapping[str, float] = field(default_factory=dict)
    """What the probability was weighed by."""


@dataclass(frozen=True, slots=True)
class _Operands:
    """Figures in the order of the formula, and the features by which the probability of their choice is weighed."""

    figures: tuple[Figure, ...]
    features: Mapping[str, float]


def computed(
    question: str,
    tables: Sequence[Table],
    *,
    known: Iterable[str] = (),
    kin: Mapping[str, str] | None = None,
    weights: Weights | None = None,
    gates: Gates | None = None,
    draws: bool = False,
) -> Computed:
    """Compute what the question's form wants, from cells of the tables; where it ``draws``, a row over its periods.

    ``kin``: by document id what it shares with the documents on the same subject for another year: "report # of Acme".
    """
    asked = wanted_of(question, tables)
    if draws and (asked is None or asked.sign):
        asked = Wanted(Form.SERIES, (question,), tuple(dates_of(question)), whole_range=True)
    if asked is None:
        return Computed()
    gates, known = gates or shipped_gates(), tuple(known)
    finder = _Finder(tables, known, kin or {}, weights)
    missing = _missing(asked, tables)
    if missing:
        return Computed(missing=missing)
    operands = finder.one(asked) if asked.than is not None else None
    if asked.than is None:
        operands = finder.pair(asked) if len(asked.operands) == 2 else finder.series(asked)
    if operands is None or not _alike(asked.form, operands.figures):
        return Computed()
    if len(asked.operands) == 1 and asked.form in (Form.GROWTH, Form.CHANGE) and not _of_one_head(operands.figures):
        return Computed()
    share = _share_named(Question(question, known), operands.figures)
    if asked.form is Form.SERIES and len(operands.figures) < MIN_SERIES:
        return Computed()
    features = {**operands.features, "told": share}
    computation = None if asked.form is Form.SERIES else computation_of(asked, operands.figures)
    try:
        text = statement(operands.figures, computation)
    except NotComputableError:
        return Computed()
    stated = Stated(text, operands.figures, _sure(operands, features, gates), computation=computation)
    return Computed(stated, features=features)


def _sure(operands: _Operands, features: Mapping[str, float], gates: Gates) -> float:
    apart = len({figure.document_id for figure in operands.figures}) > 1
    return min(gates.computed.probability(features), UNWEIGHED if apart else 1.0)


def _share_named(asked: Question, figures: Sequence[Figure]) -> float:
    """Return the share of the whole question that the rows and columns of the operands hold."""
    bits = 0
    for figure in figures:
        bits |= asked.match(figure.label).bits | asked.match(figure.column).bits
    return asked.share(bits)


@dataclass(frozen=True, slots=True)
class _Finder:
    tables: Sequence[Table]
    known: tuple[str, ...]
    kin: Mapping[str, str]
    weights: Weights | None

    def series(self, asked: Wanted) -> _Operands | None:
        """One thing in several periods: the row (or column) of the likeliest cell, and in it a cell for each period."""
        question = f"What was {asked.operands[0]}?"
        ranking = rank(question, self.tables, known=self.known, weights=self.weights)
        if ranking is None:
            return None
        lines = dict[tuple[int, str, int], list[Place]]()
        for at in ranking.order[: _TRIED * 3]:
            place = ranking.places[at]
            table = self.tables[place.table]
            if (
                place.cell.value is None
                or _is_result(asked.form, table, place.cell)
                or (line := _line(table, place)) is None
                or line in lines
            ):
                continue
            lines[line] = []
            chosen = _chosen(table, place, line[1], asked, ranking)
            if len(chosen) < 2:
                continue
            figures = tuple(f for one in chosen if (f := figure_of(table, one)) is not None)
            if len(figures) == len(chosen) <= MAX_OPERANDS:
                features = self._features(asked.form, [(ranking, at)], skipped=len(lines) - 1)
                return _Operands(_one_measure(figures), features)
        return self._over_documents(asked, ranking)

    def _over_documents(self, asked: Wanted, ranking: Ranking) -> _Operands | None:
        """Return the likeliest cell's row in documents with that row for other years: one cell for each period."""
        at = next((at for at in ranking.order if ranking.places[at].cell.value is not None), None)
        if at is None:
            return None
        best = ranking.places[at]
        own = self.tables[best.table]
        by_date = dict[Date, dict[str, Figure]]()
        for table in self.tables:
            for cell in table.body:
                figure = figure_of(table, cell) if _same_row(own, best.cell, table, cell) else None
                if figure is None:
                    continue
                if not self._go_together(own, table):
                    return None  # of whom it is asked is not clear
                for date in _period(table, cell, "row"):
                    by_date.setdefault((date[0], 0, 0), {})[f"{figure.value} {figure.scale} {figure.unit}"] = figure
        wanted = [by_date.get(date, {}) for date in _periods(asked, by_date)]
        if len(wanted) < 2 or any(len(one) != 1 for one in wanted):
            return None
        figures = tuple(figure for one in wanted for figure in one.values())
        return _Operands(figures, self._features(asked.form, [(ranking, at)]))

    def _go_together(self, one: Table, other: Table) -> bool:
        mine, theirs = self.kin.get(one.document_id), self.kin.get(other.document_id)
        return one.document_id == other.document_id or (mine is not None and mine == theirs)

    def one(self, asked: Wanted) -> _Operands | None:
        """Return the likeliest figure, of the period that is named."""
        period = " ".join(str(date[0]) for date in asked.periods)
        question = f"What was {asked.operands[0]} {period}?"
        ranking = rank(question, self.tables, known=self.known, weights=self.weights)
        at = next((at for at in ranking.order if ranking.places[at].cell.value is not None), None) if ranking else None
        if ranking is None or at is None:
            return None
        figure = figure_of(self.tables[ranking.places[at].table], ranking.places[at].cell)
        return _Operands((figure,), self._features(asked.form, [(ranking, at)])) if figure else None

    def pair(self, asked: Wanted) -> _Operands | None:
        """Two things of one period."""
        found = []
        for operand in asked.operands:
            period = "" if any(dates_of(operand)) else " ".join(str(date[0]) for date in asked.periods)
            question = f"What was {operand} {period}?"
            ranking = rank(question, self.tables, known=self.known, weights=self.weights)
            if ranking is None:
                return None
            likely = [at for at in ranking.order[: _TRIED * 3] if ranking.places[at].cell.value is not None][:_TRIED]
            found.append((ranking, likely))
        (one, ones), (other, others) = found
        best, most = None, -math.inf
        for a, b in product(ones, others):
            if one.places[a] == other.places[b]:
                continue
            score = math.log(one.shares[a] + 1e-9) + math.log(other.shares[b] + 1e-9)
            score += _TOGETHER * _together(self.tables, one.places[a], other.places[b])
            if score > most:
                best, most = (a, b), score
        if best is None:
            return None
        places = one.places[best[0]], other.places[best[1]]
        figures = tuple(f for place in places if (f := figure_of(self.tables[place.table], place.cell)) is not None)
        rankings = [(one, best[0]), (other, best[1])]
        features = self._features(asked.form, rankings, apart=1 - _together(self.tables, *places))
        return _Operands(figures, features)

    def _features(
        self, form: Form, found: Sequence[tuple[Ranking, int]], *, skipped: int = 0, apart: float = 0.0
    ) -> dict[str, float]:
        """Return those of the operand that was chosen least surely, and how the operands relate to each other."""
        feature_sets = [features_of(ranking, asks=0.5, several=False, best=at) for ranking, at in found]
        worst = min(feature_sets, key=lambda features: features["share"])
        return {**worst, f"is {form}": 1.0, "skipped": float(skipped), "apart": apart}


@lru_cache(maxsize=8192)
def _dates(text: str) -> frozenset[Date]:
    return frozenset(dates_of(text))


def _line(table: Table, place: Place) -> tuple[int, str, int] | None:
    """Along what the periods of its figures run: its row, where columns have periods, else its column."""
    row, column = table.rows[place.cell.row], table.columns[place.cell.column]
    if _dates(f"{column.path} {column.period}"):
        return place.table, "row", place.cell.row
    if _dates(row.path):
        return place.table, "column", place.cell.column
    return None


def _same_row(one: Table, cell: Cell, other: Table, candidate: Cell) -> bool:
    """Return whether two cells are in rows and columns that are called the same, but for their years."""

    def called(table: Table, at: Cell) -> str:
        heads = f"{table.rows[at.row].path}\n{table.columns[at.column].path}"
        return " ".join(YEAR.sub("", heads).casefold().split())

    return called(one, cell) == called(other, candidate)


def _period(table: Table, cell: Cell, along: str) -> frozenset[Date]:
    if along == "row":
        column = table.columns[cell.column]
        return _dates(f"{column.path} {column.period}")
    return _dates(table.rows[cell.row].path)


def _chosen(table: Table, best: Place, along: str, asked: Wanted, ranking: Ranking) -> list[Cell]:
    """Return a cell of the line for each period, the earliest first; none where one is lacking."""
    line = [
        cell
        for cell in table.body
        if cell.value is not None
        and (cell.row == best.cell.row if along == "row" else cell.column == best.cell.column)
        and (table.measure(cell)[0] == "%") == (table.measure(best.cell)[0] == "%")
    ]
    likely = {
        (place.cell.row, place.cell.column): share
        for place, share in zip(ranking.places, ranking.shares, strict=True)
        if place.table == best.table
    }
    by_date = dict[Date, list[Cell]]()
    for cell in line:
        for date in _period(table, cell, along):
            by_date.setdefault(date, []).append(cell)
    kin = _kin(table, best.cell, along)

    def pick(cells: Sequence[Cell]) -> Cell:
        return max(cells, key=lambda cell: (_kin(table, cell, along) == kin, likely.get((cell.row, cell.column), 0.0)))

    dates = _periods(asked, by_date)
    chosen = [pick([cell for date in by_date if _agrees(wish, date) for cell in by_date[date]] or [best.cell])
              for wish in dates if any(_agrees(wish, date) for date in by_date)]  # fmt: skip
    if len(chosen) < len(dates) or len({(cell.row, cell.column) for cell in chosen}) < len(chosen):
        return []
    return chosen


def _periods(asked: Wanted, there: Iterable[Date]) -> list[Date]:
    """The periods meant, in order of time: those named, those between, or where none is named the latest or all."""
    every = sorted({date[0] for date in there})
    named = sorted(set(asked.periods))
    if asked.form in (Form.AVERAGE, Form.SUM, Form.SERIES):
        if len(named) >= 2 and asked.whole_range:
            return [(year, 0, 0) for year in every if named[0][0] <= year <= named[-1][0]]
        return named if len(named) >= 2 else [(year, 0, 0) for year in every]
    if len(named) >= 2:
        return [named[0], named[-1]]
    if len(named) == 1:
        before = [year for year in every if year < named[0][0]]
        return [(before[-1], 0, 0), named[0]] if before else []
    return [(year, 0, 0) for year in every[-2:]]


def _agrees(wish: Date, date: Date) -> bool:
    return wish[0] == date[0] and all(0 in pair or pair[0] == pair[1] for pair in zip(wish[1:], date[1:], strict=True))


def _is_result(form: Form, table: Table, cell: Cell) -> bool:
    """Whether the cell is itself what the form would compute: the row "Average price" is no operand of an average."""
    path = f"{table.rows[cell.row].path} {table.columns[cell.column].path}".lower()
    return form is Form.AVERAGE and "average" in path


def _kin(table: Table, cell: Cell, along: str) -> tuple[str, ...]:
    """Return the words of its heads other than the period: "Amount", "% of revenue"."""
    path = table.columns[cell.column].path if along == "row" else table.rows[cell.row].path
    return tuple(word.lower() for word in words(path) if not any(map(str.isdigit, word)))


def _one_measure(figures: Sequence[Figure]) -> tuple[Figure, ...]:
    """Return a line's figures with one unit and scale, though a head may give it over one of its columns only."""
    unit = next((figure.unit for figure in figures if figure.unit), "")
    scale = max(figure.scale for figure in figures)
    return tuple(
        figure
        if (printed := printed_figure(figure.text)) and printed.scale
        else replace(figure, unit=unit, scale=scale)
        for figure in figures
    )


def _together(tables: Sequence[Table], one: Place, other: Place) -> float:
    """1 in the same column (or row) of a table, half in columns of the same period."""
    if one.table == other.table and (one.cell.column == other.cell.column or one.cell.row == other.cell.row):
        return 1.0
    mine, theirs = (_dates(f"{tables[place.table].columns[place.cell.column].path}") for place in (one, other))
    return 0.5 if mine & theirs else 0.0


def _alike(form: Form, figures: Sequence[Figure]) -> bool:
    """Return whether the figures are of one kind, as far as their units show."""
    units = {figure.unit for figure in figures if figure.unit}
    if form is Form.COMPARISON:
        if min(figure.value for figure in figures) < 0:
            return False  # the minus may mark a cost, and more of a cost is less
        if len(figures) == 1:
            return True
    return len(figures) > 1 and (len(units) < 2 or (form is Form.RATIO and "%" not in units))


def _of_one_head(figures: Sequence[Figure]) -> bool:
    """Return whether the heads of one page's figures are the same but for dates: "Change in sales" is no sales."""
    pages = {(figure.document_id, figure.page_index) for figure in figures}
    return len(pages) > 1 or len({_without_dates(figure.column) for figure in figures}) == 1


def _without_dates(text: str) -> frozenset[str]:
    for date in {quantity.text for quantity in quantities(text) if quantity.kind == "date"}:
        text = text.replace(date, " ")
    return frozenset(content_terms(text))


def _missing(asked: Wanted, tables: Sequence[Table]) -> str:
    """Return the years of the question that no table has."""
    there = {date[0] for table in tables for date in _years_of(table)}
    lacking = [str(year) for year in dict.fromkeys(date[0] for date in asked.periods) if year not in there]
    if not lacking or not there:
        return ""
    verb = "is" if len(lacking) == 1 else "are"
    absent = f"{' and '.join(lacking)} {verb} not in the tables that were found"
    return f"{absent}, so the {in_words(asked.form)} was not computed."


def _years_of(table: Table) -> Iterator[Date]:
    for heading in (*table.rows, *table.columns):
        yield from _dates(f"{heading.path} {heading.period}")
    yield from _dates(table.caption)
