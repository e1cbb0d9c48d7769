"""Facts of a document about itself, with the sentences by which it amends or replaces another."""

from collections.abc import Iterator, Sequence

from pincite.core.documents.metadata import describe
from pincite.core.domain.documents import AMENDS, REPLACES, MetadataField, MetadataSource, Page
from pincite.core.domain.ports import PdfInfo
from pincite.core.questions.utterances import Changes, changes_of
from pincite.core.text.sentences import split_sentences

OPENING = 1_500
"""Number of characters of the first page that are searched for amending sentences."""
MAX_CHARACTERS = 400
MIN_CHANCE = 0.5
_FACTS = {AMENDS: Changes.AMENDS, REPLACES: Changes.REPLACES}


def described(info: PdfInfo, first_pages: Sequence[Page], file_name: str) -> tuple[MetadataField, ...]:
    """Return one value per fact that something supports."""
    return (*describe(info, first_pages, file_name), *_changes(first_pages))


def _changes(first_pages: Sequence[Page]) -> Iterator[MetadataField]:
    """Yield the sentences that amend or that replace a text, whichever is likelier."""
    page = next((page for page in first_pages if page.text.strip()), None)
    blocks = [page.text[one.start : one.end] for one in page.blocks if one.start < OPENING] if page else []
    sentences = [" ".join(text[one.start : one.end].split()) for text in blocks for one in split_sentences(text)]
    likely = [
        (chances[change], fact) for one in sentences for chances in [changes_of(one)] for fact, change in _FACTS.items()
    ]
    chance, fact = max(likely, default=(0.0, AMENDS))
    if chance >= MIN_CHANCE:
        changing = [one for one in sentences if changes_of(one)[_FACTS[fact]] >= MIN_CHANCE]
        yield MetadataField(fact, " ".join(changing)[:MAX_CHARACTERS], MetadataSource.FIRST_PAGES)
