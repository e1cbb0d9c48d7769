"""A limit is read from a question, values are compared with it, and a filter selects the documents of a grid."""

import pytest

from pincite.core.answers.limits import limit_in, limit_value, order_of, selected
from pincite.core.domain.grids import Cell, CellState, Column, ColumnKind, FilledGrid, Filter, Grid, Relation

COLUMNS = (
    Column("ends", "Ends", "When does it end?", ColumnKind.DATE),
    Column("rent", "Rent", "What is the rent?", ColumnKind.AMOUNT),
    Column("pets", "Pets", "May pets be kept?", ColumnKind.YES_NO),
    Column("law", "Law", "Which law applies?"),
)
ROWS = {
    "ash": {"ends": "2026-12-31", "rent": "1200 EUR", "pets": "Yes", "law": "The law of Sweden"},
    "birch": {"ends": "2027", "rent": "2500 EUR", "pets": "No", "law": "German law"},
    "cedar": {"ends": "2029-05", "rent": "900 USD", "pets": "No", "law": ""},
    "dogwood": {"ends": "?", "rent": "", "pets": "", "law": ""},
}


def filled() -> FilledGrid:
    """ "?": a value that is not sure; empty: not stated."""
    states = {"?": CellState.UNCLEAR, "": CellState.NOT_STATED}
    cells = {
        (row, column): Cell(row, column, states.get(value, CellState.FOUND), value)
        for row, values in ROWS.items()
        for column, value in values.items()
    }
    return FilledGrid(Grid("one", "Leases", COLUMNS, tuple(ROWS)), cells)


@pytest.mark.parametrize(
    ("question", "value", "kinds"),
    [
        ("Which leases end before 2027?", "2027", {ColumnKind.DATE, ColumnKind.AMOUNT, ColumnKind.NUMBER}),
        ("leases that begin on 1 March 2027 or later", "2027-03-01", {ColumnKind.DATE}),
        ("contracts worth over $1.5 million", "1500000 USD", {ColumnKind.AMOUNT}),
        ("Welche Verträge laufen höchstens 24 Monate?", "24", {ColumnKind.NUMBER}),
        ("rents over 900", "900", {ColumnKind.AMOUNT, ColumnKind.NUMBER}),
        ("rates of at least 5 %", "5 %", {ColumnKind.NUMBER}),
    ],
)
def test_the_only_value_of_a_question_is_its_limit(question: str, value: str, kinds: set[ColumnKind]) -> None:
    limit = limit_in(question)
    assert limit and (limit.value, set(limit.kinds)) == (value, kinds)


@pytest.mark.parametrize("question", ["signed between 2019 and 2021", "Which leases end first?"])
def test_without_a_single_value_there_is_no_limit(question: str) -> None:
    assert limit_in(question) is None


@pytest.mark.parametrize(
    ("question", "words", "order"),
    [
        ("leases that end before 2027", "28 February 2026", -1),
        ("leases that end before 2027", "on 31 December 2027", 0),
        ("rents of more than 2000", "EUR 3,100 a month", 1),
        ("leases longer than 24 months", "36 months", 1),
        ("leases longer than 24 months", "three years", None),
        ("leases longer than 24 months", "Lease of unit 7", None),
        ("papers with more than 50 participants", "120 participants", 1),
        ("papers with more than 50 participants", "120 schools", None),
        ("rents of more than 2,000 euros", "GBP 3,100", None),
        ("rents of more than 2,000 euros", "EUR 500 or EUR 600", None),
    ],
)
def test_marked_words_are_compared_with_a_limit(question: str, words: str, order: int | None) -> None:
    limit = limit_in(question)
    compared = limit.compared_with(words) if limit else None
    assert (compared.order if compared else None) == order


@pytest.mark.parametrize(
    ("kind", "entered", "value"),
    [
        (ColumnKind.DATE, "2026-03", "2026-03"),
        (ColumnKind.DATE, "March 2026", "2026-03"),
        (ColumnKind.AMOUNT, "2000", "2000"),
        (ColumnKind.AMOUNT, "2000 CHF", "2000 CHF"),
        (ColumnKind.AMOUNT, "2000 dollars", "2000 USD"),
        (ColumnKind.AMOUNT, "EUR 2,000", "2000 EUR"),
        (ColumnKind.NUMBER, "1 200", "1200"),
        (ColumnKind.NUMBER, "−5", "-5"),
        (ColumnKind.NUMBER, "5 %", "5 %"),
    ],
)
def test_what_is_entered_is_read_as_a_value(kind: ColumnKind, entered: str, value: str) -> None:
    assert limit_value(kind, entered) == value


@pytest.mark.parametrize(
    ("kind", "entered"),
    [
        (ColumnKind.DATE, "soon"),
        (ColumnKind.AMOUNT, "2.500"),
        (ColumnKind.NUMBER, "3 months"),
        (ColumnKind.NUMBER, "1 or 2"),
    ],
)
def test_what_is_no_value_is_refused(kind: ColumnKind, entered: str) -> None:
    with pytest.raises(ValueError, match=entered):
        limit_value(kind, entered)


@pytest.mark.parametrize(
    ("value", "limit", "order"),
    [
        ("2026-12-31", "2027", -1),
        ("2027-12-31", "2027", 0),
        ("2028", "2027-03-15", 1),
        ("2027", "2027-03-15", None),
        ("1200 EUR", "900 EUR", 1),
        ("1200 EUR", "1200", 0),
        ("1200 EUR", "900 USD", None),
        ("5.5 %", "12 %", -1),
        ("three months", "12", None),
        ("2026-12-31", "30", None),
        ("5", "5 %", None),
        ("−2000", "5", -1),
        ("2.500 EUR", "2000", None),
    ],
)
def test_values_are_compared_as_far_as_they_can_be(value: str, limit: str, order: int | None) -> None:
    assert order_of(value, limit) == order


@pytest.mark.behaviour("The grid", "A filter shows the documents with such a value, and those it is not sure of.")
@pytest.mark.parametrize(
    ("column", "relation", "values", "held", "unsure"),
    [
        ("ends", Relation.BELOW, ("2027",), ("ash",), ("dogwood",)),
        ("ends", Relation.AT_MOST, ("2027",), ("ash", "birch"), ("dogwood",)),
        ("ends", Relation.ABOVE, ("31 December 2026",), ("birch", "cedar"), ("dogwood",)),
        ("ends", Relation.EQUAL, ("June 2027",), (), ("birch", "dogwood")),
        ("ends", Relation.IS, ("2027",), ("birch",), ("dogwood",)),
        ("rent", Relation.AT_LEAST, ("2,000 euros",), ("birch",), ("cedar",)),
        ("rent", Relation.BELOW, ("1,000",), ("cedar",), ()),
        ("pets", Relation.IS, ("No",), ("birch", "cedar"), ()),
        ("law", Relation.CONTAINS, ("german",), ("birch",), ()),
    ],
)
def test_a_filter_selects_documents(
    column: str, relation: Relation, values: tuple[str, ...], held: tuple[str, ...], unsure: tuple[str, ...]
) -> None:
    found = selected(filled(), Filter(column, relation, values))
    assert (found.document_ids, found.unsure) == (held, unsure)


def test_a_limit_has_to_be_a_value_of_the_column() -> None:
    with pytest.raises(ValueError, match="soon"):
        selected(filled(), Filter("ends", Relation.BELOW, ("soon",)))
    assert selected(filled(), Filter("gone", Relation.BELOW, ("2027",))).document_ids == tuple(ROWS)
