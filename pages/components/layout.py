"""Layout beyond Streamlit's elements: panes that fill the window, a list flush left, no second Stop button."""

from pathlib import Path

import streamlit as st

# The keys of containers that layout.css, printing.css and the scripts know by name.
CONVERSATION = "conversation"
BESIDE = "page_panel"
HEAD = "page_head"
SESSION_LIST = "session_list"
CASE = "review_case"
BAR = "review_bar"
LAST_DECISION = "review_decided"
FILES = "dropped_files"

_HERE = Path(__file__).parent


def asset(name: str) -> str:
    """Return a script or style from this folder."""
    return (_HERE / name).read_text(encoding="utf-8")


def apply_layout() -> None:
    """Show the page above the conversation, or below the case to review, in narrow windows."""
    for style in ("layout.css", "printing.css"):
        st.html(_HERE / style)
