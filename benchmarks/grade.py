"""Compare the automatic grade with people's grades, on answers of other systems that people graded."""

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.grading import ReferenceKind, read_reference
from benchmarks.measures import mean
from benchmarks.prose_grading import grade_prose

RIGHT = "Correct Answer"
SEED = 7


@dataclass(frozen=True, slots=True)
class Graded:
    """One answer with both grades."""

    question: str
    reference: str
    answer: str
    kind: ReferenceKind
    by_people: bool
    by_rule: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="JSON Lines with question, gold_answer, model_answer and human_label")
    parser.add_argument("--half", choices=("both", "first", "second"), default="both",
                        help="a random half of the questions: the rules were made on the first")  # fmt: skip
    parser.add_argument("--show", type=Path, help="write the answers graded otherwise to this JSON Lines file")


def run(options: argparse.Namespace) -> dict[str, Any]:
    rows = [json.loads(line) for line in options.file.read_text(encoding="utf-8").splitlines() if line]
    graded = [_graded(row) for row in rows]
    if options.half != "both":
        first = first_half([one.question for one in graded])
        graded = [one for one in graded if (one.question in first) == (options.half == "first")]
    if options.show:
        apart = [one for one in graded if one.by_people != one.by_rule]
        options.show.write_text("\n".join(map(_line, apart)), encoding="utf-8")
    return {
        **summary(graded),
        "by_kind": {
            kind.value: summary([one for one in graded if one.kind is kind])
            for kind in ReferenceKind
            if any(one.kind is kind for one in graded)
        },
    }


def first_half(questions: Sequence[str]) -> frozenset[str]:
    """Half of the questions, drawn once and for all."""
    known = sorted(set(questions))
    random.Random(SEED).shuffle(known)
    return frozenset(known[: (len(known) + 1) // 2])


def summary(graded: Sequence[Graded]) -> dict[str, Any]:
    return {
        "answers": len(graded),
        "questions": len({one.question for one in graded}),
        "agreement": mean(one.by_people == one.by_rule for one in graded),
        "right_by_people": mean(one.by_people for one in graded),
        "right_by_rule": mean(one.by_rule for one in graded),
        "right_ones_found": mean(one.by_rule for one in graded if one.by_people),
        "wrong_ones_found": mean(not one.by_rule for one in graded if not one.by_people),
    }


def _graded(row: dict[str, Any]) -> Graded:
    question, reference, answer = row["question"], str(row["gold_answer"]), row["model_answer"]
    return Graded(
        question=question,
        reference=reference,
        answer=answer,
        kind=read_reference(question, reference).kind,
        by_people=row["human_label"] == RIGHT,
        by_rule=grade_prose(question, reference, answer),
    )


def _line(one: Graded) -> str:
    return json.dumps(
        {
            "question": one.question,
            "reference": one.reference,
            "answer": one.answer,
            "kind": one.kind.value,
            "by_people": one.by_people,
            "by_rule": one.by_rule,
        },
        ensure_ascii=False,
    )
