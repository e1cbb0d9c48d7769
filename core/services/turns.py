"""Runs turns in worker threads: publishes immutable snapshots, stores as it goes, and stops between tokens."""

import logging
import math
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphRecursionError

from pincite.core.domain.answers import AnswerPart
from pincite.core.domain.documents import Collection, Document
from pincite.core.domain.errors import FullDiskError, PinciteError, StoppedError, StorageError, TurnError
from pincite.core.domain.ports import ChatModel
from pincite.core.domain.questions import Wish
from pincite.core.domain.search import Intent, Mode
from pincite.core.domain.turns import FINISHED, Exchange, TraceStep, Turn, TurnSnapshot, TurnStatus, now
from pincite.core.graph.build import TurnGraph
from pincite.core.graph.context import Equipment, Lacking, Progress, TurnContext
from pincite.core.graph.state import TurnState, restored
from pincite.core.models.client import stoppable
from pincite.core.questions.mentions import resolve_mentions
from pincite.core.questions.utterances import wish_of
from pincite.core.services.live import LiveTurn
from pincite.core.services.scope import scope_of
from pincite.core.text.marks import marked_text
from pincite.core.text.plain import storable

if TYPE_CHECKING:
    from pincite.core.store.sessions import Sessions
    from pincite.core.store.turns import Turns

logger = logging.getLogger(__name__)

CLOSING_SECONDS = 10.0
POLL_SECONDS = 0.25
TEXT_SECONDS = 5.0
"""How long a question to no document in particular waits for text that is being read."""
VECTOR_SECONDS = 15.0
"""How long a question waits for what was just read to be found by its meaning too."""
MAX_QUESTION_LENGTH = 8_000
STEPS_OF_AN_ATTEMPT = 5
"""Rewriter, retriever, analyst, generator and judge; before them comes the router."""
OTHER_STEPS = 4
"""Router and review; generator and judge once more, where quotations take the place of prose."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question for the graph, and the conversation before it."""

    state: TurnState
    engine: str | None = None
    history: tuple[Exchange, ...] = ()
    resumed_at: str = ""
    """The node from which an interrupted turn is continued; empty: it begins at the beginning."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A question that waits for the answer before it, or `trouble`: why it could not be asked."""

    question: str
    mode: Mode
    trouble: str = ""


