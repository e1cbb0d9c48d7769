"""How often a question about a table is answered with the right cell: open questions, and statements made by code.

Each source of open questions is answered with weights that were fitted on the other sources alone. ``--write FILE``
fits on those that may be shipped and writes the weights that the product uses.
"""

import argparse
import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from benchmarks.measures import mean
from pincite.core.documents.grids import read_grid
from pincite.core.domain.tables import Cell, Table
from pincite.core.figures.agreement import KINDS, NAMES, Matrix, Question, measure
from pincite.core.figures.cells import FoundCell, Weights, finding, rank
from pincite.core.text.numbers import printed_figure
from pincite.core.text.terms import words

SOURCES = {"aitqa": ("aitqa",), "tatqa": ("tatqa-dev", "tatqa-test"), "wtq": ("wtq-train", "wtq-test")}
MAY_SHIP = ("tatqa", "wtq")
MIN_USES = 30
"""A word of fewer questions than this is not weighed."""
STRENGTH, WORDS_STRENGTH = 3.0, 15.0
"""Penalties of the weights of measures and of words."""
KEPT = 0.05
"""Smaller weights of words are not written."""
ROUNDS = 60


@dataclass(frozen=True, slots=True)
class Asked:
    question: str
    table: Table
    answers: tuple[str, ...]
    cells: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Sums:
    """The measures of every cell of every question, one question behind the other."""

    measures: Matrix
    holds: NDArray[np.float64]
    starts: NDArray[np.int64]
    of_question: NDArray[np.int64]
    words: csr_matrix


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="a folder with tables.jsonl.gz")
    parser.add_argument("--limit", type=int, default=1200, help="questions of each source, whole tables apart")
    parser.add_argument("--write", type=Path, help="fit on all sources that may be shipped, and write the weights here")


def run(options: argparse.Namespace) -> dict[str, Any]:
    asked = {name: read_questions(options.directory, name, options.limit) for name in SOURCES}
    result = dict[str, Any]()
    for name in SOURCES:
        weights = fit([one for other in MAY_SHIP if other != name for one in asked[other]])
        right = [is_right(one, found_in(one.question, [one.table], weights)) for one in asked[name]]
        of_one = [good for one, good in zip(asked[name], right, strict=True) if len(one.answers) == 1]
        result[name] = {"questions": len(right), "right": mean(right), "right of one cell": mean(of_one)}
    if options.write:
        write(fit([one for name in MAY_SHIP for one in asked[name]]), options.write)
    return result


def read_questions(directory: Path, source: str, limit: int) -> list[Asked]:
    """Return questions answered by a cell, with whole tables, in an order independent of the file's."""
    with gzip.open(directory / "tables.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [
            row
            for row in map(json.loads, lines)
            if row["source"] in SOURCES[source] and row["answer_from"] == "cell" and row["table"]
        ]
    rows.sort(key=lambda row: hashlib.sha256(row["split_key"].encode()).hexdigest())
    tables: dict[str, Table] = {}
    found = []
    for row in rows[:limit]:
        grid = tables.setdefault(json.dumps(row["table"]), table_of(row["table"]))
        found.append(Asked(row["question"], grid, tuple(row["answer"]), tuple(map(tuple, row.get("cells") or ()))))
    return found


def table_of(rows: Sequence[Sequence[str]]) -> Table:
    texts = ((at, column, " ".join(text.split())) for at, row in enumerate(rows) for column, text in enumerate(row))
    return read_grid([Cell(at, column, text, end=len(text)) for at, column, text in texts if text])


def found_in(question: str, tables: Sequence[Table], weights: Weights | None = None) -> tuple[FoundCell, ...]:
    ranking = rank(question, tables, weights=weights)
    return finding(ranking, tables).answers if ranking else ()


def is_right(asked: Asked, answers: Sequence[FoundCell]) -> bool:
    """Return whether the cells given are exactly the answers; figures are compared by value."""
    return {normalize_answer(found.cell.text) for found in answers} == {
        normalize_answer(answer) for answer in asked.answers
    }


