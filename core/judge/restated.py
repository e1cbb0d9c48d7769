"""Compare a claim with a sentence that it repeats or nearly repeats, word by word, whatever the language.

Only what differs is found here; whether the difference changes the meaning is for the checker. Figures are compared by
their values.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from pincite.core.text.numbers import MEASURES, Quantity, one_spelling, quantities, same
from pincite.core.text.terms import FUNCTION_WORDS, stem

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*(?:e[-−+]?\d+|[^\W\d_]{0,3})|[^\W\d_]+(?:['’][^\W\d_]+)*|[°%‰½⅓⅔¼¾⅛⅜⅝⅞±€$£¥]")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_NOT = re.compile(r"(?<=\bca)(n)['’]t\b|n['’]t\b|(?<=\bcan)not\b", re.IGNORECASE)
_OPENING = re.compile(r"^[^\W\d_]+,\s+")
"""One word and a comma, such as "No," or "However,", which the sentence that follows can do without."""
_CLAUSE_NUMBER = re.compile(r"^\s*\(?\d{1,3}(?:\.\d{1,3})+[.)]?\s+(?=(?P<next>[^\W\d_]))")
"""Such as "11.3", before the first word of a sentence."""
MAX_TOKENS = 80
MIN_LIKENESS = 0.7
"""Minimum share of common words, in order, of two sentences that nearly repeat each other."""
MAX_REPLACED = 3
"""Number of words in a row that count as replaced; more are another way to put it."""
MAX_EXCHANGED = 4


@dataclass(frozen=True, slots=True)
class Change:
    """Words of a claim and the sentence's words that they replace; either may be empty."""

    mine: str
    theirs: str
    figures: bool = False
    """Whether two figures or units differ, or figures changed places."""
    counted: bool = False
    """Whether the words are next to a figure: what it counts or measures."""
    cut_off: bool = False
    """Whether the claim ends before these words of the sentence."""


def changes(claim: str, sentence: str) -> tuple[Change, ...] | None:
    """Return what a claim changed in a sentence; None if it does not nearly repeat it."""
    numbered = _CLAUSE_NUMBER.match(sentence)
    if numbered and numbered["next"].isupper() and not _CLAUSE_NUMBER.match(claim):
        sentence = sentence[numbered.end() :]
    told, given = _words(_OPENING.sub("", claim)), _words(sentence)
    mine, theirs = told.tokens, given.tokens
    if not 3 <= len(mine) <= MAX_TOKENS or not 3 <= len(theirs) <= MAX_TOKENS:
        return None
    if sorted(mine) == sorted(theirs):
        return tuple(_exchanged(told, given))
    compared = SequenceMatcher(None, mine, theirs, autojunk=False)
    if compared.ratio() < MIN_LIKENESS and not _is_within(mine, theirs):
        return None
    found = list(_other_figures(told, given))
    for tag, a, b, c, d in compared.get_opcodes():
        if tag != "equal" and max(b - a, 0 if a == b else d - c) <= MAX_REPLACED:
            next_to_figure = a > 0 and mine[a - 1] in told.figures
            cut_off = a == b == len(mine)
            found += _replaced(told, mine[a:b], given, theirs[c:d], next_to_figure=next_to_figure, cut_off=cut_off)
    return tuple(found)


