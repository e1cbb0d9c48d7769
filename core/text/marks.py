"""The one border at which typed text becomes the parts of an answer: markers like [2] are read here and nowhere else.

What a model or a person writes to cite is a marker. A bracketed number that is also in the evidence, as every
scientific paper has them, is foreign text: it stays where it is and cites nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import zip_longest

from pincite.core.domain.answers import AnswerPart
from pincite.core.text.markdown import tame, verbatim
from pincite.core.text.quotations import NormalizedText
from pincite.core.text.sentences import split_sentences
from pincite.core.text.stating import formula

MARK = re.compile(r"[\[【](\d{1,3}(?:[ \t]*[,;–-][ \t]*\d{1,3})*)[\]】](?!\()")
"""Some models write 【2】; [1](address) is Markdown of another kind."""
_NEAR = 80
"""Characters of its line before and after a bracketed number that are compared with the evidence."""
_VEIL = {"[": "［", "]": "］", "【": "〖", "】": "〗"}
_MASKED = re.compile(r"[［〖]([\d,;–\- \t]+)[］〗]")


def read_marks(text: str, sources: Mapping[int, str] | None = None) -> tuple[tuple[AnswerPart, ...], int]:
    """Return a text as parts, each with the numbers cited at its end, and how many markers pointed to no source.

    ``sources`` are the texts that can be cited, by number; None: every bracketed number is a marker.
    """
    evidence = None if sources is None else _Evidence(sources)
    text = text.strip()
    pieces: list[str] = []
    marks: list[tuple[int, tuple[int, ...]]] = []
    removed = position = length = 0
    gap = ""
    for match in MARK.finditer(text):
        if evidence is not None and evidence.holds(match):
            continue
        numbers = citation_numbers(match.group())
        kept = tuple(number for number in numbers if sources is None or number in sources)
        removed += len(numbers) - len(kept)
        before = gap + text[position : match.start()].rstrip(" \t")
        position = match.end()
        last, following = (before or (pieces[-1] if pieces else ""))[-1:], text[position : position + 1]
        if last in ("", "\n") and following in (" ", "\t"):
            position += 1
        gap = " " if last.isalnum() and following.isalnum() else ""
        pieces.append(before)
        length += len(before)
        if kept:
            marks.append((length, kept))
    plain = "".join([*pieces, gap + text[position:]])
    parts = _cut(plain, [(_behind_words(plain, place), numbers) for place, numbers in marks])
    return tuple(AnswerPart(unveiled(part.text), part.numbers) for part in parts), removed


def citation_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of marks like [1], [2, 3] and [4-6] (at most 20 of a range), each once, in order."""
    numbers: list[int] = []
    for match in MARK.finditer(text):
        for part in re.split("[,;]", match[1]):
            first, *rest = (int(number) for number in re.split("[–-]", part))
            numbers += range(first, rest[0] + 1) if rest and first < rest[0] < first + 20 else [first, *rest]
    return tuple(dict.fromkeys(numbers))


def plain_text(parts: Iterable[AnswerPart]) -> str:
    """Return the answer's words without any marker of ours: what claims have their positions in."""
    return "".join(part.text for part in parts)


def marked_text(parts: Iterable[AnswerPart]) -> str:
    """Return the answer as text for people: quoted white space drawn together, a marker where something is cited.

    What was computed is followed by its formula.
    """
    return "".join(
        (" ".join(part.text.split()) if part.verbatim else part.text)
        + (f" [{', '.join(map(str, part.numbers))}]" if part.numbers else "")
        + (f"\n= {formula(part.figures, part.computation)}" if part.computation else "")
        for part in parts
    )


