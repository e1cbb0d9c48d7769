"""A chart that a model proposes is drawn from the cells of its data, corrected by it, or omitted and reported."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pincite.core.domain.answers import AnswerPart, PartKind
from pincite.core.domain.documents import Passage
from pincite.core.domain.search import Evidence
from pincite.core.figures.proposed import NotDrawnError, charted, split_chart
from pincite.core.graph.nodes.drawn import MAX_MENDED, drawn_of, with_chart
from pincite.core.text.charting import chart_of
from tests.figures.harbour import table_of
from tests.graph.world import ScriptedModel

TABLE = table_of()
EVIDENCE = (Evidence(1, Passage("harbour:4:0", "harbour", 4, "5", "x" * 900, 0, 900), "harbour.pdf"),)
FEES = {"data": {"values": [{"year": 2019, "fee": 1000}, {"year": 2020, "fee": 1105}, {"year": 2021, "fee": 1240}]}}
STATEMENT = "Income: Berth fees: 2019 €1,000 thousand; 2020 €1,105 thousand; 2021 €1,240 thousand"


def values(*rows: Mapping[str, object]) -> dict[str, Any]:
    return {"data": {"values": list(rows)}}


def test_the_block_is_parted_from_the_sentences_also_while_it_comes_in() -> None:
    block = f"```json\n{json.dumps(FEES)}\n```"
    assert split_chart(f"Fees grew. [1]\n\n{block}\nThat is all.") == (
        "Fees grew. [1]\n\nThat is all.",
        json.dumps(FEES),
    )
    assert split_chart('Fees grew. [1]\n```vega-lite\n{"mark": "b') == ("Fees grew. [1]", '{"mark": "b')
    kept = 'The file says:\n```json\n{"answer": 1}\n```'
    assert split_chart(kept) == (kept, "") and split_chart("No chart.") == ("No chart.", "")


@pytest.mark.parametrize(
    "rows",
    [FEES["data"]["values"],
     [{"x": "2019", "y": "€1,000"}, {"x": "2020", "y": "1,105"}, {"x": "2021", "y": "1,240"}],
     [{"p": "Berth fees 2019", "v": 1_000_000}, {"p": "Berth fees 2020", "v": 1_105_000}, {"p": "2021", "v": 1240.0}]],
)  # fmt: skip
def test_cells_that_contain_the_data_keep_its_order_in_the_chart(rows: list[dict[str, object]]) -> None:
    figures = charted(values(*rows), [TABLE])
    assert [figure.text for figure in figures] == ["1,000", "1,105", "1,240"]
    assert chart_of(figures) is not None


def test_a_column_is_drawn_row_by_row() -> None:
    rows = [{"of": "Berth fees", "n": 1240}, {"of": "Crane hire", "n": 310}, {"of": "Total income", "n": 1550}]
    assert {figure.column for figure in charted(values(*rows), [TABLE])} == {"2021"}


@pytest.mark.parametrize(
    ("proposal", "why"),
    [({}, "no data.values"), ({"data": {"values": [1, 2, 3]}}, "no data.values"), ({"data": []}, "no data.values"),
     (values({"year": 2019, "fee": 1000}), "it has 1 bars"),
     (values(*[{"year": year, "fee": 1999} for year in (2019, 2020, 2021)]), "no table of the passages prints"),
     (values({"year": 2019, "fee": 1105}, *FEES["data"]["values"][1:]), "no table of the passages prints"),
     (values({"fee": 1000}, {"fee": 1105}, {"fee": 1240}), "no table of the passages prints"),
     (values({"of": "Berth fees 2019", "n": 1000}, {"of": "Crane hire 2020", "n": 402},
             {"of": "Dredging 2021", "n": -620}), "are not in one row or one column")],
)  # fmt: skip
def test_data_found_in_no_table_line_is_refused_with_the_reason(proposal: Mapping[str, Any], why: str) -> None:
    with pytest.raises(NotDrawnError, match=why):
        charted(proposal, [TABLE])


@pytest.mark.behaviour(
    "Figures and charts",
    "A model proposes a chart as Vega-Lite; it is drawn from the cells that print its data, mended by the model"
    " up to twice, or left out with the reason.",
)
def test_a_model_mends_its_chart_and_what_is_drawn_is_cited() -> None:
    model = ScriptedModel()
    model.replies = [values({"year": 2019, "fee": 1}), FEES]
    (part,), told = drawn_of('{"data": "none"}', (), [TABLE], EVIDENCE, model)
    assert (part.kind, part.text, part.numbers, told) == (PartKind.FIGURE, STATEMENT, (1,), "")
    assert not model.replies, "the second try was right"


def test_chart_that_stays_wrong_is_omitted_and_reported() -> None:
    model = ScriptedModel()
    model.replies = [values({"year": 2019, "fee": 1})] * (MAX_MENDED + 1)
    parts, told = drawn_of("{no json", (), [TABLE], EVIDENCE, model)
    assert parts == () and len(model.replies) == 1
    assert told == "The chart that scripted proposed was left out: it has 1 bars or points, and 3 to 26 are drawn."
    model.replies = [None]
    parts, told = drawn_of(json.dumps(FEES), (), [TABLE], (), model)
    assert parts == () and "pages that were not found for this question" in told


def test_figures_of_two_tables_are_no_chart() -> None:
    rows = [{"of": "Berth fees", "n": 1240}, {"of": "Crane hire", "n": 310}, {"of": "Mill", "n": 7}]
    other = replace(table_of((("", "2021"), ("Mill", "7"), ("Barn", "8"), ("Hall", "9"))), page_index=9)
    with pytest.raises(NotDrawnError, match="not in one row or one column"):
        charted(values(*rows), [TABLE, other])


def test_declining_prose_is_never_shown_with_a_chart() -> None:
    says, no = (AnswerPart("Fees grew."),), (AnswerPart("These documents do not say."),)
    drawn = (AnswerPart(STATEMENT, (1,), PartKind.FIGURE),)
    assert with_chart(says, drawn, asked_for=False)[-1:] == drawn
    assert with_chart(no, drawn, asked_for=True) == drawn
    assert with_chart(no, drawn, asked_for=False) == no
    assert with_chart((), drawn, asked_for=True) == drawn and with_chart(says, (), asked_for=True) == says


def test_what_code_found_needs_no_proposal() -> None:
    found = AnswerPart(STATEMENT, (1,), PartKind.FIGURE, probability=0.9, figures=charted(FEES, [TABLE]))
    (part,), told = drawn_of("", (found,), [TABLE], EVIDENCE, ScriptedModel())
    assert part.text == STATEMENT and part.probability is None and not told
    unlikely = AnswerPart(STATEMENT, (1,), PartKind.FIGURE, probability=0.3, figures=found.figures)
    assert drawn_of("", (unlikely,), [TABLE], EVIDENCE, ScriptedModel()) == ((), "")
