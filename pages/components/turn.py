"""One question and its answer, live or finished: the same drawing serves both, so that nothing jumps at the end."""

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import streamlit as st

from pincite.core.domain.answers import Form, is_prose
from pincite.core.domain.presentation import Standing, present
from pincite.core.domain.search import Intent, Mode
from pincite.core.domain.turns import (
    FINISHED,
    NO_DOCUMENT,
    FeedbackKind,
    ReviewDecision,
    Turn,
    TurnSnapshot,
    TurnStatus,
)
from pincite.core.services.bootstrap import Pincite
from pincite.core.services.exports import ExportForm
from pincite.core.services.grids import asked_of
from pincite.core.services.turns import MAX_QUESTION_LENGTH
from pincite.pages.components.answer import (
    answer_markdown,
    asked_apart,
    draw_charts,
    draw_contradictions,
    draw_evaluation,
)
from pincite.pages.components.cells import open_grid
from pincite.pages.components.controls import (
    button,
    confirm_deletion,
    danger,
    download,
    icon_button,
    link_to_trace,
    quiet,
    row,
)
from pincite.pages.components.facade import errors_shown, safely
from pincite.pages.components.filters import set_filter
from pincite.pages.components.illustrations import draw_related
from pincite.pages.components.page_view import draw_chips, passages_found
from pincite.pages.components.printing import draw_printed_citations
from pincite.pages.components.sessions import choose_session, leave_if_removed
from pincite.pages.components.why import draw_why
from pincite.pages.components.words import (
    STATUS_WORDS,
    STEPS,
    claims_in_words,
    confidence,
    count,
    duration,
    escape,
    escape_lines,
    moment,
    parse_time,
)

PROVIDERS = {"ollama": "Ollama", "openai": "OpenAI-compatible server"}
WORTH_TELLING_SECONDS = 10
"""Whoever waits that long wants to know that something still happens."""


def draw_question(app: Pincite, turn: Turn, document_names: dict[str, str], *, scope: bool = True) -> None:
    """``scope``: show which documents were chosen for it."""
    with st.chat_message("user", avatar=":material/person:"):
        with row(vertical_alignment="top"):
            st.markdown(escape_lines(turn.question), width="stretch")
            editable = turn.status is not TurnStatus.UNREADABLE and not app.runner.running(turn.session_id)
            if editable and quiet("Edit the question", "edit", key=f"icon_edit_{turn.id}", help="Edit the question"):
                _edit(app, turn)
        _draw_versions(app, turn)
        if turn.plan and turn.plan.standalone_question != turn.plan.question:
            st.caption(f"Understood as “{escape(turn.plan.standalone_question)}”")
        named = [shown for id_ in turn.document_ids if (shown := document_names.get(id_))]
        gone = len(turn.document_ids) - len(named)
        if turn.status is TurnStatus.UNREADABLE:
            return  # what it was asked of cannot be read either
        if turn.mode is Mode.CHAT:
            st.caption("Chat only, no documents searched")
        elif named and scope and (gone or len(named) < len(document_names)):
            more = f" and {count(len(named) - 2, 'more document')}" if len(named) > 2 else ""
            since = f"; {gone:,} more since removed" if gone else ""
            others = "\n".join(f"- {escape(name)}" for name in named) if more else None
            st.caption(f"Chosen documents: {escape(', '.join(named[:2]))}{more}{since}", help=others)
        elif gone and not named:
            st.caption(f"Searched {count(gone, 'document')}, since removed")
        if _narrowed(turn) and turn.plan:
            only = ", ".join(document_names.get(id_, "a removed document") for id_ in turn.plan.document_ids[:2])
            more = f" and {len(turn.plan.document_ids) - 2} more" if len(turn.plan.document_ids) > 2 else ""
            everywhere = partial(app.runner.run_again, turn.id, everywhere=True)
            quiet(f"Only {escape(only)}{more}, named in the question", "close", everywhere, key=f"only_{turn.id}",
                  help="Search all documents instead")  # fmt: skip


def version_shown(app: Pincite, newest: Turn) -> Turn:
    """Return the version of a question that was chosen, or its newest."""
    chosen, among = st.session_state.get(_version_key(newest), ("", ()))
    if newest.status is TurnStatus.RUNNING:
        return newest
    return app.turns.without_trace(chosen) if among and among == app.turns.versions(newest) else newest


