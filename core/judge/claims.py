"""Split an answer into checkable claims, each with the evidence numbers that its parts cite.

Each quotation is one claim, and each statement of figures. In prose, sentences, list items and table cells that state
something are claims, and so is a statement that the documents do not answer; headings, questions and small talk are
not. Whether a claim is supported is decided by `judge`.
"""

import html
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from pincite.core.domain.answers import AnswerPart, PartKind, Span
from pincite.core.domain.figures import Computation, Figure
from pincite.core.judge.sources import Sources
from pincite.core.questions.wording import OF_DOCUMENTS, PARTS
from pincite.core.text.formulas import without_latex
from pincite.core.text.marks import MARK
from pincite.core.text.sentences import split_sentences
from pincite.core.text.terms import content_terms

_SPOKEN_MARK = re.compile(
    r"(?<!\s)\s*+\((?:see |from |according to )?(?:passages?|sources?|documents?|excerpts?|pages?|p\.)\s\d+"
    r"(?:\s?(?:,|and|&|-|–)\s?(?:(?:passage|steps?)\s)?\d+)*\)",
    re.IGNORECASE,
)
_LEADING = re.compile(r"^[ \t]*(?:[-*+•▪◦●‣–—][ \t]+|\(?(?:\d{1,3}|[a-zA-Z])[.)][ \t]+|>[ \t]*)+")
_NUMBERED = re.compile(r"[ \t]{0,40}+\(?(?P<number>\d{1,3})[.)](?:[ \t]|$)")
_NEXT_NUMBER = re.compile(r"(?<!\s)\s++(?P<number>\d{1,2})\.$")
_HEADING = re.compile(r"^(?:#{1,6}\s.*|\*\*[^*]+\*\*:?|[^.!?]{0,80}:\**)$")
_LABELS = re.compile(
    r"(?:\\?[\[({<【]{1,2}\s{0,2}\^?\w{1,3}\s{0,2}\\?[\])}>】]{1,2}[\s.,;]{0,3}|[\u2460-\u24ff]\s{0,3})++"
)
"""Markers in other styles than ours, such as (1), [^1] and ①: they state nothing."""
_CELL = re.compile(r"(?<=\|)[^|]+(?=\|)")
_SEPARATOR_ROW = re.compile(r"^\|?[\s:|+=-]*\|?$")
_SMALL_TALK = re.compile(
    r"^(?:(?:sure|certainly|of course|absolutely|hello|hi|hey|thanks?|you're welcome|great question|okay|ok)\b"
    r"[^.]{0,60}[.!,]?$"
    r"|(?:sure|certainly|of course|okay)?[,!.]?\s*(?:here(?:'s| is| are)|below (?:is|are)|let me|"
    r"i(?:'d| would| will|'ll) be (?:happy|glad)|"
    r"i hope|feel free|please (?:let|note|see|ask)|i(?:'m| am) (?:sorry|happy|glad|an? )|is there anything|"
    r"do you|would you|if you (?:have|need|would like|want))\b)",
    re.IGNORECASE,
)
_OF_THE_ANSWER = frozenset(
    content_terms(
        "document passage source text context excerpt page information detail answer question result summary follow "
        "following below above find found show provide provided give given base based accord according relevant list "
        "point mention describe state look know let hope help happy glad feel free ask assist need want like note "
        "sure certainly course absolutely hello hi hey thank thanks welcome great okay ok please sorry nice meet "
        "further more other anything conclusion short brief overall support"
    )
)
_SECTION = re.compile(r"\d{1,3}(?:\.\d{1,3}){0,4}")
_MARKED = 12
"""Number of characters at the end of a sentence in which its markers are looked for."""
_SUBJECT = (
    r"(?:the|an?|its?|they|he|she|we|this|these|those|each|every|all|no|der|die|das|eine?|er|sie|es|les?|la|une?|il|elle|el|los|las"
    r"|su)\b|[^\W\d_a-zäöüß]"
)
"""Beginnings of a clause with its own subject; without one, a negation before it may apply to it."""
_CLAUSE_END = re.compile(
    r"[;；:]\s|\s[—–]\s|—|[,;]\s(?:but|however|nevertheless|yet|whereas|while|though|although|aber|sondern|mais|pero|sino)\s"
    rf"|\sbut\s(?!also\b)|,\s(?P<adds>and|und|et|y)\s(?={_SUBJECT})"
)
"""Boundary between two clauses of a sentence."""
MIN_CLAUSE_TERMS = 3
"""Minimum number of content words of a clause that is a separate claim; "and possibly more" is none."""
_DECLINING = re.compile(
    r"\b(?:(?:do(?:es)?|did|is|are|was|were|could|can)\s?(?:not|n['’]t)|cannot|no)\s(?:\w+\s){0,5}"
    r"(?:specif\w*|mention\w*|provid\w*|contain\w*|includ\w*|stat\w*|say|said|answer\w*|information|details?|find|found|"
    r"address\w*|discuss\w*|enough|sufficient|available|list\w*|covered?|indicate\w*|given|clear)\b"
    r"|\b(?:without|consult|needs?|see) (?:further|more|additional) (?:information|context|details?|sources?|data)\b"
    r"|\b(?:i do not|i don['’]t) (?:know|have)\b|\bunable to\b|\bnicht (?:genannt|angegeben|erwähnt)\b",
    re.IGNORECASE,
)
_SUBJECT_SOURCE = re.compile(
    r"\b(?:documents?|passages?|sources?|text|context|article|information|data|pages?|report|excerpts?|i)\b"
    r"|\bthere\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ClaimText:
    """A claim in the answer: ``text`` is ``plain_text(answer)[start:end]``."""

    text: str
    start: int
    end: int
    citations: tuple[int, ...]
    context: str = ""
    """For a table cell: the names of its row and column."""
    parts: tuple[int, ...] = ()
    """Indexes of the answer's parts that have its citation numbers."""
    verbatim: bool = False
    place: int | None = None
    """For a quotation: its span in the passage, if the part gives one."""
    figures: tuple[Figure, ...] = ()
    """For a statement by code: the figures that it states or computes from."""
    computation: Computation | None = None
    absent: bool = False
    """Whether it states that something is not in the documents."""

    @property
    def stated_by_code(self) -> bool:
        """Whether code wrote it from its figures, so that it can be computed again."""
        return bool(self.figures)

    @property
    def in_context(self) -> str:
        """Return the text so that it can be understood without its table."""
        return f"{self.context}: {self.text}" if self.context else self.text

    @property
    def bare(self) -> str:
        """Return the statement without list mark and emphasis; of a quotation, its words as they are."""
        return " ".join(self.text.split()) if self.verbatim or self.stated_by_code else bare_text(self.in_context)


@dataclass(frozen=True, slots=True)
class _Mark:
    """End of a part with citations, as an offset in the text."""

    place: int
    part: int
    numbers: tuple[int, ...]


def extract_claims(answer: Sequence[AnswerPart], sources: Sources | None = None) -> tuple[ClaimText, ...]:
    """Return the claims of an answer in order; a sentence that repeats one of `sources` is not cut into clauses."""
    claims: list[ClaimText] = []
    start = first = 0
    while first < len(answer):
        part = answer[first]
        last = first + 1
        if part.kind is PartKind.PROSE:
            while last < len(answer) and answer[last].kind is PartKind.PROSE:
                last += 1
            claims += _claims_of_prose(answer[first:last], start, first, sources)
        elif part.verbatim:
            end = start + len(part.text)
            claims.append(
                ClaimText(part.text, start, end, part.numbers, parts=(first,), verbatim=True, place=part.start)
            )
        elif part.kind is PartKind.FIGURE:
            end, stated = start + len(part.text), (part.figures, part.computation)
            claims.append(ClaimText(part.text, start, end, part.numbers, "", (first,), False, None, *stated))
        start += sum(len(one.text) for one in answer[first:last])
        first = last
    return tuple(claims)


def _claims_of_prose(
    parts: Sequence[AnswerPart], offset: int, first_part: int, sources: Sources | None
) -> Iterator[ClaimText]:
    """Yield the claims of prose in Markdown: clauses of sentences and list items, and the cells of tables."""
    text = "".join(part.text for part in parts)
    spans = split_sentences(text)
    marks = _marks_by_sentence(parts, spans, first_part)
    heads: tuple[str, ...] = ()
    number = 0
    for position, span in enumerate(spans):
        sentence = text[span.start : span.end]
        follows = text[spans[position + 1].start : spans[position + 1].end] if position + 1 < len(spans) else ""
        if sentence.startswith("|"):
            if "|" in follows and _SEPARATOR_ROW.match(follows):
                heads = tuple(bare_text(cell) for cell in _CELL.findall(sentence))
            elif not _SEPARATOR_ROW.match(sentence):
                yield from _cells(sentence, span.start, offset, heads, marks[position])
            continue
        heads = ()
        if (trailing := _NEXT_NUMBER.search(sentence)) and int(trailing["number"]) == number + 1:
            sentence = sentence[: trailing.start()]  # "1. Rent 2. Costs": a list that runs on in one line
        number = int((trailing or _NUMBERED.match(sentence) or {"number": 0})["number"])
        clauses = list(_clauses(sentence))
        copies = sources.near_copies(bare_text(sentence)) if sources and len(clauses) > 1 else []
        if any(len(list(_clauses(copy))) > 1 for copy in copies):
            clauses = [Span(0, len(sentence))]
        for clause in clauses:
            stated, begins = sentence[clause.start : clause.end], span.start + clause.start
            if _can_be_checked(stated):
                own = [mark for mark in marks[position] if begins < mark.place <= begins + len(stated)]
                absent = declines(bare_text(stated))
                found = _claim(stated, begins + offset, own or ([] if absent else marks[position]))
                yield replace(found, absent=absent)


def _clauses(sentence: str) -> Iterator[Span]:
    """Yield the clauses of a sentence, each a claim of its own, such as what one that declines goes on to state."""
    start = 0
    for match in _CLAUSE_END.finditer(sentence):
        if _ends_clause(sentence[start : match.start()], match, sentence[match.end() :]):
            yield Span(start, match.start())
            start = match.end()
    yield Span(start, len(sentence))


def _ends_clause(before: str, cut: re.Match[str], after: str) -> bool:
    """Return whether both sides of a cut are clauses; the last item of a list ("a, b, and c") is not."""
    following = _CLAUSE_END.split(after, maxsplit=1)[0]
    if declines(before) or (declines(following) and ":" not in cut.group()):
        return True
    if cut["adds"] and "," in before:
        return False
    return all(len(content_terms(side)) >= MIN_CLAUSE_TERMS for side in (before, following))


def _marks_by_sentence(
    parts: Sequence[AnswerPart], spans: Sequence[Span], first_part: int
) -> tuple[tuple[_Mark, ...], ...]:
    """Assign each marker to the sentence that it is in or directly follows."""
    marks: list[list[_Mark]] = [[] for _ in spans]
    starts = [span.start for span in spans]
    place = 0
    for number, part in enumerate(parts, start=first_part):
        place += len(part.text)
        sentence = bisect_left(starts, place) - 1
        if part.numbers and sentence >= 0:
            marks[sentence].append(_Mark(place, number, part.numbers))
    return tuple(map(tuple, marks))


def _claim(text: str, start: int, marks: Sequence[_Mark], context: str = "") -> ClaimText:
    numbers = tuple(dict.fromkeys(number for mark in marks for number in mark.numbers))
    return ClaimText(text, start, start + len(text), numbers, context, tuple(mark.part for mark in marks))


def _cells(row: str, start: int, offset: int, heads: tuple[str, ...], marks: Sequence[_Mark]) -> Iterator[ClaimText]:
    """Yield a claim per cell; the first cell names the row, and each cell has all citations of its row."""
    cells = list(_CELL.finditer(row))
    label = bare_text(cells[0].group()) if len(cells) > 1 else ""
    for column, cell in enumerate(cells):
        text = cell.group().strip()
        if (label and column == 0) or not any(character.isalnum() for character in bare_text(text)):
            continue
        named = (label, heads[column] if column < len(heads) else "")
        context = ", ".join(name for name in named if content_terms(name))
        begins = start + cell.start() + cell.group().index(text)
        own = [mark for mark in marks if start + cell.start() < mark.place <= start + cell.end()]
        absent = declines(bare_text(text))
        yield replace(_claim(text, begins + offset, own or ([] if absent else marks), context), absent=absent)


def is_claim(text: str) -> bool:
    """Return whether a sentence, list item or table row states something of the documents' subject."""
    return _can_be_checked(text) and not declines(bare_text(text))


def _can_be_checked(text: str) -> bool:
    statement = bare_text(text)
    if _SEPARATOR_ROW.match(statement) or statement.endswith(("?", "？", "؟")):
        return False
    if not content_terms(statement) or re.fullmatch(r"\d{1,3}[.)]", statement) or _LABELS.fullmatch(statement):
        return False
    if _HEADING.match(_LEADING.sub("", text).strip()) or _is_filler(statement):
        return False
    only_leads_on = statement.rstrip("*").endswith(":") and not any(character.isdigit() for character in statement)
    return not only_leads_on


def _is_filler(statement: str) -> bool:
    """Return whether a sentence is only about the answer itself, so that there is nothing to check."""
    own_terms = [term for term in content_terms(statement) if term not in _OF_THE_ANSWER]
    if not own_terms:
        return True
    if not _SMALL_TALK.match(statement):
        return False
    return statement.endswith(":") or (len(own_terms) < 2 and not any(character.isdigit() for character in statement))


def without_filler(text: str, places: Collection[str] = ()) -> str:
    """Return prose without sentences that are only about the answer or name its place, if any others are left.

    "This is stated in clause 2 of the contract [1]." lends its markers to the sentence before. ``places``: the terms
    of the names and headings of what can be cited.
    """
    spans = split_sentences(text)
    idle = [_only_speaks_of_the_answer(MARK.sub("", text[span.start : span.end]), places) for span in spans]
    if all(idle) or not any(idle):
        return text
    kept, start = "", 0
    for span, has_no_words in zip(spans, idle, strict=True):
        if not has_no_words:
            kept += text[start : span.end]
        elif kept and not MARK.search(kept[-_MARKED:]):
            kept += "".join(f" {mark.group()}" for mark in MARK.finditer(text[span.start : span.end]))
        start = span.end
    return kept.strip()


def _only_speaks_of_the_answer(sentence: str, places: Collection[str]) -> bool:
    statement = bare_text(sentence)
    terms = content_terms(statement)
    if not terms or "|" in sentence or statement.endswith((":", "?")):
        return False
    return _is_filler(statement) or (bool(places) and not declines(statement) and _names_place(terms, places))


def _names_place(terms: Sequence[str], places: Collection[str]) -> bool:
    """Return whether the terms only name documents, headings and section numbers, as the sources of the answer."""
    named = [term for term in terms if term not in _OF_THE_ANSWER]
    known = OF_DOCUMENTS.union(places, content_terms(" ".join(PARTS)))
    return len(named) < len(terms) and all(term in known or _SECTION.fullmatch(term) for term in named)


def declines(text: str) -> bool:
    """Return whether a sentence states that the sources do not answer."""
    match = _DECLINING.search(text)
    return match is not None and bool(_SUBJECT_SOURCE.search(text[: match.end()]))


def bare_text(text: str) -> str:
    """Return part of an answer without list mark, citations in words ("(page 2)"), emphasis and LaTeX."""
    unmarked = _SPOKEN_MARK.sub("", _LEADING.sub("", without_latex(html.unescape(text))))
    return re.sub(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}", "", unmarked).strip()
