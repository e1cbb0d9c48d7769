"""The review queue: answers that Pincite was not sure of, their evidence, and a person's decision."""

import getpass
from collections.abc import Sequence
from datetime import UTC, datetime

import streamlit as st

from pincite.core.errors import PinciteError
from pincite.core.runtime import Pincite
from pincite.core.types import ReviewDecision, ReviewedLine, Turn, TurnStatus
from pincite.pages.components.answer import answer_markdown, claim_line
from pincite.pages.components.facade import errors_told, pincite, tell
from pincite.pages.components.layout import CASE
from pincite.pages.components.live_text import live_text_area
from pincite.pages.components.page_view import (
    by_page,
    cited_page,
    draw_chips,
    draw_pager,
    draw_picture,
    passages_found,
    shown_page,
)
from pincite.pages.components.trace_view import draw_rows, evidence_rows
from pincite.pages.components.turn import DECISION_WORDS, draw_evaluation
from pincite.pages.components.words import confidence, escape, escape_lines, moment, parse_time, shorten

SLOT = "review_page"
QUEUE = "review_queue"
SHOWN_DECISIONS = 20
AGES = {"Any age": 36_500, "Last day": 1, "Last 7 days": 7, "Last 30 days": 30}


def main() -> None:
    app = pincite()
    st.header("Review", anchor=False)
    flagged = app.turns.flagged()
    decided = app.reviews.decided(most=SHOWN_DECISIONS)
    waiting, done = st.tabs([f"Waiting ({len(flagged)})", f"Decided ({app.reviews.count_decided()})"])
    with waiting:
        draw_waiting(app, flagged)
    with done:
        draw_decided(app, decided)


def draw_waiting(app: Pincite, flagged: Sequence[Turn]) -> None:
    if not flagged:
        st.success("Nothing waits for review. Answers with low confidence, and those you send here, appear here.",
                   icon=":material/task_alt:")  # fmt: skip
        return
    names = {document.id: document.name for document in app.library.list()}
    turns = filtered(flagged, names)
    if not turns:
        st.caption("No waiting answer fits these filters.")
        return
    rows = [
        {
            "Question": turn.question,
            "Why": turn.reasons[0] if turn.reasons else "",
            "Documents": ", ".join(sorted({citation.document_name for citation in turn.citations})) or "none cited",
            "Confidence": round(turn.verdict.confidence * 100) if turn.verdict else None,
            "Asked": parse_time(turn.started_at).astimezone(),
        }
        for turn in turns
    ]
    last = len(turns) - 1
    position = min(_position(), last)
    st.session_state[QUEUE] = {"selection": {"rows": [position]}}
    st.dataframe(
        rows, hide_index=True, key=QUEUE, on_select="rerun", selection_mode="single-row-required",
        height="content" if len(rows) <= 6 else 250,
        column_config={
            "Question": st.column_config.TextColumn(width=330),
            "Why": st.column_config.TextColumn(width=260),
            "Documents": st.column_config.TextColumn(width=170),
            "Confidence": st.column_config.NumberColumn(format="%.0f %%", width=85),
            "Asked": st.column_config.DatetimeColumn(format="D MMM, HH:mm", width=100),
        },
    )  # fmt: skip
    draw_case(app, turns[position], position, last, names)


def _position() -> int:
    state = st.session_state.get(QUEUE) or {}
    rows = state.get("selection", {}).get("rows", [])
    return rows[0] if rows else 0


def _move_to(position: int) -> None:
    st.session_state[QUEUE] = {"selection": {"rows": [position]}}
    st.session_state.pop("editing", None)
    st.session_state[SLOT] = None


def filtered(flagged: Sequence[Turn], names: dict[str, str]) -> list[Turn]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = st.text_input(
            "Question or reason", type="search", live=True, placeholder="Any words", key="review_words"
        )
        document = st.selectbox("Document", ["", *names], format_func=lambda id_: names.get(id_, "Any document"))
        age = st.selectbox("Age", list(AGES), width=150)
        most = st.slider("Confidence up to", 0, 100, 100, step=5, format="%d%%", width=200)
    now = datetime.now(UTC)
    return [
        turn
        for turn in flagged
        if (words or "").lower() in " ".join([turn.question, *turn.reasons]).lower()
        and (not document or any(citation.document_id == document for citation in turn.citations))
        and (now - parse_time(turn.started_at)).days < AGES[age]
        and (turn.verdict is None or turn.verdict.confidence * 100 <= most)
    ]


