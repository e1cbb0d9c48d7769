"""Fit the models of how likely a cell or a computed figure is right, and measure them on left-out questions.

Questions answered by a cell are mixed with questions that the text, a count or a computation answers. Each is asked of
its own table, of its own among others, and some of others alone. The ranking of cells behind every measure is fitted
on tables of the other half.
"""

import argparse
import gzip
import hashlib
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.measures import mean
from benchmarks.tables import SOURCES, Asked, fit, normalize_answer, table_of
from pincite.core.domain.logistic import LogisticModel
from pincite.core.domain.tables import Table
from pincite.core.figures.answers import ADDRESSED_WORDS, answering_figures, ranked_figures, stated_words
from pincite.core.figures.cells import Weights, finding, shipped_weights
from pincite.core.figures.computing import computed
from pincite.core.figures.gates import FEATURES, OPERANDS, Gates, kind_words
from pincite.core.text.numbers import printed_figure
from pincite.core.text.stating import compute

SHIPPED = ("tatqa", "wtq")
FOLDS = 5
OTHERS = 5
"""Number of tables of the same source that a question is asked of, in addition to its own or instead of it."""
OTHERS_ALONE = 0.4
MIN_USES = 30
MIN_TELLING = 0.05
"""Words that weigh less are left out."""
KINDS_STRENGTH, GATE_STRENGTH = 3.0, 1.0
MIN_SPREAD = 0.1
"""So that what hardly any case has is not weighed heavily."""
EVERY = 10**6
"""Questions; cells of words are seldom asked for so."""
PRECISION = 0.7
EASIER = 0.3
"""Log-odds by which a cell is likelier right than in the fit, where a seventh of the best are: of what people ask of a
report, as in AIT-QA, half are. As much as leaves three of four right from 0.55 on in both."""
BINS = 10
TEXTS = "reading.jsonl.gz"
Rows = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Case:
    """A question asked of some tables; ``right``: the first figure answers it."""

    source: str
    key: str
    features: Mapping[str, float]
    right: bool
    own: bool = False
    """It was asked of its own table alone."""
    question: str = ""


Maker = Callable[[str, dict[str, Any], Sequence[Table], Table, Weights, Gates], Case | None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="the folder of open training data")
    parser.add_argument("--limit", type=int, default=1200, help="questions of each source")
    parser.add_argument("--write", type=Path, help="write the models here")


def run(options: argparse.Namespace) -> dict[str, Any]:
    questions = {name: read_rows(options.directory, name, options.limit) for name in SOURCES}
    kinds = fit_kinds(options.directory, questions)
    gates = _asking(kinds)
    kept = {name: [row for row in questions[name] if _reserved(row)] for name in SHIPPED}
    cases, sums = _of_both_kinds(questions, gates)
    elsewhere = list(_cases("aitqa", questions["aitqa"], shipped_weights(), _cell_case, gates))
    own = [case for case in sums if case.own]
    addressed = [case for case in cases if case.features["addressed"]]
    result = {
        "asks for a figure": kinds_measured(options.directory, questions),
        "cells": {
            "keys left out": measured(_folded(cases, fit_cells), cases),
            "aitqa, fitted on both": measured(_probabilities(fit_cells(cases), elsewhere), elsewhere),
            "addressed in full, and right": (len(addressed), sum(case.right for case in addressed)),
        },
        "cells of words, and right": words_measured(
            row for name in SOURCES for row in read_rows(options.directory, name, EVERY)
        ),
        "computed": {
            "arithmetic questions": sum(row["answer_from"] == "arithmetic" for row in kept["tatqa"]),
            "computed of these": len(own),
            "right of the computed": mean([case.right for case in own]),
            "keys left out": measured(_folded(sums, fit_sums), sums),
        },
    }
    if options.write:
        write(Gates(kinds, fit_cells(cases), fit_sums(sums)), options.write)
    return result


