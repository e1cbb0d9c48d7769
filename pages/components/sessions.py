"""The list of conversations in the sidebar, and what can be done with the open one."""

import streamlit as st

from core.domain.turns import Session
from core.services.bootstrap import Pincite
from pages.components.layout import SESSION_LIST
from pages.components.words import escape

SESSIONS_A_PAGE = 15


def open_session(app: Pincite) -> Session | None:
    """The session that the address names, else the one open before, else the newest; None for a new one.

    The address keeps it, so that a reload or a second tab shows the same conversation.
    """
    wanted = st.query_params.get("session")
    if "session_id" not in st.session_state or (wanted and wanted != st.session_state.get("addressed")):
        st.session_state["session_id"] = wanted or _newest(app)
    session = app.sessions.find(st.session_state["session_id"])
    _address(session.id if session else "")
    return session


def _newest(app: Pincite) -> str:
    return next((session.id for session in app.sessions.list(most=1)), "")


def _address(session_id: str) -> None:
    st.session_state["addressed"] = session_id
    if session_id:
        st.query_params["session"] = session_id
    else:
        st.query_params.clear()


def _choose(session_id: str) -> None:
    st.session_state["session_id"] = session_id
    st.session_state["chat_page"] = None
    _address(session_id)


def draw_session_list(app: Pincite, current: Session | None) -> None:
    with st.sidebar:
        st.button("New session", icon=":material/add_comment:", width="stretch", disabled=current is None,
                  on_click=_choose, args=("",))  # fmt: skip
        wanted = st.text_input("Search sessions", type="search", live=True, placeholder="Search sessions",
                               label_visibility="collapsed")  # fmt: skip
        shown = st.session_state.get("sessions_shown", SESSIONS_A_PAGE)
        found = app.sessions.list(wanted or "", most=shown + 1)
        if not found:
            st.caption("No session has these words." if wanted else "No sessions yet.")
        with st.container(key=SESSION_LIST, gap=None):
            for session in found[:shown]:
                _draw_entry(session, chosen=current is not None and session.id == current.id)
        if len(found) > shown:
            st.button("Show more sessions", type="tertiary", key="more_sessions", on_click=_show_more)


def _show_more() -> None:
    st.session_state["sessions_shown"] = st.session_state.get("sessions_shown", SESSIONS_A_PAGE) + SESSIONS_A_PAGE


def _draw_entry(session: Session, *, chosen: bool) -> None:
    st.button(
        f":primary[**{escape(session.title)}**]" if chosen else escape(session.title),
        key=f"session_{session.id}",
        type="tertiary",
        icon=":material/chat_bubble:",
        width="stretch",
        wrap=False,
        on_click=_choose,
        args=(session.id,),
    )


def draw_session_menu(app: Pincite, session: Session) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{escape(session.title)}**", width="stretch", wrap=False)
        with st.popover(
            "", icon=":material/more_horiz:", type="tertiary", help="Rename, export or delete this session"
        ):
            title = st.text_input("Title", value=session.title, key=f"title_{session.id}", max_chars=120)
            if title and title.strip() != session.title:
                app.sessions.rename(session.id, title.strip())
                st.rerun()
            st.download_button(
                "Export as Markdown",
                data=lambda: app.sessions.export_markdown(session.id),
                file_name=f"{session.title[:60]}.md",
                mime="text/markdown",
                icon=":material/download:",
                type="tertiary",
                on_click="ignore",
            )
            if st.button("Delete…", icon=":material/delete:", type="tertiary"):
                confirm_delete(app, session)


@st.dialog("Delete this session?")
def confirm_delete(app: Pincite, session: Session) -> None:
    st.markdown(f"**{escape(session.title)}** and its answers, traces and reviews go for good. Documents stay.")
    with st.container(horizontal=True, horizontal_alignment="right"):
        keep = st.button("Keep it")
        delete = st.button("Delete", key="confirm_delete", type="primary", icon=":material/delete:",
                           on_click=_delete, args=(app, session))  # fmt: skip
    if keep or delete:
        st.rerun()


def _delete(app: Pincite, session: Session) -> None:
    app.deletion.session(session.id)
    _choose(_newest(app))
