"""Keeps the data directory to its owner: folders 0700, files 0600, regardless of the umask."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pincite.core.domain.errors import StorageError

OURS = (
    "pincite.db*",
    "checkpoints.db*",
    "settings.*",
    "pincite-data.*",
    "left.*",
    "pincite.log*",
    "ingest.lock",
    "grids.lock",
    "files",
    "vectors",
    "models",
    "damaged",
    "backups",
)
"""Patterns of what Pincite keeps there; a folder that people chose may hold other things, which stay as they are."""


def keep_private(data_dir: Path) -> None:
    """Make the directory if it is new, and take from others what an older version left open. Raises StorageError.

    SQLite and the log make files by themselves, so that the process's umask is what holds for all of them.
    File systems without owners (FAT, some network drives) refuse, and Windows knows no such modes: that is ignored.
    """
    os.umask(0o077)
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in _kept(data_dir):
            with suppress(OSError):
                status = path.lstat()
                mine = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
                # A sticky folder, such as /tmp, is meant for everybody.
                if mine and status.st_mode & 0o077 and not status.st_mode & 0o1000 and not path.is_symlink():
                    path.chmod(status.st_mode & 0o700)
    except OSError as error:
        problem = f"{data_dir} cannot be used ({error.strerror})."
        raise StorageError(problem, hint="Choose a folder with --data-dir.") from error


def _kept(data_dir: Path) -> Iterator[Path]:
    yield data_dir
    for pattern in OURS:
        for path in data_dir.glob(pattern):
            yield path
            if path.is_dir() and not path.is_symlink():
                yield from path.rglob("*")
