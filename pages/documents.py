"""The library: add PDFs, see how each page was read, correct a document's metadata, remove it."""

from collections.abc import Sequence
from contextlib import suppress

import streamlit as st

from pincite.core.domain.documents import (
    AMENDS,
    REFERENCE,
    REPLACES,
    Collection,
    Document,
    DocumentStatus,
    MetadataField,
    MetadataSource,
    all_endings,
)
from pincite.core.domain.errors import UnknownDocumentError
from pincite.core.domain.turns import TurnFilter
from pincite.core.services.bootstrap import Pincite
from pincite.pages.components.collections import documents_of, draw_collections, draw_membership
from pincite.pages.components.controls import button, confirm_deletion, danger, download, quiet, row
from pincite.pages.components.facade import errors_shown, show
from pincite.pages.components.illustrations import draw_not_described
from pincite.pages.components.page_map import TROUBLED, draw_page_map, summary
from pincite.pages.components.page_view import (
    ShownPage,
    draw_file_button,
    draw_pager,
    draw_picture,
    page_picture,
    show_page,
    shown_page,
)
from pincite.pages.components.receipts import draw_hidden, draw_orders, draw_troubles
from pincite.pages.components.references import draw_references
from pincite.pages.components.sessions import begin_with
from pincite.pages.components.table import choose_pressed_row, follow_choices
from pincite.pages.components.uploads import ask_password, draw_intake, draw_progress, intake, take_in
from pincite.pages.components.versions import draw_comparing, in_order
from pincite.pages.components.watched import draw_watched, draw_watched_folders
from pincite.pages.components.web_page import draw_web_page
from pincite.pages.components.words import count, escape, in_words, moment, parse_time, size, status_in_words
from pincite.web.pictures import page_address

SLOT = "documents_page"
TABLE, SEVERAL, ADDING = "documents", "several_documents", "other_ways_to_add"
LISTED_WITHOUT_FIND = 5
METADATA_NAMES = ("title", "author", "date", "language", "document type", "company", "year", AMENDS, REPLACES)


def draw(app: Pincite) -> None:
    st.header("Documents", anchor=False)
    collection = draw_collections(app, ask_collection)
    draw_uploader(app, collection)
    draw_intake(app)
    ask_password(app)
    if app.user is None:  # else files and networks of the server would be open to users
        draw_watched(app)
        with row(vertical_alignment="top", key=ADDING):
            draw_watched_folders(app, collection.name if collection else "")
            draw_web_page(app, collection)
            draw_references(app, collection)
    draw_quarantine(app)
    if not app.library.files.has_copies and (missing := app.library.files_missing()):
        st.warning(f"PDF missing or changed: {escape(', '.join(missing))}. The text already read can still be "
                   "searched. Add the same file again to see its pages.", icon=":material/warning:")  # fmt: skip
    documents = sorted(documents_of(app, collection), key=lambda document: document.added_at, reverse=True)
    if documents and app.is_admins:
        draw_language_offer(app)
    draw_outdated(app)
    draw_progress(app)
    if not documents:
        here = "No documents yet. Drop files above; ask about one as soon as its text has been read."
        among = "This collection has no documents yet. Drop files above, or choose some under *Edit collection*."
        st.info(among if collection and app.library.list() else here, icon=":material/upload_file:")
        return
    beside = len(documents) > 1 and is_one_chosen()
    if st.session_state.get("choose_several"):  # what can be done with them is in sight, however long the list
        details, listing = st.container(), st.container()
    else:
        listing, details = st.columns([4, 7], gap="medium") if beside else (st.container(), st.container())
    with listing:
        chosen = draw_table(app, documents, beside=beside)
    with details:
        if len(chosen) == 1 and not st.session_state.get("choose_several"):
            draw_document(app, chosen[0], collection, beside=beside)
        elif chosen:
            draw_several(app, chosen, collection)
        elif st.session_state.get("choose_several"):
            st.caption("Tick documents to ask about them, or to delete them.")
        else:
            st.caption("Choose a document to see its pages, its details, and what you can do with it.")


def is_one_chosen() -> bool:
    """Return whether the details of one document are shown, next to the list."""
    rows = (st.session_state.get(TABLE) or {}).get("selection", {}).get("rows", [])
    return bool(rows) and not st.session_state.get("choose_several")


def draw_uploader(app: Pincite, collection: Collection | None) -> None:
    """A fresh uploader after each batch, so that no file is taken in twice; the files go into the collection too."""
    batch = st.session_state.setdefault("upload_batch", 0)
    largest = app.settings.current.max_file_mib
    files = st.file_uploader(
        "Drop files here, or choose them: PDF, Word, Excel, PowerPoint, OpenDocument, e-mail, web page, e-book, text, "
        f"picture (up to {largest:,} MB each)", type=[*all_endings()],
        accept_multiple_files=True, key=f"upload_{batch}", max_upload_size=largest,
    )  # fmt: skip
    if files:
        take_in(app, files, collection)
        st.session_state["upload_batch"] = batch + 1
        st.rerun()


