"""Learn the built-in reranker from a training folder, and measure it by cross-validation over documents."""

import argparse
import json
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpus import open_corpus
from benchmarks.measures import PageRef, mean, read_questions, recall, select
from pincite.core.domain.logistic import LogisticModel
from pincite.core.domain.search import Candidate
from pincite.core.models.rank_features import EITHER_WAY, FEATURES
from pincite.core.questions.plan import plan_question
from training.training_folder import ONE_DOCUMENT

Matrix = NDArray[np.float64]
RIDGE = 10.0
"""Strength of the pull of all weights (of standardised figures) towards zero."""
ROUNDS = 3
"""How often the best passage of each evidence page is chosen again by the model learned so far."""
GIVEN = {"document match": 1.5, "numbered section": 3.0, "top section": 3.0, "path section": 3.0}
"""Weights that are set: documents made of paragraphs have neither companies nor headings that could teach them."""
ANCHORS = ((0.84, 0.50), (0.60, 0.99))
"""Score, and the share of evidence in unseen documents that reaches it."""
MAX_SAMPLES = 600
"""Searches that the model is learned from; the anchors and what is reported come from the others too."""
FLOORS = (0.50, 0.55, 0.60, 0.65, 0.70, 0.80)


@dataclass(frozen=True, slots=True)
class Sample:
    """One search: its candidates' pages and figures, and the pages that are evidence."""

    set: str
    scope: str
    document: str
    evidence: frozenset[PageRef]
    pages: tuple[PageRef, ...]
    rows: Matrix

    def relevant(self) -> NDArray[np.bool_]:
        return np.array([page in self.evidence for page in self.pages], dtype=bool)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directories", type=Path, nargs="+", help="folders with pdfs/ and questions.jsonl")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--write", type=Path, help="where to write the model learned from everything")


def run(options: argparse.Namespace) -> dict[str, Any]:
    samples = [sample for directory in options.directories for sample in collect(directory)]
    sums = cross_validate(samples, folds=options.folds)
    slope, shift = anchor(samples, sums)
    scores = [1 / (1 + np.exp(-(slope * own + shift))) for own in sums]
    learned = learn(samples)
    weights = {name: slope * weight for name, weight in learned.weights.items()}
    model = LogisticModel(slope * learned.bias + shift, weights)
    if options.write:
        options.write.write_text(json.dumps(model.to_json(5), indent=1) + "\n", encoding="utf-8")
    return {
        "searches": len(samples),
        "candidates": sum(len(sample.pages) for sample in samples),
        "recall_5": recall_table(samples, scores),
        "floors": floor_table(samples, scores),
        "model": model.to_json(5),
    }


def collect(directory: Path) -> list[Sample]:
    """Search every answerable question in both scopes and keep what the reranker would see."""
    corpus = open_corpus(directory)
    samples = []
    for question in select(read_questions(directory)):
        for scope in ("document",) if ONE_DOCUMENT in question.tags else ("document", "library"):
            chosen = [corpus.ids[name] for name in question.documents] if scope == "document" else []
            plan = plan_question(question.text)
            result = corpus.retriever.search(plan, corpus.documents, context_characters=1000, scope=chosen)
            candidates = sorted(result.rankings["reranked"], key=lambda candidate: -candidate.scores["fused"])
            samples.append(
                Sample(
                    set=directory.resolve().name,
                    scope=scope,
                    document=question.documents[0],
                    evidence=question.evidence,
                    pages=tuple((corpus.names[c.passage.document_id], c.passage.page_index) for c in candidates),
                    rows=_rows(candidates),
                )
            )
    return samples


def cross_validate(samples: Sequence[Sample], *, folds: int) -> list[Matrix]:
    """Score each sample by a model that has seen none of its document's questions."""
    documents = sorted({sample.document for sample in samples})
    random.Random(0).shuffle(documents)
    fold_of = {document: number % folds for number, document in enumerate(documents)}
    scores: list[Matrix] = [np.zeros(0)] * len(samples)
    for fold in range(folds):
        model = learn([sample for sample in samples if fold_of[sample.document] != fold])
        for number, sample in enumerate(samples):
            if fold_of[sample.document] == fold:
                scores[number] = _sums(model, sample.rows)
    return scores


def anchor(samples: Sequence[Sample], sums: Sequence[Matrix]) -> tuple[float, float]:
    """Slope and shift that put ANCHORS' shares of the evidence at or above ANCHORS' scores."""
    best = []
    for sample, own in zip(samples, sums, strict=True):
        for page in sample.evidence.intersection(sample.pages):
            best.append(max(value for value, place in zip(own.tolist(), sample.pages, strict=True) if place == page))
    (high, share_high), (low, share_low) = ANCHORS
    at_high, at_low = np.quantile(best, [1 - share_high, 1 - share_low]).tolist()
    odds_high, odds_low = math.log(high / (1 - high)), math.log(low / (1 - low))
    slope = (odds_high - odds_low) / max(at_high - at_low, 1e-6)
    return slope, odds_high - slope * at_high


def _rows(candidates: Sequence[Candidate]) -> Matrix:
    """Shape (candidates, features)."""
    rows = [[candidate.scores.get(name, 0.0) for name in FEATURES] for candidate in candidates]
    return np.array(rows, dtype=np.float64).reshape(len(candidates), len(FEATURES))


