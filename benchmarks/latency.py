"""Measure the time to first status, first word, last word and verdict, compared with the bare server's same prompt.

Questions to the sample documents, one attempt each. Before each of the two the model is loaded again (warm: it has read
nothing yet) or unloaded (cold), so that neither finds the other's prompt already read.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import ollama

from benchmarks.measures import quantile
from pincite.core.domain.ports import AnswerRequest
from pincite.core.domain.settings import PACKAGE_ROOT, Settings
from pincite.core.models.ollama import OllamaChat, host_of
from pincite.core.models.prompts import messages_for
from pincite.core.models.served import ANSWER_TOKENS
from pincite.core.services.bootstrap import Pincite, open_pincite

QUESTIONS = (
    "What is the penalty for late payment?",
    "How long does the agreement run?",
    "When may the Client terminate a Work Order?",
    "Who signed the agreement for the Supplier?",
    "Why does water stand on Span 2?",
    "Which panels should be replaced?",
    "What is the day rate of a project lead?",
    "How was the thickness of the panels measured?",
)
TURN_SECONDS = 600.0
POLL_SECONDS = 0.002
WAYS = ("warm", "cold")
MOMENTS = ("status", "first_word", "last_word", "verdict")
BARE = ("bare_first_word", "bare_last_word")


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds from the question on, by moment."""

    way: str
    seconds: dict[str, float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--engine", choices=("quoting", "ollama"), default="quoting")
    parser.add_argument("--model", default="", help="the model of Ollama (default: the first that there is)")
    parser.add_argument("--questions", type=int, default=len(QUESTIONS), help="questions in each way")


def run(options: argparse.Namespace) -> dict[str, Any]:
    engine = f"{options.engine}:{options.model}" if options.model else options.engine
    with tempfile.TemporaryDirectory(prefix="pincite-latency-") as folder:
        settings = Settings(data_dir=Path(folder), engine=engine, max_retries=0, turn_seconds=TURN_SECONDS)
        with closing(open_pincite(settings)) as app:
            for sample in sorted((PACKAGE_ROOT / "data" / "samples").glob("*.pdf")):
                app.ingest.add(sample.read_bytes(), sample.name)
            app.ingest.wait([document.id for document in app.library.list()], timeout_seconds=TURN_SECONDS)
            asked = QUESTIONS[: options.questions]
            app.runner.wait(app.runner.ask(app.sessions.create().id, asked[0]), TURN_SECONDS)  # loads search and OCR
            rows = list(
                _quoting(app, asked) if options.engine == "quoting" else _with_bare_server(app, options.model, asked)
            )
    return {"engine": engine, **{way: _summary([row for row in rows if row.way == way]) for way in WAYS}}


def _quoting(app: Pincite, questions: Sequence[str]) -> Iterator[Timed]:
    for question in questions:
        yield Timed("warm", _ask(app, question))


def _with_bare_server(app: Pincite, model: str, questions: Sequence[str]) -> Iterator[Timed]:
    host = host_of("")
    chat = OllamaChat(host, model or app.engines.state().model)
    for question in questions:
        for way in WAYS:
            sent: list[list[dict[str, str]]] = []

            def noted(request: AnswerRequest, sent: list[list[dict[str, str]]] = sent) -> list[dict[str, str]]:
                sent.append(messages_for(request))
                return sent[-1]

            _made_ready(chat, way)
            with patch("pincite.core.models.served.messages_for", noted):
                seconds = _ask(app, question)
            if sent:
                _made_ready(chat, way)
                yield Timed(way, seconds | _bare(chat, sent[0]))


def _made_ready(chat: OllamaChat, way: str) -> None:
    ollama.Client(chat.host).generate(chat.model, keep_alive=0)
    while any(one.model == chat.model for one in ollama.Client(chat.host).ps().models):
        time.sleep(POLL_SECONDS)
    if way == "warm":
        chat.load()


def _ask(app: Pincite, question: str) -> dict[str, float]:
    session, began = app.sessions.create().id, time.perf_counter()
    turn_id, seconds = app.runner.ask(session, question), dict[str, float]()
    while True:
        seen, at = app.runner.snapshot(turn_id), time.perf_counter() - began
        reached = {
            "status": bool(seen.steps),
            "first_word": any(part.text.strip() for part in seen.draft),
            "last_word": "generator" in seen.turn.path,
            "verdict": bool(seen.turn.finished_at),
        }
        seconds = {name: at for name in MOMENTS if reached[name]} | seconds
        if reached["verdict"]:
            return {name: seconds.get(name, at) for name in MOMENTS}
        time.sleep(POLL_SECONDS)


def _bare(chat: OllamaChat, messages: list[dict[str, str]]) -> dict[str, float]:
    options = {"num_ctx": chat.context_tokens, "num_predict": ANSWER_TOKENS, "temperature": 0}
    began, first = time.perf_counter(), 0.0
    for piece in ollama.Client(chat.host).chat(chat.model, messages, stream=True, options=options):
        if piece.message.content:
            first = first or time.perf_counter() - began
    return dict(zip(BARE, (first, time.perf_counter() - began), strict=True))


def _summary(rows: Sequence[Timed]) -> dict[str, Any]:
    """p50 and p95 of each moment, and how many times the bare server's wait for its first word ours is."""
    if not rows:
        return {}
    summary: dict[str, Any] = {"questions": len(rows)}
    for name in (*MOMENTS, *BARE):
        if values := [row.seconds[name] for row in rows if name in row.seconds]:
            summary[name] = {"p50": round(median(values), 3), "p95": round(quantile(values, 0.95), 3)}
    ratios = [row.seconds["first_word"] / row.seconds[BARE[0]] for row in rows if row.seconds.get(BARE[0])]
    return summary | ({"first_token_ratio": round(median(ratios), 3)} if ratios else {})
