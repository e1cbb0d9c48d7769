"""Plain text (.txt)."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from pincite.core.documents.formats.content import Content, Paragraph, Run
from pincite.core.domain.errors import UnreadablePdfError

KIND = "plain text (.txt)"
ENDINGS = (".txt", ".text")
_PAGE = "\f"
_GAP = re.compile(r"\S {3}|\t")
"""Between the columns of a table drawn with spaces."""
_MIN_WIDTH = 45
"""Characters of a line that is full; lines that are all shorter are not joined."""


def is_one(path: Path, name: str) -> bool:
    with path.open("rb") as file:
        is_rich = file.read(5) == b"{\\rtf"
    return name.casefold().endswith(ENDINGS) and not is_rich


def save_as_pdf(path: Path, target: Path) -> None:
    from pincite.core.documents.formats.typeset import typeset

    text = decoded(path.read_bytes(), path.name)
    typeset(Content("a text file", tuple(paragraphs(text))), path.name, target)


def decoded(data: bytes, name: str) -> str:
    """Return the text of a file, in whatever encoding it is. Raises UnreadablePdfError if it is no text."""
    from charset_normalizer import from_bytes

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        matches = from_bytes(data)
        best = matches.best()
        western = next((one for one in matches if one.encoding == "cp1252"), None)
        if best and western and western.chaos <= best.chaos and western.coherence >= best.coherence:
            best = western  # the encoding of most of those that fit as well
        text = str(best) if best else "\0"
    if "\0" in text:
        raise UnreadablePdfError(f"{name} is not a text file.", hint="Save it as a PDF in the program that shows it.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def paragraphs(text: str) -> Iterator[Paragraph]:
    """Yield the paragraphs: lines, and what is joined of lines that ended since they were full."""
    for block in text.replace(_PAGE, "\n\n").split("\n\n"):
        lines = [line.rstrip() for line in block.split("\n") if line.strip()]
        width = max(_MIN_WIDTH, *map(len, lines)) if lines else 0
        paragraph = ""
        for line, following in pairwise([*lines, ""]):
            paragraph += f"{line.expandtabs(4)} "
            word = following.split(maxsplit=1)[0] if following else ""
            is_row = any(_GAP.search(one.strip()) for one in (line, following))
            if is_row or not word or following[0].isspace() or len(line) + 1 + len(word) <= width:
                yield Paragraph((Run(paragraph.rstrip()),))
                paragraph = ""
