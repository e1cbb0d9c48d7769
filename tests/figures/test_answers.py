"""Table content becomes part of an answer only if it can be cited, and with a probability of its own."""

import re
from dataclasses import replace

import pytest

from pincite.core.domain.answers import PartKind
from pincite.core.domain.documents import Passage
from pincite.core.domain.presentation import MIN_ANSWER_CONFIDENCE
from pincite.core.domain.search import Evidence
from pincite.core.domain.settings import PACKAGE_ROOT
from pincite.core.figures import answers
from pincite.core.figures.answers import ADDRESSED, analyse, parts_of, stated_cell
from pincite.core.figures.gates import shipped_gates
from tests.figures.harbour import HARBOUR, table_of


def _evidence(number: int, page_index: int, start: int, end: int) -> Evidence:
    passage = Passage(f"harbour-{number}", "harbour", page_index, str(page_index + 1), "x" * (end - start), start, end)
    return Evidence(number, passage, "harbour.pdf")


def test_the_guides_kind_of_statement_is_one_module_and_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "STATEMENTS", list(answers.STATEMENTS))
    guide = (PACKAGE_ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    made = {"STATEMENTS": answers.STATEMENTS}
    for block in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
        if re.match(r"# core/figures/|STATEMENTS", block):
            exec(compile(block, "CONTRIBUTING.md", "exec"), made)
    tables = [table_of((("Work", "Estimate", "Due"), ("Tower", "46", "30 May 2025"), ("Fence", "9", "1 May 2025")), "")]
    asked = ("By when must the tower be ready for the children?", "By when must the bridge be ready for the children?")
    of_tower, of_bridge = ([one for one in analyse(question, tables).stated if one.cell] for question in asked)
    assert [(one.text, one.probability) for one in of_tower] == [("30 May 2025", 0.5)] and of_bridge == []


def test_a_cell_that_is_asked_for_is_likelier_right_than_one_for_another_question() -> None:
    asked = stated_cell("What were the berth fees in 2020?", [table_of()])
    other = stated_cell("What was the salary of the harbour's pilots in 1987?", [table_of()])
    assert asked is not None and asked.text == "Income: Berth fees, 2020: €1,105 thousand"
    assert other is None or other.probability < 0.3 < 0.5 < asked.probability


def test_cell_with_fully_named_row_and_column_has_no_rival() -> None:
    rows = (("", "Short hair", "Long hair (EUR)"), ("Cut", "37", "43"), ("Colouring", "69", "99"))
    tables = [table_of(rows, "What we charge")]
    named = stated_cell("Colouring: long hair?", tables)
    assert named is not None and named.text.endswith("€99") and named.probability >= ADDRESSED and not named.rivals
    in_part = stated_cell("How much is colouring, for hair?", tables)
    assert in_part is None or in_part.probability < ADDRESSED


@pytest.mark.parametrize(
    "question",
    [
        "Why was Cut in short hair?",
        "Cut without short hair?",
        "What % was Cut, short hair?",
        "Most of Cut, short hair?",
    ],
)
def test_small_words_that_ask_for_something_else_keep_a_cell_from_being_addressed(question: str) -> None:
    rows = (("", "Short hair", "Long hair"), ("Cut", "37", "43"), ("Colouring", "69", "99"))
    stated = stated_cell(question, [table_of(rows, "What we charge")])
    assert stated is None or stated.probability < ADDRESSED


def test_a_cell_that_holds_all_that_is_asked_and_more_is_meant_as_well() -> None:
    one = table_of((("", "2023"), ("Revenue", "1,200"), ("Costs", "700")), "Parent")
    other = table_of((("", "2023 restated"), ("Revenue", "1,260"), ("Costs", "710")), "Group")
    alone, both = stated_cell("Revenue 2023?", [one]), stated_cell("Revenue 2023?", [one, other])
    assert alone is not None and alone.probability >= ADDRESSED
    assert both is None or both.probability < ADDRESSED or both.rivals


def test_each_year_that_is_asked_for_is_stated() -> None:
    stated = stated_cell("What were the berth fees in 2020 and 2021?", [table_of()])
    assert stated is not None
    assert stated.text == "Income: Berth fees, 2020: €1,105 thousand; Income: Berth fees, 2021: €1,240 thousand"


def test_what_is_computed_is_stated_without_the_cells_that_it_is_computed_from() -> None:
    analysis = analyse("What was the percentage change in berth fees from 2020 to 2021?", [table_of()])
    assert [bool(stated.computation) for stated in analysis.stated] == [True]


def test_question_for_a_figure_is_distinguished_from_one_for_a_name() -> None:
    assert shipped_gates().asks_for_figure("How much did the harbour earn in 2020?") > 0.5
    assert shipped_gates().asks_for_figure("Who is the harbour master?") < 0.5


def test_a_statement_cites_the_passage_of_each_page_that_holds_most_of_its_figures() -> None:
    stated = stated_cell("What were the berth fees in 2020 and 2021?", [table_of()])
    assert stated is not None
    evidence = [_evidence(1, 4, 0, 150), _evidence(2, 4, 150, 900), _evidence(3, 7, 0, 900)]
    (part,) = parts_of(stated, evidence)
    assert (part.kind, part.text, part.numbers) == (PartKind.FIGURE, stated.text, (2,))
    assert (part.figures, part.probability) == (stated.figures, stated.probability)


def test_a_cell_that_could_be_meant_as_well_is_given_behind_with_its_own_citation() -> None:
    both = (*HARBOUR[:7], ("Crane hire", "(75)", "(64)", "(60)"))
    stated = stated_cell("How much was crane hire in 2020?", [table_of(both)])
    assert stated is not None
    first, second = parts_of(stated, [_evidence(1, 4, 0, 500), _evidence(2, 4, 500, 900)])
    assert {first.text, second.text} == {
        "Income: Crane hire, 2020: €402 thousand",
        "Costs: Crane hire, 2020: €(64) thousand",
    }
    assert second.probability is None and {first.numbers, second.numbers} == {(1,), (2,)}


def test_figure_that_cannot_be_cited_is_not_stated() -> None:
    stated = stated_cell("What were the berth fees in 2020?", [table_of()])
    assert stated is not None and parts_of(stated, [_evidence(1, 7, 0, 900)]) == ()
    elsewhere = replace(stated, figures=(*stated.figures, replace(stated.figures[0], page_index=9)))
    assert parts_of(elsewhere, [_evidence(1, 4, 0, 900)]) == ()


def test_figure_never_answers_yes_or_no_and_operand_never_replaces_computed_result() -> None:
    assert not analyse("Is the harbour open in winter?", [table_of(HARBOUR)]).stated
    rows = (*HARBOUR[:4], ("Revenue", "1,550", "1,507", "1,380"), ("Gross profit", "930", "927", "780"))
    stated = analyse("What was the gross margin in 2021, with the berth fees?", [table_of(rows)]).stated
    assert [one.text for one in stated] == ["Gross margin, 2021: 60%"]


MARKS = (("Damage", "Basic", "Plus"), ("Fire", "✓", "✓"), ("Flood", "✗", "✓"), ("Theft of bicycles", "✗", "✗"))


def test_mark_with_row_and_column_named_in_question_is_shown_but_is_not_an_answer() -> None:
    table = table_of(MARKS)
    for asked in ("Does the Basic plan cover floods?", "Does Basic exclude floods?"):
        (flood,) = analyse(asked, [table]).stated
        assert flood.text == "✗" and flood.cell is not None and flood.probability < MIN_ANSWER_CONFIDENCE
    for asked in ("Is theft covered without the Plus plan?", "Is glass covered by Plus?", "Is fire covered?"):
        assert not analyse(asked, [table]).stated, asked
    words = table_of((("Gate", "North", "South"), ("Alpha", "East", "West"), ("Beta", "no", "yes")))
    assert not analyse("Is the Beta gate in the north open?", [words]).stated


def test_nothing_is_surer_than_the_structure_of_its_table() -> None:
    asked = "What were the berth fees in 2020?"
    (sure, *_), (doubted, *_) = (
        analyse(asked, [one]).stated for one in (table_of(), replace(table_of(), confidence=0.5))
    )
    assert sure.probability > 0.5 >= doubted.probability and sure.text == doubted.text
