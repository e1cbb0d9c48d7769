"""A turn's trace as pictures and tables: the path through the graph, the timeline, each step's inputs and outputs."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import streamlit as st

from pincite.core.domain.search import Candidate, Evidence
from pincite.core.domain.turns import TraceStep, Turn, TurnStatus
from pincite.core.graph.build import build_graph
from pincite.pages.components.words import STEPS, duration, escape, in_words, page_name, parse_time

STAGES = {
    "keyword": "By words", "keyword printed": "By printed words", "dense": "By meaning",
    "document match": "By document", "fused": "Combined", "reranked": "Final ranking", "neighbour of": "Next to",
}  # fmt: skip
START, END = "__start__", "__end__"
LONG_TEXT = 160
ROOM_FOR_TIMES = 1.15
"""Share of the chart's width for the durations after the bars."""
AXIS = 64
"""Pixels for a chart's axis and legend, which count into its height."""


@st.cache_data(show_spinner=False)
def topology() -> list[tuple[str, str]]:
    """Return the edges of the graph as it is wired."""
    return [(edge.source, edge.target) for edge in build_graph().get_graph().edges]


def draw_path(turn: Turn) -> None:
    finished = turn.status in (TurnStatus.ANSWERED, TurnStatus.FLAGGED, TurnStatus.REVIEWED)
    nodes = {node for edge in topology() for node in edge}
    steps = [START, *(node for node in turn.path if node in nodes), *([END] if finished else [])]
    taken = Counter(itertools.pairwise(steps))
    visits = Counter(steps)
    names = {START: "question", END: "answer"}
    lines = [
        'digraph { rankdir=LR bgcolor="transparent" nodesep=0.25 ranksep=0.35 margin=0',
        'node [shape=box style="rounded,filled" fontname="Source Sans" fontsize=12 height=0.34 penwidth=1]',
        'edge [fontname="Source Sans" fontsize=10 arrowsize=0.6]',
    ]
    for node in dict.fromkeys(node for edge in topology() for node in edge):
        label = names.get(node, node) + (f" ×{visits[node]}" if visits[node] > 1 else "")
        failed = turn.status is TurnStatus.FAILED and any(step.node == node and step.error for step in turn.trace)
        fill, ink, edge = ("#2b8a89", "white", "#2b8a89") if visits[node] else ("#88888822", "#8a9497", "#808a8daa")
        fill = "#c4484a" if failed else fill
        lines.append(f'"{node}" [label="{label}" fillcolor="{fill}" fontcolor="{ink}" color="{edge}"]')
    for source, target in topology():
        times = taken[source, target]
        look = 'color="#2b8a89" penwidth=2' if times else 'color="#808a8d99" style=dashed'
        back = " constraint=false" if target == "rewriter" and source != "router" else ""
        lines.append(
            f'"{source}" -> "{target}" [{look}{back} label="{f"×{times}" if times > 1 else ""}" fontcolor="#2b8a89"]'
        )
    st.graphviz_chart("\n".join([*lines, "}"]), width="stretch", alt="Path: " + " → ".join(turn.path))


def draw_timeline(steps: Sequence[TraceStep]) -> None:
    if not steps:
        st.caption("No steps were recorded for this answer.")
        return
    begin = parse_time(steps[0].started_at)
    starts = [(parse_time(step.started_at) - begin).total_seconds() for step in steps]
    ends = [start + max(step.seconds, 0.002) for step, start in zip(steps, starts, strict=True)]
    room = ROOM_FOR_TIMES * max(ends)
    rows = [
        {
            "Step": f"{number} {step.node}",
            "start": starts[number - 1],
            "end": ends[number - 1],
            "Attempt": f"attempt {step.attempt + 1}",
            "Took": duration(step.seconds),
        }
        for number, step in enumerate(steps, start=1)
    ]
    bars = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("Step:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False, labelLimit=140)),
        tooltip=["Step:N", "Attempt:N", "Took:N"],
    )
    spans = bars.mark_bar(cornerRadius=2, height=11, minBandSize=3).encode(
        x=alt.X("start:Q", title="seconds", scale=alt.Scale(domain=[0, room])),
        x2="end:Q",
        color=alt.Color("Attempt:N", scale=alt.Scale(range=["#2b8a89", "#c98a1b", "#7a6fb0", "#4a7fc1"]),
                        legend=alt.Legend(orient="top", title=None) if rows[-1]["Attempt"] != "attempt 1" else None),
    )  # fmt: skip
    labels = bars.mark_text(align="left", dx=5, fontSize=11, color="#808a8d").encode(x="end:Q", text="Took:N")
    st.altair_chart((spans + labels).properties(height=24 * len(rows) + AXIS), width="stretch")


