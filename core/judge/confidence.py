"""Turn measures into a calibrated confidence: the probability that an answer is faithful to its sources.

Two logistic regressions, fitted by `python -m training fit-confidence` and shipped as data: the first gives each
claim a doubt, the second weighs the doubts of an answer. Inference is numpy alone.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from pincite.core.domain.logistic import LogisticModel
from pincite.core.judge.features import ClaimMeasure, measure_answer


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Answers of similar confidence: their mean confidence and the share that was right."""

    count: int
    confidence: float
    faithful: float


@dataclass(frozen=True, slots=True)
class ThresholdEffect:
    """What a review threshold does: the share of answers it flags and the share of wrong ones among them it catches."""

    flagged: float
    caught: float

    def __str__(self) -> str:
        """Return the effect as part of a sentence."""
        return f"flags about {self.flagged:.0%} of answers and catches about {self.caught:.0%} of the wrong ones"


@dataclass(frozen=True, slots=True)
class ConfidenceModels:
    """The shipped models and what was measured when they were fitted."""

    claim: LogisticModel
    answer: LogisticModel
    claim_by_words: LogisticModel
    """Without the trained checker."""
    answer_by_words: LogisticModel
    measured: Mapping[str, Any]

    def doubts(self, claims: Sequence[ClaimMeasure]) -> list[float]:
        """Return for each claim the probability that its evidence does not support it."""
        return [self.doubt(claim) for claim in claims]

    def doubt(self, claim: ClaimMeasure) -> float:
        return (self.claim if claim.meaning else self.claim_by_words).probability(log_scaled(claim.features))

    def confidence(self, claims: Sequence[ClaimMeasure]) -> float:
        """Return the probability that the evidence supports all of an answer."""
        by_words = [self.claim_by_words.probability(log_scaled(claim.features)) for claim in claims]
        checked = all(claim.meaning for claim in claims)
        model = self.answer if checked else self.answer_by_words
        features = measure_answer(claims, by_words, self.doubts(claims) if checked else None)
        return 1.0 - model.probability(log_scaled(features))


@cache
def shipped_models() -> ConfidenceModels:
    """Load the models that come with the program."""
    data = json.loads(files("pincite.core.judge").joinpath("confidence.json").read_text(encoding="utf-8"))
    names = ("claim", "answer", "claim_by_words", "answer_by_words")
    return ConfidenceModels(**{name: LogisticModel.from_json(data[name]) for name in names}, measured=data["measured"])


def log_scaled(measures: Mapping[str, float]) -> dict[str, float]:
    """Large values on a logarithmic scale."""
    return {name: math.copysign(math.log1p(abs(value)), value) for name, value in measures.items()}


def reliability(
    confidences: Sequence[float], faithful: Sequence[bool], *, bins: int = 10
) -> tuple[ReliabilityBin, ...]:
    """Return equal-mass bins from least to most confident, for the reliability plot."""
    predicted, right = np.asarray(confidences, dtype=np.float64), np.asarray(faithful, dtype=np.float64)
    parts = np.array_split(np.argsort(predicted, kind="stable"), bins)
    return tuple(ReliabilityBin(len(p), float(predicted[p].mean()), float(right[p].mean())) for p in parts if len(p))


def calibration_error(confidences: Sequence[float], faithful: Sequence[bool], *, bins: int = 10) -> float:
    """Return the expected calibration error over equal-mass bins."""
    parts = reliability(confidences, faithful, bins=bins)
    return sum(part.count * abs(part.confidence - part.faithful) for part in parts) / max(1, len(confidences))


def threshold_effect(confidences: Sequence[float], faithful: Sequence[bool], threshold: float) -> ThresholdEffect:
    """Return what flagging every answer below `threshold` would flag and catch."""
    flags = np.asarray(confidences) < threshold
    wrong = ~np.asarray(faithful, dtype=bool)
    caught = float(flags[wrong].mean()) if wrong.any() else 0.0
    return ThresholdEffect(float(flags.mean()) if len(flags) else 0.0, caught)


def threshold_effects(confidences: Sequence[float], faithful: Sequence[bool]) -> dict[float, ThresholdEffect]:
    """Return the effect of every review threshold in steps of a twentieth."""
    steps = (round(0.05 * step, 2) for step in range(1, 20))
    return {threshold: threshold_effect(confidences, faithful, threshold) for threshold in steps}
