"""One file that holds a whole data directory, and bringing it back. Vectors are left out: they are made again.

A ZIP with a manifest as its first entry: the SHA-256 and size of every other entry. Only names that a backup can have
are taken out of it, into a folder that did not exist.
"""

import hashlib
import json
import os
import re
import shutil
import sqlite3
import tempfile
import uuid
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pincite.core.domain.errors import FullDiskError, StorageError
from pincite.core.domain.settings import Settings
from pincite.core.store.copies import copy_whole
from pincite.core.store.data_dir import LOCK, STAMP, alone, check_ours
from pincite.core.store.soundness import check_whole, only_sqlite
from pincite.core.store.sqlite import ReadOnlyDatabase

MANIFEST = "pincite-backup.json"
FORMAT = 1
MAX_MANIFEST_BYTES = 256 * 2**20
_NAMES = re.compile(r"pincite\.db|checkpoints\.db|settings\.json|files/[0-9a-f]{64}\.pdf|" + re.escape(STAMP))
_BLOCK = 2**20
_UNFIT = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    NotImplementedError,
    RuntimeError,
    RecursionError,
    OverflowError,
)
"""What a file that is no backup, or is damaged, raises."""


@dataclass(frozen=True, slots=True)
class BackedUp:
    """What a backup holds; ``missing``: names of documents with a PDF that is not there, or not as it was added."""

    documents: int
    sessions: int
    bytes: int
    missing: tuple[str, ...] = ()


def backup(settings: Settings, target: Path) -> BackedUp:
    """Write a backup while Pincite may be running, look at it once more, and only then give it its name.

    Raises StorageError; nothing that exists is overwritten.
    """
    only_sqlite(settings)
    check_ours(settings)
    check_whole(settings)
    if not settings.database_path.exists():
        raise StorageError(f"There is no library in {settings.data_dir}.", hint="Name its folder with --data-dir.")
    if os.path.lexists(target):
        raise StorageError(f"{target} already exists.", hint="Choose another name, or move it away.")
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex}.partial")
    with _archive_errors(target), tempfile.TemporaryDirectory(prefix="pincite-backup-", dir=target.parent) as folder:
        try:
            done = _write(settings, Path(folder), partial)
            _unpack(partial, None)
            _name(partial, target)
        except FileExistsError as error:
            raise StorageError(f"{target} already exists.", hint="Choose another name.") from error
        finally:
            partial.unlink(missing_ok=True)
    return done


def _name(partial: Path, target: Path) -> None:
    """Raises FileExistsError; a file system without hard links cannot promise that to the last instant."""
    try:
        os.link(partial, target)
    except FileExistsError:
        raise
    except OSError:
        if os.path.lexists(target):
            raise FileExistsError(target) from None
        partial.rename(target)


def _write(settings: Settings, folder: Path, partial: Path) -> BackedUp:
    """Write the backup, databases first: a file that is added later is not part of it."""
    copies = [_copied(path, folder / path.name) for path in (settings.database_path, settings.checkpoints_path)]
    kept, sessions = _contents(folder / settings.database_path.name)
    paths = [path for path in copies if path]
    paths += [path for path in (settings.choices_path, settings.data_dir / STAMP) if path.is_file()]
    entries = {path.name: path for path in paths}
    files = {f"files/{identity}.pdf": settings.files_dir / f"{identity}.pdf" for identity in kept}
    entries |= {name: path for name, path in files.items() if path.is_file()}
    descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    sums: dict[str, list[object]] = {}
    with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        for name, path in entries.items():
            with path.open("rb") as source, out.open(name, "w", force_zip64=True) as sink:
                sums[name] = list(_hashed(source, sink))
        unlike = [name for name, path in files.items() if name not in sums or sums[name][0] != kept[path.stem][1]]
        out.writestr(MANIFEST, json.dumps({"format": FORMAT, "files": sums}))
        # On the disk before it has its name.
        out.close()
        file.flush()
        os.fsync(file.fileno())
    return BackedUp(len(kept), sessions, partial.stat().st_size, tuple(kept[files[name].stem][0] for name in unlike))


def _contents(path: Path) -> tuple[dict[str, tuple[str, str]], int]:
    """Name and SHA-256 of the PDF by document, and how many sessions; of a database of whichever version."""
    with closing(ReadOnlyDatabase(path)) as database:
        rows = database.connection.execute("SELECT id, name, iif(kept_sha256 = '', id, kept_sha256) FROM documents")
        return {identity: (name, digest) for identity, name, digest in rows}, database.number(
            "SELECT count(*) FROM sessions"
        )


