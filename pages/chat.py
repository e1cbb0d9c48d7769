"""The conversation: ask, watch the answer come, look at the cited pages beside it."""

import streamlit as st
from streamlit.typing import ChatInputValue

from core.domain.search import Mode
from core.domain.settings import PACKAGE_ROOT
from core.domain.turns import Session, Turn
from core.services.bootstrap import Pincite
from pages.components.controls import button, offer_more, quiet, row, shown_of
from pages.components.desk import draw_desk, follow_address
from pages.components.facade import errors_told, show
from pages.components.layout import BESIDE, CONVERSATION, FILES
from pages.components.notes import draw_notes
from pages.components.page_view import draw_page_panel, shown_page
from pages.components.scope import add_to_scope, chosen_documents, draw_lost_scope, draw_scope, draw_sources
from pages.components.sessions import draw_session_list, draw_session_menu, open_session
from pages.components.turn import draw_actions, draw_answer, draw_live, draw_question
from pages.components.uploads import begin, draw_intake, draw_jobs, intake, open_jobs, take_in
from pages.components.words import count, escape, escape_lines

SLOT = "chat_page"
MODES = {Mode.AUTO: "Auto", Mode.DOCUMENTS: "Documents", Mode.CHAT: "Chat"}
TURNS_A_PAGE = 20
SAMPLE_QUESTION = "What is the penalty for late payment?"


def draw(app: Pincite) -> None:
    names = {document.id: document.name for document in app.library.list()}
    session = open_session(app)
    draw_session_list(app, session)
    draw_sources(app, session)
    follow_address(app, SLOT)
    shown = shown_page(SLOT)
    beside = shown is not None and shown.document_id in names
    # The same nesting with and without a page beside it: the conversation keeps its scroll position.
    columns = st.columns([1, 1] if beside else [1], gap="medium")
    with columns[0], st.container(horizontal_alignment="center"):
        conversation = st.container(
            key=CONVERSATION, width="stretch" if beside else 860, height=640, border=False, autoscroll=True
        )
    with conversation:
        turns = draw_conversation(app, session, names)
    if shown and beside:
        with columns[1], st.container(key=BESIDE, height=640, border=False, autoscroll=False):
            draw_page_panel(app, shown, SLOT)
    with st.bottom, st.container(horizontal_alignment="center"), st.container(width=860, gap="xsmall"):
        draw_files(app)
        draw_input(app, session, names)
    draw_desk(app, session, SLOT, turns)


def draw_conversation(app: Pincite, session: Session | None, names: dict[str, str]) -> list[Turn]:
    # Asked first: a turn that ends in between is then watched, and the watch draws the page anew.
    running = app.runner.running(session.id) if session else None
    waiting = app.runner.waiting(session.id) if session else ()
    turns = app.turns.newest(session.id, shown_of(session.id, TURNS_A_PAGE)) if session else []
    if session and turns:
        draw_session_menu(app, session, turns)
        if (earlier := app.turns.count(session.id) - len(turns)) > 0:  # a long conversation opens with its end
            more = count(earlier, "more question")
            offer_more(f"Show earlier ({more})", session.id, TURNS_A_PAGE, icon="expand_less")
    for turn in turns:
        draw_question(app, turn, names)
        with st.chat_message("assistant", avatar=":material/fact_check:"):
            if turn.id == running:
                st.fragment(watch, run_every=0.3)(app, turn.id)
            else:
                with st.container(key=f"answer_{turn.id}"):
                    draw_answer(app, turn, names, SLOT)
                draw_actions(app, turn)
    if session and waiting:
        st.fragment(draw_waiting, run_every=0.5)(app, session.id, waiting)
    draw_lost_scope(session, names)
    if not turns:
        draw_welcome(app, session, names)
    return turns


def watch(app: Pincite, turn_id: str) -> None:
    """Redraw the running turn until it ends; then the whole page draws it as finished, once."""
    with errors_told():
        snapshot = app.runner.snapshot(turn_id)
        if not snapshot.running:
            st.rerun()
        draw_live(snapshot, app.settings.current.max_retries + 1)
        button("Stop", "stop_circle", app.runner.stop, turn_id, key=f"stop_{turn_id}")


