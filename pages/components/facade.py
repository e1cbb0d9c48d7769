"""The runtime that all pages share, and the display of its errors."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import streamlit as st

from pincite.core.domain.errors import PinciteError
from pincite.core.services.bootstrap import Pincite, open_pincite
from pincite.pages.components.words import escape

_PENDING_ERROR = "error_to_tell"
_opening = threading.Lock()
_opened: Pincite | None = None


def pincite() -> Pincite:
    """Return the library as who looks at the page sees it. Raises AccessError where that is nobody."""
    return seen_by(library(), st.user.to_dict())


def seen_by(opened: Pincite, claims: Mapping[str, Any]) -> Pincite:
    """Return the library as the user sees it whom the identity provider names. Raises AccessError."""
    return opened if opened.accounts is None else opened.of(opened.accounts.of(claims))


def library() -> Pincite:
    """Return all of it.

    Not in a cache of Streamlit's: a message from any page clears those, and a second one would be opened.
    """
    global _opened
    with _opening:
        if _opened is None or _opened.closed:
            _opened = open_pincite()
        return _opened


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show an error of ours as a message; anything else is a fault and goes to the log."""
    try:
        yield
    except PinciteError as error:
        tell(error)


def safely(do: Callable[..., object], *args: object) -> None:
    """Run a button's action; the next drawing shows its error."""
    try:
        do(*args)
    except PinciteError as error:
        st.session_state[_PENDING_ERROR] = error


def show(draw: Callable[[Pincite], None]) -> None:
    """Draw a page, after the error of the last button, if any."""
    with errors_shown():
        if (error := st.session_state.pop(_PENDING_ERROR, None)) is not None:
            tell(error)
        draw(pincite())


def tell(error: PinciteError) -> None:
    st.error(f"**{escape(error.message)}** {escape(error.hint)}", icon=":material/error:")
