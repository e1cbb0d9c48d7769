"""Grids: their cells are answered in the background, each as a question to one document, and by people."""

import logging
import math
import re
import threading
import time
import tomllib
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from pincite.core.answers.extracted import MAX_QUESTIONS, Unclear, extracted
from pincite.core.answers.limits import TYPED as TYPED
from pincite.core.answers.limits import limit_in
from pincite.core.answers.limits import selected as selected
from pincite.core.answers.typed import cell_of, fits
from pincite.core.domain.documents import Document, DocumentStatus
from pincite.core.domain.errors import GridError, PinciteError, UnknownGridError
from pincite.core.domain.grids import (
    MAX_COLUMNS,
    MAX_NAME_LENGTH,
    Cell,
    CellState,
    Column,
    ColumnKind,
    FilledGrid,
    Grid,
    GridTemplate,
)
from pincite.core.domain.ports import ChatModel
from pincite.core.domain.questions import Kind
from pincite.core.domain.search import Evidence
from pincite.core.domain.settings import PACKAGE_ROOT
from pincite.core.domain.turns import Turn
from pincite.core.export.grids import FORMS
from pincite.core.graph.build import build_graph
from pincite.core.graph.context import Equipment
from pincite.core.models.client import stoppable
from pincite.core.questions.utterances import asks_of_each, date_role_of, nearest_of
from pincite.core.questions.wording import kind_of
from pincite.core.services.suggestions import common_questions
from pincite.core.services.turns import CLOSING_SECONDS, asked_alone
from pincite.core.text.plain import shortened

if TYPE_CHECKING:
    from pincite.core.store.grids import GridStore
    from pincite.core.store.library import Library
    from pincite.core.store.locks import WorkLock

logger = logging.getLogger(__name__)

Key: TypeAlias = tuple[str, str]
"""A cell's document and column."""
GridList: TypeAlias = list[Grid]
ReviewList: TypeAlias = list[tuple[Grid, Cell]]
WAIT_SECONDS, POLL_SECONDS = 0.5, 0.1
MAX_COLUMN_NAME, MAX_SUGGESTED = 60, 6
_QUOTED = re.compile(r"“([^“”]{1,60})”")
_KINDS = {Kind.DATE: ColumnKind.DATE, Kind.COUNT: ColumnKind.NUMBER, Kind.YES_OR_NO: ColumnKind.YES_NO,
          Kind.LIST: ColumnKind.LIST}  # fmt: skip
NOT_READABLE = "No text of the document could be read."


