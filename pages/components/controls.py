"""What all pages draw alike: a row, a quiet button, a list that grows when asked, a question before a deletion."""

from collections.abc import Callable
from mimetypes import guess_type
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pincite.core.domain.turns import Turn
from pincite.core.services.bootstrap import Pincite
from pincite.pages.components.facade import safely

Callback = Callable[..., object]


def row(**options: Any) -> DeltaGenerator:
    """Return a row of elements."""
    look: dict[str, Any] = {"vertical_alignment": "center", "gap": "small"} | options
    return st.container(horizontal=True, **look)


def button(label: str, icon: str, do: Callback | None = None, *args: object, **options: Any) -> bool:
    """Draw a button; its action runs before the next drawing, which shows its errors."""
    then: dict[str, Any] = {"on_click": safely, "args": (do, *args)} if do else {}
    return st.button(label, icon=f":material/{icon}:", **then, **options)


def quiet(label: str, icon: str, do: Callback | None = None, *args: object, **options: Any) -> bool:
    """Draw a plain button and return whether it was pressed."""
    return button(label, icon, do, *args, type="tertiary", **options)


def danger(label: str, key: str) -> bool:
    """Draw a plain button in red, for what cannot be undone, and return whether it was pressed."""
    return quiet(label, "delete", key=f"danger_{key}")


def icon_button(name: str, icon: str, do: Callback, *args: object, key: str, **options: Any) -> bool:
    """One that shows its icon alone; its name is a tip, and read out."""
    return quiet(name, icon, do, *args, key=f"icon_{key}", **({"help": name} | options))


def download(
    app: Pincite, label: str, data: Callable[[], bytes | str], file_name: str, *, of: tuple[str, str], **options: Any
) -> None:
    """Offer a file that is made only when it is asked for. ``of``: kind and id of what is in it, for the audit log."""
    mime = guess_type(file_name)[0] or "application/octet-stream"

    def made() -> bytes | str:
        content = data()
        app.note("exported", *of)
        return content

    st.download_button(label, data=made, file_name=file_name, mime=mime, icon=":material/download:", type="tertiary",
                       on_click="ignore", **options)  # fmt: skip


def shown_of(name: str, at_once: int) -> int:
    """How many entries of a list to show: what is shown at once, and as many again each time that more is wanted."""
    most: int = st.session_state.get(f"shown_{name}", at_once)
    return most


def offer_more(label: str, name: str, at_once: int, *, icon: str = "expand_more") -> None:
    quiet(label, icon, show_more, name, at_once, key=f"more_{name}")


def show_more(name: str, at_once: int) -> None:
    st.session_state[f"shown_{name}"] = shown_of(name, at_once) + at_once


def confirm_deletion(title: str, consequences: str, delete: Callback, *args: object) -> None:
    """Open a dialog that deletes, or does nothing. ``title``: a question, such as "Delete this session?"."""

    @st.dialog(title)
    def ask() -> None:
        st.markdown(consequences)
        with row(horizontal_alignment="right", key=f"deletes_{title.rstrip('?').split()[-1]}"):
            keep = st.button("Cancel")
            gone = button("Delete", "delete", delete, *args, key="confirm_delete", type="primary")
        if keep or gone:
            st.rerun()

    ask()


def link_to_trace(turn: Turn, label: str) -> None:
    st.page_link("pages/traces.py", label=label, icon=":material/account_tree:", query_params={"turn": turn.id})


def link_to_session(session_id: str) -> None:
    st.page_link("pages/chat.py", label="Open the session", icon=":material/forum:",
                 query_params={"session": session_id})  # fmt: skip
