"""What the buttons of the review queue do, and what is open and was last decided there."""

import getpass

import streamlit as st

from pincite.core.domain.turns import ReviewDecision
from pincite.core.services.bootstrap import Pincite
from pincite.pages.components.table import choose_rows

SLOT, QUEUE = "review_page", "review_queue"
EDITING, LAST, NAME = "editing", "last_decision", "reviewer_name"


def move_to(position: int) -> None:
    choose_rows(QUEUE, [position])
    st.session_state.pop(EDITING, None)
    st.session_state[SLOT] = None


def editor_key(turn_id: str) -> str:
    return f"edit_{turn_id}"


def edit(turn_id: str) -> None:
    st.session_state[EDITING] = turn_id


def keep_draft(app: Pincite, turn_id: str) -> None:
    text = st.session_state.get(editor_key(turn_id))
    if text is not None:  # else the same press has saved or discarded it
        app.reviews.keep_draft(turn_id, text)


def discard(app: Pincite, turn_id: str) -> None:
    app.reviews.discard_draft(turn_id)
    _close_editor(turn_id)


def _close_editor(turn_id: str) -> None:
    st.session_state.pop(EDITING, None)
    st.session_state.pop(editor_key(turn_id), None)


def save(app: Pincite, turn_id: str) -> None:
    _conclude(app, turn_id, ReviewDecision.EDITED, st.session_state.get(editor_key(turn_id)) or "")


def decide(app: Pincite, turn_id: str, decision: ReviewDecision) -> None:
    """A second key pressed before the editor was drawn must not decide."""
    if st.session_state.get(EDITING) != turn_id:
        _conclude(app, turn_id, decision)


def _conclude(app: Pincite, turn_id: str, decision: ReviewDecision, text: str = "") -> None:
    note = st.session_state.get(f"note_{turn_id}") or ""
    reviewer = app.user.shown if app.user else st.session_state.get("reviewer") or reviewer_name()
    st.session_state[NAME] = reviewer  # the field goes with the last case, and is perhaps not drawn yet with the next
    turn = app.turns.without_trace(turn_id)
    if decision is ReviewDecision.EDITED and text.strip() == turn.answer.strip():
        decision = ReviewDecision.APPROVED  # nothing was changed in the box
    app.reviews.decide(turn_id, decision, final_answer=text, note=note, reviewer=reviewer)
    st.session_state[LAST] = (turn_id, decision, turn.question)
    _close_editor(turn_id)


def reviewer_name() -> str:
    try:
        return st.session_state.get(NAME) or getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container need not know its user by name
        return "local"


def undo(app: Pincite, turn_id: str) -> None:
    """Take the decision back and show its case again."""
    if (last := st.session_state.get(LAST)) is not None and last[0] == turn_id:
        st.session_state.pop(LAST)
    st.session_state[f"{QUEUE}_ids"] = [turn_id]
    move_to(0)
    app.reviews.undo(turn_id)
