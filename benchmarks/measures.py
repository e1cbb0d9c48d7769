"""Labelled questions, and how a ranking of pages for them is measured."""

import json
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEPTHS = (1, 3, 5, 10)

PageRef = tuple[str, int]
"""Document name and page position."""


@dataclass(frozen=True, slots=True)
class Question:
    """One labelled question; ``evidence`` are the pages that people marked."""

    id: str
    text: str
    documents: tuple[str, ...]
    evidence: frozenset[PageRef]
    tags: frozenset[str]
    answerable: bool


@dataclass(frozen=True, slots=True)
class Found:
    """The pages that one search ranked, by stage, best first, and how long it took."""

    question: Question
    pages: Mapping[str, Sequence[PageRef]]
    milliseconds: float


def read_questions(directory: Path) -> list[Question]:
    rows = [json.loads(line) for line in (directory / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    return [
        Question(
            id=row["id"],
            text=row["question"],
            documents=tuple(row["docs"]),
            evidence=frozenset((place["doc"], place["page_index"]) for place in row["evidence"]),
            tags=frozenset(row["tags"]),
            answerable=row["answerable"],
        )
        for row in rows
    ]


def select(questions: Iterable[Question], *, tags: frozenset[str] = frozenset(), limit: int = 0) -> list[Question]:
    """Return answerable questions with marked pages; with tags, only those with all evidence in the named kinds."""
    chosen = [q for q in questions if q.answerable and q.evidence and (not tags or (q.tags and q.tags <= tags))]
    return chosen[:limit] if limit else chosen


def summary(found: Sequence[Found], stage: str) -> dict[str, Any]:
    """Return means over questions; a question with one of two evidence pages found counts half."""
    ranked = [(f.pages[stage], f.question.evidence) for f in found]
    recall_5 = [recall(pages, evidence, 5) for pages, evidence in ranked]
    return {
        "questions": len(found),
        "recall": {str(depth): mean(recall(pages, evidence, depth) for pages, evidence in ranked) for depth in DEPTHS},
        "recall_5_interval": bootstrap_interval(recall_5),
        "mrr_10": mean(reciprocal_rank(pages, evidence) for pages, evidence in ranked),
        "ndcg_10": mean(ndcg(pages, evidence) for pages, evidence in ranked),
    }


def recall(pages: Sequence[PageRef], evidence: frozenset[PageRef], depth: int) -> float:
    return len(evidence & set(pages[:depth])) / len(evidence)


def reciprocal_rank(pages: Sequence[PageRef], evidence: frozenset[PageRef], depth: int = 10) -> float:
    return next((1 / rank for rank, page in enumerate(pages[:depth], start=1) if page in evidence), 0.0)


def ndcg(pages: Sequence[PageRef], evidence: frozenset[PageRef], depth: int = 10) -> float:
    gain = sum(1 / math.log2(rank + 1) for rank, page in enumerate(pages[:depth], start=1) if page in evidence)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(evidence), depth) + 1))
    return gain / ideal


def mean(values: Iterable[float]) -> float:
    values = list(values)
    return round(sum(values) / len(values), 4) if values else 0.0


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0


def bootstrap_interval(values: Sequence[float], *, repeats: int = 1000) -> list[float]:
    """Return the middle 95 % of means over questions drawn again with replacement; seeded, so runs agree."""
    if not values:
        return [0.0, 0.0]
    draw = random.Random(0)
    means = sorted(sum(draw.choices(values, k=len(values))) / len(values) for _ in range(repeats))
    return [round(means[int(0.025 * repeats)], 4), round(means[int(0.975 * repeats)], 4)]
