"""LaTeX in what a language model writes, as plain text."""

import re
from contextlib import suppress

from pylatexenc.latex2text import LatexNodes2Text
from pylatexenc.latexwalker import LatexWalkerError

_MATH = re.compile(
    r"\\\((?P<round>.{1,2000}?)\\\)|\\\[(?!\s?\^?\w{1,3}\s?\\\])(?P<square>.{1,2000}?)\\\]"
    r"|\$\$(?P<double>[^$]{1,2000})\$\$|\$(?P<single>[^$\n]{0,1000}[\\^_][^$\n]{0,1000})\$",
    re.DOTALL,
)
"""Between single dollars only with a sign of LaTeX: "from $5 to $6" is none; nor is a mark like ``\\[1\\]``."""
_COMMENT = re.compile(r"(?<!\\)%")
_TO_TEXT = LatexNodes2Text(math_mode="text")


def without_latex(text: str) -> str:
    """Return the text with its formulas as Unicode: "1.5 %" for ``$1.5\\,\\%$``; what cannot be read stays."""
    return _MATH.sub(_plain, text) if "\\" in text or "$" in text else text


def _plain(match: re.Match[str]) -> str:
    inner = next(filter(None, match.groups()))
    with suppress(LatexWalkerError):
        return " ".join(_TO_TEXT.latex_to_text(_COMMENT.sub(r"\\%", inner)).split()) or match.group()
    return match.group()
