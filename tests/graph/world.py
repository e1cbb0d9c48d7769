"""A small world for turns: two real texts, a word search over them, and a scripted language model."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pincite.core.answers.quoting import Quoting
from pincite.core.domain.answers import Usage
from pincite.core.domain.documents import Coverage, Document, DocumentStatus, MetadataField, Page, PageStatus, Passage
from pincite.core.domain.ports import AnswerRequest, ChatModel
from pincite.core.domain.search import Candidate, Evidence, SearchPlan, SearchResult, piece_score
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import Recalled, TurnSnapshot
from pincite.core.graph.build import build_graph
from pincite.core.graph.checkpoints import forget_runs, open_checkpoints
from pincite.core.graph.context import Equipment, Lacking
from pincite.core.services.turns import TurnRunner
from pincite.core.store.collections import Collections
from pincite.core.store.library import Library
from pincite.core.store.open import open_database
from pincite.core.store.sessions import Sessions
from pincite.core.store.turns import Turns
from pincite.core.text.terms import content_terms, words

CONTRACT = (
    "7.3 Late payment. Overdue amounts bear interest at 1.5 % per month from the due date.",
    "The customer pays each invoice within 30 days of receipt.",
    "8.1 Termination. Either party may end this agreement with 60 days' written notice.",
)
REPORT = (
    "The turbine reached an efficiency of 41.7 percent in the second trial.",
    "Dr. Ada Moreno led the measurements in Lisbon.",
)


class Shelf:
    """Documents of one sentence a page."""

    def __init__(
        self,
        texts: Mapping[str, Sequence[str]],
        coverage: float = 1.0,
        metadata: Mapping[str, Sequence[MetadataField]] | None = None,
    ) -> None:
        self._metadata = metadata or {}
        self.texts = {f"id-{name}": tuple(pages) for name, pages in texts.items()}
        self.names = {f"id-{name}": name for name in texts}
        self._coverage = coverage

    def list(self) -> list[Document]:
        return [
            Document(
                identity,
                name,
                1,
                len(self.texts[identity]),
                1,
                "2026-01-01",
                DocumentStatus.READY,
                searchable=True,
                metadata=tuple(self._metadata.get(name, ())),
            )
            for identity, name in self.names.items()
        ]

    def page(self, document_id: str, page_index: int) -> Page:
        return Page(page_index, str(page_index + 1), self.texts[document_id][page_index], (), (), PageStatus.TEXT)

    def pages(self, document_id: str, page_indexes: Iterable[int]) -> Sequence[Page]:
        count = len(self.texts[document_id])
        return [self.page(document_id, at) for at in sorted(page_indexes) if 0 <= at < count]

    def pages_labelled(self, document_id: str, label: str) -> Sequence[int]:
        return [at for at in range(len(self.texts[document_id])) if str(at + 1) == label]

    def page_text(self, document_id: str, page_index: int) -> str:
        return "".join(self.texts[document_id][page_index : page_index + 1])

    def coverage(self, document_id: str) -> Coverage:
        pages = len(self.texts[document_id])
        return Coverage(pages, pages - round((1 - self._coverage) * pages))

    def opening_passages(self, document_id: str, limit: int) -> Sequence[Passage]:
        return [passage for passage in self.passages() if passage.document_id == document_id][:limit]

    def passages(self) -> Sequence[Passage]:
        return [
            Passage(f"{identity}-{index}", identity, index, str(index + 1), text, 0, len(text))
            for identity, pages in self.texts.items()
            for index, text in enumerate(pages)
        ]


class WordSearch:
    """Scores passages by the share of the question's terms they hold; a retry lets weaker ones through."""

    def __init__(self, shelf: Shelf, *, floor: float = 0.5, retry_floor: float = 0.2) -> None:
        self.shelf = shelf
        self.floors = (floor, retry_floor)
        self.plans: list[SearchPlan] = []

    def search(
        self, plan: SearchPlan, library: object, *, context_characters: int, scope: Sequence[str] = ()
    ) -> SearchResult:
        self.plans.append(plan)
        floor = self.floors[min(plan.attempt, 1)]
        queries = [set(content_terms(query.text)) for query in plan.queries]
        ranked = []
        for passage in self.shelf.passages():
            if (plan.document_ids or scope) and passage.document_id not in (plan.document_ids or scope):
                continue
            asked_of = [piece.query.document_ids for piece in plan.pieces] or [()]
            if not any(not ids or passage.document_id in ids for ids in asked_of):
                continue
            terms = set(content_terms(passage.text))
            ranked.append((max(len(query & terms) / max(len(query), 1) for query in queries), passage))
        ranked.sort(key=lambda pair: -pair[0])
        kept = [(score, passage) for score, passage in ranked if score >= floor]
        ranked_terms = {term for _, passage in ranked for term in content_terms(passage.text)}
        asked = [word for word in words(plan.standalone_question) if content_terms(word)]
        return SearchResult(
            evidence=tuple(
                Evidence(number, passage, self.shelf.names[passage.document_id], self._scores(score, passage, plan))
                for number, (score, passage) in enumerate(kept, start=1)
            ),
            rankings={"reranked": tuple(Candidate(passage, {"words": score}) for score, passage in ranked)},
            reranker="words",
            score_floor=floor,
            absent=tuple(word for word in asked if not ranked_terms.issuperset(content_terms(word))),
        )

    @staticmethod
    def _scores(score: float, passage: Passage, plan: SearchPlan) -> dict[str, float]:
        """What it is worth, and for each piece of the plan that is asked of its document."""
        of = [number for number, one in enumerate(plan.pieces) if passage.document_id in one.query.document_ids]
        pieces = of or range(len(plan.pieces))
        return {"words": score, "dense": score} | {piece_score(number): score for number in pieces}


