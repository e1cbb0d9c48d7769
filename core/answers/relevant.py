"""The passages that are shown where no answer is sure: of different places, nearest first, the likeliest words marked.

Nothing is claimed of them but that these words are there.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from pincite.core.answers.selection import Scored, Selection, answer_text
from pincite.core.answers.units import CELLS, SENTENCE_ENDS, Unit, quotation_of, with_whole_brackets
from pincite.core.domain.answers import AnswerPart, PartKind, Span
from pincite.core.domain.search import Evidence, TableHead
from pincite.core.text.sentences import split_sentences
from pincite.core.text.terms import content_terms

MAX_RELEVANT = "Most relevant in your documents"
MAX_PASSAGES, MAX_WORDS = 5, 50
"""Number of passages, and the length of each; a longer sentence or row is shown whole."""
ROWS_BEFORE = 1
"""Maximum number of rows that are shown between a table's head and the row that is meant."""
AS_LIKELY, NEAR = 0.4, 3.0
"""Minimum share of the best unit's probability, and log-odds of the reader behind it, for another place to fit too."""


@dataclass(frozen=True, slots=True)
class Found:
    """Words that may answer, with those of them that are marked; positions are in the passage's text."""

    item: Evidence
    start: int
    end: int
    marked: Span | None = None
    torn: tuple[Unit, ...] = ()
    """Both halves of a sentence that goes on on the next page."""

    @classmethod
    def of(cls, scored: Scored) -> "Found":
        return cls(scored.unit.item, scored.unit.start, scored.unit.end, scored.answer, scored.unit.torn)

    @classmethod
    def of_figure(cls, part: AnswerPart, evidence: Sequence[Evidence]) -> "Found | None":
        """Return the stated cell, or the first that it is computed from, if a cited passage contains it."""
        if part.kind is PartKind.HEADLINE and part.start is not None:
            end = part.start + len(part.text)
            cited = (item for item in evidence if item.number in part.numbers)
            return next((cls(item, part.start, end, Span(part.start, end)) for item in cited), None)
        for figure in part.figures:
            for item in evidence:
                passage = item.passage
                start, end = figure.start - passage.start, figure.end - passage.start
                own = passage.page == (figure.document_id, figure.page_index) and item.number in part.numbers
                if own and 0 <= start < end <= len(passage.text):
                    return cls(item, start, end, Span(start, end))
        return None


def named_row_first(question: str, scored: Sequence[Scored]) -> Sequence[Scored]:
    """Return the units, first the row with its first cell whole in the question, if the best is of its table."""
    if not scored or CELLS not in scored[0].unit.quoted:
        return scored
    asked, best = frozenset(content_terms(question)), scored[0].unit
    rows = (one for one in scored if one.unit.item is best.item and CELLS in one.unit.quoted)
    labels = [(one, frozenset(content_terms(one.unit.quoted.partition(CELLS)[0]))) for one in rows]
    named = [one for one, label in labels if label and label <= asked]
    return [named[0], *(one for one in scored if one is not named[0])] if len(named) == 1 else scored


def relevant_passages(found: Iterable[Found], probability: float) -> list[AnswerPart]:
    """Return the heading, which carries the probability that the first passage answers, and the passages."""
    parts = [AnswerPart(MAX_RELEVANT, kind=PartKind.EVIDENCE, probability=probability)]
    places, texts = set[tuple[object, ...]](), list[str]()
    for one in found:
        passage = one.item.passage
        place = (*passage.page, passage.heading_path)
        shown = [quotation_of(half) for half in one.torn] or _table(one) or [_sentences(one)]
        text = " ".join(shown[-1].text.split())
        if place in places or any(text in other for other in texts):
            continue
        places.add(place)
        texts.append(text)
        parts += [AnswerPart(place_of(one.item), kind=PartKind.NOTE), *shown]
        if len(places) == MAX_PASSAGES:
            break
    return parts if places else []


def as_passages(parts: Sequence[AnswerPart], evidence: Sequence[Evidence], probability: float) -> list[AnswerPart]:
    """Return what an answer quotes or states as a list of passages."""
    items = {item.number: item for item in evidence}
    found: list[Found] = []
    for part in parts:
        if part.figures and (cell := Found.of_figure(part, evidence)):
            found.append(cell)
        elif part.verbatim and part.numbers and part.start is not None:
            end = part.start + len(part.text)
            marked = Span(part.start, end) if part.kind is PartKind.HEADLINE else None
            found.append(Found(items[part.numbers[0]], part.start, end, marked))
    return relevant_passages(found, probability)


def place_of(item: Evidence) -> str:
    """Return the document, page and heading of a passage."""
    heading = " ".join(item.passage.heading_path[-1].split()) if item.passage.heading_path else ""
    return f"{item.document_name}, page {item.passage.page_label}{f' · {heading}' if heading else ''}"


def _sentences(one: Found) -> AnswerPart:
    """Return the words with the sentences around them, those behind first, as far as they are few enough."""
    text = one.item.passage.text
    first, last = _grown(one, split_sentences(text), lambda span: CELLS not in text[span.start : span.end])
    whole = with_whole_brackets(text, min(one.start, first.start), max(one.end, last.end))
    return _quoted(one, whole.start, whole.end)


