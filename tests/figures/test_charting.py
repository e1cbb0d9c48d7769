"""Figures of several periods are stated together and drawn from their cells alone."""

from dataclasses import replace

import altair
import pytest

from core.domain.answers import AnswerPart, ClaimStatus, PartKind
from core.figures.answers import analyse
from core.judge.judge import judge_answer
from core.text.charting import chart_of
from tests.figures.harbour import table_of


@pytest.mark.parametrize(
    "question",
    ["How did berth fees develop from 2019 to 2021?", "berth fees over the years", "What were berth fees 2019 to 2021?",
     "What is the trend of berth fees?"],
)  # fmt: skip
def test_a_question_for_several_periods_gets_every_figure_of_the_row(question: str) -> None:
    (stated,) = analyse(question, [table_of()]).stated
    text = "Income: Berth fees: 2019 €1,000 thousand; 2020 €1,105 thousand; 2021 €1,240 thousand"
    assert stated.text == text
    part = AnswerPart(text, (1,), PartKind.FIGURE, figures=stated.figures)
    assert [one.status for one in judge_answer(question, (part,), [""]).claims] == [ClaimStatus.SUPPORTED]
    lie = replace(part, text=text.replace("1,105", "1,150"))
    assert [one.status for one in judge_answer(question, (lie,), [""]).claims] == [ClaimStatus.UNSUPPORTED]


def test_the_chart_holds_the_figures_of_the_cells_in_order_of_time_and_fits_the_schema() -> None:
    (stated,) = analyse("How did crane hire develop?", [table_of()]).stated
    chart = chart_of(stated.figures[::-1])
    assert chart is not None
    altair.Chart.from_dict(chart, validate=True)
    drawn = [(row["Period"], row["Value"], row["Page"]) for row in chart["data"]["values"]]
    assert drawn == [("2019", 380.0, 5), ("2020", 402.0, 5), ("2021", 310.0, 5)]
    assert chart["encoding"]["y"]["title"] == "EUR thousand"


def test_what_is_no_series_is_not_drawn() -> None:
    (stated,) = analyse("How did crane hire develop?", [table_of()]).stated
    one, two, three = stated.figures
    assert chart_of((one, two)) is None
    assert chart_of((one, two, replace(three, period=two.period))) is None
    assert chart_of((one, two, replace(three, label="Costs: Dredging"))) is None
    assert chart_of((one, two, replace(three, unit="%"))) is None
