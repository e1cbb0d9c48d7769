"""The vocabulary of Pincite as frozen, typed values. Page positions are 0-based; times are UTC ISO 8601 strings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

# ---------------------------------------------------------------- documents


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on a page as displayed (rotated, cropped): fractions of width and height, origin top left."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Word:
    """A word's character span in its page's text and its place on the page."""

    start: int
    end: int
    box: Box


class BlockKind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list item"
    TABLE_ROW = "table row"
    HEADER = "header"
    FOOTER = "footer"


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a page's text in reading order.

    ``level`` is a heading's depth (1 = top); ``column_heads`` is a table row's head line.
    """

    start: int
    end: int
    kind: BlockKind
    level: int = 0
    column_heads: str = ""


BLANK_PAGE = "blank page"
"""The reason of an empty page that shows nothing: nothing is missing of it."""


class PageStatus(StrEnum):
    TEXT = "text"
    OCR = "ocr"
    EMPTY = "empty"
    GARBLED = "garbled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Page:
    """One physical page as read: its text in reading order, where each word stands, and how the reading went."""

    page_index: int
    page_label: str
    text: str
    words: Sequence[Word]
    blocks: tuple[Block, ...]
    status: PageStatus
    reason: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PageReceipt:
    """What became of one page: kept for every page of every document."""

    page_index: int
    page_label: str
    status: PageStatus
    characters: int
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    title: str
    page_index: int
    level: int


class MetadataSource(StrEnum):
    PDF = "PDF fields"
    FIRST_PAGES = "first pages"
    FILE_NAME = "file name"
    USER = "user"


@dataclass(frozen=True, slots=True)
class MetadataField:
    """One fact about a document and where it came from.

    Names: ``title``, ``author``, ``date``, ``language``, ``document type``, ``company``, ``year``.
    """

    name: str
    value: str
    source: MetadataSource


class DocumentStatus(StrEnum):
    QUEUED = "queued"
    READING = "reading"
    EMBEDDING = "embedding"
    RECOGNISING = "recognising"
    READY = "ready"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Document:
    """One uploaded PDF; ``id`` is the SHA-256 of its bytes, ``name`` is for display and may change."""

    id: str
    name: str
    byte_size: int
    page_count: int
    passage_count: int
    added_at: str
    status: DocumentStatus
    searchable: bool = False
    """Its text is in the keyword index; embeddings and OCR may still be on the way."""
    message: str = ""
    """What is being done, or what went wrong and what to do."""
    notes: tuple[str, ...] = ()
    """Plain statements about what was and was not read (XFA form, portfolio, pages to look at)."""
    metadata: tuple[MetadataField, ...] = ()
    owner: str = "local"


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrievable stretch of one page's text: ``text`` is ``page.text[start:end]``."""

    id: str
    document_id: str
    page_index: int
    page_label: str
    text: str
    start: int
    end: int
    heading_path: tuple[str, ...] = ()
    boxes: tuple[Box, ...] = ()
    context: str = ""
    """What is indexed with the text but never quoted: document title, heading path, column heads."""


def document_of(passage_id: str) -> str:
    """The document that a passage's id belongs to."""
    return passage_id.partition(":")[0]


def page_of(passage_id: str) -> tuple[str, int]:
    """The document and the page position that a passage's id belongs to."""
    document_id, page_index, _ = passage_id.rsplit(":", 2)
    return document_id, int(page_index)


# ---------------------------------------------------------------- search


class Intent(StrEnum):
    CHAT = "chat"
    DOCUMENT_SEARCH = "document_search"
    TARGETED_SEARCH = "targeted_search"
    SURVEY = "survey"


class Mode(StrEnum):
    AUTO = "auto"
    DOCUMENTS = "documents"
    CHAT = "chat"


@dataclass(frozen=True, slots=True)
class SubQuery:
    """One thing to look for, with other wordings of it."""

    text: str
    variations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """What the rewriter makes of a question."""

    question: str
    standalone_question: str
    sub_queries: tuple[SubQuery, ...]
    entities: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    time_ranges: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()
    """Target documents (@mentioned or named); empty: every document of the scope."""
    wanted_sections: tuple[str, ...] = ()
    wanted_pages: tuple[str, ...] = ()
    """Printed labels or positions that the question names ("page 12", "slide 5")."""
    attempt: int = 0
    notes: tuple[str, ...] = ()
    """What was changed and why, for the trace."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage on its way through the retriever, with every score it got, by stage name."""

    passage: Passage
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage chosen for the answer; ``number`` is what citation markers like [2] point to (1-based)."""

    number: int
    passage: Passage
    document_name: str
    scores: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    """Why it was taken: "search", "neighbour", "opening of a targeted document"."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What the retriever found: evidence in prompt order, the rankings it came from, and what was left out."""

    evidence: tuple[Evidence, ...]
    rankings: Mapping[str, tuple[Candidate, ...]] = field(default_factory=dict)
    """Stage name (keyword, dense, fused, reranked, packed) → candidates, best first."""
    left_out: tuple[str, ...] = ()
    reranker: str = ""
    score_floor: float = 0.0
    notes: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    """What people are told of this search: what it could not do, and how the question was taken."""


