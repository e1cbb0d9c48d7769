"""The scope of the next question: the sources in the sidebar, and the control next to the input.

The choice is the session's, in the database; a conversation that has not begun keeps its own until it does.
"""

from collections.abc import Sequence

import streamlit as st

from pincite.core.domain.documents import Collection, Document, DocumentStatus
from pincite.core.domain.errors import PinciteError
from pincite.core.domain.search import Mode
from pincite.core.domain.turns import Session
from pincite.core.services.bootstrap import Pincite
from pincite.pages.components.controls import icon_button, offer_more, quiet, row, shown_of
from pincite.pages.components.facade import safely
from pincite.pages.components.words import count, escape, shorten, status_in_words

NEW = "new_scope"
MAX_NAME_LENGTH = 32
FEW, MAX_LISTED = 20, 40
ALL_SEARCHED = ("Search all documents", "done_all")
ONE_SEARCHED = ("Search only this document", "filter_center_focus")


def chosen_documents(session: Session | None) -> tuple[str, ...]:
    """What was chosen, also what is gone since; empty: all documents."""
    chosen: tuple[str, ...] = session.document_ids if session else st.session_state.get(NEW, ())
    return chosen


def add_to_scope(app: Pincite, session: Session | None, document_ids: Sequence[str]) -> None:
    """Search these too; a conversation that has not begun and chose nothing begins with these."""
    if session:
        app.sessions.add_documents(session.id, document_ids)
    else:
        st.session_state[NEW] = tuple(dict.fromkeys([*chosen_documents(None), *document_ids]))


def draw_scope(app: Pincite, session: Session | None, documents: Sequence[Document], mode: Mode) -> None:
    """Draw the control next to the input that chooses among these documents."""
    names = {document.id: document.name for document in documents}
    chosen = chosen_documents(session)
    here = [id_ for id_ in chosen if id_ in names]
    session_id = session.id if session else ""
    key = f"scope_{session_id or 'new'}"
    # The stored choice is the truth, whatever the control held: another tab or a dropped file may have changed it.
    st.session_state[key] = here
    st.session_state[f"{key}_shown"] = tuple(here)
    icon = ":material/warning:" if chosen and not here else ":material/folder_open:"
    with st.popover(escape(scope_in_words(chosen, names, mode)), icon=icon):
        st.multiselect(
            "Documents to search", list(names), format_func=lambda id_: names[id_], key=key,
            placeholder="The chosen documents were removed" if chosen else "All documents",
            on_change=safely, args=(_choose, app, session_id, key),
        )  # fmt: skip
        facts = [(fact, value) for fact, values in app.search.facts(documents).items() for value in values]
        if facts:
            _forget_facts(app, f"{key}_facts", chosen, list(names))
            st.multiselect(
                "Or choose by company, year or type", facts, format_func=lambda one: f"{one[1]} ({one[0]})",
                key=f"{key}_facts", placeholder="All", on_change=safely,
                args=(_choose_facts, app, session_id, key, list(names)),
            )  # fmt: skip
        if gone := len(chosen) - len(here):
            st.caption(f":material/warning: {count(gone, 'chosen document')} removed.")
        if chosen:
            quiet("Search all documents", "select_all", _keep, app, session_id, (), key=f"{key}_all")
        st.caption("Leave empty to search all. A question that names a document with @ searches only that one.")


def draw_sources(app: Pincite, session: Session | None, documents: Sequence[Document]) -> None:
    """The documents as a list in the sidebar: those with a tick are searched."""
    documents = sorted(documents, key=lambda document: document.name.casefold())
    every = [document.id for document in documents]
    if len(documents) < 2:
        return
    chosen, session_id = set(chosen_documents(session)), session.id if session else ""
    here = [document.id for document in documents if document.id in chosen]
    # always the same label: with another one it would close when a source is ticked
    with st.sidebar, st.expander("Sources", expanded=len(documents) <= FEW), st.container(key="sources", gap=None):
        shown = shown_of("sources", MAX_LISTED)
        for document in documents[:shown]:
            key = f"source_{session_id}_{document.id}"
            st.session_state[key] = not chosen or document.id in chosen
            alone = here == [document.id]
            with row(gap=None, key=f"row_{key}"):
                st.checkbox(_source(document), key=key, width="stretch",
                            on_change=safely, args=(_tick, app, session_id, document.id, every))  # fmt: skip
                name, icon = ALL_SEARCHED if alone else ONE_SEARCHED
                icon_button(name, icon, _keep, app, session_id, () if alone else (document.id,), key=f"only_{key}")
        if len(documents) > shown:
            offer_more(f"Show {len(documents) - shown} more", "sources", MAX_LISTED)


