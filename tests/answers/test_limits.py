"""A limit is read from a question, values are compared with it, and a filter selects the documents of a grid."""

import pytest

from pincite.core.answers.limits import limit_in, order_of, selected
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
    ("question", "limit"),
    [
        ("Which leases end before 2027?", (ColumnKind.DATE, "2027")),
        ("leases that begin on 1 March 2027 or later", (ColumnKind.DATE, "2027-03-01")),
        ("contracts worth over $1.5 million", (ColumnKind.AMOUNT, "1500000 USD")),
        ("Welche Verträge laufen höchstens 24 Monate?", (ColumnKind.NUMBER, "24")),
        ("rates of at least 5 %", (ColumnKind.NUMBER, "5 %")),
        ("signed between 2019 and 2021", None),
        ("Which leases end first?", None),
    ],
)
def test_the_only_value_of_a_question_is_its_limit(question: str, limit: tuple[ColumnKind, str] | None) -> None:
    assert limit_in(question) == limit


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
    ],
)
def test_values_are_compared_as_far_as_they_can_be(value: str, limit: str, order: int | None) -> None:
    assert order_of(value, limit) == order


@pytest.mark.behaviour("The grid", "A filter shows the documents with such a value, and last those it is not sure of.")
@pytest.mark.parametrize(
    ("column", "relation", "values", "held", "unsure"),
    [
        ("ends", Relation.BELOW, ("2027",), ("ash",), ("dogwood",)),
        ("ends", Relation.AT_MOST, ("2027",), ("ash", "birch"), ("dogwood",)),
        ("ends", Relation.ABOVE, ("31 December 2026",), ("birch", "cedar"), ("dogwood",)),
        ("ends", Relation.EQUAL, ("June 2027",), (), ("birch", "dogwood")),
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
