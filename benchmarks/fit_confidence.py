"""Fit the judge's confidence on labelled answers, with cross-validation by source, and write it as data."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.groundedness import LabelledAnswer, measure_set, read_answers
from core.judge.confidence import QuadraticModel, expand, reliability, tabulated, threshold_effect
from core.judge.features import ClaimMeasure, measure_answer, measure_claims
from core.judge.sources import Sources

Numbers = NDArray[np.float64]
OUTPUT = Path(__file__).parents[1] / "core" / "grounding" / "confidence.json"
INNER_FOLDS = 4
CLAIM_PENALTY, ANSWER_PENALTY = 1000.0, 60.0
"""Strong: on the same sets weaker ones do as well, on a set that was left out of the fit they do worse."""
UNSPANNED_WEIGHT = 0.5
"""A claim of a hallucinated answer whose wrong spans nobody marked may be right or wrong."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "file", type=Path, help="answers.jsonl with id, set, question, sources, answer, hallucinated, spans"
    )
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where to write the models")
    parser.add_argument("--folds", type=int, default=5, help="folds of the outer cross-validation")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Measure by nested cross-validation, then fit on everything and write the models."""
    data = _Data(read_answers(args.file))
    confidences = np.zeros(len(data.answers))
    for train, test in data.folds(np.arange(len(data.answers)), args.folds):
        claim, answer = _fit(data, train)
        confidences[test] = _confidences(data, test, QuadraticModel(claim), QuadraticModel(answer))
    unseen = {name: _measure_unseen(data, rows) for name, rows in data.sets.items()}
    claim, answer = _fit(data, np.arange(len(data.answers)))
    faithful = [not row.hallucinated for row in data.answers]
    measured = {
        "sets": {
            name: measure_set([data.answers[i] for i in rows], confidences[rows]) for name, rows in data.sets.items()
        },
        "all": measure_set(data.answers, confidences),
        "reliability": [
            [part.count, part.confidence, part.faithful] for part in reliability(list(confidences), faithful)
        ],
        "thresholds": [
            [threshold, effect.flagged, effect.caught]
            for threshold in (round(0.05 * step, 2) for step in range(1, 20))
            for effect in [threshold_effect(list(confidences), faithful, threshold)]
        ],
    }
    content = {"claim": claim, "answer": answer, "measured": _rounded(measured)}
    args.output.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")
    return {"written": str(args.output), "bytes": args.output.stat().st_size, **measured, "unseen": unseen}


def render(result: Mapping[str, Any]) -> str:
    """Return the cross-validated figures as lines of text."""
    lines = [f"wrote {result['written']} ({result['bytes']:,} bytes); cross-validated by source:"]
    for name, row in {**result["sets"], "all": result["all"]}.items():
        lines.append(f"  {name:18} n {row['n']:5}  AUROC {row['auroc']:.3f}  ECE {row['ece']:.3f}  F1 {row['f1']:.3f}")
    lines.append("each set by a fit on the other sets alone:")
    for name, row in result["unseen"].items():
        lines.append(f"  {name:18} n {row['n']:5}  AUROC {row['auroc']:.3f}  ECE {row['ece']:.3f}")
    return "\n".join(lines)


class _Data:
    """Labelled answers with their measures, and groups so that no source sits in train and test."""

    def __init__(self, answers: list[LabelledAnswer]) -> None:
        self.answers = answers
        self.pools = [Sources.of(answer.sources, answer.question) for answer in answers]
        self.measures = [measure_claims(a.answer, pool) for a, pool in zip(answers, self.pools, strict=True)]
        self.groups = np.unique([answer.group for answer in answers], return_inverse=True)[1]
        names = list(dict.fromkeys(answer.set for answer in answers))
        self.sets = {n: np.array([i for i, answer in enumerate(answers) if answer.set == n]) for n in names}
        size = max(len(rows) for rows in self.sets.values())
        self.weights = np.array([size / len(self.sets[answer.set]) for answer in answers])
        self.labels = np.array([answer.hallucinated for answer in answers], dtype=np.float64)

    def folds(self, rows: NDArray[np.intp], count: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        from sklearn.model_selection import GroupKFold

        splitter = GroupKFold(count, shuffle=True, random_state=0)
        for train, test in splitter.split(rows, groups=self.groups[rows]):
            yield rows[train], rows[test]

    def claims(self, rows: NDArray[np.intp]) -> list[ClaimMeasure]:
        return [measure for row in rows for measure in self.measures[row]]

    def claim_labels(self, rows: NDArray[np.intp]) -> tuple[Numbers, Numbers]:
        labels, weights = [], []
        for row in rows:
            answer = self.answers[row]
            for measure in self.measures[row]:
                unmarked = answer.hallucinated and not answer.spans
                labels.append(1.0 if unmarked else float(answer.touches(measure.claim.start, measure.claim.end)))
                weights.append(UNSPANNED_WEIGHT if unmarked else 1.0)
        return np.array(labels), np.array(weights)


def _fit(data: _Data, rows: NDArray[np.intp]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fit both models; the second sees only doubts about claims that the first was not fitted on."""
    features: dict[int, dict[str, float]] = {}
    for train, test in data.folds(rows, INNER_FOLDS):
        features |= _answer_features(data, test, QuadraticModel(_fit_claims(data, train)))
    answer = _fit_model([features[int(row)] for row in rows], data.labels[rows], data.weights[rows], ANSWER_PENALTY)
    return _fit_claims(data, rows), answer


