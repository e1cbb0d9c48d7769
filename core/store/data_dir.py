"""The data directory: its owner, the PDFs in it that the library does not know, and what older versions left."""

import json
import re
import secrets
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import filelock

from pincite.core.domain.errors import ForeignDirectoryError, NewerDatabaseError, StorageError
from pincite.core.domain.settings import Settings
from pincite.core.domain.writing import NOT_OURS, write_whole
from pincite.core.store.sqlite import ReadOnlyDatabase, SqliteDatabase

STAMP = "pincite-data.json"
LOCK = "ingest.lock"
FORMAT = 1
QUARANTINE = "quarantine"
OLD_VECTORS, OLD_COUNT = "vectors", "left.json"
"""Where older versions kept Chroma's files, and how often the directory was opened."""
_CHROMAS = re.compile(r"chroma\.sqlite3(-\w+)?|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_BEFORE_THE_FIRST_START = {
    *("samples", "terms", "formulas", "grids", "suggestions.toml"),  # in a clone, what is shipped lies there, too
    *("models", "settings.json", "pincite.log", "lost+found"),
    *("app.lock", "app.json", "passphrase.json", "window"),
}


def check_ours(settings: Settings) -> None:
    """Look whether Pincite may work in the directory; changes nothing. Raises ForeignDirectoryError."""
    directory = settings.data_dir
    there = next(path for path in (directory, *directory.parents) if path.exists())
    if not there.is_dir():
        raise ForeignDirectoryError(
            f"{directory} cannot be used ({there.name} is not a folder).", hint="Choose a folder with --data-dir."
        )
    if settings.database_url:
        if settings.database_path.exists() and not settings.shared_files:
            raise ForeignDirectoryError(
                f"{directory} holds a library of its own, and PINCITE_DATABASE_URL names another.",
                hint="Name another folder with --data-dir, or one for the files with PINCITE_FILES. `pincite migrate` "
                "moves a library to PostgreSQL.",
            )
        return
    stamped = stamp_of(directory)
    if not settings.database_path.exists():
        if stamped is None and (strangers := _strangers(directory)):
            raise ForeignDirectoryError(
                f"{directory} contains other files ({strangers[0].name}) and was not made by Pincite. Nothing was "
                "changed.",
                hint="Choose an empty or a new folder with --data-dir. If a library was here, put its pincite.db back.",
            )
        return
    database = ReadOnlyDatabase(settings.database_path)
    owner = database.owner_id
    database.close()
    if stamped and owner and stamped != owner:
        raise ForeignDirectoryError(
            f"The database in {directory} belongs to another data directory; nothing was changed.",
            hint=f"Put back the pincite.db that was here. If this one is meant to be here, delete {STAMP} beside it.",
        )


def claim(settings: Settings, database: SqliteDatabase) -> None:
    """Stamp the directory and its database with one id; one of the two may have it already."""
    stamped, owner = stamp_of(settings.data_dir), database.owner_id
    if stamped and stamped == owner:
        return
    with _directory_error(settings.data_dir), database.transaction():
        owner = database.owner_id
        identity = owner or stamped or 1 + secrets.randbelow(2**31 - 1)
        write_whole(settings.data_dir / STAMP, json.dumps({"id": identity, "format": FORMAT}))
        if not owner:
            database.belong_to(identity)


def stamp_of(directory: Path) -> int | None:
    """Return the id of the directory; None where there is none that can be read. Raises StorageError."""
    with _directory_error(directory):
        try:
            stamp = json.loads((directory / STAMP).read_text(encoding="utf-8"))
            identity, version = int(stamp["id"]), int(stamp["format"])
        except (FileNotFoundError, NotADirectoryError, *NOT_OURS):
            return None
    if version > FORMAT:
        raise NewerDatabaseError(
            f"{directory} was written by a newer Pincite.",
            hint="Install that version again, or choose another folder with --data-dir.",
        )
    return identity if 0 < identity < 2**31 else None


def strays(settings: Settings, known: Collection[str]) -> list[Path]:
    """PDFs among the library's files that are none of the documents ``known``."""
    return [path for path in _pdfs(settings.files_dir) if path.name not in {f"{identity}.pdf" for identity in known}]


def quarantined(settings: Settings) -> list[Path]:
    """PDFs that were set aside; they can be added, which takes them out of here."""
    return _pdfs(settings.files_dir / QUARANTINE)


def set_aside(settings: Settings, known: Collection[str]) -> None:
    """Move the PDFs that the library does not know out of its way; each keeps its name as far as that is free."""
    place = settings.files_dir / QUARANTINE
    for path in strays(settings, known):
        place.mkdir(exist_ok=True)
        free = (place / f"{path.stem}{f'-{number}' if number else ''}.pdf" for number in range(10_000))
        path.rename(next(target for target in free if not target.exists()))


def delete_old_files(settings: Settings) -> None:
    """Delete what older versions wrote: Chroma's files, which would outlive their documents, and the opening count."""
    folder = settings.data_dir / OLD_VECTORS
    with suppress(OSError):
        (settings.data_dir / OLD_COUNT).unlink(missing_ok=True)
        for path in [path for path in folder.iterdir() if _CHROMAS.fullmatch(path.name)]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        folder.rmdir()


@contextmanager
def alone(data_dir: Path) -> Iterator[None]:
    """Keep every other process from working on the directory. Raises StorageError where one does."""
    try:
        with filelock.FileLock(data_dir / LOCK, timeout=0):
            yield
    except filelock.Timeout as error:
        raise StorageError(f"Pincite is running on {data_dir}.", hint="Stop it first.") from error


def _pdfs(directory: Path) -> list[Path]:
    return [path for path in _entries(directory) if path.suffix.lower() == ".pdf" and not path.is_dir()]


def _strangers(directory: Path) -> list[Path]:
    """What shows that the folder was in use before Pincite came to it."""
    names = (path for path in _entries(directory) if not path.name.startswith("."))
    return [path for path in names if path.name not in _BEFORE_THE_FIRST_START]


def _entries(directory: Path) -> list[Path]:
    with _directory_error(directory):
        return sorted(directory.iterdir()) if directory.is_dir() else []


@contextmanager
def _directory_error(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{directory} cannot be used ({error.strerror}).", hint="Choose another folder with --data-dir."
        ) from error
