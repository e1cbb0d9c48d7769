"""Which documents of a library a question is about, from names, years and other metadata alone."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from core.domain.documents import Document
from core.text.terms import FUNCTION_WORDS, stem

_PARTS = re.compile(r"[A-Z]{2,}(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+[A-Za-z]{1,2}\b|\d+|[^\W\d_]+")
_WORDS = re.compile(r"[^\W_]+")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d{2}(?!\d)")
_GENERIC = frozenset(
    "pdf report final document doc file version copy draft annual quarterly page new en the inc ltd llc plc corp "
    "corporation company co group holdings form untitled microsoft word powerpoint presentation slides "
    "conversion gate phpapp contents jan feb mar apr may jun jul aug sep oct nov dec q1 q2 q3 q4 fy".split()
)
_NAMED_FIELDS = ("title", "company", "author", "document type")
WORTH_OF_A_NAME = 0.75
WORTH_OF_A_WORD = 0.3
DECISIVE_MATCH = 0.6
"""From here on a document counts as named by the question."""


@dataclass(frozen=True, slots=True)
class DocumentMatch:
    """How well a question fits a document's metadata (0 to 1), and by which words."""

    document_id: str
    score: float
    words: tuple[str, ...]


def match_documents(question: str, years: Sequence[str], documents: Sequence[Document]) -> list[DocumentMatch]:
    """Score every document of the scope, best first. A word that all documents share says nothing."""
    spoken = _spoken_forms(question)
    long_forms = {form: worth for form, worth in spoken.items() if len(form) >= 5}
    named = {document.id: _names_of(document.name, _values_of(document, _NAMED_FIELDS)) for document in documents}
    spread = Counter(word for words in named.values() for word in words)
    worths = {word: worth for word in spread if (worth := _worth_of(word, spoken, long_forms)) > 0}
    matches = []
    for document in documents:
        found = named[document.id] & worths.keys()
        if not found:
            matches.append(DocumentMatch(document.id, 0.0, ()))
            continue
        doubt = 1.0
        for word in sorted(found):
            doubt *= 1 - worths[word] * (1 - spread[word] / len(documents)) ** 0.25
        own_years = _years_of(document.name, _values_of(document, ("year", "date")))
        score = (1 - doubt) * _year_factor(years, own_years)
        matches.append(DocumentMatch(document.id, round(min(score, 1.0), 4), tuple(sorted(found))))
    return sorted(matches, key=lambda match: (-match.score, match.document_id))


def _spoken_forms(question: str) -> dict[str, float]:
    """Lower-case words of a question, alone and run together ("Best Buy" is also "bestbuy"), with what each is worth.

    A name (capital or figure within the sentence) tells much more than a common word.
    """
    words = _WORDS.findall(re.sub(r"['’]s\b", "", question))
    worth: dict[str, float] = {}
    for size in (3, 2, 1):
        for start in range(len(words) - size + 1):
            part = words[start : start + size]
            form = "".join(part).lower()
            if size == 1 and form in FUNCTION_WORDS:
                continue
            name = all(word[0].isupper() or word[0].isdigit() for word in part) and (start > 0 or size > 1)
            value = WORTH_OF_A_NAME if name else WORTH_OF_A_WORD
            for key in {form, stem(form)} if size == 1 else {form}:
                worth[key] = max(worth.get(key, 0.0), value)
    return worth


def _values_of(document: Document, names: Collection[str]) -> tuple[str, ...]:
    return tuple(entry.value for entry in document.metadata if entry.name in names)


@lru_cache(maxsize=16384)
def _names_of(name: str, values: tuple[str, ...]) -> frozenset[str]:
    texts = [re.sub(r"\.pdf$", "", name, flags=re.IGNORECASE), *values]
    words = {
        word.lower() for text in texts for word in [*_WORDS.findall(text.replace("_", " ")), *_PARTS.findall(text)]
    }
    return frozenset(
        word
        for word in words
        if word not in _GENERIC
        and word not in FUNCTION_WORDS
        and not word.isdigit()
        and (len(word) >= 3 or any(letter.isdigit() for letter in word))
        and len(word) <= 24
    )


def _worth_of(word: str, spoken: Mapping[str, float], long_forms: Mapping[str, float]) -> float:
    """What it tells that the question speaks of this word: itself, its stem, or a long beginning of it."""
    direct = max(spoken.get(word, 0.0), spoken.get(stem(word), 0.0))
    if direct or len(word) < 6:
        return direct
    return max((value for form, value in long_forms.items() if word.startswith(form)), default=0.0)


def _years_of(name: str, values: Sequence[str]) -> frozenset[int]:
    """The years in the name or, failing that, in the metadata."""
    named = {int(year) for year in _YEAR.findall(name.replace("_", " "))}
    return frozenset(named or {int(year) for value in values for year in _YEAR.findall(value)})


def _year_factor(asked: Sequence[str], printed: frozenset[int]) -> float:
    """1 where years say nothing, more where they agree, least where the document is too old to know."""
    if not asked or not printed:
        return 1.0
    newest, own = max(int(year) for year in asked), max(printed)
    if newest == own:
        return 1.15
    return 0.8 if own == newest + 1 else 0.6 if own > newest else 0.4
