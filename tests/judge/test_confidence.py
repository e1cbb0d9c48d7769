"""A confidence is calibrated."""

import pytest

from pincite.core.judge.confidence import reliability, shipped_models, threshold_effect


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
