"""The topology of the graph on one screen, and the trace kept of every visit."""

import time
from collections.abc import Mapping
from typing import Any, TypeAlias

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from pincite.core.domain.codec import storable_as_json
from pincite.core.domain.errors import StoppedError
from pincite.core.domain.turns import TraceStep, now
from pincite.core.graph.context import StepNotes, TurnContext
from pincite.core.graph.nodes.analyst import analyst
from pincite.core.graph.nodes.generator import after_generator, generator
from pincite.core.graph.nodes.judge import after_judge, judge
from pincite.core.graph.nodes.retriever import after_retriever, retriever
from pincite.core.graph.nodes.review import review
from pincite.core.graph.nodes.rewriter import rewriter
from pincite.core.graph.nodes.router import after_router, router
from pincite.core.graph.state import Node, TurnState, Update, restored

TurnGraph: TypeAlias = CompiledStateGraph[TurnState, TurnContext, TurnState, TurnState]


NOT_STORED = "(could not be stored)"
"""Replaces a note in a trace that JSON cannot represent."""


def build_graph(checkpointer: BaseCheckpointSaver[Any] | None = None) -> TurnGraph:
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
