"""How near to a question the documents are by meaning, by bounds fitted for each built-in embedder."""

import json
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files

from pincite.core.domain.search import SearchResult
from pincite.core.questions.wording import is_english

ENGLISH_ONLY = "minilm"


class Nearness(StrEnum):
    NEAR = "near"
    BETWEEN = "between"
    FAR = "far"


def nearness_of(question: str, result: SearchResult) -> Nearness:
    """Return how near the best passage is; what has no vectors, or no bounds were fitted for, lies between.

    MiniLM knows English alone.
    """
    if result.embedder == ENGLISH_ONLY and not is_english(question):
        return Nearness.BETWEEN
    scores = [one.scores["dense"] for one in result.rankings.get("dense", ()) if "dense" in one.scores]
    bounds = shipped_bounds().get(result.embedder)
    if not scores or bounds is None:
        return Nearness.BETWEEN
    best = max(scores)
    return Nearness.NEAR if best >= bounds["near"] else Nearness.FAR if best < bounds["far"] else Nearness.BETWEEN


@cache
def shipped_bounds() -> Mapping[str, Mapping[str, float]]:
    """Return ``far`` and ``near`` by embedder, as written by ``python -m training fit-nearness``."""
    read: dict[str, dict[str, float]] = json.loads(
        files("pincite.core.search").joinpath("nearness.json").read_text(encoding="utf-8")
    )
    return read
