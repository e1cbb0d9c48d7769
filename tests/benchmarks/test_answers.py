"""Promise: the report on answers counts each of them once: right, wrong or declined, with or without warning."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.answers import choose, headline_of, render
from benchmarks.judged import Answered, line, report, summary
from benchmarks.measures import Question
from benchmarks.selective import coverage_at_risk, risk_coverage_area
from pincite.core.domain.answers import AnswerPart, PartKind

SALES = "What were the net sales of Alder Mills in 2021?"


def _question(
    text: str = SALES, *, answerable: bool = True, tags: Sequence[str] = ("Table",), number: int = 0
) -> Question:
    evidence = frozenset({("mill.pdf", 3)}) if answerable else frozenset()
    return Question(f"q{number}", text, ("mill.pdf",), evidence, frozenset(tags if answerable else ()), answerable)


def _right(**changes: object) -> Answered:
    return _answered(headline="Net sales, 2021: $8,738 million", **changes)


def _wrong(**changes: object) -> Answered:
    return _answered(headline="Net sales, 2020: $8,101 million", **changes)


def _declined(**changes: object) -> Answered:
    return _answered(**{"headline": "", "answer": "These documents do not say.", "declined": True, **changes})


def _answered(**changes: object) -> Answered:
    values: dict[str, object] = {
        "question": _question(),
        "reference": "8738 million",
        "answer": "Net sales and six more words here",
        "declined": False,
    }
    return Answered(**{**values, **changes})  # type: ignore[arg-type]  # the tests name fields


def test_right_wrong_and_declined_answers_are_counted_apart() -> None:
    none = _question("Who owns the moon?", answerable=False)
    result = summary(
        [
            _right(),
            _wrong(warned=True, flagged=True),
            _wrong(),
            _declined(),
            _declined(question=none),
            _right(question=none),
        ]
    )
    assert result["questions"] == 6
    assert result["answered"] == 4
    assert result["right"] == 0.25
    assert result["right_of_answered"] == 0.25
    assert result["right_unwarned"] == pytest.approx(1 / 3, abs=1e-4)
    assert result["declined_wrongly"] == 0.25
    assert result["declined_unanswerable"] == 0.5
    assert result["wrong_unwarned"] == 0.5
    assert result["warned"] == result["flagged"] == pytest.approx(1 / 6, abs=1e-4)


def test_length_and_citations_are_those_of_answers_that_were_given() -> None:
    result = summary(
        [
            _right(answer="five words are enough here", cited=2, cited_on_evidence=2),
            _wrong(answer="seven words are just too many here", cited=2, cited_on_evidence=0),
            _declined(answer="no", cited=9),
        ]
    )
    assert result["words_p50"] == 6
    assert result["citations_on_evidence_page"] == 0.5


def test_old_keys_count_only_what_is_on_the_marked_pages() -> None:
    result = summary([_right(possible=True, contained=True), _wrong(possible=True), _wrong(contained=True)])
    assert (result["possible"], result["contained"]) == (2, 0.5)


def test_confidence_is_compared_with_correctness_and_correct_decline_counts_as_correct() -> None:
    none = _question("Who owns the moon?", answerable=False)
    sure = [_right(confidence=1.0), _declined(question=none, confidence=1.0), _wrong(confidence=0.0)]
    assert summary(sure)["ece"] == 0.0
    assert summary(sure)["coverage_at_10_percent_risk"] == pytest.approx(2 / 3, abs=1e-4)
    wrongly_sure = [_wrong(confidence=1.0), _declined(confidence=1.0)]
    assert summary(wrongly_sure)["ece"] == 1.0
    assert summary(wrongly_sure)["aurc"] == 1.0
    silent = summary([_right(), _wrong()])
    assert silent["ece"] is None
    assert silent["without_confidence"] == 2


def test_risk_over_coverage_takes_the_surest_first_and_equals_together() -> None:
    right = [True, True, False, False]
    assert risk_coverage_area([0.9, 0.8, 0.2, 0.1], right) == pytest.approx((0 + 0 + 1 / 3 + 2 / 4) / 4)
    assert risk_coverage_area([0.1, 0.2, 0.8, 0.9], right) > risk_coverage_area([0.9, 0.8, 0.2, 0.1], right)
    assert risk_coverage_area([0.5] * 4, right) == pytest.approx(0.5)
    assert risk_coverage_area([0.5] * 4, right) == risk_coverage_area([0.5] * 4, right[::-1])
    assert coverage_at_risk([0.9, 0.8, 0.2, 0.1], right, 0.1) == 0.5
    assert coverage_at_risk([0.9, 0.9, 0.9, 0.1], right, 0.1) == 0.0
    assert coverage_at_risk([], [], 0.1) == 0.0


def test_kinds_and_tags_have_their_own_figures() -> None:
    yes = _question("Does the mill pay a dividend?", tags=("Text",))
    none = _question("Who owns the moon?", answerable=False)
    result = report([_right(), _answered(question=yes, reference="Yes", headline="No."), _declined(question=none)])
    assert result["by_kind"]["figure"]["right"] == 1.0
    assert result["by_kind"]["yes/no"]["right"] == 0.0
    assert result["by_kind"]["unanswerable"]["declined_unanswerable"] == 1.0
    assert set(result["by_tag"]) == {"Table", "Text"}
    assert result["by_tag"]["Table"]["questions"] == 1


def test_tags_choose_answerable_questions_only_and_each_nth_is_taken_of_these() -> None:
    asked = [
        _question(number=0),
        _question(number=1, tags=("Figure",)),
        _question(number=2, answerable=False),
        _question(number=3, tags=("Figure", "Table")),
    ]
    assert [one.id for one in choose(asked, tags="Table,Text")] == ["q0", "q2", "q3"]
    assert [one.id for one in choose(asked, tags="Table", every=2)] == ["q0", "q3"]
    assert [one.id for one in choose(asked, tags="", limit=2)] == ["q0", "q1"]


def test_headline_is_the_first_statement_in_an_answer() -> None:
    headline = AnswerPart("Net sales,\n2021: $8,738 million", (1,), PartKind.HEADLINE)
    cell = AnswerPart("Net sales, 2021: $8,738 million", (1,), PartKind.FIGURE)
    quoted = AnswerPart("Net sales were $8,738 million.", (1,), PartKind.VERBATIM)
    prose = AnswerPart("They were $8,738 million. They had been less before.")
    assert headline_of([prose, quoted, headline]) == "Net sales, 2021: $8,738 million"
    assert headline_of([quoted, cell]) == cell.text
    assert headline_of([AnswerPart("In mill.pdf:\n"), quoted, quoted]) == quoted.text
    assert headline_of([prose]) == "They were $8,738 million."
    assert headline_of([AnswerPart("Nothing.", kind=PartKind.DECLINE)]) == ""


def test_answer_is_written_with_the_reference_it_was_graded_against(tmp_path: Path) -> None:
    row = json.loads(line(_right(confidence=0.8)))
    assert (row["reference"], row["right"], row["confidence"]) == ("8738 million", True, 0.8)
    assert row["headline"].startswith("Net sales, 2021")


def test_figures_are_shown_next_to_baseline_figures() -> None:
    answered = [_right(confidence=0.9), _declined()]
    baselines = {"best sentence": report([_wrong()])}
    result = {"set": "mills", "engine": "quoting", "left_out": 1, **report(answered), "baselines": baselines}
    shown = render(result)
    assert "1 questions left out" in shown
    assert "best senten" in shown
    assert "right of answered" in shown
