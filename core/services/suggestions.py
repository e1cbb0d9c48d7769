"""Questions that a document really answers: made from its tables, terms and headings, each asked before it is shown."""

import logging
import re
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING

from pincite.core.documents.tables import find_tables
from pincite.core.domain.answers import AnswerPart
from pincite.core.domain.documents import Document
from pincite.core.domain.errors import PinciteError
from pincite.core.domain.presentation import Tier, present
from pincite.core.domain.search import Mode
from pincite.core.domain.turns import TraceStep, Turn, TurnStatus, now
from pincite.core.graph.build import build_graph
from pincite.core.graph.context import Equipment
from pincite.core.graph.state import TurnState
from pincite.core.models.client import stoppable
from pincite.core.search.stretches import title_of
from pincite.core.services.turns import CLOSING_SECONDS, answered, context_of
from pincite.core.text.marks import plain_text
from pincite.core.text.plain import flat

if TYPE_CHECKING:
    from pincite.core.store.library import Library

logger = logging.getLogger(__name__)

ABOUT = "What is this document about?"
WANTED = 3
MAX_TRIED = 9
"""Questions a document; each takes about a second of one processor."""
LONG = 4
"""Minimum number of pages of a document with a cover."""
MAX_PAGES = 40
MAX_PASSAGES = 400
MAX_PER_TABLE = 3
MIN_LENGTH, MAX_LENGTH = 3, 48
"""Characters of a label, a term or a heading that makes a question."""
WAIT_SECONDS = 0.5
_TERM = re.compile(r"(?:^|(?<=[\n.;] ))[“\"]([A-Z][^“”\"\n]{2,40})[”\"]", re.MULTILINE)
_BRACKETS = re.compile(r"\([^()]*\)")


@dataclass(frozen=True, slots=True)
class Suggestion:
    question: str
    document_id: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    """``holds``: what an answer must hold, or its citation, so that it answers this."""

    question: str
    holds: str
    page_index: int | None = None
    """The page that it must cite, where that is known."""


class _Silent:
    """Nobody watches a trial."""

    def step(self, text: str) -> None: ...

    def draft(self, parts: Sequence[AnswerPart]) -> None: ...

    def visited(self, step: TraceStep) -> None: ...


class Suggestions:
    """Looks for them in one thread of its own, while no question is being answered; kept in memory only."""

    def __init__(self, equipment: Callable[[], Equipment], busy: Callable[[], bool]) -> None:
        self._equipment = equipment
        self._busy = busy
        self._graph = build_graph()
        self._found: dict[tuple[str, int], tuple[Suggestion, ...]] = {}
        """By a document and how many passages it had."""
        self._wanted: list[Document] = []
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def of(self, documents: Sequence[Document]) -> tuple[Suggestion, ...]:
        """At most WANTED, of as many documents as there are; what nobody looked for yet is looked for from now on."""
        own = [self._found.get(_key(document), ()) for document in documents]
        with self._lock:
            self._wanted = [document for document in documents if _key(document) not in self._found]
            if self._wanted and self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._look, name="suggestions", daemon=True)
                self._thread.start()
        found = dict[str, Suggestion]()
        for one in filter(None, chain.from_iterable(zip_longest(*own))):
            found.setdefault(one.question, one)
        return tuple(found.values())[:WANTED]

    def known(self, documents: Sequence[Document]) -> bool:
        """Return whether all of them were looked through as they are now."""
        return all(_key(document) in self._found for document in documents)

    def forget(self, document_id: str) -> None:
        """Let go of what was made from a document that goes."""
        with self._lock:
            self._found = {key: found for key, found in self._found.items() if key[0] != document_id}

    def close(self) -> None:
        """Stop a trial between its words, and give up one that heeds nothing."""
        self._stop.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(CLOSING_SECONDS)

    def _look(self) -> None:
        while (document := self._next()) is not None:
            found: tuple[Suggestion, ...] = ()
            try:
                with stoppable(self._stop.is_set):
                    found = tuple(islice(self._answered(document), WANTED))
            except PinciteError as error:  # it went meanwhile, cannot be read, or Pincite closes
                logger.info("No questions are suggested for %s: %s", document.id[:8], error)
            except Exception:  # the thread's outermost frame: a fault goes to the log, and nobody waits for ever
                logger.exception("Looking for questions to suggest failed")
            self._found[_key(document)] = found

    def _next(self) -> Document | None:
        """Return the documents to search, and forget removed ones."""
        here = {document.id for document in self._equipment().library.list()} if not self._stop.is_set() else set()
        with self._lock:
            self._found = {key: found for key, found in self._found.items() if key[0] in here}
            self._found |= {_key(one): () for one in self._wanted if one.id not in here}
            left = [one for one in self._wanted if _key(one) not in self._found]
            if not left:
                self._thread = None
            return left[0] if left else None

    def _answered(self, document: Document) -> Iterator[Suggestion]:
        for candidate in islice(_candidates(document, self._equipment().library), MAX_TRIED):
            while self._busy():
                if self._stop.wait(WAIT_SECONDS):
                    return
            if self._stop.is_set():
                return
            if self._answers(candidate, document.id):
                yield Suggestion(candidate.question, document.id)

    def _answers(self, candidate: _Candidate, document_id: str) -> bool:
        """Whether quoting alone answers it from this document, without a warning and with what it was made from."""
        equipment = self._equipment()
        state = TurnState(candidate.question, Mode.DOCUMENTS, (document_id,), fresh=True, alone=True)
        quoting = equipment.choose_engine("quoting")
        context = context_of(equipment, quoting, _Silent(), self._stop.is_set)
        turn = Turn(
            id=uuid.uuid4().hex, session_id="", position=0, question=candidate.question, mode=state.mode,
            document_ids=state.document_ids, scope=state.document_ids, engine=quoting.name,
            status=TurnStatus.RUNNING, started_at=now(),
        )  # fmt: skip
        turn = answered(turn, TurnState(**self._graph.invoke(state, context=context)))
        texts = [plain_text(turn.parts), *(citation.quotation for citation in turn.citations)]
        whole = turn.status is TurnStatus.ANSWERED and present(turn).tier is Tier.ANSWERED and turn.citations
        at_place = candidate.page_index in (None, *(citation.page_index for citation in turn.citations))
        holds = re.compile(rf"(?<![\w.,]){re.escape(flat(candidate.holds).casefold())}(?!\w|[.,]\d)")
        return bool(whole) and at_place and any(holds.search(flat(text).casefold()) for text in texts)