def _copied(path: Path, copy: Path) -> Path | None:
    """Return a consistent copy of a database, whoever is writing to it. Raises StorageError."""
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=30)) as source:
            sound = copy_whole(source, copy)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            hint = "Free some space, or choose another place for the backup."
            raise FullDiskError(f"There is no space for a backup ({error}).", hint=hint) from error
        sound = str(error)
    if sound != "ok":
        hint = "Run `pincite verify` to see what is wrong, and `pincite repair` to fix what can be fixed."
        raise StorageError(f"{path.name} cannot be backed up as it is ({sound}).", hint=hint)
    return copy


def restore(source: Path, data_dir: Path) -> BackedUp:
    """Bring a backup back into a folder that is new or empty; killed at any time, it is whole or not there.

    Raises StorageError.
    """
    if data_dir.is_symlink() or (data_dir.exists() and (not data_dir.is_dir() or any(data_dir.iterdir()))):
        with alone(data_dir) if (data_dir / LOCK).is_file() else nullcontext():
            raise StorageError(
                f"{data_dir} is not empty, and nothing in it was changed.",
                hint="Move it away first, or name a new folder with --data-dir.",
            )
    place = data_dir.parent / f".{data_dir.name}.{uuid.uuid4().hex}.restoring"
    with _archive_errors(source):
        data_dir.parent.mkdir(parents=True, exist_ok=True)
        try:
            place.mkdir(mode=0o700)
            size = _unpack(source, place)
            kept, sessions = _contents(place / "pincite.db")
            _forget_tokens(place / "pincite.db")
            if data_dir.exists():
                data_dir.rmdir()  # refuses if somebody put something there meanwhile
            place.rename(data_dir)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    return BackedUp(len(kept), sessions, size)


def _forget_tokens(path: Path) -> None:
    """Tokens of programs are made for one installation, and some may have been revoked since."""
    with closing(sqlite3.connect(path)) as connection, connection:
        if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'tokens'").fetchone():
            connection.execute("DELETE FROM tokens")


def _unpack(source: Path, place: Path | None) -> int:
    """Hash every entry of a backup against its manifest, and write it where a place is given; returns the bytes.

    Raises StorageError.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            manifest = _manifest(archive)
            if place is not None:
                (place / "files").mkdir(mode=0o700)
            for name, (digest, size) in manifest.items():
                with archive.open(name) as entry, _sink(place, name) as out:
                    if _hashed(entry, out, most=size) != (digest, size):
                        raise _unfit(source, f"{name} in it is damaged")
            return sum(size for _, size in manifest.values())
    except _UNFIT as error:
        raise _unfit(source, str(error)) from error


@contextmanager
def _sink(place: Path | None, name: str) -> Iterator[IO[bytes] | None]:
    """A new file that only its owner can read, on the disk before it is closed."""
    if place is None:
        yield None
        return
    descriptor = os.open(place / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        yield out
        out.flush()
        os.fsync(out.fileno())


def _manifest(archive: zipfile.ZipFile) -> Mapping[str, tuple[str, int]]:
    """Return names, hashes and sizes; the file may hold only these: no path that leads out, no link, nothing twice."""
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    if len(set(names)) < len(names):
        raise ValueError("it contains the same entry twice")
    head = archive.getinfo(MANIFEST)
    if head.file_size > MAX_MANIFEST_BYTES:
        raise ValueError("its manifest is too large")
    plain = json.loads(archive.read(head))
    if int(plain["format"]) > FORMAT:
        raise StorageError("The backup was written by a newer Pincite.", hint="Install that version, then restore.")
    manifest = {str(name): (str(digest), int(size)) for name, (digest, size) in plain["files"].items()}
    strange = [name for name in {*names, *manifest} if name != MANIFEST and not _NAMES.fullmatch(name)]
    links = [entry.filename for entry in entries if entry.external_attr >> 28 not in (0, 0o10)]
    if strange or links or {*manifest, MANIFEST} != set(names) or "pincite.db" not in manifest:
        raise ValueError(f"it is not a Pincite backup: {(strange or links or ['entries are missing'])[0][:80]!r}")
    if any(archive.getinfo(name).file_size != size for name, (_, size) in manifest.items()):
        raise ValueError("the sizes in it do not match")
    return manifest


def _hashed(source: IO[bytes], sink: IO[bytes] | None, *, most: int | None = None) -> tuple[str, int]:
    """SHA-256 and size of what is read, and written on; reads no more than one block over ``most``."""
    digest, size = hashlib.sha256(), 0
    while (most is None or size <= most) and (block := source.read(_BLOCK)):
        digest.update(block)
        size += len(block)
        if sink is not None:
            sink.write(block)
    return digest.hexdigest(), size


def _unfit(source: Path, why: str) -> StorageError:
    return StorageError(f"{source.name} cannot be restored: {why}.", hint="Choose another backup.")


@contextmanager
def _archive_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        why = getattr(error, "strerror", None) or str(error)
        hint = "Check the path, and that the disk has space."
        raise StorageError(f"{path} could not be written or read ({why}).", hint=hint) from error
