"""The judge distinguishes labelled answers."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks.groundedness import measure_set, read_answers
from pincite.core.judge.judge import judge_answer


@pytest.mark.skipif("PINCITE_EVALS" not in os.environ, reason="needs labelled answers (PINCITE_EVALS)")
def test_labelled_answers_are_distinguished() -> None:
    rows = read_answers(Path(os.environ["PINCITE_EVALS"]) / "groundedness" / "answers.jsonl")[::40]
    confidences = np.array([judge_answer(row.question, row.answer, row.sources).confidence for row in rows])
    measured = measure_set(rows, confidences)
    assert measured["auroc"] > 0.75
    assert json.dumps(measured)