def draw_quarantine(app: Pincite) -> None:
    """PDFs that were found among the library's files and are none of its documents."""
    if not (found := app.documents.quarantined()):
        return
    were, them = ("was", "it") if len(found) == 1 else ("were", "them")
    with st.container(border=True):
        st.warning(
            f"**{count(len(found), 'PDF')} in the data directory did not belong to a document** and {were} set aside. "
            f"Nothing was deleted. Add {them} here, or remove {them} yourself from the folder below.",
            icon=":material/folder_special:",
        )
        st.code(str(found[0].parent), language=None)
        if button(f"Add {them}", "add"):
            intake().refused += [(name, str(error)) for name, error in app.documents.add_quarantined()]
            st.rerun()


def draw_outdated(app: Pincite) -> None:
    """Offer to read again what an older version read."""
    outdated = app.library.outdated()
    if not outdated or st.session_state.get("outdated_declined"):
        return
    with st.container(border=True):
        were = "was" if len(outdated) == 1 else "were"
        st.info(f"**{count(len(outdated), 'document')} {were} read by an older version.** Reading again uses "
                "what it has learned since. Until then each page can be searched as it is. Citations move with their "
                "words, and are marked where these are no longer on the page.",
                icon=":material/update:")  # fmt: skip
        with row():
            button("Read again", "refresh", app.ingest.read_again, outdated, key="read_outdated", type="primary")
            if quiet("Not now", "close"):
                st.session_state["outdated_declined"] = True
                st.rerun()


def draw_language_offer(app: Pincite) -> None:
    """Show once that the embedding model does not support a document's language, and the remedy."""
    offer = app.search.language_offer()
    if offer is None or st.session_state.get("language_offer_declined") == offer.documents:
        return
    named = escape(", ".join(offer.documents[:3]))
    more = f" and {count(len(offer.documents) - 3, 'other')}" if len(offer.documents) > 3 else ""
    with st.container(border=True):
        st.info(f"**Not in English: {named}{more}.** Search by meaning works only in English, so these documents can "
                "be found only by the words they contain.", icon=":material/translate:")  # fmt: skip
        if offer.model:
            st.caption("Pincite includes a model for about a hundred languages. Indexing takes twice as long and "
                       "400 MB more memory. Search keeps working, and you can switch back in settings.")  # fmt: skip
        else:
            st.caption("Pincite has no built-in model for other languages on this machine. With Ollama, run "
                       "`ollama pull bge-m3`, then choose `bge-m3` in the settings, under Search.")  # fmt: skip
        with row():
            if offer.model:
                button("Search in all languages", "translate",
                       lambda: app.settings.change(embedding_model=offer.model), type="primary")  # fmt: skip
            if quiet("Keep as is", "close"):
                st.session_state["language_offer_declined"] = offer.documents
                st.rerun()


def draw_table(app: Pincite, documents: Sequence[Document], *, beside: bool) -> list[Document]:
    """Draw the choice and return the chosen ones; a single one needs no choice. ``beside``: with few columns."""
    with row():
        several = len(documents) > 1 and st.toggle("Choose several", key="choose_several")
        if len(documents) > LISTED_WITHOUT_FIND:
            part = st.text_input("Find", type="search", live=True, placeholder="Find by name", width=220,
                                 label_visibility="collapsed", key="find_document")  # fmt: skip
            words = (part or "").replace("_", " ").casefold()
            documents = [one for one in documents if words in one.name.replace("_", " ").casefold()]
            if not documents:
                st.caption("No document has this in its name.")
                return []
    table = SEVERAL if several else TABLE
    follow_choices(table, [document.id for document in documents])
    rows = [
        {
            "Page": page_address(document.id),
            "Document": document.name,
            "Status": status_in_words(document),
            "Pages": document.page_count,
            "Text found": app.library.coverage(document.id).found * 100,
            "Added": parse_time(document.added_at).astimezone(),
            "Size": size(document.byte_size),
        }
        for document in documents
    ]
    event = st.dataframe(
        rows, hide_index=True, key=table, on_select=lambda: choose_pressed_row(table, several=bool(several)),
        selection_mode=["multi-row" if several else "single-row", "single-cell"],
        height="content" if len(rows) <= 10 else 518, row_height=48,
        column_order=("Page", "Document") if beside else None,
        column_config={
            "Page": st.column_config.ImageColumn(width=56),
            "Document": st.column_config.TextColumn(width=260 if beside else 320),
            "Status": st.column_config.TextColumn(width=120),
            "Pages": st.column_config.NumberColumn(width=60),
            "Text found": st.column_config.ProgressColumn(
                format="%.0f%%", min_value=0, max_value=100, width=120,
                help="Share of pages with usable text, without blank ones",
            ),
            "Added": st.column_config.DatetimeColumn(format="D MMM YYYY, HH:mm"),
        },
    )  # fmt: skip
    chosen = [documents[index] for index in event["selection"]["rows"] if index < len(documents)]
    return chosen or list(documents) * (len(documents) == 1)


