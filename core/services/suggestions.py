"""Questions that a document answers: of its type, its terms, headings and tables; each is asked before it is shown."""

import logging
import re
import threading
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, TypeAlias

from pincite.core.documents.tables import find_tables
from pincite.core.domain.answers import Form
from pincite.core.domain.documents import Document
from pincite.core.domain.errors import PinciteError
from pincite.core.domain.presentation import Tier, present
from pincite.core.domain.settings import PACKAGE_ROOT
from pincite.core.domain.turns import TurnStatus
from pincite.core.graph.build import build_graph
from pincite.core.graph.context import Equipment
from pincite.core.models.client import stoppable
from pincite.core.search.stretches import title_of
from pincite.core.services.turns import CLOSING_SECONDS, asked_alone
from pincite.core.text.marks import plain_text
from pincite.core.text.plain import flat

if TYPE_CHECKING:
    from pincite.core.store.library import Library

logger = logging.getLogger(__name__)

ABOUT = "What is this document about?"
_Key: TypeAlias = tuple[str, int]
WANTED = 3
MAX_TRIED = 9
"""Questions tried for each document; each takes about a second of one processor."""
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


class Suggestions:
    """Tries questions in one thread, while no answer is written; what is found is kept in memory."""

    def __init__(self, equipment: Callable[[], Equipment], busy: Callable[[], bool], library: "Library") -> None:
        self._equipment = equipment
        self._busy = busy
        self._library = library
        self._graph = build_graph()
        self._found: dict[_Key, list[Suggestion]] = {}
        self._trials: dict[_Key, Iterator[Suggestion | None]] = {}
        self._turns: dict[_Key, int] = {}
        """Number of questions tried."""
        self._searched = set[_Key]()
        """Documents of which no more questions are tried."""
        self._wanted: list[Document] = []
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def of(self, documents: Sequence[Document]) -> tuple[Suggestion, ...]:
        """Return at most WANTED questions, of as many documents as possible, and look for more if they are fewer."""
        here = self._here(documents)
        with self._lock:
            own = [list(self._found.get(_key(document), ())) for document in here]
            self._wanted = here
            if not self._is_known(here) and self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._look, name="suggestions", daemon=True)
                self._thread.start()
        found = dict[str, Suggestion]()
        for one in filter(None, chain.from_iterable(zip_longest(*own))):
            found.setdefault(one.question, one)
        return tuple(found.values())[:WANTED]

    def known(self, documents: Sequence[Document]) -> bool:
        """Return whether no more questions are looked for: there are enough, or all documents were searched."""
        return self._is_known(self._here(documents))

    def _is_known(self, documents: Sequence[Document]) -> bool:
        enough = len({one.question for document in documents for one in self._found.get(_key(document), ())}) >= WANTED
        return enough or all(_key(document) in self._searched for document in documents)

    def _here(self, documents: Sequence[Document]) -> list[Document]:
        """Return those that are still in the library."""
        here = {document.id for document in self._library.list()}
        return [document for document in documents if document.id in here]

    def forget(self, document_id: str) -> None:
        """Delete the questions of a removed document."""
        with self._lock:
            self._found = {key: found for key, found in self._found.items() if key[0] != document_id}
            self._searched = {key for key in self._searched if key[0] != document_id}
            self._trials = {key: trials for key, trials in self._trials.items() if key[0] != document_id}

    def close(self) -> None:
        """Stop a trial between its words; wait a limited time for it."""
        self._stop.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(CLOSING_SECONDS)

    def _look(self) -> None:
        """Try one question of each document in turn, so that the first questions are of different documents."""
        try:
            while (document := self._next()) is not None:
                self._try_one(document)
        except Exception:  # the thread's outermost frame; what raised it gives no more questions
            logger.exception("Looking for questions to suggest failed")
        finally:
            with self._lock:
                self._thread = None

    def _try_one(self, document: Document) -> None:
        key, one = _key(document), None
        with self._lock:
            trials = self._trials.setdefault(key, self._tried(document))
        try:
            with stoppable(self._stop.is_set):
                one = next(trials)
            ended = False
        except StopIteration:
            ended = True
        except PinciteError as error:  # the document was removed, cannot be read, or Pincite closes
            logger.info("No more questions are suggested for %s: %s", document.id[:8], error)
            ended = True
        with self._lock:
            if key not in self._trials:  # the document was removed meanwhile
                return
            if ended:
                self._searched.add(key)
            elif one is not None:
                self._found.setdefault(key, []).append(one)
            self._turns[key] = self._turns.get(key, 0) + 1

    def _next(self) -> Document | None:
        """Return the document with the fewest tried questions; None if no more are to be tried."""
        if self._stop.is_set():
            return None
        with self._lock:
            wanted = self._wanted
        here = self._here(wanted)
        with self._lock:
            left = [] if self._is_known(here) else [one for one in here if _key(one) not in self._searched]
            return min(left, key=lambda one: self._turns.get(_key(one), 0), default=None)

    def _tried(self, document: Document) -> Iterator[Suggestion | None]:
        """Yield each question that the document answers, None for each that it does not."""
        for candidate in _candidates(document, self._library):
            while self._busy():
                if self._stop.wait(WAIT_SECONDS):
                    return
            if self._stop.is_set():
                return
            answers = self._answers(candidate, document.id)
            yield Suggestion(candidate.question, document.id) if answers else None

    def _answers(self, candidate: _Candidate, document_id: str) -> bool:
        """Whether quoting alone answers it from this document, without a warning and with what it was made from."""
        turn = asked_alone(self._graph, self._equipment(), candidate.question, document_id, self._stop.is_set)
        texts = [plain_text(turn.parts), *(citation.quotation for citation in turn.citations)]
        shown = present(turn)
        sure = shown.form is Form.ANSWER and shown.tier is Tier.ANSWERED
        whole = turn.status is TurnStatus.ANSWERED and sure and turn.citations
        at_place = candidate.page_index in (None, *(citation.page_index for citation in turn.citations))
        holds = re.compile(rf"(?<![\w.,]){re.escape(flat(candidate.holds).casefold())}(?!\w|[.,]\d)")
        held = not candidate.holds or any(holds.search(flat(text).casefold()) for text in texts)
        return bool(whole) and at_place and held


