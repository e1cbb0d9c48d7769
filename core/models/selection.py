"""Which stretches of the evidence answer a question: cut into quotable units, measured, and weighed by a small model.

The weights began as what ``python -m benchmarks fit-quoting`` gives; that of ``kind`` was set by hand.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from core.domain.documents import Passage
from core.domain.search import Evidence
from core.text.sentences import split_sentences
from core.text.terms import FUNCTION_WORDS, STOP_WORDS, content_terms, rarity, root, specificity, words

SHORT_LINE_WORDS = 9
LONGEST_UNIT_WORDS = 42
"""A heading or a short line takes the lines after it along, up to here."""

_FIGURE = re.compile(r"\d[\d,.]*")
_NAME = re.compile(r"\b[A-Z][\w'’-]{1,40}+(?:\s{1,4}(?:(?:of|the|and|&)\s{0,4})?[A-Z][\w'’-]{1,40}+)+")
_SECTION_NUMBER = re.compile(r"^(?:\d{1,3}(?:\.\d{1,3})*\.?|\(?[A-Za-z\d][.)])\s+")
_ASKS_FIGURE = re.compile(
    r"\bhow (?:many|much|long|often|far|old|large|big|high|tall)\b|\b(?:percent\w*|rate|amount|number|total|cost|price|"
    r"ratio|share|proportion|value|size|count|revenue|income|score|difference|average|sum)\b",
    re.IGNORECASE,
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_KINDS = tuple(
    (re.compile(asks, re.IGNORECASE), re.compile(holds, re.IGNORECASE))
    for asks, holds in (
        (r"percent|proportion|share|%|rate", r"\d\s?%"),
        (
            r"\bwhen\b|\bdates?\b|\b(?:what|which) (?:day|month|year)\b",
            rf"\b{_MONTH}\.? \d|\d {_MONTH}|\b(?:19|20)\d\d\b",
        ),
        (r"\bwhat time\b|\bhours\b", r"\d:\d\d|\d ?[ap]\.?m\b"),
        (r"\b(?:tele)?phone|\bfax\b|\bcall\b", r"\d{3}[ .-]\d{3}|\(\d{3,15}\) ?\d{3}"),
        (r"\be-?mail", r"\w@\w"),
        (r"\bweb ?sites?\b|\burls?\b|\blinks?\b", r"\bwww\.|https?:|\w\.(?:com|org|net|edu|gov)\b"),
        (
            r"\bhow much\b|\bcosts?\b|\bprices?\b|\bfees?\b|\bspen[dt]\b|\bpa(?:y|id)\b",
            r"[$€£¥]\s?\d|\d\s?(?:usd|eur|gbp)\b",
        ),
    )
)
"""What a question asks for, and how that looks."""
_ASKS_NAME = re.compile(
    r"\b(?:who|whose|whom|author|person|names?|company|lead(?:er)?|where|city|country|place|location|address|region|"
    r"state)\b",
    re.IGNORECASE,
)

WEIGHTS: Mapping[str, float] = {
    "passage": 2.603,
    "rank": 1.473,
    "relevance": 0.266,
    "figure": 0.660,
    "kind": 0.403,
    "name": 0.815,
    "new": 0.444,
    "pairs": 2.306,
    "same figures": 0.298,
    "row": 0.595,
    "announces": -2.593,
    "finished": -0.204,
    "best": 1.741,
}
INTERCEPT = -7.166
_ABOUT_THE_ANSWER = frozenset(
    content_terms(
        "document file page paper report slide presentation figure picture image photo chart graph diagram table "
        "list answer format integer float string number respectively respective according mentioned shown please "
        "write give return question many much describe name provide based following appendix section cover title "
        "example one two three four five six seven eight nine ten first second third fourth fifth last next main "
        "highest lowest largest smallest biggest greatest most least more fewer higher lower best worst maximum "
        "minimum total sum average difference different differ compare order ascending descending sort percent "
        "percentage proportion ratio among besides regarding related corresponding increase decrease category item "
        "type kind email address phone telephone contact website axis horizontal vertical pie bar color colour "
        "line column row plot text word use see seen appear included contain consider top bottom left right"
    )
)
"""Words that say where the answer stands, which of several it is or how to write it: documents need not hold them."""
MOST_ABSENT_WEIGHT = 1.2
"""Weight of absent terms from which on passages do not answer: a name, or two words."""
MOST_ABSENT_SHARE = 0.7
NAMES_WEIGH = 0.7
"""How much more a name that is absent tells than a word."""
_NAME_WORD = re.compile(r"(?<=[a-z,;:\"“(] )[\"“(]?([A-Z][\w-]*)")


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, a table row, or a short line with what follows it; positions are in the passage's text."""

    item: Evidence
    start: int
    end: int
    text: str
    """With white space drawn together, as it is measured."""
    terms: tuple[str, ...]

    @property
    def quoted(self) -> str:
        """The words as they stand, character for character."""
        return self.item.passage.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Scored:
    unit: Unit
    probability: float
    """That the unit holds the answer, by the model."""


def score_units(question: str, evidence: Sequence[Evidence]) -> list[Scored]:
    """Every unit of the evidence that says more than the question does, in reading order."""
    asked = set(content_terms(question))
    units = [unit for item in evidence for unit in units_of(item) if _says_more(unit, asked)]
    measured = measure(question, units)
    return [Scored(unit, probability_of(measures)) for unit, measures in zip(units, measured, strict=True)]


def _says_more(unit: Unit, asked: set[str]) -> bool:
    """A heading that only repeats the question, with or without its number, says nothing."""
    return not set(content_terms(_SECTION_NUMBER.sub("", unit.text))) <= asked


