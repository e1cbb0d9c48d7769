"""Fit how likely a yes or no that code decides is right, on labelled claims, and say it by sources left out.

A claim without its first auxiliary stands for the question; the sentence is the likest one of its context.
"""

import argparse
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from core.judge.polarity import NO, YES, weighed
from core.judge.sources import Sources
from core.text.questions import without_auxiliary
from core.text.terms import content_terms

LABELS = {"supported": YES, "contradicted": NO, "unsupported": ""}
TABLES = "table"
"""A form of context that holds no sentences."""


@dataclass(frozen=True, slots=True)
class Decided:
    source: str
    shippable: bool
    word: str
    right: bool
    measures: Mapping[str, float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, help="the folder with support.jsonl.gz")
    parser.add_argument("--write", type=Path, help="where to write what was learned")


def run(options: argparse.Namespace) -> dict[str, Any]:
    with gzip.open(options.data / "support.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["label"] in LABELS and row.get("form") != TABLES]
    found = list(decided(rows))
    names = sorted(found[0].measures)
    report = {}
    for source in sorted({one.source for one in found}):
        others = [one for one in found if one.shippable and one.source != source]
        own = [one for one in found if one.source == source]
        told = probabilities(fit(others, names), own, names)
        report[source] = {
            "claims": sum(source_of(row) == source for row in rows),
            "decided": len(own),
            "right": round(sum(one.right for one in own) / len(own), 3),
            "right of no": _share([one.right for one in own if one.word == NO]),
            "expected": round(float(np.mean(told)), 3),
        }
    weights = fit([one for one in found if one.shippable], names)
    if options.write:
        options.write.write_text(
            json.dumps({"weights": weights, "measured": report}, indent=1) + "\n", encoding="utf-8"
        )
    return {"weights": weights, "sources left out": report}


def source_of(row: Mapping[str, Any]) -> str:
    source: str = row["source"]
    return source.split("-r1")[0].split("-r2")[0].split("-r3")[0].removesuffix("-dev").removesuffix("-test")


def decided(rows: Sequence[Mapping[str, Any]]) -> Iterator[Decided]:
    """The rows whose likest sentence decides; a no only where the source tells "contradicted" from "not said"."""
    refuting = {source_of(row) for row in rows if LABELS[row["label"]] == NO}
    for row in rows:
        ranked = Sources.of([row["context"]]).ranked(frozenset(content_terms(row["claim"])))
        statement = without_auxiliary(row["claim"])
        found = weighed(statement, ranked[0][1].text) if ranked else None
        if found is not None and (found[0] == YES or source_of(row) in refuting):
            word, measures = found
            yield Decided(source_of(row), row["use"] == "ship", word, LABELS[row["label"]] == word, measures)


def fit(decided: Sequence[Decided], names: Sequence[str]) -> dict[str, float]:
    values = np.array([[one.measures[name] for name in names] for one in decided])
    model = LogisticRegression(C=1.0).fit(values, [one.right for one in decided])
    return {"bias": float(model.intercept_[0]), **dict(zip(names, map(float, model.coef_[0]), strict=True))}


def probabilities(weights: Mapping[str, float], decided: Sequence[Decided], names: Sequence[str]) -> list[float]:
    odds = (weights["bias"] + sum(weights[name] * one.measures[name] for name in names) for one in decided)
    return [1 / (1 + float(np.exp(-one))) for one in odds]


def _share(found: Sequence[bool]) -> float | None:
    return round(sum(found) / len(found), 3) if found else None


def render(result: dict[str, Any]) -> str:
    head = f"{'source left out':16}{'claims':>8}{'decided':>8}{'right':>8}{'expected':>9}"
    lines = (
        f"{source:16}{one['claims']:8}{one['decided']:8}{one['right']:8.3f}{one['expected']:9.3f}"
        for source, one in result["sources left out"].items()
    )
    return "\n".join([head, *lines])
