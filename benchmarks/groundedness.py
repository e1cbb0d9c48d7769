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

from core.domain.answers import Claim, ClaimStatus
from core.domain.documents import Passage
from core.domain.ports import AnswerRequest, ChatModel
from core.domain.search import Evidence, Intent
from core.domain.settings import load_settings
from core.judge.confidence import calibration_error, threshold_effect
from core.judge.critique import CRITIC_SCHEMA, critic_question, read_critique
from core.judge.judge import WORTH, AnswerFindings, judge_answer
from core.models.prompts import messages_for
from core.models.registry import choose_engine
from core.text.terms import content_terms

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
        """Say whether a labelled span covers more than a mark or two of answer[start:end]."""
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
    parser.add_argument(
        "--engine", choices=["none", "ollama"], default="none", help="language model that audits as critic"
    )
    parser.add_argument("--threshold", type=float, default=THRESHOLD, help="review threshold on the confidence")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Judge every answer and measure the confidences against the labels."""
    answers = read_answers(args.file)
    critic = choose_engine(load_settings(), "ollama") if args.engine == "ollama" else None
    judge_answer("", "A warm-up.", ["So that loading the models is not timed."])
    findings, milliseconds, confidences = [], [], np.zeros(len(answers))
    for position, row in enumerate(answers):
        started = time.perf_counter()
        findings.append(judge_answer(row.question, row.answer, row.sources))
        confidences[position] = _audited(critic, row, findings[-1]) if critic else findings[-1].confidence
        milliseconds.append(1000 * (time.perf_counter() - started))

    def measured(rows: list[int]) -> dict[str, Any]:
        chosen = [answers[row] for row in rows]
        result = measure_set(chosen, confidences[rows], threshold=args.threshold)
        wrong = np.array([answer.hallucinated for answer in chosen])
        result["unseen_words"] = _auroc(np.array([unseen_words(answer) for answer in chosen]), wrong)
        result |= _measure_spans(chosen, [findings[row] for row in rows])
        return {**result, "p50_ms": float(np.median([milliseconds[row] for row in rows]))}

    names = dict.fromkeys(row.set for row in answers)
    return {
        "engine": args.engine,
        "threshold": args.threshold,
        "sets": {name: measured([i for i, row in enumerate(answers) if row.set == name]) for name in names},
        "all": measured(list(range(len(answers)))),
    }


def _audited(critic: ChatModel, row: LabelledAnswer, finding: AnswerFindings) -> float:
    """Let a language model lower the confidence by the share of support that it takes from the claims."""
    claims = [
        Claim(one.claim.told, one.claim.start, one.claim.end, one.status, one.reason, one.claim.citations)
        for one in finding.claims
    ]
    evidence = [
        Evidence(number, Passage(str(number), row.id, 0, "1", text, 0, len(text)), row.set)
        for number, text in enumerate(row.sources, start=1)
    ]
    instructions, asked = messages_for(AnswerRequest(row.question, Intent.DOCUMENT_SEARCH, tuple(evidence)))
    content = f"{asked['content']}\n\n{critic_question(claims)}"
    critique = read_critique(critic.structured(instructions["content"], content, CRITIC_SCHEMA), len(claims))
    before = sum(WORTH[claim.status] for claim in claims)
    if critique is None or not before:
        return finding.confidence
    told = [critique.claims.get(number, (claim.status, ""))[0] for number, claim in enumerate(claims)]
    after = sum(min(WORTH[claim.status], WORTH[status]) for claim, status in zip(claims, told, strict=True))
    return finding.confidence * after / before


def unseen_words(row: LabelledAnswer) -> float:
    """Return the share of an answer's telling words that stand in no source: what any judge must beat."""
    said = set(content_terms(row.answer))
    return len(said - set(content_terms(" ".join(row.sources)))) / max(1, len(said))


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
    said = [float(value) for value in confidences]
    flags = np.asarray(confidences) < threshold
    effect = threshold_effect(said, list(~wrong), threshold)
    hits = int((flags & wrong).sum())
    both = bool(wrong.any() and not wrong.all())
    return {
        "n": len(answers),
        "auroc": _auroc(1 - np.asarray(confidences), wrong) if both else None,
        "balanced_accuracy": (flags[wrong].mean() + (~flags[~wrong]).mean()) / 2 if both else None,
        "f1": 2 * hits / max(1, int(flags.sum()) + int(wrong.sum())),
        "ece": calibration_error(said, list(~wrong)),
        "flagged": effect.flagged,
        "caught": effect.caught,
    }


def _auroc(scores: NDArray[np.float64], positive: NDArray[np.bool_]) -> float:
    """Return the probability that a positive outranks a negative; ties count half."""
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    hits, misses = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - hits * (hits + 1) / 2) / (hits * misses))


def _measure_spans(answers: Sequence[LabelledAnswer], findings: Sequence[AnswerFindings]) -> dict[str, float | None]:
    """Return precision and recall, in characters, of unsupported and contradicted claims against labelled spans."""
    found = labelled = shared = 0
    for answer, finding in zip(answers, findings, strict=True):
        if answer.hallucinated and not answer.spans:
            continue
        marked = {position for low, high in answer.spans for position in range(low, high)}
        told = {
            position
            for one in finding.claims
            if one.status in (ClaimStatus.UNSUPPORTED, ClaimStatus.CONTRADICTED)
            for position in range(one.claim.start, one.claim.end)
        }
        found, labelled, shared = found + len(told), labelled + len(marked), shared + len(told & marked)
    if not labelled:
        return {"span_precision": None, "span_recall": None}
    return {"span_precision": shared / max(1, found), "span_recall": shared / labelled}
