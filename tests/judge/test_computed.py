"""A figure that follows from the evidence is accepted with its formula, one that only might be made of it is not."""

import pytest

from core.judge.computed import computed
from core.judge.sources import Sources
from core.text.numbers import quantities

REPORT = """Results in thousands 2023 2022
Net sales 4,231 3,112
Operating profit 2,100 2,300

The efficiency reached 60.5 percent in the first trial and 66.5 percent in the second trial.

Of 600 samples 18 were lost.

The company employed 3,060 people at 20 sites.

7.3 The liability is limited to €300,000 for each claim and €1,200,000 in any year.

The invoice is due within 40 days under clause 6.1 and costs EUR 40."""


def formula(claim: str, figure: str) -> str:
    quantity = next(quantity for quantity in quantities(claim) if quantity.text.strip() == figure)
    found = computed(claim, quantity, Sources.of([REPORT]))
    return found.formula if found else ""


@pytest.mark.parametrize(
    ("claim", "figure", "expected"),
    [
        ("From 2022 to 2023 net sales rose by 1,119 thousand.", "1,119 thousand", "4,231 - 3,112 = 1,119 thousand"),
        ("Net sales grew by 36.0 % in 2023.", "36.0 %", "(4,231 - 3,112) / 3,112 = 36.0 %"),
        ("Operating profit fell by 8.7 % in 2023.", "8.7 %", "(2,300 - 2,100) / 2,300 = 8.7 %"),
        ("In 2023 the operating profit was 49.6 % of net sales.", "49.6 %", "2,100 / 4,231 = 49.6 %"),
        ("Net sales and operating profit of 2022 add up to 5,412.", "5,412", "3,112 + 2,300 = 5,412"),
        ("Operating profit averaged 2,200 thousand.", "2,200 thousand", "(2,100 + 2,300) / 2 = 2,200 thousand"),
        (
            "The trials differ in efficiency by 6.0 percentage points.",
            "6.0 percentage",
            "66.5 percent - 60.5 percent = 6.0 percentage",
        ),
        (
            "The efficiency of the trials differs by 6.0 percent.",
            "6.0 percent",
            "66.5 percent - 60.5 percent = 6.0 percent",
        ),
        ("3.0 % of the samples were lost.", "3.0 %", "18 / 600 = 3.0 %"),
        ("The company employed 153 people per site.", "153", "3,060 / 20 = 153"),
        ("The limit in any year is 4.0 times that for each claim.", "4.0", "€1,200,000 / €300,000 = 4.0"),
    ],
)
def test_a_right_calculation_is_told_with_its_formula(claim: str, figure: str, expected: str) -> None:
    assert formula(claim, figure) == expected


@pytest.mark.parametrize(
    ("claim", "figure"),
    [
        ("Net sales grew by 36.1 % in 2023.", "36.1 %"),
        ("Net sales fell by 36.0 % in 2023.", "36.0 %"),
        ("Operating profit grew by 8.7 % in 2023.", "8.7 %"),
        ("Net sales are 36.0 in 2023.", "36.0"),
        ("In 2023 the operating profit was 73.9 % of net sales.", "73.9 %"),
        ("The share of the invoice is 15.25 %.", "15.25 %"),
        ("Net sales and people differ by 1,171.", "1,171"),
        ("The invoices of the two companies differ by 34.", "34"),
        ("Rainfall in the mountains fell by 26.4 percent.", "26.4 percent"),
    ],
)
def test_a_figure_that_only_might_be_made_of_others_is_not_computed(claim: str, figure: str) -> None:
    assert formula(claim, figure) == ""
