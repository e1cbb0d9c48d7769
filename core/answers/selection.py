"""Find the units of the evidence that answer a question, and their probabilities: split, read and weighed.

Three small logistic models, fitted on open data by ``python -m training fit-quoting`` and shipped as quoting.json,
weigh what the reader and the words show: of each unit whether it holds the answer, of all of them together whether any
does and whether the best is right. They are fitted for each skill: English, English questions for yes or no, and other
languages with the larger reader; where that is not installed, English with the small one and the others with none.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib.resources import files
from itertools import accumulate, pairwise
from typing import Any

from pincite.core.answers.units import (
    CELLS,
    LABELLED,
    SENTENCE_ENDS,
    SHORT_LINE_WORDS,
    SIGNED,
    SIGNED_TERMS,
    Unit,
    signed,
    torn,
    units_of,
)
from pincite.core.domain.answers import Span
from pincite.core.domain.documents import TICKED, UNTICKED, Passage
from pincite.core.domain.logistic import FARTHEST, LogisticModel, log_odds
from pincite.core.domain.presentation import MIN_ANSWER_CONFIDENCE
from pincite.core.domain.questions import Kind
from pincite.core.domain.search import Evidence, Reason
from pincite.core.models.reader import Reader, large_reader, small_reader
from pincite.core.questions.utterances import DateRole, date_role_of
from pincite.core.questions.wording import OF_DOCUMENTS, asks_for_one_fact, in_english, kind_of
from pincite.core.text.numbers import quantities
from pincite.core.text.sentences import ITEM_MARK, split_sentences
from pincite.core.text.terms import FUNCTION_WORDS, content_terms, rarity, words
from pincite.core.text.years import years_of

MAX_READ = 8
"""Number of most relevant passages to weigh the sentences of."""
_NUMBERED = re.compile(
    r"\b(?P<word>[^\W\d_]+)[ \u00a0](?P<numbers>(?:\d{1,3}|[A-Z])(?![\w%]|[.,]\d)"
    r"(?:(?:, |,? (?:and|or|&) |/)(?:\d{1,3}|[A-Z])(?![\w%]|[.,]\d)){0,9})(?! ?[–—-]| to\b)"
)
"""Things that a number or letter distinguishes: "Span 2", "Appendix B"."""
OF_ANOTHER = 0.2
"""The most that words are worth which speak of another such thing, or of other years, than the question, or only head
a section or a table: they come nearest, and are no answer. Of 17 labelled answers of other years 3 were right."""
_SMALL_WORD = re.compile(r"\b[^\W\dA-Z]\w*")
_ITEM = re.compile(rf"[ \t]{{0,40}}+{ITEM_MARK}[ \t]")
MIN_LABEL_TERMS = 2
"""Telling words that a label must have, for a question to name it."""
FARTHEST_BEHIND = 10.0
"""Log-odds between what the reader finds in a unit and the likeliest of all that it finds; more is all the same."""
FEW_CANDIDATES = 20
"""Number of candidates below which fewer make no difference."""
DEFAULT_NEARNESS = 0.45
"""Where nobody searched by meaning: midway between the medians of questions that are answered (.54) and not (.37)."""


class Skill(StrEnum):
    """How a question's passages are read."""

    ENGLISH = "english"
    ENGLISH_SMALL = "english_small"
    YES_NO = "yes_no"
    LANGUAGES = "languages"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Scored:
    unit: Unit
    probability: float
    """That the unit holds the answer, by the model."""
    answer: Span | None
    """The words in it that answer, if any do, in the passage's text; None where nobody read it."""
    measures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Selection:
    """All units, best first, and their joint probabilities."""

    scored: tuple[Scored, ...] = ()
    answered: float = 0.5
    """The probability that any of it answers; what holds no unit was not weighed."""
    right: float = 0.0
    """The probability that the best unit's words are the answer."""
    skill: Skill = Skill.UNREAD


@dataclass(frozen=True, slots=True)
class Models:
    unit: LogisticModel
    answered: LogisticModel
    right: LogisticModel


