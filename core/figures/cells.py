"""Finds the cells of tables that answer a question, and gives them as figures.

A pure function of the question and the tables. Its weights were fitted on open questions about tables
(`python -m benchmarks tables`), never chosen by hand.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from pincite.core.domain.figures import CellOfWords, Figure
from pincite.core.domain.tables import Cell, Table
from pincite.core.figures.agreement import KINDS, NAMES, Matrix, Place, Question, measure
from pincite.core.questions.wording import has_turning_words
from pincite.core.text.terms import words
from pincite.core.text.years import years_of

_FIGURE = NAMES.index("figure")
_BRACKETS = re.compile(r"\([^()]*\)")
"""Around the unit of a head."""
_FAR = 20.0
"""Log-odds by which a cell of a row that the question names comes before all others."""
_MAX_ASKED = 0.7
"""Of the weight of a question's words."""
_RIVAL = 0.5
"""A cell that is at least half as likely as the one that is given could be meant as well."""


@dataclass(frozen=True, slots=True)
class FoundCell:
    table: Table
    cell: Cell

    @property
    def figure(self) -> Figure | None:
        """None where the cell is no figure."""
        return figure_of(self.table, self.cell)


@dataclass(frozen=True, slots=True)
class FoundCells:
    """``answers``: one cell, or one for each period or row that the question names, in its order."""

    answers: tuple[FoundCell, ...]
    rivals: tuple[FoundCell, ...] = ()
    """Others that could be meant as well."""
    addressed: bool = False
    """The question names row and column of the one cell in full, and asks for no more."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What each measure weighs, and how each word of a question changes what those from KINDS on weigh."""

    measures: Matrix
    words: Mapping[str, Matrix]

    def of(self, question: str) -> Matrix:
        weights = self.measures.copy()
        for word in set(words(question.lower())) & self.words.keys():
            weights[KINDS:] += self.words[word]
        return weights


@cache
def shipped_weights() -> Weights:
    written = json.loads(files("pincite.core.figures").joinpath("cells.json").read_text(encoding="utf-8"))
    measures = np.array([written["measures"][name] for name in NAMES], dtype=np.float64)
    return Weights(measures, {word: np.array(values, dtype=np.float64) for word, values in written["words"].items()})


@dataclass(frozen=True, slots=True)
class Ranking:
    """Every cell that may answer, with its measures and its share of the likelihood."""

    asked: Question
    places: Sequence[Place]
    measures: Matrix
    shares: Matrix
    order: Sequence[int]
    """Positions of the cells, likeliest first."""

    @property
    def figures_share(self) -> float:
        """The likelihood that all figures have together."""
        return float(self.shares[self.measures[:, _FIGURE] > 0].sum())

    def of_figures(self) -> "Ranking":
        """Return the same with the figures alone in its order."""
        order = [at for at in self.order if self.measures[at, _FIGURE] > 0]
        return replace(self, order=order)


def rank(
    question: str, tables: Sequence[Table], *, known: Iterable[str] = (), weights: Weights | None = None
) -> Ranking | None:
    """Share out the likelihood among the cells; None where there are none. ``known``: terms that no table need hold."""
    asked = Question(question, known)
    places, rows = measure(asked, tables)
    if not places:
        return None
    scores = rows @ (weights or shipped_weights()).of(question)
    scores = np.where(in_named_lines(asked, places, tables), scores, scores.min() - _FAR)
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    return Ranking(asked, places, rows, shares, np.argsort(-shares, kind="stable").tolist())


def in_named_lines(asked: Question, places: Sequence[Place], tables: Sequence[Table]) -> NDArray[np.bool_]:
    """Return which cells are in a row, and in a column, that the question names, if it names any and asks for no more.

    A row is named by its whole label, or else by some of its words; and no other contains more of the question.
    """
    rows = [tables[place.table].rows[place.cell.row] for place in places]
    columns = [tables[place.table].columns[place.cell.column] for place in places]
    below = [place.cell.row >= tables[place.table].head_rows for place in places]
    right_of_heads = [place.cell.column >= tables[place.table].head_columns for place in places]
    whole = [own * asked.names(row.label) for own, row in zip(below, rows, strict=True)]
    some = [own * asked.bits_of(row.path) for own, row in zip(below, rows, strict=True)]
    heads = [own * asked.bits_of(column.path) for own, column in zip(right_of_heads, columns, strict=True)]
    if has_turning_words(asked.text):
        return _asks_for_extreme(whole)
    return _asks_for_extreme(whole if any(whole) else some) & _asks_for_extreme(heads)


def _asks_for_extreme(bits: Sequence[int]) -> NDArray[np.bool_]:
    """Return which entries have the most of a question: no other has all that and more; all, if none has any."""
    every = set(bits)
    most = [bool(own) and not any(own != other and own & other == own for other in every) for own in bits]
    return np.array(most if any(most) else [True] * len(bits))


