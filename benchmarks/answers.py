"""Measure whether answers are right and whether their confidence shows it: the whole graph on labelled questions.

The headline is graded (`grading`): the first part of an answer, before its evidence.
"""

import argparse
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.corpus import Corpus, open_corpus
from benchmarks.judged import Answered, contains, line, report
from benchmarks.measures import Question, read_questions
from pincite.core.answers.quoting import Quoting
from pincite.core.domain.answers import AnswerPart, Form, PartKind, form_of, is_prose, listed_passages
from pincite.core.domain.documents import DocumentStatus
from pincite.core.domain.ports import ChatModel
from pincite.core.domain.presentation import Tier, tier_of
from pincite.core.domain.search import Evidence, Mode
from pincite.core.domain.settings import load_settings
from pincite.core.domain.turns import TraceStep
from pincite.core.graph.build import TurnGraph, build_graph
from pincite.core.graph.context import TurnContext
from pincite.core.graph.state import TurnState
from pincite.core.judge.claims import declines
from pincite.core.models.served import ServedChat
from pincite.core.questions.plan import plan_question
from pincite.core.search.fuse import fuse_rankings
from pincite.core.services.registry import choose_engine
from pincite.core.text.marks import plain_text
from pincite.core.text.quotations import best_quotation
from pincite.core.text.sentences import split_sentences

SECONDS_PER_QUESTION = 600.0
BEST_SENTENCE = "best sentence"
PLAIN_SEARCH, PLAIN = "plain search", ("keyword", "dense")
SHOWN_WORDS = 250
"""Maximum number of words of listed passages."""


class Silent:
    """Progress that nobody watches."""

    def step(self, text: str) -> None: ...

    def draft(self, parts: Sequence[AnswerPart]) -> None: ...

    def visited(self, step: TraceStep) -> None: ...


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="a folder with pdfs/ and questions.jsonl")
    parser.add_argument(
        "--engine", default="quoting", metavar="ENGINE", help="what writes: quoting, ollama, openai or openai:MODEL"
    )
    parser.add_argument(
        "--tags", default="", help="only questions with one of these tags (A,B), and all unanswerable ones"
    )
    parser.add_argument("--limit", type=int, default=0, help="only the first N questions")
    parser.add_argument("--every", type=int, default=1, help="only each Nth question")
    parser.add_argument("--as-it-is", action="store_true", help="do not wait until the library is whole")
    parser.add_argument("--show", type=Path, help="write every question with its answer to this JSON Lines file")


def run(options: argparse.Namespace) -> dict[str, Any]:
    corpus = open_corpus(options.directory, whole=not options.as_it_is)
    gold = gold_answers(options.directory)
    chosen = choose(read_questions(options.directory), tags=options.tags, every=options.every, limit=options.limit)
    questions = askable(corpus, chosen)
    engine = choose_engine(load_settings(corpus.app.settings.current.data_dir), options.engine)
    graph = build_graph()
    answered: list[Answered] = []
    baselines: dict[str, list[Answered]] = {}
    for question in questions:
        reference = gold[question.id]
        own, sent = answer_one(corpus, graph, engine, question, reference)
        answered.append(own)
        other_answers = {
            BEST_SENTENCE: best_sentence(corpus, question, reference),
            PLAIN_SEARCH: plain_search(corpus, question, reference),
        }
        if isinstance(engine, ServedChat):
            other_answers[engine.name] = bare(corpus, engine, question, reference, sent)
            other_answers["quoting"], _ = answer_one(corpus, graph, Quoting(), question, reference)
        for name, other in other_answers.items():
            baselines.setdefault(name, []).append(other)
        if options.show:
            with options.show.open("a", encoding="utf-8") as shown:
                shown.writelines(f"{line(one)}\n" for one in (own, *other_answers.values()))
    return {
        "set": options.directory.resolve().name,
        "engine": engine.name,
        "left_out": len(chosen) - len(questions),
        **report(answered),
        "baselines": {name: report(given) for name, given in baselines.items()},
    }


