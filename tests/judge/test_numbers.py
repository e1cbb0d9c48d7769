"""Figures are compared by value: spelling does not matter, sign, scale, unit and precision do."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pincite.core.text.numbers import quantities, same, stated_scales


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
        ("31.12.2024", "31 December 2024"),
        ("12/31/2024", "December 31, 2024"),
        ("½ of it", "0.5 of it"),
        ("2½ hours", "2.5 hours"),
        ("5 per cent", "5%"),
        ("$312.4 billion", "$312,400 million"),
        ("5 %", "5.2 %"),
        ("5 % a year", "5 % per annum"),
        ("clause 6.1", "6.1 Fees are due at once."),
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
        ("2 % per week", "1.5 % per month"),
        ("2 % per week", "2 % per month"),
        ("9 % a day", "the ship lay at berth 9."),
        ("9 %", "the ship lay at berth 9 for long"),
        ("2 %", "1.5 %"),
        ("69 hours", "69.5 hours"),
        ("clause 7", "clause 6"),
        ("6 %", "clause 6"),
        ("€2024", "in 2024"),
    ],
)
def test_another_value_does_not_agree(claimed: str, given: str) -> None:
    assert not agree(claimed, given)


def test_list_numbers_and_citation_marks_are_no_figures() -> None:
    assert [quantity.value for quantity in quantities("1. Costs were 40 [2]\n2. Sales were 60 [3, 4]")] == [40.0, 60.0]


def test_what_numbers_a_place_counts_nothing() -> None:
    text = "6.1 Under clause 4, sections 7 and 8.2 and footnote 3 on page 12 the fee is 9 %."
    assert [(quantity.text.strip(), quantity.counts) for quantity in quantities(text)] == [
        ("6.1", False), ("4", False), ("7", False), ("8.2", False), ("3", False), ("12", False), ("9 %", True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "per"),
    [
        ("2 % per week", "w"),
        ("9 % a day", "d"),
        ("5 % p.a.", "y"),
        ("40 km per hour", "h"),
        ("$30/h", "h"),
        ("$1.50 per share", "share"),
        ("5 per cent", ""),
    ],
)
def test_rate_has_its_per_unit(text: str, per: str) -> None:
    assert quantities(text)[0].per == per


def test_both_figures_in_a_range_have_the_same_kind_and_unit() -> None:
    assert {(quantity.kind, quantity.unit) for quantity in quantities("5 to 10 days")} == {("number", "d")}
    assert [quantity.kind for quantity in quantities("between 3 and 4.5 %")] == ["percent", "percent"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Der Umsatz betrug 1.234,5 Euro.", 1234.5),
        ("O valor é de R$ 12.345.678,90 no total.", 12_345_678.9),
        ("Es wurden 1.234.567 Stück verkauft.", 1_234_567),
        ("Le prix est de 1\u202f234,56 € par an.", 1234.56),
        ("Сумма составила 1\u00a0250\u00a0000,5 рублей.", 1_250_000.5),
        ("It was 1,234.5 euros.", 1234.5),
    ],
)
def test_a_figure_with_a_decimal_comma_and_grouped_thousands_is_one_figure(text: str, value: float) -> None:
    assert [quantity.value for quantity in quantities(text)] == pytest.approx([value])


@pytest.mark.parametrize("text", ["Server 10.100.200.7 answers.", "The ratio is 1.234 here."])
def test_points_between_digits_alone_make_no_thousands(text: str) -> None:
    assert all(quantity.value < 1000 for quantity in quantities(text))


FIGURES = st.integers(min_value=10, max_value=10**9)


@given(FIGURES, st.sampled_from(["", " million", " billion", " thousand"]), st.sampled_from(["$", "€", ""]))
def test_a_figure_is_read_with_its_value_however_it_is_grouped(figure: int, scale: str, currency: str) -> None:
    plain, grouped = f"{currency}{figure}{scale}.", f"{currency}{figure:,}{scale}."
    (one,), (other,) = quantities(f"It was worth {plain}"), quantities(f"It was worth {grouped}")
    factor = {"": 1.0, " million": 1e6, " billion": 1e9, " thousand": 1e3}[scale]
    if one.kind != "date":  # 1999 alone is a year
        assert one.value == other.value == pytest.approx(figure * factor)
        assert same(one, other) and same(other, one)


@example(999_999_999, 1_000_000_000)
@given(FIGURES, FIGURES)
def test_two_figures_agree_only_where_their_values_do(one: int, other: int) -> None:
    assert agree(f"a sum of {one:,} units", f"a sum of {other:,} units") == (one == other)


@given(st.text("0123456789.,%€$-– abcmilon", max_size=200))
def test_every_figure_has_its_position_in_the_text(text: str) -> None:
    for quantity in quantities(text):
        assert len(text[quantity.start : quantity.end]) == quantity.end - quantity.start > 0
