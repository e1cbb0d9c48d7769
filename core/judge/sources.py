"""The sources of an answer, prepared once so that every claim can be held against them quickly."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from core.text.numbers import MEASURES, Quantity, quantities, stated_scales
from core.text.quotations import NormalizedText
from core.text.sentences import split_sentences
from core.text.terms import content_terms, rarity, root, stem, words

_UNSPACED = re.compile(r"[\s.'’-]+")
_ACRONYM = re.compile(r"\b(?:[A-Z]\.?){2,6}(?![a-z])")
_OF_A_PLACE = re.compile(r"(?:ain|i?ans?|ish|ese|i?a|o)$")
_YEAR_HEAD = re.compile(r"\b(?:19|20)\d\d\b")


_MEASURES = frozenset(map(stem, MEASURES))


def wording(terms: Iterable[str]) -> frozenset[str]:
    """Return the terms that are no figures or units."""
    return frozenset(term for term in terms if term not in _MEASURES and not any(map(str.isdigit, term)))


class Sentence:
    """One sentence, row or list item of a source."""

    def __init__(self, text: str, source: "Source", position: int) -> None:
        """Take the text and where it stands: its source and its number there."""
        self.text = text
        self.source = source
        self.position = position
        self.content = content_terms(text)
        self.terms = frozenset(self.content)

    @cached_property
    def wording(self) -> frozenset[str]:
        """Return its terms without figures and their units: what the figures are said of."""
        return wording(self.terms)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """Return its figures, dates and times."""
        return quantities(self.text)

    @cached_property
    def row_label(self) -> frozenset[str]:
        """Return the terms that name a table row; empty for what is no row of figures."""
        figures = [quantity for quantity in self.quantities if quantity.kind != "date"]
        label = frozenset(term for term in self.terms if not any(character.isdigit() for character in term))
        return label if len(figures) > 1 and len(label) <= 6 and len(self.text) < 160 else frozenset()

    @cached_property
    def years_of_columns(self) -> Mapping[int, int]:
        """Return the year over each figure of a table row (by id of the figure), read from the head line."""
        figures = [quantity for quantity in self.quantities if quantity.kind != "date"]
        for above in reversed(self.source.sentences[max(0, self.position - 40) : self.position]):
            years = [int(year) for year in _YEAR_HEAD.findall(above.text)]
            if len(years) > 1 and len(years) == len(figures):
                return {id(figure): year for figure, year in zip(figures, years, strict=True)}
        return {}


class Source:
    """One passage or page."""

    def __init__(self, text: str) -> None:
        """Take the text as given."""
        self.text = text
        self.sentences: list[Sentence] = []
        for span in split_sentences(self.text):
            self.sentences.append(Sentence(self.text[span.start : span.end], self, len(self.sentences)))

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

    def __init__(self, sources: Sequence[Source], question: str = "") -> None:
        """Take prepared sources; words of the question count as known."""
        self.sources = tuple(sources)
        self.sentences = tuple(sentence for source in sources for sentence in source.sentences)
        self.question_terms = frozenset(content_terms(question))
        self.question = question

    @classmethod
    def of(cls, texts: Sequence[str], question: str = "") -> "Sources":
        """Prepare texts."""
        return cls([Source(text) for text in texts], question)

    @cached_property
    def terms(self) -> frozenset[str]:
        """Return all content terms."""
        return frozenset(term for sentence in self.sentences for term in sentence.terms)

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """Return the stems of all words in reading order, function words included."""
        return tuple(stem(word) for source in self.sources for word in words(source.text))

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Return all neighbouring pairs of stems."""
        return frozenset(pairwise(self.stems))

    @cached_property
    def content_pairs(self) -> frozenset[tuple[str, str]]:
        """Return all pairs of content terms that follow each other within a sentence, whatever stands between them."""
        return frozenset(pair for sentence in self.sentences for pair in pairwise(sentence.content))

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """Return the rarity of each term among the sentences."""
        return rarity([sentence.terms for sentence in self.sentences])

    @cached_property
    def unseen_weight(self) -> float:
        """Return the weight of a term that no sentence holds: that of the rarest one."""
        return max(self.weights.values(), default=1.0)

    @cached_property
    def counts(self) -> Counter[str]:
        """Return how often each stem occurs."""
        return Counter(self.stems)

    @cached_property
    def roots(self) -> frozenset[str]:
        """Return the roots of all content terms, the question's included."""
        return frozenset(root(term) for term in self.terms | self.question_terms)

    @cached_property
    def squeezed(self) -> str:
        """Return all texts and the question in lower case without spaces and hyphens, for looking up names."""
        return _UNSPACED.sub("", "\n".join([*(source.text for source in self.sources), self.question]).lower())

    def weight(self, term: str) -> float:
        """Return how much a term of a claim counts."""
        return self.weights.get(term, self.unseen_weight)

    def ranked(self, terms: frozenset[str]) -> list[tuple[float, Sentence]]:
        """Return the sentences that share most of `terms`, best first, each with the weighted share it holds."""
        total = sum(self.weight(term) for term in terms) or 1.0
        scored = [
            (sum(self.weight(term) for term in terms & s.terms) / total, s) for s in self.sentences if terms & s.terms
        ]
        return sorted(scored, key=lambda pair: -pair[0])

    @cached_property
    def places(self) -> frozenset[str]:
        """Return the stems that names of places share with those of their people and tongues ("mexic")."""
        text = "\n".join([*(source.text for source in self.sources), self.question])
        return frozenset(_place(word) for word in words(text) if word[:1].isupper())

    @cached_property
    def acronyms(self) -> frozenset[str]:
        """Return what stands in capitals alone ("US", "U.S."), without dots."""
        text = "\n".join([*(source.text for source in self.sources), self.question])
        return frozenset(match.replace(".", "") for match in _ACRONYM.findall(text))

    def names(self, name: str) -> bool:
        """Say whether a name occurs, as it is or as the people or tongue of a place."""
        return self.mentions(name) or _place(name) in self.places

    def mentions(self, name: str) -> bool:
        """Say whether a name occurs, however it is spaced and hyphenated."""
        return stem(name) in self.counts or _UNSPACED.sub("", name.lower()) in self.squeezed


def _place(name: str) -> str:
    """Return a name without the ending of a place or people, if enough is left to compare."""
    kin = _OF_A_PLACE.sub("", name)
    return kin.lower() if len(kin) > 2 else name.lower()
