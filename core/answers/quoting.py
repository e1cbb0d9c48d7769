"""Quoting: the engine for when no language model is connected. It gives the words that answer, and proves them."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from pincite.core.answers.changed import (
    changed_answer,
    changes_to,
    earlier_quotations,
    in_force,
    is_changed,
    stated_in_force,
    tells_change,
)
from pincite.core.answers.headed import agreed_cell
from pincite.core.answers.limits import Limit, limit_in
from pincite.core.answers.lists import (
    ITEM,
    MAX_QUOTES,
    MAX_WORDS,
    MAY_BE_MORE,
    NAMED_WHOLE,
    extent,
    family,
    is_item,
    listed,
    whole_list,
)
from pincite.core.answers.overviews import opening, overview_quotes
from pincite.core.answers.relevant import (
    MAX_RELEVANT,
    Found,
    as_passages,
    fits_several_places,
    named_row_first,
    relevant_passages,
)
from pincite.core.answers.selection import Scored, Selection, best_similarity, select
from pincite.core.answers.units import CELLS, SENTENCE_ENDS, quotation_of, repeats
from pincite.core.domain.answers import AnswerPart, PartKind, engine_declines, lists_passages, separated
from pincite.core.domain.documents import TICKED, UNTICKED
from pincite.core.domain.ports import AnswerRequest, AskedPiece
from pincite.core.domain.presentation import MAX_UNSURE_DECLINE, MIN_ANSWER_CONFIDENCE, MIN_DECLINE_CONFIDENCE
from pincite.core.domain.questions import Kind
from pincite.core.domain.search import Evidence, Intent, Reason
from pincite.core.questions.wording import (
    NOT_FOUND,
    asks_for_one_fact,
    asks_only_for,
    in_another_language,
    kind_of,
    missing_words,
    strange_names,
)
from pincite.core.text.sentences import ITEM_MARK
from pincite.core.text.stating import is_drawn
from pincite.core.text.terms import content_terms, stem

FEW_QUOTES, FEW_WORDS = 2, 60
"""For a question about one fact."""
_WORD_BEHIND = re.compile(r"[ \u00a0]([^\W\d]{2,40}+)")
"""The word behind a number."""
_COUNT = re.compile(rf"{ITEM_MARK}|\d{{1,2}}(?:\.\d{{1,2}}){{1,4}}")
"""What a clause begins with: "2.1 The rent …"."""
MAX_PER_PART = 2
"""Limits for each part of a question with several parts: the words that answer and their sentence."""
BEHIND_ALL = 2
NOT_SURE = "No sure answer in {}."
"""With the names of documents, where others of several answer surely."""
MAX_BEHIND_FIGURE = 2
"""Quotations of whole sentences; rows of tables only repeat a figure."""
MIN_SHARE_OF_BEST = 0.3
"""Share of the best unit's probability below which another is left out."""
MIN_ANSWERED = 0.5
"""Probability that what was found answers, below which it is not given for an answer. On sources left out one English
question in nine was then declined wrongly; docs/answering.md has the others."""
MIN_FIGURE_SHARE = 0.25
"""The probability of a figure below which it is not shown."""
WORTH_SHOWING = 0.01
"""Share of the best unit's probability below which another is not shown among the relevant ones."""
MIN_RELEVANT = 0.05
"""Probability of the likeliest words below which no passage is relevant, if none is likely to answer, none contains
MIN_SHARE of what the question names and none is as NEAR to it."""
MIN_SHARE = 0.5
NEAR = 0.55
"""Cosine of a question and a passage. Of open questions 67 % have a passage as near in their own document, none in
another."""
DOUBTFUL = MIN_ANSWER_CONFIDENCE - 0.01
"""The most that a list of passages is worth, as an answer."""
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
        for part in separated(_parts(request)):
            if stopped():
                return
            yield part

    def structured(self, instructions: str, content: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return None

    def of_last_answer(self, question: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return None


def _parts(request: AnswerRequest) -> list[AnswerPart]:
    if request.intent is Intent.CHAT:
        return [AnswerPart(_small_talk(request))]
    if request.intent is Intent.SURVEY:
        return overview_quotes(request.evidence) or [AnswerPart(NOT_FOUND, kind=PartKind.DECLINE)]
    if request.selects:
        return _within_limit(request)
    if request.pieces and (told := part_by_part(request.pieces, of_each=request.of_each)):
        return told
    return _whole_answer(request)


def _within_limit(request: AnswerRequest) -> list[AnswerPart]:
    """Return the passages of the documents that may be within a limit; no single document answers which are.

    A rule that states the limit itself is an answer: "Expenses above 500 euros need the director's approval."
    """
    answer, limit = _whole_answer(request), limit_in(request.question)
    if limit and limit.quantity.kind != "date" and not engine_declines(answer) and not lists_passages(answer):
        states = [item for item in request.evidence if limit.is_in(item.passage.text)]
        one_document = len({item.passage.document_id for item in states}) == 1
        if one_document and any(limit.is_in(part.text) for part in answer):
            return answer
    if request.pieces:
        return by_limit(request.pieces, limit)
    if engine_declines(answer) or lists_passages(answer):
        return answer
    return as_passages(answer, request.evidence, DOUBTFUL)


def _whole_answer(request: AnswerRequest) -> list[AnswerPart]:
    evidence, replaced = in_force(request.evidence)
    stated = stated_in_force(request.stated, replaced)
    first = next(iter(stated), None)
    if first and request.draws and is_drawn(first):
        return [first]
    selection = select(request.question, evidence)
    otherwise = select(request.read_otherwise, evidence) if request.read_otherwise else None
    parts = reply(
        request.question, selection, request.evidence, stated=stated, absent=request.absent, otherwise=otherwise
    )
    if engine_declines(parts):
        return parts
    return [*parts, *earlier_quotations(request.question, replaced)] if replaced else parts


def reply(
    question: str,
    selection: Selection,
    evidence: Sequence[Evidence],
    *,
    stated: Sequence[AnswerPart] = (),
    absent: Sequence[str] = (),
    otherwise: Selection | None = None,
) -> list[AnswerPart]:
    """Return an answer if it is sure, else the most relevant passages, or that nothing was found.

    The first part that has a probability gives how likely the answer is right. A follow-up is also read `otherwise`,
    alone or with the question before it; where the other reading finds something else, no answer is sure.
    """
    quoted = quotes(question, selection, with_headline=otherwise is None)
    answer = led_by_figure(quoted, stated, evidence)
    likely = probability_of(answer)
    best = selection.scored[0].unit if selection.scored else None
    changed = best is not None and bool(changes_to(best, evidence))
    if answer and answer[0].figures:
        changed = is_changed(Found.of_figure(answer[0], evidence))
    other = bool(strange_names(question, absent)) or (best is not None and bool(best.item.replaced_by))
    if answer and likely >= MIN_ANSWER_CONFIDENCE and not other and (otherwise is None or _agree(selection, otherwise)):
        if not changed:
            return answer
        if not answer[0].figures and (both := changed_answer(question, selection, evidence)):
            return both
    figure = next(iter(stated), None)
    sure = _nothing_found(question, selection, absent)
    if sure is not None and (figure is None or (figure.probability or 0.0) < MIN_FIGURE_SHARE):
        sentences = filter(None, [NOT_FOUND, missing_words(absent)])
        return [AnswerPart(" ".join(sentences), kind=PartKind.DECLINE, probability=sure)]
    least = WORTH_SHOWING * selection.scored[0].probability if selection.scored else 0.0
    near = [one for one in selection.scored if one.probability >= least]
    found = [
        each
        for one in named_row_first(question, near)
        for each in (
            *(Found(item, 0, len(item.passage.text)) for item, _ in changes_to(one.unit, evidence)),
            Found.of(one),
        )
    ]
    found[1:1] = [Found.of(one) for one in otherwise.scored[:1]] if otherwise else []
    cell = Found.of_figure(figure, evidence) if figure else None
    if figure and cell:
        found.insert(0 if (figure.probability or 0.0) >= selection.right else 1, cell)
    return relevant_passages(found, min(max(likely, selection.right), DOUBTFUL))


def probability_of(parts: Sequence[AnswerPart]) -> float:
    return next((part.probability for part in parts if part.probability is not None), 0.0)


def _nothing_found(question: str, selection: Selection, absent: Sequence[str]) -> float | None:
    """Return the probability that there is no answer, if nothing relevant can be shown; else None."""
    sure = 1 - selection.answered
    if in_another_language(question, [one.unit.item.passage.text for one in selection.scored]):
        sure, absent = min(sure, UNREAD), ()
    if kind_of(question) in (Kind.COUNT, Kind.YES_OR_NO):
        sure = min(sure, MAX_UNSURE_DECLINE)
    strange = bool(absent) and frozenset(content_terms(question)).issubset(map(stem, absent))
    shares = [one.measures["share"] for one in selection.scored]
    likely = selection.answered >= MIN_ANSWERED or selection.right >= MIN_RELEVANT
    irrelevant = not likely and max(shares, default=0.0) < MIN_SHARE and best_similarity(selection.scored) < NEAR
    return sure if strange or irrelevant or sure >= MIN_DECLINE_CONFIDENCE or not selection.scored else None


def _agree(read: Selection, otherwise: Selection) -> bool:
    return not read.scored or not otherwise.scored or _spans_overlap(read.scored[0], otherwise.scored[0])


def _spans_overlap(one: Scored, other: Scored) -> bool:
    if one.unit.item.passage.id != other.unit.item.passage.id:
        return False
    first, second = one.answer or one.unit, other.answer or other.unit
    return first.start < second.end and second.start < first.end


def part_by_part(pieces: Sequence[AskedPiece], *, of_each: bool = False) -> list[AnswerPart]:
    """Answer each of several questions separately; all surely, or the most relevant passages are shown of each.

    Of several documents, where two or more answer surely, the others are only named, and the least sure of the answers
    counts. Nothing where one was asked `of_each` document and fewer than two answer: it was no question to several.
    """
    read = [_likeliest(piece) for piece in pieces]
    answers = [
        reply(asked, selection, piece.evidence, stated=stated_in_force(piece.stated, in_force(piece.evidence)[1]))
        for piece, (asked, selection) in zip(pieces, read, strict=True)
    ]
    found = [at for at, answer in enumerate(answers) if not engine_declines(answer)]
    if of_each and len(found) < 2:
        return []
    if not found:
        return [replace(answers[0][0], probability=math.prod(probability_of(answer) for answer in answers))]
    unsure = [at for at in found if of_each and _is_unsure(answers[at])]
    each_sure = of_each and len(found) - len(unsure) > 1
    unsure = unsure if each_sure else []
    counted = [at for at in found if at not in unsure] if of_each else range(len(pieces))
    sure = _all_right([pieces[at] for at in counted], [answers[at] for at in counted])
    if each_sure:  # each document's answer stands alone
        sure = min(probability_of(answers[at]) for at in counted)
    several = len({piece.asked for piece in pieces}) > 1
    parts: list[AnswerPart] = []
    nothing_in: dict[str, list[str]] = {}
    for at, (piece, answer) in enumerate(zip(pieces, answers, strict=True)):
        if at in unsure:
            continue
        if engine_declines(answer):
            of = f" to “{piece.asked}”" if several or not piece.name else ""
            nothing_in.setdefault(of, []).append(piece.name)
            continue
        named = ", ".join(filter(None, [piece.name, f"“{piece.asked}”" if several or not piece.name else ""]))
        own = _first_passage(answer) if lists_passages(answer) else _figures(answer) or answer[:MAX_PER_PART]
        if tells_change(answer):
            parts += [AnswerPart(f"{named}:", kind=PartKind.NOTE), *(replace(one, probability=None) for one in answer)]
            continue
        quoted = [replace(one, probability=None) for one in own if one.kind is not PartKind.NOTE]
        new = [part for part in quoted if piece.name or part not in parts]
        if new and (piece.name or sure < MIN_ANSWER_CONFIDENCE):
            parts.append(AnswerPart(f"{named}:", kind=PartKind.NOTE))
        parts += [*(one for one in own if one.kind is PartKind.NOTE and new and not piece.name), *new]
    if unsure:
        doubtful = dict.fromkeys(pieces[at].name for at in unsure)
        parts.append(AnswerPart(NOT_SURE.format(", ".join(doubtful)), kind=PartKind.NOTE))
    for of, names in nothing_in.items():
        where = f"{', '.join(filter(None, names))}: " if any(names) else ""
        parts.append(AnswerPart(f"{where}I found no answer{of}.", kind=PartKind.DECLINE))
    if sure < MIN_ANSWER_CONFIDENCE:
        return [AnswerPart(MAX_RELEVANT, kind=PartKind.EVIDENCE, probability=sure), *parts]
    first = next(at for at, part in enumerate(parts) if part.kind is not PartKind.NOTE)
    return [*parts[:first], replace(parts[first], probability=sure), *parts[first + 1 :]]


def by_limit(pieces: Sequence[AskedPiece], limit: Limit | None) -> list[AnswerPart]:
    """Return the most relevant passage of each document, those with a value below the limit first.

    Nothing is claimed of a document: its marked words are compared with the limit, unless others change them.
    """
    listed: list[tuple[int, list[AnswerPart]]] = []
    for piece in pieces:
        asked, selection = _likeliest(piece)
        stated = stated_in_force(piece.stated, in_force(piece.evidence)[1])
        answer = reply(asked, selection, piece.evidence, stated=stated)
        if engine_declines(answer):
            continue
        if not lists_passages(answer):
            answer = as_passages(answer, piece.evidence, DOUBTFUL)
        if not answer:
            continue
        where, *passage = _first_passage(answer)
        changed = {item.number for item in piece.evidence if item.changes or item.replaced_by}
        marked = [part.text[span.start : span.end] for part in passage for span in part.marked]
        known = limit and marked and changed.isdisjoint(number for part in passage for number in part.numbers)
        compared = limit.compared_with(marked[0]) if limit and known else None
        if compared:
            where = replace(where, text=f"{where.text} · {compared.words}")
        listed.append((compared.order if compared else BEHIND_ALL, [where, *passage]))
    if not listed:
        return [AnswerPart(NOT_FOUND, kind=PartKind.DECLINE, probability=UNREAD)]
    listed.sort(key=lambda one: one[0])
    heading = AnswerPart(MAX_RELEVANT, kind=PartKind.EVIDENCE, probability=DOUBTFUL)
    return [heading, *(part for _, parts in listed for part in parts)]


def _is_unsure(answer: Sequence[AnswerPart]) -> bool:
    return lists_passages(answer) or probability_of(answer) < MIN_ANSWER_CONFIDENCE


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
    """Return the figures that lead an answer, if any do."""
    return list(takewhile(lambda part: part.kind is PartKind.FIGURE, parts))


def _first_passage(parts: Sequence[AnswerPart]) -> list[AnswerPart]:
    """Return the place and the words of the first of a list of passages."""
    return [parts[1], *takewhile(lambda part: part.kind is not PartKind.NOTE, parts[2:])]


def _likeliest(piece: AskedPiece) -> tuple[str, Selection]:
    """Return the reading of a question with the answer that is likeliest right, and what it finds."""
    evidence, _ = in_force(piece.evidence)
    read = [(question, select(question, evidence)) for question in piece.readings]
    return max(read, key=lambda one: one[1].right if one[1].answered >= MIN_ANSWERED else 0.0)


def led_by_figure(
    parts: Sequence[AnswerPart], stated: Sequence[AnswerPart], evidence: Sequence[Evidence]
) -> list[AnswerPart]:
    """Return the likeliest figure before the quoted parts, if it is likelier the answer, with quotations for it."""
    own = probability_of(parts)
    figure = next(iter(stated), None)
    first = next((part for part in parts if part.kind is PartKind.VERBATIM), None)
    of_words = figure is not None and figure.kind is PartKind.HEADLINE
    if first and CELLS in first.text and parts[0].kind is PartKind.HEADLINE:
        if figure is None or (figure.probability or 0.0) < MIN_FIGURE_SHARE:
            return list(parts)
        if parts[0].text in (figure.text, *(one.text for one in figure.figures)):
            figure = replace(figure, probability=max(own, figure.probability or 0.0))
    if first and CELLS in first.text and not of_words:
        own = 0.0  # a row of a table proves a cell, and answers nothing alone, nor do words that are cut out of it
    if figure is None or figure.probability is None or figure.probability < own:
        return list(parts)
    if of_words:  # a cell of words with its rows, or what was read in these quotations
        rows = list(takewhile(lambda part: part.probability is None, stated[1:]))
        return [figure, *rows] if rows else list(parts)
    documents = {item.passage.document_id for item in evidence if item.number in figure.numbers}
    numbers = {item.number for item in evidence if item.passage.document_id in documents}
    verbatim = (part for part in parts if part.kind is PartKind.VERBATIM and numbers.issuperset(part.numbers))
    quoted = [replace(part, probability=None) for part in verbatim if part.text.rstrip().endswith(SENTENCE_ENDS)]
    return [figure, *quoted[:MAX_BEHIND_FIGURE]]


def _small_talk(request: AnswerRequest) -> str:
    if request.library_is_empty:
        return f"There are no documents yet. {NO_MODEL}: drop a PDF here and ask about it."
    if _THANKS.search(request.question):
        return "You're welcome. Ask another question whenever you like."
    return f"{NO_MODEL}, word for word and with their pages. Ask me about something in them."


def chance_of_answer(question: str, evidence: Sequence[Evidence]) -> float:
    """Return the probability that the evidence answers the question, whoever writes the answer."""
    return select(question, evidence).answered


def quotes(question: str, selection: Selection, *, with_headline: bool = True) -> list[AnswerPart]:
    """Return the words that answer, the sentence they are in and what else is relevant to it; nothing if none answers.

    The first part gives how likely it is right. A follow-up is read with the question before it, which the reader never
    learned: it gets the sentence without a headline.
    """
    likeliest = selection.scored[0].probability if selection.scored else 0.0
    if min(selection.right, likeliest) < MIN_ANSWER_CONFIDENCE and (section := _under_its_heading(question, selection)):
        return section
    kind = kind_of(question)
    asks_for_several = kind is Kind.LIST or (kind is Kind.COUNT and selection.answered < MIN_ANSWERED)
    if asks_for_several and (alike := family(question, selection.scored)):
        return alike
    if selection.answered < MIN_ANSWERED or not selection.scored:
        return []
    if kind is Kind.LIST and (items := listed(selection.scored[0].unit)):
        return [
            replace(items[0], probability=selection.right),
            *items[1:],
            extent(selection.scored[0].unit, len(items)),
        ]
    one_fact, best = asks_for_one_fact(question), selection.scored[0]
    asks_for_one = one_fact or not with_headline or kind is Kind.YES_OR_NO
    several_cells = asks_for_one and best.unit.quoted.count(CELLS) > 1  # a row alone does not show which is meant
    if best.unit.proposal is not None or (one_fact and fits_several_places(selection)):
        return []
    if several_cells:
        return _cell_with_row(question, selection) if one_fact and with_headline else []
    if whole := whole_list(best.unit):
        parts = [whole]
    elif best.unit.torn or {TICKED, UNTICKED} & set(best.unit.text.split()):
        parts = [quotation_of(half) for half in best.unit.torn or (best.unit,)]
    else:
        few = one_fact or kind is Kind.YES_OR_NO
        chosen = _chosen(selection.scored, *((FEW_QUOTES, FEW_WORDS) if few else (MAX_QUOTES, MAX_WORDS)))
        parts = [quotation_of(one.unit) for one in chosen]
        if kind is Kind.LIST and (len(parts) > 1 or not question.rstrip().endswith("?")):
            parts.append(AnswerPart(MAY_BE_MORE, kind=PartKind.NOTE))
    if with_headline and one_fact and not (whole and is_item(best)) and (headline := _headline(question, best)):
        parts.insert(0, headline)
    return [replace(parts[0], probability=selection.right), *parts[1:]]


def _cell_with_row(question: str, selection: Selection) -> list[AnswerPart]:
    """Return the cell of the best row that answers, the heads of its table and the row; nothing if none surely does."""
    unit, cell = selection.scored[0].unit, agreed_cell(question, selection)
    if cell is None:
        return []
    item, text = unit.item, unit.item.passage.text
    headline = AnswerPart(text[cell.start : cell.end], (item.number,), PartKind.HEADLINE, cell.start, selection.right)
    heads = (one for one in item.table_heads if one.start <= unit.start < one.end)
    spans = [(one.heads_start, one.heads_end) for one in heads] + [(unit.start, unit.end)]
    return [headline, *(AnswerPart(text[a:b], (item.number,), PartKind.VERBATIM, a) for a, b in spans)]


def _under_its_heading(question: str, selection: Selection) -> list[AnswerPart]:
    """Return the beginnings of sections, if the question asks only for their headings."""
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
    """Return the words that answer, if they are of one cell or line and contain more than the question does."""
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


def _chosen(scored: Sequence[Scored], most: int, max_words: int) -> list[Scored]:
    """Return the best unit, then others that are worth it, each saying something else, in the order of their pages."""
    chosen: list[Scored] = []
    length = 0
    for one in scored:
        own = len(one.unit.text.split())
        if one.probability < MIN_SHARE_OF_BEST * scored[0].probability or len(chosen) == most:
            break
        if chosen and (length + own > max_words or any(repeats(one.unit, other.unit) for other in chosen)):
            continue
        chosen.append(one)
        length += own
    rest = sorted(chosen[1:], key=lambda one: (one.unit.item.number, one.unit.start))
    return [*chosen[:1], *rest]
