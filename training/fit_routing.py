"""Fit what messages want and which need the one before them, what changes another text, and what a date is.

DATA is the folder of training data; our own messages are in routing.tsv and, those that ask documents, in
``training/yes_no``, ``training/ordinary`` and ``training/reader``; follow_ups.tsv holds messages that need the
question before them, and others; selecting.tsv those that select documents by a limit, and others; changes.tsv
sentences that amend or replace another text, and others; dates.tsv questions for dates and sentences with one. Writes
utterances.json with ``--write``.
"""

import argparse
import csv
import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import LeaveOneGroupOut, StratifiedKFold

from benchmarks.measures import read_questions
from pincite.core.domain.questions import Wish
from pincite.core.questions.follow_up import LEANS as LEANING
from pincite.core.questions.utterances import COMPARISON, LEANS, MIN_SELECTS, SELECTS, Changes
from pincite.core.questions.utterances import described as measures
from pincite.core.text.sentences import split_sentences
from training.fit_quoting import ORDINARY, YES_NO
from training.reader.examples import OF_OUR_OWN

OPEN_QUESTIONS = {
    "reading.jsonl.gz": 350,
    "reading.contracts.jsonl.gz": 60,
    "reading.languages.jsonl.gz": 300,
    "reading.japanese.jsonl.gz": 40,
}
OF_ORDINARY = 800
"""Number of questions to one ordinary document, as the contrast to comparisons of several."""
STRENGTH, STRENGTH_OF_LEANING, STRENGTH_OF_SENTENCES, STRENGTH_OF_SELECTING = 30.0, 1.0, 3.0, 1.0
"""Inverse of the penalty."""
CHANGES = "changes.tsv"
SENTENCES = (CHANGES, "dates.tsv")
OPEN_LINES = {"reading.jsonl.gz": 500, "reading.languages.jsonl.gz": 300, "tables.jsonl.gz": 300}
"""Sentences and rows of tables with a figure, which change nothing."""
OPEN, PARTS_OF_OPEN_LINES = "open", 3
OPEN_COUNTS_FOR = 0.1
"""Of a message of our own: open questions are many, alike, and long."""
OF_CHARTS = "charts"
"""Wrote the follow-ups that ask for a chart."""
FOLLOW_UPS_COUNT_FOR = 0.3
"""Weight relative to a message of our own in the model of wishes: follow-ups ask documents."""
ORDINARY_COUNTS_FOR, SHORT_COUNTS_FOR, SHORT = 0.05, 0.3, 5
"""Weights relative to a message that was written as a contrast to follow-ups, and the maximum number of words of a
short question: all ordinary questions are complete without another one, also the short ones."""
FOLDS = 5
DIGITS = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, help="a folder with reading*.jsonl.gz")
    parser.add_argument("--write", type=Path, help="where to write what was learned")


def run(options: argparse.Namespace) -> dict[str, Any]:
    learned = {name: _learned(options.data, with_e5=name == "e5") for name in ("e5", "minilm")}
    if options.write:
        options.write.write_text(json.dumps(learned) + "\n", encoding="utf-8")
    return {name: one["measured"] for name, one in learned.items()}


