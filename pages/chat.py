"""The conversation: ask, watch the answer arrive, look at the cited pages next to it."""

from collections.abc import Sequence

import streamlit as st
from streamlit.typing import ChatInputValue

from pincite.core.domain.documents import Collection, Document, DocumentStatus, MetadataSource, all_endings
from pincite.core.domain.search import Mode
from pincite.core.domain.settings import PACKAGE_ROOT, variable_of
from pincite.core.domain.turns import Session, Turn, TurnStatus
from pincite.core.services.bootstrap import Pincite
from pincite.core.services.turns import Waiting
from pincite.pages.components.collections import documents_of
from pincite.pages.components.controls import button, offer_more, quiet, row, shown_of
from pincite.pages.components.desk import draw_desk, follow_address
from pincite.pages.components.facade import errors_shown, show
from pincite.pages.components.layout import BESIDE, CONVERSATION, FILES
from pincite.pages.components.notes import draw_notes_button, draw_notes_panel
from pincite.pages.components.page_view import NOTES, draw_page_panel, shown_page
from pincite.pages.components.reranker import offer_reranker
from pincite.pages.components.scope import add_to_scope, chosen_documents, draw_lost_scope, draw_scope, draw_sources
from pincite.pages.components.sessions import draw_session_list, draw_session_menu, open_session
from pincite.pages.components.turn import (
    draw_actions,
    draw_answer,
    draw_live,
    draw_question,
    version_shown,
    writer_in_words,
    writers,
)
from pincite.pages.components.uploads import ask_password, begin, draw_intake, draw_progress, intake, open_jobs, take_in
from pincite.pages.components.words import count, escape, escape_lines, shorten

SLOT = "chat_page"
MODES = {Mode.AUTO: "Auto: when a question asks for it", Mode.DOCUMENTS: "Always", Mode.CHAT: "Never"}
LABELS = {Mode.AUTO: "", Mode.DOCUMENTS: " · always searches", Mode.CHAT: " · no documents"}
TURNS_A_PAGE = 20
MAX_CARDS = 3
MAX_MODEL_LENGTH = 24
TO_PROSE = "For answers in prose, connect a language model in the settings."
SAMPLE_QUESTION = "What is the penalty for late payment?"


def draw(app: Pincite) -> None:
    names = {document.id: document.name for document in app.library.list()}
    session = open_session(app)
    collection = draw_session_list(app, session)
    documents = documents_of(app, collection)
    draw_sources(app, session, documents)
    follow_address(app, SLOT)
    shown = shown_page(SLOT)
    notes = session is not None and st.session_state.get(NOTES, False)
    beside = notes or (shown is not None and shown.document_id in names)
    st.set_page_config(initial_sidebar_state="collapsed" if beside else "auto")
    # The same nesting with and without a page next to it: the conversation keeps its scroll position.
    widths = [9, 11] if beside else [1]
    columns = st.columns(widths, gap="medium")
    with columns[0], st.container(horizontal_alignment="center"):
        conversation = st.container(
            key=CONVERSATION, width="stretch" if beside else 860, height=640, border=False, autoscroll=False
        )
    with conversation:
        welcome = st.container(key="welcome")  # first, so that no question takes its place with parts of it
        turns = draw_conversation(app, session, names)
        draw_lost_scope(session, documents, collection)
        if not turns:
            with welcome:
                draw_welcome(app, session, documents, collection)
    if beside:
        with columns[1], st.container(key=BESIDE, height=640, border=False, autoscroll=False):
            if session and notes:
                draw_notes_panel(app, session, SLOT)
            elif shown:
                draw_page_panel(app, shown, SLOT)
    with (
        st.bottom.columns(widths, gap="medium")[0],
        st.container(horizontal_alignment="center"),
        st.container(width="stretch" if beside else 860, gap="xsmall"),
    ):
        draw_files(app)
        draw_input(app, session, documents, collection)
    draw_desk(app, session, SLOT, turns, documents)


