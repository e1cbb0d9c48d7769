"""The review queue: answers that Pincite was not sure of, their evidence, and a person's decision."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

import streamlit as st

from pincite.core.domain.answers import ClaimStatus
from pincite.core.domain.errors import PinciteError
from pincite.core.domain.grids import Cell, Grid
from pincite.core.domain.turns import ReviewDecision, ReviewDraft, ReviewedLine, Turn, TurnFilter, TurnLine, TurnStatus
from pincite.core.services.bootstrap import Pincite
from pincite.pages.components import controls, deciding
from pincite.pages.components.answer import answer_markdown, asked_apart, claim_line, draw_evaluation
from pincite.pages.components.cells import open_grid
from pincite.pages.components.controls import button, icon_button, offer_more, quiet, row, shown_of
from pincite.pages.components.facade import errors_shown, safely, show
from pincite.pages.components.layout import BAR, CASE, LAST_DECISION
from pincite.pages.components.live_text import live_text_area
from pincite.pages.components.page_view import (
    cited_page,
    draw_chips,
    draw_neighbours,
    draw_pager,
    draw_picture,
    passages_found,
    shown_page,
)
from pincite.pages.components.table import choose_rows, follow_choice
from pincite.pages.components.trace_view import draw_rows, evidence_rows
from pincite.pages.components.words import count, escape, escape_lines, moment, parse_time, shorten

EVERYTHING = TurnFilter(TurnStatus.FLAGGED)
AGES = {"Any time": 0, "Last day": 1, "Last 7 days": 7, "Last 30 days": 30}
LINES_A_PAGE = 50
MAX_ROWS = 12
DRAWN = "review_case_drawn"
MAX_QUESTION_LENGTH = 300
DECISIONS_A_PAGE = 20
DECIDED_ICONS = {
    ReviewDecision.APPROVED: ":material/check_circle:",
    ReviewDecision.EDITED: ":material/edit:",
    ReviewDecision.REJECTED: ":material/block:",
}


def draw(app: Pincite) -> None:
    st.header("Review", anchor=False)
    flagged, decided = app.turns.count_flagged(), app.reviews.count_decided()
    values = app.grids.to_review()
    tabs: dict[str, Callable[[], None]] = {f"Waiting ({flagged})": partial(draw_waiting, app, flagged)}
    if values:
        tabs[f"Grid values ({len(values)})"] = partial(draw_values, app, values)
    if not flagged:  # first what is to be done
        tabs = dict(reversed(tabs.items()))
    tabs[f"Decided ({decided})"] = partial(draw_decided, app, decided)
    for tab, draw_tab in zip(st.tabs(list(tabs)), tabs.values(), strict=True):
        with tab:
            draw_tab()


def draw_values(app: Pincite, values: Sequence[tuple[Grid, Cell]]) -> None:
    """The values of grids that a person has to look at; a press opens the grid at the value."""
    names = {document.id: document.name for document in app.library.list()}
    for grid, cell in values[: shown_of("values", LINES_A_PAGE)]:
        column = grid.column(cell.column_id)
        told = [grid.name, column.name if column else "", names.get(cell.document_id, "")]
        where = " · ".join(dict.fromkeys(filter(None, told)))
        with row(vertical_alignment="center"):
            st.markdown(f"**{escape(shorten(cell.value or 'No value', 120))}**  \n{escape(where)}", width="stretch")
            if cell.detail:
                st.caption(escape(cell.detail), width=300)
            if quiet("Open", "grid_on", key=f"value_{grid.id}_{'_'.join(cell.key)}"):
                open_grid(grid, cell.key)
    if (more := len(values) - shown_of("values", LINES_A_PAGE)) > 0:
        offer_more(f"Show more ({more:,} waiting)", "values", LINES_A_PAGE)


def draw_last_decision(app: Pincite) -> None:
    """What became of it, with the way back, in the row at hand."""
    if (last := st.session_state.get(deciding.LAST)) is not None:
        turn_id, decision, question = last
        words = f"**{decision.capitalize()}:** {escape(shorten(question, 90))}"
        st.markdown(f"{DECIDED_ICONS[decision]} {words}", width="stretch", wrap=False)
        quiet("Undo", "undo", deciding.undo, app, turn_id, key=f"undo_{turn_id}")


def draw_waiting(app: Pincite, flagged: int) -> None:
    """The case is in the page, the list of cases in the sidebar, which folds."""
    names = {document.id: document.name for document in app.library.list()}
    with row(key=LAST_DECISION):  # there before anything was decided, so that nothing below it moves
        draw_last_decision(app)
    if not flagged:
        st.success("Nothing is waiting for review. Doubtful answers of a model, and those that you send here, appear.",
                   icon=":material/task_alt:")  # fmt: skip
        return
    with st.sidebar:
        wanted = draw_filters(names)
        lines = app.turns.lines(wanted, most=shown_of("waiting", LINES_A_PAGE))
        if wanted != EVERYTHING:
            st.caption(f"{app.turns.count_lines(wanted):,} of {flagged:,} match the filter.")
        if lines:
            position = _position(app, lines)
            draw_queue(app, lines)
            if (more := app.turns.count_lines(wanted) - len(lines)) > 0:
                offer_more(f"Show more ({more:,} waiting)", "waiting", LINES_A_PAGE)
    if not lines:
        st.caption("No waiting answers match these filters.")
        return
    turn = app.verdicts.as_current(app.turns.without_trace(lines[position].id))
    draw_case(app, turn, position, len(lines) - 1, names, waiting=app.turns.count_lines(wanted))


def draw_queue(app: Pincite, lines: Sequence[TurnLine]) -> None:
    drafted = app.reviews.drafted()
    st.dataframe(
        [_cells(line, drafted=line.id in drafted) for line in lines],
        hide_index=True, key=deciding.QUEUE, on_select="rerun", selection_mode="single-row-required",
        height=54 + 35 * min(len(lines), MAX_ROWS),
        column_config={
            "Question": st.column_config.TextColumn(width=170),
            "Confidence": st.column_config.NumberColumn("Sure", format="%.0f%%", width=55, help="Confidence"),
            "Why": st.column_config.TextColumn(width=260),
            "Documents": st.column_config.TextColumn(width=170),
            "Asked": st.column_config.DatetimeColumn(format="D MMM, HH:mm", width=100),
        },
    )  # fmt: skip


def _cells(line: TurnLine, *, drafted: bool) -> dict[str, object]:
    return {
        "Question": line.question,
        "Confidence": None if line.confidence is None else round(line.confidence * 100),
        "Why": ("Edited but not saved. " if drafted else "") + (line.reasons[0] if line.reasons else ""),
        "Documents": ", ".join(sorted(line.cited_names)) or "None cited",
        "Asked": parse_time(line.started_at).astimezone(),
    }


def _position(app: Pincite, lines: Sequence[TurnLine]) -> int:
    """Return the row of the chosen case, or of the one in its place if it was decided meanwhile."""
    rows = (st.session_state.get(deciding.QUEUE) or {}).get("selection", {}).get("rows", [])
    position, case = follow_choice(deciding.QUEUE, [line.id for line in lines])
    if position is None:
        position = min(rows[0] if rows else 0, len(lines) - 1)
        if case:
            _tell_decided_elsewhere(app, case)
    choose_rows(deciding.QUEUE, [position])
    return position


def _tell_decided_elsewhere(app: Pincite, turn_id: str) -> None:
    last = st.session_state.get(deciding.LAST)
    if last is not None and last[0] == turn_id:
        return
    try:
        turn = app.turns.without_trace(turn_id)
    except PinciteError:
        return
    if turn.status is TurnStatus.REVIEWED and turn.review:
        st.info(f"“{escape(shorten(turn.question, 60))}” was {turn.review.decision} by "
                f"{escape(turn.review.reviewer)} in the meantime.", icon=":material/info:")  # fmt: skip


def draw_filters(names: dict[str, str]) -> TurnFilter:
    with st.popover("Filter", icon=":material/filter_list:"):
        words = st.text_input("Search", type="search", live=True, placeholder="Question or reason", key="review_words")
        document = st.selectbox("Document", ["", *names], format_func=lambda id_: names.get(id_, "Any document"))
        days = AGES[st.selectbox("Asked", list(AGES))]
        most = st.slider("Confidence at most", 0, 100, 100, step=5, format="%d%%")
    since = (datetime.now(UTC) - timedelta(days=days)).isoformat() if days else ""
    return TurnFilter(TurnStatus.FLAGGED, words or "", document or "", since, most / 100)


def draw_case(app: Pincite, turn: Turn, position: int, last: int, names: dict[str, str], *, waiting: int) -> None:
    """``last``: position of the last case that is listed; ``waiting``: the number of all that match the filter."""
    draft = app.reviews.draft(turn.id)
    editing = draft is not None or st.session_state.get(deciding.EDITING) == turn.id
    with st.container(key=BAR, gap="xsmall"):
        st.markdown(f"**{escape_lines(shorten(turn.question, MAX_QUESTION_LENGTH))}**")
        with row():
            if not app.may_review:
                st.caption("Waiting for a reviewer", width="content")
            elif editing:
                draw_editing_bar(app, turn, draft)
            else:
                draw_deciding_bar(app, turn)
            st.space("stretch")
            st.caption(f"{position + 1} of {waiting:,}", width="content")
            icon_button("Previous answer", "arrow_upward", deciding.move_to, position - 1, key="previous", shortcut="K",
                        disabled=position == 0)  # fmt: skip
            icon_button("Next answer", "arrow_downward", deciding.move_to, position + 1, key="next", shortcut="J",
                        disabled=position == last)  # fmt: skip
    with st.container(key=CASE):
        left, right = st.columns([11, 9], gap="medium")
    # the page of another case is taken away at once, not when the page of this one is drawn over it
    evidence = right.container() if st.session_state.get(DRAWN) == turn.id else right.empty().container()
    st.session_state[DRAWN] = turn.id
    with left:
        draw_draft(turn, editing=editing)
        if editing:
            draw_editor(app, turn, draft)
        with row(vertical_alignment="bottom"):
            st.text_input("Note", key=f"note_{turn.id}", placeholder="Optional: reason for your decision")
            if app.user is None:
                st.text_input("Reviewer", deciding.reviewer_name(), key="reviewer", persist_state="session", width=140)
        with st.expander("How this draft was checked", icon=":material/fact_check:"):
            draw_evaluation(turn)
        controls.link_to_trace(turn, "Open the trace")
        if app.sessions.find(turn.session_id):  # else it is somebody else's
            draw_hint(app, turn)
    with evidence:
        draw_evidence(app, turn, names, editing=editing)


def draw_deciding_bar(app: Pincite, turn: Turn) -> None:
    """Each button is this case's own: a press that comes late can decide no other."""
    button("Approve", "check", deciding.decide, app, turn.id, ReviewDecision.APPROVED, key=f"approve_{turn.id}",
           type="primary", shortcut="A", disabled=not turn.answer.strip())  # fmt: skip
    button("Edit", "edit", deciding.edit, turn.id, key=f"open_{turn.id}", shortcut="E")
    button("Reject", "block", deciding.decide, app, turn.id, ReviewDecision.REJECTED, key=f"reject_{turn.id}",
           shortcut="X")  # fmt: skip


