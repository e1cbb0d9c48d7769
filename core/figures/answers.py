"""Answer a question from tables: with the cell that it asks for or a computed figure, and the probability."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pincite.core.domain.answers import AnswerPart, PartKind
from pincite.core.domain.documents import PageKey
from pincite.core.domain.figures import CellOfWords, Computation, Figure, Stated
from pincite.core.domain.questions import Kind
from pincite.core.domain.search import Evidence
from pincite.core.domain.tables import Table
from pincite.core.figures.agreement import Question
from pincite.core.figures.cells import (
    FoundCell,
    FoundCells,
    Ranking,
    Weights,
    addressed,
    crossing,
    finding,
    rank,
    words_of,
)
from pincite.core.figures.computing import UNWEIGHED, Computed, computed
from pincite.core.figures.extremes import column_sum, extreme, whole_column
from pincite.core.figures.formulas import Formula, Formulas, shipped_formulas
from pincite.core.figures.gates import Gates, features_of, shipped_gates
from pincite.core.figures.named import as_printed, named
from pincite.core.questions.operations import Form, asks_for_sum, wanted_of
from pincite.core.questions.wording import kind_of
from pincite.core.text.sentences import split_sentences
from pincite.core.text.stating import statement
from pincite.core.text.terms import content_terms
from pincite.core.text.years import years_of

MAX_RIVALS = 2
_WHERE_TO_LOOK = re.compile(r"^[^?,\d]{1,200},\s{1,4}(?=(?:what|how|which)\b)", re.IGNORECASE)
_HOW_TO_SAY = re.compile(r"\s?\((?:in|round|rounded|expressed|using|answer)\b[^()]{0,120}\)", re.IGNORECASE)
MIN_FIGURE_PROBABILITY = 0.5
"""Minimum probability of a statement from which missing operands of a formula are not reported."""
MAX_DOMAIN_PROBABILITY = 0.5
"""Maximum probability of a domain-specific formula: it has several definitions, and no labelled data decide which."""
ADDRESSED = 0.92
"""Probability of a cell if its row and column match the whole question, and its row has no other words: 79 of 81
cases of open questions were right (`python -m training gates`), and so few show no more."""
MARKED = 0.55
"""Probability of a tick or cross if a yes-or-no question names its row and column: listed first, not an answer."""
_MARK = re.compile(r"\b(?:CHECK MARK|CROSS MARK|BALLOT|MULTIPLICATION X|SALTIRE)\b")
ADDRESSED_WORDS, CROSSED = 0.85, 0.5
"""The same for a cell of words (22 of 25 were right), and if most of the question matches (27 of 57)."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """``stated``: the answers, likeliest first; ``missing``: the operands that the tables lack."""

    stated: tuple[Stated, ...] = ()
    missing: str = ""


def asking(text: str) -> str:
    """Return the sentences that ask, if any, without instructions on where to look and how to answer."""
    sentences = [text[span.start : span.end] for span in split_sentences(text)]
    asked = " ".join(sentence for sentence in sentences if sentence.rstrip().endswith("?")) or text
    return _HOW_TO_SAY.sub("", _WHERE_TO_LOOK.sub("", asked)) or text


def analyse(
    question: str,
    tables: Sequence[Table],
    *,
    known: Iterable[str] = (),
    kin: Mapping[str, str] | None = None,
    formulas: Formulas | None = None,
    draws: bool = False,
) -> Analysis:
    """State the cell that is asked for, and what is computed by the question's form or a domain-specific formula.

    ``draws``: a chart is asked for, so that a row over its periods or a column is looked for first. Nothing that is
    stated is surer than the structure of its tables.
    """
    found = _analysis(question, tables, tuple(known), kin, formulas or shipped_formulas(), draws=draws)
    stated = [replace(one, probability=min(one.probability, _structure(one, tables))) for one in found.stated]
    return replace(found, stated=tuple(sorted(stated, key=lambda one: -one.probability)))


def _structure(stated: Stated, tables: Sequence[Table]) -> float:
    """Return the minimum structure confidence of the tables that a statement uses."""
    own = {(one.document_id, one.page_index, one.start) for one in stated.figures}
    if stated.cell:
        own.add((stated.cell.document_id, stated.cell.page_index, stated.cell.start))
    doubted = (table for table in tables if not table.is_sure)
    return min(
        (table.confidence for table in doubted if any((*_page(table), cell.start) in own for cell in table.cells)),
        default=1.0,
    )


def _page(table: Table) -> PageKey:
    return (table.document_id, table.page_index)


def _analysis(
    question: str,
    tables: Sequence[Table],
    known: tuple[str, ...],
    kin: Mapping[str, str] | None,
    formulas: Formulas,
    *,
    draws: bool,
) -> Analysis:
    asked_as = asking(question)
    question = as_printed(asked_as, tables, formulas)
    of_form = computed(question, tables, known=known, kin=kin, draws=draws)
    if kind_of(question) is Kind.YES_OR_NO and not draws:
        marked = None if of_form.stated else stated_mark(question, tables)
        return Analysis(tuple(filter(None, [of_form.stated, marked])), of_form.missing)
    series = of_form.stated if of_form.stated and of_form.stated.computation is None else None
    label = series.figures[0].label.rpartition(": ")[2] if series else ""
    if series and draws and set(content_terms(label)).issubset(content_terms(asked_as)):
        series = replace(series, probability=max(series.probability, UNWEIGHED))  # its row is named whole
    if series and (series.probability >= MIN_FIGURE_PROBABILITY or not draws):
        return Analysis((series,))
    has_extreme = extreme(asked_as, tables)
    if has_extreme and not _of_other_years(years_of(asked_as), has_extreme.figures):
        return Analysis((has_extreme,))
    of_all = (
        column_sum(asked_as, tables, UNWEIGHED)
        if asks_for_sum(asked_as)
        else whole_column(asked_as, tables, UNWEIGHED, by_head=draws)
    )
    if of_all and not _of_other_years(years_of(asked_as), of_all.figures):
        return Analysis((of_all,))
    of_trade = named(asked_as, tables, MAX_DOMAIN_PROBABILITY, formulas)
    cell = stated_cell(question, tables, known=known)
    asked = formulas.named_in(asked_as)
    if of_form.stated and asked and not _prints(of_form.stated, asked[1]):
        of_form = Computed(missing=of_form.missing)
    operands = of_form.stated.figures if of_form.stated and of_form.stated.computation else ()
    if cell and ((asked and not _prints(cell, asked[1])) or set(operands).issuperset(cell.figures)):
        cell = None  # an operand is not the result
    others = (kind(question, tables, known) for kind in STATEMENTS)
    stated = sorted(filter(None, [of_form.stated, of_trade.stated, cell, *others]), key=lambda one: -one.probability)
    sure = any(one.probability >= MIN_FIGURE_PROBABILITY for one in stated)
    return Analysis(tuple(stated), of_form.missing or ("" if sure else of_trade.missing))


def _prints(stated: Stated, formula: Formula) -> bool:
    """Return whether a computed figure uses rows that have the formula's own name."""
    return all(any(name in figure.label.casefold() for name in formula.names) for figure in stated.figures)


