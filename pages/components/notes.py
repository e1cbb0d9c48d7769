"""The notes of a conversation: pinned quotations and the user's own text."""

import streamlit as st

from pincite.core.domain.turns import Session
from pincite.core.services.bootstrap import Pincite
from pincite.pages.components.controls import button, download, icon_button, quiet, row
from pincite.pages.components.facade import safely
from pincite.pages.components.layout import HEAD
from pincite.pages.components.page_view import NOTES, ShownPage, show_page
from pincite.pages.components.words import chip_label, escape, shorten

EMPTY = "Nothing is pinned yet. Use *Pin to notes* under an answer, or select words on a page."


def draw_notes_button(app: Pincite, session: Session | None) -> None:
    """Draw the button that switches between notes and page."""
    if session is None:
        return
    kept, shown = app.notes.of_session(session.id).groups, st.session_state.get(NOTES, False)
    label = f"Notes ({len(kept)})" if kept else "Notes"
    button(label, "sticky_note_2", st.session_state.update, {NOTES: not shown}, key="notes_button")


def draw_notes_panel(app: Pincite, session: Session, slot: str) -> None:
    notes = app.notes.of_session(session.id)
    with row(gap="xsmall", key=HEAD):
        st.markdown("**Notes**", width="stretch")
        icon_button("Close the notes", "close", st.session_state.update, {NOTES: False}, key=f"{slot}_close",
                    shortcut="Escape")  # fmt: skip
    for number, group in enumerate(notes.groups, start=1):
        found = [app.library.located(pin.citation) for pin in group]
        places = tuple(place or pin.citation for place, pin in zip(found, group, strict=True))
        (place, *_), gone, first = places, not all(found), group[0].id
        st.markdown(f"> {escape(' … '.join(' '.join(one.quotation.split()) for one in places))}")
        with row(gap="xsmall"):
            named = f"{number} · {chip_label([place]).partition(' · ')[2]}" + (" · source removed" if gone else "")
            page = ShownPage(place.document_id, place.page_index, places)
            button(named, "link_off" if gone else "find_in_page", show_page, slot, page, key=f"pin_{first}",
                   disabled=gone)  # fmt: skip
            quiet("Remove", "delete", app.notes.unpin, session.id, *(pin.id for pin in group), key=f"unpin_{first}")
    if not notes.pins:
        st.caption(EMPTY)
    if notes.removed:
        words = escape(shorten(" ".join(notes.removed.citation.quotation.split()), 40))
        quiet(f"Undo: restore “{words}”", "undo", app.notes.bring_back, session.id, key=f"undo_{session.id}")
    _draw_text(app, session.id, notes.text)
    if notes.pins or notes.text:
        download(
            app,
            "Export as Markdown",
            lambda: app.notes.export_markdown(session.id),
            f"{session.title[:60]} (notes).md",
            of=("notes", session.id),
            key=f"notes_export_{session.id}",
        )


def _draw_text(app: Pincite, session_id: str, stored: str) -> None:
    """The box shows what is stored, where that was changed elsewhere; else it is left to who types in it."""
    key = f"notes_{session_id}"
    if key not in st.session_state or st.session_state.get(f"{key}_seen") != stored:
        st.session_state[key] = stored
    st.session_state[f"{key}_seen"] = stored
    st.text_area("Your notes (Markdown)", key=key, height=260, on_change=safely, args=(_keep, app, session_id))


def _keep(app: Pincite, session_id: str) -> None:
    key = f"notes_{session_id}"
    app.notes.write(session_id, st.session_state[key])
    st.session_state[f"{key}_seen"] = st.session_state[key]
