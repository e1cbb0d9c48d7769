"""Fit the weights by which quoting chooses what to quote, with the documents kept apart; prints them to be pasted."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

from benchmarks.answers import contains, gold_answers, held_items
from benchmarks.corpus import Corpus, open_corpus
from benchmarks.measures import Question, mean, read_questions
from core.models.selection import WEIGHTS, measure, units_of
from core.search.plan import plan_question

Matrix = NDArray[np.float64]
STRENGTH = 0.05
"""Inverse of the penalty: few questions, so strong."""
FOLDS = 6
QUOTES = 8


@dataclass(frozen=True, slots=True)
class Measured:
    """The units of one question's evidence: their measures, and which of them hold the answer on a marked page."""

    document: str
    rows: Matrix
    holds: NDArray[np.bool_]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="a folder with pdfs/ and questions.jsonl")


def run(options: argparse.Namespace) -> dict[str, Any]:
    corpus = open_corpus(options.directory)
    gold = gold_answers(options.directory)
    measured = [measure_question(corpus, question, gold[question.id]) for question in read_questions(options.directory)]
    usable = [one for one in measured if one is not None and len(one.rows)]
    groups = [one.document for one in usable]
    found = []
    for train, test in GroupKFold(min(FOLDS, len(set(groups)))).split(usable, groups=groups):
        weights, intercept = fit([usable[index] for index in train])
        for one in (usable[index] for index in test):
            best = np.argsort(-(one.rows @ weights + intercept))[:QUOTES]
            found.append(bool(one.holds[best].any()))
    weights, intercept = fit(usable)
    return {
        "questions": len(usable),
        f"answer among the best {QUOTES}, documents kept apart": mean(found),
        "weights": dict(zip(WEIGHTS, np.round(weights, 3).tolist(), strict=True)),
        "intercept": round(intercept, 3),
    }


def measure_question(corpus: Corpus, question: Question, gold: str) -> Measured | None:
    """None where the answer does not stand verbatim on a marked page."""
    library = corpus.app.library
    pages = [library.page_text(corpus.ids[name], index) for name, index in question.evidence]
    if not question.answerable or not contains("\n".join(pages), gold):
        return None
    plan = plan_question(question.text)
    scope = [corpus.ids[name] for name in question.documents]
    evidence = corpus.retriever.search(plan, context_characters=corpus.context_characters, scope=scope).evidence
    units = [unit for item in evidence for unit in units_of(item)]
    rows = measure(plan.standalone_question, units)
    holds = [
        (corpus.names[unit.item.passage.document_id], unit.item.passage.page_index) in question.evidence
        and held_items(unit.text, gold) > 0
        for unit in units
    ]
    table = np.array([[row[name] for name in WEIGHTS] for row in rows]).reshape(len(rows), len(WEIGHTS))
    return Measured(question.documents[0], table, np.array(holds, dtype=bool))


def fit(questions: list[Measured]) -> tuple[Matrix, float]:
    """Weights and intercept on the measures as they are; every question counts alike, however much evidence it has."""
    rows = np.concatenate([one.rows for one in questions])
    holds = np.concatenate([one.holds for one in questions])
    share = np.concatenate([np.full(len(one.rows), 1 / len(one.rows)) for one in questions])
    scaler = StandardScaler().fit(rows)
    model = LogisticRegression(C=STRENGTH, max_iter=500)
    model.fit(scaler.transform(rows), holds, sample_weight=share / share.mean())
    weights: Matrix = model.coef_[0] / scaler.scale_
    return weights, float(model.intercept_[0] - weights @ scaler.mean_)


def render(result: dict[str, Any]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in result.items())