class ScriptedModel:
    """Returns the enqueued texts in turn; keeps every request. A gate, if given, stops it after the first piece."""

    name = "scripted"
    writes_prose = True
    context_characters = readable_characters = 4_000
    notices: tuple[str, ...] = ()
    usage: Usage | None = None

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[AnswerRequest] = []
        self.replies: list[Mapping[str, Any] | None] = []
        self.begun = threading.Event()
        self.gate: threading.Event | None = None

    def answer(self, request: AnswerRequest, stopped: Callable[[], bool]) -> Iterator[str]:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        first, *rest = answer.split(" ")
        yield first
        self.begun.set()
        if self.gate is not None:
            assert self.gate.wait(300), "nobody opened the gate"
        for word in rest:
            if stopped():
                return
            yield f" {word}"

    def structured(self, instructions: str, content: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self.of_last_answer(content, schema)

    def of_last_answer(self, question: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The next reply that is None or has what the schema requires."""
        wanted = set(schema.get("required", ()))
        fitting = (at for at, one in enumerate(self.replies) if one is None or wanted <= one.keys())
        at = next(fitting, None)
        return None if at is None else self.replies.pop(at)


class World:
    """Everything a turn needs, in one directory; open it twice to see what a restart sees."""

    def __init__(
        self,
        directory: Path,
        model: ChatModel | None = None,
        *,
        shelf: Shelf | None = None,
        search: WordSearch | None = None,
        recall: Callable[[str, Sequence[str]], Recalled | None] = lambda question, document_ids: None,
        await_documents: Callable[[Sequence[str], float], Lacking] = lambda document_ids, seconds: Lacking.NOTHING,
        **choices: Any,
    ) -> None:
        self.settings = Settings(data_dir=directory, **choices)
        self.database = open_database(self.settings)
        self.turns = Turns(self.database)
        self.checkpoints = open_checkpoints(self.settings.checkpoints_path, self.settings.database_url)
        self.sessions = Sessions(self.database)
        self.shelf = shelf or Shelf({"Service contract.pdf": CONTRACT, "report.pdf": REPORT})
        self.search = search or WordSearch(self.shelf)
        self.model: ChatModel = model or Quoting()
        self.graph = build_graph(self.checkpoints.saver)
        self.recall, self.await_documents = recall, await_documents
        self.runner = TurnRunner(
            turns=self.turns,
            sessions=self.sessions,
            graph=self.graph,
            equipment=self._equipment,
            settle=lambda: forget_runs(self.checkpoints, self.turns.unfinished),
            collection=Collections(self.database).get,
        )
        self.session = (self.sessions.list() or [self.sessions.create()])[0]

    def _equipment(self) -> Equipment:
        return Equipment(
            self.settings,
            cast(Library, self.shelf),
            self.search,
            self._choose_engine,
            self.recall,
            self.await_documents,
        )

    def _choose_engine(self, asked: str | None) -> ChatModel:
        return Quoting() if asked == "quoting" else self.model

    def ask(self, question: str, **how: Any) -> TurnSnapshot:
        return self.runner.wait(self.runner.ask(self.session.id, question, **how), 300)

    def close(self) -> None:
        self.runner.close()
        self.checkpoints.close()
        self.database.close()
