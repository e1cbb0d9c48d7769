"""Compare a text with what was recognised in a picture: letters may be misread, figures may not."""

import re
import unicodedata

from rapidfuzz.distance import Levenshtein

from pincite.core.domain.answers import Likeness

_PUNCTUATION = re.compile(r"[\W_]+")
_ALIKE = {"0": "oq", "1": "liіt|", "2": "z", "4": "a", "5": "s", "6": "bg", "7": "t", "8": "b", "9": "gq"}
"""Letters that recognition takes for a digit, or a digit for them."""
_AGREES = 0.8
_DIFFERS = 0.6
"""Shares of the characters; between them nothing is decided."""
_READABLE = re.compile("[\u0000-\u024f\u2000-\u206f\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]")
"""Scripts that the recogniser knows."""


def compare(quoted: str, recognised: str) -> Likeness:
    """Compare a text with what was recognised in its place."""
    quoted, recognised = plain(quoted), plain(recognised)
    letters = [letter for letter in quoted if _READABLE.match(letter)]
    if not quoted or not recognised or len(letters) < 0.9 * len(quoted):
        return Likeness.UNKNOWN
    if figures_differ(quoted, recognised):
        return Likeness.DIFFERS
    ratio = Levenshtein.normalized_similarity(quoted, recognised)
    if ratio >= _AGREES or len(quoted) - Levenshtein.similarity(quoted, recognised) <= 1:
        return Likeness.AGREES
    return Likeness.DIFFERS if ratio < _DIFFERS else Likeness.UNKNOWN


def figures_differ(quoted: str, recognised: str) -> bool:
    """Return whether a digit of either plain text is opposite something that is no misreading of it."""
    for change in Levenshtein.opcodes(quoted, recognised):
        if change.tag == "equal":
            continue
        one = quoted[change.src_start : change.src_end]
        other = recognised[change.dest_start : change.dest_end]
        if len(one) == len(other):
            pairs = zip(one, other, strict=True)
            if any(_figure_against(a, b) or _figure_against(b, a) for a, b in pairs):
                return True
        elif any(map(str.isdigit, one + other)):
            return True
    return False


def _figure_against(digit: str, other: str) -> bool:
    return digit.isdigit() and other not in _ALIKE.get(digit, "")


def plain(text: str) -> str:
    """Letters and digits alone, without case, accents or the forms of a font."""
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text))
    bare = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return _PUNCTUATION.sub("", bare).casefold()
