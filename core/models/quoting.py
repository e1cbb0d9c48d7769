"""Quoting: the engine for when no language model is connected. It repeats the sentences that answer."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from core.domain.answers import AnswerPart, PartKind
from core.domain.ports import AnswerRequest
from core.domain.search import Evidence, Intent, Reason
from core.models.selection import Scored, Unit, absent_terms, score_units, too_much_absent, units_of

MOST_QUOTES = 8
MOST_WORDS = 140
MOST_LEADS = 7
"""Sentences that stand for whole documents, or one for each where there are more."""
FEWEST_LEAD_WORDS, MOST_LEAD_WORDS = 6, 60
WORTH_SAYING = 0.2
"""Share of the best unit's worth below which another is left out."""
PAGE_PULL = 0.5
RELEVANCE_PULL = 0.5
"""Exponents: how far a unit's page, and its passage's relevance, weigh beside its own probability."""
NOT_FOUND = "These documents do not say: no passage found answers the question."
NO_MODEL = "No language model is connected, so I answer by quoting your documents"


@dataclass(frozen=True, slots=True)
class Quote:
    """One stretch of the evidence as it stands there, white space included, and the evidence's number."""

    text: str
    number: int


class Quoting:
    """Verbatim sentences with their markers; a greeting gets one honest line."""

    name = "quoting"
    writes_prose = False
    notices: tuple[str, ...] = ()

    def __init__(self, context_characters: int = 12_000) -> None:
        self.context_characters = context_characters

    def answer(self, request: AnswerRequest, stopped: Callable[[], bool]) -> Iterator[AnswerPart]:
        if stopped():
            return
        if request.intent is Intent.CHAT:
            yield AnswerPart(_small_talk(request))
            return
        if request.intent is Intent.SURVEY:
            quotes = lead_quotes(request.evidence)
        else:
            quotes = select_quotes(request.question, request.evidence, absent=request.absent)
        if not quotes:
            yield AnswerPart(NOT_FOUND, kind=PartKind.DECLINE)
            return
        for position, quote in enumerate(quotes):
            if stopped():
                return
            if position:
                yield AnswerPart("\n\n")
            yield AnswerPart(quote.text, (quote.number,), PartKind.VERBATIM)

    def structured(self, instructions: str, content: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return None


def _small_talk(request: AnswerRequest) -> str:
    if request.library_is_empty:
        return f"There are no documents yet. {NO_MODEL}: drop a PDF here and ask about it."
    return f"{NO_MODEL}, word for word and with their pages. Ask me about something that stands in them."


def select_quotes(question: str, evidence: Sequence[Evidence], *, absent: Sequence[str] | None = None) -> list[Quote]:
    """What answers; empty when too much of the question, or all, is ``absent`` from what was found.

    The page with the best quotation comes first; what is quoted of one page stands in its order.
    """
    if absent is None:
        absent = absent_terms(question, (item.passage for item in evidence))
    if too_much_absent(question, absent):
        return []
    chosen: list[Unit] = []
    words = 0
    ranked = _ranked(score_units(question, evidence))
    for unit, worth in ranked:
        length = len(unit.text.split())
        if worth < WORTH_SAYING * ranked[0][1]:
            break
        if any(_repeats(unit, other) for other in chosen) or (chosen and words + length > MOST_WORDS):
            continue
        chosen.append(unit)
        words += length
        if len(chosen) == MOST_QUOTES:
            break
    pages = list(dict.fromkeys(map(_page, chosen)))
    chosen.sort(key=lambda unit: (pages.index(_page(unit)), unit.item.passage.start + unit.start))
    return [Quote(unit.quoted, unit.item.number) for unit in chosen]


def lead_quotes(evidence: Sequence[Evidence]) -> list[Quote]:
    """The first whole sentence of each passage, summaries first, taking the documents in turn."""
    by_document: dict[str, list[Evidence]] = {}
    for item in sorted(evidence, key=lambda item: item.reason is not Reason.SUMMARY):
        by_document.setdefault(item.passage.document_id, []).append(item)
    in_turn = [item for group in zip_longest(*by_document.values()) for item in group if item is not None]
    quotes: list[Quote] = []
    for item in in_turn:
        sentences = [unit.quoted for unit in units_of(item) if _is_sentence(unit.text)]
        if sentences and not any(sentences[0].split() == quote.text.split() for quote in quotes):
            quotes.append(Quote(sentences[0], item.number))
        if len(quotes) >= max(MOST_LEADS, len(by_document)):
            break
    return quotes


def _is_sentence(text: str) -> bool:
    return text.endswith((".", "!", "?", "。")) and FEWEST_LEAD_WORDS <= len(text.split()) <= MOST_LEAD_WORDS


def _ranked(scored: Sequence[Scored]) -> list[tuple[Unit, float]]:
    """Best first: by the unit's own probability, its page's best three, and its passage's relevance."""
    pages: dict[tuple[str, int], list[float]] = {}
    for one in scored:
        pages.setdefault(_page(one.unit), []).append(one.probability)
    promise = {page: sum(sorted(values, reverse=True)[:3]) for page, values in pages.items()}

    def worth(one: Scored) -> float:
        relevance = max(one.unit.item.scores.get("reranked", 0.0), 0.05)
        return float(one.probability * promise[_page(one.unit)] ** PAGE_PULL * relevance**RELEVANCE_PULL)

    return sorted(((one.unit, worth(one)) for one in scored), key=lambda pair: -pair[1])


def _page(unit: Unit) -> tuple[str, int]:
    return unit.item.passage.document_id, unit.item.passage.page_index


def _repeats(unit: Unit, other: Unit) -> bool:
    overlap = unit.item is other.item and unit.start < other.end and other.start < unit.end
    return overlap or unit.text in other.text