def _draw_versions(app: Pincite, turn: Turn) -> None:
    """Draw the way to the other versions of a question."""
    versions = app.turns.versions(turn)
    if len(versions) < 2 or turn.id not in versions or turn.status is TurnStatus.RUNNING:
        return
    place = versions.index(turn.id)
    with row(gap="xsmall"):
        for name, icon, other in (("Older version", "chevron_left", place - 1), ("Newer", "chevron_right", place + 1)):
            if icon == "chevron_right":
                st.caption(f"{place + 1} of {len(versions)}", width="content")
            if 0 <= other < len(versions):
                icon_button(name, icon, _choose_version, turn, versions, other, key=f"{icon}_{turn.id}")


def _choose_version(turn: Turn, versions: tuple[str, ...], place: int) -> None:
    st.session_state[_version_key(turn)] = (versions[place], versions)


def _version_key(turn: Turn) -> str:
    return f"version_{turn.session_id}_{turn.place}"


@st.dialog("Edit the question")
def _edit(app: Pincite, turn: Turn) -> None:
    st.caption("It is asked again in its place. The answer that stands here is kept as a version.")
    key = f"edited_{turn.id}"
    with st.form(f"edit_{turn.id}", border=False):
        st.text_area("Question", turn.question, max_chars=MAX_QUESTION_LENGTH, label_visibility="collapsed", key=key)
        writer, others = writers(app)
        if len(others) > 1:
            st.selectbox("Answer written by", others, others.index(writer), format_func=writer_in_words,
                         key=f"{key}_by")  # fmt: skip
        asked = st.form_submit_button("Ask again", type="primary", on_click=safely, args=(_ask_edited, app, turn, key))
    if asked:
        st.rerun()


def _ask_edited(app: Pincite, turn: Turn, key: str) -> None:
    engine = st.session_state.get(f"{key}_by")
    app.runner.run_again(turn.id, question=st.session_state[key] or "", engine=engine)


def writers(app: Pincite) -> tuple[str, list[str]]:
    """Return what writes answers now, and all that can, as the settings name them."""
    engine = app.engines.state()
    writer = f"{engine.provider}:{engine.model}" if engine.model else "quoting"
    models = (f"{engine.provider}:{model}" for model in engine.models)
    return writer, list(dict.fromkeys([*models, writer, "quoting"]))


def writer_in_words(writer: str) -> str:
    provider, _, model = writer.partition(":")
    return f"{escape(model)} ({PROVIDERS.get(provider, provider)})" if model else "No model: quotations only"


def _narrowed(turn: Turn) -> bool:
    """Return whether documents that the question names were searched alone."""
    named = set(turn.plan.document_ids) if turn.plan else set()
    return bool(named) and named < set(turn.document_ids)


def draw_live(snapshot: TurnSnapshot, attempts: int) -> None:
    """Draw a running turn: what is being done, and the draft so far."""
    *done, current = snapshot.steps or ("Starting…",)
    if snapshot.elsewhere:
        done = [STEPS[step.node] for step in snapshot.turn.trace if step.node in STEPS]
        current = "Another Pincite process is answering…"
    seconds = (datetime.now(UTC) - parse_time(snapshot.turn.started_at)).total_seconds() // 1
    waited = f" · {duration(seconds)}" if seconds >= WORTH_TELLING_SECONDS else ""
    with st.status(f"{escape(current)}{waited}", state="running", type="compact"):
        st.markdown("  \n".join(f"✓ {escape(step)}" for step in done) or "Nothing is finished yet.")
    if snapshot.draft:
        st.markdown(answer_markdown(snapshot.draft, None))
        quoted = snapshot.writes_from_evidence and not is_prose(snapshot.draft)
        caption = (
            f"From your documents, while {escape(snapshot.turn.engine)} writes" if quoted else "Draft, not checked yet"
        )
        st.badge(caption, icon=":material/edit_note:", color="gray")
    elif snapshot.earlier:
        with st.container(key="earlier_draft"):
            st.markdown(answer_markdown(snapshot.earlier, None))
        again = min(snapshot.turn.path.count("judge") + 1, attempts)
        st.badge(f"Checking again ({again} of {attempts})", icon=":material/refresh:", color="gray")