@cache
def _shipped() -> Mapping[str, Any]:
    data: Mapping[str, Any] = json.loads(
        files("pincite.core.answers").joinpath("quoting.json").read_text(encoding="utf-8")
    )
    return data


def measured() -> Mapping[str, Any]:
    """How sources that the models were not fitted on came out, as ``fit-quoting`` measured it on English."""
    found: Mapping[str, Any] = _shipped()["measured"][Skill.ENGLISH if large_reader() else Skill.ENGLISH_SMALL]
    return found


@cache
def shipped_models(skill: Skill) -> Models:
    own = _shipped()[skill]
    return Models(*(LogisticModel.from_json(own[name]) for name in ("unit", "answered", "right")))


def select(question: str, evidence: Sequence[Evidence]) -> Selection:
    """Weigh the units of the evidence, those that change another passage only where the others do not surely answer.

    What names its one document is also read with "it" in the name's place, so that naming it costs no confidence.
    """
    selection = _select(question, evidence)
    nameless = without_name(question, evidence)
    return max((selection, _select(nameless, evidence)), key=lambda one: one.right) if nameless else selection


def without_name(question: str, evidence: Sequence[Evidence]) -> str:
    """Return the question with "it" for its one document's title or file name; empty if it does not contain it.

    A name that other pages than the first have stays: it distinguishes a company's figures from its competitor's.
    """
    if len({item.passage.document_id for item in evidence}) != 1:
        return ""
    evidence_text = " ".join(item.passage.text for item in evidence if item.passage.page_index).casefold()
    for name in sorted(evidence[0].called, key=len, reverse=True):
        parts = re.findall(r"[^\W_]+", name)
        words = r"[\W_]{1,5}".join(map(re.escape, parts)) if len(parts) > 1 else ""  # one word may be a common one
        pattern = rf"(?:\bthe\s)?\b{words}\b(?P<owns>['’]s?(?!\w))?"
        named = re.search(pattern, question, re.IGNORECASE) if words and name.casefold() not in evidence_text else None
        if named:
            return f"{question[: named.start()]}{'its' if named['owns'] else 'it'}{question[named.end() :]}"
    return ""


def _select(question: str, evidence: Sequence[Evidence]) -> Selection:
    skill = skill_for(question, evidence)
    changes = [item.passage for item in evidence if item.reason is Reason.CHANGE]
    found = [item for item in evidence if item.reason is not Reason.CHANGE]
    measured = measure_units(question, found, reader_of(skill))
    unchanged = [one for one in measured if not any(_is_within(one.unit, change) for change in changes)]
    selection = weigh(unchanged, question, skill)
    if len(unchanged) == len(measured) or selection.right >= MIN_ANSWER_CONFIDENCE:
        return selection
    return max((selection, weigh(measured, question, skill)), key=lambda one: one.right)


def _is_within(unit: Unit, passage: Passage) -> bool:
    own = unit.item.passage
    return own.page == passage.page and own.start + unit.start < passage.end and passage.start < own.start + unit.end


def skill_for(question: str, evidence: Sequence[Evidence]) -> Skill:
    """English where the question and most of the passages are; what decides yes or no is read, but for ticks."""
    if not in_english(question, [item.passage.text for item in evidence]):
        return Skill.LANGUAGES if large_reader() else Skill.UNREAD
    if kind_of(question) is Kind.YES_OR_NO:
        ticks = any(sign in item.passage.text for item in evidence for sign in (TICKED, UNTICKED))
        return Skill.YES_NO if large_reader() and not ticks else Skill.UNREAD
    return Skill.ENGLISH if large_reader() else Skill.ENGLISH_SMALL


def reader_of(skill: Skill) -> Reader | None:
    if skill is Skill.UNREAD:
        return None
    return small_reader() if skill is Skill.ENGLISH_SMALL else large_reader()


@dataclass(frozen=True, slots=True)
class Measured:
    unit: Unit
    answer: Span | None
    measures: Mapping[str, float]


