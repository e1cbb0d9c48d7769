"""Does the judge notice one changed figure, date, unit, currency, name or negation?

Every claim is a sentence of a document, word for word, with its passage for evidence; then the same with one thing
changed. Documents are the samples, read as the product reads them, and others written here in invented words.
"""

import argparse
import contextlib
import itertools
import random
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.documents.passages import split_pages
from core.documents.reader import ProcessReader
from core.domain.answers import AnswerPart, ClaimStatus
from core.domain.documents import Page, PageStatus, Passage
from core.domain.settings import Settings
from core.judge.claims import is_claim
from core.judge.judge import judge_answer
from core.text.sentences import split_sentences

SAMPLES = Path(__file__).parents[1] / "data" / "samples"
WRITTEN_DOCUMENTS = 40
FEWEST_WORDS, MOST_WORDS = 5, 60
_FIGURE = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w-])")
_SPELLED = "two three four five six seven eight nine ten twelve fifteen twenty thirty sixty ninety".split()
_UNITS = (("days", "months"), ("day", "month"), ("months", "weeks"), ("month", "week"), ("years", "months"),
          ("year", "quarter"), ("weeks", "days"), ("hours", "minutes"), ("percent", "basis points"), ("km", "miles"),
          ("kg", "g"))  # fmt: skip
_CURRENCIES = (("$", "€"), ("€", "$"), ("£", "$"), ("USD", "EUR"), ("EUR", "GBP"), ("GBP", "USD"), ("dollars", "euros"))
_MONTHS = "January February March April May June July August September October November December".split()
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{3,}\b(?! \d)")
_DENIABLE = re.compile(r"\b(?:shall|must|will|may|is|are|was|were|can|does|did|has)\b(?! not)")
_STRANGERS = ("Velmora", "Quistrel", "Ondrava", "Tarnbeck")


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement with the text it is to be held against; ``change`` names what was changed, or is empty."""

    text: str
    evidence: str
    change: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--documents", type=int, default=WRITTEN_DOCUMENTS, help="how many documents are written")
    parser.add_argument("--seed", type=int, default=9, help="of the words and changes")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Judge all claims and their changes."""
    return measure([*samples(), *written(args.documents, args.seed)], args.seed)


def render(result: dict[str, Any]) -> str:
    kinds = "\n".join(f"  {name:<10} {share:6.1%}" for name, share in result["accepted_by_change"].items())
    return (
        f"{result['changed']} changed claims, {result['accepted']:.1%} accepted\n{kinds}\n"
        f"{result['unchanged']} unchanged claims, {result['rejected']:.1%} rejected"
    )


def measure(passages: Sequence[Passage], seed: int = 9) -> dict[str, Any]:
    """Return how many changed claims were accepted, by kind of change, and how many true ones were not."""
    rng = random.Random(seed)
    true = [claim for passage in passages for claim in claims_of(passage)]
    changed = [one for claim in true for one in changes(claim, rng)]
    passed = [claim for claim in changed if is_accepted(claim)]
    kinds = dict.fromkeys(claim.change for claim in changed)
    return {
        "changed": len(changed),
        "accepted": len(passed) / max(1, len(changed)),
        "unchanged": len(true),
        "rejected": sum(not is_accepted(claim) for claim in true) / max(1, len(true)),
        "accepted_by_change": {
            kind: sum(c.change == kind for c in passed) / sum(c.change == kind for c in changed) for kind in kinds
        },
        "examples": [f"{claim.change}: {claim.text}" for claim in passed[:20]],
    }


def is_accepted(claim: Claim) -> bool:
    findings = judge_answer("", (AnswerPart(claim.text, (1,)),), [claim.evidence], citations_expected=True)
    return bool(findings.claims) and all(one.status is ClaimStatus.SUPPORTED for one in findings.claims)


def claims_of(passage: Passage) -> Iterator[Claim]:
    for span in split_sentences(passage.text):
        text = " ".join(passage.text[span.start : span.end].split())
        if is_claim(text) and FEWEST_WORDS <= len(text.split()) <= MOST_WORDS:
            yield Claim(text, f"{passage.text}\n\n{passage.context}" if passage.context else passage.text)


def changes(claim: Claim, rng: random.Random) -> Iterator[Claim]:
    """Return the claim with one thing changed at a time; never so that it says what its passage says elsewhere."""
    for kind, start, end, new in _edits(claim.text, rng):
        text = claim.text[:start] + new + claim.text[end:]
        if text not in " ".join(claim.evidence.split()):
            yield Claim(text, claim.evidence, kind)


def _edits(text: str, rng: random.Random) -> Iterator[tuple[str, int, int, str]]:
    for match in _FIGURE.finditer(text):
        if match.start():  # at the beginning stands the number of a clause or item
            yield "figure", *match.span(), _other_figure(match.group(), rng)
    for number, word in enumerate(_SPELLED):
        for match in re.finditer(rf"\b{word}\b", text):
            yield "figure", *match.span(), _SPELLED[(number + 1 + rng.randrange(len(_SPELLED) - 1)) % len(_SPELLED)]
    for old, new in _UNITS:
        for match in re.finditer(rf"(?<=[\d)a-z] ){old}\b", text):
            if re.search(rf"(?:\d\)?|\b(?:{'|'.join(_SPELLED)})\)?) (?:\w+ )?$", text[: match.start()]):
                yield "unit", *match.span(), new
    for old, new in _CURRENCIES:
        for match in re.finditer(rf"(?<!\w){re.escape(old)}(?=\s?\d)|(?<=\d ){re.escape(old)}\b", text):
            yield "currency", *match.span(), new
    for number, month in enumerate(_MONTHS):
        for match in re.finditer(rf"\b{month}(?= \d)|(?<=\d ){month}\b", text):
            yield "date", *match.span(), _MONTHS[(number + rng.randrange(1, 12)) % 12]
    for match in _NAME.finditer(text):
        if match.group() not in _MONTHS:
            yield "name", *match.span(), rng.choice(_STRANGERS)
    for match in re.finditer(r" not\b", text):
        yield "negation", *match.span(), ""
    for match in itertools.islice(_DENIABLE.finditer(text), 1):
        yield "negation", match.end(), match.end(), " not"


