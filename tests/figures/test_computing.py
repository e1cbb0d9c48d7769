"""A requested computation uses the cells that the question names; values missing in the tables are reported."""

from dataclasses import replace

import pytest

from pincite.core.domain.answers import AnswerPart, ClaimStatus, PartKind
from pincite.core.domain.tables import Table
from pincite.core.figures.computing import UNWEIGHED, computed
from pincite.core.judge.judge import judge_answer
from pincite.core.questions.operations import Form, wanted, years_compared_with
from pincite.core.text.stating import formula
from tests.figures.harbour import table_of


@pytest.mark.parametrize(
    ("question", "text", "shown"),
    [
        ("What was the change in berth fees from 2020 to 2021?",
         "Change in Income: Berth fees, 2020 to 2021: €135 thousand", "1,240 − 1,105"),
        ("By what percentage did crane hire fall between 2020 and 2021?",
         "Percentage change in Income: Crane hire, 2020 to 2021: -22.89%", "(310 − 402) / 402 × 100"),
        ("What is the average crane hire from 2019 to 2021?",
         "Average of Income: Crane hire, 2019 and 2020 and 2021: €364 thousand", "(380 + 402 + 310) / 3"),
        ("What were the berth fees as a percentage of total income in 2020?",
         "Income: Berth fees as a share of Income: Total income, 2020: 73.32%", "1,105 / 1,507 × 100"),
        ("What is the ratio of berth fees to crane hire in 2021?",
         "Ratio of Income: Berth fees to Income: Crane hire, 2021: 4", "1,240 / 310"),
        ("What was the CAGR of berth fees between 2019 and 2021?",
         "Compound annual growth rate of Income: Berth fees, 2019 to 2021: 11.36%",
         "((1,240 / 1,000) ^ (1 / 2) − 1) × 100"),
        ("How much did dredging change in 2021?",
         "Change in Costs: Dredging, 2020 to 2021: -€40 thousand", "−620 − (−580)"),
        ("What was the change in the share of foreign ships from 2019 to 2020?",
         "Change in Costs: Share of foreign ships, 2019 to 2020: 3%", "35 − 32"),
    ],
)  # fmt: skip
def test_figures_are_computed_from_the_cells_that_are_named(question: str, text: str, shown: str) -> None:
    stated = computed(question, [table_of()]).stated
    assert stated is not None and stated.computation is not None
    assert (stated.text, formula(stated.figures, stated.computation)) == (text, shown)
    assert 0 < stated.probability < 1


@pytest.mark.behaviour(
    "Plans",
    "A comparison of figures (“Were berth fees higher than crane hire in 2021?”) is computed from the cells of "
    "both and shown with its formula.",
)
@pytest.mark.parametrize(
    ("question", "text", "shown"),
    [
        ("Did berth fees grow in 2021?",
         "Yes: Income: Berth fees, 2020: €1,105 thousand; Income: Berth fees, 2021: €1,240 thousand", "1,240 > 1,105"),
        ("Did crane hire increase between 2020 and 2021?",
         "No: Income: Crane hire, 2020: €402 thousand; Income: Crane hire, 2021: €310 thousand", "310 > 402"),
        ("Did crane hire fall in 2021?",
         "Yes: Income: Crane hire, 2020: €402 thousand; Income: Crane hire, 2021: €310 thousand", "310 < 402"),
        ("Were berth fees higher than crane hire in 2021?",
         "Yes: Income: Berth fees, 2021: €1,240 thousand; Income: Crane hire, 2021: €310 thousand", "1,240 > 310"),
        ("Did berth fees exceed 2 million in 2021?",
         "No: Income: Berth fees, 2021: €1,240 thousand", "1,240 > 2,000"),
    ],
)  # fmt: skip
def test_yes_or_no_follows_from_the_figures_that_are_compared(question: str, text: str, shown: str) -> None:
    stated = computed(question, [table_of()]).stated
    assert stated is not None and stated.computation is not None
    assert (stated.text, formula(stated.figures, stated.computation)) == (text, shown)
    part = AnswerPart(text, (1,), PartKind.FIGURE, figures=stated.figures, computation=stated.computation)
    assert [one.status for one in judge_answer(question, (part,), [""]).claims] == [ClaimStatus.SUPPORTED]
    otherwise = {"grow": "fall", "increase": "decrease", "fall": "grow", "higher": "lower", "exceed": "stay below"}
    turned = next(question.replace(one, other) for one, other in otherwise.items() if one in question)
    assert [one.status for one in judge_answer(turned, (part,), [""]).claims] == [ClaimStatus.UNSUPPORTED]
    lie = replace(part, text=f"{'No' if text.startswith('Yes') else 'Yes'}{text[text.index(':') :]}")
    assert [one.status for one in judge_answer(question, (lie,), [""]).claims] == [ClaimStatus.UNSUPPORTED]