def parts_of(stated: Stated, evidence: Sequence[Evidence]) -> tuple[AnswerPart, ...]:
    """Return the statement as an answer part that cites a passage of each page with its figures.

    Behind it the figures that could be meant as well, without a probability. Nothing where one of the statement's pages
    has no passage among the evidence: what cannot be cited is not stated.
    """
    if stated.cell:
        return _quoted(stated.cell, stated.probability, evidence)
    part = _part(stated.figures, evidence, stated.computation)
    if part is None:
        return ()
    rivals = filter(None, (_part((figure,), evidence) for figure in stated.rivals))
    return (replace(part, probability=stated.probability), *rivals)


def _quoted(cell: CellOfWords, probability: float, evidence: Sequence[Evidence]) -> tuple[AnswerPart, ...]:
    """Return the cell, then the rows that prove it, verbatim, if one passage contains them; else nothing."""
    for item in evidence:
        passage = item.passage
        own = [row for row in cell.rows if passage.start <= row[0] and row[1] <= passage.end]
        if passage.page == (cell.document_id, cell.page_index) and own[:1] == list(cell.rows[:1]):
            headline = _words(item, (cell.start, cell.end), PartKind.HEADLINE)
            rows = (_words(item, row, PartKind.VERBATIM) for row in sorted(own))
            return (replace(headline, probability=probability), *rows)
    return ()


def _words(item: Evidence, span: tuple[int, int], kind: PartKind) -> AnswerPart:
    """Return the words of a span of the page, verbatim from its passage."""
    start, end = (at - item.passage.start for at in span)
    return AnswerPart(item.passage.text[start:end], (item.number,), kind, start)


def _part(
    figures: tuple[Figure, ...], evidence: Sequence[Evidence], computation: Computation | None = None
) -> AnswerPart | None:
    pages = dict.fromkeys((figure.document_id, figure.page_index) for figure in figures)
    numbers = [_best_passage(page, figures, evidence) for page in pages]
    cited = tuple(number for number in numbers if number is not None)
    if len(cited) < len(numbers):
        return None
    text = statement(figures, computation)
    return AnswerPart(text, cited, PartKind.FIGURE, figures=figures, computation=computation)


def _best_passage(page: PageKey, figures: Sequence[Figure], evidence: Sequence[Evidence]) -> int | None:
    """Return the number of the page's passage that contains most of the figures."""

    def figure_count(item: Evidence) -> int:
        passage = item.passage
        return sum(
            (figure.document_id, figure.page_index) == page
            and passage.start <= figure.start
            and figure.end <= passage.end
            for figure in figures
        )

    of_page = [item for item in evidence if item.passage.page == page]
    return max(of_page, key=figure_count).number if of_page else None


