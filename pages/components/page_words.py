"""What makes the picture of a page a page: words to select, copy with their citation and ask about, find, and zoom.

A transparent layer with the words lies over the picture, each line of words where it is printed; what a search found
and nobody cites is framed. Without the script there is the picture.
"""

from collections.abc import Callable, Sequence

import streamlit as st

from pincite.core.domain.documents import Box, Page
from pincite.pages.components.layout import asset
from pincite.pages.components.words import page_name

PICTURE = "page_picture"
"""The key of the container that the picture is in."""
_ASKED = "words_to_find"
"""The words that were last looked for, on whichever page."""

_words = st.components.v2.component(
    "pincite_page_words", css=asset("page_words.css"), js=asset("page_words.js"), isolate_styles=False
)

Shape = list[float | str]


def draw_page_tools(
    page: Page,
    name: str,
    count: int,
    *,
    key: str,
    cited: Sequence[tuple[int, int]],
    found: Sequence[tuple[int, int]],
    pin: Callable[[str], None],
    find: Callable[[str], Sequence[int]],
    go: Callable[[int], None],
) -> bool:
    """Draw the tools above the picture. Returns whether the picture should be drawn for a large size.

    ``count``: pages of the document. ``cited``: spans that are marked on the picture; the first is scrolled to.
    ``found``: spans to frame. ``pin`` is called with the words to keep in the notes. ``find`` returns the pages of the
    document that contain some words, and ``go`` is called with the page to show.
    """
    asked = st.session_state.get(_ASKED, "")
    value = _words(
        key="page_words",
        data={
            "key": key,
            "picture": PICTURE,
            "cited": f"{name}, {page_name(page.page_label, page.page_index)}",
            "words": [_shape(word.box, page.text[word.start : word.end]) for word in page.words],
            "found": [_shape(box) for span in found if (box := _around(page, span))],
            "asked": asked,
            "pages": list(find(asked)),
            "page": page.page_index,
            "count": count,
            "first": next((box.top for span in cited if (box := _around(page, span))), None),
        },
        default={"sharp": False},
        on_sharp_change=lambda: None,
        on_pin_change=lambda: pin(st.session_state["page_words"].pin or ""),
        on_find_change=lambda: st.session_state.update({_ASKED: st.session_state["page_words"].find or ""}),
        on_go_change=lambda: go(int(st.session_state["page_words"].go or 0)),
    )
    return bool(value.sharp)


def _shape(box: Box, text: str | None = None) -> Shape:
    """A word: left, top, width and height as fractions of the page, and its text."""
    edges: Shape = [round(at, 4) for at in (box.left, box.top, box.right - box.left, box.bottom - box.top)]
    return edges if text is None else [*edges, text]


def _around(page: Page, span: tuple[int, int]) -> Box | None:
    return Box.around(word.box for word in page.words if word.start < span[1] and word.end > span[0])
