"""Fit the judge's confidence on labelled answers and claims, and write it as data.

Every figure comes from a fit that did not see the source: of the labelled answers whole sets are left out. The single
claims (our own passages that the checker was not trained on, and left-out keys of open data) are fitted with them, so
that a claim's doubt also holds for paraphrases; they are one set.
"""

import argparse
import json
import pickle
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.groundedness import LabelledAnswer, measure_set, read_answers
from pincite.core.domain.logistic import LogisticModel
from pincite.core.judge.confidence import ConfidenceModels, log_scaled, reliability, threshold_effects
from pincite.core.judge.features import MEANING, ClaimMeasure, measure_answer, measure_claims
from pincite.core.judge.judge import capped, status_of
from pincite.core.judge.sources import Sources
from training.checker.examples import LABELS, OWN_LEFT_OUT, load_rows, own_rows

Numbers = NDArray[np.float64]
Rows = NDArray[np.intp]
OUTPUT = Path(__file__).parents[1] / "core" / "judge" / "confidence.json"
FOLDS = 5
INNER_FOLDS = 4
CLAIM_PENALTY, ANSWER_PENALTY = 100.0, 1.0
"""Chosen on the sets that were left out: what does as well on the same sets with less of it does worse on others."""
UNSPANNED_WEIGHT = 0.5
"""Weight of a claim of a hallucinated answer without marked wrong spans, which may be right or wrong."""
MODELS = ("claim", "answer", "claim_by_words", "answer_by_words")
OPEN_CLAIMS = 1_500
CLAIMS_SET = "claims"
CLAIMS_WEIGHT = 0.1
"""Weight of the single claims, against a set of labelled answers, in the fit of an answer's confidence."""
SEED = 20261128


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "file", type=Path, help="answers.jsonl with id, set, question, sources, answer, hallucinated, spans"
    )
    parser.add_argument("training", type=Path, help="the folder with the training data of the checker")
    parser.add_argument("--measures", type=Path, metavar="FILE", help="keep what was measured, and go on from it")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where to write the models")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Measure with sources and with whole sets left out, then fit on everything and write the models."""
    data = load_data(args.file, args.training, args.measures)
    answers = data.rows_of_answers
    figures, by_words, confidences = _figures(data)
    faithful = [not data.answers[row].hallucinated for row in answers]
    effects = threshold_effects(list(confidences), faithful)
    measured = {
        **figures,
        "by_words": by_words,
        "reliability": [
            [part.count, part.confidence, part.faithful] for part in reliability(list(confidences), faithful)
        ],
        "thresholds": [[threshold, effect.flagged, effect.caught] for threshold, effect in effects.items()],
    }
    models = fit(data, np.arange(len(data.answers)))
    fitted = {name: getattr(models, name).to_json(6) for name in MODELS}
    content = {**fitted, "measured": _rounded(measured)}
    args.output.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")
    return {"written": str(args.output), "bytes": args.output.stat().st_size, **measured}


@dataclass(frozen=True, slots=True)
class Data:
    """Labelled answers with the measures of their claims; single claims are answers of the set `CLAIMS_SET`."""

    answers: Sequence[LabelledAnswer]
    measures: Sequence[tuple[ClaimMeasure, ...]]

    @property
    def features(self) -> list[str]:
        return list(next(measure.features for own in self.measures for measure in own))

    def labels(self, rows: Rows) -> Numbers:
        return np.array([float(self.answers[row].hallucinated) for row in rows])

    @property
    def rows_of_answers(self) -> Rows:
        return np.array([row for row, one in enumerate(self.answers) if one.set != CLAIMS_SET])

    @property
    def sets(self) -> dict[str, Rows]:
        names = dict.fromkeys(one.set for one in self.answers)
        return {name: np.array([row for row, one in enumerate(self.answers) if one.set == name]) for name in names}

    def folds(self, rows: Rows, count: int) -> Iterator[tuple[Rows, Rows]]:
        """Yield rows to fit on and rows to measure; no source is in both."""
        from sklearn.model_selection import GroupKFold

        groups = [self.answers[row].group for row in rows]
        for train, test in GroupKFold(count, shuffle=True, random_state=0).split(rows, groups=groups):
            yield rows[train], rows[test]

    def claims(self, rows: Rows) -> Iterator[tuple[ClaimMeasure, float, float, str]]:
        """Yield each claim with its label, the weight of the label, and its set."""
        for row in rows:
            answer = self.answers[row]
            unmarked = answer.hallucinated and not answer.spans
            for measure in self.measures[row]:
                wrong = unmarked or answer.touches(measure.claim.start, measure.claim.end)
                weight = UNSPANNED_WEIGHT if unmarked and answer.set != CLAIMS_SET else 1.0
                yield measure, float(wrong), weight, answer.set


def load_data(file: Path, training: Path, kept: Path | None = None) -> Data:
    """Measure all labelled answers and claims, or read what was measured before."""
    if kept and kept.exists():
        data: Data = pickle.loads(kept.read_bytes())
        return data
    answers = [*read_answers(file), *_single_claims(training)]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        measures = list(pool.map(_measured_answer, answers, chunksize=16))
    data = Data(answers, measures)
    if kept:
        kept.write_bytes(pickle.dumps(data))
    return data


def _measured_answer(row: LabelledAnswer) -> tuple[ClaimMeasure, ...]:
    return measure_claims(row.answer, Sources.of(row.sources, row.question))


def _single_claims(training: Path) -> Iterator[LabelledAnswer]:
    chance = random.Random(SEED)
    own = [row for row in own_rows(chance, joined=False) if row.source in OWN_LEFT_OUT]
    others = [row for row in load_rows(training, "test", seed=SEED) if row.source not in {*OWN_LEFT_OUT, "orders"}]
    for number, row in enumerate([*own, *chance.sample(others, OPEN_CLAIMS)]):
        wrong = row.label != LABELS["supported"]
        yield LabelledAnswer(f"claim-{number}", CLAIMS_SET, "", (row.context,), row.claim, wrong, ())


