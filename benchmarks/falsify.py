"""Measure whether the judge detects one changed figure, date, unit, name or negation, and accepts true statements.

Every statement is checked against its passage: sentences verbatim and in another form, then with one change.
Documents are the samples, read as the product reads them, and others in invented words. Rules are written with another
seed than the reported one.
"""

import argparse
import contextlib
import itertools
import random
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.invented import MONTHS, SPELLED, invented
from benchmarks.restated import restatements
from pincite.core.documents.passages import split_pages
from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.answers import AnswerPart, ClaimStatus
from pincite.core.domain.documents import Passage
from pincite.core.domain.settings import Settings
from pincite.core.judge.claims import is_claim
from pincite.core.judge.judge import judge_answer
from pincite.core.text.sentences import split_sentences

SAMPLES = Path(__file__).parents[1] / "data" / "samples"
WRITTEN_DOCUMENTS = 40
MIN_WORDS, MAX_WORDS = 5, 60
_FIGURE = re.compile(r"(?<![\w.,-])\d+(?:,\d+)*(?:\.\d+)?(?![\w-])")
_UNITS = (("days", "months"), ("day", "month"), ("months", "weeks"), ("month", "week"), ("years", "months"),
          ("year", "quarter"), ("weeks", "days"), ("hours", "minutes"), ("percent", "basis points"), ("km", "miles"),
          ("kg", "g"))  # fmt: skip
_CURRENCIES = (("$", "€"), ("€", "$"), ("£", "$"), ("USD", "EUR"), ("EUR", "GBP"), ("GBP", "USD"), ("dollars", "euros"))
_PER = ("day", "week", "month", "quarter", "year", "share", "unit")
_RATE = re.compile(rf"(?<=\bper )(?:{'|'.join(_PER)})\b")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{3,}\b(?! \d)")
_DENIABLE = re.compile(r"\b(?:shall|must|will|may|is|are|was|were|can|does|did|has)\b(?! not)")
_STRANGERS = ("Velmora", "Quistrel", "Ondrava", "Tarnbeck")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence with the text to check it against; ``kind`` names the change, or the form of a restatement."""

    text: str
    evidence: str
    kind: str
    true: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--documents", type=int, default=WRITTEN_DOCUMENTS, help="how many documents are written")
    parser.add_argument("--seed", type=int, default=9, help="of the words and changes")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Judge all statements and their changes."""
    return measure([*samples(), *invented(args.documents, args.seed)], args.seed)


def measure(passages: Sequence[Passage], seed: int) -> dict[str, Any]:
    """Return the shares of false statements that are accepted and of true ones that are not, by kind with the count."""
    rng = random.Random(seed)
    statements = [one for passage in passages for one in statements_of(passage, rng)]
    accepted = [is_accepted(one) for one in statements]
    judged = list(zip(statements, accepted, strict=True))
    false = [(one.kind, passed) for one, passed in judged if not one.true]
    true = [(one.kind, not passed) for one, passed in judged if one.true]
    return {
        "false": len(false),
        "accepted": _share(passed for _, passed in false),
        "true": len(true),
        "rejected": _share(refused for _, refused in true),
        "accepted_by_kind": _by_kind(false),
        "rejected_by_kind": _by_kind(true),
        "examples": [f"{one.kind}: {one.text}" for one, passed in judged if passed is not one.true][:200],
    }


def _share(found: Iterable[bool]) -> float:
    counted = list(found)
    return sum(counted) / max(1, len(counted))


def _by_kind(outcomes: Sequence[tuple[str, bool]]) -> dict[str, list[float]]:
    kinds = dict.fromkeys(kind for kind, _ in outcomes)
    found = {kind: [hit for one, hit in outcomes if one == kind] for kind in kinds}
    return {kind: [len(hits), _share(hits)] for kind, hits in found.items()}


def is_accepted(statement: Statement) -> bool:
    parts = (AnswerPart(statement.text, (1,)),)
    findings = judge_answer("", parts, [statement.evidence], citations_expected=True)
    return bool(findings.claims) and all(one.status is ClaimStatus.SUPPORTED for one in findings.claims)


