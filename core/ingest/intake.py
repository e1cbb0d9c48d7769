"""Taking a file in: a copy within the limits that opens without a password. What becomes of it is others' work."""

import hashlib
import re
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from pincite.core.domain.errors import EmptyFileError, NotAPdfError, PasswordNeededError, TooLargeError
from pincite.core.domain.ports import PageReader, PdfInfo
from pincite.core.domain.settings import Settings

_PARTIAL = re.compile(r"[0-9a-f]{32}(?:\.opened)?\.partial")
"""How a file that is being copied is called; others are not ours."""
FORGOTTEN_SECONDS = 3600
"""Age at which a half-copied file is nobody's any more."""


def new_partial(settings: Settings) -> Path:
    return settings.files_dir / f"{uuid.uuid4().hex}.partial"


def clear_partials(settings: Settings) -> None:
    """Delete what a killed process left half copied."""
    for path in settings.files_dir.glob("*.partial"):
        if _PARTIAL.fullmatch(path.name) and time.time() - path.stat().st_mtime > FORGOTTEN_SECONDS:
            path.unlink(missing_ok=True)


def copy_in(source: Path | bytes, target: Path, name: str, settings: Settings) -> tuple[str, int]:
    """Copy within the size limit; returns the SHA-256 and the size. Raises a DocumentError or OSError."""
    size = source.stat().st_size if isinstance(source, Path) else len(source)
    if size == 0:
        raise EmptyFileError(f"{name} is empty.", hint="Check the original file.")
    if size > settings.max_file_mib * 2**20:
        raise TooLargeError(
            f"{name} is {size / 2**20:.0f} MiB; the limit is {settings.max_file_mib} MiB.",
            hint="Raise max_file_mib in the settings, or split the file.",
        )
    digest = hashlib.sha256()
    with target.open("wb") as out:
        for block in _blocks(source):
            digest.update(block)
            out.write(block)
    return digest.hexdigest(), size


def open_copy(
    copy: Path, name: str, password: str | None, reader: PageReader, settings: Settings
) -> tuple[PdfInfo, list[tuple[str, bytes]]]:
    """Leave a PDF that opens without a password, and return what it states and the files that were attached to it.

    The password is not stored. Raises a DocumentError.
    """
    attached = list[tuple[str, bytes]]()
    try:
        info = reader.open(copy)
    except (PasswordNeededError, NotAPdfError) as error:
        if isinstance(error, PasswordNeededError) and not password:
            raise
        opened = copy.with_suffix(".opened.partial")
        try:
            attached = reader.save_as_pdf(copy, password or "", opened, name)
            opened.replace(copy)
        finally:
            opened.unlink(missing_ok=True)
        info = reader.open(copy)
    if info.page_count > settings.max_pages:
        raise TooLargeError(
            f"{name} has {info.page_count} pages; the limit is {settings.max_pages}.",
            hint="Raise max_pages in the settings, or split the file.",
        )
    return info, attached


def _blocks(source: Path | bytes) -> Iterator[bytes]:
    if isinstance(source, bytes):
        yield source
        return
    with source.open("rb") as file:
        while block := file.read(2**20):
            yield block
