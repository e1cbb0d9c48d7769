"""Measure search and reading in other languages: twelve languages, forty facts each, in documents of forty pages.

The facts are ours, the same in each language (``facts/``: a sentence with its answer in brackets, and a question in
other words). Each fact is alone on a page among filler. Questions are asked in the document's language, in English
about the document, and in its language about the English document; with the embedder for other languages and with
MiniLM.
"""

import argparse
import re
import subprocess
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fpdf import FPDF
from fpdf.bidi import BidiParagraph

from benchmarks.answers import answer_one
from benchmarks.corpus import Corpus, cache_root, open_corpus
from benchmarks.measures import Question, mean, recall
from benchmarks.retrieval import search_one
from pincite.core.domain.errors import PinciteError
from pincite.core.graph.build import build_graph
from pincite.core.services.registry import QUOTING, choose_engine

FACTS = Path(__file__).with_name("facts")
ENGLISH = "en"
LANGUAGES = tuple(sorted(file.stem for file in FACTS.glob("*.txt") if file.stem != ENGLISH))
PAGE_FILLER = 5
LATIN = 256
"""Characters below are Latin letters, figures and signs, which a font of another script need not have."""
LINE = 60
EMBEDDERS = ("e5", "minilm")
BARS = {"same": 0.90, "from_english": 0.80, "to_english": 0.80}
"""Of R@3."""


@dataclass(frozen=True, slots=True)
class Fact:
    sentence: str
    answer: str
    question: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--languages", default=",".join(LANGUAGES), help="only these, by their codes (de,ja)")
    parser.add_argument("--limit", type=int, default=0, help="only the first N facts of each")
    parser.add_argument("--no-answers", action="store_true", help="only search, which is much faster")


def run(options: argparse.Namespace) -> dict[str, Any]:
    chosen = [code for code in LANGUAGES if code in options.languages.split(",")]
    folder = write_documents(cache_root() / "languages")
    measured = {embedder: measure(folder, embedder, chosen, options) for embedder in EMBEDDERS}
    return {"facts": len(questions(ENGLISH, ENGLISH, options.limit)), **measured["e5"], "minilm": measured["minilm"]}


def measure(folder: Path, embedder: str, codes: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    """Means over languages, then each language."""
    corpus = open_corpus(folder, embedder=embedder)
    try:
        by_language = {code: _language(corpus, code, options) for code in codes}
    finally:
        corpus.app.close()
    names = next(iter(by_language.values()))
    return {
        **{name: round(mean(measured[name] for measured in by_language.values()), 3) for name in names},
        "by_language": by_language,
    }


def _language(corpus: Corpus, code: str, options: argparse.Namespace) -> dict[str, float]:
    pairs = {"same": (code, code), "from_english": (ENGLISH, code), "to_english": (code, ENGLISH)}
    measured = {}
    for name, (asked, read) in pairs.items():
        found = [search_one(corpus, question, "document") for question, _ in questions(asked, read, options.limit)]
        for depth in (1, 3):
            recalls = (recall(one.pages["packed"], one.question.evidence, depth) for one in found)
            measured[f"{name}_recall_{depth}"] = round(mean(recalls), 3)
    if not options.no_answers:
        measured["headline_right"] = headline_right(corpus, questions(code, code, options.limit))
    return measured


def headline_right(corpus: Corpus, asked: Sequence[tuple[Question, str]]) -> float:
    engine, graph = choose_engine(corpus.app.settings.current, QUOTING), build_graph()
    return round(mean(answer_one(corpus, graph, engine, question, gold)[0].right for question, gold in asked), 3)


def questions(asked: str, read: str, limit: int = 0) -> list[tuple[Question, str]]:
    """Each fact's question in one language of the document in another, and the answer in the document's words."""
    pairs = zip(facts(asked), facts(read), strict=True)
    numbered = list(enumerate(pairs))[: limit or None]
    return [(_question(page, own.question, f"{read}.pdf"), other.answer) for page, (own, other) in numbered]


def _question(page: int, text: str, document: str) -> Question:
    evidence = frozenset([(document, page)])
    return Question(f"{document}-{page}", text, (document,), evidence, frozenset(), answerable=True)


def facts(code: str) -> list[Fact]:
    return [_fact(*line.split(" | ")) for line in _lines(code) if not line.startswith("- ")]


def _fact(sentence: str, question: str) -> Fact:
    found = re.search(r"\[(.+)\]", sentence)
    assert found is not None, sentence
    return Fact(sentence.replace("[", "").replace("]", ""), found[1], question)


def filler(code: str) -> list[str]:
    return [line.removeprefix("- ") for line in _lines(code) if line.startswith("- ")]


def _lines(code: str) -> list[str]:
    return (FACTS / f"{code}.txt").read_text(encoding="utf-8").strip().splitlines()


def pages(code: str) -> Iterator[str]:
    """Yield a fact among filler, which comes round in turn."""
    rest = filler(code)
    for number, fact in enumerate(facts(code)):
        own = [rest[(number + step) % len(rest)] for step in range(PAGE_FILLER)]
        own.insert(number % (PAGE_FILLER + 1), fact.sentence)
        yield ("" if code in ("zh", "ja") else " ").join(own)


def write_documents(folder: Path) -> Path:
    """Return a PDF a language, as `open_corpus` wants them; raises PinciteError where a language has no font."""
    (folder / "pdfs").mkdir(parents=True, exist_ok=True)
    for code in (ENGLISH, *LANGUAGES):
        file = folder / "pdfs" / f"{code}.pdf"
        if not file.exists():
            file.write_bytes(_pdf(code))
    return folder


def _pdf(code: str) -> bytes:
    texts = list(pages(code))
    pdf = FPDF()
    wanted = set("".join(texts))
    pdf.add_font("letters", fname=_font(code, {one for one in wanted if ord(one) >= LATIN}))
    pdf.add_font("figures", fname=_font(ENGLISH, {one for one in wanted if ord(one) < LATIN}))
    pdf.set_font("letters", size=12)
    pdf.set_fallback_fonts(["figures"])
    for text in texts:
        pdf.add_page()
        pdf.multi_cell(0, 8, _from_right_to_left(text) if code == "ar" else text, align="L")
    return bytes(pdf.output())


def _from_right_to_left(text: str) -> str:
    """Lines as they are drawn, which is how PDFs hold them."""
    return "\n".join(BidiParagraph(line).get_reordered_string() for line in textwrap.wrap(text, LINE))


def _font(code: str, characters: set[str]) -> Path:
    """One that has all of the characters, as fontconfig knows."""
    points = " ".join(sorted(f"{ord(character):x}" for character in characters))
    listing = subprocess.run(["fc-list", f":charset={points}", "file"], capture_output=True, check=True, text=True)
    files = sorted(Path(line.rstrip(": ")) for line in listing.stdout.splitlines())
    fitting = [file for file in files if file.suffix == ".ttf" and "Bold" not in file.stem and "Mono" not in file.stem]
    if not fitting:
        raise PinciteError(f"No font here can write {code}.", hint="Install fonts-noto-core and fonts-droid-fallback.")
    return fitting[0]
