"""Sessions, turns with their traces, and reviews. Times are UTC ISO 8601 strings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from pincite.core.domain.answers import AnswerPart, Attempt, Citation, Usage, Verdict
from pincite.core.domain.keys import Key
from pincite.core.domain.search import Evidence, Intent, Mode, SearchPlan


def now() -> str:
    """UTC, ISO 8601, to the microsecond, so that what is made one after the other sorts so."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


@dataclass(frozen=True, slots=True)
class Session:
    id: str
    title: str
    created_at: str
    updated_at: str
    document_ids: tuple[str, ...] = ()
    """The chosen set; empty: all documents. It stays chosen when its documents go, and never turns into all."""
    collection_id: str = ""
    """The collection that it belongs to: whatever is chosen, it searches no other documents. Empty: none."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One node's visit: what it read, decided and returned, as JSON values for people to look at."""

    node: str
    attempt: int
    started_at: str
    seconds: float
    read: Mapping[str, Any] = field(default_factory=dict)
    decided: Mapping[str, Any] = field(default_factory=dict)
    returned: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


class TurnStatus(Key):
    RUNNING = "running"
    ANSWERED = "answered"
    FLAGGED = "flagged_for_review"
    REVIEWED = "reviewed"
    STOPPED = "stopped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    UNREADABLE = "unreadable"
    """What is stored of it is damaged; it is never written again."""


FINISHED = (TurnStatus.ANSWERED, TurnStatus.FLAGGED, TurnStatus.REVIEWED)
"""Statuses of turns with an answer that later questions build on."""


