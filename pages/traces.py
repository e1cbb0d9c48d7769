"""Why an answer came out as it did: its path, its steps, its attempts; and a place to try the search alone."""

import json
from collections.abc import Sequence
from dataclasses import asdict

import streamlit as st

from pincite.core.domain.answers import Attempt
from pincite.core.domain.search import SearchPlan
from pincite.core.domain.turns import Turn, TurnFilter
from pincite.core.services.bootstrap import Pincite
from pincite.pages.components.answer import (
    answer_markdown,
    asked_apart,
    claim_line,
    confidence_history,
    draw_evaluation,
)
from pincite.pages.components.controls import download, link_to_session, offer_more, row, shown_of
from pincite.pages.components.facade import errors_shown, show
from pincite.pages.components.trace_view import (
    candidate_rows,
    draw_path,
    draw_rows,
    draw_steps,
    draw_timeline,
    evidence_rows,
    stage_name,
)
from pincite.pages.components.words import STATUS_WORDS, count, escape, moment, shorten

TURNS_A_PAGE = 50


def draw(app: Pincite) -> None:
    st.header("Traces", anchor=False)
    one_turn, playground = st.tabs(["One answer", "Try a search"])
    with one_turn, errors_shown():
        draw_turn(app)
    with playground:
        draw_playground(app)


def draw_turn(app: Pincite) -> None:
    if not (chosen := choose_turn(app)):
        return
    st.query_params["turn"] = chosen
    turn = app.turns.get(chosen)
    if turn.id == app.runner.running(turn.session_id):
        turn = app.runner.snapshot(turn.id).turn
    turn = app.verdicts.as_current(turn)
    with row():
        st.markdown(f"{STATUS_WORDS[turn.status]} · {escape(turn.engine)} · {moment(turn.started_at)}", width="content")
        link_to_session(turn.session_id)
        download(app, "Download as JSON", lambda: json.dumps(asdict(turn), indent=2, ensure_ascii=False),
                 f"trace-{turn.id[:8]}.json", of=("answer", turn.id))  # fmt: skip
    if turn.error:
        st.error(escape(turn.error), icon=":material/error:")
    draw_path(turn)
    steps, search, answer, attempts = st.tabs(["Steps", "Search and evidence", "Answer and claims", "Attempts"])
    with steps:
        draw_timeline(turn.trace)
        draw_steps(turn.trace)
    with search:
        draw_search(turn)
    with answer:
        st.markdown(answer_markdown(turn.parts, turn.verdict, asked_apart(turn)) or "No answer.")
        draw_evaluation(turn)
    with attempts:
        draw_attempts(turn.attempts)


def choose_turn(app: Pincite) -> str:
    """Return the id of the turn to look at, from a list of columns; what the address names need not be on its page."""
    if not app.turns.lines(most=1):
        st.info("No questions have been asked yet. Each answer leaves a trace here.", icon=":material/account_tree:")
        return ""
    most = shown_of("traces", TURNS_A_PAGE)
    with row():
        words = st.text_input("Find", type="search", live=True, placeholder="Words in a question", width=220,
                              label_visibility="collapsed", key="trace_words")  # fmt: skip
        lines = {line.id: line for line in app.turns.lines(TurnFilter(words=words or ""), most=most + 1)}
        further = len(lines) > most
        titles = {id_: f"{shorten(line.question, 90)}  ·  {STATUS_WORDS[line.status]}, {moment(line.started_at)}"
                  for id_, line in list(lines.items())[:most]}  # fmt: skip
        wanted = st.query_params.get("turn", "")
        if wanted and wanted not in titles and not words:
            titles[wanted] = "An earlier question"
        if not titles:
            st.caption("No questions match your search.")
            return ""
        ids = list(titles)
        chosen = st.selectbox(
            "Question", ids, index=ids.index(wanted) if wanted in ids else 0,
            format_func=lambda id_: titles.get(id_, ""), key=f"turn_{wanted}_{words}", label_visibility="collapsed",
            icon=":material/account_tree:",
        )  # fmt: skip
        if further:
            offer_more("Show earlier", "traces", TURNS_A_PAGE, icon="history")
    return chosen or ""


