"""Statements about figures follow from the figures alone, and are repeatable."""

from dataclasses import replace
from decimal import Decimal

import pytest

from pincite.core.domain.figures import Computation, Figure
from pincite.core.text.stating import (
    NotComputableError,
    compute,
    formula,
    latex,
    reads_so,
    result,
    short,
    state,
    statement,
)

FEES = Figure(Decimal(1240), "1,240", "EUR", 1000, "2021", "Berth fees", "2021", "harbour", 4, 0, 5)
BEFORE = replace(FEES, value=Decimal(1105), text="1,105", period="2020", column="2020", start=10, end=15)
COST = replace(FEES, value=Decimal(-620), text="(620)", label="Dredging", start=20, end=25)
GROWTH = Computation("Growth of berth fees", "(b - a) / a * 100", "%")


def test_figure_is_stated_with_row_column_unit_and_scale() -> None:
    assert state(FEES) == "Berth fees, 2021: €1,240 thousand"
    assert state(replace(FEES, text="€1.24 million", value=Decimal("1.24"), scale=10**6)) == (
        "Berth fees, 2021: €1.24 million"
    )
    assert state(replace(FEES, label="", column="", unit="shares", scale=1)) == "1,240 shares"


def test_footnote_marks_and_bracketed_text_are_omitted() -> None:
    assert short("(In millions, except per share amounts): 2015(1)") == "2015"
    assert short("Assets: Notes payable (Note 5)") == "Assets: Notes payable (Note 5)"


def test_several_figures_are_stated_one_after_the_other() -> None:
    assert statement((FEES, BEFORE)) == "Berth fees, 2021: €1,240 thousand; Berth fees, 2020: €1,105 thousand"


def test_what_is_computed_is_rounded_and_shown_with_its_numbers() -> None:
    assert statement((BEFORE, FEES), GROWTH) == "Growth of berth fees: 12.22%"
    assert formula((BEFORE, FEES), GROWTH) == "(1,240 − 1,105) / 1,105 × 100"
    assert latex((BEFORE, FEES), GROWTH) == (r"\frac{1{,}240 - 1{,}105}{1{,}105} \times 100 = \text{12.22\%}")


def test_a_sum_keeps_unit_and_scale_and_a_negative_result_its_sign_before_the_currency() -> None:
    loss = Computation("Fees and dredging", "b - a", "EUR", 1000)
    assert result((FEES, COST), loss) == "-€1,860 thousand"
    assert formula((FEES, COST), loss) == "−620 − 1,240"


def test_figures_of_different_scales_are_computed_by_their_amounts() -> None:
    million = replace(FEES, value=Decimal("2.48"), text="2.48", scale=10**6)
    assert compute((FEES, million), Computation("Ratio", "b / a")) == 2
    assert result((FEES, million), Computation("Sum", "a + b", "EUR", 10**6)) == "€3.72 million"


@pytest.mark.parametrize(
    "expression",
    ["a / (b - b)", "c", "a.value", "__import__('os')", "a if b else a", "(", "a" + " + a" * 300, "(0 - a) ** (1 / 2)",
     "9 ** 9 ** 9 ** 9"],
)  # fmt: skip
def test_what_has_no_result_is_not_computed(expression: str) -> None:
    with pytest.raises(NotComputableError):
        compute((FEES, BEFORE), Computation("Nothing", expression))
    assert formula((FEES, BEFORE), Computation("Nothing", expression)) == ""
    assert latex((FEES, BEFORE), Computation("Nothing", expression)) == ""


def test_a_figure_that_its_text_does_not_say_is_noticed() -> None:
    assert reads_so(COST)
    assert reads_so(replace(FEES, text="1.240,5", value=Decimal("1240.5")))
    assert not reads_so(replace(FEES, value=Decimal(1241)))
