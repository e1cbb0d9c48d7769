"""A page of a document as a picture, with the quoted words marked, and the way to its neighbours.

Each screen that shows pages stores the page that it shows in its own slot of the session state.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from pincite.core.domain.answers import Citation
from pincite.core.domain.documents import SEEN, BlockKind, Document, HiddenReason, HiddenText, Page, hidden_summary
from pincite.core.domain.errors import PinciteError
from pincite.core.domain.turns import Turn
from pincite.core.services.bootstrap import Pincite
from pincite.core.text.orders import orders_in
from pincite.pages.components.collections import id_for_a_new_session
from pincite.pages.components.controls import button, download, icon_button, quiet, row
from pincite.pages.components.facade import errors_shown, pincite, safely, tell
from pincite.pages.components.illustrations import draw_illustrations
from pincite.pages.components.layout import HEAD
from pincite.pages.components.page_words import PICTURE, draw_page_tools
from pincite.pages.components.words import chip_label, escape, shorten

PICTURE_WIDTH, LARGE_WIDTH = 1100, 1800
"""Pixels; the larger one is for who has zoomed in."""
THUMBNAIL, PAGES_NEAR = 110, 3
_TURNED = "page_turned"
NOTES = "notes_stand_where_the_page_would"
HIDDEN = "This text is in the file but not visible on the page. It is never searched, quoted or sent to a model."
SET_APART = "This is on the page but not in its text: struck-out words, footnote marks, line numbers. Never quoted."
COMMENTS = "comments"
LAYERS = {HIDDEN: "Hidden text", SET_APART: "Excluded text", COMMENTS: "Comments"}


@dataclass(frozen=True, slots=True)
class ShownPage:
    """A page with everything that the answer at hand cites, so that turning the pages loses no mark."""

    document_id: str
    page_index: int
    citations: tuple[Citation, ...] = ()
    turn_id: str = ""

    @property
    def here(self) -> list[Citation]:
        place = (self.document_id, self.page_index)
        return [citation for citation in self.citations if (citation.document_id, citation.page_index) == place]

    @property
    def marks(self) -> tuple[tuple[int, int], ...]:
        return tuple((citation.start, citation.end) for citation in self.here if citation.end > citation.start)


def shown_page(slot: str) -> ShownPage | None:
    shown = st.session_state.get(slot)
    return shown if isinstance(shown, ShownPage) else None


def show_page(slot: str, shown: ShownPage | None) -> None:
    st.session_state.update({slot: shown, NOTES: False})


def by_page(citations: Sequence[Citation]) -> list[list[Citation]]:
    """Citations of one page together, in the order in which the pages are first cited."""
    pages: dict[tuple[str, int], list[Citation]] = {}
    for citation in citations:
        pages.setdefault((citation.document_id, citation.page_index), []).append(citation)
    return list(pages.values())


def cited_page(place: Citation, citations: Sequence[Citation], turn_id: str = "") -> ShownPage:
    """Return the page of one of these citations; each of them is marked on its own page."""
    return ShownPage(place.document_id, place.page_index, tuple(citations), turn_id)


def quotations(group: Sequence[Citation]) -> str:
    return "  \n".join(dict.fromkeys(f"“{escape(citation.quotation)}”" for citation in group))


def passages_found(turn: Turn) -> list[Citation]:
    """What the search found, as places to look at where nothing is cited; they are framed and not marked."""
    return [
        Citation(item.number, of.document_id, item.document_name, of.page_index, of.page_label, shorten(of.text, 200),
                 of.start, of.start)
        for item in turn.evidence for of in [item.passage]
    ]  # fmt: skip


def draw_chips(citations: Sequence[Citation], names: Mapping[str, str], slot: str, key: str) -> None:
    """One button for each cited page; it opens the page with the quotations marked."""
    if not citations:
        return
    with row(gap="xsmall"):
        for position, group in enumerate(by_page(citations)):
            gone = group[0].document_id not in names
            label, icon = (" · source removed", "link_off") if gone else ("", "find_in_page")
            shown = cited_page(group[0], citations, key)
            button(chip_label(group) + label, icon, show_page, slot, shown, key=f"chip_{key}_{position}",
                   help=quotations(group), disabled=gone)  # fmt: skip


@st.cache_data(max_entries=48, show_spinner=False)
def page_picture(
    document_id: str,
    page_index: int,
    width: int,
    marks: tuple[tuple[int, int], ...],
    hidden: tuple[HiddenReason, ...] = (),
) -> bytes:
    return pincite().documents.page_image(document_id, page_index, width=width, marks=marks, hidden=hidden)


@st.fragment
def draw_picture(document: Document, shown: ShownPage, slot: str) -> None:
    """The page with its marks."""
    try:
        page = pincite().library.page(document.id, shown.page_index)
        key, found = f"{document.id} {shown.page_index} {shown.marks}", _found(shown)
        with st.container():  # on every page, so that the tools below it stay the same ones, with what is typed in them
            hidden = _choose_layers(document, page)
            for span in orders_in(page.text)[:1]:
                quoted = escape(" ".join(page.text[span.start : span.end].split()))
                st.caption(f":material/smart_toy: This page has instructions to an AI: “{quoted}” No model sees them.")
            if found:
                st.caption("Dotted frames mark what the search found here. None of it is cited.")
        large = draw_page_tools(page, document.name, document.page_count, key=key,
                                cited=shown.marks, found=found, pin=lambda words: _pin(shown, words),
                                go=lambda at: _go(shown, slot, at),
                                find=lambda words: [at for _, at in pincite().documents.find(document.id, words)],
                                )  # fmt: skip
        if st.session_state.pop(_TURNED, False):
            st.rerun()  # the notes and the pager are drawn outside
        with st.skeleton(height=600):
            width = LARGE_WIDTH if large else PICTURE_WIDTH
            picture = page_picture(document.id, shown.page_index, width, shown.marks, hidden)
    except PinciteError as error:
        tell(error)
        return
    with st.container(key=PICTURE):
        st.image(picture, width="stretch", alt=f"Page {shown.page_index + 1} of {document.name}")
    draw_illustrations(pincite(), document, shown.page_index)


def _choose_layers(document: Document, page: Page) -> tuple[HiddenReason, ...]:
    """Draw the controls for hidden text on a page's picture, and the page's comments above it."""
    layers: dict[str, Sequence[HiddenText]] = {
        HIDDEN: [item for item in page.hidden if item.reason not in SEEN],
        SET_APART: [item for item in page.hidden if item.reason in SEEN],
    }
    comments = [page.text[one.start : one.end] for one in page.blocks if one.kind is BlockKind.COMMENT]
    offered = [why for why, held in layers.items() if held] + [COMMENTS] * bool(comments)
    if not offered:
        return ()
    chosen = st.pills("Also show", offered, format_func=LAYERS.__getitem__, selection_mode="multi",
                      key=f"layers_{document.id}_{page.page_index}", label_visibility="collapsed")  # fmt: skip
    remarks = [f"{hidden_summary(layers[why])}. {why}" for why in chosen if why in layers]
    remarks += [f":material/comment: {escape(one)}" for one in comments] if COMMENTS in chosen else []
    if remarks:
        st.caption("  \n".join(remarks))
    return tuple(dict.fromkeys(item.reason for why in chosen for item in layers.get(why, ())))


def _pin(shown: ShownPage, words: str) -> None:
    """Keep words of the page in the notes of the open conversation; where none has begun, one does."""
    app = pincite()
    open_one = app.sessions.find(st.session_state.get("session_id") or "")
    session = open_one or app.sessions.create(collection_id=id_for_a_new_session(app))
    st.session_state["session_id"] = session.id
    st.session_state[_TURNED] = True
    safely(app.notes.pin_words, session.id, shown.document_id, shown.page_index, words)


def _go(shown: ShownPage, slot: str, page_index: int) -> None:
    """Turn to a page with the searched words."""
    show_page(slot, replace(shown, page_index=page_index))
    st.session_state[_TURNED] = True


def _found(shown: ShownPage) -> list[tuple[int, int]]:
    """Return the passages of the page that the answer was found among, where it cites none of its words."""
    if not shown.turn_id or shown.marks:
        return []
    try:
        evidence = pincite().turns.without_trace(shown.turn_id).evidence
    except PinciteError:
        return []
    text = pincite().library.page_text(shown.document_id, shown.page_index)  # it may have been read again
    spans = [(item.passage.start, item.passage.end) for item in evidence
             if item.passage.page == (shown.document_id, shown.page_index)
             and text[item.passage.start : item.passage.end] == item.passage.text]  # fmt: skip
    return spans


def draw_pager(app: Pincite, document: Document, shown: ShownPage, slot: str) -> None:
    """Draw "‹ Page 3 of 20 ›" in the row at hand."""
    receipts = app.library.receipts(document.id)
    label = next((receipt.page_label for receipt in receipts if receipt.page_index == shown.page_index), "")
    named = f", {escape(label)}" if ":" in label else f", printed as “{escape(label)}”"  # cells of a sheet
    printed = "" if label in ("", str(shown.page_index + 1)) else named
    _turn_button(shown, document, slot, -1)
    here = f"Page {shown.page_index + 1} of {document.page_count}{printed}"
    with st.popover(here, type="tertiary", key=f"{slot}_pages", on_change="rerun", help="Other pages") as pages:
        if pages.open:
            _draw_thumbnails(document, shown, slot)
    _turn_button(shown, document, slot, +1)


def _draw_thumbnails(document: Document, shown: ShownPage, slot: str) -> None:
    """The pages around this one and those that are cited, small and with their marks; a press opens one."""
    cited = {one.page_index for one in shown.citations if one.document_id == document.id}
    if document.page_count > PAGES_NEAR:
        wanted = st.number_input(
            "Go to page", 1, document.page_count, shown.page_index + 1, key=f"{slot}_goto_{shown.page_index}"
        )
        if wanted != shown.page_index + 1:
            show_page(slot, replace(shown, page_index=wanted - 1))
            st.rerun()
    near = range(max(0, shown.page_index - PAGES_NEAR), min(document.page_count, shown.page_index + PAGES_NEAR + 1))
    with row():
        for at in sorted(cited.union(near)):
            there = replace(shown, page_index=at)
            with st.container(width=THUMBNAIL, gap="xsmall"), errors_shown():
                st.image(page_picture(document.id, at, 2 * THUMBNAIL, there.marks), alt=f"Page {at + 1}")
                quiet(f"{at + 1}", "format_quote" if at in cited else "description", show_page, slot, there,
                      key=f"{slot}_page_{at}", disabled=at == shown.page_index)  # fmt: skip


def _turn_button(shown: ShownPage, document: Document, slot: str, step: int) -> None:
    way, icon = ("next", "chevron_right") if step > 0 else ("previous", "chevron_left")
    target = shown.page_index + step
    icon_button(f"{way.capitalize()} page", icon, show_page, slot, replace(shown, page_index=target),
                key=f"{slot}_{way}", disabled=not 0 <= target < document.page_count)  # fmt: skip


def draw_neighbours(shown: ShownPage, slot: str) -> None:
    """The way to the cited pages before and after this one, where the answer cites several, in the row at hand."""
    cited = [group[0] for group in by_page(shown.citations)]
    here = next((number for number, place in enumerate(cited) if place in shown.here), None)
    if not cited or (len(cited) == 1 and here is not None):
        return
    for label, key, step in (("Previous citation", "P", -1), ("Next citation", "N", +1)):
        target = cited[_closest(cited, shown, step) if here is None else (here + step) % len(cited)]
        icon_button(label, "arrow_back" if step < 0 else "arrow_forward", show_page, slot,
                    cited_page(target, shown.citations, shown.turn_id), key=f"{slot}_cited_{key}",
                    shortcut=key, help=f"{label} ({key})")  # fmt: skip
    if here is not None:
        st.caption(f"{here + 1} of {len(cited)}", width="content")


def _closest(cited: Sequence[Citation], shown: ShownPage, step: int) -> int:
    """Return the number of the closest cited page after or before a page that is not cited."""
    distances = [(step * (one.page_index - shown.page_index), number) for number, one in enumerate(cited)
                 if one.document_id == shown.document_id]  # fmt: skip
    ahead = [(distance, number) for distance, number in distances if distance > 0]
    return min(ahead or distances)[1] if distances else 0


def draw_file_button(app: Pincite, document: Document, *, key: str) -> None:
    path, label = app.library.file(document.id), "Download the PDF"
    download(
        app, label, path.read_bytes, document.pdf_name, of=("document", document.id), key=f"icon_{key}", help=label
    )


def draw_page_panel(app: Pincite, shown: ShownPage, slot: str) -> None:
    """Draw the cited page next to the conversation."""
    document = app.library.get(shown.document_id)
    with row(gap="xsmall", key=HEAD):
        st.markdown(f"**{escape(document.name)}**", wrap=False, width="stretch")
        draw_pager(app, document, shown, slot)
        here = {one.id for one in app.library.list()}
        cited = tuple(place for place in shown.citations if place.document_id in here)
        draw_neighbours(replace(shown, citations=cited), slot)
        draw_file_button(app, document, key=f"{slot}_file")
        icon_button("Close the page", "close", show_page, slot, None, key=f"{slot}_close", shortcut="Escape")
    draw_picture(document, shown, slot)