def draw_conversation(app: Pincite, session: Session | None, names: dict[str, str]) -> list[Turn]:
    # Asked first: a turn that ends in between is then watched, and the watch redraws the page.
    running = app.runner.running(session.id) if session else None
    waiting = app.runner.waiting(session.id) if session else ()
    turns = app.turns.newest(session.id, shown_of(session.id, TURNS_A_PAGE)) if session else []
    if session and turns:
        draw_session_menu(app, session, turns)
        if (earlier := app.turns.count(session.id) - len(turns)) > 0:  # a long conversation opens with its end
            offer_more(f"Show {count(earlier, 'earlier question')}", session.id, TURNS_A_PAGE, icon="expand_less")
    known: set[str] = set()
    others = [turn.id for turn in turns if turn.status is TurnStatus.RUNNING and turn.id != running]
    seen = {turn_id: app.runner.snapshot(turn_id) for turn_id in others}
    elsewhere = {turn_id for turn_id, snapshot in seen.items() if snapshot.elsewhere}
    turns = [seen[turn.id].turn if turn.id in seen else version_shown(app, turn) for turn in turns]
    for before, turn in zip([None, *turns], turns, strict=False):
        with st.container(key=f"question_{turn.id}"):
            draw_question(app, turn, names, scope=before is None or before.document_ids != turn.document_ids)
        with st.chat_message("assistant", avatar=":material/fact_check:"):
            if turn.id == running:
                st.fragment(watch, run_every=0.3)(app, turn.id)
            elif turn.id in elsewhere:
                st.fragment(watch, run_every=1.0)(app, turn.id)
            else:
                with st.container(key=f"answer_{turn.id}"):
                    draw_answer(app, turn, names, SLOT, known)
                draw_actions(app, turn)
        known.update(turn.notices)
    if session and waiting:
        with st.container(key=f"waiting_{len(waiting)}"):
            st.fragment(draw_waiting, run_every=0.5)(app, session.id, waiting)
    return turns


def watch(app: Pincite, turn_id: str) -> None:
    """Redraw the running turn until it ends; then the whole page draws it as finished, once."""
    with errors_shown():
        snapshot = app.runner.snapshot(turn_id)
        if not snapshot.running:
            st.rerun()
        draw_live(snapshot, app.settings.current.max_retries + 1)
        if snapshot.elsewhere:
            return
        with row(gap="xsmall"):
            button("Stop", "stop_circle", app.runner.stop, turn_id, key=f"stop_{turn_id}")
            if snapshot.writes_from_evidence:
                button("Show the evidence only", "format_quote", app.runner.show_evidence_only, turn_id,
                       key=f"evidence_{turn_id}", help="Stop the model and quote the documents")  # fmt: skip


def draw_waiting(app: Pincite, session_id: str, waiting: tuple[Waiting, ...]) -> None:
    """The questions that were asked while an answer was written, until each has its turn."""
    if app.runner.waiting(session_id) != waiting:
        st.rerun()
    for one in waiting:
        with st.chat_message("user", avatar=":material/person:"):
            st.markdown(escape_lines(one.question))
            if one.trouble:
                st.warning(f"This question could not be asked. {escape_lines(one.trouble)}")
            else:
                st.caption("Waiting for the previous answer")
    if any(one.trouble for one in waiting):
        quiet("Ask again", "refresh", app.runner.retry_waiting, session_id, key=f"retry_{session_id}")
    quiet("Cancel", "close", app.runner.withdraw, session_id, key=f"withdraw_{session_id}")


def draw_files(app: Pincite) -> None:
    """Draw the result of dropped files, next to the box."""
    ask_password(app)
    with st.container(key=FILES, gap="xsmall"):  # also without files, so that what follows keeps its place
        if open_jobs(app) or intake().tells:
            draw_intake(app)
            draw_progress(app)


def draw_suggestions(app: Pincite, session: Session | None, documents: Sequence[Document], watched: bool) -> None:
    """Draw questions that these documents answer; each was tried."""
    found = app.suggestions.of(documents)
    if watched and app.suggestions.known(documents):
        st.rerun()
    with st.container(gap="xxsmall"):
        if found or watched:
            st.caption("Finding questions you can ask…" if watched else "Questions you can ask")
        for one in found:
            name = next(document.name for document in documents if document.id == one.document_id)
            label = f"{one.question} · {name}" if len(documents) > 1 else one.question
            if quiet(escape(label), "help", key=f"suggested_{one.document_id}_{one.question}"):
                ask(app, session, one.question, Mode.DOCUMENTS, (one.document_id,) if len(documents) > 1 else ())