def draw_answer(
    app: Pincite, turn: Turn, document_names: dict[str, str], slot: str, known: Collection[str] = ()
) -> None:
    """Draw a finished turn: its confidence, the answer, its sources, and its notices.

    Notices about a document are left out if they are ``known`` from earlier answers.
    """
    turn = app.verdicts.as_current(turn)
    review, own = turn.review, app.verdicts.of_review(turn)
    _draw_headline(app, replace(turn, verdict=own or turn.verdict))
    final, verdict = (review, own) if review else (turn, turn.verdict)
    st.markdown(answer_markdown(final.parts, verdict, asked_apart(turn)))
    draw_charts(final.parts)
    draw_chips(final.citations, document_names, slot, turn.id)
    draw_printed_citations(final.citations, document_names)
    draw_related(app, turn, document_names)
    if turn.thoughts:
        with st.expander("The model's reasoning", type="compact", icon=":material/psychology:"):
            st.caption("Not part of the answer, and not checked.")
            st.markdown(escape_lines(turn.thoughts))
    if review and review.parts != turn.parts:
        with st.expander("Draft before review", type="compact"):
            st.markdown(answer_markdown(turn.parts, turn.verdict, asked_apart(turn)))
    if present(turn).form is Form.EVIDENCE and turn.intent is not Intent.LAST_ANSWER:
        st.caption(_further(turn))
    elif not review and turn.evidence and not turn.citations:
        if turn.verdict and turn.verdict.declined:
            st.caption(_searched(turn))
        st.caption("Closest passages found:")
        draw_chips(passages_found(turn)[:3], document_names, slot, turn.id)
    if verdict and not (review and review.decision is ReviewDecision.REJECTED):
        draw_contradictions(verdict)
    _draw_state(turn)
    declined = turn.verdict is not None and turn.verdict.declined  # what was not read may hold the answer
    names = [f"“{name}”" for name in document_names.values()]
    if news := [one for one in turn.notices if declined or one not in known or not any(name in one for name in names)]:
        st.caption("  \n".join(f":material/info: {escape(notice)}" for notice in news))


def _further(turn: Turn) -> str:
    """What can be done where passages are listed and nothing is answered."""
    model = "" if turn.engine != "quoting" else " A connected language model can answer from them in its own words."
    return f"No answer was sure enough to state. Open a page to read on, or ask more narrowly.{model}"


def _searched(turn: Turn) -> str:
    """Where an answer was looked for, and how the question was read."""
    asked = f" for “{escape(turn.asked)}”" if turn.asked and turn.asked != turn.question else ""
    named = turn.plan.document_ids if turn.plan else ()
    where = f"{count(len(named or turn.document_ids), 'document')}{' named in the question' if named else ''}"
    return f"Searched {where}{asked}."


def _draw_headline(app: Pincite, turn: Turn) -> None:
    shown = present(turn)
    if (verdict := turn.verdict) is None or (shown.form is Form.EVIDENCE and not turn.review):
        return
    sure = confidence(verdict, app.settings.current.review_threshold)
    claims = claims_in_words(turn.parts, verdict)
    reviewed = f"{turn.review.decision} by {escape(turn.review.reviewer)}" if turn.review else ""
    label = {
        Standing.OUTDATED: ":material/history: Review out of date",
        Standing.REVIEWED: f":material/verified_user: Reviewed · {reviewed}",
        Standing.WAITS: ":material/warning: Waiting for review",
        Standing.UNFINISHED: f":material/warning: {STATUS_WORDS.get(turn.status, '')}",
        Standing.SOURCE_REMOVED: f":material/link_off: {claims}",
        Standing.REPEATED: f":material/verified_user: Repeats a reviewed answer · {sure.lower()}",
        Standing.CHECK: f":material/rule: {escape(shown.warning)}",
        Standing.NOT_FOUND: f":material/do_not_disturb_on: No answer found · {verdict.confidence:.0%} sure",
        Standing.ANSWERED: f":material/check_circle: {claims or 'No claims to check'} · {sure.lower()}",
    }[shown.standing]
    with st.expander(label, type="compact"):
        draw_evaluation(turn)


