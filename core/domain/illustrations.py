"""Illustrations of pages and what a model wrote about them. A description is never the document's words."""

from dataclasses import dataclass

from pincite.core.domain.documents import Box

MAX_DESCRIPTION_LENGTH = 4_000


@dataclass(frozen=True, slots=True)
class Illustration:
    """A picture, photograph or drawing on a page."""

    document_id: str
    page_index: int
    box: Box


@dataclass(frozen=True, slots=True)
class Description:
    """``unsure``: numbers in the text that are not among the words of the figure as it was read."""

    figure: Illustration
    model: str
    text: str
    unsure: tuple[str, ...]
    created_at: str
