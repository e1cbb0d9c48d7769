"""The one runtime that all pages share, and how its errors are told."""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from pincite.core.errors import PinciteError
from pincite.core.runtime import Pincite, open_pincite
from pincite.pages.components.words import escape


@st.cache_resource(show_spinner="Opening your library…")
def pincite() -> Pincite:
    return open_pincite()


@contextmanager
def errors_told() -> Iterator[None]:
    """Show an error of ours as a message; anything else is a fault and goes to the log."""
    try:
        yield
    except PinciteError as error:
        tell(error)


def tell(error: PinciteError) -> None:
    st.error(f"**{escape(error.message)}** {escape(error.hint)}", icon=":material/error:")