def draw_search(turn: Turn) -> None:
    plan = next((attempt.plan for attempt in reversed(turn.attempts) if attempt.plan), None)
    if plan:
        draw_plan(plan)
    if turn.evidence:
        st.markdown("**Passages used for the answer, with the score from each stage**")
        draw_rows(evidence_rows(turn.evidence), key="evidence")
    elif not plan:
        st.caption("No passages are kept with this answer.")


def draw_plan(plan: SearchPlan) -> None:
    lines = [f"**Searched as** {escape(plan.standalone_question)}"]
    names = {piece.query: f" in {escape(piece.name)}" for piece in plan.pieces if piece.name}
    for query in plan.queries:
        others = "; ".join(text for text in query.variations if text.casefold() != query.text.casefold())
        variations = f" (also: {escape(others)})" if others else ""
        lines.append(f"- {escape(query.text)}{names.get(query, '')}{variations}")
    found = {
        "names": plan.entities, "constraints": plan.constraints, "times": plan.time_ranges,
        "sections": plan.wanted_sections, "pages": plan.wanted_pages, "notes": plan.notes,
    }  # fmt: skip
    lines += [f"- *{name}*: {escape(', '.join(values))}" for name, values in found.items() if values]
    st.markdown("\n".join(lines))


def draw_attempts(attempts: Sequence[Attempt]) -> None:
    if not attempts:
        st.caption("No draft was checked for this answer.")
        return
    if history := confidence_history(tuple(attempts)):
        st.caption(history)
    for column, attempt in zip(st.columns(len(attempts), gap="medium"), attempts, strict=True):
        with column, st.container(border=True):
            verdict = attempt.verdict
            accepted = "accepted" if verdict and verdict.accepted else "not accepted"
            sure = f" · {verdict.confidence:.0%} · {accepted}" if verdict else ""
            st.markdown(f"**Attempt {attempt.number + 1}**{sure}")
            if attempt.plan:
                draw_plan(attempt.plan)
            st.caption(count(len(attempt.evidence), "passage"))
            st.markdown(answer_markdown(attempt.parts, verdict))
            if verdict:
                problems = [f"- {escape(reason)}" for reason in (*verdict.reasons, *verdict.gaps)]
                st.markdown("\n".join([*(claim_line(claim) for claim in verdict.claims), *problems]))


def draw_playground(app: Pincite) -> None:
    """Each stage's ranking side by side, without an answer."""
    names = {document.id: document.name for document in app.library.list()}
    with row(vertical_alignment="bottom"):
        query = st.text_input("Search for", placeholder="For example: late payment interest", icon=":material/search:")
        chosen = st.multiselect("In", list(names), format_func=lambda id_: names[id_], placeholder="All documents")
    if not query:
        st.caption("Type a query to see what each stage of the search finds, and in what order.")
        return
    with errors_shown(), st.spinner("Searching…"):
        plan, result = app.search.try_out(query, tuple(chosen))
        draw_plan(plan)
        floor = f"passages below a score of {result.score_floor:.2f} are left out"
        for note in (f"Ranked by {result.reranker}; {floor}", *result.notes):
            st.caption(escape(note))
        if not result.rankings:
            st.info("Nothing was found.", icon=":material/search_off:")
            return
        grid = st.grid(2, min_column_width=440)
        for stage, candidates in result.rankings.items():
            with grid.cell():
                st.markdown(f"**{stage_name(stage)}** · {len(candidates)}")
                draw_rows(candidate_rows(candidates, stage, names), key=f"ranking_{stage}")
        if result.left_out:
            with st.expander("Passages left out"):
                st.markdown("\n".join(f"- {escape(item)}" for item in result.left_out))


show(draw)