def draw_waiting(app: Pincite, session_id: str, waiting: tuple[str, ...]) -> None:
    """The questions that were asked while an answer was written, until each has its turn."""
    if app.runner.waiting(session_id) != waiting:
        st.rerun()
    for question in waiting:
        with st.chat_message("user", avatar=":material/person:"):
            st.markdown(escape_lines(question))
            st.caption("Waits for the answer before it")
    quiet("Do not ask", "close", app.runner.withdraw, session_id, key=f"withdraw_{session_id}")


def draw_reading(app: Pincite) -> None:
    """What is being read, until all of it is."""
    if not (jobs := open_jobs(app)):
        st.rerun()
    draw_jobs(app, jobs, most=4)


def draw_files(app: Pincite) -> None:
    """What became of the files that were dropped, beside the box they were dropped into."""
    if open_jobs(app) or intake().waits:
        with st.container(key=FILES, gap="xsmall"):
            draw_intake(app)
            if open_jobs(app):
                st.fragment(draw_reading, run_every=0.7)(app)


def draw_welcome(app: Pincite, session: Session | None, names: dict[str, str]) -> None:
    st.space("large")
    st.header("Ask your documents", anchor=False)
    st.markdown(
        "Every sentence of an answer carries a quotation that was checked against the page it comes from. "
        "Drop PDFs into the box below, then ask. Type **@** and a document's name to ask that one."
    )
    engine = app.engines.state()
    if engine.name == "quoting":
        words = f"Answers repeat your documents word for word. {escape(engine.message)}"
        st.info(words, icon=":material/format_quote:")
    if searched := [f"**{escape(names[id_])}**" for id_ in chosen_documents(session) if id_ in names]:
        more = f" and {count(len(searched) - 3, 'more document')}" if len(searched) > 3 else ""
        st.markdown(f":material/check_circle: Your question goes to {', '.join(searched[:3])}{more}.")
    samples = [] if names else sorted((PACKAGE_ROOT / "data" / "samples").glob("*contract*.pdf"))
    if samples and button("Try it with the sample contract", "play_circle", type="primary"):
        with errors_told():
            document = app.ingest.add(samples[0].read_bytes(), samples[0].name).document
            add_to_scope(app, session, [document.id])
            ask(app, session, SAMPLE_QUESTION, Mode.AUTO)


def draw_input(app: Pincite, session: Session | None, names: dict[str, str]) -> None:
    """The choice of mode and documents, and the box to type in."""
    key = session.id if session else "new"
    engine = app.engines.state()
    if names:
        app.engines.warm()
    modes = [mode for mode in MODES if engine.name != "quoting" or mode is not Mode.CHAT]
    if st.session_state.get(f"mode_{key}") not in modes:
        st.session_state.pop(f"mode_{key}", None)  # the model went away, and chatting with it
    with row():
        mode = st.segmented_control(
            "Mode", modes, format_func=lambda value: MODES[value], default=Mode.AUTO, required=True, key=f"mode_{key}",
            label_visibility="collapsed", help="Auto decides by itself whether a question goes to the documents.",
        )  # fmt: skip
        draw_scope(app, session, names, mode or Mode.AUTO)
        draw_notes(app, session, SLOT)
        st.caption(escape(f"{engine.name} {engine.model}"), width="content")
    value = st.chat_input(
        "Ask a question, @name a document, or drop PDFs here",
        key="chat_input", accept_file="multiple", file_type="pdf", max_upload_size=app.settings.current.max_file_mib,
    )  # fmt: skip
    if isinstance(value, ChatInputValue):
        receive(app, session, value, mode or Mode.AUTO)


def receive(app: Pincite, session: Session | None, value: ChatInputValue, mode: Mode) -> None:
    new = take_in(app, value.files, session_id=session.id if session else "") if value.files else []
    intake().known.clear()  # asking about a file that is here already needs no message
    with errors_told():
        if new:
            add_to_scope(app, session, [document.id for document in new])
        if value.text.strip():
            ask(app, session, value.text.strip(), mode)
        elif new and session is None:
            begin(app)
    if value.files and not value.text.strip():
        st.rerun()


def ask(app: Pincite, session: Session | None, question: str, mode: Mode) -> None:
    """Start a turn on the session's documents; one about documents that are still being read waits by itself."""
    session = session or begin(app)
    st.session_state["session_id"] = session.id
    with errors_told():
        app.runner.ask_next(session.id, question, mode=mode)
        st.rerun()


show(draw)
