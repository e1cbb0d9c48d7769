"""FlashRank's download: offered once to whoever begins, and on the settings page; nothing is fetched unasked."""

import streamlit as st

from pincite.core.services.bootstrap import Pincite
from pincite.core.services.search import RerankerState
from pincite.pages.components.controls import button, quiet, row
from pincite.pages.components.facade import errors_shown
from pincite.pages.components.words import escape


def offer_reranker(app: Pincite) -> None:
    """Draw the offer until it is taken or declined."""
    state = app.search.reranker_state()
    if state.installed or not app.settings.current.offer_reranker:
        return
    with st.container(border=True):
        st.markdown(f":material/sort: **Optional: better ranking.** {about_reranker(state)}")
        with row():
            draw_download(app)
            if quiet("Not now", "close"):
                with errors_shown():
                    app.settings.change(offer_reranker=False)
                    st.rerun()


def about_reranker(state: RerankerState) -> str:
    return (
        f"The built-in scorer ranks the passages. FlashRank ({escape(state.name)}) is better but slower. Its weights "
        f"are a {state.size_mb} MB download (licence: {escape(state.licence)}). Nothing is downloaded unless you ask."
    )


def draw_download(app: Pincite) -> None:
    if button("Download FlashRank", "download"):
        bar = st.progress(0.0, text="Downloading…")
        with errors_shown():
            app.search.fetch_reranker(lambda share: bar.progress(min(share, 1.0), text="Downloading…"))
            st.rerun()
