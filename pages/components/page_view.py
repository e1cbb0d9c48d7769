"""A page of a document as a picture, with the quoted words marked, and the way to its neighbours.

Each screen that shows pages has a slot in the session state that says which page it shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.domain.answers import Citation
from core.domain.documents import Document
from core.domain.errors import PinciteError
from core.domain.turns import Turn
from core.services.bootstrap import Pincite
from pages.components.controls import button, download, quiet, row
from pages.components.facade import pincite, tell
from pages.components.words import chip_label, escape, shorten

PICTURE_WIDTH = 1100


@dataclass(frozen=True, slots=True)
class ShownPage:
    document_id: str
    page_index: int
    marks: tuple[tuple[int, int], ...] = ()
    quotation: str = ""
    """As Markdown."""


def shown_page(slot: str) -> ShownPage | None:
    shown = st.session_state.get(slot)
    return shown if isinstance(shown, ShownPage) else None


def show_page(slot: str, shown: ShownPage | None) -> None:
    st.session_state[slot] = shown


def by_page(citations: Sequence[Citation]) -> list[list[Citation]]:
    """Citations of one page together, in the order in which the pages are first cited."""
    pages: dict[tuple[str, int], list[Citation]] = {}
    for citation in citations:
        pages.setdefault((citation.document_id, citation.page_index), []).append(citation)
    return list(pages.values())


def cited_page(group: Sequence[Citation]) -> ShownPage:
    """The page of these citations with every quotation marked."""
    marks = tuple((citation.start, citation.end) for citation in group if citation.end > citation.start)
    return ShownPage(group[0].document_id, group[0].page_index, marks, quotations(group))


def quotations(group: Sequence[Citation]) -> str:
    return "  \n".join(dict.fromkeys(f"“{escape(citation.quotation)}”" for citation in group))


def passages_found(turn: Turn) -> list[Citation]:
    """What the search found, as places to look at where nothing is cited."""
    return [
        Citation(
            number=item.number,
            document_id=item.passage.document_id,
            document_name=item.document_name,
            page_index=item.passage.page_index,
            page_label=item.passage.page_label,
            quotation=shorten(item.passage.text, 200),
            start=item.passage.start,
            end=item.passage.end,
        )
        for item in turn.evidence
    ]


def draw_chips(citations: Sequence[Citation], names: Mapping[str, str], slot: str, key: str) -> None:
    """One button for each cited page; it opens the page with the quotations marked."""
    if not citations:
        return
    with row(gap="xsmall"):
        for position, group in enumerate(by_page(citations)):
            gone = group[0].document_id not in names
            label, icon = (" · source removed", "link_off") if gone else ("", "find_in_page")
            button(chip_label(group) + label, icon, show_page, slot, cited_page(group), key=f"chip_{key}_{position}",
                   help=quotations(group), disabled=gone)  # fmt: skip


@st.cache_data(max_entries=48, show_spinner=False)
def page_picture(document_id: str, page_index: int, width: int, marks: tuple[tuple[int, int], ...]) -> bytes:
    return pincite().documents.page_image(document_id, page_index, width=width, marks=marks)


def draw_picture(document: Document, shown: ShownPage) -> None:
    try:
        with st.skeleton(height=600):
            picture = page_picture(document.id, shown.page_index, PICTURE_WIDTH, shown.marks)
    except PinciteError as error:
        tell(error)
        return
    st.image(picture, width="stretch", alt=f"Page {shown.page_index + 1} of {document.name}")


def draw_pager(app: Pincite, document: Document, shown: ShownPage, slot: str) -> None:
    """Draw "‹ Page 3 of 20 ›" in the row at hand."""
    labels = {receipt.page_index: receipt.page_label for receipt in app.library.receipts(document.id)}
    label = labels.get(shown.page_index, "")
    printed = "" if label in ("", str(shown.page_index + 1)) else f", printed “{escape(label)}”"
    _turn_button(shown, document, slot, -1)
    st.markdown(f"Page {shown.page_index + 1} of {document.page_count}{printed}", width="content")
    _turn_button(shown, document, slot, +1)


def _turn_button(shown: ShownPage, document: Document, slot: str, step: int) -> None:
    way, icon = ("next", "chevron_right") if step > 0 else ("previous", "chevron_left")
    target = shown.page_index + step
    quiet("", icon, show_page, slot, ShownPage(document.id, target), key=f"{slot}_{way}",
          help=f"{way.capitalize()} page", disabled=not 0 <= target < document.page_count)  # fmt: skip


def draw_file_button(app: Pincite, document: Document, *, key: str) -> None:
    download("", lambda: app.library.file_path(document.id).read_bytes(), document.name, "application/pdf", key=key,
             help="Download the PDF")  # fmt: skip


def draw_page_panel(app: Pincite, shown: ShownPage, slot: str) -> None:
    """The cited page beside the conversation."""
    document = app.library.get(shown.document_id)
    st.markdown(f"**{escape(document.name)}**", wrap=False)
    with row(gap="xsmall"):
        draw_pager(app, document, shown, slot)
        st.space("stretch")
        draw_file_button(app, document, key=f"{slot}_file")
        quiet("", "close", show_page, slot, None, key=f"{slot}_close", help="Close the page")
    if shown.quotation and len(shown.marks) < 2:
        st.caption(shown.quotation)
    draw_picture(document, shown)
