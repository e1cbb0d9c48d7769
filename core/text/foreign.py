"""Text of documents and models, made fit for use inside the delimiters of a prompt."""

import re

_OPENS_TAG = re.compile(r"[＜﹤]|<(?!=|\s{0,3}[$€£]?\s{0,3}[+−-]?[\d.])")
"""Any < that does not compare figures, and what a model may read as one."""


def defused(text: str) -> str:
    """Return foreign text without any tag, whole or made of what is left of others: it cannot end its delimiters."""
    return _OPENS_TAG.sub("‹", text)


def in_line(text: str) -> str:
    """Return the same on one line, for names and claims."""
    return " ".join(defused(text).split())
