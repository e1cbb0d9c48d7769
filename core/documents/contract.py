"""What a format offers. Files are opened in reading processes only: a file may crash or swell whatever parses it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from core.domain.documents import Page
from core.domain.ports import PdfInfo

Announce = Callable[[int, str], None]
"""Told each page before it is touched, so that who dies of it can be named: "working", or "doubting" what was read."""
Stopped = Mapping[int, str]
"""Pages that stopped a reader before, and how; nothing where only doubting did, which is then left out."""


class OpenDocument(Protocol):
    """One open file. A page that cannot be read comes as FAILED with the reason."""

    def describe(self) -> PdfInfo: ...

    def page(self, page_index: int, stopped: Stopped) -> Page: ...

    def recognise(self, page_index: int, stopped: Stopped) -> Page:
        """Read the page from its picture; EMPTY where the format has none."""

    def image(self, page_index: int, width: int) -> bytes:
        """The page as a PNG. Raises a DocumentError, also where the format's pages have no picture."""

    def lines(self, page_index: int, boxes: Sequence[Sequence[float]]) -> list[str]:
        """What the page's picture says in each box, a line; empty where that cannot be told.

        A box is left, top, right, bottom as fractions of the page, and the quarter turns that set its line upright.
        """

    def close(self) -> None: ...


class Format(Protocol):
    """A module of the folder formats. What it raises about a file are DocumentErrors."""

    def sniff(self, head: bytes) -> bool:
        """Whether a file that begins so is of this format."""

    def open_document(self, path: Path, announce: Announce) -> OpenDocument: ...

    def decrypt(self, path: Path, password: str, target: Path) -> None:
        """Write a copy that opens without a password."""