def test_rise_or_fall_is_not_stated_for_negative_figures() -> None:
    assert computed("Did dredging rise in 2021?", [table_of()]).stated is None


def test_a_year_that_no_table_has_is_named_and_nothing_computed() -> None:
    found = computed("What was the change in berth fees from 2017 to 2021?", [table_of()])
    assert found.stated is None
    assert found.missing == "2017 is not in the tables that were found, so the change was not computed."


@pytest.mark.parametrize(
    "question",
    ["What were the berth fees in 2021?", "What was the average depth in 2021?", "Who changed the berth fees?",
     "What was the total income in 2020 and 2021?", "What did the harbour master say about growth?"],
)  # fmt: skip
def test_a_question_that_wants_no_computation_gets_none(question: str) -> None:
    assert computed(question, [table_of()]).stated is None


def test_figures_of_different_kinds_are_not_added() -> None:
    assert computed("What is the difference between berth fees and share of foreign ships in 2021?",
                    [table_of()]).stated is None  # fmt: skip


def test_periods_are_no_operands() -> None:
    asked = wanted("What is the difference between 2020 and 2021 in berth fees?")
    assert asked is not None and (asked.form, len(asked.operands)) == (Form.CHANGE, 1)


def test_how_much_something_changed_in_a_year_needs_the_year_before() -> None:
    assert years_compared_with("By how many percent did the fees grow in 2021?") == {2020}
    assert years_compared_with("What was the change in fees in 2021?") == {2020}
    assert years_compared_with("By how much did the fees grow in 2021?") == {2020}
    for other in ("What were the fees in 2021?", "By what percentage did fees grow from 2020 to 2021?"):
        assert not years_compared_with(other)


def _report(name: str, year: str, fees: str) -> Table:
    table = table_of((("", year), ("Berth fees", fees), ("Crane hire", "310"), ("Total income", "1,550")))
    return replace(table, document_id=name)


def test_one_row_of_several_years_reports_is_compared_and_never_surely() -> None:
    reports = [_report("a", "2020", "1,105"), _report("b", "2021", "1,240")]
    kin = {"a": "Accounts # of the harbour", "b": "Accounts # of the harbour"}
    question = "By what percentage did berth fees grow from 2020 to 2021?"
    stated = computed(question, reports, kin=kin).stated
    assert stated is not None and stated.text.endswith("2020 to 2021: 12.22%") and stated.probability <= UNWEIGHED
    assert {figure.document_id for figure in stated.figures} == {"a", "b"}
    assert computed(question, reports).stated is None, "nothing shows that these are of one harbour"
    other = _report("c", "2021", "900")
    assert computed(question, [*reports, other], kin=kin).stated is None, "nor which of two is meant"
    quarter = _report("a", "Q1 2020", "300")
    assert computed(question, [quarter, reports[1]], kin=kin).stated is None, "a quarter is no year"
    restated = replace(other, document_id="b")
    assert computed(question, [*reports, restated], kin=kin).stated is None, "nor which of two figures holds"


def test_no_change_is_computed_with_a_column_that_is_itself_a_change() -> None:
    rows = (
        ("", "Floor space (2003)", "Change in floor space (as of 2007)"),
        ("East", "1,342", "37"),
        ("West", "980", "29"),
    )
    asked = "By what percentage did floor space in the East change from 2003 to 2007?"
    assert computed(asked, [table_of(rows, "Floor space of the town")]).stated is None
    alike = (("", "Floor space (2003)", "Floor space (as of 2007)"), *rows[1:])
    assert computed(asked, [table_of(alike, "Floor space of the town")]).stated is not None
