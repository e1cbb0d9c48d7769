"""The sentences of pages that change what is under a number elsewhere: "Clause 4.1 is replaced by the following: …"."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from pincite.core.domain.answers import Span
from pincite.core.domain.documents import Page, Passage
from pincite.core.questions.places import numbered_in
from pincite.core.search.stretches import Stretch, number_of
from pincite.core.text.sentences import split_sentences

Chance = Callable[[str], float]
"""Returns the probability that a sentence changes another text."""
MIN_CHANCE = 0.3
MAX_JUDGED = 20
"""Number of sentences of a document that are judged."""
_NUMBER = re.compile(r"(?<![\w.,])\d{1,4}(?:\.\d{1,4}){0,6}[a-z]?(?!\w|[.,]\d)")
_OWN_NUMBER = re.compile(r"^[\s(]{0,4}\d{1,4}(?:\.\d{1,4}){0,6}[.)]?\s+")
_BEGINS = re.compile(
    r"[\W_]{0,3}(?:[^\W\d_]{1,20}\.?\s{1,3}|§\s?)?[\d.-]{1,20}[.):\s–—-]{1,6}[\"“«„]?(?![a-zß-öø-ÿ])[^\W\d_]"
)
"""How a numbered place begins: a word or sentence behind its number."""
_WORDS_BEFORE = 3
"""Maximum number of words before a number of one part ("§ 4") with which a sentence names a place."""


@dataclass(frozen=True, slots=True)
class ChangeFound:
    """What changes the place of a number, with the probability that it does."""

    number: str
    stretch: Stretch
    probability: float


def places_of(passage: Passage) -> dict[str, Span]:
    """Return where in a passage's text the place of each number is: "4" with "4.1", "4.2" until "5"."""
    found = {number: Span(0, len(passage.text)) for title in passage.heading_path if (number := number_of(title))}
    lines, start = list[tuple[str, int]](), 0
    for line in passage.text.split("\n"):
        lines += [(number, start)] if (number := number_of(line)) and _BEGINS.match(line) else []
        start += len(line) + 1
    for at, (number, start) in enumerate(lines):
        ends = (begin for other, begin in lines[at + 1 :] if not other.startswith(f"{number}."))
        found[number] = Span(start, next(ends, len(passage.text)))
    for number, span in list(found.items()):
        for match in re.finditer(r"\.", number):
            found.setdefault(number[: match.start()], span)
    return found


def mentions_in(passage: Passage) -> dict[str, Span]:
    """Return the last sentence of a passage that names the place of each number."""
    found = dict[str, Span]()
    numbers = dict.fromkeys(_NUMBER.findall(passage.text))
    for span in split_sentences(passage.text):
        sentence = " ".join(passage.text[span.start : span.end].split())
        found |= {number: span for number in numbers if _names(sentence, number)}
    return found


def names_any(text: str, numbers: frozenset[str]) -> bool:
    """Return whether a text contains one of these numbers as a whole number."""
    return not numbers.isdisjoint(_NUMBER.findall(text))


def changes_on(pages: Iterable[Page], numbers: frozenset[str], chance: Chance) -> Iterator[ChangeFound]:
    """Yield what changes the places of these numbers, in the order of the pages."""
    judged = 0
    for page in pages:
        if not names_any(page.text, numbers):
            continue
        for span in split_sentences(page.text):
            sentence = " ".join(page.text[span.start : span.end].split())
            named = [number for number in numbers if _names(sentence, number)]
            if not named or judged == MAX_JUDGED or "\t" in page.text[span.start : span.end]:
                continue
            judged += 1
            likely = chance(_OWN_NUMBER.sub("", sentence))
            if likely >= MIN_CHANCE:
                stretch = _with_what_follows(page, span)
                yield from (ChangeFound(number, stretch, likely) for number in named)


def _names(sentence: str, number: str) -> bool:
    """Return whether a sentence names the place of a number: "4.1" anywhere, "4" behind a few words or "clause"."""
    text = _OWN_NUMBER.sub("", sentence)
    at = next((match.start() for match in _NUMBER.finditer(text) if match.group() == number), None)
    if at is None:
        return False
    place = any(name.rpartition(" ")[2] == number or name == f"§{number}" for name in numbered_in(text))
    return "." in number or place or 1 <= len(text[:at].split()) <= _WORDS_BEFORE


def _with_what_follows(page: Page, span: Span) -> Stretch:
    """Return a sentence to the end of its block, of the next one where it ends with a colon."""
    ends = [block.end for block in page.blocks if block.end >= span.end][:2]
    if not ends:
        return Stretch(page, span.start, span.end)
    announces = page.text[span.start : ends[0]].rstrip().endswith(":")
    return Stretch(page, span.start, ends[-1] if announces else ends[0])