# ---------------------------------------------------------------- answers and verdicts


@dataclass(frozen=True, slots=True)
class Span:
    start: int
    end: int


class PartKind(StrEnum):
    PROSE = "prose"
    """Written by a model or a person."""
    VERBATIM = "verbatim"
    """Copied from a page, character for character, white space included."""
    DECLINE = "decline"
    """Says, by the engine's own decision, that the documents do not answer."""


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """A stretch of an answer and the numbers of the evidence cited at its end; its text holds no marker of ours."""

    text: str
    numbers: tuple[int, ...] = ()
    kind: PartKind = PartKind.PROSE


@dataclass(frozen=True, slots=True)
class Citation:
    """A pointer from a claim to evidence; ``quotation`` is ``page.text[start:end]``, found there by code."""

    number: int
    document_id: str
    document_name: str
    page_index: int
    page_label: str
    passage_id: str
    quotation: str
    start: int
    end: int


class ClaimStatus(StrEnum):
    SUPPORTED = "supported"
    PARTLY_SUPPORTED = "partly supported"
    UNSUPPORTED = "unsupported"
    CONTRADICTED = "contradicted"
    SOURCE_REMOVED = "source removed"
    """Only ever derived when an answer is shown: what it quotes no longer stands where it stood."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One checkable statement; its positions are in the texts of the answer's parts, put one behind the other."""

    text: str
    start: int
    end: int
    status: ClaimStatus
    reason: str = ""
    citations: tuple[int, ...] = ()
    quotation: Citation | None = None
    """The best supporting (or contradicting) quotation."""


@dataclass(frozen=True, slots=True)
class Score:
    """A figure between 0 and 1 and its reason in one line."""

    value: float
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's finding on one draft."""

    claims: tuple[Claim, ...]
    faithfulness: Score
    relevance: Score
    completeness: Score
    citation_validity: Score
    overall: float
    confidence: float
    """Calibrated probability that the answer is right to rely on."""
    accepted: bool
    reasons: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    """What a retry should look for."""
    question_back: str = ""
    critic: str = ""
    """Which critic ran, or why none did."""
    declined: bool = False
    """The answer says that the documents do not say."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One pass of generator and judge; the best one by verdict is kept."""

    number: int
    answer: str
    citations: tuple[Citation, ...]
    verdict: Verdict | None
    plan: SearchPlan | None = None
    evidence: tuple[Evidence, ...] = ()
    parts: tuple[AnswerPart, ...] = ()


# ---------------------------------------------------------------- sessions, turns, traces, reviews


@dataclass(frozen=True, slots=True)
class Session:
    id: str
    title: str
    created_at: str
    updated_at: str
    document_ids: tuple[str, ...] = ()
    """The chosen set; empty: all documents. It stays chosen when its documents go, and never turns into all."""
    owner: str = "local"


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


class TurnStatus(StrEnum):
    RUNNING = "running"
    ANSWERED = "answered"
    FLAGGED = "flagged for review"
    REVIEWED = "reviewed"
    STOPPED = "stopped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    UNREADABLE = "unreadable"
    """What is stored of it is damaged; it is never written again."""


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
    finished_at: str = ""
    intent: Intent | None = None
    asked: str = ""
    """The question as it was searched and judged: mentions resolved, what it leans on put in."""
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
    owner: str = "local"


@dataclass(frozen=True, slots=True)
class TurnSnapshot:
    """What a page sees of a turn at one moment: immutable, published by the worker."""

    turn: Turn
    steps: tuple[str, ...] = ()
    """What is being and was done, in plain words ("Searching 3 documents…"), newest last."""
    draft: tuple[AnswerPart, ...] = ()
    """What was streamed so far in the current attempt."""

    @property
    def running(self) -> bool:
        return self.turn.status is TurnStatus.RUNNING


# ---------------------------------------------------------------- ingest and health


class JobStage(StrEnum):
    PARSE = "reading pages"
    KEYWORDS = "indexing words"
    EMBED = "embedding"
    OCR = "recognising scanned pages"


class JobStatus(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Job:
    """A resumable piece of ingest: one document's whole way to being ready."""

    id: int
    document_id: str
    stage: JobStage
    status: JobStatus
    done: int
    total: int
    """Units of the current stage (pages or passages)."""
    message: str = ""
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One line of `pincite doctor` and of the settings page."""

    part: str
    ok: bool
    detail: str
    hint: str = ""
