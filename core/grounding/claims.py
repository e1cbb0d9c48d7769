"""Split an answer into checkable claims, and read the citation marks they carry.

Sentences, list items and the cells of tables that state something are claims; headings, questions, small talk, hedges
and "the documents do not say" are not. Whether a claim holds is left to `checks`.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pincite.core.grounding.sentences import split_sentences
from pincite.core.grounding.terms import content_terms

_MARK = re.compile(r"[\[【](\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)[\]】](?!\()")
_SPOKEN_MARK = re.compile(
    r"(?<!\s)\s*+\((?:see |from |according to )?(?:passages?|sources?|documents?|excerpts?|pages?|p\.)\s\d+"
    r"(?:\s?(?:,|and|&|-|–)\s?(?:(?:passage|steps?)\s)?\d+)*\)",
    re.IGNORECASE,
)
_LEADING = re.compile(r"^[ \t]*(?:[-*+•▪◦●‣–—][ \t]+|\(?(?:\d{1,3}|[a-zA-Z])[.)][ \t]+|>[ \t]*)+")
_NUMBERED = re.compile(r"[ \t]{0,40}+\(?(?P<number>\d{1,3})[.)](?:[ \t]|$)")
_NEXT_NUMBER = re.compile(r"(?<!\s)\s++(?P<number>\d{1,2})\.$")
_HEADING = re.compile(r"^(?:#{1,6}\s.*|\*\*[^*]+\*\*:?|[^.!?]{0,80}:\**)$")
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
    """A claim as it stands in the answer: ``text`` is ``answer[start:end]``; ``citations`` are the numbers it names."""

    text: str
    start: int
    end: int
    citations: tuple[int, ...]
    context: str = ""
    """For the cell of a table: what its row and its column are called."""

    @property
    def told(self) -> str:
        """Return the text so that it can be read alone."""
        return f"{self.context}: {self.text}" if self.context else self.text

    @property
    def bare(self) -> str:
        """Return the statement without list mark, citation marks and emphasis."""
        return bare_text(self.told)


def extract_claims(answer: str) -> tuple[ClaimText, ...]:
    """Return the claims of an answer in Markdown, in order: sentences, list items and the cells of tables."""
    claims: list[ClaimText] = []
    spans = split_sentences(answer)
    heads: tuple[str, ...] = ()
    number = 0
    for position, span in enumerate(spans):
        text = answer[span.start : span.end]
        follows = answer[spans[position + 1].start : spans[position + 1].end] if position + 1 < len(spans) else ""
        if text.startswith("|"):
            if "|" in follows and _SEPARATOR_ROW.match(follows):
                heads = tuple(bare_text(cell) for cell in _CELL.findall(text))
            elif not _SEPARATOR_ROW.match(text):
                claims.extend(_cells(text, span.start, heads))
            continue
        heads = ()
        if (trailing := _NEXT_NUMBER.search(text)) and int(trailing["number"]) == number + 1:
            text = text[: trailing.start()]  # "1. Rent 2. Costs": a list that runs on in one line
        number = int((trailing or _NUMBERED.match(text) or {"number": 0})["number"])
        if is_claim(text):
            claims.append(ClaimText(text, span.start, span.start + len(text), citation_numbers(text)))
    return tuple(claims)


def _cells(row: str, start: int, heads: tuple[str, ...]) -> Iterator[ClaimText]:
    """Yield a claim per cell; the first names the row, and what is cited anywhere in a row is cited by its cells."""
    cells = list(_CELL.finditer(row))
    label = bare_text(cells[0].group()) if len(cells) > 1 else ""
    for column, cell in enumerate(cells):
        text = cell.group().strip()
        if (label and column == 0) or not any(character.isalnum() for character in bare_text(text)):
            continue
        named = (label, heads[column] if column < len(heads) else "")
        context = ", ".join(name for name in named if content_terms(name))
        begins = start + cell.start() + cell.group().index(text)
        citations = citation_numbers(text) or citation_numbers(row)
        yield ClaimText(text, begins, begins + len(text), citations, context)


def is_claim(text: str) -> bool:
    """Say whether a sentence, list item or table row states something that can be checked."""
    statement = bare_text(text)
    if _SEPARATOR_ROW.match(statement) or statement.endswith(("?", "？", "؟")):
        return False
    if not content_terms(statement) or re.fullmatch(r"\d{1,3}[.)]", statement):
        return False
    if _HEADING.match(_MARK.sub("", _LEADING.sub("", text)).strip()) or _SMALL_TALK.match(statement):
        return False
    if statement.rstrip("*").endswith(":") and not any(character.isdigit() for character in statement):
        return False  # it only leads to what follows
    return not declines(statement)


def declines(text: str) -> bool:
    """Say whether a sentence tells that the sources do not answer."""
    match = _DECLINING.search(text)
    return match is not None and bool(_SUBJECT_SOURCE.search(text[: match.end()]))


def citation_numbers(text: str) -> tuple[int, ...]:
    """Return the evidence numbers of marks like [1], [2, 3] and [4-6] (at most 20 of a range), each once, in order."""
    numbers: list[int] = []
    for match in _MARK.finditer(text):
        for part in re.split("[,;]", match[1]):
            first, *rest = (int(number) for number in re.split("[–-]", part))
            numbers += range(first, rest[0] + 1) if rest and first < rest[0] < first + 20 else [first, *rest]
    return tuple(dict.fromkeys(numbers))


def bare_text(text: str) -> str:
    """Return a stretch of an answer without list mark, citation marks ("[2]", "(page 2)") and emphasis."""
    unmarked = _SPOKEN_MARK.sub("", _MARK.sub("", _LEADING.sub("", html.unescape(text))))
    return re.sub(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}", "", unmarked).strip()
