"""Tables whose chosen row follows its entry when the list changes, here or in another tab."""

from collections.abc import Sequence

import streamlit as st


def choose_row(table: str, position: int | None) -> None:
    st.session_state[table] = {"selection": {"rows": [] if position is None else [position]}}


def follow_choice(table: str, ids: Sequence[str]) -> tuple[int | None, str]:
    """Where the chosen entry stands now, and what was chosen; call it before the table of these entries is drawn.

    None where nothing was chosen or it is gone.
    """
    before = st.session_state.get(f"{table}_ids", ids)
    st.session_state[f"{table}_ids"] = ids
    rows = (st.session_state.get(table) or {}).get("selection", {}).get("rows", [])
    chosen = before[rows[0]] if rows and rows[0] < len(before) else ""
    position = ids.index(chosen) if chosen in ids else None
    if rows and before != ids:
        choose_row(table, position)
    return position, chosen
