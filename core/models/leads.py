"""What stands for whole documents, or for a place that is named: how they begin."""

from collections.abc import Sequence
from itertools import zip_longest

from core.domain.answers import AnswerPart, PartKind
from core.domain.search import Evidence, Reason
from core.models.lists import MOST_WORDS
from core.models.units import SENTENCE_ENDS, quotation_of, units_of
from core.text.sentences import split_sentences

MOST_LEADS = 7
"""Sentences that stand for whole documents, or one for each where there are more."""
FEWEST_LEAD_WORDS, MOST_LEAD_WORDS = 6, 60


def lead_quotes(evidence: Sequence[Evidence]) -> list[AnswerPart]:
    """The first whole sentence of passages, of summaries first and of the documents in turn, in reading order."""
    by_document: dict[str, list[Evidence]] = {}
    for item in sorted(evidence, key=lambda item: item.reason is not Reason.SUMMARY):
        by_document.setdefault(item.passage.document_id, []).append(item)
    in_turn = [item for group in zip_longest(*by_document.values()) for item in group if item is not None]
    leads: list[AnswerPart] = [opening(item) for item in in_turn if item.reason is Reason.NAMED][:MOST_LEADS]
    for item in in_turn if not leads else ():
        sentences = [unit for unit in units_of(item) if _is_sentence(unit.text)]
        if sentences and not any(sentences[0].quoted.split() == lead.text.split() for lead in leads):
            leads.append(quotation_of(sentences[0]))
        if len(leads) >= max(MOST_LEADS, len(by_document)):
            break
    return sorted(leads, key=lambda lead: lead.numbers)


def opening(item: Evidence) -> AnswerPart:
    """What stands at a place that was asked for, from its beginning."""
    text, last = item.passage.text, 0
    for span in split_sentences(text):
        if last and len(text[: span.end].split()) > MOST_WORDS:
            break
        last = span.end
    return AnswerPart(text[:last].rstrip(), (item.number,), PartKind.VERBATIM, 0)


def _is_sentence(text: str) -> bool:
    return text.endswith(SENTENCE_ENDS) and FEWEST_LEAD_WORDS <= len(text.split()) <= MOST_LEAD_WORDS
