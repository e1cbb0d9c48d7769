"""The logistic model behind every small scorer: a bias, and a weight for each named measure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FARTHEST = 20.0
"""Log-odds are not followed further out than this."""


@dataclass(frozen=True, slots=True)
class LogisticModel:
    bias: float
    weights: Mapping[str, float]

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> "LogisticModel":
        return cls(float(written["bias"]), written["weights"])

    def to_json(self, decimals: int) -> dict[str, Any]:
        weights = {name: round(weight, decimals) for name, weight in self.weights.items()}
        return {"bias": round(self.bias, decimals), "weights": weights}

    def log_odds(self, measures: Mapping[str, float]) -> float:
        """Return the log-odds; missing features count as 0."""
        return self.bias + sum(weight * measures.get(name, 0.0) for name, weight in self.weights.items())

    def probability(self, measures: Mapping[str, float]) -> float:
        return 1 / (1 + math.exp(-max(-FARTHEST, min(FARTHEST, self.log_odds(measures)))))


def log_odds(probability: float, *, least: float = 1e-6) -> float:
    """As far out as those of ``least``."""
    kept = min(max(probability, least), 1 - least)
    return math.log(kept / (1 - kept))
