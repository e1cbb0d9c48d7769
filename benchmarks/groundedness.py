"""Is an answer supported by its sources? Measures the judge against people's labels."""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from pincite.core.judge.confidence import calibration_error, threshold_effect
from pincite.core.judge.judge import judge_answer
from pincite.core.text.terms import content_terms

THRESHOLD = 0.65
"""The review threshold that ships: answers less confident than this are flagged."""


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """One row of answers.jsonl; `spans` are the stretches of the answer that people found unsupported."""

    id: str
    set: str
    question: str
    sources: tuple[str, ...]
    answer: str
    hallucinated: bool
    spans: tuple[tuple[int, int], ...]

    @property
    def group(self) -> str:
        """Return what answers over the same sources share: their texts, and the conversation an id may name."""
        conversation, mark, _ = self.id.partition("<::>")
        return conversation if mark else "\n".join(self.sources)

    def touches(self, start: int, end: int) -> bool:
        """Return whether a labelled span covers more than a mark or two of answer[start:end]."""
        return any(
            len(self.answer[max(start, low) : min(end, high)].strip()) > 2
            for low, high in self.spans
            if low < end and start < high
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "file", type=Path, help="answers.jsonl with id, set, question, sources, answer, hallucinated, spans"
    )
    parser.add_argument("--threshold", type=float, default=THRESHOLD, help="review threshold on the confidence")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Judge every answer and measure the confidences against the labels."""
    answers = read_answers(args.file)
    judge_answer("", "A warm-up.", ["So that loading the models is not timed."])
    milliseconds, confidences = [], np.zeros(len(answers))
    for position, row in enumerate(answers):
        started = time.perf_counter()
        confidences[position] = judge_answer(row.question, row.answer, row.sources).confidence
        milliseconds.append(1000 * (time.perf_counter() - started))

    def measured(rows: list[int]) -> dict[str, Any]:
        chosen = [answers[row] for row in rows]
        result = measure_set(chosen, confidences[rows], threshold=args.threshold)
        wrong = np.array([answer.hallucinated for answer in chosen])
        result["unseen_words"] = roc_auc_score(wrong, [unseen_words(answer) for answer in chosen])
        return {**result, "p50_ms": float(np.median([milliseconds[row] for row in rows]))}

    names = dict.fromkeys(row.set for row in answers)
    return {
        "threshold": args.threshold,
        "sets": {name: measured([i for i, row in enumerate(answers) if row.set == name]) for name in names},
        "all": measured(list(range(len(answers)))),
    }


def unseen_words(row: LabelledAnswer) -> float:
    """Return the share of an answer's content words that occur in no source, a baseline that any judge must beat."""
    answer_terms = set(content_terms(row.answer))
    return len(answer_terms - set(content_terms(" ".join(row.sources)))) / max(1, len(answer_terms))


def read_answers(path: Path) -> list[LabelledAnswer]:
    """Read answers.jsonl."""
    rows = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            spans = tuple((int(span["start"]), int(span["end"])) for span in row.get("spans") or ())
            question, sources = row.get("question") or "", tuple(row["sources"])
            rows.append(
                LabelledAnswer(
                    row["id"], row["set"], question, sources, row["answer"], bool(row["hallucinated"]), spans
                )
            )
    return rows


def measure_set(
    answers: Sequence[LabelledAnswer], confidences: NDArray[np.float64], *, threshold: float = THRESHOLD
) -> dict[str, Any]:
    """Return n, AUROC of "hallucinated", balanced accuracy, F1, calibration error, shares flagged and caught."""
    wrong = np.array([answer.hallucinated for answer in answers], dtype=bool)
    confidence_values = [float(value) for value in confidences]
    flags = np.asarray(confidences) < threshold
    effect = threshold_effect(confidence_values, list(~wrong), threshold)
    hits = int((flags & wrong).sum())
    both = bool(wrong.any() and not wrong.all())
    return {
        "n": len(answers),
        "auroc": roc_auc_score(wrong, 1 - np.asarray(confidences)) if both else None,
        "balanced_accuracy": (flags[wrong].mean() + (~flags[~wrong]).mean()) / 2 if both else None,
        "f1": 2 * hits / max(1, int(flags.sum()) + int(wrong.sum())),
        "ece": calibration_error(confidence_values, list(~wrong)),
        "flagged": effect.flagged,
        "caught": effect.caught,
    }
