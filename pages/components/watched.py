"""Watched folders: add one, see what is in it, decide about deleted files."""

import streamlit as st

from pincite.core.domain.errors import PinciteError
from pincite.core.domain.watching import WatchedFile, WatchedFolder
from pincite.core.services.bootstrap import Pincite
from pincite.pages.components.controls import button, confirm_deletion, danger, offer_more, quiet, row, shown_of
from pincite.pages.components.facade import errors_shown
from pincite.pages.components.words import count, escape, moment

AT_ONCE = 5


def draw_watched(app: Pincite) -> None:
    """Draw what a person has to know or decide about watched folders."""
    folders = app.watching.folders()
    for folder in folders:
        draw_deleted(app, folder, [file for file in app.watching.files(folder.id) if file.missing_since])
    if any(not (folder.checked_at or folder.problem) for folder in folders):
        draw_first_look(app)


def draw_watched_folders(app: Pincite, collection_name: str) -> None:
    """Draw the folders and their problems; ``collection_name``: the collection that is open."""
    folders = app.watching.folders()
    label = f"Watched folders ({len(folders)})" if folders else "Watch a folder"
    with st.expander(label, icon=":material/folder_eye:"):
        for folder in folders:
            draw_folder(app, folder)
        draw_form(app, collection_name)


@st.fragment(run_every=2)
def draw_first_look(app: Pincite) -> None:
    st.caption("Looking at the folder…")
    if all(folder.checked_at or folder.problem for folder in app.watching.folders()):
        st.rerun()


def draw_form(app: Pincite, collection_name: str) -> None:
    with st.form(f"watch_folder_{len(app.watching.folders())}", border=False):  # empty again once one was added
        path = st.text_input(
            "Folder on the machine that Pincite runs on", placeholder="For example, /home/me/Contracts",
            help="Its files are added, and followed when they change.",
        )  # fmt: skip
        name = st.text_input("Collection", value=collection_name, placeholder="None", help="It is made if it is new.")
        ignored = st.text_area("Files to leave out", placeholder="drafts/*", height=68, help="One pattern a line.")
        removes = st.checkbox("Remove the documents of deleted files without asking")
        if st.form_submit_button("Watch this folder", icon=":material/folder_eye:"):
            with errors_shown():
                app.watching.add(path.strip(), collection=name, ignored=ignored.splitlines(), removes=removes)
                st.rerun()


def draw_folder(app: Pincite, folder: WatchedFolder) -> None:
    files = app.watching.files(folder.id)
    there = [file for file in files if not file.missing_since]
    with row():
        looked = f"looked at {moment(folder.checked_at)}" if folder.checked_at else "not looked at yet"
        st.markdown(f"**{escape(folder.path)}**  \n{count(len(there), 'file')}{_into(app, folder)} · {looked}",
                    width="stretch")  # fmt: skip
        quiet("Stop watching", "visibility_off", app.watching.forget, folder.id, key=f"watched_{folder.id}",
              help="Its documents stay in the library.")  # fmt: skip
    if folder.problem:
        st.warning(escape(folder.problem), icon=":material/folder_off:")
    for file in [file for file in there if file.problem][:AT_ONCE]:
        st.warning(f"**{escape(file.path)}** was not added. {escape(file.problem)}", icon=":material/warning:")


def _into(app: Pincite, folder: WatchedFolder) -> str:
    try:
        return f" · in {escape(app.collections.get(folder.collection_id).name)}" if folder.collection_id else ""
    except PinciteError:  # it was deleted
        return ""


def draw_deleted(app: Pincite, folder: WatchedFolder, files: list[WatchedFile]) -> None:
    """Ask what becomes of the documents whose files are gone."""
    if not files:
        return
    shown = files[: shown_of(f"gone_{folder.id}", AT_ONCE)]
    with st.container(border=True):
        gone = "is no longer" if len(files) == 1 else "are no longer"
        st.warning(f"**{count(len(files), 'file')} {gone} in {escape(folder.path)}.** Keep the documents in the "
                   "library, or remove them?", icon=":material/folder_delete:")  # fmt: skip
        for file in shown:
            with row():
                st.markdown(escape(file.path), width="stretch")
                quiet("Keep", "check", _decide, app, [file], False, key=f"keep_{folder.id}_{file.path}")
                if danger("Remove…", f"gone_{folder.id}_{file.path}"):
                    words = f"**{escape(file.path)}** is removed from the library. Answers that quote it stay."
                    confirm_deletion("Remove this document?", words, _decide, app, [file], True)
        if len(files) > len(shown):
            offer_more(f"{len(files) - len(shown)} more", f"gone_{folder.id}", AT_ONCE)
        if len(files) > 1:
            with row():
                button("Keep all", "check", _decide, app, files, False, key=f"keep_all_{folder.id}")
                if danger(f"Remove all {len(files)}…", f"gone_all_{folder.id}"):
                    words = (
                        f"{count(len(files), 'document')} are removed from the library. Answers that quote them stay."
                    )
                    confirm_deletion("Remove these documents?", words, _decide, app, files, True)


def _decide(app: Pincite, files: list[WatchedFile], remove: bool) -> None:
    for file in files:
        app.watching.decide(file, remove=remove)
