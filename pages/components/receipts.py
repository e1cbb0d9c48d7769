"""Findings in the receipts of a document's pages: hidden text, instructions to an AI, pages to check."""

from collections.abc import Sequence

import streamlit as st

from pincite.core.domain.documents import SEEN, Document, HiddenReason, HiddenText, PageReceipt, hidden_summary
from pincite.core.services.bootstrap import Pincite
from pincite.core.text.orders import orders_in
from pincite.pages.components.controls import button, quiet, row
from pincite.pages.components.facade import pincite
from pincite.pages.components.page_view import HIDDEN, SET_APART, ShownPage, show_page
from pincite.pages.components.words import count, escape, in_words, page_name, shorten

_OUTSIDE = "Text outside the page"
_BEYOND = frozenset({HiddenReason.OUTSIDE, HiddenReason.CLIPPED})
"""Reasons that printers' marks and cropped pages give; they do not indicate an intent to hide text."""
_GROUPS = {
    "Hidden text": (frozenset(HiddenReason) - SEEN - _BEYOND, "visibility_off", HIDDEN),
    _OUTSIDE: (_BEYOND, "crop", HIDDEN),
    "Excluded text": (SEEN, "format_strikethrough", SET_APART),
}


def draw_hidden(app: Pincite, document: Document, receipts: Sequence[PageReceipt], slot: str) -> None:
    """Show the pages with text that nobody sees, that lies outside the visible page, or that is excluded."""
    for group, (reasons, icon, note) in _GROUPS.items():
        kept = {one.page_index: [item for item in one.hidden if item.reason in reasons] for one in receipts}
        found = [receipt for receipt in receipts if kept[receipt.page_index]]
        if not found:
            continue
        with st.expander(_title(group, [kept[one.page_index] for one in found]), icon=f":material/{icon}:"):
            st.caption(note)
            for receipt in found[:50]:
                with row(gap="xsmall"):
                    _page_button(document, receipt, slot, group)
                    st.caption(escape(hidden_summary(kept[receipt.page_index])))


def _title(group: str, hidden: Sequence[Sequence[HiddenText]]) -> str:
    """For example "26 pages have text outside the visible page (5 characters each)"."""
    if group != _OUTSIDE:
        return f"{group} on {count(len(hidden), 'page')}"
    lengths = {sum(len(item.text) for item in items) for items in hidden}
    each = " each" if len(hidden) > 1 else ""
    amount = f"{count(max(lengths), 'character')}{each}" if len(lengths) == 1 else f"up to {max(lengths):,} characters"
    return (
        f"{count(len(hidden), 'page')} {'has' if len(hidden) == 1 else 'have'} text outside the visible page ({amount})"
    )


def _page_button(document: Document, receipt: PageReceipt, slot: str, key: str) -> None:
    name, place = page_name(receipt.page_label, receipt.page_index), ShownPage(document.id, receipt.page_index)
    quiet(escape(name), "find_in_page", show_page, slot, place, key=f"{key}_{receipt.page_index}")


@st.cache_data(max_entries=48, show_spinner="Checking for instructions to an AI…")
def _orders(document_id: str, page_indexes: tuple[int, ...]) -> dict[int, str]:
    """Return the pages with instructions to an AI, and these instructions."""
    found = {}
    for page_index in page_indexes:
        text = pincite().library.page_text(document_id, page_index)
        for span in orders_in(text)[:1]:
            found[page_index] = " ".join(text[span.start : span.end].split())
    return found


def draw_orders(document: Document, receipts: Sequence[PageReceipt], slot: str) -> None:
    """Show the pages with instructions to an AI."""
    found = _orders(document.id, tuple(receipt.page_index for receipt in receipts))
    if not found:
        return
    with st.expander(f"Instructions to an AI on {count(len(found), 'page')}", icon=":material/smart_toy:"):
        st.caption(
            "These sentences are never sent to a model, and answers that cite them or their neighbours wait for review."
        )
        pages = {receipt.page_index: receipt for receipt in receipts}
        for page_index, said in list(found.items())[:50]:
            with row(gap="xsmall"):
                _page_button(document, pages[page_index], slot, "orders_at")
                st.caption(f"“{escape(shorten(said, 120))}”")


def draw_troubles(app: Pincite, document: Document, troubled: Sequence[PageReceipt], slot: str) -> None:
    """List the pages to look at, each with its reason, and offer to read them again."""
    number = len(troubled)
    with st.expander(f"{count(number, 'page')} to check", icon=":material/warning:", expanded=number < 6):
        again = [receipt.page_index for receipt in troubled]
        button("Read all again", "refresh", app.ingest.retry, document.id, again, key="retry_all")
        for receipt in troubled[:50]:
            with row(gap="xsmall"):
                _page_button(document, receipt, slot, "open")
                st.caption(escape(f"{receipt.status.capitalize()}: {in_words(receipt.reason)}"))
