"""What a claim changed of the sentence that it otherwise repeats: word held against word, whatever the language.

For what no reading of figures, names and negations sees: a weekday, an ordinal, a fraction, "soluble" for "insoluble".
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from core.text.numbers import MEASURES, Quantity, one_spelling, quantities, same
from core.text.terms import FUNCTION_WORDS, root, stem

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*(?:e[-−+]?\d+|[^\W\d_]{0,3})|[^\W\d_]+(?:['’][^\W\d_]+)*|[°%‰½⅓⅔¼¾⅛⅜⅝⅞±€$£¥]")
_NOT = re.compile(r"(?<=\bca)(n)['’]t\b|n['’]t\b|(?<=\bcan)not\b", re.IGNORECASE)
MOST_TOKENS = 80
REPEATED = 0.7
"""Share of the words of both, in order, from which on one repeats the other."""
MOST_IN_PLACE = 3
"""Words that stand in the place of others; more are another way to put it."""
_DENYING = frozenset(
    "not no non never nor neither none nobody nothing un nicht kein keine keinen keiner nie ne n pas jamais não".split()
)
_BINDING = frozenset(
    "neither either both any no none every all some each always never before after until since if unless with without "
    "even above below over under exactly than least most up more less fewer plus minus against inside outside "
    "between".split()
)
_RELATING = frozenset("on in at by to from for of".split())
_ORDINALS = frozenset(
    "first second third fourth fifth sixth seventh eighth ninth tenth last final previous next monday tuesday "
    "wednesday thursday friday saturday sunday daily weekly monthly quarterly yearly annual annually once twice double "
    "doubled triple tripled halved half thirds quarter quarters fifths decade decades century centuries calendar "
    "business january february march april may june july august september october november december".split()
)
OBLIGING, PERMITTING = "must shall required requires", "may might can could optional"
_OPPOSED = tuple(
    (frozenset(map(stem, one.split())), frozenset(map(stem, other.split())))
    for one, other in (
        (OBLIGING, PERMITTING),
        (
            "increase rose rise grew growth gain higher larger profit income maximum",
            "decrease decline fell fall drop reduce shrink shrank lower smaller loss minimum",
        ),
        ("accept approve allow permit include", "reject deny denied prohibit forbid refuse exclude"),
    )
)
_OPPOSING = ("in", "un", "im", "ir", "il", "dis", "non", "mis")


@dataclass(frozen=True, slots=True)
class Change:
    """What stands in a claim in the place of the sentence's own words; ``binding`` if both cannot be meant alike."""

    mine: str
    theirs: str
    binding: bool
    other_kind: bool = False
    """A figure of another kind, as "65 %" for "157 of 242"."""


def changes(claim: str, sentence: str) -> tuple[Change, ...] | None:
    """Return what a claim changed of a sentence; None when it does not repeat it."""
    told, given = _words(claim), _words(sentence)
    mine, theirs = told.tokens, given.tokens
    if not 3 <= len(mine) <= MOST_TOKENS or not 3 <= len(theirs) <= MOST_TOKENS:
        return None
    if (exchanged := _exchanged(mine, theirs)) is not None:
        return exchanged
    compared = SequenceMatcher(None, mine, theirs, autojunk=False)
    if compared.ratio() < REPEATED:
        return None
    found = list(_other_figures(told, given))
    for tag, a, b, c, d in compared.get_opcodes():
        if tag != "equal":
            found += _differing(mine[a:b], theirs[c:d], mine, theirs)
    return tuple(found)


def likeness(claim: str, sentence: str) -> float:
    """Return the share of the words of both that they have in common, in order."""
    return SequenceMatcher(None, _words(claim).tokens, _words(sentence).tokens, autojunk=False).ratio()


def restates(claim: str, sentence: str) -> bool:
    """Say whether both say the same word for word, however their figures, dates and units are written."""
    return _words(claim).tokens == _words(sentence).tokens


class _Words:
    """The words of a text, each in one spelling; a figure is one word, by its kind and value."""

    def __init__(self, text: str) -> None:
        plain = _NOT.sub(r"\1 not", text[:2_000])
        self.tokens: list[str] = []
        self.figures: dict[str, Quantity] = {}
        position = 0
        for quantity in quantities(plain):
            self.tokens += _tokens(plain[position : quantity.start])
            token = _figure(quantity)
            self.tokens += [token, *_of_kind(quantity)]
            self.figures[token] = quantity
            position = quantity.end
        self.tokens += _tokens(plain[position:])


@lru_cache(maxsize=4096)
def _words(text: str) -> _Words:
    return _Words(text)


def _tokens(text: str) -> list[str]:
    found = (match.group().casefold() for match in _TOKEN.finditer(text))
    return [token if token in _ORDINALS else one_spelling(token) for token in found]