class TurnRunner:
    """One worker thread a turn, one running turn a session."""

    def __init__(
        self,
        *,
        turns: "Turns",
        sessions: "Sessions",
        graph: TurnGraph,
        equipment: Callable[[], Equipment],
        settle: Callable[[], None],
        ended: Callable[[Turn], None] = lambda turn: None,
        collection: Callable[[str], Collection],
    ) -> None:
        """``collection`` gets one by its id.

        Each time a turn has ended, ``ended`` gets it, and ``settle`` clears away what only it needed.
        """
        self._turns, self._sessions, self._graph = turns, sessions, graph
        self._equipment, self._settle, self._collection = equipment, settle, collection
        self._ended = ended
        self._live: dict[str, LiveTurn] = {}
        self._unstored: set[str] = set()
        """Turns that came to an end which could not be stored."""
        self._waiting: dict[str, list[Waiting]] = {}
        self._lock, self._starting = threading.Lock(), threading.Lock()
        self._closing = False
        turns.mark_interrupted()
        settle()

    def ask(
        self,
        session_id: str,
        question: str,
        *,
        mode: Mode = Mode.AUTO,
        document_ids: Sequence[str] = (),
        fresh: bool = False,
        history: tuple[Exchange, ...] | None = None,
    ) -> str:
        """Start a turn and return its id. ``document_ids`` empty: the session's. Raises TurnError.

        ``fresh`` keeps a reviewed answer from being repeated. ``history``: in place of the session's.
        """
        scope = tuple(document_ids) or self._sessions.get(session_id).document_ids
        before = self._turns.exchanges(session_id) if history is None else history
        return self._start(session_id, Asked(TurnState(question, mode, scope, fresh=fresh), history=before))

    def ask_next(self, session_id: str, question: str, *, mode: Mode = Mode.AUTO) -> None:
        """Ask now, or as soon as what the session is answering has ended; what waits goes with the process.

        Raises TurnError.
        """
        question = _checked(question)
        with self._lock:
            if waits := any(live.snapshot.turn.session_id == session_id for live in self._live.values()):
                self._waiting.setdefault(session_id, []).append(Waiting(question, mode))
        if not waits:
            self.ask(session_id, question, mode=mode)

    def waiting(self, session_id: str) -> tuple[Waiting, ...]:
        """Return the questions that wait or could not be asked, in their order."""
        with self._lock:
            return tuple(self._waiting.get(session_id, ()))

    def retry_waiting(self, session_id: str) -> None:
        """Ask again what could not be asked."""
        with self._lock:
            waiting = self._waiting.get(session_id, [])
            waiting[:] = [replace(one, trouble="") for one in waiting]
        if self.running(session_id) is None:
            self._ask_waiting(session_id)

    def withdraw(self, session_id: str) -> None:
        """Forget the questions that wait."""
        with self._lock:
            self._waiting.pop(session_id, None)

    def run_again(
        self,
        turn_id: str,
        *,
        engine: str | None = None,
        hint: str = "",
        everywhere: bool = False,
        alone: bool = False,
        mode: Mode | None = None,
        question: str = "",
    ) -> str:
        """Ask a turn's question again in its place; a reviewed answer is not reused. Raises TurnError.

        The older answer is kept as a version. ``question``: the question to ask instead; empty for the same one.
        ``mode``: None for the same mode. ``everywhere``: search all documents, whichever the question names. ``alone``:
        ignore the conversation before it.
        """
        turn = self._turns.get(turn_id)
        scope = () if everywhere else scope_of(turn, self.searchable(turn))
        asked = question.strip() or turn.question
        state = TurnState(asked, mode or turn.mode, scope, hint, fresh=True, alone=alone, everywhere=everywhere)
        before = self._turns.exchanges(turn.session_id, before=turn.place)
        return self._start(turn.session_id, Asked(state, engine, before), place=turn.place)

    def branch(self, turn_id: str) -> str:
        """Return the id of a new session that begins with the conversation up to and with this turn.

        Raises TurnError where the turn or its session is no longer stored.
        """
        turn = self._turns.get(turn_id)
        session = self._sessions.get(turn.session_id)
        before = [one for one in self._turns.conversation(session.id) if one.place < turn.place]
        kept = [one for one in (*before, turn) if one.status in FINISHED]
        with self._starting:
            branch = self._sessions.create(
                f"Continued: {session.title}", session.document_ids, collection_id=session.collection_id
            )
            self._turns.copy(kept, branch.id)
        return branch.id

    def can_continue(self, turn: Turn) -> bool:
        """Whether an interrupted turn left a checkpoint, and all the documents that it searched are still there."""
        if turn.status is not TurnStatus.INTERRUPTED or not self._graph.get_state(_thread(turn.id)).next:
            return False
        return set(turn.document_ids) <= {document.id for document in self.searchable(turn)}

    def continue_turn(self, turn_id: str) -> None:
        """Run an interrupted turn on from the step that it was in, with the plan and evidence of the steps before.

        Raises TurnError.
        """
        turn = self._turns.get(turn_id)
        if not self.can_continue(turn):
            raise TurnError("This answer cannot be continued.", hint="Run the question again.")
        kept = self._graph.get_state(_thread(turn_id))
        asked = Asked(
            restored(kept.values),
            "quoting" if turn.engine == "quoting" else None,
            self._turns.exchanges(turn.session_id, before=turn.place, asked_before=turn.position),
            resumed_at=kept.next[0],
        )
        self._begin(turn, asked, self._within(self._collection_of(turn.session_id)), self._turns.take_up)

    def snapshot(self, turn_id: str) -> TurnSnapshot:
        """What there is to see of a turn now: of one that runs here from memory, else from the store.

        A turn whose process is gone becomes interrupted. Raises TurnError.
        """
        live = self._live.get(turn_id)
        if live is not None:
            return live.snapshot
        turn = self._turns.get(turn_id)
        if turn.status is not TurnStatus.RUNNING or turn_id in self._unstored:
            return TurnSnapshot(turn, draft=turn.parts)
        if not self._turns.is_worked_on(turn_id) and self._turns.mark_interrupted():
            turn = self._turns.get(turn_id)
        return TurnSnapshot(turn, draft=turn.parts, elsewhere=turn.status is TurnStatus.RUNNING)

    def busy(self) -> bool:
        """Return whether this process is answering anything."""
        return bool(self._live)

    def running(self, session_id: str) -> str | None:
        """Return the turn of a session that this process is running."""
        with self._lock:
            live = [live.snapshot.turn for live in self._live.values()]
        return next((turn.id for turn in live if turn.session_id == session_id), None)

    def stop(self, turn_id: str) -> None:
        """Stop between tokens; a turn that has ended stays as it is."""
        live = self._live.get(turn_id)
        if live is not None:
            live.stop.set()

    def show_evidence_only(self, turn_id: str) -> None:
        """Let the language model stop writing, and quote the documents instead."""
        live = self._live.get(turn_id)
        if live is not None:
            live.evidence_only.set()

    def wait(self, turn_id: str, timeout_seconds: float | None = None) -> TurnSnapshot:
        """Return once the turn has ended or the time is over."""
        live = self._live.get(turn_id)
        if live is not None:
            live.done.wait(timeout_seconds)
        return self.snapshot(turn_id)

    def close(self) -> None:
        """Stop every running turn; they read ``interrupted``."""
        with self._starting:
            self._closing = True
        with self._lock:
            running = list(self._live.values())
        for live in running:
            live.stop.set()
        deadline = time.monotonic() + CLOSING_SECONDS
        for live in running:
            live.thread.join(max(0.0, deadline - time.monotonic()))

    def _start(self, session_id: str, asked: Asked, place: int = -1) -> str:
        state = replace(asked.state, question=_checked(asked.state.question), hint=storable(asked.state.hint))
        collection, chosen = self._collection_of(session_id), state.document_ids
        if collection:
            state = replace(state, document_ids=collection.within(chosen))
        equipment = self._within(collection)
        turn = Turn(
            id=uuid.uuid4().hex,
            session_id=session_id,
            position=0,
            place=place,
            question=state.question,
            mode=state.mode,
            document_ids=state.document_ids or tuple(document.id for document in equipment.library.list()),
            scope=chosen,
            engine=asked.engine or equipment.settings.engine,
            status=TurnStatus.RUNNING,
            started_at=now(),
        )
        self._begin(turn, replace(asked, state=state), equipment, self._turns.create)
        return turn.id

    def _collection_of(self, session_id: str) -> Collection | None:
        """Raises TurnError or CollectionError where the session, or its collection, is no longer stored."""
        session = self._sessions.get(session_id)
        return self._collection(session.collection_id) if session.collection_id else None

    def _within(self, collection: Collection | None) -> Equipment:
        """What a turn works with: of the documents, those of its collection."""
        equipment = self._equipment()
        if collection is None:
            return equipment
        library = equipment.library.within(collection.document_ids)
        return replace(equipment, library=library, instructions=collection.instructions)

    def searchable(self, turn: Turn) -> list[Document]:
        """Return all that the turn's session may search."""
        return self._within(self._collection_of(turn.session_id)).library.list()

    def _begin(self, turn: Turn, asked: Asked, equipment: Equipment, store: Callable[[Turn], Turn]) -> None:
        """Run a turn in a thread of its own."""
        with self._starting:
            if self._closing:
                raise TurnError("Pincite is closing.", hint="Start it again, then ask.")
            self._turns.mark_interrupted(self._unstored)
            live = LiveTurn(store(turn), self._turns)
            self._unstored.discard(turn.id)
            if wish_of(turn.question)[0] is not Wish.CHAT:  # no conversation is called "Hello"
                self._sessions.title_after(turn.session_id, turn.question)
            live.thread = threading.Thread(
                target=self._work, args=(live, asked, equipment), name=f"turn-{turn.id[:8]}", daemon=True
            )
            with self._lock:
                self._live[turn.id] = live
        live.thread.start()

    def _work(self, live: LiveTurn, asked: Asked, equipment: Equipment) -> None:
        """The worker's outermost frame: however the turn ends, it is stored and shown, and nobody waits for ever."""
        turn_id = live.snapshot.turn.id
        try:
            self._end(live, self._outcome(live, asked, equipment))
            self._settle()
        except Exception:
            logger.exception("What came of turn %s could not be stored or cleared up", turn_id)
        finally:
            with self._lock:
                self._live.pop(turn_id, None)
                if not live.stored:
                    self._unstored.add(turn_id)
            live.done.set()
        self._ask_waiting(live.snapshot.turn.session_id)

    def _ask_waiting(self, session_id: str) -> None:
        """Ask the next question that waits; one that cannot be asked keeps its place, with the reason."""
        while not self._closing and (first := self._next_waiting(session_id)):
            trouble = ""
            try:
                self.ask(session_id, first.question, mode=first.mode)  # shown as waiting until it is shown as asked
            except Exception as error:
                if self.running(session_id):
                    return  # somebody was faster: it waits for that answer
                if not isinstance(error, PinciteError):
                    logger.exception("A waiting question could not be asked")
                trouble = str(error) if isinstance(error, PinciteError) else "Something went wrong inside Pincite."
            with self._lock:
                waiting = self._waiting.get(session_id, [])
                kept = ([replace(first, trouble=trouble)] if trouble else []) if first in waiting else []
                waiting[:] = [after for one in waiting for after in (kept if one is first else [one])]
            if not trouble:
                return

    def _next_waiting(self, session_id: str) -> Waiting | None:
        return next((one for one in self.waiting(session_id) if not one.trouble), None)

    def _outcome(self, live: LiveTurn, asked: Asked, equipment: Equipment) -> Turn:
        try:
            with stoppable(live.stop.is_set):
                return self._run(live, asked, equipment)
        except StoppedError:
            status = TurnStatus.INTERRUPTED if self._closing else TurnStatus.STOPPED
            error = "Pincite was closed while it worked on this answer. Continue it, or run the question again."
            return live.ended(status, error if self._closing else "")
        except PinciteError as error:
            return live.ended(TurnStatus.FAILED, str(error))
        except Exception:
            logger.exception("Turn %s failed", live.snapshot.turn.id)
            message = "Something went wrong inside Pincite; the details are in its log. Run the question again."
            return live.ended(TurnStatus.FAILED, message)

    def _end(self, live: LiveTurn, turn: Turn) -> None:
        before = live.snapshot.turn
        try:
            live.finish(turn)
        except StorageError as error:  # what came of it cannot be kept: that it failed still can
            live.finish(replace(before, status=TurnStatus.FAILED, error=str(error)))
        self._ended(live.snapshot.turn)

    def _run(self, live: LiveTurn, asked: Asked, equipment: Equipment) -> Turn:
        model = equipment.choose_engine(asked.engine)
        live.update(replace(live.snapshot.turn, engine=model.name))
        self._await_documents(live, equipment)
        history = () if asked.state.alone else asked.history
        context = replace(
            context_of(equipment, model, live, live.stop.is_set, history, live.evidence_only.is_set),
            last_answer=partial(self._last_answered, history),
        )
        state = None if asked.resumed_at else asked.state
        if asked.resumed_at:
            kept = {"went on at": asked.resumed_at, "not run again": list(live.snapshot.turn.path)}
            live.visited(TraceStep("continued", asked.state.attempt, now(), 0.0, decided=kept))
        return answered(live.snapshot.turn, self._walk(live.snapshot.turn.id, state, context))

    def _last_answered(self, history: Sequence[Exchange]) -> Turn | None:
        """Return the turn that a message about the last answer is about; None where that was no answer of documents."""
        last = next((one for one in reversed(history) if one.intent is not Intent.LAST_ANSWER), None)
        if last is None or last.intent in (Intent.CHAT, Intent.ABOUT):
            return None
        try:
            turn = self._turns.without_trace(last.turn_id)
        except TurnError:  # it was deleted meanwhile
            return None
        return turn if turn.status is not TurnStatus.UNREADABLE else None

    def _await_documents(self, live: LiveTurn, equipment: Equipment) -> None:
        """Wait until the documents can be searched; the turn's time starts after that.

        Documents that the question names or that were chosen for it are awaited until Stop. Otherwise the
        documents that are read after a moment are searched, and the answer names those that were not; if no document
        is read yet, it continues to wait.
        """
        turn = live.snapshot.turn
        chosen = turn.scope or resolve_mentions(turn.question, equipment.library.list())[1]
        awaited = chosen or turn.document_ids
        if not awaited:
            return

        def may_go_on(until: float) -> bool:
            readable = any(document.searchable for document in equipment.library.list())
            return not chosen and readable and time.monotonic() >= until

        text_until, vectors_until = time.monotonic() + TEXT_SECONDS, math.inf
        try:
            lacking = equipment.await_documents(awaited, 0.0)
            if lacking is not Lacking.NOTHING:
                live.step("Reading the documents before answering…")
            while lacking is not Lacking.NOTHING:
                if live.stop.is_set():
                    raise StoppedError("The turn was stopped.")
                if lacking is Lacking.VECTORS:
                    vectors_until = min(vectors_until, time.monotonic() + VECTOR_SECONDS)
                    if time.monotonic() >= vectors_until:
                        return
                elif may_go_on(text_until):
                    return
                lacking = equipment.await_documents(awaited, POLL_SECONDS)
        except FullDiskError:
            if not may_go_on(0.0):
                raise

    def _walk(self, turn_id: str, state: TurnState | None, context: TurnContext) -> TurnState:
        """Walk the graph to its end, from its checkpoint where there is no state to begin with.

        What a node leaves is stored before the next begins. No turn takes more steps than its retries need, else it
        goes to review.
        """
        steps = OTHER_STEPS + STEPS_OF_AN_ATTEMPT * (1 + context.settings.max_retries)
        thread = _thread(turn_id)
        limited = RunnableConfig(**thread, recursion_limit=steps + 1)  # LangGraph counts finding nothing left to do
        try:
            return TurnState(**self._graph.invoke(state, limited, context=context, durability="sync"))
        except GraphRecursionError:
            given_up = {"give_up": f"The limit of {steps} steps for one question was reached."}
            self._graph.update_state(thread, given_up, as_node="judge")
            return restored(self._graph.invoke(None, limited, context=context, durability="sync"))


