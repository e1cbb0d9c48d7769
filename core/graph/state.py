"""What the graph knows of a turn, and which of its values a checkpoint may bring back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import wraps
from typing import Any, Protocol, TypeAlias

from langgraph.runtime import Runtime
from pydantic import TypeAdapter

from pincite.core.domain import answers, documents, figures, search, turns
from pincite.core.domain.answers import AnswerPart, Attempt, Citation, Usage, Verdict
from pincite.core.domain.figures import Stated
from pincite.core.domain.search import Evidence, Intent, Mode, SearchPlan
from pincite.core.graph.context import TurnContext
from pincite.core.text.marks import marked_text


@dataclass(frozen=True)
class TurnState:
    """One turn on its way through the graph; each node names the fields that it owns."""

    question: str
    mode: Mode = Mode.AUTO
    document_ids: tuple[str, ...] = ()
    """The scope; empty: all."""
    hint: str = ""
    fresh: bool = False
    """It was asked before: it is answered now, whatever else it may mean, and no reviewed answer is repeated."""
    alone: bool = False
    """It is read as if nothing had been said before."""
    everywhere: bool = False
    """What documents it names narrows nothing."""
    draws: bool = False
    """It asks for a chart."""
    targets: tuple[str, ...] = ()
    """Documents that were @mentioned."""
    standalone: str = ""
    """The question as it is searched: mentions replaced by plain names."""
    intent: Intent = Intent.DOCUMENT_SEARCH
    reused_from: str = ""
    reworded: tuple[AnswerPart, ...] = ()
    """The answer that is to be written in another form."""
    plan: SearchPlan | None = None
    attempt: int = 0
    evidence: tuple[Evidence, ...] = ()
    nearest: tuple[Evidence, ...] = ()
    """Where nothing was good enough: what came closest."""
    absent: tuple[str, ...] = ()
    """Words of an English question that are in no passage searched, where all pages were read."""
    stated: tuple[Stated, ...] = ()
    """What the analyst found in tables of the evidence's pages, or computed, likeliest first."""
    parts: tuple[AnswerPart, ...] = ()
    removed_markers: int = 0
    tied: int = 0
    """Claims of the draft that cited nothing until code found where their words are."""
    told_otherwise: tuple[str, ...] = ()
    """What tables or pages say, where the draft's prose says something else."""
    other_figure: bool = False
    """Whether one of them is surely read and has another figure than the prose."""
    thoughts: str = ""
    """What a reasoning model thought before the draft; nobody judges it."""
    usage: Usage | None = None
    citations: tuple[Citation, ...] = ()
    verdict: Verdict | None = None
    attempts: tuple[Attempt, ...] = ()
    give_up: str = ""
    """Why no further attempt is made, though the draft is not accepted."""
    suspect: bool = False
    """A person must look: a page that it cites gives orders to machines or shows other words than its file says, or the
    draft was cut."""
    by_code: bool = False
    """Quotations stand, or are to stand, in the place of prose that came to nothing."""
    notices: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    question_back: str = ""
    flagged: bool = False

    @property
    def asked(self) -> str:
        """The question as it stands by itself, with what it needs of the one before it."""
        return self.plan.standalone_question if self.plan else self.standalone or self.question

    @property
    def draft(self) -> Attempt:
        """This pass of generator and judge, as it is kept beside the others."""
        return Attempt(
            number=self.attempt,
            answer=marked_text(self.parts),
            citations=self.citations,
            verdict=self.verdict,
            plan=self.plan,
            evidence=self.evidence,
            parts=self.parts,
        )


Body: TypeAlias = Callable[[TurnState, Runtime[TurnContext]], TurnState]
Update: TypeAlias = dict[str, Any]


class Node(Protocol):
    """Read typed state, ask a port, return the fields that changed."""

    def __call__(self, state: TurnState, runtime: Runtime[TurnContext]) -> Update: ...


def owns(*fields: str) -> Callable[[Body], Node]:
    """Make a node that returns those of its fields that its function changed. The node raises ValueError on others."""

    def node_of(body: Body) -> Node:
        @wraps(body)
        def node(state: TurnState, runtime: Runtime[TurnContext]) -> Update:
            after = body(state, runtime)
            changed = {name: value for name, value in vars(after).items() if value != getattr(state, name)}
            if strange := changed.keys() - set(fields):
                raise ValueError(f"The node {body.__name__} does not own {', '.join(sorted(strange))}.")
            return changed

        return node

    return node_of


def critique_of(verdict: Verdict | None) -> tuple[str, ...]:
    """What the next draft is told of this one."""
    return (*verdict.reasons, *verdict.gaps) if verdict else ()


def restored(values: Mapping[str, Any]) -> TurnState:
    """Turn a checkpoint's values back into what they were: msgpack knows lists only, our values hold tuples."""
    adapter = TypeAdapter(TurnState)
    return adapter.validate_json(adapter.dump_json(TurnState(**values), warnings=False))


CHECKPOINTED: tuple[type, ...] = tuple(
    value
    for module in (search, documents, figures, answers, turns)
    for value in vars(module).values()
    if isinstance(value, type)
    and value.__module__ == module.__name__
    and (issubclass(value, Enum) or hasattr(value, "__dataclass_fields__"))
)
"""The allow-list of the checkpointer: our own values and nothing else."""
