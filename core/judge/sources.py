"""The sources of an answer, prepared once so that every claim is compared with them quickly."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from pincite.core.judge.restated import changes
from pincite.core.text.numbers import Quantity, quantities, same, stated_scales
from pincite.core.text.quotations import NormalizedText
from pincite.core.text.sentences import split_sentences
from pincite.core.text.terms import FUNCTION_WORDS, content_terms, root, specificity, stem, words
from pincite.core.text.years import YEAR

NEAR_WORDS = 150
"""Maximum number of words of the nearest sentences that a claim is compared with, however long the sources are."""
STRETCH_WORDS, MAX_STRETCHES = 120, 3
"""Length of a stretch that the checker reads, and how many it reads for a claim."""
MAX_COMPARED = 5
"""How many of the nearest sentences are compared with a claim word by word."""
_UNSPACED = re.compile(r"[\s.'’-]+")
_ACRONYM = re.compile(r"\b(?:[A-Z]\.?){2,6}(?![a-z])")
_ADJECTIVE_OF_PLACE = re.compile(r"(?:ain|i?ans?|ish|ese|i?a|o)$")
_BETWEEN_CELLS = re.compile(r"[)%]{0,2}[\s|]{1,40}[\s|$€£¥(—–-]{0,40}|[)%\s]{0,9}\|[\s|$€£¥(—–-]{0,40}")


class Sentence:
    """One sentence, row or list item of a source."""

    def __init__(self, text: str, source: "Source", position: int) -> None:
        """Store the text and its place: its source and its number there."""
        self.text = text
        self.source = source
        self.position = position
        spoken = words(text)
        self.stems = tuple(map(stem, spoken))
        self.terms = frozenset(
            stemmed for stemmed, word in zip(self.stems, spoken, strict=True) if word.lower() not in FUNCTION_WORDS
        )

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """Return its figures, dates and times."""
        return quantities(self.text)

    @cached_property
    def _cells(self) -> tuple[Quantity, ...]:
        """Return the figures of a table row; nothing for what is none."""
        figures = tuple(quantity for quantity in self.quantities if quantity.counts)
        between = (self.text[one.end : other.end - len(other.text.lstrip())] for one, other in pairwise(figures))
        return figures if len(self.text) < 160 and any(map(_BETWEEN_CELLS.fullmatch, between)) else ()

    @cached_property
    def row_label(self) -> frozenset[str]:
        """Return the terms that name a table row; empty for what is no row of figures."""
        return frozenset(term for term in self.terms if self._cells and not any(map(str.isdigit, term)))

    @cached_property
    def heads(self) -> tuple["Sentence", ...]:
        """Return the lines above a table row: the nearest that is no row, and the one with a year per figure."""
        above = self.source.sentences[max(0, self.position - 40) : self.position] if self._cells else []
        closest = [line for line in above if not line._cells][-1:]
        return (*closest, *(line for line in reversed(above) if len(line.head_years) == len(self._cells)))[:2]

    @cached_property
    def head_years(self) -> tuple[int, ...]:
        """Return the years that it names, where there is more than one."""
        years = tuple(map(int, YEAR.findall(self.text)))
        return years if len(years) > 1 else ()

    @cached_property
    def years_of_columns(self) -> Mapping[int, int]:
        """Return the year over each figure of a table row (by id of the figure), read from the head line."""
        years = next((head.head_years for head in self.heads if len(head.head_years) == len(self._cells)), ())
        return {id(figure): year for figure, year in zip(self._cells, years, strict=False)}


class Source:
    """One passage or page."""

    def __init__(self, text: str) -> None:
        """Take the text as given."""
        self.text = text
        self.sentences: list[Sentence] = []
        for span in split_sentences(text):
            self.sentences.append(Sentence(text[span.start : span.end], self, len(self.sentences)))

    @cached_property
    def normalized(self) -> NormalizedText:
        """Return the text ready for finding quotations."""
        return NormalizedText(self.text)

    @cached_property
    def scales(self) -> frozenset[float]:
        """Return the factors its tables declare."""
        return stated_scales(self.text)


class Sources:
    """All sources of an answer, or those that one claim cites."""

    def __init__(
        self,
        sources: Sequence[Source],
        question: str = "",
        worked_out: Sequence[str] = (),
        readings: Sequence[str] = (),
    ) -> None:
        """Take prepared sources; names and figures of the question, and figures that code worked out, are known.

        ``readings``: what code surely read off table cells as the answer, in words.
        """
        self.sources = tuple(sources)
        self.sentences = tuple(sentence for source in sources for sentence in source.sentences)
        self.question = question
        self.worked_out = worked_out
        self.readings = readings

    @classmethod
    def of(
        cls, texts: Sequence[str], question: str = "", worked_out: Sequence[str] = (), readings: Sequence[str] = ()
    ) -> "Sources":
        """Prepare texts."""
        return cls([Source(text) for text in texts], question, worked_out, readings)

    def only(self, *sources: Source) -> "Sources":
        """Return some of them, with the same known."""
        return Sources(sources, self.question, self.worked_out, self.readings)

    def cited(self, numbers: Sequence[int]) -> "Sources | None":
        """Return the sources with these numbers, counted from 1; None if no number has a source."""
        found = [self.sources[number - 1] for number in numbers if 1 <= number <= len(self.sources)]
        return self.only(*found) if found else None

    @cached_property
    def known_figures(self) -> tuple[Quantity, ...]:
        """Return the figures that no source need hold."""
        return tuple(figure for text in (self.question, *self.worked_out) for figure in quantities(text))

    def ranked(self, terms: frozenset[str]) -> list[tuple[float, Sentence]]:
        """Return the sentences that share any of `terms`, best first, each with the share it holds, rare words more."""
        weights = {term: specificity(term) for term in terms}
        total = sum(weights.values()) or 1.0
        shared = ((terms & sentence.terms, sentence) for sentence in self.sentences)
        scored = [(sum(weights[term] for term in matched) / total, sentence) for matched, sentence in shared if matched]
        return sorted(scored, key=lambda pair: -pair[0])

    def near(self, terms: frozenset[str]) -> list[Sentence]:
        """Return the sentences that come closest to `terms`, until they have enough words between them."""
        found: list[Sentence] = []
        length = 0
        for _, sentence in self.ranked(terms):
            if length >= NEAR_WORDS:
                break
            found.append(sentence)
            length += len(sentence.stems)
        return found

    def stretches(self, terms: frozenset[str]) -> list[str]:
        """Return the stretches around the sentences nearest to `terms`, with the heads of a table over its rows.

        The nearest ones of two sources are also returned as one text, for claims that need both.
        """
        first = [source.sentences[0] for source in self.sources if source.sentences]
        found: list[list[Sentence]] = []
        for sentence in [*(sentence for _, sentence in self.ranked(terms)), *first]:
            if len(found) < MAX_STRETCHES and not any(sentence in stretch for stretch in found):
                found.append(_around(sentence))
        texts = ["\n".join(one.text.strip() for one in stretch) for stretch in found]
        other = next((n for n, stretch in enumerate(found) if stretch[0].source is not found[0][0].source), None)
        return texts if other is None else [*texts, f"{texts[0]}\n{texts[other]}"]

    def rows_of(self, claim: str) -> list[Sentence]:
        """Return the table rows that a claim takes its figures from; none if any of them is in other sentences."""
        rows: list[Sentence] = []
        for figure in (one for one in quantities(claim) if one.counts):
            holders = [
                one for one in self.sentences if any(same(figure, given, one.source.scales) for given in one.quantities)
            ]
            if not all(one.row_label for one in holders):
                return []
            rows += holders
        return rows

    def near_copies(self, text: str) -> list[str]:
        """Return the sentences that a text repeats with few other words."""
        closest = self.ranked(frozenset(content_terms(text)))[:MAX_COMPARED]
        return [sentence.text for _, sentence in closest if changes(text, sentence.text) is not None]

    @cached_property
    def stems(self) -> frozenset[str]:
        """Return the stems of all words."""
        return frozenset(stemmed for sentence in self.sentences for stemmed in sentence.stems)

    @cached_property
    def _shown(self) -> str:
        """Return all texts and the question."""
        return "\n".join([*(source.text for source in self.sources), self.question])

    @cached_property
    def _squeezed(self) -> str:
        """Return them in lower case without spaces and hyphens, for looking up names."""
        return _UNSPACED.sub("", self._shown.lower())

    @cached_property
    def _places(self) -> frozenset[str]:
        """Return the stems that names of places share with those of their people and tongues ("mexic")."""
        return frozenset(_place(word) for word in words(self._shown) if word[:1].isupper())

    @cached_property
    def acronyms(self) -> frozenset[str]:
        """Return words in capitals ("US", "U.S."), without dots."""
        return frozenset(match.replace(".", "") for match in _ACRONYM.findall(self._shown))

    def names(self, name: str) -> bool:
        """Return whether a name occurs, as it is or as the people or tongue of a place."""
        return self.mentions(name) or _place(name) in self._places

    def mentions(self, name: str) -> bool:
        """Return whether a name occurs, however it is spaced and hyphenated."""
        return stem(name) in self.stems or _UNSPACED.sub("", name.lower()) in self._squeezed


def _around(sentence: Sentence) -> list[Sentence]:
    """Return a sentence with its neighbours and, for a row of a table, its heads, in the order of the page."""
    own = sentence.source.sentences
    low, high, length = sentence.position, sentence.position + 1, len(sentence.stems)
    while low > 0 or high < len(own):
        nearer = (
            low - 1 if low > 0 and (high == len(own) or sentence.position - low <= high - sentence.position) else high
        )
        length += len(own[nearer].stems)
        if length > STRETCH_WORDS:
            break
        low, high = min(low, nearer), max(high, nearer + 1)
    heads = [head for head in sentence.heads if head.position < low]
    return [*sorted(heads, key=lambda head: head.position), *own[low:high]]


def contained_share(bare: str, evidence: Sources) -> float:
    """Return how much of a bare claim, rare words more, the sentences nearest to it hold between them."""
    terms = frozenset(content_terms(bare))
    contained = contained_terms(terms, evidence.near(terms))
    total = sum(map(specificity, terms)) or 1.0
    return sum(map(specificity, contained)) / total


def contained_terms(terms: frozenset[str], sentences: Sequence[Sentence]) -> frozenset[str]:
    """Return the terms that some sentence holds, as they are or in a kindred form."""
    roots = {root(term) for sentence in sentences for term in sentence.terms}
    return frozenset(term for term in terms if root(term) in roots)


def _place(name: str) -> str:
    """Return a name without the ending of a place or people, if enough is left to compare."""
    kin = _ADJECTIVE_OF_PLACE.sub("", name)
    return kin.lower() if len(kin) > 2 else name.lower()
