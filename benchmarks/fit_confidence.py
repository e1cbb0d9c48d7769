"""Fit the judge's confidence on labelled answers and write it as data; measured on sets that the fit never saw."""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.groundedness import LabelledAnswer, measure_set, read_answers
from core.domain.answers import ClaimStatus
from core.domain.logistic import LogisticModel
from core.judge.confidence import ConfidenceModels, drawn_in, reliability, threshold_effects
from core.judge.features import ClaimMeasure, measure_answer, measure_claims
from core.judge.judge import capped, status_of
from core.judge.sources import Sources

Numbers = NDArray[np.float64]
OUTPUT = Path(__file__).parents[1] / "core" / "judge" / "confidence.json"
FOLDS = 5
INNER_FOLDS = 4
CLAIM_PENALTY, ANSWER_PENALTY = 100.0, 1.0
"""Chosen on the sets that were left out: what does as well on the same sets with less of it does worse on others."""
UNSPANNED_WEIGHT = 0.5
"""A claim of a hallucinated answer whose wrong spans nobody marked may be right or wrong."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "file", type=Path, help="answers.jsonl with id, set, question, sources, answer, hallucinated, spans"
    )
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where to write the models")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Measure with sources and with whole sets left out, then fit on everything and write the models."""
    data = _Data(read_answers(args.file))
    everything = np.arange(len(data.answers))
    confidences = np.zeros(len(data.answers))
    for train, test in data.folds(everything, FOLDS):
        confidences[test] = _confidences(data, test, _fit(data, train))
    left_out = {
        name: _measured(data, rows, _confidences(data, rows, _fit(data, np.setdiff1d(everything, rows))))
        for name, rows in data.sets.items()
    }
    faithful = [not row.hallucinated for row in data.answers]
    effects = threshold_effects(list(confidences), faithful)
    measured = {
        "left_out": left_out,
        "sets": {name: _measured(data, rows, confidences[rows]) for name, rows in data.sets.items()},
        "all": _measured(data, everything, confidences),
        "reliability": [
            [part.count, part.confidence, part.faithful] for part in reliability(list(confidences), faithful)
        ],
        "thresholds": [[threshold, effect.flagged, effect.caught] for threshold, effect in effects.items()],
    }
    claim, answer = _fit(data, everything)
    content = {"claim": claim.to_json(6), "answer": answer.to_json(6), "measured": _rounded(measured)}
    args.output.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")
    return {"written": str(args.output), "bytes": args.output.stat().st_size, **measured}


class _Data:
    """Labelled answers with their measures, and groups so that no source sits in train and test."""

    def __init__(self, answers: list[LabelledAnswer]) -> None:
        self.answers = answers
        self.measures = [measure_claims(row.answer, Sources.of(row.sources, row.question)) for row in answers]
        self.groups = np.unique([answer.group for answer in answers], return_inverse=True)[1]
        names = dict.fromkeys(answer.set for answer in answers)
        self.sets = {n: np.array([i for i, answer in enumerate(answers) if answer.set == n]) for n in names}
        self.labels = np.array([answer.hallucinated for answer in answers], dtype=np.float64)

    def folds(self, rows: NDArray[np.intp], count: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        from sklearn.model_selection import GroupKFold

        for train, test in GroupKFold(count, shuffle=True, random_state=0).split(rows, groups=self.groups[rows]):
            yield rows[train], rows[test]

    def claims(self, rows: NDArray[np.intp]) -> Iterator[tuple[ClaimMeasure, float, float, str]]:
        """Yield each claim with its label, the weight of the label, and its set."""
        for row in rows:
            answer = self.answers[row]
            unmarked = answer.hallucinated and not answer.spans
            for measure in self.measures[row]:
                wrong = unmarked or answer.touches(measure.claim.start, measure.claim.end)
                yield measure, float(wrong), UNSPANNED_WEIGHT if unmarked else 1.0, answer.set


def _fit(data: _Data, rows: NDArray[np.intp]) -> tuple[LogisticModel, LogisticModel]:
    """Fit both models; the second sees only doubts about claims that the first was not fitted on."""
    features: dict[int, dict[str, float]] = {}
    for train, test in data.folds(rows, INNER_FOLDS):
        model = _fit_claims(data, train)
        features |= {int(row): _answer_features(data.measures[row], model) for row in test}
    answer = _fit_model(
        [features[int(row)] for row in rows],
        data.labels[rows],
        _evened(np.ones(len(rows)), [data.answers[row].set for row in rows]),
        ANSWER_PENALTY,
    )
    return _fit_claims(data, rows), answer


def _fit_claims(data: _Data, rows: NDArray[np.intp]) -> LogisticModel:
    measures, labels, weights, sets = zip(*data.claims(rows), strict=True)
    evened = _evened(np.array(weights), sets)
    return _fit_model([measure.features for measure in measures], np.array(labels), evened, CLAIM_PENALTY)


def _evened(weights: Numbers, sets: Sequence[str]) -> Numbers:
    """Let every set weigh the same, on the whole as much as its members did on average."""
    names = np.array(sets)
    evened = weights.copy()
    for name in np.unique(names):
        evened[names == name] *= len(names) / len(np.unique(names)) / weights[names == name].sum()
    return evened


def _fit_model(
    features: Iterable[Mapping[str, float]], labels: Numbers, weights: Numbers, penalty: float
) -> LogisticModel:
    from sklearn.linear_model import LogisticRegression

    rows = [drawn_in(row) for row in features]
    table = np.array([list(row.values()) for row in rows])
    mean, scale = table.mean(axis=0), table.std(axis=0) + 1e-6
    model = LogisticRegression(C=1 / penalty, max_iter=400)
    model.fit((table - mean) / scale, labels, sample_weight=weights)
    own = model.coef_[0] / scale
    return LogisticModel(float(model.intercept_[0] - own @ mean), dict(zip(rows[0], own.tolist(), strict=True)))


def _answer_features(measures: Sequence[ClaimMeasure], model: LogisticModel) -> dict[str, float]:
    return measure_answer(measures, [model.probability(drawn_in(one.features)) for one in measures])


def _confidences(data: _Data, rows: NDArray[np.intp], fitted: tuple[LogisticModel, LogisticModel]) -> Numbers:
    """Return the confidence that would be shown of each answer."""
    models = ConfidenceModels(*fitted, {})
    shown = []
    for row in rows:
        measures = data.measures[row]
        doubts = models.doubts(measures)
        shown.append(capped(models.confidence(measure_answer(measures, doubts)), _statuses(measures, doubts)))
    return np.array(shown)


def _statuses(measures: Sequence[ClaimMeasure], doubts: Sequence[float]) -> list[ClaimStatus]:
    return [
        status_of(measure.findings, doubt, measure.features["held"])[0]
        for measure, doubt in zip(measures, doubts, strict=True)
    ]


def _measured(data: _Data, rows: NDArray[np.intp], confidences: Numbers) -> dict[str, Any]:
    return measure_set([data.answers[row] for row in rows], confidences)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_rounded(child) for child in value]
    return round(value, 4) if isinstance(value, float) else value
