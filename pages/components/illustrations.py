"""Illustrations of pages: where they are, what a model wrote about them, and the button that asks it to."""

from collections.abc import Sequence

import streamlit as st

from pincite.core.domain.documents import Document, PageReceipt
from pincite.core.domain.errors import PinciteError
from pincite.core.domain.illustrations import Description, Illustration
from pincite.core.domain.turns import Turn
from pincite.core.services.bootstrap import Pincite
from pincite.core.services.illustrations import pages_in_words
from pincite.pages.components.controls import quiet, row
from pincite.pages.components.facade import pincite, tell
from pincite.pages.components.words import count, escape, shorten

State = tuple[tuple[Illustration, str], ...]
THUMBNAIL = 220
"""Pixels."""
NO_WORDS_OF_IT = "These are not the document's words; they are never quoted."
MAX_RELATED = 2
_FAILED = "figure_not_described"


@st.cache_data(max_entries=48, show_spinner=False)
def cut_out(figure: Illustration) -> bytes:
    return pincite().illustrations.picture(figure, most=2 * THUMBNAIL)


def draw_illustrations(app: Pincite, document: Document, page_index: int) -> None:
    """Draw the figures of a page below its picture."""
    found = app.illustrations.on_page(document.id, page_index)
    if not found:
        return
    words = "a figure whose contents are" if len(found) == 1 else f"{len(found)} figures whose contents are"
    with st.expander(f"This page has {words} not in its text", icon=":material/image:"):
        for number, (figure, description) in enumerate(found):
            _draw_illustration(app, figure, description, key=f"{document.id}_{page_index}_{number}")


def _draw_illustration(app: Pincite, figure: Illustration, description: Description | None, *, key: str) -> None:
    with st.container(border=True):
        _draw_picture(figure)
        if description:
            draw_description(description)
            with row():
                quiet("Describe again", "refresh", _describe, app, figure, key=f"again_{key}")
                quiet("Delete the description", "delete", app.illustrations.delete, figure, key=f"forget_{key}")
        else:
            quiet("Describe this figure", "image_search", _describe, app, figure, key=f"describe_{key}",
                  help="A connected model that sees pictures writes what it shows.")  # fmt: skip
        if (error := st.session_state.pop(_FAILED, {}).get(figure)) is not None:
            tell(error)


def _draw_picture(figure: Illustration) -> None:
    try:
        st.image(cut_out(figure), width=THUMBNAIL, alt="The figure")
    except PinciteError:
        st.caption("The figure cannot be drawn.")


def draw_description(description: Description) -> None:
    st.markdown(escape(description.text))
    if description.unsure:
        st.caption(f":material/warning: Not read in the picture: {escape(', '.join(description.unsure[:12]))}.")
    st.caption(f"Described by {escape(description.model)}. {NO_WORDS_OF_IT}")


def _describe(app: Pincite, figure: Illustration) -> None:
    try:
        with st.spinner("A model looks at the figure…"):
            app.illustrations.describe(figure)
    except PinciteError as error:  # shown by its button
        st.session_state[_FAILED] = {figure: error}


def draw_not_described(app: Pincite, document: Document, receipts: Sequence[PageReceipt]) -> None:
    """State which pages have figures that nobody described."""
    if (left := app.illustrations.not_described(document.id)) and receipts:
        st.caption(f":material/image: {pages_in_words(left)}")


@st.cache_data(max_entries=500, show_spinner=False)
def _related(
    turn_id: str, state: tuple[tuple[Illustration, str], ...], _described: list[Description]
) -> list[Description]:
    """``state`` identifies the descriptions."""
    turn = pincite().turns.without_trace(turn_id)
    passages = [item.passage.text for item in turn.evidence]
    return pincite().illustrations.related(turn.asked or turn.question, _described, passages)


def draw_related(app: Pincite, turn: Turn, names: dict[str, str]) -> None:
    """Offer described figures that are about the question, below its answer."""
    described = app.illustrations.described(list(names))
    try:
        state = tuple((one.figure, one.created_at) for one in described)
        related = _related(turn.id, state, described) if described else []
    except PinciteError:  # a server of embeddings that does not answer
        related = []
    if not related:
        return
    with st.expander(f"{count(len(related[:MAX_RELATED]), 'described figure')} about this", icon=":material/image:"):
        for one in related[:MAX_RELATED]:
            name = escape(shorten(names[one.figure.document_id], 60))
            st.markdown(f"**{name}**, page {one.figure.page_index + 1}")
            _draw_picture(one.figure)
            draw_description(one)