def _candidates(document: Document, library: "Library") -> Iterator[_Candidate]:
    """What it is about, then sections and terms in turn, and cells of tables where there are few of these."""
    english = any(field.name == "language" and field.value.startswith("en") for field in document.metadata)
    # what asks for a term or a section is understood in English only
    kinds = [_of_headings(document, library), _of_terms(document, library)] if english else []
    seen = set[str]()
    for candidate in chain([_Candidate(ABOUT, "")], *zip_longest(*kinds), _of_tables(document, library)):
        if candidate is not None and candidate.question not in seen:
            seen.add(candidate.question)
            yield candidate


def _of_tables(document: Document, library: "Library") -> Iterator[_Candidate]:
    """Yield a cell of each table, by the words of its row and its column."""
    pages = library.pages(document.id, range(min(document.page_count, MAX_PAGES)))
    for table in find_tables(document.id, pages):
        candidates = [
            _Candidate(f"{row}: {column}?", cell.text)
            for cell in table.body
            if cell.value is not None
            and _fits(row := table.rows[cell.row].label)
            and _fits(column := _BRACKETS.sub("", table.columns[cell.column].label).strip())
        ]
        yield from candidates[:: max(1, len(candidates) // MAX_PER_TABLE)][:MAX_PER_TABLE]


def _of_terms(document: Document, library: "Library") -> Iterator[_Candidate]:
    """Return the term in quotation marks at the beginning of a sentence."""
    for passage in library.opening_passages(document.id, MAX_PASSAGES):
        for term in _TERM.findall(passage.text):
            yield _Candidate(f"What does “{term}” mean?", term)


def _of_headings(document: Document, library: "Library") -> Iterator[_Candidate]:
    """Return section titles: those of the outline, else headings, without those on the cover of a long document."""
    pages, outline = dict[str, int](), {flat(entry.title) for entry in library.outline(document.id)}
    cover = 0 if document.page_count >= LONG else -1
    for passage in library.opening_passages(document.id, MAX_PASSAGES):
        if len(passage.heading_path) > 1 or passage.heading_path[:1] not in ((), (document.title,)):
            pages.setdefault(passage.heading_path[-1], passage.page_index)
    for heading, page_index in pages.items():
        if (flat(heading) not in outline) if outline else page_index == cover:
            continue
        if _fits(name := title_of(heading)):
            yield _Candidate(f"What does the section “{name}” say?", "", page_index)


def _fits(label: str) -> bool:
    return MIN_LENGTH <= len(label) <= MAX_LENGTH and "\n" not in label and not label.isdigit()


def _key(document: Document) -> tuple[str, int]:
    return document.id, document.passage_count
