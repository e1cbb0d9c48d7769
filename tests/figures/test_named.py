"""Formulas of a trade are data: what they are called, what they are made of, and what documents print for that."""

from pathlib import Path

import pytest

from pincite.core.figures.formulas import Needed, lettered, read_formulas, shipped_formulas
from pincite.core.figures.named import as_printed, named
from pincite.core.text.stating import formula
from tests.figures.harbour import table_of

INCOME = table_of(
    (
        ("", "2021", "2020", "2019"),
        ("Net sales", "$ 2,000", "$ 1,600", "$ 1,000"),
        ("Cost of sales", "1,500", "1,280", "850"),
        ("Operating income", "300", "200", "90"),
    ),
    "Consolidated statements of income (in millions)",
)
FLOWS = table_of(
    (
        ("", "2021", "2020"),
        ("Changes in operating assets and liabilities:", "", ""),
        ("Accounts payable", "20", "15"),
        ("Inventories", "(20)", "(11)"),
    ),
    "Consolidated statements of cash flows (in millions)",
)
BALANCE = table_of(
    (
        ("", "2021", "2020"),
        ("Inventories", "130", "110"),
        ("Total current assets", "900", "700"),
        ("Accounts payable, trade (Note 7)", "310", "290"),
        ("Total current liabilities", "600", "500"),
    ),
    "Consolidated balance sheets (in millions)",
)


@pytest.mark.parametrize(
    ("question", "text", "shown"),
    [
        ("What is the current ratio for 2021?", "Current ratio, 2021: 1.50", "900 / 600"),
        ("What was the gross margin in 2020?", "Gross margin, 2020: 20%", "(1,600 − |1,280|) / 1,600 × 100"),
        ("What is the 2021 DPO?", "Days payable outstanding, 2021: 72.04 days",
         "365 × ((310 + 290) / 2) / (|1,500| + 130 − 110)"),
        ("How much working capital was there in 2020?", "Working capital, 2020: 200 million", "700 − 500"),
        ("What is the average operating margin from 2019 to 2021?", "Average operating margin, 2019 to 2021: 12.17%",
         "(300 / 2,000 × 100 + 200 / 1,600 × 100 + 90 / 1,000 × 100) / 3"),
        ("What was the change in operating margin between 2019 and 2021?",
         "Change in operating margin, 2019 to 2021: 6%", "300 / 2,000 × 100 − 90 / 1,000 × 100"),
        ("What was the cost of sales % margin in 2021?", "Cost of sales margin, 2021: 75%", "1,500 / 2,000 × 100"),
        ("What is the current ratio?", "Current ratio, 2021: 1.50", "900 / 600"),
    ],
)  # fmt: skip
def test_a_formula_is_worked_out_from_the_rows_that_statements_print(question: str, text: str, shown: str) -> None:
    stated = named(question, [INCOME, FLOWS, BALANCE], 0.5).stated
    assert stated is not None and stated.computation is not None
    assert (stated.text, formula(stated.figures, stated.computation)) == (text, shown)
    assert 0 < stated.probability <= 0.5


def test_an_operand_that_the_tables_lack_is_named_with_its_year() -> None:
    found = named("What was the inventory turnover in 2020?", [INCOME, BALANCE], 0.5)
    assert found.stated is None
    assert found.missing == (
        "The inventory turnover was not computed: the tables that were found lack inventory (2019)."
    )
    assert named("What were net sales in 2020?", [INCOME, BALANCE], 0.5).missing == ""


def test_one_row_is_never_taken_for_two_operands() -> None:
    taxes = table_of((("", "2021"), ("Income taxes before provision for income taxes", "31")), "")
    assert named("What was the effective tax rate in 2021?", [taxes], 0.5).stated is None


def test_users_add_formulas_and_replace_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        '[operands.cranes]\nprinted = ["cranes in service"]\n'
        '[formulas."sales per crane"]\nnames = ["sales per crane"]\nexpressions = ["cranes * 2"]\nunit = "boats"\n'
        '[formulas."broken"]\nnames = ["broken"]\nexpressions = ["open(cranes)"]\n'
        '[formulas."unknown"]\nnames = ["unknown"]\nexpressions = ["ships / cranes"]\n'
    )
    formulas = read_formulas(tmp_path)
    assert list(formulas.formulas) == ["sales per crane"]
    assert ["open(cranes)" in problem or "ships" in problem for problem in formulas.problems] == [True, True]
    table = table_of((("", "2021"), ("Cranes in service", "12"), ("Boats", "30")), "")
    stated = named("What were the sales per crane in 2021?", [table], 1.0, formulas).stated
    assert stated is not None and stated.text == "Sales per crane, 2021: 24 boats"


def test_shipped_formulas_are_all_usable_and_synonyms_come_from_their_operands() -> None:
    formulas = shipped_formulas()
    assert not formulas.problems and len(formulas.formulas) == 12
    assert as_printed("What was the revenue in 2020?", [INCOME], formulas) == "What was the net sales in 2020?"
    assert as_printed("What was the cost of revenue?", [INCOME], formulas) == "What was the cost of sales?"
    assert as_printed("What were net sales?", [INCOME], formulas) == "What were net sales?"
    assert as_printed("What was the revenue?", [BALANCE], formulas) == "What was the revenue?"


def test_averages_and_years_before_become_letters() -> None:
    needed = (Needed("revenue"), Needed("assets"), Needed("assets", 1))
    assert lettered("revenue / average(assets)") == (needed, "a / ((b + c) / 2)")
