"""Measure page recall of the retriever on labelled questions, by stage, compared with plain methods."""

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.baselines import rank_plainly
from benchmarks.corpus import Corpus, open_corpus
from benchmarks.measures import Found, PageRef, Question, quantile, read_questions, select, summary
from pincite.core.domain.search import Candidate, SearchPlan
from pincite.core.questions.plan import plan_question

STAGES = ("keyword", "dense", "fused", "reranked", "packed")


Change = Callable[[SearchPlan], SearchPlan]


def as_planned(plan: SearchPlan) -> SearchPlan:
    return plan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="a folder with pdfs/ and questions.jsonl")
    parser.add_argument("--scope", choices=("document", "library"), default="document", help="what is searched")
    parser.add_argument("--tags", default="", help="only questions whose evidence lies wholly in these kinds (A,B)")
    parser.add_argument("--limit", type=int, default=0, help="only the first N questions")
    parser.add_argument("--stages", action="store_true", help="report every stage of the search")
    parser.add_argument("--baselines", action="store_true", help="also run BM25, MiniLM and their fusion")


def run(options: argparse.Namespace) -> dict[str, Any]:
    corpus = open_corpus(options.directory)
    questions = select(read_questions(options.directory), tags=split_tags(options.tags), limit=options.limit)
    found = search_all(corpus, questions, options.scope)
    result = {"set": options.directory.resolve().name, "scope": options.scope, **summary(found, "packed")}
    result["latency_ms"] = {
        "p50": round(quantile([f.milliseconds for f in found], 0.5), 1),
        "p95": round(quantile([f.milliseconds for f in found], 0.95), 1),
    }
    result["by_tag"] = {
        tag: summary([f for f in found if tag in f.question.tags], "packed")
        for tag in sorted({tag for question in questions for tag in question.tags})
    }
    result["stages"] = {stage: summary(found, stage) for stage in STAGES} if options.stages else {}
    result["baselines"] = {}
    if options.baselines:
        plain = rank_plainly(corpus, questions, scope=options.scope)
        result["baselines"] = {name: summary(ranked, "pages") for name, ranked in plain.items()}
    return result


def split_tags(tags: str) -> frozenset[str]:
    return frozenset(tag.strip() for tag in tags.split(",") if tag.strip())


def search_all(corpus: Corpus, questions: Sequence[Question], scope: str, change: Change = as_planned) -> list[Found]:
    """Plan and search every question as the graph does; in document scope the right document is chosen."""
    if questions:
        search_one(corpus, questions[0], scope, change)  # opens indexes and models, which a running app has done
    return [search_one(corpus, question, scope, change) for question in questions]


def search_one(corpus: Corpus, question: Question, scope: str, change: Change = as_planned) -> Found:
    chosen = [corpus.ids[name] for name in question.documents if name in corpus.ids] if scope == "document" else []
    started = time.perf_counter()
    plan = change(plan_question(question.text))
    result = corpus.retriever.search(plan, corpus.documents, context_characters=corpus.context_characters, scope=chosen)
    elapsed = time.perf_counter() - started
    pages = {stage: pages_of(corpus, result.rankings.get(stage, ())) for stage in STAGES}
    return Found(question, pages, elapsed * 1000)


def pages_of(corpus: Corpus, ranking: Iterable[Candidate]) -> list[PageRef]:
    places = ((corpus.names[c.passage.document_id], c.passage.page_index) for c in ranking)
    return list(dict.fromkeys(places))