def statements_of(passage: Passage, rng: random.Random) -> Iterator[Statement]:
    """Yield each sentence unchanged, in other forms, and with one change at a time.

    A changed sentence never repeats another part of its passage.
    """
    evidence = f"{passage.text}\n\n{passage.context}" if passage.context else passage.text
    plain = " ".join(evidence.split())
    figures = sorted({match.group() for match in _FIGURE.finditer(passage.text)})
    for span in split_sentences(passage.text):
        text = " ".join(passage.text[span.start : span.end].split())
        if not (is_claim(text) and MIN_WORDS <= len(text.split()) <= MAX_WORDS):
            continue
        yield Statement(text, evidence, "unchanged", true=True)
        for form, restated in restatements(text, rng):
            yield Statement(restated, evidence, f"restated {form}", true=True)
        for kind, start, end, new in _edits(text, figures, rng):
            changed = text[:start] + new + text[end:]
            if changed not in plain:
                yield Statement(changed, evidence, kind, true=False)


def _edits(text: str, figures: Sequence[str], rng: random.Random) -> Iterator[tuple[str, int, int, str]]:
    for match in _FIGURE.finditer(text):
        if match.start():  # a figure at the beginning numbers a clause or item
            yield "figure", *match.span(), _other_figure(match.group(), rng)
            if others := [figure for figure in figures if _value(figure) != _value(match.group())]:
                yield "borrowed figure", *match.span(), rng.choice(others)
    for number, word in enumerate(SPELLED):
        for match in re.finditer(rf"\b{word}\b", text):
            yield "figure", *match.span(), SPELLED[(number + 1 + rng.randrange(len(SPELLED) - 1)) % len(SPELLED)]
    for old, new in _UNITS:
        for match in re.finditer(rf"(?<=[\d)a-z] ){old}\b", text):
            if re.search(rf"(?:\d\)?|\b(?:{'|'.join(SPELLED)})\)?) (?:\w+ )?$", text[: match.start()]):
                yield "unit", *match.span(), new
    for match in _RATE.finditer(text):
        yield "rate", *match.span(), rng.choice([per for per in _PER if per != match.group()])
    for old, new in _CURRENCIES:
        for match in re.finditer(rf"(?<!\w){re.escape(old)}(?=\s?\d)|(?<=\d ){re.escape(old)}\b", text):
            yield "currency", *match.span(), new
    for number, month in enumerate(MONTHS):
        for match in re.finditer(rf"\b{month}(?= \d)|(?<=\d ){month}\b", text):
            yield "date", *match.span(), MONTHS[(number + rng.randrange(1, 12)) % 12]
    for match in _NAME.finditer(text):
        if match.group() not in MONTHS:
            yield "name", *match.span(), rng.choice(_STRANGERS)
    for match in re.finditer(r" not\b", text):
        yield "negation", *match.span(), ""
    for match in itertools.islice(_DENIABLE.finditer(text), 1):
        yield "negation", match.end(), match.end(), " not"


def _value(figure: str) -> float:
    return float(figure.replace(",", ""))


def _other_figure(figure: str, rng: random.Random) -> str:
    """Change one digit, never to what the figure was; the first one stays no zero."""
    places = [place for place, character in enumerate(figure) if character.isdigit()]
    place = rng.choice(places)
    digit = rng.choice([d for d in "123456789" if d != figure[place]])
    return figure[:place] + digit + figure[place + 1 :]


def samples(directory: Path = SAMPLES) -> list[Passage]:
    """Return the passages of the sample PDFs that have a text of their own, as the product reads them."""
    found: list[Passage] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.closing(ProcessReader(Settings(data_dir=Path(folder)))) as reader,
    ):
        for path in sorted(directory.glob("*.pdf")):
            pages = list(reader.read(path, range(reader.open(path).page_count)))
            found += split_pages(pages, document_id=path.stem, title=path.stem)
    return found