def choose(questions: Sequence[Question], *, tags: str, every: int = 1, limit: int = 0) -> list[Question]:
    """Questions with one of the tags, where any are given; unanswerable ones have no evidence to be tagged by."""
    wanted = {tag.strip() for tag in tags.split(",") if tag.strip()}
    fitting = [one for one in questions if not wanted or not one.answerable or wanted & one.tags]
    return fitting[::every][: limit or None]


def askable(corpus: Corpus, questions: Sequence[Question]) -> list[Question]:
    """Return those about documents that are in the library and wholly read."""
    ready = {one.name for one in corpus.app.library.list() if one.status is DocumentStatus.READY}
    return [question for question in questions if question.documents and ready.issuperset(question.documents)]


def gold_answers(directory: Path) -> dict[str, str]:
    rows = (json.loads(line) for line in (directory / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    return {row["id"]: str(row["answer"]) for row in rows}


def answer_one(
    corpus: Corpus, graph: TurnGraph, engine: ChatModel, question: Question, gold: str
) -> tuple[Answered, tuple[Evidence, ...]]:
    """Ask in document scope, as the chat page does for the right documents; with what the model was sent."""
    chosen = tuple(corpus.ids[name] for name in question.documents if name in corpus.ids)
    context = TurnContext(
        settings=corpus.app.settings.current,
        model=engine,
        stand_in=Quoting(),
        library=corpus.app.library,
        searcher=corpus.retriever,
        choose_engine=lambda asked: Quoting(),
        documents=tuple(corpus.app.library.list()),
        progress=Silent(),
        stopped=lambda: False,
        deadline=time.monotonic() + SECONDS_PER_QUESTION,
    )
    started = time.perf_counter()
    final = TurnState(**graph.invoke(TurnState(question.text, Mode.DOCUMENTS, chosen), context=context))
    seconds = time.perf_counter() - started
    form = form_of(final.parts, final.verdict)
    text = " ".join(plain_text(final.parts).split())
    places = [(corpus.names[citation.document_id], citation.page_index) for citation in final.citations]
    answered = Answered(
        question=question,
        reference=gold,
        headline=headline_of(final.parts) if form is Form.ANSWER else "",
        answer=text,
        declined=form is Form.NOT_FOUND,
        flagged=final.flagged,
        warned=final.flagged
        or bool(form is not Form.EVIDENCE and final.verdict and tier_of(final.verdict) is Tier.CHECK),
        confidence=final.verdict.confidence if final.verdict and form is not Form.EVIDENCE else None,
        possible=_possible(corpus, question, gold),
        contained=contains(text, gold),
        cited=len(places),
        cited_on_evidence=sum(place in question.evidence for place in places),
        seconds=seconds,
        prose=is_prose(final.parts),
        passages=_as_shown(final.parts) if form is Form.EVIDENCE else (),
    )
    return answered, final.evidence[: final.usage.passages if final.usage else None]


def _as_shown(parts: Sequence[AnswerPart]) -> tuple[str, ...]:
    """Return the words of the passages that are listed, SHOWN_WORDS in all."""
    texts = ["\n".join(part.text for part in one.parts) for one in listed_passages(parts)]
    return _within(texts)


def _within(texts: Sequence[str], room: int = SHOWN_WORDS) -> tuple[str, ...]:
    kept = []
    for text in texts:
        ends = [match.end() for match in re.finditer(r"\S+", text)][:room]
        kept += [text[: ends[-1]]] if ends else []
        room -= len(ends)
    return tuple(kept)


def plain_search(corpus: Corpus, question: Question, gold: str) -> Answered:
    """Show the first passages of BM25 and dense search, fused by reciprocal rank, as many words as are listed."""
    chosen = [corpus.ids[name] for name in question.documents]
    started = time.perf_counter()
    plan = plan_question(question.text)
    result = corpus.retriever.search(plan, corpus.documents, context_characters=corpus.context_characters, scope=chosen)
    known = {one.passage.id: one.passage.text for stage in PLAIN for one in result.rankings.get(stage, ())}
    ranked = fuse_rankings([([one.passage.id for one in result.rankings.get(stage, ())], 1.0) for stage in PLAIN])
    return Answered(
        question=question,
        reference=gold,
        headline="",
        answer="",
        declined=not ranked,
        possible=_possible(corpus, question, gold),
        seconds=time.perf_counter() - started,
        passages=_within([known[identity] for identity, _ in ranked]),
    )


def bare(corpus: Corpus, engine: ServedChat, question: Question, gold: str, evidence: Sequence[Evidence]) -> Answered:
    """Return the same model's answer from the same passages: one plain prompt, and its output shown unchanged."""
    passages = "\n\n".join(item.passage.text for item in evidence)
    prompt = f"{passages}\n\nAnswer from this text. If it does not say, say so.\n\nQuestion: {question.text}"
    started = time.perf_counter()
    pieces = engine.pieces([{"role": "user", "content": prompt}], lambda: False)
    text = " ".join("".join(piece.text for piece in pieces).split())
    return Answered(
        question=question,
        reference=gold,
        headline=text,
        answer=text,
        declined=declines(text),
        possible=_possible(corpus, question, gold),
        contained=contains(text, gold),
        seconds=time.perf_counter() - started,
        prose=True,
    )


def headline_of(parts: Sequence[AnswerPart]) -> str:
    """Return the first part of an answer: its headline, the figures it states, else its first quotation or sentence."""
    for kind in (PartKind.HEADLINE, PartKind.YES_NO, PartKind.COUNT, PartKind.FIGURE):
        if texts := [part.text for part in parts if part.kind is kind]:
            return " ".join("; ".join(texts).split())
    quoted = next((part.text for part in parts if part.kind is PartKind.VERBATIM), "")
    prose = plain_text(part for part in parts if part.kind is PartKind.PROSE)
    first = next((prose[span.start : span.end] for span in split_sentences(prose)), "")
    return " ".join((quoted or first).split())


def best_sentence(corpus: Corpus, question: Question, gold: str) -> Answered:
    """The plainest way to answer: the sentence of the best passage that shares most rare words with the question."""
    chosen = [corpus.ids[name] for name in question.documents]
    started = time.perf_counter()
    plan = plan_question(question.text)
    result = corpus.retriever.search(plan, corpus.documents, context_characters=corpus.context_characters, scope=chosen)
    ranked = [candidate.passage for candidate in result.rankings.get("packed", ())]
    ranked = ranked or [item.passage for item in result.evidence]
    found = best_quotation(question.text, [ranked[0].text]) if ranked else None
    sentence = " ".join(ranked[0].text[found[1].start : found[1].end].split()) if found else ""
    place = (corpus.names[ranked[0].document_id], ranked[0].page_index) if sentence else None
    return Answered(
        question=question,
        reference=gold,
        headline=sentence,
        answer=sentence,
        declined=not sentence,
        possible=_possible(corpus, question, gold),
        contained=contains(sentence, gold),
        cited=int(place is not None),
        cited_on_evidence=int(place in question.evidence),
        seconds=time.perf_counter() - started,
    )


def _possible(corpus: Corpus, question: Question, gold: str) -> bool:
    """Return whether the reference occurs on the pages that people marked."""
    pages = [corpus.app.library.page_text(corpus.ids[name], index) for name, index in question.evidence]
    return question.answerable and contains("\n".join(pages), gold)


def render(result: dict[str, Any]) -> str:
    groups = [("all", result), *result["by_kind"].items(), *result["by_tag"].items()]
    groups += [(name, part) for name, part in result["baselines"].items()]
    keys = [key for key in SHOWN if key in result]
    head = f"{result['set']}, {result['engine']}, {result['left_out']} questions left out"
    lines = [f"{key.replace('_', ' '):28}" + "".join(f"{_cell(part[key]):>12}" for _, part in groups) for key in keys]
    return "\n".join([head, f"{'':28}" + "".join(f"{name[:11]:>12}" for name, _ in groups), *lines])


SHOWN = (
    "questions", "answered", "useful_3", "useful_5", "wrong_shown",
    "right", "right_of_answered", "right_unwarned", "wrong_unwarned", "declined_wrongly",
    "declined_unanswerable", "words_p50", "citations_on_evidence_page", "ece", "aurc", "coverage_at_10_percent_risk",
    "seconds_p50", "warned", "flagged", "possible", "contained",
)  # fmt: skip


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