def units_of(item: Evidence) -> list[Unit]:
    text = item.passage.text
    spans = split_sentences(text)
    lengths = [len(text[span.start : span.end].split()) for span in spans]
    sentences = [text[span.start : span.end].rstrip() for span in spans]
    units = []
    for first, span in enumerate(spans):
        last = _last_of_unit(sentences, lengths, first)
        quoted = " ".join(text[span.start : spans[last].end].split())
        units.append(Unit(item, span.start, spans[last].end, quoted, tuple(content_terms(quoted))))
    return units


def _last_of_unit(sentences: Sequence[str], lengths: Sequence[int], first: int) -> int:
    announces = sentences[first].endswith(":")
    finished = sentences[first].endswith((".", "?", "!"))
    if not announces and (finished or lengths[first] > SHORT_LINE_WORDS):
        return first
    last, words = first, lengths[first]
    while last + 1 < len(sentences) and words + lengths[last + 1] <= LONGEST_UNIT_WORDS:
        last += 1
        words += lengths[last]
        if not announces and lengths[last] > SHORT_LINE_WORDS:
            break
    return last


def measure(question: str, units: Sequence[Unit]) -> list[Mapping[str, float]]:
    """How each unit stands to the question, and what kind of answer it could hold."""
    sequence = content_terms(question)
    asked, pairs = frozenset(sequence), frozenset(pairwise(sequence))
    weights = rarity([unit.terms for unit in units])
    heaviest = max(weights.values(), default=1.0)
    total = sum(weights.get(term, heaviest) for term in asked) or 1.0
    figures = frozenset(figure.rstrip(".,") for figure in _FIGURE.findall(question))
    relevance = {id(unit.item): unit.item.scores.get("reranked", 0.0) for unit in units}
    ranks = {key: rank for rank, key in enumerate(sorted(relevance, key=lambda key: -relevance[key]), start=1)}
    most_relevant = max(relevance.values(), default=0.0) or 1.0
    passage_terms = {id(unit.item): frozenset(content_terms(unit.item.passage.text)) for unit in units}

    wanted = [looks for asks, looks in _KINDS if asks.search(question)]

    def share(terms: frozenset[str]) -> float:
        return sum(weights.get(term, heaviest) for term in asked & terms) / total

    rows: list[dict[str, float]] = []
    for unit in units:
        key, terms = id(unit.item), frozenset(unit.terms)
        new_figures = [figure for figure in _FIGURE.findall(unit.text) if figure.rstrip(".,") not in figures]
        new_names = [name for name in _NAME.findall(unit.text) if not set(content_terms(name)) <= asked]
        rows.append(
            {
                "best": share(terms),
                "passage": share(passage_terms[key] - terms),
                "rank": 1 / ranks[key],
                "relevance": relevance[key] / most_relevant,
                "figure": float(bool(_ASKS_FIGURE.search(question) and new_figures)),
                "kind": float(any(looks.search(unit.text) for looks in wanted)),
                "name": float(bool(_ASKS_NAME.search(question) and new_names)),
                "new": math.log1p(len(terms - asked)),
                "pairs": len(pairs & set(pairwise(unit.terms))) / max(len(pairs), 1),
                "same figures": sum(figure in unit.text for figure in figures) / len(figures) if figures else 0.5,
                "row": float(len(new_figures) >= 3),
                "announces": float(unit.text.endswith(":")),
                "finished": float(unit.text.endswith((".", "!", "?"))),
            }
        )
    best = max((row["best"] for row in rows), default=0.0) or 1.0
    return [{**row, "best": row["best"] / best} for row in rows]


def absent_terms(question: str, passages: Iterable[Passage]) -> tuple[str, ...]:
    """The telling words of a question of which no kin stands in the passages, or in what they stand under."""
    held = {
        root(term)
        for passage in passages
        for term in content_terms(" ".join([passage.text, passage.context, *passage.heading_path]))
    }
    terms = dict.fromkeys(content_terms(question))
    return tuple(term for term in terms if root(term) not in held and term not in _ABOUT_THE_ANSWER)


def weight_of(absent: Iterable[str], question: str) -> float:
    """How much of the question is absent: rare words count 1, common ones less, names and figures more."""
    names = {term for match in _NAME_WORD.finditer(question) for term in content_terms(match.group(1))}
    return sum(
        specificity(term) + (1.0 if term[0].isdigit() else NAMES_WEIGH if term in names else 0.0) for term in absent
    )


def too_much_absent(question: str, absent: Collection[str]) -> bool:
    """Whether passages that lack these terms of the question cannot answer it.

    How telling a word is, is known of English alone; of other languages, what share of the words is absent.
    """
    telling = [term for term in absent_terms(question, ()) if term not in STOP_WORDS]
    missing = [term for term in telling if term in absent]
    if not telling:
        return False
    if not _is_english(question):
        return len(missing) >= MOST_ABSENT_SHARE * len(telling)
    return len(missing) == len(telling) or weight_of(absent, question) >= MOST_ABSENT_WEIGHT


def _is_english(question: str) -> bool:
    """By its little words; without any, by its letters."""
    spoken = {word.lower() for word in words(question)}
    english, other = spoken & FUNCTION_WORDS, spoken & (STOP_WORDS - FUNCTION_WORDS)
    return len(english) > len(other) or (not other and question.isascii())


def probability_of(measures: Mapping[str, float]) -> float:
    return 1 / (1 + math.exp(-INTERCEPT - sum(weight * measures[name] for name, weight in WEIGHTS.items())))