class ReviewDecision(StrEnum):
    APPROVED = "approved"
    EDITED = "edited"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Review:
    """A person's decision on a turn; ``final_answer`` is what the conversation shows from then on."""

    turn_id: str
    decision: ReviewDecision
    final_answer: str
    note: str
    reviewer: str
    decided_at: str
    citations: tuple[Citation, ...] = ()
    stale: str = ""
    """Why the decision no longer holds (a cited document changed or went); empty while it does."""
    undone_at: str = ""
    """When somebody took it back; then it counts no more."""
    parts: tuple[AnswerPart, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewedLine:
    """What a list of decisions shows of a turn."""

    turn_id: str
    session_id: str
    question: str
    status: TurnStatus
    review: Review


@dataclass(frozen=True, slots=True)
class ReviewDraft:
    """A reviewer's text for a turn that is edited and not saved."""

    turn_id: str
    text: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Pin:
    """A quotation that a user keeps with a conversation."""

    id: int
    citation: Citation
    pinned_at: str
    """UTC, ISO 8601; what was pinned together has one."""


@dataclass(frozen=True, slots=True)
class Notes:
    """What a user keeps with a conversation; ``removed`` was taken away last, and can be brought back."""

    text: str = ""
    pins: tuple[Pin, ...] = ()
    removed: Pin | None = None

    @property
    def groups(self) -> list[list[Pin]]:
        """What was pinned together of one page."""
        groups: dict[tuple[object, ...], list[Pin]] = {}
        for pin in self.pins:
            groups.setdefault((pin.pinned_at, pin.citation.page), []).append(pin)
        return list(groups.values())


@dataclass(frozen=True, slots=True)
class TurnFilter:
    """Which turns a list is to show; what is empty narrows nothing."""

    status: TurnStatus | None = None
    words: str = ""
    """In the question or the reasons for review."""
    document_id: str = ""
    """Cited by the answer."""
    since: str = ""
    confidence_up_to: float = 1.0
    """Turns without a confidence count as 0."""


@dataclass(frozen=True, slots=True)
class TurnLine:
    """What a list shows of a turn."""

    id: str
    session_id: str
    question: str
    status: TurnStatus
    started_at: str
    confidence: float | None
    cited_names: tuple[str, ...]
    reasons: tuple[str, ...]


class FeedbackKind(StrEnum):
    GOOD = "good"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Exchange:
    """One finished question and answer, as later turns of the session build on it."""

    turn_id: str
    question: str
    answer: str
    """Without markers: their numbers count another turn's evidence."""
    plan: SearchPlan | None = None
    """How the question was read; None if it is not known."""
    intent: Intent | None = None
    listed: tuple[str, ...] = ()
    """The places of the passages that were listed instead of an answer."""
    stated: AnswerPart | None = None
    """The figure that its answer stated first, where it did."""

    @property
    def understood(self) -> str:
        """Return the question as it is understood without those before it."""
        return self.plan.standalone_question if self.plan else self.question


@dataclass(frozen=True, slots=True)
class Turn:
    """One question and all that came of it."""

    id: str
    session_id: str
    position: int
    question: str
    mode: Mode
    document_ids: tuple[str, ...]
    """The documents it searched: those that were @mentioned, else those of its scope when it started."""
    engine: str
    status: TurnStatus
    started_at: str
    place: int = -1
    """Position of the first version of its question, where it is shown; -1: not stored yet."""
    finished_at: str = ""
    intent: Intent | None = None
    asked: str = ""
    """The question as it was searched and judged: mentions resolved, what it leans on put in."""
    plan: SearchPlan | None = None
    """How it was read: standing alone, with its entities, periods and documents; later questions build on it."""
    answer: str = ""
    """For people to read: the parts as one text, with markers like [2]. Nothing is ever read out of it again."""
    parts: tuple[AnswerPart, ...] = ()
    citations: tuple[Citation, ...] = ()
    verdict: Verdict | None = None
    attempts: tuple[Attempt, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    reasons: tuple[str, ...] = ()
    """Why it waits for review."""
    question_back: str = ""
    error: str = ""
    thoughts: str = ""
    """What a reasoning model thought before its answer; no part of it, and judged by nobody."""
    usage: Usage | None = None
    """What the last draft of a language model took."""
    notices: tuple[str, ...] = ()
    """Plain remarks: pages not read in a searched document, prompt truncated, model missing."""
    scope: tuple[str, ...] | None = None
    """The documents that were chosen for it; empty: all, also those of another day; None: not written down."""
    reused_from: str = ""
    """Id of the reviewed turn that this answer repeats."""
    trace: tuple[TraceStep, ...] = ()
    path: tuple[str, ...] = ()
    review: Review | None = None
    feedback: FeedbackKind | None = None

    @property
    def final_parts(self) -> tuple[AnswerPart, ...]:
        """As it was reviewed, where it was."""
        return self.review.parts if self.review else self.parts

    @property
    def final_citations(self) -> tuple[Citation, ...]:
        return self.review.citations if self.review else self.citations


NO_DOCUMENT = "No document was used: this comes from the language model alone, and nothing of it was checked."
WRITING_FROM = "Writing from"
"""How the step begins in which a language model writes from passages."""


@dataclass(frozen=True, slots=True)
class TurnSnapshot:
    """What a page sees of a turn at one moment: immutable, published by the worker."""

    turn: Turn
    steps: tuple[str, ...] = ()
    """What is being and was done, in plain words ("Searching 3 documents…"), newest last."""
    draft: tuple[AnswerPart, ...] = ()
    """What was streamed so far in the current attempt."""
    earlier: tuple[AnswerPart, ...] = ()
    """The draft of the attempt before, until the current one has words."""
    elsewhere: bool = False
    """Whether another process runs the turn; then there is what that one has stored of it."""

    @property
    def writes_from_evidence(self) -> bool:
        """Whether a language model is writing from passages, which could be shown instead."""
        return bool(self.steps) and self.steps[-1].startswith(WRITING_FROM)

    @property
    def running(self) -> bool:
        return self.turn.status is TurnStatus.RUNNING


@dataclass(frozen=True, slots=True)
class Recalled:
    """A reviewed answer to the same question or to a similar one."""

    turn_id: str
    question: str
    parts: tuple[AnswerPart, ...]
    citations: tuple[Citation, ...]
    verdict: Verdict | None
    evidence: tuple[Evidence, ...]
    """What its numbers count."""
    reviewer: str
    decided_at: str
    same: bool = True
    """Whether it was asked in the same words in the same order; otherwise it is only offered."""