def _learned(data: Path, *, with_e5: bool) -> dict[str, Any]:
    described = partial(measures, with_e5=with_e5)
    own = [line.split("\t") for line in _own_lines()]
    comparisons = [text for wish, text in own if wish == COMPARISON]
    own = [[Wish.DOCUMENTS if wish == COMPARISON else wish, text] for wish, text in own]
    own += [[Wish.DOCUMENTS, one.text] for folder in (YES_NO, ORDINARY) for one in read_questions(folder)]
    follow_ups = _follow_ups()
    own += [[Wish.DOCUMENTS, text] for writer, text, _ in follow_ups if writer != OF_CHARTS]
    ordinary = _sample(_of_one_document(), OF_ORDINARY)
    opened = [text for name, n in OPEN_QUESTIONS.items() for text in _sample(_questions(data / name), n)]
    texts = [text for _, text in own] + opened
    wishes = np.array([wish for wish, _ in own] + [Wish.DOCUMENTS] * (len(texts) - len(own)))
    rows = described(texts)
    counts = np.repeat([1.0, OPEN_COUNTS_FOR], [len(own), len(opened)])
    follow = np.isin(texts, [text for _, text, _ in follow_ups])
    counts = np.where(follow, FOLLOW_UPS_COUNT_FOR, counts)
    of_several = np.isin(texts, comparisons)
    compared = (
        np.vstack([rows, described(ordinary)]),
        np.append(of_several, [False] * len(ordinary)),
        np.append(~follow, [True] * len(ordinary)).astype(float),
    )
    counts = np.where(of_several, OPEN_COUNTS_FOR, counts)
    follow_ups += [(ORDINARY.name, text, False) for text in ordinary]
    writers = [writer for writer, *_ in follow_ups]
    after = (
        described([text for _, text, _ in follow_ups]),
        np.array([leans for *_, leans in follow_ups]),
        np.array([_counts_for(writer, text) for writer, text, _ in follow_ups]),
    )
    selecting = _selecting([*comparisons, *ordinary], described)
    result: dict[str, Any] = {
        "messages": len(own),
        "open questions": len(texts) - len(own),
        **_left_out(rows, wishes, counts, len(own)),
        COMPARISON: _comparisons_left_out(*compared),
        LEANS: _leaning_left_out(*after, writers),
        SELECTS: _selecting_left_out(*selecting),
    }
    model, *others = (
        _fit(rows, wishes, counts),
        _fit(*compared),
        _fit(*after, STRENGTH_OF_LEANING),
        _fit(*selecting[:3], STRENGTH_OF_SELECTING),
    )
    names = [*model.classes_, COMPARISON, LEANS, SELECTS]
    weights = dict(zip(names, [*model.coef_, *(one.coef_[0] for one in others)], strict=True))
    biases = dict(zip(names, [*model.intercept_, *(one.intercept_[0] for one in others)], strict=True))
    for file in SENTENCES:
        open_lines = map(list, _open_lines(data)) if file == CHANGES else ()
        by, labels, sentences = zip(*((row[0], row[1], row[-1]) for row in (*_rows(file), *open_lines)), strict=True)
        samples = described(sentences), np.array(labels), np.ones(len(labels))
        result[file.partition(".")[0]] = _sentences_left_out(*samples, by)
        model = _fit(*samples, STRENGTH_OF_SENTENCES)
        weights |= zip(model.classes_, model.coef_, strict=True)
        biases |= zip(model.classes_, model.intercept_, strict=True)
    return {
        "measured": result,
        "weights": {name: np.round(row, DIGITS).tolist() for name, row in weights.items()},
        "biases": {name: round(float(bias), DIGITS) for name, bias in biases.items()},
    }


def _own_lines() -> Sequence[str]:
    return Path(__file__).with_name("routing.tsv").read_text(encoding="utf-8").splitlines()


def _rows(file: str) -> list[list[str]]:
    """Return the rows of one of our files; the first column names the writer."""
    with Path(__file__).with_name(file).open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines, "excel-tab", quoting=csv.QUOTE_NONE))


def _follow_ups() -> list[tuple[str, str, bool]]:
    """Return messages with who wrote them, and whether they need the question before them."""
    return [(writer, text, label == LEANS) for writer, _, text, label in _rows("follow_ups.tsv")]


def _counts_for(writer: str, text: str) -> float:
    if writer != ORDINARY.name:
        return 1.0
    return SHORT_COUNTS_FOR if len(text.split()) <= SHORT else ORDINARY_COUNTS_FOR


def _sample(questions: Iterable[str], count: int) -> list[str]:
    """Of these, always the same."""
    return sorted(set(questions), key=lambda text: hashlib.sha1(text.encode()).digest())[:count]


def _of_one_document() -> Iterator[str]:
    """Return the reader's training questions about ordinary documents, without those asked of two documents."""
    asked: dict[str, set[str]] = {}
    with gzip.open(OF_OUR_OWN, "rt", encoding="utf-8") as lines:
        for passage in map(json.loads, lines):
            for question in passage["questions"]:
                asked.setdefault(question["ask"], set()).add(passage["doc"])
    return (question for question, documents in asked.items() if len(documents) == 1)


def _questions(file: Path) -> Iterator[str]:
    """Yield those that may be shipped."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["use"] == "ship":
                yield row["question"]


def _open_lines(data: Path) -> Iterator[tuple[str, str, str]]:
    """Yield sentences and rows with a figure as rows of changes.tsv, their documents in parts as if of one writer."""
    for name, count in OPEN_LINES.items():
        lines = dict[str, str]()
        with gzip.open(data / name, "rt", encoding="utf-8") as rows:
            for row in map(json.loads, rows):
                if row["use"] == "ship":
                    own = map(" ".join, row["table"]) if "table" in row else _sentences(row["context"])
                    lines |= ((line, row["split_key"]) for line in own if any(map(str.isdigit, line)))
        for line in _sample(lines, count):
            part = int(hashlib.sha1(lines[line].encode()).hexdigest(), 16) % PARTS_OF_OPEN_LINES
            yield f"{OPEN} {part}", Changes.NOTHING, line


def _sentences(text: str) -> Iterator[str]:
    return (" ".join(text[one.start : one.end].split()) for one in split_sentences(text))


def _fit(rows: np.ndarray, wishes: np.ndarray, counts: np.ndarray, strength: float = STRENGTH) -> LogisticRegression:
    return LogisticRegression(C=strength, max_iter=500).fit(rows, wishes, sample_weight=counts)


def _out_of_fold(rows: np.ndarray, wishes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the prediction for each row by a fit that did not see it."""
    predicted = np.empty(len(wishes), dtype=wishes.dtype)
    for seen, unseen in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(rows, wishes):
        predicted[unseen] = _fit(rows[seen], wishes[seen], counts[seen]).predict(rows[unseen])
    return predicted


