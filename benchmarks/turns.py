"""Measure search for follow-ups: conversations through router, rewriter and search, compared with plain joins.

DIR holds ``passages.jsonl`` (id, text) and ``turns.jsonl`` (history, question, relevant, answerability). Passages
become pages, those of one source one document, in the product's own library. The earlier questions of a conversation
pass router and rewriter too, so that each is followed up as it would be; their answers are those of the file.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime
from sklearn.metrics import roc_auc_score

from benchmarks.baselines import Bm25
from benchmarks.corpus import cache_directory
from benchmarks.measures import DEPTHS, mean, ndcg, recall
from pincite.core.answers.quoting import chance_of_answer
from pincite.core.documents.passages import split_pages
from pincite.core.domain.answers import lists_passages
from pincite.core.domain.documents import Block, BlockKind, Document, Page, PageKey, PageStatus
from pincite.core.domain.ports import ChatModel, PdfInfo
from pincite.core.domain.search import Intent, SearchPlan, SearchResult
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import Exchange, TraceStep
from pincite.core.graph.context import TurnContext
from pincite.core.graph.nodes.retriever import retriever
from pincite.core.graph.nodes.rewriter import rewriter
from pincite.core.graph.nodes.router import router
from pincite.core.graph.state import TurnState
from pincite.core.questions.plan import plan_question
from pincite.core.services.bootstrap import Pincite, open_pincite
from pincite.core.services.registry import choose_engine
from pincite.core.store.shelf import Shelf

EMBED_AT_ONCE = 256
_POSITION = re.compile(r"-(\d+)-\d+$")


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Labelled:
    """One turn of a conversation with people's labels."""

    history: tuple[Message, ...]
    question: str
    relevant: frozenset[PageKey]
    answerability: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the product made of a turn."""

    turn: Labelled
    pages: tuple[PageKey, ...]
    intent: Intent
    chance: float
    asked_back: bool


@dataclass(frozen=True, slots=True)
class World:
    """The opened library and the pages of its passages, by their ids and in one order with their texts."""

    app: Pincite
    places: Mapping[str, PageKey]
    order: Sequence[PageKey]
    texts: Sequence[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="a folder with passages.jsonl and turns.jsonl")
    parser.add_argument("--engine", choices=("none", "ollama"), default="none", help="the language model, if any")
    parser.add_argument("--limit", type=int, default=0, help="only the first N turns")


def run(options: argparse.Namespace) -> dict[str, Any]:
    world = open_world(options.directory)
    try:
        turns = read_turns(options.directory, world.places)[: options.limit or None]
        engine = choose_engine(world.app.settings.current, "quoting" if options.engine == "none" else options.engine)
        outcomes = [observe(world, engine, turn) for turn in _report_progress(turns)]
        return {"engine": engine.name, **judged(outcomes), "baselines": baselines(world, turns)}
    finally:
        world.app.close()


def read_turns(directory: Path, places: Mapping[str, PageKey]) -> list[Labelled]:
    return [
        Labelled(
            tuple(Message(message["role"], message["content"]) for message in row["history"]),
            row["question"],
            frozenset(places[identity] for identity in row["relevant"] if identity in places),
            row["answerability"],
        )
        for row in map(json.loads, (directory / "turns.jsonl").read_text(encoding="utf-8").splitlines())
    ]


def open_world(directory: Path) -> World:
    """Put the passages into a library of their own, once, and open it."""
    rows = [json.loads(line) for line in (directory / "passages.jsonl").read_text(encoding="utf-8").splitlines()]
    documents: dict[str, list[Mapping[str, str]]] = {}
    for row in rows:
        documents.setdefault(_POSITION.sub("", row["id"]), []).append(row)
    app = open_pincite(Settings(data_dir=cache_directory(directory)), at_work=False)
    shelf = Shelf(app.database, app.library, app._keywords, app.settings.current)
    places: dict[str, PageKey] = {}
    for number, own in enumerate(documents.values()):
        identity = f"source{number:05d}"
        own.sort(key=lambda row: int(found[1]) if (found := _POSITION.search(row["id"])) else 0)
        places |= {row["id"]: (identity, index) for index, row in enumerate(own)}
        if not shelf.exists(identity):
            pages = [_page(index, row["text"]) for index, row in enumerate(own)]
            with app.database.transaction():
                shelf.add_document(identity, f"{identity}.pdf", 1, PdfInfo(len(pages), (), {}))
                shelf.put_pages(identity, pages, list(split_pages(pages, document_id=identity, title=identity)))
                shelf.mark_searchable(identity)
    app.indexes.active()
    while batch := app.indexes.pending(limit=EMBED_AT_ONCE):
        app.indexes.embed(batch, lambda: False)
        print("Embedding passages", file=sys.stderr, flush=True)
    return World(app, places, [places[row["id"]] for row in rows], [row["text"] for row in rows])


def _page(index: int, text: str) -> Page:
    text = text.strip()
    return Page(index, str(index + 1), text, (), (Block(0, len(text), BlockKind.PARAGRAPH),), PageStatus.TEXT)


class Listening:
    """The product's search, which keeps what it found last; as progress it is not watched."""

    def __init__(self, app: Pincite) -> None:
        self._retriever = app.search.retriever
        self.found: SearchResult | None = None

    def search(
        self, plan: SearchPlan, library: Iterable[Document], *, context_characters: int, scope: Sequence[str] = ()
    ) -> SearchResult:
        self.found = self._retriever.search(plan, library, context_characters=context_characters, scope=scope)
        return self.found

    def step(self, text: str) -> None: ...

    def draft(self, parts: Sequence[object]) -> None: ...

    def visited(self, step: TraceStep) -> None: ...