def _figure(quantity: Quantity) -> str:
    if quantity.kind == "label":
        return f"#{quantity.digits}"
    if quantity.kind == "date" and quantity.date[1:] != (0, 0):
        return "#" + "-".join(map(str, quantity.date))
    return f"#{quantity.kind if quantity.kind == 'time' else ''}{quantity.value:.12g}"


def _of_kind(quantity: Quantity) -> list[str]:
    return ["%"] if quantity.kind == "percent" else [quantity.unit.lower()] if quantity.kind == "money" else []


def _other_figures(told: _Words, given: _Words) -> Iterator[Change]:
    """Find figures that stand for others of the sentence, which the claim gives nowhere."""
    mine, theirs = Counter(told.tokens), Counter(given.tokens)
    new = [token for token in told.figures for _ in range(mine[token] - theirs[token])]
    lost = [token for token in given.figures for _ in range(theirs[token] - mine[token])]
    for one in new if lost else ():
        claimed, others = told.figures[one], [given.figures[other] for other in lost]
        if len(new) > len(lost) or not any(same(claimed, other) for other in others):
            other_kind = all((claimed.kind, claimed.unit) != (other.kind, other.unit) for other in others)
            yield Change(claimed.text.strip(), others[0].text.strip(), binding=True, other_kind=other_kind)


def _exchanged(mine: Sequence[str], theirs: Sequence[str]) -> tuple[Change, ...] | None:
    """Figures or names that changed places: "85.1 of A and 87.3 of B" for "87.3 of A and 85.1 of B"."""
    if mine == theirs or sorted(mine) != sorted(theirs):
        return None
    apart = [(one, other) for one, other in zip(mine, theirs, strict=True) if one != other]
    if len(apart) > 4 or len(apart) * 2 > len(mine):
        return None
    return (Change(apart[0][0], apart[0][1], binding=True),)


def _differing(
    mine: Sequence[str], theirs: Sequence[str], claim: Sequence[str], sentence: Sequence[str]
) -> Iterator[Change]:
    if max(map(_length, (mine, theirs))) > MOST_IN_PLACE or "".join(mine) == "".join(theirs):
        return  # "non profit" is "nonprofit"
    told, given = " ".join(mine), " ".join(theirs)
    denials = [sum(word in _DENYING for word in words) for words in (mine, theirs, claim, sentence)]
    if denials[0] != denials[1] and denials[2] != denials[3]:  # a denial that only moved denies the same
        yield Change(told or "nothing", given or "nothing", binding=True)
        return
    if not mine or not theirs:
        return
    ranked = len(mine) == len(theirs) == 1 and _ORDINALS.issuperset((*mine, *theirs))
    if ranked or _are_opposed(mine, theirs):
        yield Change(told, given, binding=True)
        return
    own = {root(stem(word)) for word in sentence}
    figures = [any(map(_is_figure, words)) for words in (mine, theirs)]  # held against each other already
    new = [word for word in mine if _tells(word, figures=not all(figures)) and root(stem(word)) not in own]
    said = {root(stem(word)) for word in claim}
    lost = [word for word in theirs if _tells(word, figures=not all(figures)) and root(stem(word)) not in said]
    if new and lost and not all(map(_is_figure, new)):
        counted = (any(map(_counts, words)) for words in (new, lost))
        yield Change(told, given, binding=all(counted))
    elif _relates_otherwise(set(mine), set(theirs)):
        yield Change(told, given, binding=False)


def _tells(word: str, *, figures: bool) -> bool:
    """Say whether a word is no empty one; of figures that are in nothing's place only a half is held against words."""
    return word not in FUNCTION_WORDS and word not in ("1", "2") and (not _is_figure(word) or (figures and "." in word))


def _is_figure(word: str) -> bool:
    return word.startswith("#")


def _length(words: Sequence[str]) -> int:
    """Count words, a whole date as three."""
    return sum(1 + _is_figure(word) * word.count("-", 2) for word in words)


def _counts(word: str) -> bool:
    return _is_figure(word) or word in _ORDINALS or word in MEASURES


def _are_opposed(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Say whether one word negates another by its beginning, or stands on the other side of a pair."""
    told, given = frozenset(map(stem, mine)), frozenset(map(stem, theirs))
    pairs = [*_OPPOSED, *((other, one) for one, other in _OPPOSED)]
    return any(told & one and given & other for one, other in pairs) or any(
        prefix + one == other or prefix + other == one for one in mine for other in theirs for prefix in _OPPOSING
    )


def _relates_otherwise(mine: set[str], theirs: set[str]) -> bool:
    known = _BINDING | _RELATING
    return bool(mine & known and theirs & known and (mine | theirs) & _BINDING) or {*mine, *theirs} == {"to", "by"}
