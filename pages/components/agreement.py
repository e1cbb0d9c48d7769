"""The calibration of the confidence, as a chart: predicted against observed correctness."""

from collections.abc import Sequence

import altair as alt
import streamlit as st

from pincite.core.services.reviews import ReliabilityBin


def draw_agreement(bins: Sequence[ReliabilityBin]) -> None:
    """Draw a dot for each bin of answers; on the dashed line, confidence and share of right answers agree."""
    rows = [{"Said": part.confidence, "Right": part.faithful, "Answers": part.count} for part in bins]
    share, scale = alt.Axis(format="%", grid=True), alt.Scale(domain=[0, 1])
    dots = alt.Chart(alt.Data(values=rows)).mark_point(size=80, filled=True, opacity=0.9, color="#2b8a89").encode(
        x=alt.X("Said:Q", title="Confidence", axis=share, scale=scale),
        y=alt.Y("Right:Q", title="Share that were right", axis=share, scale=scale),
        tooltip=[alt.Tooltip("Said:Q", format=".0%"), alt.Tooltip("Right:Q", format=".0%"), "Answers:Q"],
    )  # fmt: skip
    ends = alt.Chart(alt.Data(values=[{"Said": end, "Right": end} for end in (0, 1)]))
    line = ends.mark_line(color="#808a8d", strokeDash=[4, 4]).encode(x="Said:Q", y="Right:Q")
    st.altair_chart((line + dots).properties(height=300, width=420), width="content")
