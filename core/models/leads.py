"""What stands for whole documents, or for a place that is named: how they begin."""

from collections.abc import Sequence
from itertools import zip_longest

from core.domain.answers import AnswerPart, PartKind
from core.domain.search import Evidence, Reason, spread
from core.models.lists import MOST_WORDS
from core.models.units import SENTENCE_ENDS, quotation_of, units_of
from core.text.sentences import split_sentences

MOST_LEADS = 7
"""Sentences that stand for whole documents, or one for each where there are more."""
FEWEST_LEAD_WORDS, MOST_LEAD_WORDS = 6, 60


def lead_quotes(evidence: Sequence[Evidence]) -> list[AnswerPart]:
    """What stands at the places that are named, or the first whole sentence of some passages; in reading order.

    Of passages the summaries come first, then others from all over each document; the documents take turns.
    """
    named = [item for item in evidence if item.reason is Reason.NAMED]
    by_document: dict[str, list[Evidence]] = {}
    for item in named or evidence:
        by_document.setdefault(item.passage.document_id, []).append(item)
    if not named:
        by_document = {of: _telling(own) for of, own in by_document.items()}
    in_turn = [item for group in zip_longest(*by_document.values()) for item in group if item is not None]
    leads = [opening(item) for item in in_turn[:MOST_LEADS] if named]
    for item in in_turn if not named else ():
        sentences = [unit for unit in units_of(item) if _is_sentence(unit.text)]
        if sentences and not any(sentences[0].quoted.split() == lead.text.split() for lead in leads):
            leads.append(quotation_of(sentences[0]))
        if len(leads) >= max(MOST_LEADS, len(by_document)):
            break
    return sorted(leads, key=lambda lead: lead.numbers)


def _telling(own: Sequence[Evidence]) -> list[Evidence]:
    return sorted((own[at] for at in spread(len(own))), key=lambda item: item.reason is not Reason.SUMMARY)


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