def markdown_pieces(
    parts: Sequence[AnswerPart], quoted: Callable[[str], str] = verbatim
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the answer as Markdown in which nothing is active, piece by piece, each with the numbers of its marker.

    ``quoted`` makes Markdown of words of a page. Quotations are kept apart from what was written; a marker is never
    followed by what would make it a link.
    """
    for part, after in zip_longest(parts, parts[1:], fillvalue=AnswerPart("")):
        yield f"> {quoted(part.text)}" if part.verbatim else tame(part.text), ()
        if part.numbers:
            marker = ", ".join(map(str, part.numbers))
            yield f" \\[{marker}\\]" if after.text.startswith(("(", ":")) else f" [{marker}]", part.numbers
        if part.computation is not None:
            yield tame(f"\n= {formula(part.figures, part.computation)}"), ()


def with_mark(parts: Sequence[AnswerPart], position: int, numbers: tuple[int, ...]) -> list[AnswerPart]:
    """Cite ``numbers`` at a position of the plain text."""
    made: list[AnswerPart] = []
    start = 0
    for part in parts:
        end = start + len(part.text)
        if start < position <= end:
            before, after = part.text[: position - start], part.text[position - start :]
            made.append(AnswerPart(before, numbers if after else _joined(part.numbers, numbers), part.kind))
            made += [AnswerPart(after, part.numbers, part.kind)] if after else []
        else:
            made.append(part)
        start = end
    return made


def with_masked_brackets(text: str) -> str:
    """Show a model foreign text so that a number which it copies from there cannot be taken for a marker."""
    return MARK.sub(lambda match: "".join(_VEIL.get(sign, sign) for sign in match.group()), text)


def unveiled(text: str) -> str:
    """Give back the brackets that a model copied in their with_masked_brackets form."""
    back = {veil: sign for sign, veil in _VEIL.items()}
    return _MASKED.sub(lambda match: "".join(back.get(sign, sign) for sign in match.group()), text)


class _Evidence:
    """The sources that an answer may cite, asked whether a bracketed number is theirs."""

    def __init__(self, sources: Mapping[int, str]) -> None:
        self._sources = sources
        self._known: dict[str, bool] = {}

    @cached_property
    def _normalized(self) -> list[NormalizedText]:
        return [NormalizedText(text) for text in self._sources.values()]

    def holds(self, match: re.Match[str]) -> bool:
        """Return whether it is between the same words there; if it names no source, whether it is there."""
        bracket, text = match.group(), match.string
        if not any(bracket in source for source in self._sources.values()):
            return False
        if not any(number in self._sources for number in citation_numbers(bracket)):
            return True
        line_before = text[max(0, match.start() - _NEAR) : match.start()].rpartition("\n")[2]
        line_after = text[match.end() : match.end() + _NEAR].partition("\n")[0]
        gap, next_gap = " " * line_before[-1:].isspace(), " " * line_after[:1].isspace()
        before, after = line_before.split()[-2:], line_after.split()[:3]
        if not before:
            return bool(after) and self._occurs(bracket + next_gap + " ".join(after))
        if self._occurs(" ".join(before) + gap + bracket):
            return True
        return bool(after) and self._occurs(before[-1] + gap + bracket + next_gap + after[0])

    def _occurs(self, words: str) -> bool:
        if words not in self._known:  # a text of thousands of markers has few surroundings
            self._known[words] = any(source.locate(words) for source in self._normalized)
        return self._known[words]


def _behind_words(plain: str, place: int) -> int:
    """Return the text with each marker that opens a line moved behind the sentence that follows."""
    line = plain.rfind("\n", 0, place) + 1
    if plain[line:place].strip():
        return place
    end = plain.find("\n", place)
    rest = plain[place : end if end >= 0 else len(plain)]
    spans = split_sentences(rest)
    return place + spans[0].end if spans else len(plain[:place].rstrip())


def _cut(plain: str, marks: Sequence[tuple[int, tuple[int, ...]]]) -> list[AnswerPart]:
    at: dict[int, tuple[int, ...]] = {}
    for place, numbers in sorted(marks, key=lambda mark: mark[0]):
        at[place] = _joined(at.get(place, ()), numbers)
    parts, position = [], 0
    for place, numbers in at.items():
        if place > position:  # a marker with no word before it cites nothing
            parts.append(AnswerPart(plain[position:place], numbers))
            position = place
    if position < len(plain):
        parts.append(AnswerPart(plain[position:]))
    return parts


def _joined(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys([*one, *other]))
