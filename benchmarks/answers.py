"""Does the answer hold what was asked? The whole graph on labelled questions; and knowing when not to answer."""

import argparse
import ast
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.corpus import Corpus, open_corpus
from benchmarks.measures import Question, read_questions
from core.domain.answers import AnswerPart, PartKind
from core.domain.ports import ChatModel
from core.domain.search import Mode
from core.domain.turns import TraceStep
from core.graph.build import TurnGraph, build_graph
from core.graph.context import TurnContext
from core.graph.state import TurnState
from core.models.registry import choose_engine
from core.text.marks import plain_text
from core.text.numbers import quantities, same, stated_scales
from core.text.quotations import NormalizedText

SECONDS_PER_QUESTION = 600.0


@dataclass(frozen=True, slots=True)
class Answered:
    """One question's answer and what it was worth."""

    question: Question
    answer: str
    possible: bool
    contained: bool
    declined: bool
    cited: int
    cited_on_evidence: int
    flagged: bool
    seconds: float


class Silent:
    """Progress that nobody watches."""

    def step(self, text: str) -> None: ...

    def draft(self, parts: Sequence[AnswerPart]) -> None: ...

    def visited(self, step: TraceStep) -> None: ...


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="a folder with pdfs/ and questions.jsonl")
    parser.add_argument("--engine", choices=("quoting", "ollama"), default="quoting", help="what writes the answers")
    parser.add_argument("--limit", type=int, default=0, help="only the first N questions")
    parser.add_argument("--show", type=Path, help="write every question with its answer to this JSON Lines file")


def run(options: argparse.Namespace) -> dict[str, Any]:
    corpus = open_corpus(options.directory)
    gold = gold_answers(options.directory)
    questions = read_questions(options.directory)[: options.limit or None]
    engine = choose_engine(corpus.app.settings.current, options.engine)
    graph = build_graph()
    answered = [answer_one(corpus, graph, engine, question, gold[question.id]) for question in questions]
    if options.show:
        options.show.write_text("\n".join(map(_line, answered)), encoding="utf-8")
    return {"set": options.directory.resolve().name, "engine": engine.name, **summary(answered)}


def gold_answers(directory: Path) -> dict[str, str]:
    rows = (json.loads(line) for line in (directory / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    return {row["id"]: str(row["answer"]) for row in rows}


def answer_one(corpus: Corpus, graph: TurnGraph, engine: ChatModel, question: Question, gold: str) -> Answered:
    """Ask in document scope, as the chat page does once the right documents are chosen."""
    chosen = tuple(corpus.ids[name] for name in question.documents if name in corpus.ids)
    context = TurnContext(
        settings=corpus.app.settings.current,
        model=engine,
        stand_in=engine,
        documents=corpus.app.library,
        searcher=corpus.retriever,
        progress=Silent(),
        stopped=lambda: False,
        deadline=time.monotonic() + SECONDS_PER_QUESTION,
    )
    started = time.perf_counter()
    final = TurnState(**graph.invoke(TurnState(question.text, Mode.DOCUMENTS, chosen), context=context))
    pages = [corpus.app.library.page_text(corpus.ids[name], index) for name, index in question.evidence]
    places = [(corpus.names[citation.document_id], citation.page_index) for citation in final.citations]
    text = " ".join(plain_text(final.parts).split())
    return Answered(
        question=question,
        answer=text,
        possible=question.answerable and contains("\n".join(pages), gold),
        contained=contains(text, gold),
        declined=any(part.kind is PartKind.DECLINE for part in final.parts)
        or bool(final.verdict and final.verdict.declined),
        cited=len(places),
        cited_on_evidence=sum(place in question.evidence for place in places),
        flagged=final.flagged,
        seconds=time.perf_counter() - started,
    )


def contains(text: str, gold: str) -> bool:
    """Say whether a text holds the gold answer: figures by value, scale and unit; words verbatim; lists wholly."""
    items = _items(gold)
    return bool(items) and held_items(text, gold) == len(items)


def held_items(text: str, gold: str) -> int:
    """How many items of a list (or whether the one value) a text holds."""
    return sum(_holds(text, item) for item in _items(gold))


def _items(gold: str) -> list[str]:
    try:
        value = ast.literal_eval(gold)
    except (ValueError, SyntaxError):
        value = gold
    return [str(item).strip() for item in (value if isinstance(value, list) else [gold]) if str(item).strip()]


def _holds(text: str, item: str) -> bool:
    figures = quantities(item)
    if len(figures) == 1 and len(item) - (figures[0].end - figures[0].start) <= 2:
        scales = stated_scales(text)
        return any(same(figures[0], given, scales) and same(given, figures[0], scales) for given in quantities(text))
    return NormalizedText(text.casefold()).locate(item.casefold()) is not None


def summary(answered: Sequence[Answered]) -> dict[str, Any]:
    possible = [one for one in answered if one.possible]
    unanswerable = [one for one in answered if not one.question.answerable]
    answerable = [one for one in answered if one.question.answerable]
    cited = sum(one.cited for one in possible)
    return {
        "questions": len(answered),
        "possible": len(possible),
        "contained": _share(one.contained for one in possible),
        "words_p50": median([len(one.answer.split()) for one in possible] or [0]),
        "citations_on_evidence_page": round(sum(one.cited_on_evidence for one in possible) / max(cited, 1), 4),
        "declined_unanswerable": _share(one.declined for one in unanswerable),
        "declined_wrongly": _share(one.declined for one in possible),
        "declined_answerable": _share(one.declined for one in answerable),
        "flagged": _share(one.flagged for one in answered),
        "seconds_p50": round(median([one.seconds for one in answered] or [0]), 2),
    }


def _share(values: Iterable[bool]) -> float:
    found = list(values)
    return round(sum(found) / len(found), 4) if found else 0.0


def _line(one: Answered) -> str:
    return json.dumps(
        {
            "id": one.question.id,
            "question": one.question.text,
            "answer": one.answer,
            "answerable": one.question.answerable,
            "possible": one.possible,
            "contained": one.contained,
            "declined": one.declined,
        },
        ensure_ascii=False,
    )


def render(result: dict[str, Any]) -> str:
    return "\n".join(f"{name.replace('_', ' '):28}{value}" for name, value in result.items())