def _is_within(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    return any(list(mine) == list(theirs[start : start + len(mine)]) for start in range(len(theirs) - len(mine) + 1))


def _replaced(
    statement: "_Words",
    mine: Sequence[str],
    given: "_Words",
    theirs: Sequence[str],
    *,
    next_to_figure: bool,
    cut_off: bool,
) -> Iterator[Change]:
    if "".join(mine) == "".join(theirs):  # "non profit" is "nonprofit"
        return
    both = bool(mine and theirs)
    units = both and MEASURES.issuperset((*mine, *theirs))
    yield Change(
        statement.shown(mine), given.shown(theirs), figures=units, counted=both and next_to_figure, cut_off=cut_off
    )


def restates(claim: str, sentence: str) -> bool:
    """Return whether both have the same words, however their figures, dates and units are written."""
    return _words(claim).tokens == _words(sentence).tokens


def restates_reading(claim: str, reading: str, question: str) -> bool:
    """Return whether a claim has the figure of a reading and no other words than those of the reading.

    Function words may be the question's. A question that has a figure itself compares, and a reading with several
    figures could be restated crosswise: the result is then False.
    """
    stated, given, asked = _words(claim), _words(reading), _words(question)
    figures, units = _counted(given), given.units
    if len(figures) != 1 or _counted(asked) or not figures | units <= set(stated.tokens):
        return False
    return set(stated.tokens) <= {*given.tokens, *(FUNCTION_WORDS & set(asked.tokens))}


def _counted(text: "_Words") -> set[str]:
    return {token for token, figure in text.figures.items() if figure.counts}


def without_other_words(claim: str, known: frozenset[str]) -> str:
    """Return a claim without the words that have no known stem; figures stay."""
    kept, position = [], 0
    for start, end in [*((one.start, one.end) for one in quantities(claim)), (len(claim), len(claim))]:
        before = _WORD.sub(lambda match: match.group() if stem(match.group()) in known else "", claim[position:start])
        kept += [before, claim[start:end]]
        position = end
    return " ".join("".join(kept).split())


class _Words:
    """The words of a text, each in one spelling; a figure is one word, by its kind and value."""

    def __init__(self, text: str) -> None:
        plain = _NOT.sub(r"\1 not", text[:2_000])
        self.tokens: list[str] = []
        self.figures: dict[str, Quantity] = {}
        self.units: set[str] = set()
        self.spelled: dict[str, str] = {}
        position = 0
        for quantity in quantities(plain):
            self._add(plain[position : quantity.start])
            token = _figure(quantity)
            again = self.tokens[-1:] == [token]  # "sixty (60) days"
            self.tokens += [] if again else [token, *_of_kind(quantity)]
            self.figures[token] = quantity
            self.units.update(_of_kind(quantity))
            position = quantity.end
        self._add(plain[position:])

    def _add(self, text: str) -> None:
        for match in _TOKEN.finditer(text):
            word = match.group().casefold()
            self.tokens.append(one_spelling(word))
            self.spelled.setdefault(self.tokens[-1], word)

    def shown(self, tokens: Sequence[str]) -> str:
        """Return the words as the text has them; a figure has its unit in it."""
        words = [
            self.figures[token].text.strip() if token in self.figures else self.spelled.get(token, token)
            for before, token in zip(["", *tokens], tokens, strict=False)
            if not (before in self.figures and token in _of_kind(self.figures[before]))
        ]
        return " ".join(words)


@lru_cache(maxsize=4096)
def _words(text: str) -> _Words:
    return _Words(text)


def _figure(quantity: Quantity) -> str:
    if quantity.kind == "label":
        return f"#{quantity.digits}"
    if quantity.kind == "date" and quantity.date[1:] != (0, 0):
        return "#" + "-".join(map(str, quantity.date))
    return f"#{quantity.kind if quantity.kind == 'time' else ''}{quantity.value:.12g}"


def _of_kind(quantity: Quantity) -> list[str]:
    return ["%"] if quantity.kind == "percent" else [quantity.unit.lower()] if quantity.kind == "money" else []


def _other_figures(statement: _Words, given: _Words) -> Iterator[Change]:
    """Find figures that replace others of their kind, where the claim gives those nowhere."""
    mine, theirs = Counter(statement.tokens), Counter(given.tokens)
    new = [token for token in statement.figures for _ in range(mine[token] - theirs[token])]
    lost = [token for token in given.figures for _ in range(theirs[token] - mine[token])]
    for one in new if lost else ():
        claimed, others = statement.figures[one], [given.figures[other] for other in lost]
        alike = [other for other in others if (claimed.kind, claimed.unit) == (other.kind, other.unit)]
        if alike and len(new) <= len(lost) and not any(same(claimed, other) for other in others):
            yield Change(claimed.text.strip(), alike[0].text.strip(), figures=True)


def _exchanged(statement: _Words, given: _Words) -> Iterator[Change]:
    """Find words or figures that changed places: "85.1 of A and 87.3 of B" for "87.3 of A and 85.1 of B"."""
    apart = [(one, other) for one, other in zip(statement.tokens, given.tokens, strict=True) if one != other]
    if 0 < len(apart) <= MAX_EXCHANGED and len(apart) * 2 <= len(statement.tokens):
        mine, theirs = apart[0]
        figures = all(word in statement.figures for pair in apart for word in pair)
        yield Change(statement.shown([mine]), given.shown([theirs]), figures=figures)
