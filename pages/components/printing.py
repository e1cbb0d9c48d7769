"""A conversation for printing or copying, each answer with its citations.

On the screen the quotations are on the buttons that open their pages.
"""

from collections.abc import Container, Sequence
from html import escape

import streamlit as st

from pincite.core.domain.answers import Citation
from pincite.core.domain.turns import Turn
from pincite.core.text.marks import marked_text
from pincite.pages.components.words import page_name


def as_text(turn: Turn, documents: Container[str]) -> str:
    """Return an answer to paste elsewhere: its words with their numbers, and what these quote."""
    cited = "\n".join(_line(place, documents) for place in turn.final_citations)
    return f"{marked_text(turn.final_parts)}\n\n{cited}".strip()


def draw_printed_citations(citations: Sequence[Citation], names: Container[str]) -> None:
    """List what the chips open, for paper; nothing of it is on the screen."""
    if citations:
        lines = (escape(_line(place, names)) for place in citations)
        st.html("".join(f'<div class="pincite-printed" data-cited="{words}"></div>' for words in lines))


def _line(place: Citation, names: Container[str]) -> str:
    gone = "" if place.document_id in names else " (source removed)"
    page = page_name(place.page_label, place.page_index)
    return f"[{place.number}] {place.document_name}, {page}{gone}: “{' '.join(place.quotation.split())}”"
