"""Fit what the router tells wishes by, on messages of our own and on open questions about documents.

DATA is the folder of training data; messages of our own stand in routing.tsv and, of those to documents, in
``benchmarks/yes_no``, ``benchmarks/ordinary`` and ``benchmarks/reader``. Writes utterances.json with ``--write``.
"""

import argparse
import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from benchmarks.fit_quoting import ORDINARY, YES_NO
from benchmarks.measures import read_questions
from benchmarks.reader.examples import OF_OUR_OWN
from core.models.utterances import COMPARISON, Wish, described

OPEN_QUESTIONS = {
    "reading.jsonl.gz": 350,
    "reading.contracts.jsonl.gz": 60,
    "reading.languages.jsonl.gz": 300,
    "reading.japanese.jsonl.gz": 40,
}
OF_ORDINARY = 800
"""Questions to one ordinary document, that comparisons of several are told from."""
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
    comparisons = [text for wish, text in own if wish == COMPARISON]
    own = [[Wish.DOCUMENTS if wish == COMPARISON else wish, text] for wish, text in own]
    own += [[Wish.DOCUMENTS, one.text] for folder in (YES_NO, ORDINARY) for one in read_questions(folder)]
    ordinary = _sample(_of_one_document(), OF_ORDINARY)
    opened = [text for name, n in OPEN_QUESTIONS.items() for text in _sample(_questions(options.data / name), n)]
    texts = [text for _, text in own] + opened
    wishes = np.array([wish for wish, _ in own] + [Wish.DOCUMENTS] * (len(texts) - len(own)))
    rows = described(texts)
    counts = np.repeat([1.0, OPEN_COUNTS_FOR], [len(own), len(opened)])
    of_several = np.isin(texts, comparisons)
    compared = (
        np.vstack([rows, described(ordinary)]),
        np.append(of_several, [False] * len(ordinary)),
        np.ones(len(texts) + len(ordinary)),
    )
    counts = np.where(of_several, OPEN_COUNTS_FOR, counts)
    result = {
        "messages": len(own),
        "open questions": len(texts) - len(own),
        **_left_out(rows, wishes, counts, len(own)),
        COMPARISON: _comparisons_left_out(*compared),
    }
    if options.write:
        model, alone = _fit(rows, wishes, counts), _fit(*compared)
        weights = dict(zip([*model.classes_, COMPARISON], [*model.coef_, alone.coef_[0]], strict=True))
        biases = dict(zip([*model.classes_, COMPARISON], [*model.intercept_, alone.intercept_[0]], strict=True))
        learned = {
            "measured": result,
            "weights": {name: np.round(row, DIGITS).tolist() for name, row in weights.items()},
            "biases": {name: round(float(bias), DIGITS) for name, bias in biases.items()},
        }
        options.write.write_text(json.dumps(learned) + "\n", encoding="utf-8")
    return result


def _own_lines() -> Sequence[str]:
    return Path(__file__).with_name("routing.tsv").read_text(encoding="utf-8").splitlines()


def _sample(questions: Iterable[str], count: int) -> list[str]:
    """Of these, always the same."""
    return sorted(set(questions), key=lambda text: hashlib.sha1(text.encode()).digest())[:count]


def _of_one_document() -> Iterator[str]:
    """What the reader learns to read ordinary documents by, without what is asked of two."""
    asked: dict[str, set[str]] = {}
    with gzip.open(OF_OUR_OWN, "rt", encoding="utf-8") as lines:
        for passage in map(json.loads, lines):
            for question in passage["questions"]:
                asked.setdefault(question["ask"], set()).add(passage["doc"])
    return (question for question, documents in asked.items() if len(documents) == 1)


def _questions(file: Path) -> Iterator[str]:
    """Those that may be shipped."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["use"] == "ship":
                yield row["question"]


def _fit(rows: np.ndarray, wishes: np.ndarray, counts: np.ndarray) -> LogisticRegression:
    return LogisticRegression(C=STRENGTH, max_iter=500).fit(rows, wishes, sample_weight=counts)


def _told(rows: np.ndarray, wishes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """What each is told to be by a fit that did not see it."""
    told = np.empty(len(wishes), dtype=wishes.dtype)
    for seen, unseen in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(rows, wishes):
        told[unseen] = _fit(rows[seen], wishes[seen], counts[seen]).predict(rows[unseen])
    return told


def _comparisons_left_out(rows: np.ndarray, compared: np.ndarray, counts: np.ndarray) -> dict[str, float]:
    told = _told(rows, compared, counts)
    return {"told": round(float(told[compared].mean()), 3), "told of others": round(float(told[~compared].mean()), 3)}


def _left_out(rows: np.ndarray, wishes: np.ndarray, counts: np.ndarray, own: int) -> dict[str, Any]:
    """The share told right of messages and questions that the fit did not see."""
    right = _told(rows, wishes, counts) == wishes
    by_wish = {str(wish): round(float(right[:own][wishes[:own] == wish].mean()), 3) for wish in Wish}
    return {
        "right of messages left out": round(float(right[:own].mean()), 3),
        "right of open questions left out": round(float(right[own:].mean()), 3),
        "by wish": by_wish,
    }
