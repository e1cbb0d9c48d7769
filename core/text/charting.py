"""Draw figures of one row over several periods: a Vega-Lite specification made of cells, and checked by its schema."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from core.domain.figures import Figure
from core.text.numbers import quantities
from core.text.stating import short, with_measure

FEWEST_PERIODS = 3
MOST_BARS = 8
"""More periods are drawn as a line."""
_HEIGHT = 260
_SCALES = {1000: "thousand", 10**6: "million", 10**9: "billion", 10**12: "trillion"}


def chart_of(figures: Sequence[Figure]) -> dict[str, Any] | None:
    """The specification; None where the figures are no series: one row, one unit, several periods."""
    written = _written(tuple(figures))
    chart: dict[str, Any] | None = json.loads(written) if written else None
    return chart


@lru_cache(maxsize=64)
def _written(figures: tuple[Figure, ...]) -> str:
    periods = [figure.period or figure.column for figure in figures]
    if len(set(periods)) < max(FEWEST_PERIODS, len(figures)) or len({f.label for f in figures}) > 1:
        return ""
    if len({(figure.unit, figure.scale) for figure in figures}) > 1:
        return ""
    specification = _specification(figures, periods)
    _check(specification)
    return json.dumps(specification)


def _specification(figures: Sequence[Figure], periods: Sequence[str]) -> dict[str, Any]:
    import altair  # takes long to import, and few answers are drawn

    rows = sorted(zip(periods, figures, strict=True), key=lambda row: _when(row[0]))
    values = [
        {"Period": period, "Value": float(figure.value), "Printed": with_measure(figure), "Page": figure.page_index + 1}
        for period, figure in rows
    ]
    first = figures[0]
    measure = " ".join(filter(None, [first.unit, _SCALES.get(first.scale, "")]))
    bars = len(values) <= MOST_BARS
    return {
        "$schema": altair.SCHEMA_URL,
        "title": short(first.label),
        "height": _HEIGHT,
        "data": {"values": values},
        "mark": {"type": "bar", "cornerRadiusEnd": 3, "size": 40} if bars else {"type": "line", "point": True},
        "encoding": {
            "x": {"field": "Period", "type": "ordinal", "sort": None, "title": None, "axis": {"labelAngle": 0}},
            "y": {"field": "Value", "type": "quantitative", "title": measure or None, "scale": {"zero": bars}},
            "tooltip": [{"field": name, "type": "nominal"} for name in ("Period", "Printed", "Page")],
        },
    }


def _when(period: str) -> tuple[tuple[int, int, int], ...]:
    return tuple(quantity.date for quantity in quantities(period) if quantity.kind == "date")


def _check(specification: dict[str, Any]) -> None:
    """Raises ValueError for what is no Vega-Lite."""
    import altair

    try:
        altair.Chart.from_dict(specification, validate=True)
    except altair.utils.schemapi.SchemaValidationError as error:
        raise ValueError(f"no Vega-Lite specification: {error}") from error