def _draw_state(turn: Turn) -> None:
    review = turn.review
    if review:
        note = f" “{escape(review.note)}”" if review.note else ""
        who = f"{escape(review.reviewer)}, {moment(review.decided_at)}."
        if review.stale:
            st.warning(f"Reviewed by {who} No longer valid: {escape(review.stale)}", icon=":material/history:")
        elif review.decision is ReviewDecision.REJECTED:
            st.error(f"**This answer was rejected** by {who}{note}", icon=":material/block:")
        else:
            words = f"**Reviewed** and {review.decision} by {who}{note}"
            st.success(words, icon=":material/verified_user:")
    elif turn.status is TurnStatus.FLAGGED:
        reasons = "\n".join(f"- {escape(reason)}" for reason in turn.reasons)
        back = f"\n\n**{escape(turn.question_back)}**" if turn.question_back else ""
        if present(turn).form is not Form.ANSWER or (turn.verdict and turn.verdict.accepted):
            st.info(f"**Sent to review.** {' '.join(map(escape, turn.reasons))}", icon=":material/rate_review:")
        else:
            waits = "Do not rely on this answer yet." if is_prose(turn.parts) else "Look at the page first."
            st.warning(f"**{waits}** It is waiting for review:\n{reasons}{back}", icon=":material/warning:")
    elif turn.status is TurnStatus.UNREADABLE:
        st.error(f"**{escape(turn.error)}** Ask the question again to get an answer.", icon=":material/error:")
    elif turn.status is TurnStatus.FAILED:
        st.error(f"**This answer failed.** {escape(turn.error)}", icon=":material/error:")
    elif turn.status in (TurnStatus.INTERRUPTED, TurnStatus.STOPPED):
        unchecked = " Nothing above was checked." if turn.answer else ""
        words = f"**{STATUS_WORDS[turn.status]}** before it was finished.{unchecked}"
        st.info(words, icon=":material/pause_circle:")


def draw_actions(app: Pincite, turn: Turn) -> None:
    """What can be done with a finished turn."""
    with st.container(key=f"actions_{turn.id}", gap="xsmall"):
        _draw_ways_on(app, turn)
        _draw_quiet_actions(app, turn)
    if turn.feedback is FeedbackKind.BAD and turn.status is TurnStatus.ANSWERED:
        _ask_what_is_wrong(app, turn)


def _draw_ways_on(app: Pincite, turn: Turn) -> None:
    """What an answer leaves to decide: which place is meant, where else to look, whether to try again."""
    again = partial(app.runner.run_again, turn.id)
    with row(gap="xsmall"):
        if turn.status in (TurnStatus.FAILED, TurnStatus.INTERRUPTED, TurnStatus.STOPPED):
            if app.runner.can_continue(turn):
                button("Continue", "play_arrow", app.runner.continue_turn, turn.id, key=f"continue_{turn.id}",
                       help="Continue from the step where it was interrupted")  # fmt: skip
            button("Run again", "refresh", again, key=f"again_{turn.id}")
            if turn.engine != "quoting":
                quoting = partial(again, engine="quoting")
                button("Run again with quoting", "format_quote", quoting, key=f"quoting_{turn.id}")
        every = {document.id for document in app.runner.searchable(turn)}
        searched = set(turn.plan.document_ids if turn.plan and turn.plan.document_ids else turn.document_ids)
        if turn.verdict and turn.verdict.declined and not turn.review and not every <= searched:
            button("Search all documents", "travel_explore", partial(again, everywhere=True), key=f"wide_{turn.id}")
        each = asked_of(turn)
        if each and button(f"Ask {count(len(each), 'document')} in a grid", "grid_on", key=f"grid_{turn.id}",
                           help="A value for each document, to check, correct and export"):  # fmt: skip
            with errors_shown():
                open_grid(app.grids.create_from(turn))
        if turn.plan and turn.plan.selects:
            _draw_way_to_grid(app, turn)
        if NO_DOCUMENT in turn.notices:
            button("Search the documents", "search", partial(again, mode=Mode.DOCUMENTS), key=f"documents_{turn.id}")
        if turn.intent is Intent.ABOUT:
            st.page_link("pages/documents.py", label="Documents", icon=":material/description:")
            st.page_link("pages/settings.py", label="Settings", icon=":material/settings:")


def _draw_way_to_grid(app: Pincite, turn: Turn) -> None:
    """Offer to select documents in a grid by their values, with the limit of the question."""
    found = app.grids.to_filter(turn)
    label = f"Filter the grid {escape(found[0].name)}" if found else "Select documents in a grid"
    if button(label, "filter_alt", key=f"filter_{turn.id}",
              help="A grid has the value of each document in a column, by which documents are selected"):  # fmt: skip
        if found:
            grid, column, limit = found
            set_filter(grid, column, limit)
            open_grid(grid)
        st.switch_page("pages/grid.py")