def draw_editing_bar(app: Pincite, turn: Turn, draft: ReviewDraft | None) -> None:
    """No shortcut decides here, and nothing here approves the original by mistake."""
    button("Save and approve", "save", deciding.save, app, turn.id, key=f"save_{turn.id}", type="primary")
    button("Discard", "delete_history", deciding.discard, app, turn.id, key=f"discard_{turn.id}")
    if draft and draft.text.strip() != turn.answer.strip():
        claims = app.verdicts.of_edit(turn.id, draft.text).claims
        doubtful = sum(claim.status in (ClaimStatus.UNSUPPORTED, ClaimStatus.CONTRADICTED) for claim in claims)
        remark = f": {count(doubtful, 'claim')} not supported" if doubtful else ""
        st.badge(f"Edited, not saved{remark}", icon=":material/edit_note:", color="orange",
                 help=f"Draft from {moment(draft.updated_at)}. It stays until you save or discard it.")  # fmt: skip


def draw_draft(turn: Turn, *, editing: bool) -> None:
    if len(turn.question) > MAX_QUESTION_LENGTH:  # the bar has only its beginning
        st.markdown(escape_lines(turn.question))
    each = "{}" if len(turn.reasons) == 1 else "- {}"
    reasons = "\n".join(each.format(escape(reason)) for reason in turn.reasons)
    st.warning(reasons if turn.verdict else f"Not checked.\n\n{reasons}", icon=":material/warning:")
    if turn.review and turn.review.stale:
        st.info(f"Decided earlier by {escape(turn.review.reviewer)}. No longer valid: {escape(turn.review.stale)}")
    if not editing:
        answer = answer_markdown(turn.parts, turn.verdict, asked_apart(turn))
        with st.container(border=True):
            st.markdown(answer or "There is no draft: the search found nothing good enough to base an answer on.")


