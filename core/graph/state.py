"""What the graph knows of a turn, and which of its values a checkpoint may bring back."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from pincite.core import types
from pincite.core.types import Attempt, Citation, Evidence, Intent, Mode, SearchPlan, Verdict


@dataclass(frozen=True, slots=True)
class Exchange:
    """One finished question and answer, as later turns of the session build on it."""

    turn_id: str
    question: str
    answer: str


def merge_exchanges(known: tuple[Exchange, ...], new: tuple[Exchange, ...]) -> tuple[Exchange, ...]:
    """Add exchanges in order; one of a turn that is known takes the place of what was there."""
    merged = {exchange.turn_id: exchange for exchange in known}
    merged.update({exchange.turn_id: exchange for exchange in new})
    return tuple(merged.values())


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
    draft: str
    removed_markers: int
    citations: tuple[Citation, ...]
    verdict: Verdict | None
    attempts: tuple[Attempt, ...]
    give_up: str
    notices: tuple[str, ...]
    reasons: tuple[str, ...]
    question_back: str
    flagged: bool
    history: tuple[Exchange, ...]


class TurnState(TypedDict):
    """One turn on its way through the graph; ``history`` alone outlives it in the session's thread."""

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
    draft: str
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
    history: Annotated[tuple[Exchange, ...], merge_exchanges]


def opening_state(
    turn_id: str, question: str, *, mode: Mode, document_ids: tuple[str, ...], hint: str = ""
) -> TurnState:
    """Everything that the session's last turn left in the thread is set anew, but for its history."""
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
        draft="",
        removed_markers=0,
        citations=(),
        verdict=None,
        attempts=(),
        give_up="",
        notices=(),
        reasons=(),
        question_back="",
        flagged=False,
        history=(),
    )


def restored(values: Mapping[str, Any]) -> TurnState:
    """Turn a checkpoint's values back into what they were: msgpack knows lists only, our values hold tuples."""
    adapter = TypeAdapter(TurnState)
    return adapter.validate_json(adapter.dump_json(values, warnings=False))  # type: ignore[arg-type]


def exchange_of(state: TurnState, answer: str) -> tuple[Exchange, ...]:
    return (Exchange(state["turn_id"], state["question"], answer),)


CHECKPOINTED: tuple[type, ...] = (
    Exchange,
    *(
        value
        for value in vars(types).values()
        if isinstance(value, type)
        and value.__module__ == types.__name__
        and (issubclass(value, Enum) or hasattr(value, "__dataclass_fields__"))
    ),
)
"""The allow-list of the checkpointer: our own values and nothing else."""
