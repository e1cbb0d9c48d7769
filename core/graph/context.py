"""What nodes use in addition to their state: ports, settings, the clock, and the progress of the turn."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pincite.core.domain.answers import AnswerPart, Citation, Likeness, ReadBack
from pincite.core.domain.documents import Document
from pincite.core.domain.ports import ChatModel
from pincite.core.domain.search import SearchPlan, SearchResult
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import Exchange, Recalled, TraceStep, Turn
from pincite.core.figures.formulas import Formulas, shipped_formulas
from pincite.core.questions.lexicon import Lexicon, shipped_lexicon

if TYPE_CHECKING:
    from pincite.core.store.library import Library


class Progress(Protocol):
    """Port for the progress of a node."""

    def step(self, text: str) -> None:
        """Report the current step in plain words."""

    def draft(self, parts: Sequence[AnswerPart]) -> None:
        """Show the text streamed so far in this attempt."""

    def visited(self, step: TraceStep) -> None:
        """Store the visit of one node."""


OPENING_PASSAGES = 4


class Searcher(Protocol):
    def search(
        self, plan: SearchPlan, library: Iterable[Document], *, context_characters: int, scope: Sequence[str] = ()
    ) -> SearchResult:
        """Search; the evidence is empty if no passage is above the floor."""


Memory: TypeAlias = Callable[[str, Sequence[str]], Recalled | None]
"""Find a reviewed answer to a question that is still valid, from the documents with these ids."""


Look: TypeAlias = Callable[[Citation], ReadBack]
"""Read a quotation back from the picture of its page; never raises."""


@dataclass(slots=True)
class StepNotes:
    """Input, decisions and output of the current node, for its trace step."""

    read: dict[str, Any] = field(default_factory=dict)
    decided: dict[str, Any] = field(default_factory=dict)
    returned: dict[str, Any] = field(default_factory=dict)


class Lacking(Enum):
    """The part of the search index that a document still lacks."""

    NOTHING = auto()
    VECTORS = auto()
    TEXT = auto()


@dataclass(frozen=True, slots=True)
class Equipment:
    """Ports and settings of a turn; fixed when it starts, so that changed settings apply to the next one."""

    settings: Settings
    library: "Library"
    searcher: Searcher
    choose_engine: Callable[[str | None], ChatModel]
    recall: Memory = lambda question, document_ids: None
    await_documents: Callable[[Sequence[str], float], Lacking] = lambda document_ids, seconds: Lacking.NOTHING
    """Wait at most this many seconds and return what the search of the documents still lacks."""
    lexicon: Lexicon = field(default_factory=shipped_lexicon)
    formulas: Formulas = field(default_factory=shipped_formulas)
    look: Look = lambda citation: ReadBack(Likeness.UNKNOWN)
    instructions: str = ""
    """How a language model is to write answers about the collection that is searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext(Equipment):
    """``deadline`` is on the clock of ``time.monotonic``; ``stand_in`` answers if ``model`` writes nothing."""

    model: ChatModel
    stand_in: ChatModel
    documents: tuple[Document, ...]
    """The documents that the turn may name and search, as they were at its start."""
    progress: Progress
    stopped: Callable[[], bool]
    deadline: float
    history: tuple[Exchange, ...] = ()
    """The conversation so far, oldest first."""
    last_answer: Callable[[], Turn | None] = lambda: None
    """Return the last turn of the conversation that was answered from documents."""
    evidence_only: Callable[[], bool] = lambda: False
    """Return whether a person asked for the evidence instead of a model's text."""
    notes: StepNotes = field(default_factory=StepNotes)

    @property
    def out_of_time(self) -> bool:
        return time.monotonic() >= self.deadline

    @property
    def evidence_characters(self) -> int:
        """Return the number of characters for evidence, which is condensed if a model's window holds less."""
        return max(self.model.context_characters, self.settings.context_characters)

    def opening(self, document_id: str) -> str:
        """Return the first words of a document."""
        return " ".join(passage.text for passage in self.library.opening_passages(document_id, OPENING_PASSAGES))

    def halted(self) -> bool:
        """True as soon as an engine should stop writing."""
        return self.stopped() or self.out_of_time

    def writing_halted(self) -> bool:
        """True as soon as a language model should stop writing."""
        return self.halted() or self.evidence_only()

    def note(
        self,
        *,
        read: Mapping[str, Any] | None = None,
        decided: Mapping[str, Any] | None = None,
        returned: Mapping[str, Any] | None = None,
    ) -> None:
        """Add to the trace step of the current node."""
        self.notes.read.update(read or {})
        self.notes.decided.update(decided or {})
        self.notes.returned.update(returned or {})
