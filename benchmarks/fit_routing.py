"""Fit what the router tells wishes by, on messages of our own and on open questions about documents.

DATA is the folder of training data; messages of our own stand in routing.tsv and, of those to documents, in
``benchmarks/yes_no`` and ``benchmarks/ordinary``. Writes utterances.json with ``--write``.
"""

import argparse
import gzip
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from benchmarks.fit_quoting import ORDINARY, YES_NO
from benchmarks.measures import read_questions
from core.models.utterances import Wish, described

OPEN_QUESTIONS = {
    "reading.jsonl.gz": 350,
    "reading.contracts.jsonl.gz": 60,
    "reading.languages.jsonl.gz": 300,
    "reading.japanese.jsonl.gz": 40,
}
STRENGTH = 30.0
"""Inverse of the penalty."""
OPEN_COUNTS_FOR = 0.1
"""Of a message of our own: open questions are many, alike, and long."""
FOLDS = 5
DIGITS = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, help="a folder with reading*.jsonl.gz")
    parser.add_argument("--write", type=Path, help="where to write what was learned")


def run(options: argparse.Namespace) -> dict[str, Any]:
    own = [line.split("\t") for line in _own_lines()]
    own += [[Wish.DOCUMENTS, one.text] for folder in (YES_NO, ORDINARY) for one in read_questions(folder)]
    texts = [text for _, text in own] + [
        text for name, n in OPEN_QUESTIONS.items() for text in _sample(options, name, n)
    ]
    wishes = np.array([wish for wish, _ in own] + [Wish.DOCUMENTS] * (len(texts) - len(own)))
    rows = described(texts)
    counts = np.array([1.0] * len(own) + [OPEN_COUNTS_FOR] * (len(texts) - len(own)))
    result = {
        "messages": len(own),
        "open questions": len(texts) - len(own),
        **_left_out(rows, wishes, counts, len(own)),
    }
    if options.write:
        model = _fit(rows, wishes, counts)
        place = {wish: list(model.classes_).index(wish) for wish in Wish}
        learned = {
            "measured": result,
            "weights": {wish: np.round(model.coef_[place[wish]], DIGITS).tolist() for wish in Wish},
            "biases": {wish: round(float(model.intercept_[place[wish]]), DIGITS) for wish in Wish},
        }
        options.write.write_text(json.dumps(learned) + "\n", encoding="utf-8")
    return result


def _own_lines() -> Sequence[str]:
    return Path(__file__).with_name("routing.tsv").read_text(encoding="utf-8").splitlines()


def _sample(options: argparse.Namespace, name: str, count: int) -> list[str]:
    """Questions that may be shipped, always the same."""
    found = sorted(set(_questions(options.data / name)), key=lambda text: hashlib.sha1(text.encode()).digest())
    return found[:count]


def _questions(file: Path) -> Iterator[str]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["use"] == "ship":
                yield row["question"]


def _fit(rows: np.ndarray, wishes: np.ndarray, counts: np.ndarray) -> LogisticRegression:
    return LogisticRegression(C=STRENGTH, max_iter=500).fit(rows, wishes, sample_weight=counts)


def _left_out(rows: np.ndarray, wishes: np.ndarray, counts: np.ndarray, own: int) -> dict[str, Any]:
    """The share told right of messages and questions that the fit did not see."""
    told = np.empty(len(wishes), dtype=object)
    for seen, unseen in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(rows, wishes):
        told[unseen] = _fit(rows[seen], wishes[seen], counts[seen]).predict(rows[unseen])
    right = told == wishes
    by_wish = {str(wish): round(float(right[:own][wishes[:own] == wish].mean()), 3) for wish in Wish}
    return {
        "right of messages left out": round(float(right[:own].mean()), 3),
        "right of open questions left out": round(float(right[own:].mean()), 3),
        "by wish": by_wish,
    }