def _other_figure(figure: str, rng: random.Random) -> str:
    """Change one digit, never to what the figure was; the first one stays no zero."""
    places = [place for place, character in enumerate(figure) if character.isdigit()]
    place = rng.choice(places)
    digit = rng.choice([d for d in "123456789" if d != figure[place]])
    return figure[:place] + digit + figure[place + 1 :]


# --- documents


def samples(directory: Path = SAMPLES) -> list[Passage]:
    """The passages of the sample PDFs that have a text of their own, as the product reads them."""
    found: list[Passage] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.closing(ProcessReader(Settings(data_dir=Path(folder)))) as reader,
    ):
        for path in sorted(directory.glob("*.pdf")):
            pages = list(reader.read(path, range(reader.open(path).page_count)))
            found += split_pages(pages, document_id=path.stem, title=path.stem)
    return found


def written(documents: int, seed: int) -> list[Passage]:
    """Contracts, filings and reports of invented firms, one page each."""
    rng = random.Random(seed)
    found: list[Passage] = []
    for number in range(documents):
        text = "\n\n".join(rng.choice((_contract, _filing, _report))(rng))
        page = Page(0, "1", text, (), (), PageStatus.TEXT)
        found += split_pages([page], document_id=f"written-{number}", title=f"Document {number}")
    return found


def _word(rng: random.Random) -> str:
    parts = [rng.choice("b br d f g k kl l m n p r s st t v".split()) + rng.choice("aeiou") for _ in range(3)]
    return "".join(parts)


def _firm(rng: random.Random) -> str:
    return _word(rng).capitalize() + rng.choice((" Holding", " Group", " Works", ""))


def _money(rng: random.Random) -> str:
    return f"{rng.choice('$€£')}{rng.randrange(10, 999)},{rng.randrange(100, 999)}"


def _day(rng: random.Random) -> str:
    return f"{rng.randrange(1, 28)} {rng.choice(_MONTHS)} {rng.randrange(1990, 2030)}"


def _contract(rng: random.Random) -> list[str]:
    firm, other, thing = _firm(rng), _firm(rng), _word(rng)
    return [
        f"This agreement between {firm} and {other} begins on {_day(rng)} and ends on {_day(rng)}.",
        f"The supplier shall deliver {rng.randrange(11, 99)} {thing}s within {rng.randrange(11, 60)} days of an order. "
        f"The buyer must pay every invoice within {rng.choice(_SPELLED)} Business Days of its receipt.",
        f"A late payment bears interest at {rng.randrange(1, 9)}.{rng.randrange(1, 9)} % per month until then.",
        f"The liability of {other} is limited to {_money(rng)} for each claim and {_money(rng)} in any year.",
        f"The buyer may not assign its rights without the written consent of {firm}.",
        f"Either party may end this agreement on {rng.choice(_SPELLED)} months' notice to {other}.",
    ]


def _filing(rng: random.Random) -> list[str]:
    firm, product = _firm(rng), _word(rng)
    year = rng.randrange(1995, 2024)
    rows = [f"{name} {rng.randrange(1, 9)},{rng.randrange(100, 999)} {rng.randrange(1, 9)},{rng.randrange(100, 999)}"
            for name in ("Net sales", "Operating profit", "Interest expense")]  # fmt: skip
    return [
        f"In {year} the net sales of {firm} were {_money(rng)} million, an increase of {rng.randrange(2, 40)} percent.",
        f"As of {_day(rng)} the company employed {rng.randrange(2, 9)},{rng.randrange(100, 999)} people at "
        f"{rng.randrange(11, 80)} sites in {_word(rng).capitalize()}.",
        f"The segment that makes {product}s was not sold to {_firm(rng)} before {_day(rng)}.",
        "Consolidated figures in thousands\n" + "\n".join(rows),
        f"The board paid a dividend of ${rng.randrange(1, 9)}.{rng.randrange(11, 99)} per share on {_day(rng)}.",
    ]


def _report(rng: random.Random) -> list[str]:
    place, device = _word(rng).capitalize(), _word(rng)
    return [
        f"The {device} was measured for {rng.randrange(11, 90)} hours at a depth of {rng.randrange(100, 900)} meters.",
        f"Its efficiency reached {rng.randrange(11, 99)}.{rng.randrange(1, 9)} percent in the second trial at {place}.",
        f"Of {rng.randrange(100, 900)} samples {rng.randrange(11, 99)} were lost, and the rest was sent to "
        f"{_word(rng).capitalize()} on {_day(rng)}.",
        f"The crew did not open the valve during the {rng.choice(_SPELLED)} days of the storm.",
        f"Each unit weighs {rng.randrange(11, 80)} kg and costs {_money(rng)} without transport.",
    ]
