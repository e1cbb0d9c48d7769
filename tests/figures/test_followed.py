"""A follow-up names exactly one row or column of the last answer's table, or it is read like any question."""

from dataclasses import replace

import pytest

from pincite.core.figures.followed import followed
from tests.figures.harbour import figures_of, table_of

PRICES = table_of(
    (
        ("Model", "Wheel change", "Full service"),
        ("Cargo", "38", "125"),
        ("Tandem", "52", "160"),
        ("Tandem with trailer", "61", "190"),
    ),
    "Prices",
)
LAST = next(figure for figure in figures_of(PRICES) if figure.text == "38")


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("And a full service?", "125"),
        ("And for the Tandem?", "52"),
        ("And with trailer?", "61"),
        ("And for the Tandem with trailer?", "61"),
        ("And for the Cargo?", None),  # it is what was answered
        ("And for the trailer on Sundays?", None),
        ("And?", None),
    ],
)
def test_the_cell_that_is_named_is_found_or_none(question: str, given: str | None) -> None:
    figure = followed(question, LAST, [PRICES])
    assert (figure.text if figure else None) == given


def test_follow_up_is_not_answered_from_another_table() -> None:
    other = replace(table_of((("Model", "Full service"), ("Racer", "90")), "Prices"), page_index=7)
    assert followed("And a full service?", LAST, [other]) is None
