"""What stands for a count: a passage for each place that is shown, the whole page that it stands on."""

from collections.abc import Mapping, Sequence

from core.domain.answers import AnswerPart, Counted, PartKind, Place
from core.domain.documents import Page, PageKey, Passage
from core.domain.search import Evidence, Reason

MOST_SHOWN = 12
"""Of what was counted; of mentions, one a page."""


def shown(counted: Counted) -> tuple[Place, ...]:
    """The first of what was counted, of mentions the first on each page."""
    places = counted.places[:1] if counted.one == "page" else counted.places
    if counted.by_page:
        places = tuple({(p.document_id, p.page_index): p for p in reversed(places)}.values())[::-1]
    return places[:MOST_SHOWN]


def evidence_of(counted: Counted, pages: Mapping[PageKey, Page], names: Mapping[str, str]) -> tuple[Evidence, ...]:
    """Each page of what is shown, once, in order."""
    keys = dict.fromkeys((place.document_id, place.page_index) for place in shown(counted))
    return tuple(
        Evidence(number, _whole(key[0], pages[key]), names[key[0]], {}, Reason.COUNTED)
        for number, key in enumerate(keys, start=1)
    )


def _whole(document_id: str, page: Page) -> Passage:
    identity = f"{document_id}:{page.page_index}:all"
    return Passage(identity, document_id, page.page_index, page.page_label, page.text, 0, len(page.text))


def parts_of(counted: Counted, text: str, evidence: Sequence[Evidence], sure: float) -> tuple[AnswerPart, ...]:
    """The count, then what is shown of it, each with its page."""
    numbers = {item.passage.page: item.number for item in evidence}
    listed = shown(counted)
    first = numbers[listed[0].document_id, listed[0].page_index]
    head = AnswerPart(text, (first,), PartKind.COUNT, probability=sure, counted=counted)
    quoted = (
        AnswerPart(place.text, (numbers[place.document_id, place.page_index],), PartKind.VERBATIM, place.start)
        for place in listed
        if place.text.strip()
    )
    return (head, *(one for part in quoted for one in (AnswerPart("\n\n"), part)))