def observe(world: World, engine: ChatModel, turn: Labelled) -> Outcome:
    """Let router, rewriter and retriever do with the turn what they do in the graph."""
    listening = Listening(world.app)
    history: tuple[Exchange, ...] = ()
    for asked, answered in zip(turn.history[::2], turn.history[1::2], strict=False):
        state, _ = _prepared(world, engine, listening, asked.content, history)
        history = (*history, Exchange("", asked.content, answered.content, state.plan, state.intent))
    state, runtime = _prepared(world, engine, listening, turn.question, history)
    if state.intent is Intent.CHAT:
        return Outcome(turn, (), state.intent, 0.0, False)
    listening.found = None
    state = replace(state, **retriever(state, runtime))
    pages = pages_of(listening.found) if listening.found else [item.passage.page for item in state.evidence]
    chance = chance_of_answer(state.asked, state.evidence) if state.evidence else 0.0
    return Outcome(turn, tuple(pages), state.intent, chance, lists_passages(state.parts))


def _prepared(
    world: World, engine: ChatModel, listening: Listening, question: str, history: tuple[Exchange, ...]
) -> tuple[TurnState, Runtime[TurnContext]]:
    context = TurnContext(
        settings=world.app.settings.current,
        model=engine,
        stand_in=engine,
        library=world.app.library,
        searcher=listening,
        choose_engine=lambda asked: engine,
        documents=tuple(world.app.library.list()),
        progress=listening,
        stopped=lambda: False,
        deadline=float("inf"),
        history=history,
    )
    runtime = Runtime(context=context)
    state = TurnState(question)
    state = replace(state, **router(state, runtime))
    return (state if state.intent is Intent.CHAT else replace(state, **rewriter(state, runtime))), runtime


def pages_of(found: SearchResult) -> list[PageKey]:
    """In the order of the reranker."""
    return list(dict.fromkeys(candidate.passage.page for candidate in found.rankings.get("reranked", ())))


def judged(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return recall over turns with known passages, and how well the estimated chance separates answerable turns."""
    by_kind = {kind: [one for one in outcomes if one.turn.answerability == kind] for kind in _KINDS}
    there, absent = by_kind["answerable"] + by_kind["partial"], by_kind["unanswerable"]
    labels, chances = [1] * len(there) + [0] * len(absent), [one.chance for one in there + absent]
    return {
        "turns": len(outcomes),
        **_ranked([(one.pages, one.turn.relevant) for one in outcomes if one.turn.relevant]),
        "unanswerable_auroc": round(float(roc_auc_score(labels, chances)), 4) if there and absent else None,
        "asked_back": mean(one.asked_back for one in by_kind["underspecified"]),
        "asked_back_wrongly": mean(one.asked_back for one in there + absent),
        "routed_right": mean(one.intent in (Intent.DOCUMENT_SEARCH, Intent.TARGETED_SEARCH) for one in there),
    }


_KINDS = ("answerable", "partial", "unanswerable", "underspecified")


def _ranked(found: Sequence[tuple[Sequence[PageKey], frozenset[PageKey]]]) -> dict[str, Any]:
    return {
        "recall": {str(depth): mean(recall(pages, wanted, depth) for pages, wanted in found) for depth in DEPTHS},
        "ndcg_5": mean(ndcg(pages, wanted, 5) for pages, wanted in found),
    }


def baselines(world: World, turns: Sequence[Labelled]) -> dict[str, Any]:
    """What plain joins of the conversation find, by the product's own search and by BM25."""
    asked = [turn for turn in turns if turn.relevant]
    search, bm25 = world.app.search.retriever, Bm25(world.texts)
    order = world.order
    context_characters, library = world.app.settings.current.context_characters, world.app.library.list()

    def by_search(query: str) -> Sequence[PageKey]:
        return pages_of(search.search(plan_question(query), library, context_characters=context_characters))

    def by_bm25(query: str) -> Sequence[PageKey]:
        return [order[place] for place in (-bm25.scores(query)).argsort(kind="stable")[: max(DEPTHS)].tolist()]

    searches: Mapping[str, Callable[[str], Sequence[PageKey]]] = {"": by_search, "BM25, ": by_bm25}
    return {
        f"{prefix}{name}": _ranked([(rank(join(turn)), turn.relevant) for turn in asked])
        for prefix, rank in searches.items()
        for name, join in JOINS.items()
    }


def _users(turn: Labelled) -> list[str]:
    return [message.content for message in turn.history if message.role == "user"]


JOINS: Mapping[str, Callable[[Labelled], str]] = {
    "last turn": lambda turn: turn.question,
    "previous and last turn": lambda turn: " ".join([*_users(turn)[-1:], turn.question]),
    "all user turns": lambda turn: " ".join([*_users(turn), turn.question]),
    "last turn and last answer": lambda turn: " ".join(
        [turn.question, *[message.content for message in turn.history if message.role == "assistant"][-1:]]
    ),
}


def _report_progress(turns: Sequence[Labelled]) -> Iterable[Labelled]:
    for number, turn in enumerate(turns):
        if number % 25 == 0:
            print(f"Turn {number} of {len(turns)}", file=sys.stderr, flush=True)
        yield turn