def draw_editor(app: Pincite, turn: Turn, draft: ReviewDraft | None) -> None:
    """The text, checked again each time the reviewer pauses."""
    key = deciding.editor_key(turn.id)
    if st.session_state.get(key) is None:
        st.session_state[key] = draft.text if draft else turn.answer
    text = live_text_area(
        "Final answer (write [2] to cite passage 2)", height=160, key=key,
        on_change=lambda: safely(deciding.keep_draft, app, turn.id),
    )  # fmt: skip
    verdict = app.verdicts.of_edit(turn.id, text)
    with st.container(border=True):
        st.caption("Checked again as you type")
        st.markdown("\n".join(map(claim_line, verdict.claims)) or "No claims to check.")
    if turn.evidence:
        with st.expander("Passages that can be cited, by number", icon=":material/format_list_numbered:"):
            draw_rows(evidence_rows(turn.evidence), key=f"citable_{turn.id}")


def draw_hint(app: Pincite, turn: Turn) -> None:
    with st.expander("Ask again with a hint", icon=":material/replay:"), st.form(f"hint_{turn.id}", border=False):
        hint = st.text_input("Hint", placeholder="For example: look in section 6, not in the annex")
        if st.form_submit_button("Ask again") and hint:
            with errors_shown():
                app.runner.run_again(turn.id, hint=hint)
                st.switch_page("pages/chat.py", query_params={"session": turn.session_id})


