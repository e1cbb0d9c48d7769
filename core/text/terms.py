"""Cut text into comparable terms: lower case, stemmed, function words dropped.

The lexical ground of quotations, checks and confidence. It knows no meaning, only form.
"""

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from threading import Lock

from Stemmer import Stemmer

UNRAISED = str.maketrans(dict.fromkeys("⁰¹²³⁴⁵⁶⁷⁸⁹", " "))
"""Raised figures part words from what they hang on: "2018²" is the year, and every place stays where it is."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SCRIPT_WITHOUT_SPACES = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
FUNCTION_WORDS = frozenset(
    "a an the and or but if then else of in on at to for from by with without within about into onto over under "
    "between through during before after above below up down out off as is are was were be been being am do does did "
    "done doing has have had having will would shall should can could may might must this that these those it its he "
    "she they them their theirs his her hers him we us our you your i me my mine who whom whose which what when where "
    "why how there here also so such than too very just only own same other another some any all both each few more "
    "most not no nor s t d ll m re ve because while until since though although however therefore thus hence per via "
    "etc and/or one's which's that's there's whats whos wheres".split()
)
QUESTION_WORDS = frozenset(
    "how what when where which who whom whose why wie was wer wo welche welcher que qui quoi quel quelle quels quelles "
    "qué cuál cuáles cómo что как какой какая какие кто где ما من هل كم".split()
)
STOP_WORDS = QUESTION_WORDS | frozenset(
    "a about an and any are as at be been by can could did do does for from had has have i if in into is it its me "
    "my of on or our please shall should so some such tell than that the their them then there these they this those "
    "to was we were will with would you your "
    "der die das und ist sind ein eine einer eines dem den des im in von zu mit für auf "
    "le la les un une des du de et est sont dans pour par sur au aux "
    "el los las una unos unas del y es son en para por con se "
    "и в во на с со к ко по из за от это не о об для "
    "في على إلى عن هو هي هذا هذه".split()
)
"""Words of several languages that a search leaves out."""
_ENGLISH, _STEMMING = Stemmer("english"), Lock()
"""A stemmer keeps the word it works on, so that threads must take turns."""


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return the English Snowball stem of a word in lower case, so that forms of one word meet."""
    plain = unicodedata.normalize("NFKC", word).casefold().replace("’", "'")
    with _STEMMING:
        return str(_ENGLISH.stemWord(plain))


def words(text: str) -> list[str]:
    """Return the words of `text` as written; runs of a script without spaces become pairs of characters."""
    found: list[str] = []
    for match in _WORD.finditer(text.translate(UNRAISED)):
        word = match.group()
        if len(word) > 2 and not word.isascii() and _SCRIPT_WITHOUT_SPACES.search(word):
            found.extend(word[position : position + 2] for position in range(len(word) - 1))
        else:
            found.append(word)
    return found


def content_terms(text: str) -> list[str]:
    """Return the stems of all words of `text` that carry meaning, in order, with repetitions."""
    return [stem(word) for word in words(text) if word.lower() not in FUNCTION_WORDS]


@lru_cache(maxsize=65536)
def cached_terms(text: str) -> tuple[str, ...]:
    return tuple(content_terms(text))


def rarity(term_sets: Collection[Iterable[str]]) -> Mapping[str, float]:
    """Return a weight per term: the fewer of the sets hold it, the heavier it is (inverse document frequency)."""
    counts = Counter(term for terms in term_sets for term in set(terms))
    return {term: math.log(1 + len(term_sets) / count) for term, count in counts.items()}


@cache
def _frequency_ranks() -> Mapping[str, int]:
    text = files("pincite.core.text").joinpath("frequent_words.json").read_text(encoding="utf-8")
    return {word: rank for rank, word in enumerate(json.loads(text)["stems"].split())}


def specificity(term: str) -> float:
    """Return from 0 to 1 how telling a stem is in itself: near 0 for everyday words, 1 for names and rare words."""
    ranks = _frequency_ranks()
    rank = ranks.get(term, len(ranks))
    return math.log(1 + rank) / math.log(1 + len(ranks))


def root(term: str) -> str:
    """Return the first letters of a stem: where only these agree, two words are kin ("resign", "resignation")."""
    return term[:5]