def draw_steps(steps: Sequence[TraceStep]) -> None:
    for number, step in enumerate(steps, start=1):
        attempt = f" · attempt {step.attempt + 1}" if step.attempt else ""
        label = f"**{number} {step.node}**{attempt} · {duration(step.seconds)}"
        gist = " · ".join(
            f"{name}: {value}" for name, value in step.decided.items() if isinstance(value, str) and value
        )
        label = f"{label} · {escape(gist[:140])}" if gist else label
        with st.expander(label, icon=":material/error:" if step.error else None):
            if step.node in STEPS:
                st.caption(STEPS[step.node])
            if step.error:
                st.error(escape(step.error), icon=":material/error:")
            for title, values in (("Read", step.read), ("Decided", step.decided), ("Returned", step.returned)):
                if values:
                    st.markdown(f"**{title}**")
                    draw_values(values, key=f"step_{number}_{title}")


def draw_values(values: Mapping[str, Any], *, key: str) -> None:
    """Draw JSON values for people: words as words, rows as tables, the rest folded."""
    for name, value in values.items():
        if value in (None, "", [], {}, ()):
            continue
        rows = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
        if isinstance(value, str) and len(value) > LONG_TEXT:
            st.markdown(f"{escape(name)}:")
            st.code(value, language=None, wrap_lines=True)
        elif isinstance(value, str | bool | int | float):
            st.markdown(f"{escape(name)}: {f'{value:.3f}' if isinstance(value, float) else escape(str(value))}")
        elif rows and all(isinstance(item, str | int | float) for item in rows):
            st.markdown("\n".join([f"{escape(name)}:", *(f"- {escape(str(item))}" for item in rows)]))
        elif rows and all(isinstance(item, Mapping) for item in rows):
            st.markdown(f"{escape(name)}:")
            draw_rows(rows, key=f"{key}_{name}")
        elif isinstance(value, Mapping) and all(isinstance(ranking, Sequence) for ranking in value.values()):
            tabs = st.tabs([f"{stage_name(stage)} ({len(ranking)})" for stage, ranking in value.items()])
            for tab, (stage, ranking) in zip(tabs, value.items(), strict=True):
                with tab:
                    draw_rows(ranking, key=f"{key}_{name}_{stage}")
        else:
            st.markdown(f"{escape(name)}:")
            st.json(value, expanded=1)


def draw_rows(rows: Sequence[Any], *, key: str) -> None:
    """A table; the scores of a passage become columns of their own."""
    flat = [_flat(row) if isinstance(row, Mapping) else {"value": str(row)} for row in rows]
    if not flat:
        st.caption("Nothing to show.")
        return
    widths = {"Rank": 50, "Score": 70, "No.": 50, "Passage": 330, "text": 400}
    columns = {name: st.column_config.Column(width=width) for name, width in widths.items() if name in flat[0]}
    st.dataframe(flat, hide_index=True, key=key, height="content" if len(flat) <= 8 else 320, column_config=columns)


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping) and all(isinstance(score, int | float) for score in value.values()):
            plain |= {stage_name(str(stage)): score for stage, score in value.items()}
        else:
            plain[name] = value if isinstance(value, str | int | float | bool) or value is None else str(value)
    return plain


def stage_name(stage: str) -> str:
    """Return a stage of the search in plain words."""
    return STAGES.get(stage, stage)


def evidence_rows(evidence: Sequence[Evidence]) -> list[dict[str, Any]]:
    return [
        {
            "No.": item.number,
            "Document": item.document_name,
            "Page": page_name(item.passage.page_label, item.passage.page_index),
            "Passage": item.passage.text,
            **{stage_name(stage): round(score, 4) for stage, score in item.scores.items()},
            "Why included": in_words(item.reason),
        }
        for item in evidence
    ]


def candidate_rows(candidates: Sequence[Candidate], stage: str, names: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "Rank": rank,
            "Score": candidate.scores.get(stage),
            "Passage": candidate.passage.text,
            "Where": f"{names.get(candidate.passage.document_id, '?')}, "
            f"{page_name(candidate.passage.page_label, candidate.passage.page_index)}",
        }
        for rank, candidate in enumerate(candidates, start=1)
    ]
