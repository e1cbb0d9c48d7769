"""An answer, its citations and claims, and the judge's verdict on it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pincite.core.domain.documents import PageKey
from pincite.core.domain.figures import Computation, Figure
from pincite.core.domain.keys import Key
from pincite.core.domain.search import Evidence, SearchPlan


@dataclass(frozen=True, slots=True)
class Span:
    start: int
    end: int


class PartKind(Key):
    PROSE = "prose"
    """Written by a model or a person."""
    HEADLINE = "headline"
    """The few words of a page that answer, copied like VERBATIM; what follows proves them."""
    VERBATIM = "verbatim"
    """Copied from a page, character for character, white space included."""
    YES_NO = "yes_or_no"
    """In answers that are stored from earlier versions; none is written any more."""
    FIGURE = "figure"
    """Made by code from the ``figures`` it carries: the cell of a table in words, or what is computed from some."""
    COUNT = "count"
    """In answers that are stored from earlier versions; none is written any more."""
    DECLINE = "decline"
    """States, by the engine's own decision, that the documents do not answer."""
    NOTE = "note"
    """States how far the quotations before it go, or where those behind it are; it claims nothing of the documents."""
    EVIDENCE = "evidence"
    """Opens a list of passages, which is shown where no answer is sure and claims nothing."""


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """A stretch of an answer and the numbers of the evidence cited at its end; its text holds no marker of ours."""

    text: str
    numbers: tuple[int, ...] = ()
    kind: PartKind = PartKind.PROSE
    start: int | None = None
    """For copied text: its span in the cited passage; None: the first occurrence."""
    probability: float | None = None
    """On one part of an answer: that the whole answer is right, by the engine that gave it."""
    figures: tuple[Figure, ...] = ()
    """Figures that a FIGURE part states or is computed from."""
    computation: Computation | None = None
    """Computation of a FIGURE part; None if it states its figures."""
    marked: tuple[Span, ...] = ()
    """For a listed passage: the span of its likeliest words."""

    @property
    def verbatim(self) -> bool:
        return self.kind in (PartKind.HEADLINE, PartKind.VERBATIM)


def separated(parts: Iterable[AnswerPart]) -> Iterator[AnswerPart]:
    """Yield the parts of an answer as paragraphs of their own."""
    for position, part in enumerate(parts):
        if position:
            yield AnswerPart("\n\n")
        yield part


def engine_declines(parts: Sequence[AnswerPart]) -> bool:
    """Return whether the engine gives a probability that nothing answers; what it quotes then is no answer."""
    return bool(parts) and parts[0].kind is PartKind.DECLINE and parts[0].probability is not None


def is_prose(parts: Sequence[AnswerPart]) -> bool:
    """Return whether a language model or a person wrote any of it."""
    return any(part.kind is PartKind.PROSE and part.text.strip() for part in parts)


def lists_passages(parts: Sequence[AnswerPart]) -> bool:
    """Return whether passages are shown as evidence, and nothing is answered."""
    return bool(parts) and parts[0].kind is PartKind.EVIDENCE and not is_prose(parts)


@dataclass(frozen=True, slots=True)
class ListedPassage:
    """A passage of a list: a line with its place, and its words (or that nothing was found there)."""

    where: str
    parts: tuple[AnswerPart, ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(number for part in self.parts for number in part.numbers))


def listed_passages(parts: Sequence[AnswerPart]) -> tuple[ListedPassage, ...]:
    """Return the passages that are shown where no answer is sure."""
    found: list[ListedPassage] = []
    for part in (part for part in parts if part.text.strip()):
        if part.kind is PartKind.EVIDENCE:
            continue
        starts = part.kind in (PartKind.NOTE, PartKind.DECLINE)
        last = found[-1] if found else None
        if part.kind is PartKind.NOTE and last and not last.parts:
            found[-1] = ListedPassage(f"{last.where} {part.text}", ())
        elif starts or last is None:
            found.append(ListedPassage(part.text, ()))
        else:
            found[-1] = ListedPassage(last.where, (*last.parts, part))
    return tuple(found)


class Likeness(Key):
    """Whether a page's picture shows the words of its file."""

    AGREES = "agrees"
    DIFFERS = "differs"
    UNKNOWN = "could_not_be_read"


@dataclass(frozen=True, slots=True)
class ReadBack:
    """Text recognised in the page's picture at a quotation."""

    likeness: Likeness
    recognised: str = ""
    """Lines that differ."""
    of_file: bool = False
    """The text of the file that the page was made from was compared, and the picture shows no difference from it."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A pointer from a claim to evidence; ``quotation`` is ``page.text[start:end]``, found there by code."""

    number: int
    document_id: str
    document_name: str
    page_index: int
    page_label: str
    quotation: str
    start: int
    end: int
    read_back: ReadBack | None = None
    """None: nobody has looked."""

    @property
    def page(self) -> PageKey:
        return self.document_id, self.page_index


@dataclass(frozen=True, slots=True)
class Usage:
    """Cost of one answer of a language model: tokens as its server counts them, and the wait for its first word."""

    prompt_tokens: int
    context_tokens: int
    """Size of the context window in tokens."""
    first_word_seconds: float
    passages: int = 0
    """Sent to it."""
    left_out: int = 0
    """Found and not sent, so that the wait stays short."""


class ClaimStatus(Key):
    SUPPORTED = "supported"
    SEARCHED = "searched"
    """For a claim that something is absent: it was searched for, and there is nothing to quote."""
    NOT_CHECKED = "not_checked"
    """Its words were found on the page; no checker compared their meaning."""
    PARTLY_SUPPORTED = "partly_supported"
    UNSUPPORTED = "unsupported"
    CONTRADICTED = "contradicted"
    SOURCE_REMOVED = "source_removed"
    """Only ever derived when an answer is shown: what it quotes is no longer in its place."""


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
    confidence: float
    """Calibrated probability that the answer is right to rely on."""
    accepted: bool
    reasons: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    """Search terms for a retry."""
    question_back: str = ""
    critic: str = ""
    """Which critic ran, or why none did."""
    declined: bool = False
    """The answer is that the documents do not contain one."""
    answered: float | None = None
    """The probability that the evidence answers, where prose was weighed by it."""
    read: float | None = None
    """The probability that what code reads off the evidence is the answer, where that was weighed too."""
    calibrated: bool = True
    """Whether answers of this kind were among those that the confidence was fitted on."""


class Form(StrEnum):
    """Kind of a reply."""

    ANSWER = "answer"
    EVIDENCE = "evidence"
    """No answer is sure: the most relevant passages are listed."""
    NOT_FOUND = "not_found"


def form_of(parts: Sequence[AnswerPart], verdict: Verdict | None) -> Form:
    if lists_passages(parts):
        return Form.EVIDENCE
    declines = engine_declines(parts) or (verdict is not None and verdict.declined)
    return Form.NOT_FOUND if declines else Form.ANSWER


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
