"""What the graph knows of a turn, and which of its values a checkpoint may bring back."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from core.domain import answers, documents, search, turns
from core.domain.answers import AnswerPart, Attempt, Citation, Verdict
from core.domain.search import Evidence, Intent, Mode, SearchPlan
from core.domain.turns import Exchange
from core.text.marks import marked_text


class TurnUpdate(TypedDict, total=False):
    """The fields of TurnState that one node owns and returns."""

    targets: tuple[str, ...]
    standalone: str
    intent: Intent
    reused_from: str
    plan: SearchPlan | None
    attempt: int
    evidence: tuple[Evidence, ...]
    nearest: tuple[Evidence, ...]
    absent: tuple[str, ...]
    parts: tuple[AnswerPart, ...]
    removed_markers: int
    citations: tuple[Citation, ...]
    verdict: Verdict | None
    attempts: tuple[Attempt, ...]
    give_up: str
    notices: tuple[str, ...]
    reasons: tuple[str, ...]
    question_back: str
    flagged: bool


class TurnState(TypedDict):
    """One turn on its way through the graph."""

    turn_id: str
    question: str
    mode: Mode
    document_ids: tuple[str, ...]
    """The scope; empty: all."""
    hint: str
    targets: tuple[str, ...]
    """Documents that were @mentioned."""
    standalone: str
    """The question as it is searched: mentions replaced by plain names."""
    intent: Intent
    reused_from: str
    plan: SearchPlan | None
    attempt: int
    evidence: tuple[Evidence, ...]
    nearest: tuple[Evidence, ...]
    """Where nothing was good enough: what came closest."""
    absent: tuple[str, ...]
    """Telling words of the question that no passage found holds."""
    parts: tuple[AnswerPart, ...]
    removed_markers: int
    citations: tuple[Citation, ...]
    verdict: Verdict | None
    attempts: tuple[Attempt, ...]
    give_up: str
    """Why no further attempt is made, though the draft is not accepted."""
    notices: tuple[str, ...]
    reasons: tuple[str, ...]
    question_back: str
    flagged: bool
    history: tuple[Exchange, ...]
    """The conversation so far, oldest first; it is read from the turns when one starts."""


def opening_state(
    turn_id: str,
    question: str,
    *,
    mode: Mode,
    document_ids: tuple[str, ...],
    hint: str = "",
    history: tuple[Exchange, ...] = (),
) -> TurnState:
    return TurnState(
        turn_id=turn_id,
        question=question,
        mode=mode,
        document_ids=document_ids,
        hint=hint,
        targets=(),
        standalone=question,
        intent=Intent.DOCUMENT_SEARCH,
        reused_from="",
        plan=None,
        attempt=0,
        evidence=(),
        nearest=(),
        absent=(),
        parts=(),
        removed_markers=0,
        citations=(),
        verdict=None,
        attempts=(),
        give_up="",
        notices=(),
        reasons=(),
        question_back="",
        flagged=False,
        history=history,
    )


def restored(values: Mapping[str, Any]) -> TurnState:
    """Turn a checkpoint's values back into what they were: msgpack knows lists only, our values hold tuples."""
    adapter = TypeAdapter(TurnState)
    return adapter.validate_json(adapter.dump_json(values, warnings=False))  # type: ignore[arg-type]


def attempt_of(state: TurnState, verdict: Verdict | None) -> Attempt:
    """This pass of generator and judge, as it is kept beside the others."""
    parts = state["parts"]
    return Attempt(
        number=state["attempt"],
        answer=marked_text(parts),
        citations=state["citations"],
        verdict=verdict,
        plan=state["plan"],
        evidence=state["evidence"],
        parts=parts,
    )


CHECKPOINTED: tuple[type, ...] = tuple(
    value
    for module in (search, documents, answers, turns)
    for value in vars(module).values()
    if isinstance(value, type)
    and value.__module__ == module.__name__
    and (issubclass(value, Enum) or hasattr(value, "__dataclass_fields__"))
)
"""The allow-list of the checkpointer: our own values and nothing else."""
