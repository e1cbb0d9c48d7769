"""A text area that sends its text while it is typed: Streamlit's own waits for Ctrl+Enter or for the focus to leave."""

import streamlit as st

_PRESS_CTRL_ENTER_AFTER_A_PAUSE = """
export default function ({ data }) {
  const attach = (tries) => {
    const area = document.querySelector(`.st-key-${data.key} textarea`)
    if (!area) return tries && setTimeout(() => attach(tries - 1), 100)
    if (area.dataset.live) return
    area.dataset.live = "yes"
    let pause
    area.addEventListener("input", () => {
      clearTimeout(pause)
      pause = setTimeout(() => {
        area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }))
      }, 600)
    })
  }
  attach(20)
}
"""
_watcher = st.components.v2.component("pincite_live_text", js=_PRESS_CTRL_ENTER_AFTER_A_PAUSE)


def live_text_area(label: str, value: str, *, height: int, key: str) -> str:
    """Draw the area and return its text; without the script it still works with Ctrl+Enter."""
    text = st.text_area(label, value=value, height=height, key=key)
    _watcher(data={"key": key}, key=f"{key}_live")
    return text or ""
