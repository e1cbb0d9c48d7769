"""Quoting: the engine for when no language model is connected. It gives the words that answer, and proves them."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from core.domain.answers import AnswerPart, PartKind, engine_declines
from core.domain.documents import TICKED, UNTICKED
from core.domain.ports import AnswerRequest, AskedPiece
from core.domain.search import Evidence, Intent, Reason
from core.domain.turns import SURE, UNSURE_OF_NOTHING
from core.models.leads import lead_quotes, opening
from core.models.lists import (
    ITEM,
    MAY_BE_MORE,
    MOST_QUOTES,
    MOST_WORDS,
    NAMED_WHOLE,
    extent,
    family,
    is_item,
    listed,
    whole_list,
)
from core.models.options import options_of
from core.models.selection import Scored, Selection, select
from core.models.units import CELLS, SENTENCE_ENDS, Unit, quotation_of, repeats
from core.text.questions import (
    NOT_FOUND,
    asked_beside,
    asks_for_a_fact,
    asks_for_list,
    asks_how_many,
    asks_only_for,
    asks_openly,
    asks_yes_or_no,
    in_another_language,
    missing_words,
)
from core.text.sentences import ITEM_MARK
from core.text.stating import is_drawn
from core.text.terms import content_terms, stem

FEW_QUOTES, FEW_WORDS = 2, 60
"""For a question about one fact."""
_WORD_BEHIND = re.compile(r"[ \u00a0]([^\W\d]{2,40}+)")
"""The word behind a number."""
_COUNT = re.compile(rf"{ITEM_MARK}|\d{{1,2}}(?:\.\d{{1,2}}){{1,4}}")
"""What a clause begins with: "2.1 The rent …"."""
MOST_OF_A_PART = 2
"""Of a question that asks several things, what is said of each: the words that answer and their sentence."""
ALSO = AnswerPart("It could also be:", kind=PartKind.NOTE)
MOST_BEHIND_FIGURE = 2
"""Quotations of whole sentences; rows of tables only repeat a figure."""
WORTH_SAYING = 0.3
"""Share of the best unit's probability below which another is left out."""
LEAST_ANSWERED = 0.5
"""Probability that what was found answers, below which it is not given for an answer. On sources left out one English
question in nine was then declined wrongly; docs/answering.md has the others."""
UNLIKELY = 0.35
"""The chance of being right below which what is quoted is called the nearest, and no answer: as such it would wait for
a review, unless the threshold is set otherwise."""
LEAST_OF_FIGURES = 0.25
"""The same of a figure, which says where it stands: three to one against."""
ALL_ASKED = 0.4
"""That a sentence that holds all words of the question is what is asked for: 2 of 6 were, too few to tell."""
DOUBTED = 0.5
"""What a follow-up can reach that finds something else by itself than with the question before it, and what a row of
several cells can that is quoted."""
COMES_NEAREST = "What comes closest:"
NEAREST = f"I found no reliable answer. {COMES_NEAREST}"
QUITE_SURE = 0.9
"""That nothing answers: with less what comes nearest is quoted below."""
UNREAD = 0.5
"""The most that "not found" is worth where the documents are in another language than the question."""
_THANKS = re.compile(
    r"\b(?:thanks?|thank you|thx|cheers|danke|merci|gracias|grazie|obrigad[oa]|bedankt|dank je|dank u|tack|takk)\b"
    r"|谢谢|謝謝|ありがとう|감사|спасибо|شكرا|धन्यवाद",
    re.IGNORECASE,
)
NO_MODEL = "No language model is connected, so I answer by quoting your documents"


