"""What the browser prints of a conversation: all that is shown of it, black on white, each answer with its citations.

The list of citations is for paper alone: on the screen the quotations stand on the buttons that open their pages.
"""

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from core.domain.answers import Citation
from pages.components.words import page_name


def draw_printed_citations(citations: Sequence[Citation], names: Mapping[str, str]) -> None:
    """List what the chips open, for paper; nothing of it is on the screen."""
    if citations:
        told = (escape(_line(place, names)) for place in citations)
        st.html("".join(f'<div class="pincite-printed" data-cited="{words}"></div>' for words in told))


def _line(place: Citation, names: Mapping[str, str]) -> str:
    gone = "" if place.document_id in names else " (source removed)"
    page = page_name(place.page_label, place.page_index)
    return f"[{place.number}] {place.document_name}, {page}{gone}: “{' '.join(place.quotation.split())}”"