def _figures(data: Data) -> tuple[dict[str, Any], dict[str, Any], Numbers]:
    """Return the figures of every set, left out and in folds over sources, with the checker and by words alone.

    Also the confidences of the labelled answers with the checker, in folds.
    """
    everything, answers = np.arange(len(data.answers)), data.rows_of_answers
    shown = np.zeros((2, len(data.answers)))
    for train, test in data.folds(everything, FOLDS):
        shown[:, test] = _confidences(data, test, fit(data, train))
    left_out = np.zeros_like(shown)
    for rows in data.sets.values():
        left_out[:, rows] = _confidences(data, rows, fit(data, np.setdiff1d(everything, rows)))
    reports = [
        {
            "left_out": {name: _measured(data, rows, left_out[way][rows]) for name, rows in data.sets.items()},
            "sets": {name: _measured(data, rows, shown[way][rows]) for name, rows in data.sets.items()},
            "all": _measured(data, answers, shown[way][answers]),
        }
        for way in (0, 1)
    ]
    return reports[0], reports[1], shown[0][answers]


def fit(data: Data, rows: Rows) -> ConfidenceModels:
    """Fit claim and answer models; the latter see only doubts about claims that the former were not fitted on."""
    labelled = np.array([row for row in rows if data.answers[row].set != CLAIMS_SET])
    doubts: dict[bool, dict[int, list[float]]] = {}
    claim_models = {}
    for checked, own in ((True, rows), (False, labelled)):
        names = data.features if checked else [one for one in data.features if one not in MEANING]
        claim_models[checked] = model = _fit_claims(data, own, names)
        doubts[checked] = {int(row): _doubts(data.measures[row], model) for row in rows}
        for train, test in data.folds(own, INNER_FOLDS):
            inner = _fit_claims(data, train, names)
            doubts[checked] |= {int(row): _doubts(data.measures[row], inner) for row in test}

    def features(row: int, *, checked: bool) -> dict[str, float]:
        known = doubts[True][row] if checked else None
        return measure_answer(data.measures[row], doubts[False][row], known)

    answer_models = {}
    for checked, own in ((True, rows), (False, labelled)):
        sets = [data.answers[row].set for row in own]
        weights = _evened(np.ones(len(own)), sets) * np.where(np.array(sets) == CLAIMS_SET, CLAIMS_WEIGHT, 1.0)
        answer_features = [features(int(row), checked=checked) for row in own]
        model = _fit_model(answer_features, data.labels(own), weights, ANSWER_PENALTY)
        answer_models[checked] = _recalibrated(
            model, [features(int(row), checked=checked) for row in labelled], data.labels(labelled)
        )
    return ConfidenceModels(
        claim_models[True], answer_models[True], claim_models[False], answer_models[False], measured={}
    )


def _doubts(measures: Sequence[ClaimMeasure], model: LogisticModel) -> list[float]:
    return [model.probability(log_scaled(one.features)) for one in measures]


def _fit_claims(data: Data, rows: Rows, names: Sequence[str]) -> LogisticModel:
    measures, labels, weights, sets = zip(*data.claims(rows), strict=True)
    features = [{name: measure.features[name] for name in names} for measure in measures]
    single = np.array(sets) == CLAIMS_SET
    evened = _evened(np.array(weights), sets) * np.where(single, len({*sets} - {CLAIMS_SET}) or 1, 1)
    return _fit_model(features, np.array(labels), evened, CLAIM_PENALTY)


def _recalibrated(model: LogisticModel, features: Sequence[Mapping[str, float]], labels: Numbers) -> LogisticModel:
    """Keep the order of a model and fit slope and intercept to labelled answers: single claims are wrong more often."""
    from sklearn.linear_model import LogisticRegression

    scores = np.array([[model.log_odds(log_scaled(one))] for one in features])
    line = LogisticRegression(C=1e6).fit(scores, labels)
    slope, intercept = float(line.coef_[0, 0]), float(line.intercept_[0])
    weights = {name: weight * slope for name, weight in model.weights.items()}
    return LogisticModel(model.bias * slope + intercept, weights)


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

    rows = [log_scaled(row) for row in features]
    table = np.array([list(row.values()) for row in rows])
    mean, scale = table.mean(axis=0), table.std(axis=0) + 1e-6
    model = LogisticRegression(C=1 / penalty, max_iter=400)
    model.fit((table - mean) / scale, labels, sample_weight=weights)
    own = model.coef_[0] / scale
    return LogisticModel(float(model.intercept_[0] - own @ mean), dict(zip(rows[0], own.tolist(), strict=True)))


def _confidences(data: Data, rows: Rows, models: ConfidenceModels) -> Numbers:
    """Return the confidences that would be shown, with the checker and by words alone; shape (2, rows)."""
    shown = np.zeros((2, len(rows)))
    for place, row in enumerate(rows):
        for way, measures in enumerate((data.measures[row], _by_words(data.measures[row]))):
            statuses = [status_of(one, models.doubt(one))[0] for one in measures]
            shown[way, place] = capped(models.confidence(measures), statuses)
    return shown


def _by_words(measures: Sequence[ClaimMeasure]) -> list[ClaimMeasure]:
    return [one if one.repeated else replace(one, meaning=None) for one in measures]


def _measured(data: Data, rows: Rows, confidences: Numbers) -> dict[str, Any]:
    return measure_set([data.answers[row] for row in rows], confidences)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_rounded(child) for child in value]
    return round(value, 4) if isinstance(value, float) else value