def draw_several(app: Pincite, documents: Sequence[Document], collection: Collection | None) -> None:
    with row():
        st.subheader(count(len(documents), "document"), anchor=False)
        st.space("stretch")
        draw_asking(documents, collection)
        if len(documents) == 2:
            draw_comparing(*in_order(app, *documents), "Compare them", key="compare_chosen")
        draw_deleting(app, documents)
    st.caption(escape(", ".join(document.name for document in documents)))


def draw_asking(documents: Sequence[Document], collection: Collection | None) -> None:
    """A button that begins a conversation about these documents."""
    if button("Ask about it" if len(documents) == 1 else "Ask about them", "add_comment"):
        begin_with([document.id for document in documents], collection.id if collection else "")
        st.switch_page("pages/chat.py")


def ask_collection(collection: Collection) -> None:
    begin_with([], collection.id)
    st.switch_page("pages/chat.py")


def draw_deleting(app: Pincite, documents: Sequence[Document]) -> None:
    named = ", ".join(f"**{escape(document.name)}**" for document in documents)
    its, this = ("its file", "this document") if len(documents) == 1 else ("their files", "these documents")
    if all(app.may_delete(one.id) for one in documents) and danger("Delete", "documents"):
        confirm_deletion(
            f"Delete {this}?",
            f"{named} will be deleted with {its}, text and page images. "
            "Answers that cite what is deleted keep their wording and show “source removed”.",
            *(_delete, app, documents),
        )


def draw_document(app: Pincite, document: Document, collection: Collection | None, *, beside: bool) -> None:
    with row():
        st.subheader(escape(document.name), anchor=False)
        st.space("stretch")
        draw_asking([document], collection)
        if app.may_change(document.id):
            draw_renaming(app, document)
        draw_file_button(app, document, key="document_file")
        if app.turns.lines(TurnFilter(document_id=document.id), most=1):
            download(
                app,
                "Marked copy",
                lambda: app.exports.marked(document),
                f"Marked {document.pdf_name}",
                of=("document", document.id),
                key="marked_file",
                help="A copy of this PDF with every cited passage marked",
            )
        draw_deleting(app, [document])
    if document.status is not DocumentStatus.READY:
        st.caption(status_in_words(document))
    if document.message and document.status in (DocumentStatus.FAILED, DocumentStatus.CANCELLED):
        st.error(escape(document.message), icon=":material/error:")
        button("Try again", "refresh", app.ingest.retry, document.id)
    for note in document.notes:
        st.caption(f":material/info: {escape(note)}")
    for told in relations_in_words(app, document):
        st.caption(f":material/history: {escape(told)}")
    if earlier := app.versions.earlier_of(document.id):
        draw_comparing(earlier, document.id, "What changed?", key="compare_earlier")
    pages, known, outline = st.tabs(["Pages", "About this document", "Outline"])
    with pages:
        draw_pages(app, document, beside=beside)
    with known:
        draw_metadata(app, document)
    with outline:
        lines = [
            f"{'  ' * max(entry.level - 1, 0)}- {escape(entry.title)} · p. {entry.page_index + 1}"
            for entry in app.library.outline(document.id)
        ]
        st.markdown("\n".join(lines) or "This document has no outline.")


def draw_renaming(app: Pincite, document: Document) -> None:
    with st.popover("Rename", icon=":material/edit:", type="tertiary"), st.form(f"rename_{document.id}", border=False):
        name = (st.text_input("Name", value=document.name, max_chars=200) or "").strip()
        if st.form_submit_button("Save", type="primary") and name:
            with errors_shown():
                app.library.rename(document.id, name)
                st.rerun()


def _delete(app: Pincite, documents: Sequence[Document]) -> None:
    for document in documents:
        with suppress(UnknownDocumentError):  # it went meanwhile
            app.ingest.remove(document.id)
    page_picture.clear()


