"""The few Protocols that separate Pincite's logic from the libraries behind it.

A port's contract suite, run on every adapter, is in tests/contracts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pincite.core.domain.answers import AnswerPart, Usage
from pincite.core.domain.documents import OutlineEntry, Page, PageKey, Passage
from pincite.core.domain.questions import Kind
from pincite.core.domain.search import Candidate, Evidence, Intent, SearchPlan

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    """``user`` or ``assistant``."""
    text: str


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """Everything an engine may use for one answer. ``critique`` is what the judge found wrong with the last draft."""

    question: str
    intent: Intent
    evidence: tuple[Evidence, ...] = ()
    history: tuple[Message, ...] = ()
    critique: tuple[str, ...] = ()
    hint: str = ""
    """Remark of a reviewer that the answer should follow."""
    instructions: str = ""
    """How to write answers about the collection."""
    library_is_empty: bool = False
    stated: tuple[AnswerPart, ...] = ()
    """FIGURE parts from tables of the evidence's pages, likeliest first."""
    absent: tuple[str, ...] = ()
    """Words of the question that are in no passage searched."""
    read_otherwise: str = ""
    """Other reading of a follow-up: alone if ``question`` joins it with the question before, else joined."""
    draws: bool = False
    """It asks for a chart."""
    reworded: str = ""
    """The answer to write in another form, with its markers."""
    pieces: tuple["AskedPiece", ...] = ()
    """The separate questions of one that asks several things; empty where it asks one."""
    of_each: bool = False
    """The pieces ask documents that the question does not name: perhaps those that do not answer are not meant."""
    selects: bool = False
    """It asks which of these documents are within a limit."""
    kind: Kind = Kind.EXPLANATION


@dataclass(frozen=True, slots=True)
class AskedPiece:
    """One of several questions, with what there is to answer it from."""

    asked: str
    readings: tuple[str, ...]
    """The ways in which it can be read, its own words first."""
    evidence: tuple[Evidence, ...]
    stated: tuple[AnswerPart, ...] = ()
    name: str = ""
    """Name of the document, if the question is asked of several."""


class ChatModel(Protocol):
    """Writes answers from numbered evidence."""

    @property
    def name(self) -> str: ...

    @property
    def writes_prose(self) -> bool:
        """Return False for quoting, which only repeats the documents' words."""

    @property
    def context_characters(self) -> int:
        """Return the number of characters of evidence that fit next to question, history and answer."""

    @property
    def readable_characters(self) -> int:
        """Return the number of these characters that it reads within an acceptable wait for the first word."""

    @property
    def usage(self) -> Usage | None:
        """Return the usage of the last answer; None if it is unknown."""

    def answer(self, request: AnswerRequest, stopped: Callable[[], bool]) -> Iterator[str | AnswerPart]:
        """Yield the answer piece by piece; return early once ``stopped()`` is true.

        A text is prose, in which markers like [2] point to evidence numbers; nothing is read out of a part. What a
        model thinks first comes before its prose, between <think> and </think>.

        Raises ModelUnavailableError or ModelInterruptedError.
        """

    @property
    def notices(self) -> tuple[str, ...]:
        """Plain remarks on the last answer: the server cut the prompt, the answer hit its length limit."""

    def structured(self, instructions: str, content: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return a reply that fits the JSON schema; None when the engine cannot or the reply did not fit."""

    def of_last_answer(self, question: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Ask again in the conversation of its last answer, so that the model does not read the evidence twice."""


@runtime_checkable
class PictureModel(Protocol):
    """A model that describes pictures."""

    @property
    def name(self) -> str: ...

    def describe(self, picture: bytes, instructions: str, stopped: Callable[[], bool]) -> str:
        """Return what it writes about a PNG. Raises ModelUnavailableError, also where it does not see pictures."""


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of passages: shape (len(texts), dimensions), float32, each row of length 1."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of questions, which some models embed differently from passages."""


class PassageIndex(Protocol):
    """Vectors by passage id, filtered by document. ``document_ids`` empty: all documents."""

    def search(self, vector: Vectors, *, document_ids: Sequence[str], limit: int) -> list[tuple[str, float]]:
        """(passage id, cosine similarity), best first."""

    def lacking(self, document_ids: Sequence[str]) -> int:
        """Passages without a vector, which no search by meaning finds."""


class KeywordIndex(Protocol):
    """Words by passage id, filtered by document."""

    def add(self, passages: Sequence[Passage]) -> None: ...

    def prepare(self, passages: Sequence[Passage]) -> Callable[[], None]:
        """Take the passages' words apart now; what this returns adds them, and only writes."""

    def forget(self, document_id: str, page_index: int) -> None:
        """Remove the words of a page, while its passages are still there."""

    def indexed(self, document_id: str) -> set[str]:
        """Return the ids of the document's passages whose words are there."""

    def search(self, query: str, *, document_ids: Sequence[str], limit: int) -> list[tuple[str, float]]:
        """(passage id, BM25 score, larger is better), best first; any of the query's words may match."""

    def is_sound(self) -> bool:
        """Return whether it is undamaged and has exactly the passages of the library."""

    def absent(self, words: Sequence[str], *, document_ids: Sequence[str]) -> list[str]:
        """Return the words, of those in Latin letters, that begin like no word of these documents' passages."""


class Reranker(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def floors(self) -> tuple[float, float]:
        """The scores below which a passage is no evidence, on this reranker's own scale: at first, and on a retry."""

    def rate(
        self,
        plan: SearchPlan,
        candidates: Sequence[Candidate],
        pages: Mapping[PageKey, Sequence[Passage]],
        page_counts: Mapping[str, int],
    ) -> list[Candidate]:
        """Return the candidates in their order, each with one more score, ``reranked``: its relevance between 0 and 1.

        ``pages`` holds all passages of the candidates' pages, ``page_counts`` the length of each document. The scores
        may also contain what this one was made of.
        """


@dataclass(frozen=True, slots=True)
class PdfInfo:
    """Facts about a document before its pages are read."""

    page_count: int
    outline: tuple[OutlineEntry, ...]
    fields: Mapping[str, str]
    """Its own metadata: title, author, subject, created, producer."""
    notes: tuple[str, ...] = ()


class PageReader(Protocol):
    """Reads documents. What it cannot read it names; it never stops at one page."""

    def open(self, path: Path) -> PdfInfo:
        """Raises a DocumentError: not a PDF, empty, password needed, unreadable, reader stopped."""

    def read(self, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
        """Yield every asked page in order; one that cannot be read comes as FAILED with its reason."""

    def recognise(self, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
        """Yield the pages as OCR reads them."""

    def render(self, path: Path, page_index: int, *, width: int) -> bytes:
        """The page as a PNG, ``width`` pixels wide. Raises a DocumentError."""

    def lines(self, path: Path, page_index: int, boxes: Sequence[Sequence[float]]) -> list[str]:
        """Return the text of the picture in each box, a line: left, top, right, bottom (fractions), turns by 90°.

        Empty where it cannot be read. Raises a DocumentError.
        """

    def own_text(self, path: Path) -> list[str]:
        """Return the text of the file that a PDF was made from, one string per paragraph, also of cells.

        Empty for any other PDF. Raises a DocumentError.
        """

    def save_as_pdf(self, path: Path, password: str, target: Path, name: str = "") -> list[tuple[str, bytes]]:
        """Write a PDF that opens without a password, of a locked PDF or a file of another format.

        ``name``: how the file is called, if not as its path. Returns the files attached to an e-mail, by name. Raises a
        DocumentError: PasswordNeededError for a wrong password.
        """