def _draw_quiet_actions(app: Pincite, turn: Turn) -> None:
    with row():
        if turn.status in (TurnStatus.ANSWERED, TurnStatus.FLAGGED, TurnStatus.REVIEWED):
            given = {FeedbackKind.GOOD: 1, FeedbackKind.BAD: 0}.get(turn.feedback) if turn.feedback else None
            st.feedback("thumbs", key=f"feedback_{turn.id}", default=given,
                        on_change=safely, args=(_keep_feedback, app, turn.id))  # fmt: skip
            icon_button("Copy the answer with its citations", "content_copy", st.toast, "Copied", key=f"copy_{turn.id}")
            if turn.final_citations:
                quiet("Pin to notes", "keep", app.notes.pin, turn.session_id, turn.final_citations,
                      key=f"pin_all_{turn.id}", help="Add this answer's quotations to the notes")  # fmt: skip
            if quiet("Why this answer?", "account_tree", key=f"why_{turn.id}"):
                draw_why(app, turn)
        key = f"also_{turn.id}_{turn.status.name}"
        with st.popover("More", icon=":material/more_horiz:", type="tertiary", key=key):
            _draw_more(app, turn)
        st.caption(_timing(turn), width="content")


def _ask_what_is_wrong(app: Pincite, turn: Turn) -> None:
    """Draw the comment field after a thumb down; the comment goes into the review queue with the answer."""
    with st.form(f"wrong_{turn.id}", border=False), row(vertical_alignment="bottom"):
        remark = st.text_input("What is wrong with it?", max_chars=500, placeholder="For example: wrong year")
        sent = st.form_submit_button("Report", help="Put this answer into the review queue")
    if sent:
        wrong = "Reported as wrong"
        with errors_shown():
            app.reviews.send(turn.id, f"{wrong}: {remark.strip()}" if remark and remark.strip() else f"{wrong}.")
            st.rerun()


def _draw_more(app: Pincite, turn: Turn) -> None:
    """What is seldom done with an answer."""
    if turn.final_citations:
        of = ("answer", turn.id)
        download(app, "Save evidence (PDF)", lambda: app.exports.of_turn(turn.id), f"{turn.question[:60]}.pdf", of=of,
                 key=f"binder_{turn.id}", help="This answer with the pages it cites, as a sealed PDF")  # fmt: skip
        download(app, "Save as Word", lambda: app.exports.of_turn(turn.id, ExportForm.WORD),
                 f"{turn.question[:60]}.docx", of=of, key=f"word_{turn.id}")  # fmt: skip
    if turn.status is TurnStatus.ANSWERED:
        quiet("Send to review", "rate_review", app.reviews.send, turn.id, key=f"review_{turn.id}")
    if turn.plan and turn.plan.standalone_question != turn.plan.question:
        alone = partial(app.runner.run_again, turn.id, alone=True)
        quiet("Ask on its own", "chat_bubble", alone, key=f"alone_{turn.id}")
    elif turn.plan and turn.plan.readings:
        quiet("Ask as a follow-up", "forum", _ask, app, turn, turn.plan.readings[0].text, True, key=f"joined_{turn.id}")
    if turn.status in FINISHED:
        quiet("Continue in a new session", "fork_right", _branch, app, turn, key=f"branch_{turn.id}",
              help="The conversation up to this answer is copied")  # fmt: skip
    if turn.plan:
        link_to_trace(turn, "Full trace")
    if danger("Delete answer…", turn.id):
        words = "The question and its answer, trace and review will be deleted. Answers that build on it stay."
        single = len(app.turns.versions(turn)) == 1
        words += "" if single else " Its other versions stay too."
        notes = app.notes.of_session(turn.session_id)
        if single and app.turns.count(turn.session_id) == 1 and not (notes.pins or notes.text):
            words += " Nothing else is in this session, so it goes too."
        confirm_deletion("Delete this answer?", words, _delete, app, turn)


def _branch(app: Pincite, turn: Turn) -> None:
    choose_session(app.runner.branch(turn.id))


def _delete(app: Pincite, turn: Turn) -> None:
    session = app.sessions.get(turn.session_id)
    app.deletion.turn(turn.id)
    leave_if_removed(app, session)


def _ask(app: Pincite, turn: Turn, question: str, fresh: bool = False) -> None:
    app.runner.ask(turn.session_id, question, mode=turn.mode, document_ids=turn.scope or (), fresh=fresh)


def _keep_feedback(app: Pincite, turn_id: str) -> None:
    given = st.session_state[f"feedback_{turn_id}"]
    app.reviews.feedback(turn_id, None if given is None else FeedbackKind.GOOD if given else FeedbackKind.BAD)


def _timing(turn: Turn) -> str:
    """What wrote the words that are shown, and how long it took."""
    quoted = turn.final_parts and not is_prose(turn.final_parts)
    writer = "quoting" if quoted else escape(turn.engine)
    if not turn.finished_at:
        return writer
    return f"{writer} · {duration((parse_time(turn.finished_at) - parse_time(turn.started_at)).total_seconds())}"
