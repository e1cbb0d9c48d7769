"""Foreign text made harmless for Markdown, on the screen and in exports alike."""

import re

_SYNTAX = re.compile(r"([\\`*_{}\[\]()#+\-!|<>~$^=&]|:(?=[^\W\d]|:))")
_ACTIVE = re.compile(r"([\\\[\]<$!]|&(?=#?\w+;)|:(?=[^\W\d]|:))")
_SOUGHT_IN_TEXT = re.compile(r"(?<=:)(?=//|[\w+\-/]+:)|(?<=www)(?=\.)|(?<=[\w.+\-])(?=@[\w\-])", re.IGNORECASE)
"""Inside icon codes and addresses: they are looked for in the parsed text, where no backslash is left to stop it."""
_WORD_JOINER = "\u2060"


def escape(text: str) -> str:
    """Show text from a document exactly, in one paragraph: no character of it is Markdown."""
    return _SYNTAX.sub(r"\\\1", _SOUGHT_IN_TEXT.sub(_WORD_JOINER, " ".join(text.split())))


def escape_lines(text: str) -> str:
    """The same with line breaks kept; list marks and numbers at a line's start stay text."""
    lines = [re.sub(r"^(\d+)([.)])", r"\1\\\2", escape(line)) for line in text.splitlines()]
    return "  \n".join(lines)


def verbatim(text: str, *, always: bool = False) -> str:
    """Words of a page, exactly, in one paragraph: as they are where none of them is Markdown, and as code elsewhere.

    ``always``: as code in any case.
    """
    flat = " ".join(text.split())
    if not always and escape(flat) == flat and not re.match(r"\d{1,9}[.)]", flat):
        return flat
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", flat)), default=0))
    pad = " " if "`" in (flat[:1], flat[-1:]) else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def tame(text: str) -> str:
    """Keep a model's lists, tables and emphasis; images, links, HTML, formulas and icon codes become plain text."""
    return _ACTIVE.sub(r"\\\1", _SOUGHT_IN_TEXT.sub(_WORD_JOINER, text))
