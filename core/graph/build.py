"""The topology of the graph on one screen, its checkpointer, and the trace kept of every visit."""

import sqlite3
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from pincite.core.domain.codec import storable_as_json
from pincite.core.domain.errors import StoppedError, StorageError
from pincite.core.domain.turns import TraceStep, now
from pincite.core.graph.context import StepNotes, TurnContext
from pincite.core.graph.nodes.analyst import analyst
from pincite.core.graph.nodes.generator import after_generator, generator
from pincite.core.graph.nodes.judge import after_judge, judge
from pincite.core.graph.nodes.retriever import after_retriever, retriever
from pincite.core.graph.nodes.review import review
from pincite.core.graph.nodes.rewriter import rewriter
from pincite.core.graph.nodes.router import after_router, router
from pincite.core.graph.state import CHECKPOINTED, Node, TurnState, Update, restored

TurnGraph: TypeAlias = CompiledStateGraph[TurnState, TurnContext, TurnState, TurnState]


NOT_STORED = "(could not be stored)"
"""Replaces a note in a trace that JSON cannot represent."""


def build_graph(checkpointer: SqliteSaver | None = None) -> TurnGraph:
    graph = StateGraph(TurnState, context_schema=TurnContext)
    for name, node in (
        ("router", router),
        ("rewriter", rewriter),
        ("retriever", retriever),
        ("analyst", analyst),
        ("generator", generator),
        ("judge", judge),
        ("review", review),
    ):
        graph.add_node(name, traced(name, node))
    graph.add_edge(START, "router")
    graph.add_conditional_edges("router", after_router)
    graph.add_edge("rewriter", "retriever")
    graph.add_conditional_edges("retriever", after_retriever)
    graph.add_edge("analyst", "generator")
    graph.add_conditional_edges("generator", after_generator)
    graph.add_conditional_edges("judge", after_judge)
    graph.add_edge("review", END)
    return graph.compile(checkpointer=checkpointer)


def traced(name: str, node: Node) -> Node:
    """Wrap a node so that each visit, also one that raises, leaves a trace step; a stopped turn goes no further."""

    def visit(state: TurnState, runtime: Runtime[TurnContext]) -> Update:
        context = runtime.context
        if context.stopped():
            raise StoppedError("The turn was stopped.")
        if resumed := isinstance(state.notices, list):  # it comes from a checkpoint
            state = restored(vars(state))
        notes = context.notes
        notes.read, notes.decided, notes.returned = {}, {}, {}
        started_at = now()
        started = time.perf_counter()
        try:
            update = node(state, runtime)
        except BaseException as error:
            step = _step(name, state.attempt, started_at, started, notes, error=f"{type(error).__name__}: {error}")
            context.progress.visited(step)
            raise
        context.progress.visited(_step(name, update.get("attempt", state.attempt), started_at, started, notes))
        return vars(state) | update if resumed else update

    return visit


def _step(name: str, attempt: int, started_at: str, started: float, notes: StepNotes, *, error: str = "") -> TraceStep:
    return TraceStep(
        node=name,
        attempt=attempt,
        started_at=started_at,
        seconds=time.perf_counter() - started,
        read=_kept(notes.read),
        decided=_kept(notes.decided),
        returned=_kept(notes.returned),
        error=error,
    )


def _kept(notes: Mapping[str, Any]) -> dict[str, Any]:
    """What of a node's notes can be stored; a note that cannot is left out of the trace, and the turn goes on."""
    return {name: value if storable_as_json(value) else NOT_STORED for name, value in notes.items()}


def open_checkpointer(path: Path) -> SqliteSaver:
    """Open the checkpoints' own file; only our own values and LangGraph's safe ones come back from it.

    Raises StorageError.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=30, check_same_thread=False)
        connection.execute("PRAGMA secure_delete = ON")
        saver = SqliteSaver(connection, serde=JsonPlusSerializer(allowed_msgpack_modules=CHECKPOINTED))
        saver.setup()
    except (OSError, sqlite3.DatabaseError) as error:
        raise StorageError(
            f"The file {path} cannot be used ({error}).",
            hint="Check that it can be written to. If it is damaged, delete it: it holds only what a running turn "
            "needs.",
        ) from error
    return saver


def forget_runs(saver: SqliteSaver, to_keep: Callable[[], Collection[str]]) -> None:
    """Drop the checkpoints of every run but those to keep: what came of a turn is kept with the turn.

    What to keep is asked after looking, so that a run which begins meanwhile is not among what goes.
    """
    with saver.cursor() as cursor:
        there = {
            row[0] for row in cursor.execute("SELECT thread_id FROM checkpoints UNION SELECT thread_id FROM writes")
        }
        gone = [(thread_id,) for thread_id in there - set(to_keep())]
        for table in ("writes", "checkpoints"):
            cursor.executemany(f"DELETE FROM {table} WHERE thread_id = ?", gone)