def addressed(ranking: Ranking, tables: Sequence[Table], *, of_words: bool = False) -> int | None:
    """Return the position of the one cell if row and column contain all that is asked, and its row no other words.

    ``of_words``: the question may ask who, when or where.
    """
    if has_turning_words(ranking.asked.text, but_question_words=of_words):
        return None
    holding = {
        at: whole for at in ranking.order if (whole := _named(ranking.asked, ranking.places[at], tables)) is not None
    }
    alike = {ranking.places[at].cell.text for at in holding}
    return next((at for at, whole in holding.items() if whole and len(alike) == 1), None)


def _named(asked: Question, place: Place, tables: Sequence[Table]) -> bool | None:
    """Return whether a cell's row is all in the question; None if row and column do not contain all of the question."""
    table, cell = tables[place.table], place.cell
    row = table.rows[cell.row]
    if cell.row < table.head_rows or cell.column < table.head_columns or not row.label or row.total:
        return None
    heads = [_BRACKETS.sub(" ", path) for path in (row.path, table.columns[cell.column].path)]
    return asked.match(heads[0]).coverage == 1 if asked.holds_all(*heads) else None


def crossing(ranking: Ranking, tables: Sequence[Table], least: float = _MAX_ASKED) -> int | None:
    """Return the position of the one cell if the question names its row and column whole, and asks little else."""
    asked, named = ranking.asked, dict[int, str]()
    if has_turning_words(asked.text, but_question_words=True):
        return None
    for at in ranking.order:
        table, cell = tables[ranking.places[at].table], ranking.places[at].cell
        row, column = asked.names(table.rows[cell.row].label), asked.names(table.columns[cell.column].path)
        body = cell.row >= table.head_rows and cell.column >= table.head_columns
        if body and row and column and asked.share(row | column) >= least:
            named[at] = cell.text
    return next(iter(named)) if len(set(named.values())) == 1 else None


def finding(ranking: Ranking, tables: Sequence[Table]) -> FoundCells:
    """Return the likeliest cells of those that are ranked, and those that could be meant as well."""
    shares, order, places = ranking.shares, ranking.order, ranking.places
    one = addressed(ranking, tables)
    answers = [places[one]] if one is not None else _answers(ranking.asked, tables, [places[at] for at in order])
    likely = [at for at in order[1:] if shares[at] >= _RIVAL * shares[order[0]] and places[at] not in answers]
    alone = one is None and len(answers) == 1
    rivals = [places[at] for at in likely if alone and places[at].cell.text != places[order[0]].cell.text]
    found = [tuple(FoundCell(tables[place.table], place.cell) for place in those) for those in (answers, rivals)]
    return FoundCells(found[0], found[1], one is not None)


def figure_of(table: Table, cell: Cell) -> Figure | None:
    """Return the cell as a figure; None for words, dates and dashes."""
    if cell.value is None:
        return None
    row, column = table.rows[cell.row], table.columns[cell.column]
    unit, scale = table.measure(cell)
    return Figure(
        value=cell.value,
        text=cell.text,
        unit=unit,
        scale=scale,
        period=column.period or row.period,
        label=row.path,
        column=column.path,
        document_id=table.document_id,
        page_index=table.page_index,
        start=cell.start,
        end=cell.end,
        heads=_heads(table, cell),
    )


def words_of(table: Table, cell: Cell) -> CellOfWords:
    """Return the cell as words, with its row and the rows of heads."""
    own = [one for one in table.cells if one.row == cell.row]
    over = [[one for one in table.cells if one.row == row] for row in range(table.head_rows)]
    rows = [(min(one.start for one in row), max(one.end for one in row)) for row in (own, *over) if row]
    return CellOfWords(table.document_id, table.page_index, cell.start, cell.end, tuple(rows))


def _heads(table: Table, cell: Cell) -> tuple[tuple[int, int], ...]:
    """Return where its row's labels and the heads over it are, as far as they are on its page."""
    labels = [one for one in table.cells if one.row == cell.row and one.column < table.head_columns]
    over = [
        one for one in table.cells if one.row < table.head_rows and one.column <= cell.column < one.column + one.columns
    ]
    return tuple((one.start, one.end) for one in (*labels, *over) if one.end > one.start)


def _answers(question: Question, tables: Sequence[Table], ranked: Sequence[Place]) -> list[Place]:
    """The best cell, or in its row one for each year that is asked for, or in its column one for each row named."""
    best = ranked[0]
    table, cell = tables[best.table], best.cell
    if cell.row < table.head_rows or cell.column < table.head_columns:
        return [best]
    years = years_of(table.columns[cell.column].path)
    asked = question.years_in_order
    if len(asked) > 1 and len(years) == 1 and years < question.years:
        in_row = [place for place in ranked if place.table == best.table and place.cell.row == cell.row]
        by_year = {year: [p for p in in_row if years_of(table.columns[p.cell.column].path) == {year}] for year in asked}
        return [places[0] for places in by_year.values() if places]
    rows = {cell.row: question.names(table.rows[cell.row].label)}
    if not rows[cell.row]:
        return [best]
    for place in ranked:
        if place.table == best.table and place.cell.column == cell.column and place.cell.row not in rows:
            named = question.names(table.rows[place.cell.row].label)
            if named and all(named & ~bits and bits & ~named for bits in rows.values()):
                rows[place.cell.row] = named
    return [p for p in ranked if p.table == best.table and p.cell.column == cell.column and p.cell.row in rows]
