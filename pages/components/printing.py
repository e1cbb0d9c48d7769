"""What the browser prints of a conversation: all that is shown of it, black on white, each answer with its citations.

The list of citations is for paper alone: on the screen the quotations stand on the buttons that open their pages.
"""

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from core.domain.answers import Citation
from pages.components.layout import CONVERSATION
from pages.components.words import page_name

_PANE = f".st-key-{CONVERSATION}"
_NOT_ON_PAPER = (
    *("stSidebar", "stHeader", "stToolbar", "stBottom", "stBottomBlockContainer", "stExpandSidebarButton"),
    *("stButton", "stDownloadButton", "stPopover", "stFeedback", "stPageLink", "stChatMessageAvatarCustom"),
)
_STYLE = f"""<style>
@media print {{
  html, body, .stApp {{ color-scheme: light !important; background: #fff !important; }}
  html, body, :has(.stMain), .stMain, :has({_PANE}), {_PANE}, {_PANE} div {{
    position: static !important; height: auto !important; max-height: none !important; min-height: 0 !important;
    overflow: visible !important; contain: none !important;
  }}
  html, body, :has(.stMain), .stMain, :has({_PANE}), {_PANE} {{
    display: block !important; width: 100% !important; max-width: none !important; flex: none !important;
    margin: 0 !important; padding: 0 !important;
  }}
  {", ".join(f'[data-testid="{name}"]' for name in _NOT_ON_PAPER)},
  .stHorizontalBlock:has({_PANE}) > .stColumn:not(:has({_PANE})) {{ display: none !important; }}
  .stApp, .stApp * {{ color: #000 !important; background: none !important; box-shadow: none !important; }}
  [data-testid="stChatMessage"] {{ padding: 0.4rem 0 !important; }}
  .pincite-printed::before {{ content: attr(data-cited); display: block; font-size: 0.8rem; margin: 0.15rem 0; }}
}}
</style>"""


def apply_print_style() -> None:
    st.html(_STYLE)


def draw_printed_citations(citations: Sequence[Citation], names: Mapping[str, str]) -> None:
    """List what the chips open, for paper; nothing of it is on the screen."""
    if citations:
        told = (escape(_line(place, names)) for place in citations)
        st.html("".join(f'<div class="pincite-printed" data-cited="{words}"></div>' for words in told))


def _line(place: Citation, names: Mapping[str, str]) -> str:
    gone = "" if place.document_id in names else " (source removed)"
    page = page_name(place.page_label, place.page_index)
    return f"[{place.number}] {place.document_name}, {page}{gone}: “{' '.join(place.quotation.split())}”"
