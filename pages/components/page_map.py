"""The page map: one cell a page, coloured and lettered by how the page was read; a click opens the page."""

from collections import Counter
from collections.abc import Sequence

import altair as alt
import streamlit as st

from pincite.core.domain.documents import PageReceipt, PageStatus, hidden_summary
from pincite.pages.components.words import count, in_words, page_name

LOOKS: dict[PageStatus, tuple[str, str, str]] = {
    PageStatus.TEXT: ("T", "#3d8f7a", "text"),
    PageStatus.OCR: ("O", "#4a7fc1", "recognised by OCR"),
    PageStatus.EMPTY: ("–", "#8a9296", "empty"),
    PageStatus.GARBLED: ("G", "#c98a1b", "garbled text"),
    PageStatus.FAILED: ("F", "#c4484a", "failed"),
}
WAITING = ("…", "#8a9296", "still being recognised")
TROUBLED = (PageStatus.GARBLED, PageStatus.FAILED)
PADDING = 22
"""Pixels around a chart, which count into its height."""
MAX_ROWS = 22
"""A longer map scrolls."""


def summary(receipts: Sequence[PageReceipt]) -> str:
    """For example "T text 18 · O recognised by OCR 1 · F failed 1"."""
    numbers = Counter(map(_look, receipts))
    return " · ".join(
        f"**{look[0]}** {look[2]} {numbers[look]:,}" for look in (*LOOKS.values(), WAITING) if numbers[look]
    )


def _look(receipt: PageReceipt) -> tuple[str, str, str]:
    return WAITING if receipt.waiting else LOOKS[receipt.status]


def draw_page_map(receipts: Sequence[PageReceipt], *, key: str) -> int | None:
    """Return the index of the page that was clicked."""
    columns, cell = (25, 19) if len(receipts) <= 500 else (40, 13)
    cells = alt.Data(
        values=[
            {
                "page": receipt.page_index,
                "row": receipt.page_index // columns,
                "column": receipt.page_index % columns,
                "letter": _look(receipt)[0],
                "Status": _look(receipt)[2],
                "Page": page_name(receipt.page_label, receipt.page_index),
                "Read": count(receipt.characters, "character"),
                "Reason": in_words(receipt.reason) or "–",
                "Hidden": hidden_summary(receipt.hidden) or "–",
            }
            for receipt in receipts
        ]
    )
    rows = -(-len(receipts) // columns)
    clicked = alt.selection_point(name="clicked", fields=["page"], on="click", empty=False)
    place = alt.Chart(cells).encode(
        x=alt.X("column:O", axis=None, scale=alt.Scale(domain=list(range(columns)))),
        y=alt.Y("row:O", axis=None),
        tooltip=["Page:N", "Status:N", "Read:N", "Reason:N", "Hidden:N"],
    )
    looks = (*LOOKS.values(), WAITING)
    colors = alt.Scale(domain=[look[2] for look in looks], range=[look[1] for look in looks])
    squares = place.mark_rect(stroke="#ffffff66", cornerRadius=3, cursor="pointer").encode(
        color=alt.Color("Status:N", scale=colors, legend=None)
    )
    letters = place.mark_text(color="#ffffff", fontSize=cell - 9, fontWeight=600, cursor="pointer").encode(
        text="letter:N"
    )
    sized = (squares.add_params(clicked) + letters).properties(height=rows * cell + PADDING)
    chart = sized.configure_view(strokeWidth=0)
    with st.container(height=MAX_ROWS * cell if rows > MAX_ROWS else "content", border=False):
        event = st.altair_chart(chart, width="stretch", key=key, on_select="rerun", selection_mode="clicked")
    points = event["selection"].get("clicked") or []
    return int(points[0]["page"]) if points else None
