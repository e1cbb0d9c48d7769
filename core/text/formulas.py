"""LaTeX in what a language model writes, as plain text."""

import re

from pylatexenc.latex2text import LatexNodes2Text
from pylatexenc.latexwalker import LatexWalkerError

_MATH = re.compile(
    r"\\\((?P<round>(?:(?!(?<!\\)\\[()]).){1,2000})\\\)"
    r"|\\\[(?!\s?\^?\w{1,3}\s?\\\])(?P<square>(?:(?!(?<!\\)\\[\[\]]).){1,2000})\\\]"
    r"|\$\$(?P<double>[^$]{1,2000})\$\$"
    r"|(?<![\\$])\$(?![\s$])(?=[^$\n]{0,1000}(?:\\[A-Za-z,%;!]|[_^]\{))(?P<single>[^$\n]{1,1000})(?<![\s\\])\$(?![\d$])",
    re.DOTALL,
)
"""Between single dollars only with a command: "from $5 to $6" is none; nor is a mark like ``\\[1\\]``."""
_COMMENT = re.compile(r"(?<!\\)%")
_TO_TEXT = LatexNodes2Text(math_mode="text")


def without_latex(text: str) -> str:
    """Return the text with its formulas as Unicode: "1.5 %" for ``$1.5\\,\\%$``; what cannot be read stays."""
    if "\\" not in text and "$" not in text:
        return text
    return _MATH.sub(_plain, text).replace("\\$", "$")


def _plain(match: re.Match[str]) -> str:
    inner = next(filter(None, match.groups()))
    try:
        plain = " ".join(_TO_TEXT.latex_to_text(_COMMENT.sub(r"\\%", inner)).split())
    except (LatexWalkerError, LookupError, ValueError, TypeError, AttributeError, RecursionError):
        return match.group()
    return match.group() if not plain or "%s" in plain else plain