def draw_case(app: Pincite, turn: Turn, position: int, last: int, names: dict[str, str]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        approve = st.button("Approve", icon=":material/check:", type="primary", shortcut="A", disabled=not turn.answer)
        edit = st.button("Edit", icon=":material/edit:", shortcut="E")
        reject = st.button("Reject", icon=":material/block:", shortcut="X")
        st.space("stretch")
        st.button("", key="previous", icon=":material/arrow_upward:", type="tertiary", shortcut="K",
                  help="Previous answer", disabled=position == 0, on_click=_move_to, args=(position - 1,))  # fmt: skip
        st.button("", key="next", icon=":material/arrow_downward:", type="tertiary", shortcut="J",
                  help="Next answer", disabled=position == last, on_click=_move_to, args=(position + 1,))  # fmt: skip
    if edit:
        st.session_state["editing"] = turn.id
    with st.container(key=CASE):
        left, right = st.columns([11, 9], gap="medium")
    with left:
        draw_draft(app, turn)
        draw_decision_form(app, turn, approve=approve, reject=reject)
        draw_checks(turn)
        draw_hint(app, turn)
    with right:
        draw_evidence(app, turn, names)


def draw_draft(app: Pincite, turn: Turn) -> None:
    st.markdown(f"**{escape_lines(turn.question)}**")
    reasons = "\n".join(f"- {escape(reason)}" for reason in turn.reasons)
    sure = confidence(turn.verdict.confidence, app.settings.review_threshold) if turn.verdict else "Not judged"
    st.warning(f"{sure}\n{reasons}", icon=":material/warning:")
    if turn.review and turn.review.stale:
        st.info(f"Decided before by {escape(turn.review.reviewer)}; stale since: {escape(turn.review.stale)}")
    if st.session_state.get("editing") != turn.id:
        answer = answer_markdown(turn.parts, turn.verdict)
        with st.container(border=True):
            st.markdown(answer or "There is no draft: nothing in the documents was good enough to answer from.")


def draw_checks(turn: Turn) -> None:
    with st.expander("How this draft was checked", icon=":material/fact_check:"):
        draw_evaluation(turn)
    st.page_link(
        "pages/traces.py", label="Open the trace", icon=":material/account_tree:", query_params={"turn": turn.id}
    )


def draw_decision_form(app: Pincite, turn: Turn, *, approve: bool, reject: bool) -> None:
    text = turn.answer
    editing = st.session_state.get("editing") == turn.id
    if editing:
        text = live_text_area(
            "The final answer; write [2] to cite passage 2", turn.answer, height=160, key=f"edit_{turn.id}"
        )
        draw_recheck(app, turn, text)
        if turn.evidence:
            with st.expander("Passages that can be cited, by number", icon=":material/format_list_numbered:"):
                draw_rows(evidence_rows(turn.evidence), key=f"citable_{turn.id}")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        note = st.text_input("Note", key=f"note_{turn.id}", placeholder="Optional: why you decide so")
        reviewer = st.text_input("Reviewer", value=_user_name(), key="reviewer", persist_state="session", width=140)
    save = editing and st.button("Save the edited answer", icon=":material/save:", type="primary")
    decision = (
        ReviewDecision.EDITED if save else
        ReviewDecision.APPROVED if approve else
        ReviewDecision.REJECTED if reject else None
    )  # fmt: skip
    if decision is None:
        return
    try:
        app.reviews.decide(
            turn.id, decision, final_answer=text if save else "", note=note or "", reviewer=reviewer or "local"
        )
    except PinciteError as error:
        tell(error)
        return
    st.session_state.pop("editing", None)
    st.toast(
        f"{DECISION_WORDS[decision].capitalize()}: {escape(shorten(turn.question, 60))}", icon=":material/task_alt:"
    )
    st.rerun()


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container need not know its user by name
        return "local"


def draw_recheck(app: Pincite, turn: Turn, text: str) -> None:
    """Check the edited text again, each time the reviewer pauses."""
    verdict = app.check_edit(turn.id, text)
    lines = [claim_line(claim) for claim in verdict.claims]
    with st.container(border=True):
        sure = confidence(verdict.confidence, app.settings.review_threshold)
        st.caption(f"Checked again as you type · {sure.lower()}")
        st.markdown("\n".join(lines) or "No claim to check.")


def draw_hint(app: Pincite, turn: Turn) -> None:
    with st.expander("Ask again with a hint", icon=":material/replay:"), st.form(f"hint_{turn.id}", border=False):
        hint = st.text_input("Hint", placeholder="For example: look in section 6, not in the annex")
        if st.form_submit_button("Ask again") and hint:
            with errors_told():
                app.runner.run_again(turn.id, hint=hint)
                st.switch_page("pages/chat.py", query_params={"session": turn.session_id})


def draw_evidence(app: Pincite, turn: Turn, names: dict[str, str]) -> None:
    editing = st.session_state.get("editing") == turn.id  # then any passage may be cited instead: show them all
    places = (() if editing else turn.citations) or passages_found(turn)
    citations = [place for place in places if place.document_id in names]
    if not citations:
        what = "The documents it cites are no longer here." if places else "No page is cited."
        st.info(f"{what} The trace shows what was searched.", icon=":material/search_off:")
        return
    draw_chips(citations[:12], names, SLOT, f"evidence_{turn.id}")
    shown = shown_page(SLOT)
    if shown is None or shown.document_id not in {citation.document_id for citation in citations}:
        shown = cited_page(by_page(citations)[0])
    document = app.library.get(shown.document_id)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        draw_pager(app, document, shown, SLOT)
    draw_picture(document, shown)


def draw_decided(app: Pincite, decided: Sequence[ReviewedLine]) -> None:
    """Decisions that hold, newest first, each with all that was decided on it before."""
    if not decided:
        st.caption("No decision yet. Reviewed answers are offered again when somebody asks the same.")
    for turn in decided:
        outcome = f"{DECISION_WORDS[turn.review.decision]}, {moment(turn.review.decided_at)}"
        with st.expander(f"{escape(shorten(turn.question, 90))} · {outcome}", icon=":material/verified_user:"):
            for review in app.reviews.history(turn.turn_id):
                note = f" “{escape(review.note)}”" if review.note else ""
                stale = f" — no longer holds: {escape(review.stale)}" if review.stale else ""
                st.markdown(f"**{DECISION_WORDS[review.decision].capitalize()}** by {escape(review.reviewer)}, "
                            f"{moment(review.decided_at)}.{note}{stale}")  # fmt: skip
                st.markdown(answer_markdown(review.parts, None))
            with st.container(horizontal=True):
                st.page_link("pages/chat.py", label="Open the conversation", icon=":material/forum:",
                             query_params={"session": turn.session_id})  # fmt: skip
                if turn.status is TurnStatus.REVIEWED and st.button(
                    "Review again", key=f"reopen_{turn.turn_id}", type="tertiary", icon=":material/undo:"
                ):
                    app.reviews.send(turn.turn_id, "Sent back to review.")
                    st.rerun()


main()
