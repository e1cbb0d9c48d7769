"""What is each part of the search worth? Page recall with one part switched off at a time."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.corpus import open_corpus
from benchmarks.measures import Found, read_questions, select, summary
from benchmarks.retrieval import search_all, split_tags
from core.domain.documents import Document, PageKey, Passage
from core.domain.errors import PinciteError
from core.domain.ports import Embedder, KeywordIndex, PassageIndex, Reranker
from core.domain.search import Candidate, SearchPlan, SubQuery
from core.models.rerank import BuiltInReranker
from core.search import retriever as searching
from core.search.lexicon import Lexicon
from core.search.plan import plan_question
from core.search.retriever import Retriever
from core.store.exact import NoMeaning
from core.store.keywords import Fts5Index


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="a folder with pdfs/ and questions.jsonl")
    parser.add_argument("--scope", choices=("document", "library"), default="library", help="what is searched")
    parser.add_argument("--tags", default="", help="only questions whose evidence lies wholly in these kinds (A,B)")
    parser.add_argument("--limit", type=int, default=0, help="only the first N questions")


class NoKeywords:
    """A keyword index that finds nothing."""

    def search(self, query: str, *, document_ids: Sequence[str], limit: int) -> list[tuple[str, float]]:
        return []

    def prepare(self, passages: Sequence[Passage]) -> Callable[[], None]:
        return lambda: None

    def add(self, passages: Sequence[Passage]) -> None: ...

    def remove_document(self, document_id: str) -> None: ...


class FusedOrder:
    """A reranker that keeps the order of fusion."""

    name = "none"
    floors = (0.0, 0.0)

    def rate(
        self,
        plan: SearchPlan,
        candidates: Sequence[Candidate],
        pages: Mapping[PageKey, Sequence[Passage]],
        page_counts: Mapping[str, int],
    ) -> list[Candidate]:
        best = max((candidate.scores["fused"] for candidate in candidates), default=1.0)
        return [candidate.scored(reranked=candidate.scores["fused"] / best) for candidate in candidates]


class Nameless:
    """A library whose documents have neither names nor metadata to match."""

    def __init__(self, library: searching.Library) -> None:
        self._library = library
        self.passages = library.passages
        self.passages_of_pages = library.passages_of_pages
        self.pages_labelled = library.pages_labelled

    def list(self) -> Sequence[Document]:
        return [replace(document, name="", metadata=()) for document in self._library.list()]


Change = Callable[[SearchPlan], SearchPlan]


def as_asked(plan: SearchPlan) -> SearchPlan:
    return replace(plan, sub_queries=(SubQuery(plan.question),))


def one_wording(plan: SearchPlan) -> SearchPlan:
    return replace(plan, sub_queries=tuple(replace(query, variations=()) for query in plan.sub_queries))


def main_query_only(plan: SearchPlan) -> SearchPlan:
    return replace(plan, sub_queries=plan.sub_queries[:1])


def no_places(plan: SearchPlan) -> SearchPlan:
    return replace(plan, wanted_sections=(), wanted_pages=())


def no_terms(plan: SearchPlan) -> SearchPlan:
    return plan_question(plan.question, lexicon=Lexicon())


def whole(plan: SearchPlan) -> SearchPlan:
    return plan


def run(options: argparse.Namespace) -> dict[str, Any]:
    corpus = open_corpus(options.directory)
    questions = select(read_questions(options.directory), tags=split_tags(options.tags), limit=options.limit)
    embedder, vectors = corpus.app.indexes.active()
    keywords = Fts5Index(corpus.app.database)
    library = corpus.app.library

    def measure(change: Change, retriever: Retriever) -> dict[str, Any]:
        found: list[Found] = search_all(replace(corpus, retriever=retriever), questions, options.scope, change)
        return {stage: summary(found, stage) for stage in ("reranked", "packed")}

    def searcher(
        keywords: KeywordIndex = keywords,
        vectors: PassageIndex = vectors,
        embedder: Embedder = embedder,
        reranker: Reranker | None = None,
        library: searching.Library = library,
    ) -> Retriever:
        return Retriever(
            library=library,
            keywords=keywords,
            vectors=vectors,
            embedder=embedder,
            reranker=reranker or BuiltInReranker(),
            settings=corpus.app.settings.current,
        )

    rows = {
        "everything": measure(whole, searcher()),
        "without keyword search": measure(whole, searcher(keywords=NoKeywords())),
        "without dense search": measure(whole, searcher(vectors=NoMeaning(PinciteError("left out")))),
        "without the reranker": measure(whole, searcher(reranker=FusedOrder())),
        "without variations": measure(one_wording, searcher()),
        "without sub-queries": measure(main_query_only, searcher()),
        "question as asked": measure(as_asked, searcher()),
        "without wanted sections and pages": measure(no_places, searcher()),
        "without terms of a trade": measure(no_terms, searcher()),
        "without names of documents": measure(whole, searcher(library=Nameless(library))),
    }
    return {"set": options.directory.resolve().name, "scope": options.scope, "questions": len(questions), "rows": rows}


def render(result: dict[str, Any]) -> str:
    lines = [
        f"{result['set']}, {result['scope']} scope, {result['questions']} questions; the reranker is not learned anew",
        "",
        f"{'':36}{'R@1':>7} {'R@5':>7} {'R@10':>7} {'packed R@5':>11}",
    ]
    for name, stages in result["rows"].items():
        at = stages["reranked"]["recall"]
        lines.append(
            f"{name:36}{at['1']:>7.3f} {at['5']:>7.3f} {at['10']:>7.3f} {stages['packed']['recall']['5']:>11.3f}"
        )
    return "\n".join(lines)
