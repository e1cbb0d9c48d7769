"""What older versions stored, brought to today's form: answers with citations that were markers in their text."""

from collections.abc import Iterable
from dataclasses import replace

from pincite.core.domain.answers import AnswerPart, Attempt, Citation, Verdict
from pincite.core.domain.search import Evidence
from pincite.core.domain.turns import Turn
from pincite.core.text.marks import plain_text, read_marks


def with_parts(turn: Turn) -> Turn:
    """Read the markers of a turn that has no parts yet; its claims are placed in the text without them."""
    if turn.parts or not turn.answer:
        return turn
    parts = parts_of(turn.answer, turn.evidence or turn.citations)
    attempts = tuple(_attempt(attempt) for attempt in turn.attempts)
    return replace(turn, parts=parts, verdict=_placed(turn.verdict, turn.answer, parts), attempts=attempts)


def parts_of(answer: str, cited: Iterable[Evidence | Citation]) -> tuple[AnswerPart, ...]:
    return read_marks(answer, {item.number: "" for item in cited})[0]


def _attempt(attempt: Attempt) -> Attempt:
    if attempt.parts:
        return attempt
    parts = parts_of(attempt.answer, attempt.evidence)
    return replace(attempt, parts=parts, verdict=_placed(attempt.verdict, attempt.answer, parts))


def _placed(verdict: Verdict | None, answer: str, parts: tuple[AnswerPart, ...]) -> Verdict | None:
    if verdict is None:
        return None
    plain = plain_text(parts)
    places, place = [0], 0
    for sign in answer:
        place += plain[place : place + 1] == sign
        places.append(place)
    claims = tuple(
        replace(
            claim,
            text=plain_text(read_marks(claim.text)[0]),
            start=places[min(claim.start, len(answer))],
            end=places[min(claim.end, len(answer))],
        )
        for claim in verdict.claims
    )
    return replace(verdict, claims=claims)
