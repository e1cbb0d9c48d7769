"""Quoting: the engine for when no language model is connected. It repeats the sentences that answer."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pincite.core.grounding.sentences import split_sentences
from pincite.core.grounding.terms import content_terms, rarity
from pincite.core.ports import AnswerRequest
from pincite.core.types import Evidence, Intent

MOST_SENTENCES = 5
MOST_WORDS = 110
LEAST_COVERAGE = 0.34
"""Share of the question's rare terms that the best sentence and its surroundings must hold; below it, nothing fits."""
NEAR_BEST = 0.72

NOT_FOUND = "These documents do not say: no passage found answers the question."
NO_MODEL = "No language model is connected, so I answer by quoting your documents"
_EXPECTED: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (re.compile(question, re.IGNORECASE), re.compile(answer))
    for question, answer in (
        (
            r"\bhow (?:many|much|long|often|far|old|large|big|high|tall)\b|\b(?:percent|percentage|rate|amount|number|"
            r"total|cost|price|ratio|share|value|size|count|revenue|income|score)\b",
            r"\d",
        ),
        (
            r"\bwhen\b|\b(?:date|year|month|day|deadline)\b",
            r"\b(?:19|20)\d\d\b|\b\d{1,2}[./-]\d{1,2}\b|(?:January|February|March|April|May|June|July|August|"
            r"September|October|November|December)\b|\bdays?\b",
        ),
        (r"\bwho\b|\bwhose\b|\b(?:author|person|name of)\b", r"\b[A-Z][a-z]+ (?:[A-Z][.] ?)*[A-Z][a-z]+"),
        (r"\bwhere\b|\b(?:city|country|place|location|address)\b", r"\b(?:in|at|of|from|to) [A-Z][a-z]+"),
    )
)


@dataclass(frozen=True, slots=True)
class Quote:
    """One sentence or table row and how well it answers."""

    text: str
    number: int
    order: int
    score: float
    coverage: float


class Quoting:
    """Verbatim sentences with their markers; a greeting gets one honest line."""

    name = "quoting"
    writes_prose = False
    notices: tuple[str, ...] = ()

    def __init__(self, context_characters: int = 12_000) -> None:
        self.context_characters = context_characters

    def answer(self, request: AnswerRequest, stopped: Callable[[], bool]) -> Iterator[str]:
        if request.intent is Intent.CHAT:
            yield _small_talk(request)
            return
        quotes = select_quotes(request.question, request.evidence)
        if not quotes:
            yield NOT_FOUND
            return
        for position, quote in enumerate(quotes):
            if stopped():
                return
            yield ("\n\n" if position else "") + f"{quote.text} [{quote.number}]"

    def structured(self, instructions: str, content: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return None


def _small_talk(request: AnswerRequest) -> str:
    if any("no documents" in note for note in request.notes):
        return f"There are no documents yet. {NO_MODEL}: drop a PDF here and ask about it."
    return f"{NO_MODEL}, word for word and with their pages. Ask me about something that stands in them."


def select_quotes(question: str, evidence: Sequence[Evidence]) -> list[Quote]:
    """The sentences that answer, best first; empty when nothing fits."""
    quotes = _scored(question, evidence)
    if not quotes or max(quote.coverage for quote in quotes) < LEAST_COVERAGE:
        return []
    chosen: list[Quote] = []
    words = 0
    for quote in sorted(quotes, key=lambda quote: -quote.score):
        length = len(quote.text.split())
        if chosen and (quote.score < NEAR_BEST * chosen[0].score or words + length > MOST_WORDS):
            continue
        if any(quote.text in other.text or other.text in quote.text for other in chosen):
            continue
        chosen.append(quote)
        words += length
        if len(chosen) == MOST_SENTENCES:
            break
    return chosen


def _scored(question: str, evidence: Sequence[Evidence]) -> list[Quote]:
    sentences = [
        (item, order, " ".join(item.passage.text[span.start : span.end].split()))
        for item in evidence
        for order, span in enumerate(split_sentences(item.passage.text))
    ]
    asked = frozenset(content_terms(question))
    term_sets = [frozenset(content_terms(text)) for _, _, text in sentences]
    weights = rarity(term_sets)
    heaviest = max(weights.values(), default=1.0)
    total = sum(weights.get(term, heaviest) for term in asked) or 1.0
    expected = [answer for pattern, answer in _EXPECTED if pattern.search(question)]
    quotes = []
    for (item, order, text), terms in zip(sentences, term_sets, strict=True):
        around = frozenset(content_terms(" ".join([*item.passage.heading_path, item.passage.context])))
        own = sum(weights[term] for term in asked & terms) / total
        near = sum(weights.get(term, heaviest) for term in asked & (around - terms)) / total
        fitting = any(pattern.search(text) for pattern in expected)
        if len(terms) < 2:
            continue
        score = own + 0.3 * near + (0.15 if fitting else 0.0) + 0.1 / item.number
        score *= min(1.0, 0.6 + len(terms) / 15)
        quotes.append(Quote(text, item.number, order, score, own + 0.5 * near))
    return quotes
