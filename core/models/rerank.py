"""The built-in reranker: a logistic model, learned once and shipped as JSON, over the figures of rank_features.py.

``python -m training train-reranker`` makes the JSON; docs/retrieval.md describes what it learned and how well it ranks.
"""

import json
from collections.abc import Mapping, Sequence
from importlib import resources

from pincite.core.domain.documents import PageKey, Passage
from pincite.core.domain.logistic import LogisticModel
from pincite.core.domain.search import Candidate, SearchPlan
from pincite.core.models.rank_features import describe_candidates


def load_model() -> LogisticModel:
    """Read the shipped model."""
    text = resources.files("pincite.core.models").joinpath("reranker.json").read_text(encoding="utf-8")
    return LogisticModel.from_json(json.loads(text))


class BuiltInReranker:
    """Scores candidates by their figures.

    The scale is anchored on open questions about documents that the model had not seen: half of the passages that
    held the evidence scored 0.84 or more, 99 of 100 scored 0.60 or more.
    """

    name = "built-in"
    floors = (0.60, 0.55)

    def __init__(self, model: LogisticModel | None = None) -> None:
        self._model = model or load_model()

    def rate(
        self,
        plan: SearchPlan,
        candidates: Sequence[Candidate],
        pages: Mapping[PageKey, Sequence[Passage]],
        page_counts: Mapping[str, int],
    ) -> list[Candidate]:
        """Return the candidates with their features and, as "reranked", their relevance."""
        described = describe_candidates(plan, candidates, pages, page_counts)
        return [candidate.scored(reranked=self._model.probability(candidate.scores)) for candidate in described]
