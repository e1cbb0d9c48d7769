"""What a claim changed of the sentence that it otherwise repeats: word held against word, whatever the language.

For what no reading of figures, names and negations sees: a weekday, an ordinal, a fraction, "soluble" for "insoluble".
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from core.text.numbers import MEASURES, one_spelling
from core.text.terms import FUNCTION_WORDS, root, stem

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*(?:e[-−+]?\d+|[^\W\d_]{0,3})|[^\W\d_]+(?:['’][^\W\d_]+)*|[°%‰½⅓⅔¼¾⅛⅜⅝⅞±€$£¥]")
_PERCENT = re.compile(r"\bper\s?cent\b", re.IGNORECASE)
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
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
"""Read as a quantity, and compared by its value elsewhere."""
_OPPOSED = tuple(
    (frozenset(map(stem, one.split())), frozenset(map(stem, other.split())))
    for one, other in (
        ("must shall required requires", "may might can could optional"),
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


def changes(claim: str, sentence: str) -> tuple[Change, ...] | None:
    """Return what a claim changed of a sentence; None when it does not repeat it."""
    mine, theirs = _tokens(claim), _tokens(sentence)
    if not 3 <= len(mine) <= MOST_TOKENS or not 3 <= len(theirs) <= MOST_TOKENS:
        return None
    if (exchanged := _exchanged(mine, theirs)) is not None:
        return exchanged
    compared = SequenceMatcher(None, mine, theirs, autojunk=False)
    if 2 * sum(block.size for block in compared.get_matching_blocks()) < REPEATED * (len(mine) + len(theirs)):
        return None
    found: list[Change] = []
    for tag, a, b, c, d in compared.get_opcodes():
        if tag != "equal":
            found += _differing(mine[a:b], theirs[c:d], mine, theirs)
    return tuple(found)


def _tokens(text: str) -> list[str]:
    plain = _NOT.sub(r"\1 not", _PERCENT.sub("%", text[:2_000]))
    found = (match.group().casefold() for match in _TOKEN.finditer(plain))
    return [token if token in _ORDINALS else one_spelling(token) for token in found]


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
    if max(len(mine), len(theirs)) > MOST_IN_PLACE or "".join(mine) == "".join(theirs):
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
    new = [word for word in mine if word not in FUNCTION_WORDS and root(stem(word)) not in own]
    said = {root(stem(word)) for word in claim}
    lost = [word for word in theirs if word not in FUNCTION_WORDS and root(stem(word)) not in said]
    if new and lost and not all(map(_FIGURE.fullmatch, new)):
        counted = (any(word in _ORDINALS or word in MEASURES for word in words) for words in (new, lost))
        yield Change(told, given, binding=all(counted))
    elif _relates_otherwise(set(mine), set(theirs)):
        yield Change(told, given, binding=False)


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
