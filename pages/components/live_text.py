"""A text area that sends its text while it is typed: Streamlit's own waits for Ctrl+Enter or for the focus to leave."""

from collections.abc import Callable

import streamlit as st

from pincite.pages.components.layout import asset

_watcher = st.components.v2.component("pincite_live_text", js=asset("live_text.js"))


def live_text_area(label: str, *, height: int, key: str, on_change: Callable[[], None]) -> str:
    """Draw the area and return its text, which begins as the session state has it under ``key``.

    Without the script it still works with Ctrl+Enter.
    """
    text = st.text_area(label, height=height, key=key, on_change=on_change)
    _watcher(data={"key": key, "text": text or ""}, key=f"{key}_live")
    return text or ""