def draw_evidence(app: Pincite, turn: Turn, names: dict[str, str], *, editing: bool) -> None:
    # While editing, any passage may be cited instead: show them all.
    places = (() if editing else turn.citations) or passages_found(turn)
    citations = [place for place in places if place.document_id in names]
    if not citations:
        what = "The documents it cites are no longer in the library." if places else "No pages are cited."
        st.info(f"{what} The trace shows what was searched.", icon=":material/search_off:")
        return
    draw_chips(citations[:12], names, deciding.SLOT, turn.id)
    shown = shown_page(deciding.SLOT)
    if shown is None or shown.document_id not in {citation.document_id for citation in citations}:
        shown = cited_page(citations[0], citations, turn.id)
    document = app.library.get(shown.document_id)
    with row(gap="xsmall"):
        draw_pager(app, document, shown, deciding.SLOT)
        if turn.citations and not editing:
            draw_neighbours(shown, deciding.SLOT)
    draw_picture(document, shown, deciding.SLOT)


def draw_decided(app: Pincite, count: int) -> None:
    """Decisions that hold, newest first, each with all that was decided on it before."""
    if not count:
        st.caption("No decisions yet. Reviewed answers are used again when someone asks the same question.")
        return
    lines = app.reviews.decided(most=shown_of("decided", DECISIONS_A_PAGE))
    drafted = app.reviews.drafted()
    for line in lines:
        outcome = f"{line.review.decision}, {moment(line.review.decided_at)}"
        with st.expander(f"{escape(shorten(line.question, 90))} · {outcome}", icon=DECIDED_ICONS[line.review.decision]):
            draw_decision(app, line, drafted=line.turn_id in drafted)
    if count > len(lines):
        offer_more(f"Show earlier ({count - len(lines):,} more)", "decided", DECISIONS_A_PAGE)


def draw_decision(app: Pincite, line: ReviewedLine, *, drafted: bool) -> None:
    for review in app.reviews.history(line.turn_id):
        note = f" “{escape(review.note)}”" if review.note else ""
        stale = f" — no longer valid: {escape(review.stale)}" if review.stale else ""
        undone = f" — undone {moment(review.undone_at)}" if review.undone_at else ""
        st.markdown(f"**{review.decision.capitalize()}** by {escape(review.reviewer)}, "
                    f"{moment(review.decided_at)}.{note}{stale}{undone}")  # fmt: skip
        st.markdown(answer_markdown(review.parts, None))
    if drafted:
        st.caption("This answer has an unsaved edit. Undo the decision to continue editing.")
    with row():
        if app.sessions.find(line.session_id):
            controls.link_to_session(line.session_id)
        if line.status is TurnStatus.REVIEWED and app.may_review:
            quiet("Undo decision", "undo", deciding.undo, app, line.turn_id, key=f"take_back_{line.turn_id}")


show(draw)
