"""How far the confidence can be trusted, as a picture: what was said of answers against what was right."""

from collections.abc import Mapping, Sequence

import altair as alt
import streamlit as st

from core.services.reviews import ReliabilityBin

SHIPPED, CORRECTED = "Shipped", "Corrected"


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
        y=alt.Y("Right:Q", title="Faithful", axis=share, scale=scale),
        color=alt.Color("Confidence:N", legend=legend, scale=alt.Scale(domain=names, range=["#2b8a89", "#c8553d"])),
        shape=alt.Shape("Confidence:N", legend=legend, scale=alt.Scale(domain=names, range=["circle", "triangle"])),
        tooltip=[alt.Tooltip("Said:Q", format=".0%"), alt.Tooltip("Right:Q", format=".0%"), "Answers:Q"],
    )  # fmt: skip
    ends = alt.Chart(alt.Data(values=[{"Said": end, "Right": end} for end in (0, 1)]))
    line = ends.mark_line(color="#808a8d", strokeDash=[4, 4]).encode(x="Said:Q", y="Right:Q")
    st.altair_chart((line + dots).properties(height=300, width=420), width="content")