def normalize_answer(text: str) -> str:
    figure = printed_figure(text)
    return f"{figure.value.normalize():f}" if figure else " ".join(text.lower().split()).strip(".,;: ")


def fit(asked: Sequence[Asked]) -> Weights:
    """Weights under which the right cells are likeliest among all cells of their table."""
    bags = [set(words(one.question.lower())) for one in asked]
    uses = Counter(word for bag in bags for word in bag)
    vocabulary = sorted(word for word, count in uses.items() if count >= MIN_USES)
    sums = _sums(asked, bags, {word: number for number, word in enumerate(vocabulary)})
    spread = sums.measures.std(axis=0) + 1e-9
    scaled = sums.measures / spread
    kinds = len(NAMES) - KINDS
    words_transposed = sums.words.T.tocsr()

    def loss(values: Matrix) -> tuple[float, Matrix]:
        plain, of_words = values[: len(NAMES)], values[len(NAMES) :].reshape(len(vocabulary), kinds)
        own = np.tile(plain, (sums.words.shape[0], 1))
        own[:, KINDS:] += sums.words @ of_words
        scores = np.einsum("ij,ij->i", scaled, own[sums.of_question])
        scores -= np.maximum.reduceat(scores, sums.starts)[sums.of_question]
        logs = np.log(np.add.reduceat(np.exp(scores), sums.starts))
        likely = scores - logs[sums.of_question]
        error = (np.exp(likely) - sums.holds)[:, None] * scaled
        slopes = np.add.reduceat(error, sums.starts, axis=0)
        penalty = STRENGTH * (plain @ plain) + WORDS_STRENGTH * (of_words**2).sum()
        slope_words = words_transposed @ slopes[:, KINDS:] + 2 * WORDS_STRENGTH * of_words
        slope = np.concatenate([slopes.sum(axis=0) + 2 * STRENGTH * plain, slope_words.ravel()])
        return float(penalty - (sums.holds * likely).sum()), slope

    start = np.zeros(len(NAMES) + len(vocabulary) * kinds)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": ROUNDS}).x
    of_words = found[len(NAMES) :].reshape(len(vocabulary), kinds) / spread[KINDS:]
    return Weights(found[: len(NAMES)] / spread, dict(zip(vocabulary, of_words, strict=True)))


def _sums(asked: Sequence[Asked], bags: Sequence[set[str]], numbers: dict[str, int]) -> _Sums:
    parts, holds, kept = list[Matrix](), list[NDArray[np.float64]](), list[set[str]]()
    for one, bag in zip(asked, bags, strict=True):
        places, rows = measure(Question(one.question), [one.table])
        wanted = set(map(normalize_answer, one.answers))
        own = np.array(
            [
                (place.cell.row, place.cell.column) in one.cells
                if one.cells
                else normalize_answer(place.cell.text) in wanted
                for place in places
            ],
            dtype=np.float64,
        )
        if own.any():
            parts.append(rows)
            holds.append(own / own.sum())
            kept.append(bag)
    sizes = np.array([len(part) for part in parts])
    pairs = [(at, numbers[word]) for at, bag in enumerate(kept) for word in bag if word in numbers]
    coordinates = tuple(np.array(pairs, dtype=np.int64).reshape(-1, 2).T)
    matrix = csr_matrix((np.ones(len(pairs)), coordinates), shape=(len(kept), len(numbers)))
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return _Sums(np.concatenate(parts), np.concatenate(holds), starts, np.repeat(np.arange(len(sizes)), sizes), matrix)


def write(weights: Weights, path: Path) -> None:
    measures = {name: round(float(value), 3) for name, value in zip(NAMES, weights.measures, strict=True)}
    of_words = {
        word: [round(float(value), 2) for value in values]
        for word, values in weights.words.items()
        if float(np.abs(values).max()) >= KEPT
    }
    path.write_text(json.dumps({"measures": measures, "words": of_words}) + "\n", encoding="utf-8")
