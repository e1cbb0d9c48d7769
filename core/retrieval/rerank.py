"""The built-in reranker: a small model, learned once and shipped as JSON, over the figures that features.py describes.

``python -m benchmarks train-reranker`` makes the JSON; docs/retrieval.md tells what it was learned on and what it scores.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.core.retrieval.features import FEATURES, describe_candidates
from pincite.core.types import Candidate, SearchPlan, SubQuery

Matrix = NDArray[np.float64]
Indexes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tree:
    """A decision tree as arrays: node n asks whether feature[n] <= threshold[n]; a leaf has left[n] == -1."""

    feature: Indexes
    threshold: Matrix
    left: Indexes
    right: Indexes
    value: Matrix

    def predict(self, rows: Matrix) -> Matrix:
        place = np.zeros(len(rows), dtype=np.int64)
        everyone = np.arange(len(rows))
        while (self.left[place] >= 0).any():
            inner = self.left[place] >= 0
            goes_left = rows[everyone, self.feature[place]] <= self.threshold[place]
            place = np.where(inner, np.where(goes_left, self.left[place], self.right[place]), place)
        return self.value[place]


@dataclass(frozen=True, slots=True)
class RelevanceModel:
    """Log-odds of relevance: a bias, a weight per feature, and trees."""

    features: tuple[str, ...]
    bias: float
    weights: Matrix
    trees: tuple[Tree, ...]

    def log_odds(self, rows: Matrix) -> Matrix:
        """Shape (n, features) to (n,)."""
        total: Matrix = self.bias + rows @ self.weights
        for tree in self.trees:
            total = total + tree.predict(rows)
        return total

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "RelevanceModel":
        features = tuple(data["features"])
        unknown = set(features) - set(FEATURES)
        if unknown:
            raise ValueError(f"The reranker's model reads features that nothing computes: {sorted(unknown)}")
        return cls(
            features=features,
            bias=data["bias"],
            weights=np.array(data["weights"], dtype=np.float64),
            trees=tuple(
                Tree(
                    feature=np.array(tree["feature"], dtype=np.int64),
                    threshold=np.array(tree["threshold"], dtype=np.float64),
                    left=np.array(tree["left"], dtype=np.int64),
                    right=np.array(tree["right"], dtype=np.int64),
                    value=np.array(tree["value"], dtype=np.float64),
                )
                for tree in data["trees"]
            ),
        )


def load_model() -> RelevanceModel:
    """Read the shipped model."""
    text = resources.files("pincite.core.retrieval").joinpath("reranker.json").read_text(encoding="utf-8")
    return RelevanceModel.from_json(json.loads(text))


def feature_rows(candidates: Sequence[Candidate], features: Sequence[str] = FEATURES) -> Matrix:
    """Shape (candidates, features); a figure that was not computed counts as 0."""
    return np.array([[c.scores.get(name, 0.0) for name in features] for c in candidates], dtype=np.float64).reshape(
        len(candidates), len(features)
    )


class BuiltInReranker:
    """Scores candidates by their figures.

    A score is the probability of relevance as if relevant and irrelevant candidates were equally common: at 0.60 what is
    known of the passage is one and a half times as usual among evidence as among the rest.
    """

    name = "built-in"

    def __init__(self, model: RelevanceModel | None = None) -> None:
        self._model = model or load_model()

    def score(self, question: str, candidates: Sequence[Candidate]) -> list[float]:
        """Candidates that search has not described yet are compared by their words alone."""
        if not candidates:
            return []
        if any("page coverage" not in candidate.scores for candidate in candidates):
            plan = SearchPlan(question, question, (SubQuery(question),))
            candidates = describe_candidates(plan, candidates, {}, {})
        log_odds = self._model.log_odds(feature_rows(candidates, self._model.features))
        return [1 / (1 + math.exp(-value)) for value in log_odds.tolist()]
