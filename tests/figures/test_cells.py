"""A question for a figure is answered with the cell of the row, group, column and period that it names."""

from dataclasses import replace
from decimal import Decimal

import pytest

from pincite.core.domain.answers import PartKind
from pincite.core.domain.documents import Passage
from pincite.core.domain.figures import Figure
from pincite.core.domain.search import Evidence
from pincite.core.domain.tables import Table
from pincite.core.figures.answers import analyse, parts_of, stated_cell
from pincite.core.figures.cells import FoundCells, figure_of, finding, rank
from pincite.core.questions.operations import wanted, wanted_of
from pincite.core.text.stating import state
from tests.figures.harbour import figures_of, table_of

HARBOUR = (
    ("", "2021", "2020"),
    ("Income:", "", ""),
    ("Berth fees", "1,240", "1,105"),
    ("Crane hire", "310", "402"),
    ("Total income", "1,550", "1,507"),
    ("Costs:", "", ""),
    ("Dredging", "(620)", "(580)"),
    ("Crane hire", "(75)", "(64)"),
)


def _table(rows: tuple[tuple[str, ...], ...] = HARBOUR, caption: str = "Harbour accounts (EUR thousand)") -> Table:
    return table_of(rows, caption)


def find(question: str, tables: list[Table]) -> FoundCells:
    ranking = rank(question, tables)
    assert ranking is not None
    return finding(ranking, tables)


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("What were the berth fees in 2020?", ["1,105"]),
        ("What were the berth fees in 2021?", ["1,240"]),
        ("How much was total income in 2021?", ["1,550"]),
        ("What did dredging cost in 2020?", ["(580)"]),
        ("What were the berth fees in 2020 and 2021?", ["1,105", "1,240"]),
    ],
)
def test_the_cell_is_found_by_row_and_period(question: str, answers: list[str]) -> None:
    assert [found.cell.text for found in find(question, [_table()]).answers] == answers


def test_found_figure_is_stated_in_words_with_unit_and_scale() -> None:
    (found,) = find("What were the berth fees in 2020?", [_table()]).answers
    assert found.figure is not None and state(found.figure) == "Income: Berth fees, 2020: €1,105 thousand"
    assert found.figure == Figure(
        value=Decimal(1105),
        text="1,105",
        unit="EUR",
        scale=1000,
        period="2020",
        label="Income: Berth fees",
        column="2020",
        document_id="harbour",
        page_index=4,
        start=220,
        end=225,
        heads=((200, 210), (20, 24)),
    )
    assert found.figure.amount == 1_105_000


def test_cells_that_could_both_be_meant_are_given() -> None:
    found = find("How much was crane hire in 2020?", [_table()])
    given = {one.cell.text: one.figure.label for one in (*found.answers, *found.rivals) if one.figure}
    assert given == {"402": "Income: Crane hire", "(64)": "Costs: Crane hire"}


def test_the_group_that_a_question_names_decides() -> None:
    answers = find("How much crane hire was among the costs in 2020?", [_table()]).answers
    assert [found.cell.text for found in answers] == ["(64)"]


def test_table_with_the_requested_caption_is_read() -> None:
    ferry = _table((("", "2021"), ("Fees", "77")), caption="Ferry accounts")
    harbour = _table((("", "2021"), ("Fees", "12")), caption="Harbour accounts")
    (found,) = find("What were the fees of the ferry in 2021?", [harbour, ferry]).answers
    assert (found.cell.text, found.table.caption) == ("77", "Ferry accounts")


def test_without_tables_nothing_is_found() -> None:
    assert rank("What were the berth fees?", []) is None


def test_every_table_figure_is_returned_once_and_dashes_are_skipped() -> None:
    table = _table((("", "2021", "2020"), ("Fees", "12", "—"), ("Hire", "7.5%", "(3)")))
    assert [(figure.value, figure.unit, figure.scale) for figure in figures_of(table)] == [
        (Decimal(12), "EUR", 1000),
        (Decimal("7.5"), "%", 1),
        (Decimal(-3), "EUR", 1000),
    ]
    assert figure_of(table, next(cell for cell in table.body if cell.text == "—")) is None


def test_a_row_that_is_named_by_its_label_comes_before_all_others() -> None:
    rows = (("Branch", "Loans in 2025"), ("Ashby", "31,240"), ("Boxley", "44,810"), ("Corran", "18,905"))
    found = stated_cell("How many loans did Corran have in 2025?", [table_of(rows, "Branches and loans")])
    assert found is not None and found.text == "Corran, Loans in 2025: 18,905"
    (most,) = analyse("Which branch had the most loans in 2025?", [table_of(rows, "Branches and loans")]).stated
    assert most.text == "Boxley, Loans in 2025: 44,810"
    assert not analyse("How many loans did Fenwick have in 2025?", [table_of(rows, "Branches and loans")]).stated


def test_of_rows_those_that_say_some_of_the_question_come_before_those_that_say_none() -> None:
    rows = (("", "2022", "2021"), ("Sales", "57.1", "58.0"), ("Profit after tax", "3.9", "4.8"))
    stated = stated_cell("What was the profit in 2022?", [table_of(rows, "Accounts (EUR million)")])
    assert stated is not None and stated.text == "Profit after tax, 2022: €3.9 million"


def test_a_cell_of_words_answers_with_its_row_and_the_heads_where_the_question_names_both() -> None:
    rows = (("Code", "Meaning", "What to do"), ("E1", "No water comes in", "Open the tap"), ("E4", "Leak", "Close it"))
    table = table_of(rows, "Errors")
    text = "\n".join("\t".join(row) for row in rows)
    cells = tuple(
        replace(one, start=text.index(one.text), end=text.index(one.text) + len(one.text)) for one in table.cells
    )
    table = replace(table, cells=cells)
    passage = Passage("p", "harbour", 4, "5", text, 0, len(text))
    (stated,) = analyse("What does E4 mean?", [table]).stated
    parts = parts_of(stated, [Evidence(1, passage, "manual.pdf")])
    assert [(part.kind, part.text) for part in parts] == [
        (PartKind.HEADLINE, "Leak"),
        (PartKind.VERBATIM, "Code\tMeaning\tWhat to do"),
        (PartKind.VERBATIM, "E4\tLeak\tClose it"),
    ]
    assert not parts_of(stated, [Evidence(1, replace(passage, page_index=3), "manual.pdf")]), "its row is not in it"
    assert not analyse("What does E4 mean to the cook on Sundays?", [table]).stated
    assert not analyse("How many codes does E4 mean?", [table]).stated, "words answer no such question"
    (less,) = analyse("Tell me what E4 means", [table]).stated
    assert less.text == "Leak" and less.probability < stated.probability


def test_the_year_above_a_table_is_that_of_its_figures_and_another_year_is_no_answer() -> None:
    rows = (("Revenue", "52.8"), ("Cost of goods", "31.7"), ("Net income", "5.1"))
    tables = [table_of(rows, "Income statement (in millions of euros) 2023")]
    stated = stated_cell("What was the net income in 2023?", tables)
    assert stated is not None and stated.text == "Net income, 2023: €5.1 million"
    assert stated_cell("What was the net income in 2021?", tables) is None


def test_label_containing_a_computation_word_requests_no_computation() -> None:
    rows = (("Model", "Wheel change", "Full service"), ("Cargo", "38", "125"), ("Tandem", "52", "160"))
    tables = [table_of(rows, "All prices are in pounds")]
    assert wanted("How much is a wheel change for the Cargo?") is not None
    assert wanted_of("How much is a wheel change for the Cargo?", tables) is None
    assert wanted_of("What was the change in full service in 2021?", tables) is not None