def _measure_unseen(data: _Data, rows: NDArray[np.intp]) -> dict[str, Any]:
    """What to expect of answers of another kind than those that were fitted on."""
    claim, answer = _fit(data, np.setdiff1d(np.arange(len(data.answers)), rows))
    confidences = _confidences(data, rows, QuadraticModel(claim), QuadraticModel(answer))
    return measure_set([data.answers[row] for row in rows], confidences)


def _fit_claims(data: _Data, rows: NDArray[np.intp]) -> dict[str, Any]:
    labels, weights = data.claim_labels(rows)
    return _fit_model([dict(measure.features) for measure in data.claims(rows)], labels, weights, CLAIM_PENALTY)


def _fit_model(
    features: Sequence[Mapping[str, float]], labels: Numbers, weights: Numbers, penalty: float
) -> dict[str, Any]:
    from sklearn.linear_model import LogisticRegression

    names = list(features[0])
    table = tabulated(features, names)
    mean, scale = table.mean(axis=0), table.std(axis=0) + 1e-6
    expanded = expand((table - mean) / scale)
    spread = expanded.std(axis=0) + 1e-6  # so that the penalty weighs squares and products like plain features
    model = LogisticRegression(C=1 / penalty, max_iter=400)
    model.fit(expanded / spread, labels, sample_weight=weights)
    return {
        "features": names,
        "mean": [round(float(value), 6) for value in mean],
        "scale": [round(float(value), 6) for value in scale],
        "coefficients": [round(float(value), 6) for value in model.coef_[0] / spread],
        "intercept": round(float(model.intercept_[0]), 6),
    }


def _answer_features(data: _Data, rows: NDArray[np.intp], model: QuadraticModel) -> dict[int, dict[str, float]]:
    found = {}
    for row in map(int, rows):
        doubts = [float(doubt) for doubt in model.probabilities([m.features for m in data.measures[row]])]
        found[row] = measure_answer(data.measures[row], doubts, data.pools[row])
    return found


def _confidences(data: _Data, rows: NDArray[np.intp], claim: QuadraticModel, answer: QuadraticModel) -> Numbers:
    features = _answer_features(data, rows, claim)
    return 1 - answer.probabilities([features[int(row)] for row in rows])


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_rounded(child) for child in value]
    return round(value, 4) if isinstance(value, float) else value
