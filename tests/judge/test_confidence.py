"""A confidence means what it says, and learns from a user's own reviews without forgetting what it came with."""

import numpy as np
import pytest

from core.judge.confidence import Recalibration, calibration_error, refit, reliability, shipped_models, threshold_effect


def confidence_of(score: float) -> float:
    return float(1 / (1 + np.exp(-score)))


def test_no_reviews_leave_the_confidence_as_shipped() -> None:
    assert refit([], []) == Recalibration()


def test_a_few_reviews_move_it_little_and_many_move_it_far() -> None:
    few = refit([2.0, 2.0], [False, False])
    many = refit([2.0] * 200, [False] * 200)
    shipped = confidence_of(2.0)
    assert shipped > few.confidence(shipped) > 0.5 > many.confidence(shipped)


def test_refitting_restores_the_calibration_of_overconfident_scores() -> None:
    generator = np.random.default_rng(7)
    scores = generator.normal(0, 3, 600)
    faithful = generator.random(600) < 1 / (1 + np.exp(-(0.5 * scores - 1)))
    learned = refit(list(scores), list(faithful))
    before = calibration_error([confidence_of(score) for score in scores], list(faithful))
    after = calibration_error([learned.confidence(confidence_of(score)) for score in scores], list(faithful))
    assert after < 0.6 * before
    assert learned.slope == pytest.approx(0.5, abs=0.15)


def test_one_sided_reviews_never_turn_the_order_of_answers_around() -> None:
    assert refit([-3.0, -2.0, 2.0, 3.0] * 50, [True, True, False, False] * 50).slope >= 0.0


def test_the_reliability_plot_and_the_threshold_tell_what_happened() -> None:
    said, right = [0.1, 0.2, 0.8, 0.9], [False, False, True, False]
    assert [(part.count, part.faithful) for part in reliability(said, right, bins=2)] == [(2, 0.0), (2, 0.5)]
    effect = threshold_effect(said, right, 0.5)
    assert effect.flagged == 0.5 and effect.caught == pytest.approx(2 / 3)
    assert str(effect) == "flags about 50% of answers and catches about 67% of the wrong ones"


def test_the_shipped_models_carry_what_was_measured_when_they_were_fitted() -> None:
    measured = shipped_models().measured
    assert {"left_out", "sets", "all", "reliability", "thresholds"} <= set(measured)
    assert sum(count for count, _, _ in measured["reliability"]) == measured["all"]["n"]


def test_refitting_settles_where_most_scores_are_high_and_some_are_wrong() -> None:
    scores = [0.5] * 4 + [2.3] * 5 + [3.3] * 8 + [3.8] * 17 + [5.1] * 21
    faithful = [False] * 9 + [True] * 8 + [False] * 6 + [True] * 11 + [False] * 5 + [True] * 16
    learned = refit(scores, faithful)
    assert 0.0 < learned.slope < 1.5
    before, after = (
        calibration_error([model.confidence(confidence_of(score)) for score in scores], faithful, bins=3)
        for model in (Recalibration(), learned)
    )
    assert after < before / 2


def test_refitting_never_turns_the_order_around_and_still_meets_the_share() -> None:
    learned = refit([4.0] * 60 + [-4.0] * 60, [False] * 60 + [True] * 60)
    assert learned.slope == 0.0 and abs(learned.confidence(0.5) - 0.5) < 0.05
