"""Figures of several periods, or of the rows of a column, are stated together and drawn from their cells alone."""

from dataclasses import replace

import altair
import pytest

from pincite.core.domain.answers import AnswerPart, ClaimStatus, PartKind
from pincite.core.figures.answers import analyse
from pincite.core.judge.judge import judge_answer
from pincite.core.text.charting import chart_of
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


@pytest.mark.behaviour(
    "Figures and charts",
    "A question for three periods or more gets a chart that code makes from the cited cells alone.",
)
def test_the_chart_holds_the_figures_of_the_cells_in_order_of_time_and_fits_the_schema() -> None:
    (stated,) = analyse("How did crane hire develop?", [table_of()]).stated
    chart = chart_of(stated.figures[::-1])
    assert chart is not None
    altair.Chart.from_dict(chart, validate=True)
    drawn = [(row["Of"], row["Value"], row["Page"]) for row in chart["data"]["values"]]
    assert drawn == [("2019", 380.0, 5), ("2020", 402.0, 5), ("2021", 310.0, 5)]
    assert chart["encoding"]["y"]["axis"]["title"] == "EUR thousand"


def test_row_or_column_name_suffices_when_a_chart_is_requested() -> None:
    regions = table_of(REGIONS, "Sales and staff (EUR thousand)")
    drawn = analyse("Plot the staff as bars", [regions], draws=True).stated[0]
    assert [(figure.label, figure.text) for figure in drawn.figures] == [("North", "12"), ("South", "9"), ("East", "4")]
    assert chart_of(drawn.figures) is not None
    assert not any(chart_of(one.figures) for one in analyse("Plot the staff as bars", [regions]).stated)
    (row,) = analyse("chart crane hire", [table_of()], draws=True).stated
    assert [figure.text for figure in row.figures] == ["380", "402", "310"]
    spent = analyse("Can you plot the dredging?", [table_of()], draws=True).stated[0]
    assert [figure.text for figure in spent.figures] == ["(600)", "(580)", "(620)"] and spent.probability >= 0.5


def test_column_from_the_table_that_best_matches_the_question_is_drawn() -> None:
    visits = table_of((("Town", "2021", "2020"), ("Aln", "3", "2"), ("Bex", "5", "4"), ("Col", "9", "8")), "Visits")
    staff = table_of((("Museum", "2021", "2020"), ("Dun", "1", "1"), ("Eck", "2", "2"), ("Far", "4", "3")), "Staff")
    asked = "bar chart of the visits by town in 2021"
    (drawn,) = analyse(asked, [visits, replace(staff, page_index=9)], draws=True).stated[:1]
    assert [figure.text for figure in drawn.figures] == ["3", "5", "9"]


def test_what_is_no_series_is_not_drawn() -> None:
    (stated,) = analyse("How did crane hire develop?", [table_of()]).stated
    one, two, three = stated.figures
    assert chart_of((one, two)) is None
    assert chart_of((one, two, replace(three, period=two.period))) is None
    assert chart_of((one, two, replace(three, label="Costs: Dredging"))) is None
    assert chart_of((one, two, replace(three, unit="%"))) is None


REGIONS = (("Region", "Sales", "Staff"), ("North", "1,240", "12"), ("South", "980", "9"), ("East", "455", "4"))


@pytest.mark.behaviour(
    "Figures and charts",
    "A column of a table that is asked for by what its rows are (“sales by region”) is stated row by row, with "
    "a chart.",
)
@pytest.mark.parametrize(
    "question", ["What were the sales by region?", "sales for each region", "How much were the sales in each region?"]
)
def test_a_column_asked_for_by_what_its_rows_are_is_stated_whole_and_drawn_row_by_row(question: str) -> None:
    (stated,) = analyse(question, [table_of(REGIONS, "Sales and staff (EUR thousand)")]).stated
    assert stated.text == "Sales: North €1,240 thousand; South €980 thousand; East €455 thousand"
    assert stated.probability == 0.5, "no labelled answers show how often that is meant"
    part = AnswerPart(stated.text, (1,), PartKind.FIGURE, figures=stated.figures)
    assert [one.status for one in judge_answer(question, (part,), [""]).claims] == [ClaimStatus.SUPPORTED]
    chart = chart_of(stated.figures)
    assert chart is not None
    altair.Chart.from_dict(chart, validate=True)
    assert [(row["Of"], row["Value"]) for row in chart["data"]["values"]] == [
        ("North", 1240),
        ("South", 980),
        ("East", 455),
    ]
    assert chart["encoding"]["y"]["field"] == "Of", "the names of rows need room"


@pytest.mark.parametrize(
    "question",
    ["What were the sales of North?", "Which region has no sales?", "sales", "What were the sales by month?"],
)
def test_a_column_is_not_stated_whole_where_more_or_less_is_asked(question: str) -> None:
    stated = analyse(question, [table_of(REGIONS, "Sales and staff (EUR thousand)")]).stated
    assert not any(len(one.figures) > 1 for one in stated)
