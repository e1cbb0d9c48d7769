"""Draw tables in which the selected rows follow their entries when the list changes."""

from collections.abc import Sequence

import streamlit as st


def choose_rows(table: str, positions: Sequence[int]) -> None:
    st.session_state[table] = {"selection": {"rows": list(positions)}}


def choose_pressed_row(table: str, *, several: bool) -> None:
    """Who presses anywhere in a row means the row; with ``several`` the others stay chosen."""
    chosen = st.session_state[table]["selection"]
    if pressed := {row for row, _ in chosen["cells"]}:
        choose_rows(table, sorted(pressed ^ set(chosen["rows"])) if several else [*pressed])


def follow_choices(table: str, ids: Sequence[str]) -> list[str]:
    """What was chosen, also what is gone since; call it before the table of these entries is drawn."""
    before = st.session_state.get(f"{table}_ids", ids)
    st.session_state[f"{table}_ids"] = ids
    rows = (st.session_state.get(table) or {}).get("selection", {}).get("rows", [])
    chosen = [before[row] for row in rows if row < len(before)]
    if rows and before != ids:
        choose_rows(table, [ids.index(one) for one in chosen if one in ids])
    return chosen


def follow_choice(table: str, ids: Sequence[str]) -> tuple[int | None, str]:
    """Return the row and the chosen entry; None if nothing was chosen or it was removed."""
    chosen = next(iter(follow_choices(table, ids)), "")
    return ids.index(chosen) if chosen in ids else None, chosen