def _grown(
    one: Found, spans: Sequence[Span], fits: Callable[[Span], bool], max_before: int = MAX_WORDS
) -> tuple[Span, Span]:
    """Return the first and last of a run of spans around the words, of MAX_WORDS unless the words' own are longer.

    At most ``max_before`` of the spans are before the words.
    """
    text = one.item.passage.text
    own = [at for at, span in enumerate(spans) if span.start < max(one.end, one.start + 1) and one.start < span.end]
    first, last = (own[0], own[-1]) if own else (0, 0)

    def adds(at: int, start: int, end: int) -> bool:
        return 0 <= at < len(spans) and fits(spans[at]) and len(text[start:end].split()) <= MAX_WORDS

    while adds(last + 1, spans[first].start, spans[min(last + 1, len(spans) - 1)].end):
        last += 1
    while own and first > own[0] - max_before and adds(first - 1, spans[first - 1].start, spans[last].end):
        first -= 1
    return spans[first], spans[last]


def _table(one: Found) -> list[AnswerPart]:
    """Return the row of a table with its neighbours, behind the head of the table; nothing for what is no row.

    Text over a table is shown with its first rows.
    """
    text = one.item.passage.text
    lines = [Span(start, start + len(line)) for start, line in _lines(text)]
    at = next((at for at, line in enumerate(lines) if line.start <= one.start < max(line.end, line.start + 1)), 0)
    cells = [text[line.start : line.end].count(CELLS) for line in lines]
    heads = at + 1 < len(lines) and not cells[at] and bool(cells[at + 1]) and one.end <= lines[at].end
    if heads and not text[lines[at].start : lines[at].end].rstrip().endswith(SENTENCE_ENDS):
        at += 1
    if not cells[at]:
        return []
    if head := next((head for head in one.item.table_heads if head.start <= lines[at].start < head.end), None):
        return _below(one, lines, at, head)
    width = cells[at]
    first = at - sum(1 for _ in takewhile(lambda count: count == width, reversed(cells[:at])))
    row = replace(one, start=lines[at].start, end=lines[at].end)
    begin, end = _grown(row, lines, lambda line: text[line.start : line.end].count(CELLS) == width, ROWS_BEFORE)
    rows = _quoted(one, begin.start, end.end)
    if begin == lines[first]:
        return [_titled(one, lines, first, rows)]
    return [_titled(one, lines, first, _quoted(one, lines[first].start, lines[first].end)), rows]


def _below(one: Found, lines: Sequence[Span], at: int, head: TableHead) -> list[AnswerPart]:
    """Return the rows of heads with which a table begins, and the row that is meant with its neighbours."""
    begins = next(number for number, line in enumerate(lines) if head.heads_start <= line.end)
    row = replace(one, start=lines[at].start, end=lines[at].end)
    begin, end = _grown(row, lines, lambda line: head.heads_end < line.end <= head.end, ROWS_BEFORE)
    if begin.start <= head.heads_end + 1:
        return [_titled(one, lines, begins, _quoted(one, lines[begins].start, max(end.end, head.heads_end)))]
    return [
        _titled(one, lines, begins, _quoted(one, head.heads_start, head.heads_end)),
        _quoted(one, begin.start, end.end),
    ]


def _titled(one: Found, lines: Sequence[Span], first: int, part: AnswerPart) -> AnswerPart:
    """Return a part that begins with a table's head, from the line over it, which may name the table and its units."""
    text = one.item.passage.text
    above = text[lines[first - 1].start : lines[first - 1].end] if first else ""
    if not above.strip() or above.rstrip().endswith(SENTENCE_ENDS) or CELLS in above:
        return part
    return _quoted(one, lines[first - 1].start, lines[first].start + len(part.text))


def _lines(text: str) -> Iterable[tuple[int, str]]:
    start = 0
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1


def _quoted(one: Found, start: int, end: int) -> AnswerPart:
    text = one.item.passage.text[start:end]
    mark = one.marked
    inside = mark is not None and start <= mark.start and mark.end <= end
    marked = (Span(mark.start - start, mark.end - start),) if mark and inside else ()
    return AnswerPart(text, (one.item.number,), PartKind.VERBATIM, start, marked=marked)


def fits_several_places(selection: Selection) -> bool:
    """Return whether another document or section answers a question as well, in other words: none is likelier."""
    if not selection.scored:
        return False
    best = selection.scored[0]
    if best.answer is None:
        return False
    home = (best.unit.item.passage.document_id, best.unit.item.passage.heading_path)
    return any(
        one.answer is not None
        and (one.unit.item.passage.document_id, one.unit.item.passage.heading_path) != home
        and one.probability >= AS_LIKELY * best.probability
        and one.measures["span"] >= max(0.0, best.measures["span"] - NEAR)
        and one.measures["passage share"] == best.measures["passage share"]
        and answer_text(one) != answer_text(best)
        for one in selection.scored[1:]
    )
