"""The list of conversations in the sidebar, and what can be done with the open one."""

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from pincite.core.domain.documents import Collection
from pincite.core.domain.turns import Session, Turn
from pincite.core.services.bootstrap import Pincite
from pincite.core.services.exports import export_forms
from pincite.pages.components.collections import choose_collection, collection_of, use_collection
from pincite.pages.components.controls import (
    button,
    confirm_deletion,
    danger,
    download,
    offer_more,
    quiet,
    row,
    show_more,
    shown_of,
)
from pincite.pages.components.layout import SESSION_LIST
from pincite.pages.components.scope import NEW
from pincite.pages.components.words import escape, shorten

SESSIONS_A_PAGE = 15
MAX_NEAR = 5


def open_session(app: Pincite) -> Session | None:
    """Return the session that the address names, else the one open before, else the newest; None for a new one.

    The address keeps it (`write_address`), so that a reload or a second tab shows the same conversation.
    """
    wanted = st.query_params.get("session")
    if "session_id" not in st.session_state or (wanted and wanted != st.session_state.get("addressed")):
        st.session_state["session_id"] = wanted or _newest(app)
    session = app.sessions.find(st.session_state["session_id"])
    if session is None and wanted and wanted == st.session_state["session_id"]:
        st.warning("**The session in this link was not found.** It was deleted or belongs to another library. "
                   "Choose one on the left, or ask a new question.", icon=":material/link_off:")  # fmt: skip
    return session


def begin_with(document_ids: Sequence[str], collection_id: str) -> None:
    """Open a new session that searches these documents, the next time that the conversation is drawn."""
    use_collection(collection_id)
    st.session_state.update({NEW: tuple(document_ids), "session_id": "", "addressed": "", "chat_page": None})


def _newest(app: Pincite, collection_id: str | None = None) -> str:
    return next((session.id for session in app.sessions.list(most=1, collection_id=collection_id)), "")


def choose_session(session_id: str) -> None:
    st.session_state["session_id"] = session_id
    st.session_state["chat_page"] = None


def _enter(app: Pincite, collection_id: str) -> None:
    """Open the newest session of the collection, or a new one where it has none."""
    use_collection(collection_id)
    st.session_state.pop(NEW, None)  # what was chosen in the other collection
    choose_session(_newest(app, collection_id))


def draw_session_list(app: Pincite, current: Session | None) -> Collection | None:
    """Draw the sessions of the collection in use, and its choice if there are several; return the collection."""
    collection = collection_of(app, current)
    with st.sidebar:
        if app.collections.list():
            choose_collection(app, collection, "collection_on_chat", partial(_enter, app))
            if collection and collection.instructions:
                st.caption(
                    f"Instructions: {escape(shorten(collection.instructions, 90))}", help=collection.instructions
                )
        button("New session", "add_comment", choose_session, "", key="new_session", width="stretch",
               disabled=current is None)  # fmt: skip
        wanted = st.text_input("Search sessions", type="search", live=True, placeholder="Search sessions",
                               label_visibility="collapsed")  # fmt: skip
        most = shown_of("sessions", SESSIONS_A_PAGE)
        within = collection.id if collection else None
        found = app.sessions.list(wanted or "", most=most + 1, collection_id=within)
        if not found:
            st.caption("No session has these words." if wanted else "No sessions yet.")
        near = app.recall.sessions_like(wanted or "", most=MAX_NEAR, collection_id=within)
        with st.container(key=SESSION_LIST, gap=None):
            labels = {} if collection else {one.id: one.name for one in app.collections.list()}
            _draw_sessions(found[:most], current, labels)
            if len(found) > most:
                offer_more("Show more sessions", "sessions", SESSIONS_A_PAGE)
            if others := [session for session in near if session not in found]:
                st.caption("Nearest in meaning")
                _draw_sessions(others, current, labels)
    return collection


def _draw_sessions(sessions: Sequence[Session], current: Session | None, labels: Mapping[str, str]) -> None:
    """``labels``: names of the collections that are to be shown, by their ids."""
    for session in sessions:
        title = escape(session.title)
        if name := labels.get(session.collection_id):
            title = f"{escape(name)}: {title}"
        label = f":primary[**{title}**]" if current and session.id == current.id else title
        key = f"session_{session.id}"
        quiet(label, "chat_bubble", choose_session, session.id, key=key, width="stretch", wrap=False)


def draw_session_menu(app: Pincite, session: Session, turns: Sequence[Turn]) -> None:
    with row(key="session_head"):
        st.markdown(f"**{escape(session.title)}**", width="stretch", wrap=False)
        with st.popover("Session menu", icon=":material/more_horiz:", type="tertiary", key="icon_session_menu"):
            # the key has the title: once a session is renamed, the old text of this field must not rename it back
            key = f"title_{session.id}_{session.title}"
            title = st.text_input("Title", value=session.title, key=key, max_chars=120)
            if title and title.strip() != session.title:
                app.sessions.rename(session.id, title.strip())
                st.rerun()
            of = ("session", session.id)
            download(app, "Export as Markdown", lambda: app.sessions.export_markdown(session.id),
                     f"{session.title[:60]}.md", of=of)  # fmt: skip
            if any(turn.final_citations for turn in turns):
                for ending, form in export_forms().items():
                    download(app, form.LABEL, partial(app.exports.of_session, session.id, ending),
                             f"{session.title[:60]}{ending}", of=of, key=f"export_{ending}")  # fmt: skip
            if (asked := app.turns.count(session.id)) > len(turns):
                quiet("Show everything, for printing", "print", show_more, session.id, asked, key=f"all_{session.id}")
            if danger("Delete…", "session"):
                words = f"**{escape(session.title)}** and its answers and reviews will be deleted. Documents stay."
                confirm_deletion("Delete this session?", words, _delete, app, session)


def leave_if_removed(app: Pincite, session: Session) -> None:
    """Open another session of its collection where this one is not there any more."""
    if app.sessions.find(session.id) is None:
        choose_session(_newest(app, session.collection_id))


def _delete(app: Pincite, session: Session) -> None:
    app.deletion.session(session.id)
    leave_if_removed(app, session)
