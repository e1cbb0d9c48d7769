"""The row with the most or the least is named with its figure, over all pages of its table, or nothing is stated."""

from dataclasses import replace

import pytest

from pincite.core.figures.answers import analyse
from pincite.core.figures.extremes import column_sum, extreme
from tests.figures.harbour import table_of

HEADS = ("Tunnel", "Length", "Toll")
TOLLS = table_of((HEADS, ("Arven", "9,876", "10"), ("Corva", "4,120", "9"), ("Ferra", "812", "12")), "Tolls")
NEXT = table_of((HEADS, ("Dent", "700", "21"), ("Ors", "950", "14"), ("Vell", "990", "13")), "Tolls")
MORE = replace(NEXT, page_index=5, continued=True)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which tunnel has the lowest toll?", "Corva, Toll: 9"),
        ("Which tunnel has the highest toll?", "Ferra, Toll: 12"),
        ("Which tunnel has the most length?", "Arven, Length: 9,876"),
        ("Which tunnel has the smallest toll?", "Corva, Toll: 9"),
        ("Which tunnel has the biggest toll?", "Ferra, Toll: 12"),
    ],
)
def test_the_row_that_is_asked_for_is_named_with_its_figure(question: str, expected: str) -> None:
    stated = extreme(question, [TOLLS])
    assert stated and stated.text == expected and stated.probability >= 0.5


@pytest.mark.parametrize(
    "question", ["What is the toll of the Arven tunnel?", "Who built the tunnels?", "Which tunnels are tolled?"]
)
def test_other_questions_are_left_to_others(question: str) -> None:
    assert extreme(question, [TOLLS]) is None


def test_figures_are_compared_with_the_scale_that_they_are_printed_with() -> None:
    rows = (("Tunnel", "Toll"), ("Acme", "$900 million"), ("Bolt", "$5.8 billion"), ("Crane", "$700 million"))
    stated = extreme("Which tunnel has the highest toll?", [table_of(rows, "Tolls")])
    assert stated and stated.text == "Bolt, Toll: $5.8 billion"


def test_tables_of_two_documents_are_not_one() -> None:
    stated = extreme("Which tunnel has the highest toll?", [TOLLS, replace(MORE, document_id="another")])
    assert stated and stated.text in ("Ferra, Toll: 12", "Dent, Toll: 21")
    assert len({figure.document_id for figure in stated.figures}) == 1


def test_a_head_that_is_named_whole_comes_before_one_of_which_a_word_is_named() -> None:
    rows = (("Year", "Evening visitors", "School groups"), ("2021", "1,940", "22"), ("2022", "3,310", "41"))
    visitors = table_of((*rows, ("2023", "3,085", "58"), ("2024", "3,672", "53")), "Visitors")
    stated = extreme("In what year did the most school groups visit?", [visitors])
    assert stated and stated.text == "2023, School groups: 58"


def test_where_a_question_names_two_columns_none_is_chosen() -> None:
    rows = (("Span", "Mean loss (mm)", "Largest loss (mm)"), ("1", "0.31", "0.92"), ("2", "0.97", "2.35"))
    spans = table_of((*rows, ("3", "0.33", "0.88")), "Loss by span")
    assert extreme("Which span has the largest mean loss?", [spans]) is None
    stated = extreme("Which span had the largest loss?", [spans])
    assert stated and "2.35" in stated.text


def test_a_table_is_taken_with_the_pages_to_which_it_goes_on() -> None:
    stated = extreme("Which tunnel has the highest toll?", [TOLLS, MORE])
    assert stated and stated.text == "Dent, Toll: 21" and stated.figures[0].page_index == 5


def test_maximum_from_another_year_is_not_stated() -> None:
    rows = (("Branch", "Loans in 2025"), ("Ashby", "31"), ("Boxley", "44"), ("Elmore", "9"))
    found = {
        year: [one.text for one in analyse(f"Which branch had the most loans in {year}?", [table_of(rows, "")]).stated]
        for year in (2025, 2031)
    }
    assert found == {2025: ["Boxley, Loans in 2025: 44"], 2031: []}


def test_of_two_rows_that_share_it_none_is_named() -> None:
    rows = (("Tunnel", "Toll"), ("Arven", "9"), ("Corva", "9"), ("Ferra", "12"))
    assert extreme("Which tunnel has the lowest toll?", [table_of(rows, "Tolls")]) is None


def test_a_column_is_summed_over_all_its_pages_where_a_question_names_it_and_no_row() -> None:
    [stated] = analyse("What do the tolls of all tunnels come to together?", [TOLLS, MORE]).stated
    assert stated.text == "Sum of 6 rows, Toll: 79" and stated.computation is not None
    assert stated.computation.expression == "a + b + c + d + e + f"
    assert {figure.page_index for figure in stated.figures} == {TOLLS.page_index, 5}
    totalled = table_of((*(HEADS, *(("A", "1", "2"), ("B", "3", "4"), ("C", "5", "6"))), ("Total", "9", "12")), "Tolls")
    printed = column_sum("What are the tolls together?", [totalled], 0.5)
    assert printed and printed.text == "Total, Toll: 12" and printed.computation is None, "as the table has it"
    by_year = table_of((("Pool", "Visits in 2024"), ("A", "5"), ("B", "8"), ("C", "2")), "Visits to pools")
    [of_year] = analyse("How many visits did all pools have together in 2024?", [by_year]).stated
    assert of_year.text.endswith(": 15")
    assert not analyse("How many visits did all pools have together in 2019?", [by_year]).stated
    assert column_sum("What are the tolls of Arven and Corva together?", [TOLLS], 0.5) is None, "not of all rows"
    pools = table_of(
        (("Pool", "Visits"), ("Alder Pool", "5"), ("Brook Lido", "8"), ("Cress Pool", "2")), "Visits to pools"
    )
    summed = column_sum("How many visits did all the pools have together?", [pools], 0.5)
    assert summed and summed.text == "Sum of 3 rows, Visits: 15", "every pool is a pool"
    assert column_sum("How many visits did the lidos have together?", [pools], 0.5) is None
    assert column_sum("What do all tunnels earn together?", [TOLLS], 0.5) is None, "the question names no column"
    assert column_sum("What are the tolls together?", [TOLLS, replace(MORE, document_id="b")], 0.5) is None