def words_measured(rows: Iterable[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """How many cells of words are stated of a question's own table, and how many of them are right."""
    by_kind: dict[str, list[bool]] = {"said in full": [], "at a crossing": []}
    for row in rows:
        if found := stated_words(row["question"], [table_of(row["table"])]):
            kind = "said in full" if found.probability == ADDRESSED_WORDS else "at a crossing"
            by_kind[kind].append(
                {normalize_answer(found.text)} == {normalize_answer(answer) for answer in row["answer"]}
            )
    return {kind: (len(right), sum(right)) for kind, right in by_kind.items()}


def _asking(kinds: LogisticModel) -> Gates:
    """Return gates in which only the model of what a question asks for is fitted."""
    return Gates(kinds, LogisticModel(0.0, {}), LogisticModel(0.0, {}))


def _of_both_kinds(questions: Mapping[str, Sequence[dict[str, Any]]], gates: Gates) -> tuple[list[Case], list[Case]]:
    """Stated cells and computed figures, of tables that the ranking was not fitted on."""
    weights = _ranking([row for name in SHIPPED for row in questions[name] if not _reserved(row)])
    kept = {name: [row for row in questions[name] if _reserved(row)] for name in SHIPPED}
    cells = [case for name in SHIPPED for case in _cases(name, kept[name], weights, _cell_case, gates)]
    return cells, list(_cases("tatqa", kept["tatqa"], weights, _computed_case, gates))


def labelled(directory: Path, limit: int) -> tuple[list[tuple[Case, float]], list[tuple[Case, float]]]:
    """Stated cells and computed figures, each with its probability by models that have seen nothing of its key."""
    questions = {name: read_rows(directory, name, limit) for name in SHIPPED}
    gates = _asking(fit_kinds(directory, questions))
    cells, sums = _of_both_kinds(questions, gates)
    probabilities = _folded(cells, fit_cells), _folded(sums, fit_sums)
    return list(zip(cells, probabilities[0], strict=True)), list(zip(sums, probabilities[1], strict=True))


def read_rows(directory: Path, source: str, limit: int) -> list[dict[str, Any]]:
    """Questions of every kind, whole tables in an order that does not depend on the file's."""
    with gzip.open(directory / "tables.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["source"] in SOURCES[source] and row["table"]]
    return sorted(rows, key=lambda row: digest(row["split_key"]))[:limit]


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _ranking(rows: Sequence[dict[str, Any]]) -> Weights:
    """Return a ranking of cells fitted on these questions."""
    return fit(
        [
            Asked(
                row["question"], table_of(row["table"]), tuple(row["answer"]), tuple(map(tuple, row.get("cells") or ()))
            )
            for row in rows
            if row["answer_from"] == "cell"
        ]
    )


def _reserved(row: Mapping[str, Any]) -> bool:
    """Half of the keys teach the ranking, the other half the models behind it."""
    return int(digest(row["split_key"])[-1], 16) % 2 == 0


def _cases(source: str, rows: Sequence[dict[str, Any]], weights: Weights, make: Maker, gates: Gates) -> Iterator[Case]:
    chance = random.Random(source)
    tables = {json.dumps(row["table"]): (row["split_key"], table_of(row["table"])) for row in rows}
    every = list(tables.values())
    for row in rows:
        own = tables[json.dumps(row["table"])][1]
        others = [table for key, table in chance.sample(every, min(len(every), OTHERS)) if key != row["split_key"]]
        shelves = [[own], [*others[:2], own, *others[2:]]]
        for shown in [*shelves, others] if chance.random() < OTHERS_ALONE else shelves:
            if (case := make(source, row, shown, own, weights, gates)) is not None:
                yield case


def _cell_case(
    source: str, row: dict[str, Any], shown: Sequence[Table], own: Table, weights: Weights, gates: Gates
) -> Case | None:
    ranking = ranked_figures(row["question"], shown, weights=weights)
    if ranking is None:
        return None
    found = finding(ranking, shown)
    stated = answering_figures(row["question"], ranking, found, gates)
    if stated is None:
        return None
    figures, features = stated
    texts = {normalize_answer(figure.text) for figure in figures}
    right = all(one.table is own for one in found.answers) and texts == {
        normalize_answer(answer) for answer in row["answer"]
    }
    features |= {"addressed": float(found.addressed)}
    return Case(source, row["split_key"], features, right, len(shown) == 1, row["question"])


def _computed_case(
    source: str, row: dict[str, Any], shown: Sequence[Table], own: Table, weights: Weights, gates: Gates
) -> Case | None:
    found = computed(row["question"], shown, weights=weights, gates=gates)
    if found.stated is None or found.stated.computation is None:
        return None
    value = float(compute(found.stated.figures, found.stated.computation))
    right = row["answer_from"] == "arithmetic" and _is_near(value, row["answer"][0])
    arithmetic = row["answer_from"] == "arithmetic" and len(shown) == 1
    return Case(source, row["split_key"], found.features, right and own in shown, arithmetic, row["question"])


def _is_near(value: float, answer: str) -> bool:
    """Return whether a value agrees within 1 % or to two decimals; a share may be a fraction or a percentage."""
    printed = printed_figure(answer)
    wanted = float(printed.value) if printed else float("nan")
    return any(abs(one - wanted) <= max(0.011, abs(wanted) * 0.01) for one in (value, value / 100))


def fit_cells(cases: Sequence[Case]) -> LogisticModel:
    found = fit_gate(cases, FEATURES)
    return LogisticModel(found.bias + EASIER, found.weights)


def fit_sums(cases: Sequence[Case]) -> LogisticModel:
    return fit_gate(cases, OPERANDS)


def fit_gate(cases: Sequence[Case], names: Sequence[str]) -> LogisticModel:
    rows = np.array([[case.features.get(name, 0.0) for name in names] for case in cases])
    right = np.array([case.right for case in cases])
    middle, spread = rows.mean(axis=0), np.maximum(rows.std(axis=0), MIN_SPREAD)
    scaled = np.hstack([(rows - middle) / spread, np.ones((len(rows), 1))])
    found = _fitted(csr_matrix(scaled), right, GATE_STRENGTH)
    weights = found[:-1] / spread
    return LogisticModel(float(found[-1] - weights @ middle), dict(zip(names, weights.tolist(), strict=True)))


def _fitted(rows: csr_matrix, right: NDArray[np.bool_], strength: float) -> Rows:
    found = LogisticRegression(C=1 / (2 * strength), fit_intercept=False, max_iter=1000, tol=1e-6).fit(rows, right)
    return np.array(found.coef_[0])


def _folded(cases: Sequence[Case], fitted: Callable[[Sequence[Case]], LogisticModel]) -> list[float]:
    """Probabilities by models that have seen nothing of a case's key."""
    fold = [int(digest(case.key)[:8], 16) % FOLDS for case in cases]
    models = [fitted([c for c, at in zip(cases, fold, strict=True) if at != left]) for left in range(FOLDS)]
    return [models[at].probability(case.features) for case, at in zip(cases, fold, strict=True)]


def _probabilities(model: LogisticModel, cases: Sequence[Case]) -> list[float]:
    return [model.probability(case.features) for case in cases]


def measured(probabilities: Sequence[float], cases: Sequence[Case]) -> dict[str, Any]:
    """``above``: from which probability on PRECISION are right, and what share of the right ones that is."""
    values, right = np.array(probabilities), np.array([case.right for case in cases])
    order = np.argsort(-values)
    so_far = np.cumsum(right[order]) / np.arange(1, len(right) + 1)
    deep = np.flatnonzero(so_far >= PRECISION)
    last = int(deep[-1]) if len(deep) else -1
    kept = right[order][: last + 1]
    return {
        "cases": len(right),
        "right": round(float(right.mean()), 3),
        "auroc": round(float(roc_auc_score(right, values)), 3),
        "ece": round(calibration_error(values, right), 3),
        "above": round(float(values[order][last]), 3) if last >= 0 else None,
        "of the right": round(float(kept.sum() / max(1, right.sum())), 3),
    }


def calibration_error(probabilities: Rows, right: NDArray[np.bool_]) -> float:
    bins = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    parts = [(bins == at) for at in range(BINS)]
    return float(
        sum(abs(probabilities[part].mean() - right[part].mean()) * part.mean() for part in parts if part.any())
    )


def _labelled(directory: Path, questions: Mapping[str, Sequence[dict[str, Any]]]) -> list[tuple[str, str, bool]]:
    """Return key, question and whether its answer is a figure, for questions about tables and about texts."""
    rows = [row for name in ("tatqa", "wtq") for row in questions[name]]
    found = [(row["split_key"], row["question"], _is_figure(row)) for row in rows]
    with gzip.open(directory / TEXTS, "rt", encoding="utf-8") as lines:
        texts = [row for row in map(json.loads, lines) if row["use"] == "ship" and row["answers"]]
    texts.sort(key=lambda row: digest(row["split_key"] + row["question"]))
    return found + [
        (row["split_key"], row["question"], printed_figure(row["answers"][0]["text"]) is not None)
        for row in texts[: len(found)]
    ]


def _is_figure(row: Mapping[str, Any]) -> bool:
    return len(row["answer"]) >= 1 and all(printed_figure(answer) is not None for answer in row["answer"])


def fit_kinds(directory: Path, questions: Mapping[str, Sequence[dict[str, Any]]]) -> LogisticModel:
    return _kinds_of(_labelled(directory, questions))


def _kinds_of(labelled: Sequence[tuple[str, str, bool]]) -> LogisticModel:
    counter = CountVectorizer(analyzer=kind_words, binary=True, min_df=MIN_USES)
    matrix = counter.fit_transform([question for _, question, _ in labelled])
    weights = _fitted(matrix, np.array([figure for *_, figure in labelled]), KINDS_STRENGTH)
    return LogisticModel(0.0, dict(zip(counter.get_feature_names_out(), weights.tolist(), strict=True)))


def kinds_measured(directory: Path, questions: Mapping[str, Sequence[dict[str, Any]]]) -> dict[str, float]:
    """Half of the keys with words weighed on the other half."""
    labelled = _labelled(directory, questions)
    half = [int(digest(key)[:8], 16) % 2 for key, *_ in labelled]
    kinds = _asking(_kinds_of([one for one, at in zip(labelled, half, strict=True) if at]))
    left = [one for one, at in zip(labelled, half, strict=True) if not at]
    probabilities = np.array([kinds.asks_for_figure(question) for _, question, _ in left])
    right = np.array([figure for *_, figure in left])
    return {
        "questions": len(left),
        "auroc": round(float(roc_auc_score(right, probabilities)), 3),
        "ece": round(calibration_error(probabilities, right), 3),
        "below 0.2 of figures": mean((probabilities[right] < 0.2).tolist()),
        "below 0.2 of others": mean((probabilities[~right] < 0.2).tolist()),
    }


def write(gates: Gates, path: Path) -> None:
    telling = {word: weight for word, weight in gates.kinds.weights.items() if abs(weight) >= MIN_TELLING}
    written = {
        "kinds": LogisticModel(gates.kinds.bias, telling).to_json(2),
        "cell": gates.cell.to_json(3),
        "computed": gates.computed.to_json(3),
    }
    path.write_text(json.dumps(written, ensure_ascii=False) + "\n", encoding="utf-8")
