"""The one runtime that all pages share, and how its errors are told."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from core.domain.errors import PinciteError
from core.services.bootstrap import Pincite, open_pincite
from pages.components.words import escape

_opening = threading.Lock()
_opened: Pincite | None = None


def pincite() -> Pincite:
    """Not in a cache of Streamlit's: a message from any page clears those, and a second one would be opened."""
    global _opened
    with _opening:
        if _opened is None or _opened.closed:
            _opened = open_pincite()
        return _opened


@contextmanager
def errors_told() -> Iterator[None]:
    """Show an error of ours as a message; anything else is a fault and goes to the log."""
    try:
        yield
    except PinciteError as error:
        tell(error)


def tell(error: PinciteError) -> None:
    st.error(f"**{escape(error.message)}** {escape(error.hint)}", icon=":material/error:")