def _thread(turn_id: str) -> RunnableConfig:
    return RunnableConfig(configurable={"thread_id": turn_id})


def _checked(question: str) -> str:
    """Raises TurnError."""
    question = storable(question).strip()
    if not question:
        raise TurnError("There is no question to answer.", hint="Type one first.")
    if len(question) > MAX_QUESTION_LENGTH:
        raise TurnError(
            f"The question has {len(question):,} characters; at most {MAX_QUESTION_LENGTH:,} are allowed.",
            hint="Shorten it; a long text is better added as a PDF.",
        )
    return question


def context_of(
    equipment: Equipment,
    model: ChatModel,
    progress: Progress,
    stopped: Callable[[], bool],
    history: tuple[Exchange, ...] = (),
    evidence_only: Callable[[], bool] = lambda: False,
) -> TurnContext:
    """What the nodes of one walk through the graph may reach; its time starts now."""
    return TurnContext(
        *(getattr(equipment, one.name) for one in fields(Equipment)),
        model=model,
        stand_in=equipment.choose_engine("quoting"),
        documents=tuple(equipment.library.list()),
        progress=progress,
        stopped=stopped,
        deadline=time.monotonic() + equipment.settings.turn_seconds,
        history=history,
        evidence_only=evidence_only,
    )


class _Silent:
    """Nobody watches."""

    def step(self, text: str) -> None: ...

    def draft(self, parts: Sequence[AnswerPart]) -> None: ...

    def visited(self, step: TraceStep) -> None: ...