def measure_units(question: str, evidence: Sequence[Evidence], reader: Reader | None) -> list[Measured]:
    """Return every unit of the most relevant passages that contains more than the question, with its measures."""
    items = sorted(evidence, key=lambda item: -_relevance(item))[:MAX_READ]
    sequence = frozenset(content_terms(question))
    names = [_named_by_its_document(sequence, item) for item in items]
    before = [_before(item, own) for item, own in zip(items, names, strict=True)]
    texts = [f"{prefix}{item.passage.text}" for item, prefix in zip(items, before, strict=True)]
    readings = reader.read(question, texts) if reader else [None] * len(items)
    cut = torn([units_of(item) for item in items])
    whole_readings = _read_whole(question, cut, reader) if reader else {}
    if reader and sequence & SIGNED_TERMS:
        cut = [signed(own) for own in cut]
        whole_readings |= _read_signed(question, cut, reader)
    per_item = list(zip(items, readings, cut, names, map(len, before), strict=True))
    weights = rarity([unit.terms for own in cut for unit in own])
    heaviest = max(weights.values(), default=1.0)
    total = sum(weights.get(term, heaviest) for term in sequence) or 1.0

    best_passages = max(map(_relevance, items), default=0.0) or 1.0

    def share(terms: Iterable[str]) -> float:
        return sum(weights.get(term, heaviest) for term in sequence.intersection(terms)) / total

    measured = []
    for rank, (item, reading, units, named, shift) in enumerate(per_item, start=1):
        whole = share([*content_terms(" ".join([item.passage.text, *item.passage.heading_path])), *named])
        for unit in units:
            if sequence.issuperset(unit.terms) and not (
                _is_blank(unit.text) or {TICKED, UNTICKED} & set(unit.text.split())
            ):
                continue  # a heading that only repeats the question adds nothing; a blank behind a label does
            found = reading.best(unit.start + shift, unit.end + shift) if reading else None
            found = found and (Span(found[0].start - shift, found[0].end - shift), found[1])
            joined, answerable = whole_readings.get(unit.place, (None, -FARTHEST))
            if joined and (found is None or joined[1] > found[1]):
                found = joined
            row = {
                "relevance": _relevance(item) / best_passages,
                "rank": 1 / rank,
                "share": share([*named, *(term for half in unit.torn or (unit,) for term in half.terms)]),
                "passage share": whole,
                "sentence": float(unit.text.endswith((*SENTENCE_ENDS, ";"))),
                "new": min(len(set(unit.terms) - sequence), 10) / 10,
            }
            if reading:
                row["span"] = max(found[1], -FARTHEST) if found else -FARTHEST
                row["answerable"] = max(reading.answerable, answerable)
            measured.append(Measured(unit, found[0] if found else None, row))
    if not reader or not measured:
        return measured
    likeliest = max(one.measures["span"] for one in measured)
    behind = [max(one.measures["span"] - likeliest, -FARTHEST_BEHIND) for one in measured]
    return [replace(one, measures={**one.measures, "behind": far}) for one, far in zip(measured, behind, strict=True)]


def _named_by_its_document(asked: frozenset[str], item: Evidence) -> frozenset[str]:
    """The terms of a question that a passage need not repeat: its document is called by them, as few others are."""
    own = content_terms(" ".join([item.passage.text, *item.passage.heading_path]))
    return asked.intersection(content_terms(" ".join(item.called))).difference(own, OF_DOCUMENTS)


def _before(item: Evidence, named: frozenset[str]) -> str:
    """What a passage is read behind, where the question names its document and the passage does not."""
    return next((f"{one}. " for one in item.called if named.intersection(content_terms(one))), "")


Answered = tuple[tuple[Span, float] | None, float]


def _read_whole(question: str, units: Sequence[Sequence[Unit]], reader: Reader) -> dict[tuple[str, int], Answered]:
    """What of each half of a torn sentence answers when both are read together, by passage and place."""
    found: dict[tuple[str, int], Answered] = {}
    for head, rest in {unit.torn[0].place: unit.torn for own in units for unit in own if unit.torn}.values():
        [reading] = reader.read(question, [f"{head.quoted} {rest.quoted}"])
        behind = len(head.quoted) + 1
        for half, first in ((head, 0), (rest, behind)):
            best = reading.best(first, first + len(half.quoted))
            moved = best and (Span(best[0].start - first + half.start, best[0].end - first + half.start), best[1])
            found[half.place] = (moved, reading.answerable)
    return found


