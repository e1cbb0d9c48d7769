"""Which two documents are compared: chosen on the page Compare, or on the page of documents."""

from collections.abc import Mapping

import streamlit as st

from pincite.core.domain.documents import Document
from pincite.core.services.bootstrap import Pincite
from pincite.pages.components.controls import button

OLDER, NEWER = "older_version", "newer_version"
_KEPT = "compared_versions"
"""The choice, which outlives a visit to another page."""


def chosen_versions(documents: Mapping[str, Document]) -> tuple[Document | None, Document | None]:
    older, newer = (documents.get(st.session_state.get(key) or "") for key in (OLDER, NEWER))
    return older, newer


def keep_choice(documents: Mapping[str, Document]) -> None:
    """Remember what is chosen, and what was where the page is opened again; a removed document is no choice."""
    kept = st.session_state.get(_KEPT, {})
    for key in (OLDER, NEWER):
        chosen = st.session_state.get(key, kept.get(key))
        st.session_state[key] = chosen if chosen in documents else None
    st.session_state[_KEPT] = {key: st.session_state[key] for key in (OLDER, NEWER)}


def swap() -> None:
    older, newer = st.session_state.get(OLDER), st.session_state.get(NEWER)
    st.session_state.update({OLDER: newer, NEWER: older})


def draw_comparing(older_id: str, newer_id: str, label: str, key: str) -> None:
    """A button that opens the page Compare with two documents."""
    if button(label, "difference", key=key):
        st.session_state.update({OLDER: older_id, NEWER: newer_id})
        st.switch_page("pages/compare.py")


def in_order(app: Pincite, one: Document, other: Document) -> tuple[str, str]:
    """Return the ids of the older and the newer of two documents: by what they state, else by when they were added."""
    if app.versions.earlier_of(one.id) == other.id:
        return other.id, one.id
    if app.versions.earlier_of(other.id) == one.id or one.added_at <= other.added_at:
        return one.id, other.id
    return other.id, one.id