def draw_pages(app: Pincite, document: Document, *, beside: bool) -> None:
    """``beside``: next to the list of documents, where the page is below its map."""
    receipts = app.library.receipts(document.id)
    if not receipts:
        st.caption("No pages have been read yet.")
        return
    left, right = (st.container(), st.container()) if beside else st.columns([9, 11], gap="medium")
    with left:
        covered = app.library.coverage(document.id)
        st.markdown(f"Usable text on **{covered.text:,}** of {count(document.page_count, 'page')}")
        st.caption(summary(receipts))
        clicked = draw_page_map(receipts, key=f"map_{document.id}")
        if clicked is not None and clicked != st.session_state.get("map_clicked"):
            show_page(SLOT, ShownPage(document.id, clicked))
        st.session_state["map_clicked"] = clicked
        draw_not_described(app, document, receipts)
        draw_hidden(app, document, receipts, SLOT)
        if document.status is DocumentStatus.READY:
            draw_orders(document, receipts, SLOT)
        if troubled := [receipt for receipt in receipts if receipt.status in TROUBLED and not receipt.waiting]:
            draw_troubles(app, document, troubled, SLOT)
    with right:
        shown = shown_page(SLOT)
        if shown is None or shown.document_id != document.id:
            shown = ShownPage(document.id, 0)
        draw_open_page(app, document, shown)


def draw_open_page(app: Pincite, document: Document, shown: ShownPage) -> None:
    with row(gap="xsmall"):
        draw_pager(app, document, shown, SLOT)
        st.space("stretch")
        if app.may_change(document.id):
            quiet("Read again", "refresh", app.ingest.retry, document.id, [shown.page_index], key="retry_page",
                  help="Read this page again, this time also with OCR")  # fmt: skip
        as_text = st.segmented_control("View", ["Page", "Text"], default="Page", required=True, key="page_or_text",
                                       label_visibility="collapsed") == "Text"  # fmt: skip
    if not as_text:
        draw_picture(document, shown, SLOT)
        return
    with errors_shown():
        text = app.library.page_text(document.id, shown.page_index)
        st.code(text or "This page has no text.", language=None, wrap_lines=True, height=640)


def relations_in_words(app: Pincite, document: Document) -> list[str]:
    """Return which documents it amends or replaces, and by which it is amended or replaced."""
    sentences = []
    for one in app.search.relations():
        if one.newer.id == document.id:
            sentences.append(f"{'Replaces' if one.whole else 'Amends'} {one.older.name}")
        if one.older.id == document.id:
            sentences.append(f"{'Replaced' if one.whole else 'Amended'} by {one.newer.name}")
    return sentences


def draw_metadata(app: Pincite, document: Document) -> None:
    draw_membership(app, document)
    st.caption(
        "Questions can be limited to a company, year or type. Where a document amends or replaces another, give that "
        "one's name, or “none”. Your changes here are kept and marked as yours."
    )
    known = {field.name: field for field in document.metadata}
    values = {field.name: field.value for field in known.values()} | _related(app, document)
    rows = [
        {"Fact": name, "Value": values.get(name, ""), "From": _origin(known.get(name)) if values.get(name) else ""}
        for name in dict.fromkeys([*known, *METADATA_NAMES])
        if name != REFERENCE
    ]
    edited = st.data_editor(rows, hide_index=True, disabled=["Fact", "From"], key=f"metadata_{document.id}")
    fields = [field for field in document.metadata if field.name == REFERENCE]
    for fact, before in zip(edited, rows, strict=True):
        value, old = (fact["Value"] or "").strip(), known.get(fact["Fact"])
        if value == before["Value"]:
            fields += [old] if old else []
        elif value:
            fields.append(MetadataField(fact["Fact"], value, MetadataSource.USER))
    st.markdown(f"{size(document.byte_size)} · added {moment(document.added_at)}")
    if set(fields) != set(document.metadata) and st.button("Save changes", type="primary"):
        app.ingest.set_metadata(document.id, fields)
        st.rerun()


def _origin(field: MetadataField | None) -> str:
    """Return where a fact comes from; one without a field is the version in the names of files."""
    if field is None:
        return in_words(MetadataSource.FILE_NAME)
    guessed = field.name == "document type" and field.source is MetadataSource.FIRST_PAGES
    return f"{'a guess from the ' * guessed}{in_words(field.source)}"


def _related(app: Pincite, document: Document) -> dict[str, str]:
    """Return the names of the documents that it amends or replaces, by its text or a person's statement."""
    own = [one for one in app.search.relations() if one.newer.id == document.id]
    entered = {field.name: field.value for field in document.metadata if field.source is MetadataSource.USER}
    return {
        fact: ", ".join(one.older.name for one in own if one.whole == whole) or entered.get(fact, "")
        for fact, whole in ((AMENDS, False), (REPLACES, True))
    }


show(draw)
