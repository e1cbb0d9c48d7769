"""Fit which words of the last question a follow-up replaces, and measure it by writers left out."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from pincite.core.questions.replacements import (
    Message,
    Replacing,
    features_of,
    features_of_whole,
    likely_text,
    pairs_of,
    replaced,
    with_products,
)

DATA = Path(__file__).parent / "replacements.tsv"
OUTPUT = Path(__file__).parents[1] / "core" / "questions" / "replacements.json"
RIDGE = 3.0
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """A follow-up to a question: ``right`` marks the pairs that give the question that is meant, last "none"."""

    writer: str
    features: Matrix
    whole: Matrix
    right: NDArray[np.bool_]
    texts: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--write", action="store_true", help=f"write {OUTPUT.name}")


def run(options: argparse.Namespace) -> dict[str, Any]:
    asked = read_asked()
    if options.write:
        model = fit(asked)
        written = {name: np.round(getattr(model, name), 5).tolist() for name in ("mean", "scale", "weights")}
        OUTPUT.write_text(json.dumps(written) + "\n", encoding="utf-8")
    return {"asked": len(asked), **left_out(asked)}


def read_asked() -> list[Asked]:
    """Return the follow-ups of the file; those that no pair of spans answers are left out."""
    found = []
    for line in DATA.read_text(encoding="utf-8").splitlines():
        writer, before, follow_up, meant = line.split("\t")
        old, new = Message.of(before), Message.of(follow_up)
        pairs = pairs_of(old, new)
        texts = tuple(_plain(replaced(old, new, pair)) for pair in pairs)
        right = np.array([*(text == _plain(meant) for text in texts), not meant])
        if pairs and right.any():
            found.append(Asked(writer, features_of(old, new, pairs), features_of_whole(new), right, texts))
    return found


def _plain(text: str) -> str:
    return " ".join(Message.of(text).words).lower()


def fit(asked: Sequence[Asked]) -> Replacing:
    """Fit a conditional logit with a ridge penalty."""
    everything = np.concatenate([one.features for one in asked])
    mean, scale = everything.mean(axis=0), everything.std(axis=0) + 1e-6
    blocks = []
    for one in asked:
        design = with_products((one.features - mean) / scale)
        blocks.append(
            np.block([[design, np.zeros((len(design), len(one.whole)))], [np.zeros(design.shape[1]), one.whole]])
        )
    design, right = np.concatenate(blocks), np.concatenate([one.right for one in asked]).astype(float)
    counts = np.array([len(block) for block in blocks])
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])

    def loss(weights: Matrix) -> tuple[float, Matrix]:
        sums = design @ weights
        shares = np.exp(sums - np.repeat(np.maximum.reduceat(sums, starts), counts))
        whole = np.add.reduceat(shares, starts)
        of_right = np.add.reduceat(shares * right, starts) + 1e-300
        gradient = shares / np.repeat(whole, counts) - shares * right / np.repeat(of_right, counts)
        likelihood = float((np.log(of_right) - np.log(whole)).sum())
        return RIDGE * float(weights @ weights) / 2 - likelihood, design.T @ gradient + RIDGE * weights

    fitted = minimize(loss, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return Replacing(mean, scale, fitted.x)


def left_out(asked: Sequence[Asked]) -> dict[str, Any]:
    """Return how often a question is replaced, and rightly, for each writer by a fit on the others."""
    rows: list[tuple[str, str]] = []
    for writer in sorted({one.writer for one in asked}):
        model = fit([one for one in asked if one.writer != writer])
        for one in (one for one in asked if one.writer == writer):
            meant = next((text for text, right in zip(one.texts, one.right, strict=False) if right), "")
            rows.append((meant, likely_text(one.texts, model.probabilities(one.features, one.whole))))
    replacing = [found for meant, found in rows if meant]
    right = [found == meant for meant, found in rows if meant and found]
    return {
        "replacing": len(replacing),
        "replaced": float(np.mean([bool(found) for found in replacing])),
        "rightly": float(np.mean(right)),
        "not replacing": len(rows) - len(replacing),
        "taken for replacing": float(np.mean([bool(found) for meant, found in rows if not meant])),
    }
