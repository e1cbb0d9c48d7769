"""How far the confidence can be trusted, as a picture: what was said of answers against what was right."""

from collections.abc import Mapping, Sequence

import altair as alt
import streamlit as st

from core.domain.answers import AnswerKind
from core.domain.keys import in_words
from core.services.reviews import Labelled, ReliabilityBin, area_under, risk_coverage

FEWEST_DRAWN = 20
"""Of fewer answers a share says nothing."""
MOST_DRAWN = 150
"""Points of a curve."""
COLOURS = ("#2b8a89", "#c8553d", "#8a6d2b", "#6a5acd", "#4f7cac", "#b0589c")
DASHES = ([1, 0], [8, 3], [2, 2], [8, 3, 2, 3], [5, 2], [12, 4])
SHIPPED, CORRECTED = "Built-in", "Corrected"


def draw_agreement(series: Mapping[str, Sequence[ReliabilityBin]]) -> None:
    """On the dashed line both agree; series differ in shape as well as in colour."""
    rows = [
        {"Confidence": name, "Said": part.confidence, "Right": part.faithful, "Answers": part.count}
        for name, parts in series.items()
        for part in parts
    ]
    share, scale = alt.Axis(format="%", grid=True), alt.Scale(domain=[0, 1])
    legend = alt.Legend(orient="top", title=None) if len(series) > 1 else None
    names = [SHIPPED, CORRECTED]
    dots = alt.Chart(alt.Data(values=rows)).mark_point(size=80, filled=True, opacity=0.9).encode(
        x=alt.X("Said:Q", title="Confidence", axis=share, scale=scale),
        y=alt.Y("Right:Q", title="Share that were right", axis=share, scale=scale),
        color=alt.Color("Confidence:N", legend=legend, scale=alt.Scale(domain=names, range=["#2b8a89", "#c8553d"])),
        shape=alt.Shape("Confidence:N", legend=legend, scale=alt.Scale(domain=names, range=["circle", "triangle"])),
        tooltip=[alt.Tooltip("Said:Q", format=".0%"), alt.Tooltip("Right:Q", format=".0%"), "Answers:Q"],
    )  # fmt: skip
    ends = alt.Chart(alt.Data(values=[{"Said": end, "Right": end} for end in (0, 1)]))
    line = ends.mark_line(color="#808a8d", strokeDash=[4, 4]).encode(x="Said:Q", y="Right:Q")
    st.altair_chart((line + dots).properties(height=300, width=420), width="content")


def draw_risk_coverage(labelled: Mapping[AnswerKind, Labelled], promised: float) -> None:
    """How much of what is shown is wrong, by how much is shown; the dashed line is what was promised."""
    curves = {kind: risk_coverage(rows) for kind, rows in labelled.items()}
    names = {kind: f"{in_words(kind)} (AURC {area_under(curve):.3f})" for kind, curve in curves.items()}
    rows = [
        {"Kind": names[kind], "Shown": shown, "Wrong": wrong}
        for kind, curve in curves.items()
        for shown, wrong in curve[FEWEST_DRAWN - 1 :: max(1, len(curve) // MOST_DRAWN)]
    ]
    axis, scale = alt.Axis(format="%", grid=True), alt.Scale(domain=[0, 1])
    legend = alt.Legend(orient="bottom", columns=1, title=None, labelLimit=400, symbolType="stroke")
    kinds = alt.Scale(domain=list(names.values()), range=COLOURS)
    line = alt.Chart(alt.Data(values=rows)).mark_line().encode(
        x=alt.X("Shown:Q", title="Answers shown, most confident first", axis=axis, scale=scale),
        y=alt.Y("Wrong:Q", title="Share of these that are wrong", axis=axis, scale=scale),
        color=alt.Color("Kind:N", legend=legend, scale=kinds),
        strokeDash=alt.StrokeDash("Kind:N", legend=legend, scale=alt.Scale(domain=list(names.values()), range=DASHES)),
        tooltip=["Kind:N", alt.Tooltip("Shown:Q", format=".0%"), alt.Tooltip("Wrong:Q", format=".0%")],
    )  # fmt: skip
    limit = alt.Chart(alt.Data(values=[{"Wrong": promised}])).mark_rule(color="#808a8d", strokeDash=[4, 4])
    st.altair_chart((line + limit.encode(y="Wrong:Q")).properties(height=480, width=440), width="content")
    st.caption("AURC is the area under a curve: the closer to 0, the better the confidence ranks wrong answers last. "
               "The dashed grey line is the promised risk.")  # fmt: skip
