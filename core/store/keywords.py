"""The terms of keyword search, made here for every engine, so that every script is found and numbers stay whole."""

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

from pincite.core.domain.documents import Passage
from pincite.core.text.terms import STOP_WORDS, UNRAISED, root, stem

CONTEXT_WEIGHT = 0.5
COMMON_SHARE = 0.15
"""Maximum share of all passages that a term may occur in; a commoner one is left out of a query that has rarer ones."""
MAX_SCORED = 12_000
"""Maximum number of occurrences that a query scores, its rarer terms first: about 30 ms."""
MIN_TERMS = 3
MAX_TERMS = 32

# Written without spaces between words: indexed as overlapping pairs of characters.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
)
# Vowel signs and accents that belong to the letter before them, which \w does not know.
_SIGNS = "\u0300-\u036f\u0900-\u0963\u0966-\u0dff"
_TERM = re.compile(
    rf"(?P<number>\d+(?:[.,]\d+)*(?![^\W_]))|(?P<unspaced>[{_UNSPACED}]+)|(?P<word>(?:[^\W_{_UNSPACED}]|[{_SIGNS}])+)"
)
_HYPHENATED = re.compile(r"(?<![\w-])([^\W\d_]+)[-\u2010]([^\W\d_]+)(?![\w-])")
"""Found without the hyphen too: at a line's end nothing shows whether it belongs to the word."""
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_MARKS = re.compile(r"[\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u00ad]")
_ARABIC_LETTERS = str.maketrans("أإآٱىة", "اااايه")
_ARABIC_ARTICLE = re.compile(r"^(?:وال|بال|كال|فال|ال|لل)(?=\w{3})")
_ARABIC = re.compile(r"[\u0600-\u06ff]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_LATIN = re.compile(r"[\dA-Za-zÀ-ɏ'’]+")
_CYRILLIC_STEM = 6
"""Cyrillic words are cut to this many letters, which drops most inflected endings."""


def index_terms(text: str) -> Iterator[str]:
    """Yield the terms of a text: case and width folded, unspaced scripts as pairs, numbers without thousands commas."""
    text = _MARKS.sub("", unicodedata.normalize("NFKC", text.translate(UNRAISED))).casefold()
    yield from ("".join(match.groups()) for match in _HYPHENATED.finditer(text))
    for match in _TERM.finditer(text):
        term = match.group()
        if match.lastgroup == "number":
            yield from [term.replace(",", "")] if _THOUSANDS.fullmatch(term) else term.split(",")
        elif match.lastgroup == "unspaced":
            yield from (term[at : at + 2] for at in range(len(term)))
        elif _ARABIC.match(term):
            yield _ARABIC_ARTICLE.sub("", term).translate(_ARABIC_LETTERS)
        elif _CYRILLIC.match(term):
            yield term[:_CYRILLIC_STEM]
        else:
            yield term


class TermIndex(ABC):
    """BM25 over the terms of passages that the library already holds, whatever finds them."""

    @abstractmethod
    def prepare(self, passages: Sequence[Passage]) -> Callable[[], None]: ...

    @abstractmethod
    def _count(self) -> int:
        """Return the number of passages."""

    @abstractmethod
    def _occurrences(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many passages each is, up to the number that no query can afford."""

    def add(self, passages: Sequence[Passage]) -> None:
        self.prepare(passages)()

    def _chosen(self, query: str) -> list[str]:
        """Return the terms of a query that distinguish passages at a bearable cost, rarest first."""
        terms = list(dict.fromkeys(term for term in index_terms(query) if term))
        terms = ([term for term in terms if term not in STOP_WORDS] or terms)[:MAX_TERMS]
        if len(terms) <= MIN_TERMS:
            return terms
        passages = self._count()
        counted = sorted((number, term) for term, number in self._occurrences(terms).items())
        chosen: list[str] = []
        scored = 0
        for occurrences, term in counted:
            scored += occurrences
            too_much = scored > MAX_SCORED or occurrences > COMMON_SHARE * passages
            if too_much and len(chosen) >= MIN_TERMS:
                break
            if occurrences:
                chosen.append(term)
        return chosen or terms


def begins_only(term: str) -> bool:
    """Return whether a term stands for all that begin with it: one character of a script that is indexed in pairs."""
    return len(term) == 1 and re.match(f"[{_UNSPACED}]", term) is not None


def beginnings(words: Sequence[str]) -> dict[str, str]:
    """Return the beginning of the stem of each of these words that is one term in Latin letters."""
    of_word = {word: list(index_terms(word)) for word in words if _LATIN.fullmatch(word)}
    return {word: root(stem(terms[0])) for word, terms in of_word.items() if len(terms) == 1}
