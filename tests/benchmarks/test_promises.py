"""The measure of promises: kept by draws where answers are as sure as they say, and told of each source left out."""

import random

from benchmarks.promises import RISKS, Label, _measured, _plain
from core.domain.answers import AnswerKind
from core.judge.promise import CERTAINTY


def _labels(source: str, count: int, *, as_said: bool) -> list[Label]:
    chance = random.Random(source)
    said = [chance.random() for _ in range(count)]
    return [Label(AnswerKind.QUOTED, source, one, as_said and chance.random() < one) for one in said]


def test_a_promise_is_kept_by_draws_and_told_of_a_source_unlike_the_others() -> None:
    labels = [*_labels("like", 600, as_said=True), *_labels("unlike", 60, as_said=False)]
    told = _measured(labels, 30)
    assert told["answers"] == 660 and set(told["sources"]) == {"like", "unlike"}
    assert all(told["risks"][risk]["kept by draws"] >= CERTAINTY for risk in RISKS)
    assert told["sources"]["unlike"]["at 0.3"]["wrong"] == 1.0  # no promise by others holds of it
    assert told["sources"]["unlike"]["ece"] > told["sources"]["like"]["ece"]


def test_kept_are_kind_confidence_and_label_alone() -> None:
    assert _plain([Label(AnswerKind.FIGURE, "a", 0.12345, True), Label(AnswerKind.FIGURE, "b", 0.1, False)]) == {
        "FIGURE": [[0.1, 0], [0.123, 1]]
    }