def _sums(model: LogisticModel, rows: Matrix) -> Matrix:
    """Log-odds of rows of shape (n, features), as far out as they go."""
    sums: Matrix = rows @ np.array([model.weights.get(name, 0.0) for name in FEATURES]) + model.bias
    return sums


def learn(samples: Sequence[Sample]) -> LogisticModel:
    """Fit a logistic model to the best passage of each evidence page against all passages of other pages.

    Only pages are labelled; the model of the previous round decides which passage of a page contains the evidence.
    """
    scores = [-np.arange(len(sample.pages), dtype=np.float64) for sample in samples]
    chosen = random.Random(0).sample(range(len(samples)), min(MAX_SAMPLES, len(samples)))
    samples, scores = [samples[place] for place in chosen], [scores[place] for place in chosen]
    model = LogisticModel(0.0, {})
    for _ in range(ROUNDS):
        rows, labels = _training_rows(samples, scores)
        model = fit_logistic(rows, labels)
        scores = [_sums(model, sample.rows) for sample in samples]
    return model


def _training_rows(samples: Sequence[Sample], scores: Sequence[Matrix]) -> tuple[Matrix, Matrix]:
    rows, labels = [], []
    for sample, score in zip(samples, scores, strict=True):
        relevant = sample.relevant()
        best: dict[PageRef, int] = {}
        for place in np.flatnonzero(relevant).tolist():
            page = sample.pages[place]
            if page not in best or score[place] > score[best[page]]:
                best[page] = place
        rows += [sample.rows[~relevant], sample.rows[list(best.values())]]
        labels += [np.zeros(int((~relevant).sum())), np.ones(len(best))]
    return np.concatenate(rows), np.concatenate(labels)


def fit_logistic(rows: Matrix, labels: Matrix) -> LogisticModel:
    """Fit; while a figure that can only speak for a passage weighs below zero, leave the worst out and fit again."""
    given = np.array([GIVEN.get(name, 0.0) for name in FEATURES])
    free = np.array([name in EITHER_WAY for name in FEATURES])
    kept = given == 0
    while True:
        weights, bias = _newton(rows[:, kept], labels, rows @ given)
        full = given.copy()
        full[kept] = weights
        effect = np.where(free, 0.0, full * rows.std(axis=0))
        if effect.min() >= 0:
            return LogisticModel(bias, dict(zip(FEATURES, full.tolist(), strict=True)))
        kept[effect.argmin()] = False


def _newton(rows: Matrix, labels: Matrix, offset: Matrix) -> tuple[Matrix, float]:
    """Newton's method on the ridge-penalised likelihood; the bias is moved to equal odds of both classes."""
    centre, spread = rows.mean(axis=0), rows.std(axis=0)
    spread[spread < 1e-9] = 1.0
    design = np.hstack([(rows - centre) / spread, np.ones((len(rows), 1))])
    penalty = np.diag([RIDGE] * rows.shape[1] + [1e-6])
    weights = np.zeros(design.shape[1])
    for _ in range(30):
        chances = 1 / (1 + np.exp(-np.clip(design @ weights + offset, -30, 30)))
        gradient = design.T @ (chances - labels) + penalty @ weights
        curvature = (design.T * (chances * (1 - chances))) @ design + penalty
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step
        if float(np.abs(step).max()) < 1e-6:
            break
    plain = weights[:-1] / spread
    usual = float(labels.mean())
    return plain, float(weights[-1] - centre @ plain) - math.log(usual / (1 - usual))


def recall_table(samples: Sequence[Sample], scores: Sequence[Matrix]) -> dict[str, Any]:
    """Page R@5 before and after reranking, and with all candidates, by set and scope."""
    table = {}
    for name in sorted({f"{sample.set}, {sample.scope}" for sample in samples}):
        inside = [(s, score) for s, score in zip(samples, scores, strict=True) if f"{s.set}, {s.scope}" == name]
        table[name] = {
            "searches": len(inside),
            "fused": mean(recall(list(dict.fromkeys(s.pages)), s.evidence, 5) for s, _ in inside),
            "reranked": mean(recall(ranked_pages(s, score), s.evidence, 5) for s, score in inside),
            "all candidates": mean(recall(list(dict.fromkeys(s.pages)), s.evidence, 1000) for s, _ in inside),
        }
    return table


def ranked_pages(sample: Sample, scores: Matrix) -> list[PageRef]:
    order = np.argsort(-scores, kind="stable").tolist()
    return list(dict.fromkeys(sample.pages[place] for place in order))


def floor_table(samples: Sequence[Sample], scores: Sequence[Matrix]) -> dict[str, Any]:
    """What a score floor means: how much of the evidence found passes it, and how much of what passes is evidence."""
    table = {}
    for floor in FLOORS:
        passing = evidence_found = evidence_passing = relevant_passing = 0
        for sample, score in zip(samples, scores, strict=True):
            relevant = sample.relevant()
            found = {page for page, is_evidence in zip(sample.pages, relevant, strict=True) if is_evidence}
            kept = {page for page, value in zip(sample.pages, score, strict=True) if value >= floor}
            evidence_found += len(found)
            evidence_passing += len(found & kept)
            passing += int((score >= floor).sum())
            relevant_passing += int((relevant & (score >= floor)).sum())
        table[f"{floor:.2f}"] = {
            "evidence pages kept": round(evidence_passing / max(evidence_found, 1), 3),
            "passages on evidence pages": round(relevant_passing / max(passing, 1), 3),
            "passages a search": round(passing / max(len(samples), 1), 1),
        }
    return table
