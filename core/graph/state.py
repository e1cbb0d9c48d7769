"""The state of a turn in the graph, and the types that a checkpoint may restore."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import wraps
from typing import Annotated, Any, Protocol, TypeAlias

from langgraph.runtime import Runtime
from pydantic import TypeAdapter

from pincite.core.domain import answers, documents, figures, questions, search, turns
from pincite.core.domain.answers import AnswerPart, Attempt, Citation, Usage, Verdict, is_prose
from pincite.core.domain.figures import Stated
from pincite.core.domain.questions import FollowUp, Question, Wish
from pincite.core.domain.search import Evidence, Intent, Mode, SearchPlan
from pincite.core.graph.context import TurnContext
from pincite.core.text.marks import marked_text


def merged(notices: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    """Return both without repetitions."""
    return tuple(dict.fromkeys([*notices, *more]))


@dataclass(frozen=True)
class TurnState:
    """One turn on its way through the graph; each node names the fields that it owns."""

    question: str
    mode: Mode = Mode.AUTO
    document_ids: tuple[str, ...] = ()
    """Scope of the search; empty: all documents."""
    hint: str = ""
    fresh: bool = False
    """The question is asked again: it is answered even if ambiguous, and no reviewed answer is reused."""
    alone: bool = False
    """The question is read without the conversation."""
    everywhere: bool = False
    """Names of documents in the question do not narrow the search."""
    reading: Question | None = None
    """What the router read in the question."""
    intent: Intent = Intent.DOCUMENT_SEARCH
    reused_from: str = ""
    reworded: tuple[AnswerPart, ...] = ()
    """The answer to rewrite in another form."""
    plan: SearchPlan | None = None
    attempt: int = 0
    evidence: tuple[Evidence, ...] = ()
    nearest: tuple[Evidence, ...] = ()
    """The closest passages, if none was good enough."""
    absent: tuple[str, ...] = ()
    """Words of an English question that are in no searched passage, if all pages were read."""
    stated: tuple[Stated, ...] = ()
    """Statements of the analyst from tables of the evidence's pages, likeliest first."""
    parts: tuple[AnswerPart, ...] = ()
    removed_markers: int = 0
    tied: int = 0
    """Number of claims without a citation that code gave one, as it found their words."""
    told_otherwise: tuple[str, ...] = ()
    """Statements of tables or pages that differ from the draft's prose; notices of the draft."""
    other_figure: bool = False
    """Whether one of them was read with certainty and has another figure than the prose."""
    thoughts: str = ""
    """Thoughts of a reasoning model before the draft; they are not judged."""
    usage: Usage | None = None
    citations: tuple[Citation, ...] = ()
    verdict: Verdict | None = None
    attempts: tuple[Attempt, ...] = ()
    give_up: str = ""
    """Reason for no further attempt, although the draft is not accepted."""
    suspect: bool = False
    """A person must review: a cited page has instructions to machines or shows other words than its file, or the draft
    was cut."""
    by_code: bool = False
    """Quotations replace, or are to replace, failed prose."""
    quoted_because: str = ""
    """Notice of why quotations replace prose; shown only where they are kept."""
    notices: Annotated[tuple[str, ...], merged] = ()
    """Several nodes add to them, none removes any."""
    reasons: tuple[str, ...] = ()
    question_back: str = ""
    flagged: bool = False

    @property
    def read(self) -> Question:
        """Return the question as the router read it; before that, its words alone."""
        return self.reading or Question(self.question, FollowUp(self.question))

    @property
    def asked(self) -> str:
        """Return the standalone question, with what it needs of the previous one."""
        return self.plan.standalone_question if self.plan else self.read.text

    @property
    def draws(self) -> bool:
        """Return whether the question asks for a chart."""
        return self.read.wish is Wish.CHART

    @property
    def all_notices(self) -> tuple[str, ...]:
        """Return the notices of the nodes, and those of the draft that was kept."""
        instead = "" if is_prose(self.parts) else self.quoted_because
        return merged(self.notices, [*self.told_otherwise, *filter(None, [instead])])

    def noted(self, *notices: str) -> "TurnState":
        """Return the state with more notices; empty ones do not count."""
        return replace(self, notices=merged(self.notices, [*filter(None, notices)]))

    @property
    def draft(self) -> Attempt:
        """Return this pass of generator and judge as an attempt."""
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
    """Return the critique of this draft for the next one."""
    return (*verdict.reasons, *verdict.gaps) if verdict else ()


def restored(values: Mapping[str, Any]) -> TurnState:
    """Restore the types of a checkpoint's values: msgpack has only lists, our values have tuples."""
    adapter = TypeAdapter(TurnState)
    return adapter.validate_json(adapter.dump_json(TurnState(**values), warnings=False))


CHECKPOINTED: tuple[type, ...] = tuple(
    value
    for module in (questions, search, documents, figures, answers, turns)
    for value in vars(module).values()
    if isinstance(value, type)
    and value.__module__ == module.__name__
    and (issubclass(value, Enum) or hasattr(value, "__dataclass_fields__"))
)
"""The allow-list of the checkpointer: only our own types."""
