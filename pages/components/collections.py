"""Collections: named sets of documents, made on the documents page and chosen for a conversation."""

from collections.abc import Callable

import streamlit as st

from pincite.core.domain.documents import MAX_COLLECTION_NAME_LENGTH, MAX_INSTRUCTIONS_LENGTH, Collection, Document
from pincite.core.domain.turns import Session
from pincite.core.services.bootstrap import Pincite
from pincite.pages.components.controls import button, confirm_deletion, danger, row
from pincite.pages.components.facade import errors_shown
from pincite.pages.components.members import draw_members, is_own, may_change
from pincite.pages.components.words import escape

_NEW = "new_session_collection"
_EDITED = "documents_collection"


def collection_of(app: Pincite, session: Session | None) -> Collection | None:
    """Return the collection of the conversation, or the one in which a new one will begin; None: all documents."""
    if session:
        st.session_state[_NEW] = session.collection_id
    return _stored(app, st.session_state.get(_NEW, ""))


def use_collection(collection_id: str) -> None:
    """Begin the next conversation in this one; empty: with all documents."""
    st.session_state[_NEW] = collection_id


def id_for_a_new_session(app: Pincite) -> str:
    """The collection in which it begins; empty: none. Raises CollectionError where that was deleted meanwhile."""
    wanted: str = st.session_state.get(_NEW, "")
    if wanted and _stored(app, wanted) is None:
        use_collection("")
    return app.collections.get(wanted).id if wanted else ""


def _stored(app: Pincite, collection_id: str) -> Collection | None:
    return next((one for one in app.collections.list() if one.id == collection_id), None)


def documents_of(app: Pincite, collection: Collection | None) -> list[Document]:
    return [one for one in app.library.list() if collection is None or one.id in collection.document_ids]


def choose_collection(app: Pincite, collection: Collection | None, key: str, use: Callable[[str], None]) -> None:
    """Draw the choice of a collection; ``use`` gets its id, empty for all documents."""
    names = {"": "All documents"} | {one.id: one.name for one in app.collections.list()}
    st.session_state[key] = collection.id if collection else ""
    st.selectbox("Collection", list(names), format_func=lambda identity: names[identity], key=key,
                 label_visibility="collapsed", on_change=lambda: use(st.session_state[key]))  # fmt: skip


def draw_collections(app: Pincite, ask: Callable[[Collection], None]) -> Collection | None:
    """Draw the collections of the documents page: choose, create, edit and ask. Return the chosen one."""
    collection = _stored(app, st.session_state.get(_EDITED, ""))
    with row():
        if app.collections.list():
            with st.container(width=300):
                choose_collection(app, collection, "collection_on_documents", _edit)
        with st.popover("New collection", icon=":material/create_new_folder:", type="tertiary"):
            _draw_new(app)
        if collection and collection.document_ids and button("Ask the collection", "add_comment"):
            ask(collection)
        if collection and may_change(app, collection):
            with st.popover("Edit collection", icon=":material/edit:", type="tertiary"):
                _draw_edit(app, collection)
        if collection:
            draw_members(app, collection)
    return collection


def _edit(collection_id: str) -> None:
    st.session_state[_EDITED] = collection_id


def _draw_new(app: Pincite) -> None:
    st.caption("A collection is a named set of documents. A session in it searches no other documents.")
    with st.form("new_collection", border=False, clear_on_submit=True):
        name = st.text_input(
            "Collection name", max_chars=MAX_COLLECTION_NAME_LENGTH, placeholder="For example, a client or a project"
        )
        documents = _choose_documents(app, (), "new_collection_documents")
        made = st.form_submit_button("Create", type="primary")
    if made:
        with errors_shown():
            collection = app.collections.create(name or "")
            app.collections.add(collection.id, documents)
            _edit(collection.id)
            st.rerun()


def _draw_edit(app: Pincite, collection: Collection) -> None:
    # new keys redraw the fields if the collection changed meanwhile
    stored = f"{collection.id}_{hash((collection.name, collection.instructions, *sorted(collection.document_ids)))}"
    with st.form(f"edit_{stored}", border=False):
        name = st.text_input("Collection name", value=collection.name, max_chars=MAX_COLLECTION_NAME_LENGTH)
        documents = _choose_documents(app, collection.document_ids, f"members_{stored}")
        instructions = st.text_area(
            "Instructions for answers", collection.instructions, max_chars=MAX_INSTRUCTIONS_LENGTH,
            placeholder="For example: answer in German, cite clause numbers",
            help="A language model follows them. Quotations stay as they are.",
        )  # fmt: skip
        saved = st.form_submit_button("Save collection", type="primary")
    if saved:
        with errors_shown():
            app.collections.instruct(collection.id, instructions or "")
            app.collections.rename(collection.id, name or "")
            app.collections.set_documents(collection.id, documents)
            st.rerun()
    if is_own(app, collection) and danger("Delete collection…", "collection"):
        words = (f"**{escape(collection.name)}** will be deleted. Its documents and sessions stay, and the sessions "
                 "keep searching the same documents.")  # fmt: skip
        confirm_deletion("Delete this collection?", words, app.collections.delete, collection.id)


def draw_membership(app: Pincite, document: Document) -> None:
    """Choose the collections that a document is in."""
    collections = {one.id: one for one in app.collections.list() if may_change(app, one)}
    if not collections or not app.may_change(document.id):
        return
    own = [one.id for one in collections.values() if document.id in one.document_ids]
    chosen = st.multiselect("Collections", list(collections), default=own, placeholder="None chosen",
                            format_func=lambda identity: collections[identity].name,
                            key=f"collections_of_{document.id}_{hash(tuple(own))}")  # fmt: skip
    if set(chosen) == set(own):
        return
    with errors_shown():
        for identity in set(chosen) ^ set(own):
            kept = [one for one in collections[identity].document_ids if one != document.id]
            app.collections.set_documents(identity, [*kept, document.id] if identity in chosen else kept)
        st.rerun()


def _choose_documents(app: Pincite, chosen: tuple[str, ...], key: str) -> list[str]:
    names = {one.id: one.name for one in app.library.list() if one.id in chosen or app.may_delete(one.id)}
    return st.multiselect("Documents", list(names), default=[one for one in chosen if one in names],
                          format_func=lambda identity: names[identity], key=key, placeholder="None chosen")  # fmt: skip
