"""Fit which questions about a table want the row with the most or the least of a column, and measure it left out."""

import argparse
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import Asked, normalize_answer, read_questions
from pincite.core.figures.extremes import KINDS, Column, ExtremeWeights, asked_column

OUTPUT = Path(__file__).parents[1] / "core" / "figures" / "extremes.json"
SOURCE = "wtq"
MIN_USES = 8
STRENGTH = 0.2
FOLDS = 5
ALIKE = (
    ("most", "highest", "largest", "greatest", "biggest", "maximum", "dearest", "costliest", "heaviest", "tallest"),
    ("least", "lowest", "smallest", "fewest", "minimum", "cheapest", "lightest", "shortest"),
)
"""Words that are put in each other's place, so that a question counts the same in any of them."""
KEPT = 0.02
"""Smaller weights are not written."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="a folder with tables.jsonl.gz")
    parser.add_argument("--output", type=Path, default=OUTPUT)


def run(options: argparse.Namespace) -> dict[str, Any]:
    asked = read_questions(options.directory, SOURCE, 10**6)
    asked = [replace(one, question=text) for one in asked for text in dict.fromkeys(_wordings(one.question))]
    columns = [(one, column) for one in asked if (column := asked_column(one.question, [one.table]))]
    kinds = np.array([_kind(one, column) for one, column in columns])
    uses = Counter(name for _, column in columns for name in column.features)
    rows = [{n: v for n, v in column.features.items() if uses[n] >= MIN_USES} for _, column in columns]
    tables = np.unique([str(id(one.table)) for one, _ in columns], return_inverse=True)[1]
    chances = _left_out(rows, kinds, tables)
    weights = _fit(rows, kinds)
    options.output.write_text(json.dumps(weights.of, separators=(",", ":")) + "\n", encoding="utf-8")
    said_of, chosen = chances[:, 1:].max(axis=1), chances[:, 1:].argmax(axis=1) + 1
    return {
        "questions": dict(zip(KINDS, np.bincount(kinds, minlength=len(KINDS)).tolist(), strict=True)),
        "features": len(weights.of),
        "from": {
            least: {
                "shown": int((said_of >= least).sum()),
                "right": float((chosen == kinds)[said_of >= least].mean()),
                "said": float(said_of[said_of >= least].mean()),
            }
            for least in (0.5, 0.6, 0.7, 0.8)
        },
    }


def _wordings(question: str) -> Iterator[str]:
    """Yield the question, and the same in another word for the most or the least."""
    yield question
    for alike in ALIKE:
        for word in alike:
            if re.search(rf"\b{word}\b", question, re.IGNORECASE):
                others = [other for other in alike if other != word]
                chosen = others[zlib.crc32(question.encode()) % len(others)]
                yield re.sub(rf"\b{word}\b", chosen, question, flags=re.IGNORECASE)


def _kind(one: Asked, column: Column) -> int:
    """Return whether the answer is the name of the one row with the most, or the least, of the column."""
    for kind, ends in ((1, column.most), (2, column.least)):
        if len(ends) == 1:
            row = ends[0][1].row
            named = [
                normalize_answer(cell.text)
                for cell in one.table.cells
                if (cell.row, cell.column) == (row, column.label)
            ]
            if named and named == [normalize_answer(answer) for answer in one.answers]:
                return kind
    return 0


def _fit(rows: Sequence[Mapping[str, float]], kinds: NDArray[np.int64]) -> ExtremeWeights:
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    table = DictVectorizer()
    model = LogisticRegression(C=STRENGTH, max_iter=3_000).fit(table.fit_transform(rows), kinds)
    weights = {
        str(name): [round(float(value), 3) for value in model.coef_[:, at]]
        for at, name in enumerate(table.get_feature_names_out())
        if np.abs(model.coef_[:, at]).max() >= KEPT
    }
    return ExtremeWeights(weights | {"bias": [round(float(value), 3) for value in model.intercept_]})


def _left_out(
    rows: Sequence[Mapping[str, float]], kinds: NDArray[np.int64], tables: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the chances of each question, by a fit on other tables."""
    from sklearn.model_selection import GroupKFold

    chances = np.zeros((len(rows), len(KINDS)))
    for train, test in GroupKFold(FOLDS, shuffle=True, random_state=0).split(rows, groups=tables):
        weights = _fit([rows[at] for at in train], kinds[train])
        chances[test] = [weights.chances(rows[at]) for at in test]
    return chances
