"""Tell a text layer that cannot be read from one that can, by what its characters are.

The measures look at letters only where there are enough of them, and know scripts that are written without spaces.
"""

import re
from collections import Counter

_MEANINGLESS = re.compile("[\ufffd\ue000-\uf8ff\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uffef]")
_LATIN = re.compile("[A-Za-zÀ-ɏ]")
_VOWELS = re.compile("[aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüýÿœ]", re.I)
_MARKS = re.compile(r"""[!"#$%&'()*+/:;<=>?@\[\\\]^_`{|}~]""")
_REPEATED = re.compile(r"(.)\1{3,}")
_FEWEST = 40
"""Below so many characters nothing is said about a page, unless hardly any of them has a meaning."""


def garbling(text: str) -> str:
    """Return why the text of a page cannot be read, or an empty string."""
    dense = "".join(text.split())
    if not dense:
        return ""
    meaningless = len(_MEANINGLESS.findall(dense)) / len(dense)
    if meaningless > (0.15 if len(dense) >= _FEWEST else 0.6):
        return f"{meaningless:.0%} of the text layer's characters have no meaning"
    if len(dense) < _FEWEST:
        return ""
    if len(_UNSPACED.findall(dense)) < 0.2 * len(dense) and _glued(text, dense):
        return "the text layer has no spaces between words"
    latin = _LATIN.findall(dense)
    if len(latin) >= 4 * _FEWEST and len(latin) > 0.5 * len(dense):
        vowels = len(_VOWELS.findall(dense)) / len(latin)
        if not 0.18 < vowels < 0.75:
            return f"the text layer's letters do not make words (vowels: {vowels:.0%})"
    dense = _REPEATED.sub(r"\1", dense)
    marks = len(_MARKS.findall(dense)) / len(dense)
    letters = sum(character.isalpha() for character in dense) / len(dense)
    if len(dense) >= 4 * _FEWEST and marks > 0.35 and letters < 0.5:
        return f"{marks:.0%} of the text layer's characters are signs"
    return ""


def _glued(text: str, dense: str) -> bool:
    """Long stretches of letters without a space; single long words (addresses, rules) do not count."""
    lengths: Counter[int] = Counter()
    for word in text.split():
        if sum(character.isalpha() for character in word) > 0.8 * len(word):
            lengths[len(word)] += 1
    glued = sum(length * count for length, count in lengths.items() if length > 28)
    return len(dense) >= 3 * _FEWEST and glued > 0.4 * len(dense)
