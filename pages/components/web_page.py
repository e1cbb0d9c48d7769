"""Add a web page by its address."""

import streamlit as st

from pincite.core.domain.documents import Collection
from pincite.core.services.bootstrap import Pincite
from pincite.pages.components.facade import errors_shown
from pincite.pages.components.uploads import settle


def draw_web_page(app: Pincite, collection: Collection | None) -> None:
    """Ask for an address and fetch its page, where the settings allow it; the document goes into the collection."""
    if not app.settings.current.web_pages:
        return
    with st.expander("Add a web page", icon=":material/link:"), st.form("web_page", border=False):
        number = st.session_state.setdefault("web_pages", 0)
        address = st.text_input(
            "Address", placeholder="https://", help="The page is fetched once.", key=f"web_{number}"
        )  # fmt: skip
        if st.form_submit_button("Add this page", icon=":material/add_link:") and address.strip():
            with errors_shown(), st.spinner("Fetching…"):
                settle(app, address, app.documents.add_web_page(address), collection.id if collection else "")
                st.session_state["web_pages"] = number + 1
                st.rerun()