class Quoting:
    """A headline and verbatim sentences, each with its evidence; a greeting gets one honest line."""

    name = "quoting"
    writes_prose = False
    notices: tuple[str, ...] = ()
    usage = None

    def __init__(self, context_characters: int = 12_000) -> None:
        self.context_characters = self.readable_characters = context_characters

    def answer(self, request: AnswerRequest, stopped: Callable[[], bool]) -> Iterator[AnswerPart]:
        if stopped():
            return
        for position, part in enumerate(_parts(request)):
            if stopped():
                return
            if position:
                yield AnswerPart("\n\n")
            yield part

    def structured(self, instructions: str, content: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return None

    def of_last_answer(self, question: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return None


def _parts(request: AnswerRequest) -> list[AnswerPart]:
    if request.intent is Intent.CHAT:
        return [AnswerPart(_small_talk(request))]
    if request.intent is Intent.SURVEY:
        return lead_quotes(request.evidence) or [AnswerPart(NOT_FOUND, kind=PartKind.DECLINE)]
    if request.pieces and (told := part_by_part(request.pieces, of_each=request.of_each)):
        return told
    first = next(iter(request.stated), None)
    if first and request.draws and is_drawn(first):
        return [first]
    selection = select(request.question, request.evidence)
    if request.read_otherwise:
        selection = _doubted(selection, select(request.read_otherwise, request.evidence))
    quoted = quotes(request.question, selection, request.absent, with_headline=not request.read_otherwise)
    return led_by_figure(quoted, request.stated, request.evidence)


def _doubted(read: Selection, otherwise: Selection) -> Selection:
    """A follow-up by itself or with the question before it; never sure where the other reading finds something else."""
    if not read.scored or not otherwise.scored or _meet(read.scored[0], otherwise.scored[0]):
        return read
    return replace(read, right=min(read.right, DOUBTED))


def _meet(one: Scored, other: Scored) -> bool:
    if one.unit.item.passage.id != other.unit.item.passage.id:
        return False
    first, second = one.answer or one.unit, other.answer or other.unit
    return first.start < second.end and second.start < first.end


def part_by_part(pieces: Sequence[AskedPiece], *, of_each: bool = False) -> list[AnswerPart]:
    """Each of several questions answered by itself, or said to be open; how likely all of it is right goes with it.

    Nothing where one was asked ``of_each`` document and fewer than two answer: it was no question to several.
    """
    answers = [led_by_figure(_likeliest(one.readings, one.evidence), one.stated, one.evidence) for one in pieces]
    answering = [at for at, answer in enumerate(answers) if answer[0].kind is not PartKind.DECLINE]
    if of_each and len(answering) < 2:
        return []
    if not answering:
        decline, *nearest = answers[0]
        all_open = math.prod(answer[0].probability or 1.0 for answer in answers)
        return [replace(decline, probability=decline.probability and all_open), *nearest]
    told: list[AnswerPart] = []
    nothing_in: dict[str, list[str]] = {}
    several = len({piece.asked for piece in pieces}) > 1
    for piece, answer in zip(pieces, answers, strict=True):
        if answer[0].kind is PartKind.DECLINE:
            of = f" to “{piece.asked}”" if several or not piece.name else ""
            nothing_in.setdefault(of, []).append(piece.name)
            continue
        if piece.name:
            told.append(AnswerPart(f"{piece.name}{f', “{piece.asked}”' if several else ''}:", kind=PartKind.NOTE))
        said = [replace(one, probability=None) for one in _figures(answer) or answer[:MOST_OF_A_PART]]
        told += [part for part in said if piece.name or part.kind is PartKind.NOTE or part not in told]
    for of, names in nothing_in.items():
        where = f"{', '.join(filter(None, names))}: " if any(names) else ""
        told.append(AnswerPart(f"{where}I found no answer{of}.", kind=PartKind.DECLINE))
    first = next(at for at, part in enumerate(told) if part.kind is not PartKind.NOTE)
    counted = answering if of_each else range(len(pieces))
    sure = _all_right([pieces[at] for at in counted], [answers[at] for at in counted])
    return [*told[:first], replace(told[first], probability=sure), *told[first + 1 :]]


def _all_right(pieces: Sequence[AskedPiece], answers: Sequence[Sequence[AnswerPart]]) -> float:
    """The product, but of one question's figures in several tables the least: one reading of it finds them all."""
    alike, apart = dict[str, float](), 1.0
    for piece, answer in zip(pieces, answers, strict=True):
        own = next(part.probability for part in answer if part.probability is not None)
        if answer[0].kind is PartKind.FIGURE:
            alike[piece.asked] = min(own, alike.get(piece.asked, own))
        else:
            apart *= own
    return math.prod(alike.values(), start=apart)


def _figures(parts: Sequence[AnswerPart]) -> list[AnswerPart]:
    """The figures that lead an answer, where any do, with what else could be meant."""
    return list(takewhile(lambda part: part.kind is PartKind.FIGURE or part == ALSO, parts))


def _likeliest(readings: Sequence[str], evidence: Sequence[Evidence]) -> list[AnswerPart]:
    read = [(question, select(question, evidence)) for question in readings]
    return quotes(*max(read, key=lambda one: one[1].right if one[1].answered >= LEAST_ANSWERED else 0.0))


def led_by_figure(
    parts: Sequence[AnswerPart], stated: Sequence[AnswerPart], evidence: Sequence[Evidence]
) -> list[AnswerPart]:
    """What is quoted, behind the likeliest figure where that is likelier the answer, and not improbable.

    Some quotations of the figure's own document stand by it then, but none that only come nearest.
    """
    own = max((part.probability for part in parts if part.probability is not None), default=1.0)
    figure = next(iter(stated), None)
    first = next((part for part in parts if part.kind is PartKind.VERBATIM), None)
    of_words = figure is not None and figure.kind is PartKind.HEADLINE
    if first and CELLS in first.text and not engine_declines(parts) and not of_words:
        own = 0.0  # a row of a table proves a cell, and answers nothing by itself, nor do words that are cut out of it
    if figure is None or figure.probability is None or figure.probability < max(own, LEAST_OF_FIGURES):
        return list(parts)
    behind = list(takewhile(lambda part: part.probability is None, stated[1:]))
    if of_words:  # a cell of words with its rows, or what was read in these quotations
        return [figure, *behind] if behind else list(parts)
    told = [figure, *(one for part in behind for one in (ALSO, part))]
    documents = {item.passage.document_id for item in evidence if item.number in figure.numbers}
    beside = {item.number for item in evidence if item.passage.document_id in documents}
    verbatim = (part for part in parts if part.kind is PartKind.VERBATIM and beside.issuperset(part.numbers))
    quoted = [replace(part, probability=None) for part in verbatim if part.text.rstrip().endswith(SENTENCE_ENDS)]
    nearest = bool(parts) and parts[0].kind is PartKind.DECLINE
    return [*told, *(() if nearest else quoted[:MOST_BEHIND_FIGURE])]


def _small_talk(request: AnswerRequest) -> str:
    if request.library_is_empty:
        return f"There are no documents yet. {NO_MODEL}: drop a PDF here and ask about it."
    if _THANKS.search(request.question):
        return "You're welcome. Ask another question whenever you like."
    return f"{NO_MODEL}, word for word and with their pages. Ask me about something in them."


def chance_of_answer(question: str, evidence: Sequence[Evidence]) -> float:
    """The probability that the evidence answers the question, whoever writes the answer."""
    return select(question, evidence).answered


def choices(question: str, evidence: Sequence[Evidence]) -> list[tuple[str, AnswerPart]]:
    """Places of the evidence that answer the question equally well, each otherwise, with what they say.

    The first says how likely it is that they answer.
    """
    selection = select(question, evidence)
    places = [(name, quotation_of(one.unit)) for name, one in options_of(question, selection)]
    return [
        (name, replace(part, probability=None if at else selection.answered)) for at, (name, part) in enumerate(places)
    ]


def quotes(
    question: str, selection: Selection, absent: Sequence[str] = (), *, with_headline: bool = True
) -> list[AnswerPart]:
    """The words that answer, then the sentence that they stand in and what else bears on it; or that nothing was found.

    The first part says how likely it is right; what is quoted as the nearest of a decline is no answer. A follow-up is
    read with the question before it, which the reader never learned: it gets the sentence without a headline.
    """
    likeliest = selection.scored[0].probability if selection.scored else 0.0
    if min(selection.right, likeliest) < SURE and (section := _under_its_heading(question, selection)):
        return section
    if asks_for_list(question) and (alike := family(question, selection.scored)):
        return alike
    if selection.right < SURE and not asks_for_list(question) and (about := _all_asked(question, selection)):
        return about
    if selection.answered < LEAST_ANSWERED or not selection.scored:
        sure = 1 - selection.answered
        if in_another_language(question, [one.unit.item.passage.text for one in selection.scored]):
            sure, absent = min(sure, UNREAD), ()
        if asks_how_many(question) and (alike := family(question, selection.scored)):
            return alike
        if asks_how_many(question) or asks_yes_or_no(question):
            sure = min(sure, UNSURE_OF_NOTHING)
        strange = bool(absent) and frozenset(content_terms(question)).issubset(map(stem, absent))
        near = sure < QUITE_SURE and not strange
        nearest = [quotation_of(one.unit) for one in selection.scored[:1] if near]
        told = filter(None, [NOT_FOUND, missing_words(absent), COMES_NEAREST if nearest else ""])
        return [AnswerPart(" ".join(told), kind=PartKind.DECLINE, probability=sure), *nearest]
    if asks_for_list(question) and (items := listed(selection.scored[0].unit)):
        return [
            replace(items[0], probability=selection.right),
            *items[1:],
            extent(selection.scored[0].unit, len(items)),
        ]
    one_fact, best = asks_for_a_fact(question), selection.scored[0]
    if best.unit.proposal is not None:  # it is not agreed
        selection, with_headline = replace(selection, right=min(selection.right, DOUBTED)), False
    if whole := whole_list(best.unit):
        parts = [whole]
    elif best.unit.torn or {TICKED, UNTICKED} & set(best.unit.text.split()):
        parts = [quotation_of(half) for half in best.unit.torn or (best.unit,)]
    elif one_fact and best.unit.quoted.count(CELLS) > 1:  # which of its cells, no reading of a row alone can tell
        row = _row_named(question, selection.scored)
        parts = [quotation_of(row), *_heads_over(row)]
        selection, with_headline = replace(selection, right=min(selection.right, DOUBTED)), False
    else:
        few = one_fact or asks_yes_or_no(question)
        chosen = _chosen(selection.scored, *((FEW_QUOTES, FEW_WORDS) if few else (MOST_QUOTES, MOST_WORDS)))
        parts = [quotation_of(one.unit) for one in chosen]
        if asks_for_list(question) and (len(parts) > 1 or not question.rstrip().endswith("?")):
            parts.append(AnswerPart(MAY_BE_MORE, kind=PartKind.NOTE))
    if selection.right < UNLIKELY:
        return [AnswerPart(NEAREST, kind=PartKind.DECLINE), replace(parts[0], probability=selection.right), *parts[1:]]
    if with_headline and one_fact and not (whole and is_item(best)) and (headline := _headline(question, best)):
        parts.insert(0, headline)
    return [replace(parts[0], probability=selection.right), *parts[1:]]


def _row_named(question: str, scored: Sequence[Scored]) -> Unit:
    """The row of the likeliest one's table whose first cell the question holds whole, where one is; else that one."""
    asked, best = frozenset(content_terms(question)), scored[0].unit
    of_table = (
        one.unit
        for one in scored
        if one.unit.item is best.item and one.unit.quoted.count(CELLS) == best.quoted.count(CELLS)
    )
    labels = [(row, frozenset(content_terms(row.quoted.partition(CELLS)[0]))) for row in of_table]
    named = [row for row, label in labels if label and label <= asked]
    return named[0] if len(named) == 1 else best


def _heads_over(row: Unit) -> list[AnswerPart]:
    """The first of the rows of as many cells that end with this one, unless it is the first."""
    text, cells, start = row.item.passage.text, row.quoted.count(CELLS), row.start
    while start and text[(above := text.rfind("\n", 0, start - 1) + 1) : start].count(CELLS) == cells:
        start = above
    end = text.find("\n", start)
    return [AnswerPart(text[start:end], (row.item.number,), PartKind.VERBATIM, start)] if start < row.start else []


def _all_asked(question: str, selection: Selection) -> list[AnswerPart]:
    """The likeliest sentences that hold all that is asked, where the likeliest of all does not, or is no answer.

    "What does the report say about the steel cables?" asks for what speaks of them; a single word says too little.
    """

    def holds(one: Scored) -> bool:
        terms = asked_beside(question, one.unit.item.document_name)
        return len(terms) > 1 and terms.issubset(one.unit.terms)

    scored, declines = selection.scored, selection.answered < LEAST_ANSWERED or selection.right < UNLIKELY
    if not asks_openly(question) or not scored or (holds(scored[0]) and not declines):
        return []
    found = [quotation_of(one.unit) for one in scored if holds(one)][:MOST_OF_A_PART]
    return [replace(found[0], probability=ALL_ASKED), *found[1:]] if found else []


def _under_its_heading(question: str, selection: Selection) -> list[AnswerPart]:
    """How the sections begin whose headings are all that the question asks for."""
    items = {one.unit.item.number: one.unit.item for one in selection.scored}
    named = [
        opening(item)
        for _, item in sorted(items.items())
        if item.reason is Reason.NAMED
        and item.passage.heading_path
        and asks_only_for(item.passage.heading_path[-1], question, item.document_name)
    ]
    return [replace(named[0], probability=NAMED_WHOLE), *named[1:]] if named else []


def _headline(question: str, best: Scored) -> AnswerPart | None:
    """The words that answer, where they are of one cell or line and say more than the question does."""
    if best.answer is None or best.answer.end - best.answer.start >= best.unit.end - best.unit.start:
        return None
    text, start, end = best.unit.item.passage.text, best.answer.start, best.answer.end
    words = text[start:end]
    counts_line = (
        text[start - 1 : start] in ("", "\n") and _COUNT.fullmatch(words) and text[end : end + 2].strip().isupper()
    )
    if counts_line or CELLS in words or ITEM.match(words):
        return None
    if set(content_terms(words)) <= set(content_terms(question)):
        return None
    counted = _WORD_BEHIND.match(text, end) if words[-1].isdigit() else None
    if counted and set(content_terms(counted[1])) & set(content_terms(question)):
        words = text[start : counted.end()]  # "14 days"
    return AnswerPart(words, (best.unit.item.number,), PartKind.HEADLINE, best.answer.start)


def _chosen(scored: Sequence[Scored], most: int, most_words: int) -> list[Scored]:
    """The best unit, then others that are worth it, each saying something else, in the order of their pages."""
    chosen: list[Scored] = []
    length = 0
    for one in scored:
        own = len(one.unit.text.split())
        if one.probability < WORTH_SAYING * scored[0].probability or len(chosen) == most:
            break
        if chosen and (length + own > most_words or any(repeats(one.unit, other.unit) for other in chosen)):
            continue
        chosen.append(one)
        length += own
    rest = sorted(chosen[1:], key=lambda one: (one.unit.item.number, one.unit.start))
    return [*chosen[:1], *rest]
