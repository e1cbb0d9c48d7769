"""Small files written whole or not at all: a kill or a full disk leaves the one before."""

import os
from contextlib import suppress
from pathlib import Path

NOT_OURS = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""What reading a small JSON file raises when it holds something else: other kinds, infinity, lists without an end."""


def write_whole(path: Path, text: str) -> None:
    """Replace a file with another, for its owner alone, whole or not at all. Raises OSError."""
    partial = path.with_suffix(".partial")
    try:
        partial.unlink(missing_ok=True)
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
