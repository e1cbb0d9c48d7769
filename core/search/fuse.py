"""Merge several rankings of passages into one by weighted reciprocal ranks (Cormack, Clarke, Büttcher 2009)."""

from collections.abc import Iterable, Sequence

SMOOTHING = 20
"""How slowly the worth of a rank falls; the paper's 60 suits longer rankings."""


def fuse_rankings(rankings: Iterable[tuple[Sequence[str], float]]) -> list[tuple[str, float]]:
    """Return (id, score) best first, from (ids best first, weight) pairs; ties go by id so that runs repeat."""
    scores: dict[str, float] = {}
    for ranking, weight in rankings:
        for rank, identity in enumerate(ranking, start=1):
            scores[identity] = scores.get(identity, 0.0) + weight / (SMOOTHING + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