def _comparisons_left_out(rows: np.ndarray, compared: np.ndarray, counts: np.ndarray) -> dict[str, float]:
    predicted = _out_of_fold(rows, compared, counts)
    return {
        "told": round(float(predicted[compared].mean()), 3),
        "told of others": round(float(predicted[~compared].mean()), 3),
    }


def _leaning_left_out(
    rows: np.ndarray, leans: np.ndarray, counts: np.ndarray, writers: Sequence[str]
) -> dict[str, float]:
    """Measure on each writer's messages the predictions of a fit on those of the others."""
    probabilities = np.empty(len(leans))
    for seen, unseen in LeaveOneGroupOut().split(rows, leans, writers):
        model = _fit(rows[seen], leans[seen], counts[seen], STRENGTH_OF_LEANING)
        probabilities[unseen] = model.predict_proba(rows[unseen])[:, 1]
    own = counts == 1.0
    leans, probabilities = leans[own], probabilities[own]
    read_after = probabilities >= LEANING
    shares = {
        "auroc": float(roc_auc_score(leans, probabilities)),
        "needs it, read after it": float(read_after[leans].mean()),
        "stands alone, read after it": float(read_after[~leans].mean()),
    }
    return {name: round(share, 3) for name, share in shares.items()}


def _selecting(
    others: Sequence[str], described: Callable[[Sequence[str]], np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Return measures, labels, weights and writers of messages that select documents by a limit, and of others."""
    rows = _rows("selecting.tsv")
    texts = [*(row[-1] for row in rows), *others]
    selects = np.array([row[1] == SELECTS for row in rows] + [False] * len(others))
    counts = np.repeat([1.0, OPEN_COUNTS_FOR], [len(rows), len(others)])
    return described(texts), selects, counts, [*(row[0] for row in rows), *(OPEN for _ in others)]


def _selecting_left_out(
    rows: np.ndarray, selects: np.ndarray, counts: np.ndarray, writers: Sequence[str]
) -> dict[str, float]:
    """Return the shares of each writer's messages that a fit without them takes for selecting ones."""
    taken, by = np.zeros(len(selects), dtype=bool), np.array(writers)
    for writer in sorted(set(writers) - {OPEN}):
        own = by == writer
        fitted = _fit(rows[~own], selects[~own], counts[~own], STRENGTH_OF_SELECTING)
        taken[own] = fitted.decision_function(rows[own]) >= MIN_SELECTS
    others = by == OPEN
    for seen, unseen in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(rows, selects):
        fitted = _fit(rows[seen], selects[seen], counts[seen], STRENGTH_OF_SELECTING)
        held = unseen[others[unseen]]
        taken[held] = fitted.decision_function(rows[held]) >= MIN_SELECTS
    shares = {"told": taken[selects], "told of others": taken[~selects & ~others], "told of ordinary": taken[others]}
    return {name: round(float(share.mean()), 3) for name, share in shares.items()}


def _sentences_left_out(
    rows: np.ndarray, labels: np.ndarray, counts: np.ndarray, writers: Sequence[str]
) -> dict[str, Any]:
    """Return the share of each writer's sentences that a fit on those of the others predicts correctly."""
    predicted = np.empty(len(labels), dtype=labels.dtype)
    for seen, unseen in LeaveOneGroupOut().split(rows, labels, writers):
        predicted[unseen] = _fit(rows[seen], labels[seen], counts[seen], STRENGTH_OF_SENTENCES).predict(rows[unseen])
    right = predicted == labels
    own = np.array([not writer.startswith(OPEN) for writer in writers])
    by_label = {str(label): round(float(right[own & (labels == label)].mean()), 3) for label in sorted(set(labels))}
    shares = {"sentences": int(own.sum()), "right": round(float(right[own].mean()), 3), "by label": by_label}
    return shares if own.all() else {**shares, "right of open lines": round(float(right[~own].mean()), 3)}


def _left_out(rows: np.ndarray, wishes: np.ndarray, counts: np.ndarray, own: int) -> dict[str, Any]:
    """Return the share of correct predictions for messages and questions that the fit did not see."""
    right = _out_of_fold(rows, wishes, counts) == wishes
    by_wish = {str(wish): round(float(right[:own][wishes[:own] == wish].mean()), 3) for wish in Wish}
    return {
        "right of messages left out": round(float(right[:own].mean()), 3),
        "right of open questions left out": round(float(right[own:].mean()), 3),
        "by wish": by_wish,
    }
