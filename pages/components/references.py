"""Import the documents of a collection of Zotero, or of a Better BibTeX file."""

from collections.abc import Iterable
from pathlib import Path

import streamlit as st

from pincite.core.domain.documents import Collection
from pincite.core.services.bibtex import read_bibtex
from pincite.core.services.bootstrap import Pincite
from pincite.core.services.references import Reference
from pincite.core.services.zotero import Zotero, ZoteroCollection
from pincite.pages.components.controls import button, quiet, row
from pincite.pages.components.facade import errors_shown
from pincite.pages.components.words import count, escape

FOUND, RESULT = "zotero_collections", "imported_references"
AT_ONCE = 20
"""Problems that are listed."""


def draw_references(app: Pincite, collection: Collection | None) -> None:
    """Offer both ways; the documents go into the open collection, else into one with the name of the source."""
    with st.expander("Import from Zotero", icon=":material/library_books:"):
        draw_result()
        found: list[ZoteroCollection] = st.session_state.get(FOUND, [])
        if found:
            with row(vertical_alignment="bottom"):
                chosen = st.selectbox("Collection in Zotero", found, format_func=lambda one: one.name)
                again = quiet("Look for collections again", "refresh", key="icon_zotero_again", help="Look again")
                if st.button("Import", icon=":material/download:", type="primary"):
                    into = collection.name if collection else chosen.short_name
                    add(app, Zotero().references(chosen), into)
            if again:
                _look()
        else:
            st.caption("Files, authors, titles and dates of a collection. Zotero must be open on this machine.")
            if button("Show the collections", "refresh", key="zotero_look"):
                _look()
        with st.form("bibtex", border=False):
            path = st.text_input(
                "Or a Better BibTeX file on the machine that Pincite runs on",
                placeholder="For example, /home/me/Thesis.bib", help="Export it from Zotero with its files.",
            ).strip()  # fmt: skip
            if st.form_submit_button("Import this file", icon=":material/download:") and path:
                with errors_shown():
                    file = Path(path).expanduser()
                    add(app, read_bibtex(file), collection.name if collection else file.stem)


def _look() -> None:
    with errors_shown():
        st.session_state[FOUND] = Zotero().collections()
        if st.session_state[FOUND]:
            st.rerun()
        st.warning("Zotero has no collections yet.")


def add(app: Pincite, references: Iterable[Reference], into: str) -> None:
    with errors_shown(), st.status("Importing…") as status:
        added, problems = 0, list[str]()
        for one in app.references.add(references, collection=into):
            status.update(label=f"Importing… {escape(one.reference.name)}")
            added += len(one.documents)
            problems += [f"{one.reference.name}: {problem}" for problem in one.problems]
        st.session_state[RESULT] = (added, into, problems)
        st.rerun()


def draw_result() -> None:
    """Draw what the last import did, until it is closed."""
    if RESULT not in st.session_state:
        return
    added, into, problems = st.session_state[RESULT]
    st.success(f"{count(added, 'document')} in the collection {escape(into)}.", icon=":material/check:")
    if problems:
        listed = "\n".join(f"- {escape(problem)}" for problem in problems[:AT_ONCE])
        more = f"\n- and {len(problems) - AT_ONCE} more" if len(problems) > AT_ONCE else ""
        st.warning(f"Not imported:\n{listed}{more}", icon=":material/warning:")
    quiet("Close", "close", st.session_state.pop, RESULT, key="close_import")