def stated_cell(question: str, tables: Sequence[Table], *, known: Iterable[str] = ()) -> Stated | None:
    """Return the cells that answer, in words; None if no figure is likely to be asked for."""
    if kind_of(question) is Kind.DATE:
        return None  # a figure is no date
    ranking = ranked_figures(question, tables, known=known)
    return of_finding(question, ranking, finding(ranking, tables)) if ranking else None


def stated_mark(question: str, tables: Sequence[Table]) -> Stated | None:
    """Return the tick or cross that a question for yes or no names by its row and column.

    It is shown with its row and heads, and never as an answer: the table does not show whether a tick answers yes
    ("Is it excluded?").
    """
    marks = [table for table in tables if _is_of_marks(table)]
    ranking = rank(question, marks) if marks else None
    at = crossing(ranking, marks, least=0.0) if ranking else None
    if ranking is None or at is None or not is_mark(ranking.places[at].cell.text):
        return None
    place = ranking.places[at]
    return Stated(place.cell.text, (), MARKED, cell=words_of(marks[place.table], place.cell))


def _is_of_marks(table: Table) -> bool:
    texts = [cell.text for cell in table.body if cell.text]
    return 2 * sum(map(is_mark, texts)) > len(texts)


def is_mark(text: str) -> bool:
    """Return whether a text is one character that Unicode names a check mark, a cross or a ballot."""
    return len(text) == 1 and bool(_MARK.search(unicodedata.name(text, "")))


def stated_words(question: str, tables: Sequence[Table], known: Iterable[str] = ()) -> Stated | None:
    """Return the cell of words with a row and column that match all or most of the question, if there is one."""
    if kind_of(question) in (Kind.COUNT, Kind.YES_OR_NO):
        return None
    ranking = rank(question, tables, known=known)
    at = addressed(ranking, tables, of_words=True) if ranking else None
    sure = ADDRESSED_WORDS if at is not None else CROSSED
    at = crossing(ranking, tables) if ranking and at is None else at
    if ranking is None or at is None:
        return None
    place = ranking.places[at]
    has_words = place.cell.start < place.cell.end and any(map(str.isalnum, place.cell.text))
    if place.cell.value is not None or not has_words:
        return None
    return Stated(place.cell.text, (), sure, cell=words_of(tables[place.table], place.cell))


Stating: TypeAlias = Callable[[str, Sequence[Table], Iterable[str]], Stated | None]
STATEMENTS: list[Stating] = [stated_words]
"""Other kinds of statements, each made from a question, the tables and the names of their documents."""


def ranked_figures(
    question: str, tables: Sequence[Table], *, known: Iterable[str] = (), weights: Weights | None = None
) -> Ranking | None:
    """Return the figures of the tables, likeliest first; None if there are none."""
    ranking = rank(question, tables, known=known, weights=weights)
    figures = ranking.of_figures() if ranking else None
    return figures if figures and figures.order else None


def of_finding(question: str, ranking: Ranking, found: FoundCells) -> Stated | None:
    gates = shipped_gates()
    stated = answering_figures(question, ranking, found, gates)
    if stated is None:
        return None
    figures, features = stated
    rivals = tuple(figure for one in found.rivals[:MAX_RIVALS] if (figure := one.figure) is not None)
    sure = max(gates.cell.probability(features), ADDRESSED * found.addressed)
    return Stated(statement(figures), figures, min(sure, UNWEIGHED if rivals else 1.0), rivals)


def answering_figures(
    question: str, ranking: Ranking, found: FoundCells, gates: Gates
) -> tuple[tuple[Figure, ...], dict[str, float]] | None:
    """Return the figures that answer, and the gate's features; None without figures of the year asked for."""
    figures = tuple(figure for one in found.answers if (figure := one.figure) is not None)
    if not figures or len(figures) < len(found.answers) or _of_other_years(ranking.asked.years, figures):
        return None
    if not any(_names_row(ranking.asked, one) for one in found.answers):
        return None  # a column alone does not show which of its figures is meant
    several, asked = len(figures) > 1, wanted_of(question, [one.table for one in found.answers])
    computes = asked is not None and asked.form is not Form.SERIES
    return figures, features_of(ranking, asks=gates.asks_for_figure(question), several=several, computes=computes)


def _names_row(asked: Question, found: FoundCell) -> bool:
    """Return whether a question contains a word of a cell's row, or the table has only one row."""
    table, cell = found.table, found.cell
    words = " ".join(one.text for one in table.cells if one.row == cell.row and one.value is None)
    return len(table.rows) <= table.head_rows + 1 or bool(asked.bits_of(f"{table.rows[cell.row].path} {words}"))


def _of_other_years(asked: frozenset[int], figures: Sequence[Figure]) -> bool:
    """Return whether years are asked for, and a figure has another one."""
    return bool(asked) and any(years and not asked & years for years in (years_of(one.period) for one in figures))
