"""Draw figures of one row or column: a Vega-Lite specification made of cells, and checked by its schema."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pincite.core.domain.figures import Figure
from pincite.core.text.numbers import quantities
from pincite.core.text.stating import SCALES, series_of, with_measure

MAX_BARS = 8
"""More periods are drawn as a line."""
_HEIGHT, _STEP = 260, 32
"""Pixels: of the chart, and of a row where rows are one below the other."""
_TICKS = 6


def chart_of(figures: Sequence[Figure]) -> dict[str, Any] | None:
    """Return the specification; None where the figures are no series of one unit: of a row, or of a column."""
    written = _written(tuple(figures))
    chart: dict[str, Any] | None = json.loads(written) if written else None
    return chart


@lru_cache(maxsize=64)
def _written(figures: tuple[Figure, ...]) -> str:
    series = series_of(figures)
    if series is None or len({(figure.unit, figure.scale) for figure in figures}) > 1:
        return ""
    specification = _specification(figures, *series)
    _check(specification)
    return json.dumps(specification)


def _specification(figures: Sequence[Figure], title: str, names: Sequence[str]) -> dict[str, Any]:
    """Periods run from left to right in their order, the rows of a column downwards as they are printed."""
    import altair  # takes long to import, and few answers are drawn

    single_row = len({figure.label for figure in figures}) == 1
    rows = sorted(zip(names, figures, strict=True), key=lambda row: _when(row[0]) if single_row else ())
    values = [
        {"Of": name, "Value": float(figure.value), "Printed": with_measure(figure), "Page": figure.page_index + 1}
        for name, figure in rows
    ]
    first = figures[0]
    measure = " ".join(filter(None, [first.unit, SCALES.get(first.scale, "")]))
    bars = not single_row or len(values) <= MAX_BARS
    along = {"field": "Of", "type": "ordinal", "sort": None, "title": None}
    axis = {"title": measure or None, "format": ",~f", "tickCount": _TICKS}
    amount = {"field": "Value", "type": "quantitative", "axis": axis, "scale": {"zero": bars}}
    mark = {"type": "bar", "cornerRadiusEnd": 3, **({"size": 40} if single_row else {})}
    return {
        "$schema": altair.SCHEMA_URL,
        "title": title,
        "height": _HEIGHT if single_row else {"step": _STEP},
        "data": {"values": values},
        "mark": mark if bars else {"type": "line", "point": True},
        "encoding": {
            **({"x": {**along, "axis": {"labelAngle": 0}}, "y": amount} if single_row else {"y": along, "x": amount}),
            "tooltip": [
                {"field": "Of", "type": "nominal", "title": "Period" if single_row else "Row"},
                *({"field": name, "type": "nominal"} for name in ("Printed", "Page")),
            ],
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