def _read_signed(question: str, units: Sequence[Sequence[Unit]], reader: Reader) -> dict[tuple[str, int], Answered]:
    """Which words of one line below the last sentences answer, read behind what they are, by passage and place."""
    found: dict[tuple[str, int], Answered] = {}
    for own in units:
        below = [unit for unit in own if SIGNED_TERMS.issubset(unit.terms)]
        if not below:
            continue
        begin = below[0].start
        [reading] = reader.read(question, [f"{SIGNED}{below[0].item.passage.text[begin:]}"])
        for unit in below:
            shift = len(SIGNED) - begin
            ends = list(accumulate(len(line) + 1 for line in unit.quoted.split("\n")))
            lines = pairwise([unit.start + shift, *(unit.start + shift + end for end in ends)])
            read = [one for line in lines if (one := reading.best(*line)) is not None]
            best = max(read, key=lambda one: one[1], default=None)
            moved = best and (Span(best[0].start - shift, best[0].end - shift), best[1])
            found[unit.place] = (moved, reading.answerable)
    return found


def weigh(measured: Sequence[Measured], question: str, skill: Skill) -> Selection:
    """Put the shipped models to measured units."""
    if not measured:
        return Selection(skill=skill)
    models, asked = shipped_models(skill), frozenset(content_terms(" ".join(_SMALL_WORD.findall(question))))
    weighed = [Scored(one.unit, models.unit.probability(one.measures), one.answer, one.measures) for one in measured]
    named = {one.unit.place: value for one in weighed if (value := _value_named(one.unit, asked))}
    scored = [replace(one, answer=named.get(one.unit.place, one.answer)) for one in weighed]
    scored.sort(key=lambda one: (one.unit.place not in named, -one.probability))
    measures = measure_answer(scored, question)
    right = models.right.probability(measures)
    best = scored[0]
    heading = skill in (Skill.ENGLISH, Skill.ENGLISH_SMALL) and answers_with_heading(best)
    other = is_of_another(best.unit.text, question) or is_of_another_year(best.unit, question)
    answer = best.unit.item.passage.text[best.answer.start : best.answer.end] if best.answer else best.unit.text
    blank = _is_blank(best.unit.text) or _is_blank(answer) or (best.answer is not None and not answer_text(best))
    if heading or other or blank or is_another_date(best, question):
        right = min(right, OF_ANOTHER)
    return Selection(tuple(scored), models.answered.probability(measures), right, skill)


def _is_blank(text: str) -> bool:
    """Return whether nothing is filled in behind its label: "Valid until: ____"."""
    return ": " in text and not any(map(str.isalnum, text.rpartition(": ")[2]))


def answers_with_heading(best: Scored) -> bool:
    """Return whether the answer states nothing: its words are in a line over a sentence or a table, or name a value."""
    unit, answer = best.unit, best.answer
    line, _, rest = unit.quoted.partition("\n")
    if answer is None or answer.end > unit.start + len(line) or CELLS in line or line.endswith((*SENTENCE_ENDS, ":")):
        return False
    if len(line.split()) > SHORT_LINE_WORDS or SIGNED_TERMS.issubset(unit.terms):
        return False
    if value := LABELLED.match(line):
        return answer.end < unit.start + value.end()
    below = rest or unit.item.passage.text[unit.end :].lstrip().partition("\n")[0].partition(CELLS)[1]
    return bool(below) and not (_ITEM.match(line) and _ITEM.match(rest))


def is_of_another(text: str, question: str) -> bool:
    """Whether it names Span 2, and nowhere Span 1, which is asked about; a name begins with a capital in documents."""
    asked, said = _numbers_by_name(question), _numbers_by_name(text, capital=True)
    return any(not numbers & said[word] for word, numbers in asked.items() if word in said)