def _source(document: Document) -> str:
    name = escape(shorten(document.name, MAX_NAME_LENGTH))
    return name if document.status is DocumentStatus.READY else f"{name} :gray[· {status_in_words(document)}]"


def _tick(app: Pincite, session_id: str, document_id: str, every: Sequence[str]) -> None:
    """Without a choice all are searched: the first tick that is taken away chooses the others."""
    chosen = (app.sessions.get(session_id).document_ids if session_id else chosen_documents(None)) or tuple(every)
    without = tuple(id_ for id_ in chosen if id_ != document_id)
    scope = without if document_id in chosen else (*chosen, document_id)
    _keep(app, session_id, () if set(every) <= set(scope) else scope)


def draw_lost_scope(session: Session | None, documents: Sequence[Document], collection: Collection | None) -> None:
    """Show that none of the chosen documents is left: the question is not answered from others."""
    chosen = chosen_documents(session)
    if collection and not documents:
        st.warning(f"**{escape(collection.name)} has no documents yet.** Drop PDFs into the box below, or choose some "
                   "from the library on the documents page.", icon=":material/folder_off:")  # fmt: skip
    elif chosen and not any(document.id in chosen for document in documents):
        st.warning("**There is nothing to search.** The documents chosen for this session were removed. "
                   "Choose others below, or search all documents.", icon=":material/folder_off:")  # fmt: skip


def scope_in_words(chosen: Sequence[str], names: dict[str, str], mode: Mode) -> str:
    """What the next question searches, as short as a button."""
    here = [id_ for id_ in chosen if id_ in names]
    if mode is Mode.CHAT:
        return "No documents searched"
    if len(names) > 1 and len(here if chosen else names) == len(names):
        return f"All {count(len(names), 'document')}"
    if not chosen:
        return next((shorten(name, MAX_NAME_LENGTH) for name in names.values()), "No documents yet")
    if not here:
        return "Nothing to search"
    several = f"{len(here)} of {count(len(names), 'document')}"
    label = shorten(names[here[0]], MAX_NAME_LENGTH) if len(here) == 1 else several
    return label if len(here) == len(chosen) else f"{label}, {len(chosen) - len(here)} removed"


def _choose(app: Pincite, session_id: str, key: str) -> None:
    """Adding adds and removing removes, also where the choice was changed elsewhere since this control was drawn."""
    before, after = st.session_state[f"{key}_shown"], st.session_state[key]
    here = {document.id for document in app.library.list()}
    stored = app.sessions.get(session_id).document_ids if session_id else chosen_documents(None)
    kept = [id_ for id_ in stored or before if id_ in after or id_ not in before]
    scope = tuple(dict.fromkeys([*kept, *(id_ for id_ in after if id_ not in before)]))
    # Removed documents leave the scope with the next choice, unless it would become empty: that means all documents.
    _keep(app, session_id, tuple(id_ for id_ in scope if id_ in here) or scope)


def _wanted(chosen: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    return {fact: [value for one, value in chosen if one == fact] for fact, _ in chosen}


def _forget_facts(app: Pincite, key: str, chosen: Sequence[str], among: Sequence[str]) -> None:
    """The control shows no facts by which the stored choice was not made."""
    if facts := st.session_state.get(key):
        try:
            made = app.search.with_facts(_wanted(facts), among)
        except PinciteError:
            made = ()
        if set(made) != set(chosen):
            st.session_state[key] = []


def _choose_facts(app: Pincite, session_id: str, key: str, among: Sequence[str]) -> None:
    """Search the documents that have these facts; with none chosen, all."""
    chosen = st.session_state[f"{key}_facts"]
    _keep(app, session_id, app.search.with_facts(_wanted(chosen), among) if chosen else ())


def _keep(app: Pincite, session_id: str, scope: tuple[str, ...]) -> None:
    if session_id:
        app.sessions.set_documents(session_id, scope)
    else:
        st.session_state[NEW] = scope
