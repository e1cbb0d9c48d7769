"""The built-in reranker: a logistic model, learned once and shipped as JSON, over the figures of rank_features.py.

``python -m benchmarks train-reranker`` makes the JSON; docs/retrieval.md tells what it learned and what it is worth.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.documents import PageKey, Passage
from core.domain.search import Candidate, SearchPlan
from core.models.rank_features import FEATURES, describe_candidates

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RelevanceModel:
    """A bias and a weight per figure; their sum, put through the logistic function, is the score."""

    features: tuple[str, ...]
    weights: Matrix
    bias: float

    def sums(self, rows: Matrix) -> Matrix:
        """Shape (n, features) to (n,)."""
        sums: Matrix = rows @ self.weights + self.bias
        return sums

    def scores(self, rows: Matrix) -> Matrix:
        """Shape (n, features) to (n,), each between 0 and 1."""
        scores: Matrix = 1 / (1 + np.exp(-self.sums(rows)))
        return scores

    def to_json(self) -> dict[str, Any]:
        weights = {name: round(weight, 5) for name, weight in zip(self.features, self.weights.tolist(), strict=True)}
        return {"bias": round(self.bias, 5), "weights": weights}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "RelevanceModel":
        features = tuple(data["weights"])
        if unknown := set(features) - set(FEATURES):
            raise ValueError(f"The reranker's model weighs figures that nothing computes: {sorted(unknown)}")
        return cls(features, np.array(list(data["weights"].values()), dtype=np.float64), float(data["bias"]))


def load_model() -> RelevanceModel:
    """Read the shipped model."""
    text = resources.files("core.models").joinpath("reranker.json").read_text(encoding="utf-8")
    return RelevanceModel.from_json(json.loads(text))


def feature_rows(candidates: Sequence[Candidate], features: Sequence[str] = FEATURES) -> Matrix:
    """Shape (candidates, features); a figure that was not computed counts as 0."""
    rows = [[candidate.scores.get(name, 0.0) for name in features] for candidate in candidates]
    return np.array(rows, dtype=np.float64).reshape(len(candidates), len(features))


class BuiltInReranker:
    """Scores candidates by their figures.

    The scale is anchored on open questions about documents that the model had not seen: half of the passages that
    held the evidence scored 0.84 or more, 99 of 100 scored 0.60 or more.
    """

    name = "built-in"
    floors = (0.60, 0.55)

    def __init__(self, model: RelevanceModel | None = None) -> None:
        self._model = model or load_model()

    def rate(
        self,
        plan: SearchPlan,
        candidates: Sequence[Candidate],
        pages: Mapping[PageKey, Sequence[Passage]],
        page_counts: Mapping[str, int],
    ) -> list[Candidate]:
        """The figures stand beside the score."""
        described = describe_candidates(plan, candidates, pages, page_counts)
        scores = self._model.scores(feature_rows(described, self._model.features)).tolist()
        return [candidate.scored(reranked=score) for candidate, score in zip(described, scores, strict=True)]
