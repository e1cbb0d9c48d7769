"""A text area that sends its text while it is typed: Streamlit's own waits for Ctrl+Enter or for the focus to leave."""

from collections.abc import Callable

import streamlit as st

_PRESS_CTRL_ENTER_AFTER_A_PAUSE = """
export default function ({ data }) {
  const attach = (tries) => {
    const area = document.querySelector(`.st-key-${data.key} textarea`)
    if (!area) return tries && setTimeout(() => attach(tries - 1), 100)
    if (area.dataset.live) return
    area.dataset.live = "yes"
    let pause
    const sendAfterAPause = (event) => {
      clearTimeout(pause)
      if (event?.isComposing) return  // half a word of Chinese or Korean is no text yet
      pause = setTimeout(() => {
        area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }))
      }, 600)
    }
    area.addEventListener("input", sendAfterAPause)
    area.addEventListener("compositionend", () => sendAfterAPause())
    if (area.value !== data.text) sendAfterAPause()
  }
  attach(20)
}
"""
_watcher = st.components.v2.component("pincite_live_text", js=_PRESS_CTRL_ENTER_AFTER_A_PAUSE)


def live_text_area(label: str, *, height: int, key: str, on_change: Callable[[], None]) -> str:
    """Draw the area and return its text, which begins as the session state has it under ``key``.

    Without the script it still works with Ctrl+Enter.
    """
    text = st.text_area(label, height=height, key=key, on_change=on_change)
    _watcher(data={"key": key, "text": text or ""}, key=f"{key}_live")
    return text or ""