def asked_alone(
    graph: TurnGraph, equipment: Equipment, question: str, document_id: str, stopped: Callable[[], bool]
) -> Turn:
    """Return a question to one document as quoting answers it, without a conversation; nothing is stored."""
    state = TurnState(question, Mode.DOCUMENTS, (document_id,), fresh=True, alone=True)
    quoting = equipment.choose_engine("quoting")
    context = context_of(equipment, quoting, _Silent(), stopped)
    turn = Turn(
        id=uuid.uuid4().hex, session_id="", position=0, question=question, mode=state.mode,
        document_ids=state.document_ids, scope=state.document_ids, engine=quoting.name,
        status=TurnStatus.RUNNING, started_at=now(),
    )  # fmt: skip
    return answered(turn, TurnState(**graph.invoke(state, context=context)))


def answered(turn: Turn, final: TurnState) -> Turn:
    """Return a turn with what its walk through the graph came to."""
    return replace(
        turn,
        status=TurnStatus.FLAGGED if final.flagged else TurnStatus.ANSWERED,
        document_ids=final.read.mentioned or turn.document_ids,
        intent=final.intent,
        asked=final.asked,
        plan=final.plan,
        answer=marked_text(final.parts),
        parts=final.parts,
        citations=final.citations,
        verdict=final.verdict,
        attempts=final.attempts,
        evidence=final.evidence,
        reasons=final.reasons,
        question_back=final.question_back,
        thoughts=final.thoughts,
        usage=final.usage,
        notices=final.all_notices,
        reused_from=final.reused_from,
    )
