"""Values of cells: a value is taken only where the words hold a single one of the column's kind."""

import pytest

from pincite.core.answers.typed import cell_of
from pincite.core.domain.answers import AnswerPart, Citation, PartKind, Score, Verdict
from pincite.core.domain.documents import Document, DocumentStatus
from pincite.core.domain.grids import Cell, CellState, Column, ColumnKind
from pincite.core.domain.search import Mode
from pincite.core.domain.turns import Turn, TurnStatus
from pincite.core.export.grids import typed_value

DOCUMENT = Document("d", "d.pdf", 1, 3, 3, "", DocumentStatus.READY)
GOOD = Score(1.0, "")


def cell(kind: ColumnKind, words: str, choices: tuple[str, ...] = (), *, confidence: float = 0.9) -> Cell:
    """Return the cell of an answer with these words as its headline."""
    verdict = Verdict((), GOOD, GOOD, GOOD, GOOD, confidence, accepted=True)
    place = Citation(1, "d", "d.pdf", 0, "1", words, 0, len(words))
    turn = Turn(
        id="t", session_id="", position=0, question="?", mode=Mode.DOCUMENTS, document_ids=("d",), engine="quoting",
        status=TurnStatus.ANSWERED, started_at="", parts=(AnswerPart(words, (1,), PartKind.HEADLINE, 0),),
        citations=(place,), verdict=verdict,
    )  # fmt: skip
    return cell_of(Column("c", "C", "?", kind, choices), DOCUMENT, turn, 3)


@pytest.mark.parametrize(
    ("kind", "words", "value"),
    [
        (ColumnKind.TEXT, "three\nmonths", "three months"),
        (ColumnKind.DATE, "on 15 March 2026", "2026-03-15"),
        (ColumnKind.DATE, "March 2026", "2026-03"),
        (ColumnKind.DATE, "2026", "2026"),
        (ColumnKind.DATE, "03/04/2025", ""),
        (ColumnKind.DATE, "31 February 2025", ""),
        (ColumnKind.DATE, "Section 2020 of the Act", ""),
        (ColumnKind.DATE, "from 1 May 2024 to 3 June 2025", ""),
        (ColumnKind.AMOUNT, "EUR 2,750 a month", "2750 EUR"),
        (ColumnKind.AMOUNT, "$1.5 million", "1500000 USD"),
        (ColumnKind.AMOUNT, "$1-2 million", ""),
        (ColumnKind.AMOUNT, "€1 200,50", ""),
        (ColumnKind.AMOUNT, "EUR 1.200", ""),
        (ColumnKind.AMOUNT, "($1,200)", ""),
        (ColumnKind.AMOUNT, "$1e300", ""),
        (ColumnKind.AMOUNT, "EUR 5 and EUR 6", ""),
        (ColumnKind.AMOUNT, "5 % of the fee", ""),
        (ColumnKind.NUMBER, "24 months", "24"),
        (ColumnKind.NUMBER, "thirty (30) days", "30"),
        (ColumnKind.NUMBER, "5 %", "5 %"),
        (ColumnKind.NUMBER, "1e5", ""),
    ],
)
def test_a_value_is_single_and_whole(kind: ColumnKind, words: str, value: str) -> None:
    made = cell(kind, words)
    assert made.value == value
    assert made.state is (CellState.FOUND if value else CellState.UNCLEAR) and made.citations


def test_a_choice_is_one_of_whole_words_and_sure_only_if_it_is_the_answer() -> None:
    choices = ("married", "unmarried", "man")
    assert cell(ColumnKind.CHOICE, "unmarried", choices).state is CellState.FOUND
    assert cell(ColumnKind.CHOICE, "a mandated manner", choices).value == ""
    told = cell(ColumnKind.CHOICE, "not married", choices)
    assert (told.value, told.state) == ("married", CellState.UNCLEAR)
    assert cell(ColumnKind.CHOICE, "married or unmarried", choices).value == ""


def test_yes_or_no_is_for_a_person_and_a_doubtful_value_is_unclear() -> None:
    assert cell(ColumnKind.YES_NO, "The tenant may sublet.").state is CellState.UNCLEAR
    doubtful = cell(ColumnKind.TEXT, "three months", confidence=0.3)
    assert (doubtful.state, doubtful.value) == (CellState.UNCLEAR, "three months") and doubtful.detail


@pytest.mark.parametrize("value", ["nan", "Infinity", "5 %", "about 7", ""])
def test_what_is_no_number_is_written_as_text(value: str) -> None:
    column = Column("c", "C", "?", ColumnKind.NUMBER)
    assert isinstance(typed_value(column, Cell("d", "c", CellState.FOUND, value)), str)
    assert typed_value(column, Cell("d", "c", CellState.FOUND, "7")) == 7.0
    early = Cell("d", "c", CellState.FOUND, "1850-01-01")
    assert typed_value(Column("c", "C", "?", ColumnKind.DATE), early) == "1850-01-01"
