"""Files on their way into the library, from the documents page and the chat input alike."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from pincite.core.domain.documents import REPLACES, AddOutcome, Collection, Document, Job, JobStatus
from pincite.core.domain.errors import AccessError, DocumentError, PasswordNeededError
from pincite.core.domain.turns import Session
from pincite.core.services.bootstrap import Pincite
from pincite.pages.components.collections import id_for_a_new_session
from pincite.pages.components.controls import offer_more, quiet, row, shown_of
from pincite.pages.components.facade import errors_shown, safely
from pincite.pages.components.scope import NEW, chosen_documents
from pincite.pages.components.words import about, count, escape, in_words

MAX_JOBS = 8


@dataclass(frozen=True, slots=True)
class Locked:
    """A file that waits for its password."""

    name: str
    content: bytes
    session_id: str | None
    """The conversation that it was dropped into, empty for one that has not begun; None: into the library alone."""
    collection_id: str = ""
    """The collection that it joins."""


@dataclass(slots=True)
class Intake:
    """What became of the files that were dropped, until the user has dealt with it."""

    known: list[tuple[str, Document]] = field(default_factory=list)
    """Names of files that were dropped, with the documents that have their content already."""
    replacing: list[tuple[Document, Document]] = field(default_factory=list)
    """(old, new) documents of one name."""
    locked: list[Locked] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)

    @property
    def tells(self) -> bool:
        return bool(self.known or self.replacing or self.refused)

    def dismiss(self) -> None:
        self.refused.clear()
        self.known.clear()

    def leave(self, file: Locked) -> None:
        self.locked.remove(file)
        self.refused.append((file.name, "It needs its password. To give it, drop the file again."))

    def belong_to(self, session_id: str) -> None:
        """The conversation that the waiting files were dropped into has begun."""
        self.locked = [replace(file, session_id=session_id) if file.session_id == "" else file for file in self.locked]


def intake() -> Intake:
    kept: Intake = st.session_state.setdefault("intake", Intake())
    return kept


def begin(app: Pincite, *document_ids: str) -> Session:
    """Open a session on what was chosen for it and these; files that still wait for a password will join it."""
    chosen = (*chosen_documents(None), *document_ids)
    session = app.sessions.create(document_ids=chosen, collection_id=id_for_a_new_session(app))
    st.session_state["session_id"] = session.id
    st.session_state.pop(NEW, None)
    intake().belong_to(session.id)
    return session


def take_in(
    app: Pincite, files: Sequence[UploadedFile], collection: Collection | None, *, session_id: str | None = None
) -> list[Document]:
    """Add files one after the other, small ones first; a bad one leaves a message and does not stop the rest.

    ``session_id`` is the conversation that a locked file joins once it is opened; empty: one that has not begun.
    """
    documents: list[Document] = []
    bar = st.progress(0.0)
    for position, file in enumerate(sorted(files, key=lambda file: file.size)):
        bar.progress(position / len(files), text=f"Adding {escape(file.name)}…")
        added = take_in_one(app, Locked(file.name, file.getvalue(), session_id, collection.id if collection else ""))
        documents += added
    bar.empty()
    return documents


def take_in_one(app: Pincite, file: Locked, password: str | None = None) -> list[Document]:
    """Return the document and the files that came with it; none if it could not be added."""
    kept, name, content = intake(), file.name, file.content
    try:
        outcome = app.ingest.add(content, name, password=password)
    except PasswordNeededError as error:
        if file not in kept.locked:
            kept.locked.insert(0 if password else len(kept.locked), file)  # a wrong one is asked for again
        if password:
            st.session_state[f"wrong_{_password_key(file)}"] = str(error)
        return []
    except DocumentError as error:
        kept.refused.append((name, str(error)))
        return []
    return settle(app, name, outcome, file.collection_id)


def settle(app: Pincite, name: str, outcome: AddOutcome, collection_id: str) -> list[Document]:
    """Put what was added into the collection, note the messages and questions about it, and return the documents."""
    if collection_id:
        try:
            app.collections.add(collection_id, outcome.ids)
        except AccessError:
            st.toast(f"{escape(name)} is yours alone: you may only read this collection.", icon=":material/info:")
    if outcome.known:
        intake().known.append((name, outcome.document))
    if outcome.replaces:
        intake().replacing.append((outcome.replaces, outcome.document))
    return [outcome.document, *outcome.attached]


def draw_intake(app: Pincite) -> None:
    """Show the result for each file, and ask if a decision is needed."""
    kept = intake()
    for name, reason in kept.refused:
        message = reason if name in reason else f"{name}: {reason}"
        st.error(f"**Not added.** {escape(message)}", icon=":material/error:")
    for name, document in kept.known:
        here = f" as **{escape(document.name)}**" if name != document.name else ""
        st.info(f"**{escape(name)}** is already here{here}, with the same content.", icon=":material/info:")
    for old, new in kept.replacing:
        _draw_replacement(app, old, new)
    if kept.refused or kept.known:
        quiet("Dismiss messages", "close", kept.dismiss)


def _draw_replacement(app: Pincite, old: Document, new: Document) -> None:
    with st.container(border=True):
        st.markdown(
            f":material/difference: **{escape(new.name)}** is already here with other content. Is this a new version?"
        )
        with row():
            st.button("Replace the old version", key=f"replace_{new.id}", type="primary",
                      on_click=safely, args=(_settle, app, old, new, True))  # fmt: skip
            st.button("Keep both", key=f"keep_{new.id}", on_click=safely, args=(_settle, app, old, new, False),
                      help="Answers come from the new one, and quote the old one behind it")  # fmt: skip


def _settle(app: Pincite, old: Document, new: Document, replaced: bool) -> None:
    intake().replacing.remove((old, new))
    if replaced:
        app.ingest.replace(old.id, new.id)
    else:
        app.ingest.relate(new.id, REPLACES, old.id)


def _password_key(file: Locked) -> str:
    return f"password_{file.name}_{hashlib.sha256(file.content).hexdigest()}_{file.session_id}"


def _join(app: Pincite, session_id: str | None, document: Document) -> None:
    """What was dropped into a conversation is searched there, also when it came in late."""
    if session_id:
        with errors_shown():
            app.sessions.add_documents(session_id, [document.id])
    elif session_id == "":
        begin(app, document.id)


def ask_password(app: Pincite) -> None:
    """Open a dialog for the first file that waits for its password; who closes it goes without that file."""
    if not (kept := intake()).locked:
        return
    file, key = kept.locked[0], _password_key(kept.locked[0])

    @st.dialog("Password needed", icon=":material/lock:", on_dismiss=lambda: kept.leave(file))
    def ask() -> None:
        st.markdown(f"**{escape(file.name)}** is protected. The password is used once and not stored.")
        if wrong := st.session_state.get(f"wrong_{key}", ""):
            st.error(escape(wrong))
        with st.form(key, border=False):
            password = st.text_input("Password", type="password", autocomplete="off")
            with row():
                opened = st.form_submit_button("Open", type="primary")
                skipped = st.form_submit_button("Skip this file")
        if (opened and password) or skipped:
            (kept.leave if skipped else kept.locked.remove)(file)
            st.session_state.pop(f"wrong_{key}", None)
            for document in () if skipped else take_in_one(app, file, password):
                _join(app, file.session_id, document)
            st.rerun()

    ask()


def draw_progress(app: Pincite) -> None:
    """What is being read right now."""
    if open_jobs(app):
        st.fragment(_watch_jobs, run_every=0.7)(app)


def _watch_jobs(app: Pincite) -> None:
    """Draw the progress of all and of each document; the end of a stage redraws the whole page."""
    jobs = open_jobs(app)
    known = st.session_state.get("jobs_seen")
    st.session_state["jobs_seen"] = seen = frozenset((job.document_id, job.stage) for job in jobs)
    if not jobs or (known is not None and known - seen):
        st.session_state.pop("jobs_seen", None)
        st.rerun()
    if len(jobs) == 1:
        return _draw_jobs(app, jobs)
    known_times = [job.seconds_left for job in jobs if job.seconds_left]
    left = sum(known_times) if len(known_times) == len(jobs) else 0.0
    with row():
        st.caption(f"Reading {count(len(jobs), 'document')}{f' · {about(left)} left' if left >= 1 else ''}")
        with st.popover("Show each", type="tertiary", key="each_job"):
            _draw_jobs(app, jobs[: shown_of("jobs", MAX_JOBS)])
            if len(jobs) > shown_of("jobs", MAX_JOBS):
                offer_more(f"Show {count(len(jobs) - shown_of('jobs', MAX_JOBS), 'more document')}", "jobs", MAX_JOBS)


def _draw_jobs(app: Pincite, jobs: Sequence[Job]) -> None:
    """Each document's progress: what is being done, how far it is, how long it will take."""
    names = {document.id: document.name for document in app.library.list()}
    for job in jobs:
        name = escape(names.get(job.document_id, "A document"))
        with row(vertical_alignment="bottom"):
            st.progress(min(job.done / job.total, 1.0) if job.total else 0.0, text=f"**{name}** · {job_in_words(job)}")
            quiet("Cancel", "cancel", app.ingest.cancel, job.document_id, key=f"cancel_{job.document_id}")


def job_in_words(job: Job) -> str:
    if job.status is JobStatus.WAITING:
        return "waiting for its turn"
    amount = f" · {job.done:,} of {job.total:,}" if job.total else ""
    left = f" · {about(job.seconds_left)} left" if job.seconds_left and job.seconds_left >= 1 else ""
    return f"{in_words(job.stage)}{amount}{left}"


def open_jobs(app: Pincite) -> list[Job]:
    return [job for job in app.ingest.jobs() if job.status in (JobStatus.WAITING, JobStatus.RUNNING)]
