"""Answers with their references, and measures over all of them."""

import ast
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.grading import grade, read_reference
from benchmarks.measures import Question, bootstrap_interval
from benchmarks.prose_grading import grade_prose
from benchmarks.selective import coverage_at_risk, risk_coverage_area
from pincite.core.answers.relevant import MAX_PASSAGES
from pincite.core.judge.confidence import calibration_error
from pincite.core.text.numbers import quantities, same, stated_scales
from pincite.core.text.quotations import NormalizedText
from pincite.core.text.sentences import split_sentences

UNANSWERABLE = "unanswerable"
RISK = 0.1


@dataclass(frozen=True, slots=True)
class Answered:
    """One question's answer and how it was shown."""

    question: Question
    reference: str
    headline: str
    answer: str
    """The headline and what supports it."""
    declined: bool
    warned: bool = False
    """Shown with a line below it."""
    flagged: bool = False
    """Not to be relied on: it waits for a person."""
    confidence: float | None = None
    """As shown; None where none is."""
    possible: bool = False
    """Whether the reference occurs on a page that people marked."""
    contained: bool = False
    """Whether the reference occurs anywhere in the answer."""
    cited: int = 0
    cited_on_evidence: int = 0
    seconds: float = 0.0
    prose: bool = False
    """A language model wrote it: all of it is graded, as prose."""
    passages: tuple[str, ...] = ()
    """Passages that are listed where nothing is answered, best first."""

    @property
    def right(self) -> bool:
        """Return whether the answer is right; if nothing answers the question, a decline is right."""
        if not self.question.answerable:
            return self.declined
        if self.declined:
            return False
        if self.prose:
            return grade_prose(self.question.text, self.reference, self.answer)
        return grade(self.question.text, self.reference, self.headline)

    def useful(self, passages: int = MAX_PASSAGES) -> bool:
        """Return whether it is right, or one of the first passages shown holds the reference."""
        return self.right or (
            self.question.answerable
            and any(shows(self.question.text, self.reference, text) for text in self.passages[:passages])
        )

    @property
    def wrong_shown(self) -> bool:
        """Whether a wrong answer is shown without a warning; a list of passages and "not found" answer nothing."""
        return not (self.right or self.warned or self.passages or self.declined)

    @property
    def kind(self) -> str:
        if not self.question.answerable:
            return UNANSWERABLE
        return read_reference(self.question.text, self.reference).kind.value


def shows(question: str, reference: str, text: str) -> bool:
    """Return whether a passage, or one of its sentences or rows, is graded as right or contains the reference."""
    pieces = [text[span.start : span.end] for span in split_sentences(text)]
    return contains(text, reference) or any(grade(question, reference, piece) for piece in (text, *pieces))


def contains(text: str, gold: str) -> bool:
    """Return whether a text holds the gold answer: figures by value, scale and unit; words verbatim; lists wholly."""
    items = _items(gold)
    return bool(items) and matched_items(text, gold) == len(items)


def matched_items(text: str, gold: str) -> int:
    """How many items of a list (or whether the one value) a text holds."""
    return sum(_holds(text, item) for item in _items(gold))


def _items(gold: str) -> list[str]:
    try:
        value = ast.literal_eval(gold)
    except (ValueError, SyntaxError):
        value = gold
    return [str(item).strip() for item in (value if isinstance(value, list) else [gold]) if str(item).strip()]


def _holds(text: str, item: str) -> bool:
    figures = quantities(item)
    if len(figures) == 1 and len(item) - (figures[0].end - figures[0].start) <= 2:
        scales = stated_scales(text)
        return any(same(figures[0], given, scales) and same(given, figures[0], scales) for given in quantities(text))
    return NormalizedText(text.casefold()).locate(item.casefold()) is not None


def report(answered: Sequence[Answered]) -> dict[str, Any]:
    """Return the summary of all, of each kind of reference and of each tag."""
    kinds = sorted({one.kind for one in answered})
    tags = sorted({tag for one in answered for tag in one.question.tags})
    return {
        **summary(answered),
        "by_kind": {kind: summary([one for one in answered if one.kind == kind]) for kind in kinds},
        "by_tag": {tag: summary([one for one in answered if tag in one.question.tags]) for tag in tags},
    }


def summary(answered: Sequence[Answered]) -> dict[str, Any]:
    """Shares of questions; an answer to what nothing answers is wrong wherever answers are counted."""
    answerable = [one for one in answered if one.question.answerable]
    given = [one for one in answered if not one.declined and not one.passages]
    possible = [one for one in answerable if one.possible]
    to_the_point = [one for one in given if one.question.answerable and one.question.evidence]
    right = [one.right for one in answerable]
    return {
        "questions": len(answered),
        "answered": len(given),
        "right": _share(right),
        "right_interval": bootstrap_interval([float(value) for value in right]),
        "useful_3": _share(one.useful(3) for one in answerable),
        "useful_5": _share(one.useful() for one in answerable),
        "wrong_shown": _share(one.wrong_shown for one in answered),
        "right_of_answered": _share(one.right for one in given),
        "right_unwarned": _share(one.right for one in given if not one.warned),
        "wrong_unwarned": _share(not (one.right or one.warned) for one in answered),
        "declined_wrongly": _share(one.declined for one in answerable),
        "declined_unanswerable": _share(one.declined for one in answered if not one.question.answerable),
        "words_p50": median([len(one.answer.split()) for one in given] or [0]),
        "citations_on_evidence_page": _ratio(
            sum(one.cited_on_evidence for one in to_the_point), sum(one.cited for one in to_the_point)
        ),
        **_confidence(answered),
        "seconds_p50": round(median([one.seconds for one in answered] or [0.0]), 2),
        "warned": _share(one.warned for one in answered),
        "flagged": _share(one.flagged for one in answered),
        "possible": len(possible),
        "contained": _share(one.contained for one in possible),
    }


def _confidence(answered: Sequence[Answered]) -> dict[str, Any]:
    """Compare confidence with correctness, declines included; answers without a confidence rank last."""
    shown = [one for one in answered if one.confidence is not None]
    confidences, right = [one.confidence or 0.0 for one in shown], [one.right for one in shown]
    ranked = [-1.0 if one.confidence is None else one.confidence for one in answered]
    every = [one.right for one in answered]
    return {
        "without_confidence": len(answered) - len(shown),
        "ece": round(calibration_error(confidences, right), 4) if shown else None,
        "aurc": round(risk_coverage_area(ranked, every), 4) if shown else None,
        "coverage_at_10_percent_risk": round(coverage_at_risk(ranked, every, RISK), 4) if shown else None,
    }


def line(one: Answered) -> str:
    """Return one answer as a line of JSON, for comparison with its pages."""
    return json.dumps(
        {
            "id": one.question.id,
            "question": one.question.text,
            "reference": one.reference,
            "kind": one.kind,
            "headline": one.headline,
            "answer": one.answer,
            "confidence": one.confidence,
            "right": one.right,
            "declined": one.declined,
            "passages": list(one.passages),
            "useful": one.useful(),
            "warned": one.warned,
            "flagged": one.flagged,
            "answerable": one.question.answerable,
            "possible": one.possible,
            "contained": one.contained,
            "documents": list(one.question.documents),
            "seconds": round(one.seconds, 2),
        },
        ensure_ascii=False,
    )


def _share(values: Iterable[bool]) -> float:
    found = list(values)
    return _ratio(sum(found), len(found))


def _ratio(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