def common_questions(documents: Sequence[Document], library: "Library") -> list[str]:
    """Return the questions on types, terms and headings that at least half of the documents have, commonest first."""
    counts = Counter[str]()
    for document in documents:
        typical, kinds = _typical(document, ""), _of_own_words(document, library)
        counts.update(list(dict.fromkeys([*typical, *(one.question for one in chain.from_iterable(kinds))])))
    needed = max(2, -(-len(documents) // 2))
    return [question for question, count in counts.most_common() if count >= needed]


def _language(document: Document) -> str:
    return next((field.value for field in document.metadata if field.name == "language"), "")[:2]


def _typical(document: Document, otherwise: str) -> list[str]:
    """Return the questions of the document's type, or of another where its own has none."""
    kind = next((field.value for field in document.metadata if field.name == "document type"), "")
    by_type = _questions().get(_language(document), {})
    return by_type.get(kind, by_type.get(otherwise, []))


def _of_own_words(document: Document, library: "Library") -> list[Iterator[_Candidate]]:
    """Return what asks for a term or a section, which is understood in English only."""
    english = _language(document) == "en"
    return [_of_terms(document, library), _of_headings(document, library)] if english else []


def _candidates(document: Document, library: "Library") -> Iterator[_Candidate]:
    """Yield questions of the document's type and of its own words in turn, then what it is about."""
    typical, kinds = _typical(document, "any"), _of_own_words(document, library)
    own = chain(filter(None, chain.from_iterable(zip_longest(*kinds))), _of_tables(document, library))
    others = filter(None, chain.from_iterable(zip_longest((_Candidate(one, "") for one in typical), own)))
    seen = set[str]()
    for candidate in chain(islice(others, MAX_TRIED - 1), [_Candidate(ABOUT, "")]):
        if candidate.question not in seen:
            seen.add(candidate.question)
            yield candidate


@cache
def _questions() -> dict[str, dict[str, list[str]]]:
    """Return the questions of each type of document, by language."""
    return tomllib.loads((PACKAGE_ROOT / "data" / "suggestions.toml").read_text(encoding="utf-8"))


def _of_tables(document: Document, library: "Library") -> Iterator[_Candidate]:
    """Yield a cell of each table, by the words of its row and its column."""
    pages = library.pages(document.id, range(min(document.page_count, MAX_PAGES)))
    for table in find_tables(document.id, pages):
        candidates = [
            _Candidate(f"What does the table give for “{row}” under “{column}”?", cell.text)
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
            yield _Candidate(f"What does it say about “{name}”?", "", page_index)


def _fits(label: str) -> bool:
    return MIN_LENGTH <= len(label) <= MAX_LENGTH and "\n" not in label and not label.isdigit()


def _key(document: Document) -> _Key:
    """Return the document and its number of passages, which changes when it is read again."""
    return document.id, document.passage_count
