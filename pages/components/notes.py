"""The notes of a conversation, behind a button beside the box to ask in: pinned quotations, and words of one's own."""

import streamlit as st

from core.domain.turns import Session
from core.services.bootstrap import Pincite
from pages.components.controls import button, download, quiet, row
from pages.components.facade import safely
from pages.components.page_view import ShownPage, show_page
from pages.components.words import chip_label, escape, escape_lines, shorten

EMPTY = "Nothing is pinned yet. Use *Pin to notes* under an answer, or select words on a page."


def draw_notes(app: Pincite, session: Session | None, slot: str) -> None:
    if session is None:
        return
    notes = app.notes.of_session(session.id)
    label = f"Notes ({len(notes.pins)})" if notes.pins else "Notes"
    with st.popover(label, icon=":material/sticky_note_2:", width="content"):
        for number, pin in enumerate(notes.pins, start=1):
            found = app.library.located(pin.citation)
            place, gone = found or pin.citation, found is None
            st.markdown(f"> {escape_lines(' '.join(place.quotation.split()))}")
            with row(gap="xsmall"):
                named = f"{number} · {chip_label([place]).partition(' · ')[2]}" + (" · source removed" if gone else "")
                shown = ShownPage(place.document_id, place.page_index, (place,))
                button(named, "link_off" if gone else "find_in_page", show_page, slot, shown, key=f"pin_{pin.id}",
                       disabled=gone)  # fmt: skip
                quiet("Remove", "delete", app.notes.unpin, session.id, pin.id, key=f"unpin_{pin.id}")
        if not notes.pins:
            st.caption(EMPTY)
        if notes.removed:
            words = escape(shorten(" ".join(notes.removed.citation.quotation.split()), 40))
            quiet(f"Undo: restore “{words}”", "undo", app.notes.bring_back, session.id, key=f"undo_{session.id}")
        _draw_text(app, session.id, notes.text)
        if notes.pins or notes.text:
            download("Export as Markdown", lambda: app.notes.export_markdown(session.id),
                     f"{session.title[:60]} (notes).md", "text/markdown", key=f"notes_export_{session.id}")  # fmt: skip


def _draw_text(app: Pincite, session_id: str, stored: str) -> None:
    """The box shows what is stored, where that was changed elsewhere; else it is left to who types in it."""
    key = f"notes_{session_id}"
    if key not in st.session_state or st.session_state.get(f"{key}_seen") != stored:
        st.session_state[key] = stored
    st.session_state[f"{key}_seen"] = stored
    st.text_area("Your notes (Markdown)", key=key, height=140, on_change=safely, args=(_keep, app, session_id))


def _keep(app: Pincite, session_id: str) -> None:
    key = f"notes_{session_id}"
    app.notes.write(session_id, st.session_state[key])
    st.session_state[f"{key}_seen"] = st.session_state[key]