class Grids:
    """One thread asks the waiting cells of running grids, while no answer of a conversation is written."""

    def __init__(
        self,
        equipment: Callable[[], Equipment],
        busy: Callable[[], bool],
        library: "Library",
        store: "GridStore",
        basis_of: Callable[[Document, Column], str],
        work: "WorkLock",
        fill: Callable[[str], bool] | None = None,
    ) -> None:
        """``work`` is held by the process that fills grids.

        ``fill`` asks a waiting cell of a grid as its owner would, and returns whether one was asked.
        """
        self._fill_grid = fill or self.fill_some
        self._equipment = equipment
        self._busy = busy
        self._library = library
        self._store = store
        self._basis_of = basis_of
        self._work = work
        self._graph = build_graph()
        self._wanted: tuple[Key, ...] = ()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    # ------------------------------------------------------------ grids

    def list(self) -> GridList:
        return self._store.all()

    def find(self, name: str) -> Grid | None:
        """By name, whatever its case."""
        return next((one for one in self.list() if one.name.casefold() == name.strip().casefold()), None)

    def filled(self, grid_id: str) -> FilledGrid:
        """Return a grid with its cells. Raises GridError."""
        return self._store.filled(grid_id, self._documents())

    def create(
        self, name: str, columns: Sequence[Column], document_ids: Sequence[str], *, collection_id: str = ""
    ) -> Grid:
        """Store a grid and begin to fill it. Raises GridError."""
        if not document_ids:
            raise GridError("A grid needs documents.", hint="Choose a collection with documents, or add some.")
        grid = self._store.create(name, tuple(columns), document_ids, collection_id=collection_id)
        self.run(grid.id)
        return grid

    def create_from(self, turn: Turn) -> Grid:
        """Create a grid of the question of a turn, asked of each document that it was asked of. Raises GridError."""
        asked = dict.fromkeys(piece.asked for piece in turn.plan.pieces if piece.name) if turn.plan else {}
        questions = list(asked) or [turn.plan.standalone_question if turn.plan else turn.question]
        columns = [new_column(_name_of(one), one, _kind_of(one)) for one in questions]
        return self.create(shortened(turn.question)[:MAX_NAME_LENGTH], columns, asked_of(turn))

    def to_filter(self, turn: Turn) -> tuple[Grid, Column, str] | None:
        """Return the grid and the column that hold the values which a turn's limit selects from, and the limit.

        Of the columns of its kind in grids with all documents that were asked, the one that asks most alike.
        """
        if turn.plan is None or not turn.plan.selects:
            return None
        question, limit = turn.plan.standalone_question, limit_in(turn.plan.standalone_question)
        asked = {one for piece in turn.plan.pieces for one in piece.query.document_ids}
        asked = asked or set(turn.plan.document_ids or turn.document_ids)
        columns = [
            (grid, column)
            for grid in (self.list() if limit and asked else ())
            if asked <= set(grid.document_ids)
            for column in grid.columns
            if limit and column.kind in limit.kinds
        ]
        role = date_role_of(question)
        dated = [one for one in columns if one[1].kind is ColumnKind.DATE]
        if fitting := [one for one in dated if date_role_of(one[1].question) is role]:
            columns = [one for one in columns if one in fitting or one not in dated]
        if limit is None or not columns:
            return None
        grid, column = columns[nearest_of(question, [column.question for _, column in columns])]
        return grid, column, limit.value

    def rename(self, grid_id: str, name: str) -> None:
        self._store.rename(grid_id, name)

    def delete(self, grid_id: str) -> None:
        self._store.delete(grid_id)

    def set_columns(self, grid_id: str, columns: Sequence[Column]) -> None:
        """Replace the columns; those with a new question are asked again. Raises GridError."""
        before = {column.id: column for column in self._store.get(grid_id).columns}
        self._store.set_columns(grid_id, tuple(columns))
        changed = [
            one.id for one in columns if one.id in before and before[one.id] != replace(one, name=before[one.id].name)
        ]
        self._again(grid_id, lambda cell: cell.column_id in changed)

    def add_suggested_columns(self, grid_id: str) -> None:
        """Add columns for what at least half of the documents have in common. Raises GridError."""
        grid, documents = self._store.get(grid_id), self._documents()
        here = [documents[one] for one in grid.document_ids if one in documents]
        known = {text.casefold() for column in grid.columns for text in (column.question, column.name)}
        named = {_name_of(one).casefold(): one for one in reversed(common_questions(here, self._library))}
        questions = [one for name, one in reversed(named.items()) if known.isdisjoint((name, one.casefold()))]
        columns = [new_column(_name_of(one), one, _kind_of(one)) for one in questions[:MAX_SUGGESTED]]
        if not columns:
            hint = "Write questions of your own."
            raise GridError("These documents have nothing more in common that could be asked.", hint=hint)
        self.set_columns(grid_id, [*grid.columns, *columns][:MAX_COLUMNS])

    def set_documents(self, grid_id: str, document_ids: Sequence[str]) -> None:
        """Replace the rows and fill the new ones. Raises GridError."""
        self._store.set_documents(grid_id, document_ids)
        self.run(grid_id)

    # ------------------------------------------------------------ cells

    def run(self, grid_id: str) -> None:
        """Ask the waiting cells of a grid, also after a restart, until ``stop``."""
        self._store.set_running(grid_id, True)
        self.start()

    @property
    def is_at_work(self) -> bool:
        """Return whether this process fills grids, or waits to."""
        return self._thread is not None

    def stop(self, grid_id: str) -> None:
        self._store.set_running(grid_id, False)

    def is_running(self, grid_id: str) -> bool:
        return grid_id in self._store.running()

    def refresh(self, grid_id: str) -> None:
        """Ask again what ``is_outdated``."""
        self._again(grid_id, is_outdated)

    def ask_again(self, grid_id: str, key: Key) -> None:
        """Ask one cell again; also a value that a person entered is then replaced."""
        self._store.forget_cell(grid_id, key)
        self.want([key])
        self.run(grid_id)

    def want(self, keys: Iterable[Key]) -> None:
        """Ask these cells before others, such as those on screen."""
        self._wanted = tuple(keys)

    def correct(self, grid_id: str, key: Key, value: str) -> None:
        """Store a person's value; it is never replaced by the program's. Raises GridError."""
        column = self._store.get(grid_id).column(key[1])
        if column and value.strip() and not fits(column.kind, value):
            hint = "Write a date as 2026-03-15 (or 2026-03, or 2026), a number as 24 or 5 %."
            raise GridError(f"“{value.strip()[:60]}” is no {column.kind}.", hint=hint)
        cell = replace(self.filled(grid_id).cell(*key), value=value.strip(), detail="", confidence=None)
        state = CellState.FOUND if cell.value else CellState.NOT_STATED
        self._put(grid_id, replace(cell, state=state, by_person=True))

    def approve(self, grid_id: str, cell: Cell) -> None:
        """Store that a person agrees with the value that was shown, or with that none is stated."""
        state = CellState.FOUND if cell.value else CellState.NOT_STATED
        self._put(grid_id, replace(cell, state=state, by_person=True, detail="", confidence=None))

    def lock(self, grid_id: str, key: Key, locked: bool) -> None:
        """A locked value stays when cells are asked again; one that still waits cannot be locked."""
        self._store.set_locked(grid_id, key, locked)

    def send_to_review(self, grid_id: str, key: Key, why: str = "") -> None:
        """Mark a value as one that a person has to look at."""
        self._store.flag(grid_id, key, why)

    def to_review(self) -> ReviewList:
        """Return the values that a person has to look at, of all grids."""
        grids = {one.id: one for one in self.list()}
        return [(grids[grid_id], cell) for grid_id, cell in self._store.in_review() if grid_id in grids]

    def count_to_review(self) -> int:
        return self._store.count_in_review()

    # ------------------------------------------------------------ in the background

    def start(self) -> None:
        """Begin to ask where cells wait."""
        with self._lock:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._fill, name="grids", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop an answer between its words; wait a limited time for it."""
        self._stop.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(CLOSING_SECONDS)

    def wait(self, grid_id: str, seconds: float = math.inf) -> FilledGrid:
        """Return the grid once no cell waits or it was stopped, or after this time."""
        until = time.monotonic() + seconds
        while self.is_running(grid_id) and self.is_at_work and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        return self.filled(grid_id)

    def export(self, grid_id: str, ending: str) -> bytes:
        """Return the grid as a file of one of ``core.export.grids.FORMS``."""
        return FORMS[ending](self.filled(grid_id), self._documents())

    def _fill(self) -> None:
        try:
            while running := self._running_or_end():
                # Another process may be filling them: this one goes on where that ends.
                if not (self._work.take() and any(map(self._fill_grid, running))):
                    self._stop.wait(WAIT_SECONDS)  # for documents that are being read
        except Exception:  # the thread's outermost frame; the cells wait for the next start
            logger.exception("Filling a grid failed")
            with self._lock:
                self._work.release()
                self._thread = None

    def _running_or_end(self) -> Sequence[str]:
        """Return the running grids; without any the thread ends, and the next ``start`` begins another."""
        with self._lock:
            running = [] if self._stop.is_set() else self._store.running()
            if not running:
                self._work.release()
                self._thread = None
            return running

    def fill_some(self, grid_id: str) -> bool:
        """Ask a waiting cell of the grid, if its document is readable; return whether one was asked."""
        try:
            grid, waiting = self._store.get(grid_id), self._store.waiting(grid_id)
        except GridError:  # deleted meanwhile
            return False
        if not waiting:
            return self._store.finish(grid_id)
        documents = self._documents()
        first = [key for key in self._wanted if key in waiting]
        for key in (*first, *waiting):
            document, column = documents.get(key[0]), grid.column(key[1])
            if document is None or column is None:
                continue
            read = document.status is DocumentStatus.READY
            if document.searchable and not (read and self._library.coverage(document.id).text == 0):
                others = [grid.column(other) for of, other in waiting if of == document.id and other != column.id]
                self._ask(grid_id, [column, *filter(None, others)][:MAX_QUESTIONS], document)
                return True
            if read or document.status in (DocumentStatus.FAILED, DocumentStatus.CANCELLED):
                failed = Cell(*key, CellState.FAILED, detail=document.message or NOT_READABLE)
                self._store.put(grid_id, failed, self._basis_of(document, column), by_program=True)
                return True
        return False

    def _ask(self, grid_id: str, columns: Sequence[Column], document: Document) -> None:
        """Ask a document these questions by quoting; what stays unclear is put to a language model, if there is one.

        What is stopped before the model has answered waits to be asked again.
        """
        model, unclear = self._model(), list[tuple[Unclear, str]]()
        for column in columns:
            if not self._may_ask(grid_id):
                return
            basis = self._basis_of(document, column)
            asked = self._quoted(column, document)
            if asked is None:
                return
            cell, evidence = asked
            if model and cell.state is CellState.UNCLEAR:
                unclear.append((Unclear(column, cell, evidence), basis))
            else:
                self._put_answer(grid_id, column, cell, basis)
        if model and unclear and self._may_ask(grid_id):
            cells = self._extracted(model, [one for one, _ in unclear])
            for (one, basis), cell in zip(unclear, cells, strict=True):
                self._put_answer(grid_id, one.column, cell, basis)

    def _may_ask(self, grid_id: str) -> bool:
        """Wait while an answer of a conversation is written; return whether the grid still runs then."""
        while self._busy():
            if self._stop.wait(WAIT_SECONDS):
                return False
        return not self._stop.is_set() and self.is_running(grid_id)

    def _model(self) -> ChatModel | None:
        """Return the language model that writes answers; None if there is none."""
        try:
            model = self._equipment().choose_engine(None)
        except PinciteError:
            return None
        return model if model.writes_prose else None

    def _extracted(self, model: ChatModel, unclear: Sequence[Unclear]) -> Sequence[Cell]:
        """Return the cells as the model reads them; as they are where it cannot be reached."""
        try:
            with stoppable(self._stop.is_set):
                return extracted(model, unclear)
        except PinciteError:
            return [one.cell for one in unclear]
        except Exception:
            logger.exception("A model's values of a grid could not be read")
            return [one.cell for one in unclear]

    def _quoted(self, column: Column, document: Document) -> tuple[Cell, tuple[Evidence, ...]] | None:
        """Return what quoting answers and found; None if it was stopped."""
        failed = Cell(document.id, column.id, CellState.FAILED)
        try:
            with stoppable(self._stop.is_set):
                turn = asked_alone(self._graph, self._equipment(), column.question, document.id, self._stop.is_set)
            return cell_of(column, document, turn, self._library.coverage(document.id).text), turn.evidence
        except PinciteError as error:
            failed = replace(failed, detail=str(error))
        except Exception:
            logger.exception("A cell of a grid could not be answered")
            failed = replace(failed, detail="The question stopped unexpectedly.")
        return None if self._stop.is_set() else (failed, ())

    def _put_answer(self, grid_id: str, column: Column, cell: Cell, basis: str) -> bool:
        """Store what the program answers, unless the grid is gone or its question has changed meanwhile."""
        with suppress(UnknownGridError):
            if self._store.get(grid_id).column(column.id) == column:
                return self._store.put(grid_id, cell, basis, by_program=True)
        return False

    def _again(self, grid_id: str, which: Callable[[Cell], bool]) -> None:
        keys = [key for key, cell in self.filled(grid_id).cells.items() if which(cell)]
        self._store.ask_again(grid_id, keys)
        self.run(grid_id)

    def _put(self, grid_id: str, cell: Cell) -> None:
        column, document = self._store.get(grid_id).column(cell.column_id), self._documents().get(cell.document_id)
        if column and document:
            self._store.put(grid_id, cell, self._basis_of(document, column))

    def _documents(self) -> dict[str, Document]:
        return {document.id: document for document in self._library.list()}


class UserGrids(Grids):
    """The grids that a user sees; the thread of everybody's has those that are the user's own filled here."""

    def __init__(
        self,
        everybodys: Grids,
        equipment: Callable[[], Equipment],
        busy: Callable[[], bool],
        library: "Library",
        store: "GridStore",
        basis_of: Callable[[Document, Column], str],
        work: "WorkLock",
    ) -> None:
        super().__init__(equipment, busy, library, store, basis_of, work)
        self._everybodys = everybodys

    def start(self) -> None:
        self._everybodys.start()

    @property
    def is_at_work(self) -> bool:
        return self._everybodys.is_at_work


def asked_of(turn: Turn) -> tuple[str, ...]:
    """Return the documents that a turn asked, or would have to ask, one by one; none if it is no such question."""
    if turn.plan is None or turn.plan.selects:
        return ()
    each = tuple(dict.fromkeys(one for piece in turn.plan.pieces if piece.name for one in piece.query.document_ids))
    if each:
        return each
    searched = turn.plan.document_ids or turn.document_ids
    return searched if len(searched) > 1 and asks_of_each(turn.plan.standalone_question) else ()


def _name_of(question: str) -> str:
    """Return a short name for a column: the title or term that the question has in quotation marks, else its words."""
    quoted = _QUOTED.search(question)
    return quoted[1] if quoted else shortened(question)[:MAX_COLUMN_NAME]


def _kind_of(question: str) -> ColumnKind:
    return _KINDS.get(kind_of(question), ColumnKind.TEXT)


def is_outdated(cell: Cell) -> bool:
    """Return whether a cell is to be asked again: it failed, or its document or question changed; no person's value."""
    return (cell.stale or cell.state is CellState.FAILED) and not (cell.by_person or cell.locked)


@cache
def templates() -> tuple[GridTemplate, ...]:
    """Return the grids that come with Pincite, by name."""
    return tuple(template_of(path.read_text(encoding="utf-8")) for path in sorted(TEMPLATES.glob("*.toml")))


def template_of(text: str) -> GridTemplate:
    """Read a template. Raises GridError."""
    try:
        told = tomllib.loads(text)
        columns = tuple(
            new_column(one["name"], one["question"], ColumnKind(one.get("kind", "text")), choices)
            for one in told["columns"]
            for choices in [one.get("choices", [])]
        )
        if any("choices" in one and not isinstance(one["choices"], list) for one in told["columns"]):
            raise TypeError("choices")
        return GridTemplate(str(told["name"]), columns)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise GridError("This is no template of a grid.",
                        hint="It needs a name, and columns with name, question and kind.") from error  # fmt: skip


def new_column(name: str, question: str, kind: ColumnKind = ColumnKind.TEXT, choices: Iterable[str] = ()) -> Column:
    return Column(uuid.uuid4().hex[:8], name.strip(), question.strip(), kind, tuple(choices))


TEMPLATES = PACKAGE_ROOT / "data" / "grids"
