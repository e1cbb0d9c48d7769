"""Distinguish a text layer that cannot be read from one that can, by what its characters are.

The measures look at letters only where there are enough of them, and know scripts that are written without spaces.
"""

import re

_MEANINGLESS = re.compile("[\ufffd\ue000-\uf8ff\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff01-\uffef]")
_MISREAD = re.compile("[\u00a1-\u00bf\u00c0-\u00ff\u02c6\u02dc\u0192]")
_GLYPH_NAME = re.compile(r"/[A-Za-z]{1,3}\d{1,5}|/[a-z]+\.[a-z]+")
_LETTERS = re.compile(r"[^\W\d_]+")
_LATIN = bytes(code for code in range(256) if chr(code).isalpha())
_VOWELS = "aeiouyAEIOUYàáâãäåæèéêëìíîïòóôõöøùúûüýÿÀÁÂÃÄÅÆÈÉÊËÌÍÎÏÒÓÔÕÖØÙÚÛÜÝ".encode("latin-1")
_SIGNS = b"""!"#$%&'()*+/:;<=>@[\\]^_`{|}~"""
_REPEATED = re.compile(rb"(.)\1{3,}")
_MIN_COUNT = 40
"""Minimum number of characters to judge a page, unless most have no meaning or a wrong encoding."""


def garbling(text: str) -> str:
    """Return why the text of a page cannot be read, or an empty string."""
    words = text.split()
    count = sum(map(len, words))
    if not count:
        return ""
    meaningless = 0.0 if text.isprintable() else len(_MEANINGLESS.findall(text)) / count
    if meaningless > (0.15 if count >= _MIN_COUNT else 0.6):
        return f"{meaningless:.0%} of the text layer's characters have no meaning"
    foreign = len(_MISREAD.findall(text)) / count
    if foreign > (0.4 if count >= _MIN_COUNT else 0.7):
        return f"the text layer is in a wrong encoding ({foreign:.0%} accented letters and signs)"
    if count < _MIN_COUNT:
        return ""
    if count > 14 * len(words) and _glued(words, count) and len(_UNSPACED.findall(text)) < 0.2 * count:
        return "the text layer has no spaces between words"
    if text.count("/") > 0.1 * count and 2 * len(_GLYPH_NAME.findall(text)) > text.count("/"):
        return "the text layer has names of glyphs instead of characters"
    if count < 4 * _MIN_COUNT:
        return ""
    bytes_ = text.encode("latin-1", "replace")
    latin = len(bytes_) - len(bytes_.translate(None, _LATIN))
    vowels = (len(bytes_) - len(bytes_.translate(None, _VOWELS))) / max(latin, 1)
    if latin > 0.5 * count and latin > 4 * _MIN_COUNT and not 0.18 < vowels < 0.75:
        return f"the text layer's letters do not make words (vowels: {vowels:.0%})"
    if len(bytes_) - len(bytes_.translate(None, _SIGNS)) < 0.35 * count:
        return ""
    bytes_ = _REPEATED.sub(rb"\1", bytes_)
    signs = (len(bytes_) - len(bytes_.translate(None, _SIGNS))) / count
    if signs > 0.35 and sum(map(len, _LETTERS.findall(text))) < 0.5 * count:
        return f"{signs:.0%} of the text layer's characters are signs"
    return ""


def _glued(words: list[str], count: int) -> bool:
    """Most of the text is in long runs of letters without a space; addresses and rules do not count."""
    long = [word for word in words if len(word) > 28]
    return sum(len(word) for word in long if sum(map(str.isalpha, word)) > 0.8 * len(word)) > 0.4 * count