def is_another_date(best: Scored, question: str) -> bool:
    """Whether the words that answer are a date which the sentence states for another thing than the question asks.

    The question asks for the end of something or the last day for it, and the date is when that begins or something
    happens: the end would have to be computed.
    """
    if best.answer is None:
        return False
    text, answer = best.unit.item.passage.text, best.answer
    answers = [one for one in quantities(text[answer.start : answer.end]) if one.kind == "date"]
    if len(answers) != 1 or date_role_of(question) is not DateRole.END:
        return False
    start = answer.start + answers[0].start
    dates = [one for one in quantities(text[best.unit.start : best.unit.end]) if one.kind == "date"]
    before = max((one.end for one in dates if best.unit.start + one.end <= start), default=0) + best.unit.start
    alone = len(dates) == 1
    clause = text[before : best.unit.end if alone else answer.start + answers[0].end]
    spans = split_sentences(clause)
    own = next((clause[one.start : one.end] for one in spans if before + one.end > start), clause)
    return date_role_of(own) is not DateRole.END


def is_of_another_year(unit: Unit, question: str) -> bool:
    """Whether its passage names years, and neither that, its headings nor its document's name any that is asked for."""
    passage, asked = unit.item.passage, years_of(question)
    own = years_of(passage.text)
    about = years_of("\n".join([*passage.heading_path, unit.item.document_name]))
    return bool(asked and own) and asked.isdisjoint(own | about)


def _numbers_by_name(text: str, *, capital: bool = False) -> dict[str, set[str]]:
    """Return the numbers and letters behind each word, of lists too; of every word, or of those with a capital."""
    found = dict[str, set[str]]()
    for match in _NUMBERED.finditer(text):
        if match["word"].casefold() not in FUNCTION_WORDS and (not capital or match["word"][0].isupper()):
            numbers = re.findall(r"\b(?:\d{1,3}|[A-Z])\b", match["numbers"])
            found.setdefault(match["word"].casefold(), set()).update(numbers)
    return found


def _value_named(unit: Unit, asked: frozenset[str]) -> Span | None:
    """Return what is behind a label that the question repeats: "Number of the policy: 12"; None for any other unit.

    ``asked``: the terms of the question's words in small letters, since a title may begin with a name and a colon.
    """
    label, mark, value = unit.quoted.partition(": ")
    terms = frozenset(content_terms(label))
    if not mark or len(terms) < MIN_LABEL_TERMS or not terms <= asked or not LABELLED.match(unit.quoted):
        return None
    return Span(unit.end - len(value), unit.end)


def measure_answer(scored: Sequence[Scored], question: str) -> dict[str, float]:
    """How sure the best unit is, how far before the next that answers otherwise, what all hold, and the nearest."""
    best = scored[0]
    answer = answer_text(best)
    others = [one for one in scored[1:] if answer_text(one) != answer]
    odds = log_odds(best.probability)
    measures = {
        "best": odds,
        "ahead": odds - (log_odds(others[0].probability) if others else -FARTHEST / 2),
        "any": log_odds(1 - math.prod(1 - one.probability for one in scored)),
        "agreeing": math.log1p(sum(answer_text(one) == answer for one in scored[1:])),
        "share": best.measures["share"],
        "best share": max(one.measures["share"] for one in scored),
        "one fact": float(asks_for_one_fact(question)),
        "nearest": best_similarity(scored),
        "candidates": math.log1p(max(len(scored), FEW_CANDIDATES)),
    }
    if best.answer is not None:
        measures |= {
            "span": best.measures["span"],
            "best span": max(one.measures["span"] for one in scored),
            "answerable": best.measures["answerable"],
            "most answerable": max(one.measures["answerable"] for one in scored),
            "length": math.log1p(len(answer.split())),
        }
    return measures


def answer_text(scored: Scored) -> str:
    """Return the words that answer, in lower case without what encloses them."""
    if scored.answer is None:
        return scored.unit.text.casefold()
    text = scored.unit.item.passage.text[scored.answer.start : scored.answer.end]
    return " ".join(words(text)).casefold()


def _relevance(item: Evidence) -> float:
    return item.scores.get("reranked", 0.0)


def best_similarity(scored: Sequence[Scored]) -> float:
    """How near in meaning the question's nearest passage is: a cosine, on one scale for the embedders we ship."""
    found = [one.unit.item.scores["dense"] for one in scored if "dense" in one.unit.item.scores]
    return max(found, default=DEFAULT_NEARNESS)
