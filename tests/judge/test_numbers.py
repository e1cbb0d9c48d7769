"""Figures are compared by value: spelling does not matter, sign, scale, unit and precision do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.numbers import derivation, quantities, same, stated_scales


def agree(claimed: str, given: str) -> bool:
    return any(same(one, other, stated_scales(given)) for one in quantities(claimed) for other in quantities(given))


@pytest.mark.parametrize(
    ("claimed", "given"),
    [
        ("$1.2 billion", "1,200 million dollars"),
        ("1.2 billion", "1,234 million"),
        ("$1,234 million", "Revenue (in millions) 1,234 1,100"),
        ("12 percent", "12%"),
        ("3.5 million", "3\u00a0500\u00a0000"),
        ("3.5 million", "3 500 000 €"),
        ("twenty-five people", "25 people"),
        ("March 3, 2023", "2023-03-03"),
        ("in 2023", "on 3 March 2023"),
        ("5:30 pm", "17:30"),
        ("a loss of 1,234", "(1,234)"),
        ("two million", "2,000,000"),
    ],
)
def test_one_value_in_two_spellings_agrees(claimed: str, given: str) -> None:
    assert agree(claimed, given)


@pytest.mark.parametrize(
    ("claimed", "given"),
    [
        ("5 %", "1.5 %"),
        ("5 million", "5 billion"),
        ("-5.2", "5.2"),
        ("2022", "2023"),
        ("March 3, 2023", "March 4, 2023"),
        ("10 km", "10 miles"),
        ("1.25 billion", "1,234 million"),
        ("5 pm", "5:00"),
        ("12 percent", "$12"),
        ("5 %", "five Business Days"),
        ("5 %", "5 days"),
        ("$30", "30 days"),
        ("$30", "€30"),
        ("30 days", "30 months"),
        ("30 business days", "30 (thirty) months"),
        ("12 employees", "12 %"),
    ],
)
def test_another_value_does_not_agree(claimed: str, given: str) -> None:
    assert not agree(claimed, given)


def test_list_numbers_and_citation_marks_are_no_figures() -> None:
    assert [quantity.value for quantity in quantities("1. Costs were 40 [2]\n2. Sales were 60 [3, 4]")] == [40.0, 60.0]


@pytest.mark.parametrize(
    ("claimed", "given"),
    [
        ("134", "1,234 and 1,100"),
        ("12.2 %", "1,234 and 1,100"),
        ("2,334", "1,234 and 1,100"),
        ("40%", "40 of 100"),
    ],
)
def test_what_follows_from_the_evidence_by_arithmetic_is_told_with_its_formula(claimed: str, given: str) -> None:
    formula = derivation(quantities(claimed)[0], quantities(given), frozenset({1.0}))
    assert formula.endswith(f"= {claimed}")


def test_figures_of_different_kinds_give_no_other() -> None:
    assert derivation(quantities("15 %")[0], quantities("6.1 km and 40 employees"), frozenset({1.0})) == ""
    assert derivation(quantities("$46")[0], quantities("$6 and 40 days"), frozenset({1.0})) == ""


def test_small_whole_numbers_are_not_derived_from_anything() -> None:
    assert derivation(quantities("3 cars")[0], quantities("5 and 2"), frozenset({1.0})) == ""


FIGURES = st.integers(min_value=10, max_value=10**9)


@given(FIGURES, st.sampled_from(["", " million", " billion", " thousand"]), st.sampled_from(["$", "€", ""]))
def test_a_figure_is_read_with_its_value_however_it_is_grouped(figure: int, scale: str, currency: str) -> None:
    plain, grouped = f"{currency}{figure}{scale}.", f"{currency}{figure:,}{scale}."
    (one,), (other,) = quantities(f"It was worth {plain}"), quantities(f"It was worth {grouped}")
    factor = {"": 1.0, " million": 1e6, " billion": 1e9, " thousand": 1e3}[scale]
    if one.kind != "date":  # 1999 alone is a year
        assert one.value == other.value == pytest.approx(figure * factor)
        assert same(one, other) and same(other, one)


@given(FIGURES, FIGURES)
def test_two_figures_agree_only_where_their_values_do(one: int, other: int) -> None:
    assert agree(f"a sum of {one:,} units", f"a sum of {other:,} units") == (one == other)


@given(st.text(max_size=200))
def test_every_figure_is_told_with_its_place(text: str) -> None:
    for quantity in quantities(text):
        assert len(text[quantity.start : quantity.end]) == quantity.end - quantity.start > 0
