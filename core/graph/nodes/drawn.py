"""Select the chart of a draft: the figures of several periods that code found, or the chart that a model proposes.

A proposal is checked against the cells of the evidence's tables, and the model may correct it; if it is left out, a
notice gives the reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pincite.core.domain.answers import AnswerPart, PartKind
from pincite.core.domain.figures import Stated
from pincite.core.domain.ports import ChatModel
from pincite.core.domain.search import Evidence
from pincite.core.domain.tables import Table
from pincite.core.figures.answers import parts_of
from pincite.core.figures.proposed import NotDrawnError, charted
from pincite.core.judge.claims import declines
from pincite.core.models.client import strict_json
from pincite.core.text.marks import plain_text
from pincite.core.text.sentences import split_sentences
from pincite.core.text.stating import is_drawn, statement

MAX_MENDED = 2
CHART_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "data": {
            "type": "object",
            "properties": {"values": {"type": "array", "items": {"type": "object"}}},
            "required": ["values"],
        }
    },
    "required": ["data"],
}


def drawn_of(
    proposed: str,
    stated: Sequence[AnswerPart],
    tables: Sequence[Table],
    evidence: Sequence[Evidence],
    engine: ChatModel,
) -> tuple[tuple[AnswerPart, ...], str]:
    """Return the parts that state what is drawn, and a notice if a proposal is left out.

    No proposal is needed if code found figures that the question is likely to ask for.
    """
    found = next((part for part in stated if part.kind is PartKind.FIGURE), None)
    if found and is_drawn(found):
        return (replace(found, probability=None),), ""
    if not proposed:
        return (), ""
    proposal: Mapping[str, Any] | None = _read(proposed)
    for left in reversed(range(MAX_MENDED + 1)):
        try:
            figures = charted(proposal or {}, tables)
        except NotDrawnError as refused:
            why = str(refused)
        else:
            drawn = parts_of(Stated(statement(figures), figures, 1.0), evidence)
            if drawn:
                return tuple(replace(part, probability=None) for part in drawn), ""
            why = "its figures stand on pages that were not found for this question"
        asked = f"The chart was not drawn: {why}. Give its Vega-Lite specification again, as JSON."
        proposal = engine.of_last_answer(asked, CHART_SCHEMA) if left else None
        if proposal is None:
            break
    return (), f"The chart that {engine.name} proposed was left out: {why}."


def with_chart(
    prose: tuple[AnswerPart, ...], drawn: tuple[AnswerPart, ...], *, asked_for: bool
) -> tuple[AnswerPart, ...]:
    """Return the prose, and what is drawn behind it; where the prose declines, only the one or the other."""
    if not (prose and drawn):
        return prose or drawn
    text = plain_text(prose)
    if all(declines(text[one.start : one.end]) for one in split_sentences(text)):
        return drawn if asked_for else prose
    return (*prose, AnswerPart("\n\n"), *drawn)


def _read(proposed: str) -> Mapping[str, Any]:
    try:
        value = strict_json(proposed)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