def draw_welcome(
    app: Pincite, session: Session | None, documents: Sequence[Document], collection: Collection | None
) -> None:
    st.space("large")
    st.header(f"Ask {escape(collection.name)}" if collection else "Ask your documents", anchor=False)
    st.markdown(
        "Every sentence of an answer is backed by a quotation checked against the page it comes from. "
        "Drop files into the box below and ask. Type **@** and a document's name to search only that one."
    )
    engine = app.engines.state()
    if engine.name == "quoting":
        why = TO_PROSE if app.settings.current.engine in ("auto", "quoting") else escape(engine.message)
        st.info(f"Answers quote your documents word for word. {why}", icon=":material/format_quote:")
    chosen = chosen_documents(session)
    searched = [one for one in documents if one.searchable and (not chosen or one.id in chosen)]
    for document in searched[:MAX_CARDS]:
        st.markdown(
            f":material/description: **{escape(document.name)}** :small[{escape(about_document(app, document))}]"
        )
    if searched[MAX_CARDS:]:
        st.caption(f"and {count(len(searched) - MAX_CARDS, 'more document')}")
    if searched:
        ready = [one for one in searched[:MAX_CARDS] if one.status is DocumentStatus.READY]
        watched = not app.suggestions.known(ready)
        draw = st.fragment(draw_suggestions, run_every=1.0 if watched else None)
        draw(app, session, ready, watched)
    samples = [] if documents or collection else sorted((PACKAGE_ROOT / "data" / "samples").glob("*contract*.pdf"))
    if samples and button("Try it with the sample contract", "play_circle", type="primary"):
        with errors_shown():
            document = app.ingest.add(samples[0].read_bytes(), samples[0].name).document
            add_to_scope(app, session, [document.id])
            ask(app, session, SAMPLE_QUESTION, Mode.AUTO)
    if not documents and not collection and app.is_admins:
        offer_reranker(app)


def about_document(app: Pincite, document: Document) -> str:
    """Its type, its length, and what of it was not read."""
    kind = next((field for field in document.metadata if field.name == "document type"), None)
    named = kind.value + " (a guess)" * (kind.source is MetadataSource.FIRST_PAGES) if kind else ""
    covered = app.library.coverage(document.id)
    facts = [named[:1].upper() + named[1:], count(document.page_count, "page")]
    if lost := covered.unread - covered.waiting:
        facts.append(f"{count(lost, 'page')} without text")
    if covered.waiting:
        facts.append(f"{count(covered.waiting, 'page')} still being recognised")
    return " · ".join(filter(None, facts))


def draw_input(
    app: Pincite, session: Session | None, documents: Sequence[Document], collection: Collection | None
) -> None:
    """The choices of how to answer and of documents, and the box to type in."""
    if documents:
        app.engines.warm()
    with row(key="controls"):
        mode = draw_mode(app, f"mode_{session.id if session else 'new'}")
        draw_scope(app, session, documents, mode)
        draw_notes_button(app, session)
    value = st.chat_input(
        "Ask a question, or @name a document",
        key="chat_input", accept_file="multiple", file_type=[*all_endings()],
        max_upload_size=app.settings.current.max_file_mib,
    )  # fmt: skip
    if isinstance(value, ChatInputValue):
        receive(app, session, value, mode, collection)


def draw_mode(app: Pincite, key: str) -> Mode:
    """Draw the choice of mode and engine, and return it."""
    engine = app.engines.state()
    writer, others = writers(app)
    modes = [mode for mode in MODES if engine.model or mode is not Mode.CHAT]
    if st.session_state.get(key) not in modes:
        st.session_state[key] = Mode.AUTO  # also where the model went away, and chatting with it
    how = f"Written by {escape(shorten(engine.model, MAX_MODEL_LENGTH))}" if engine.model else "Answers in quotations"
    with st.popover(f"{how}{LABELS[st.session_state[key]]}", key="mode"):
        mode = st.radio("Search the documents", modes, format_func=lambda one: MODES[one], key=key)
        written = st.radio("Answers written by", others, others.index(writer), format_func=writer_in_words,
                           disabled=bool(variable_of("engine")))  # fmt: skip
    if written != writer:
        with errors_shown():
            app.settings.change(engine=written)
            st.rerun()
    return mode


def receive(
    app: Pincite, session: Session | None, value: ChatInputValue, mode: Mode, collection: Collection | None
) -> None:
    new = take_in(app, value.files, collection, session_id=session.id if session else "") if value.files else []
    intake().known.clear()  # asking about a file that is here already needs no message
    with errors_shown():
        if new:
            add_to_scope(app, session, [document.id for document in new])
        if value.text.strip():
            ask(app, session, value.text.strip(), mode)
        elif new and session is None:
            begin(app)
    if value.files and not value.text.strip():
        st.rerun()


def ask(app: Pincite, session: Session | None, question: str, mode: Mode, only: tuple[str, ...] = ()) -> None:
    """Start a turn on the session's documents, or on these; it waits for documents that are still being read."""
    session = session or begin(app)
    st.session_state["session_id"] = session.id
    with errors_shown():
        if only:
            app.runner.ask(session.id, question, mode=mode, document_ids=only)
        else:
            app.runner.ask_next(session.id, question, mode=mode)
        st.rerun()


show(draw)
