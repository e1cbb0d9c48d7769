"""Keeps the library as watched folders are: new, changed, renamed and deleted files, recognised by their content.

A look at a folder compares it with what was stored of it, so nothing depends on events: they only say when to look.
Each step can be repeated, so a process that is killed in the middle leaves nothing to repair.
"""

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeAlias

from pincite.core.domain.documents import all_endings
from pincite.core.domain.errors import BusyError, DocumentError, PinciteError, SettingsError, UnknownDocumentError
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import now
from pincite.core.domain.watching import MAX_PATTERNS, Change, Changed, WatchedFile, WatchedFolder

if TYPE_CHECKING:
    from pincite.core.ingest.pipeline import Ingest
    from pincite.core.store.collections import Collections
    from pincite.core.store.library import Library
    from pincite.core.store.locks import WorkLock
    from pincite.core.store.watched import Watched

logger = logging.getLogger(__name__)

IGNORED = (".*", "~$*")
"""Hidden files, and those in which Word keeps who has a file open."""
LOOK_SECONDS = 60.0
"""How often a folder is looked at without an event: folders of other machines send none."""
SETTLE_SECONDS = 2.0
"""A file that changed less than this ago may still be written."""
RETRY_SECONDS = 600.0
"""How often files are tried again that could not be added: a disk may have been full, or a limit raised."""
GRACE_SECONDS = 10.0
"""Programs save by deleting a file and writing it again."""
CLOSING_SECONDS = 5.0
LOCK_SECONDS = 0.1
NOT_LOOKED_AT = -1
"""Stored size of a file that must be checked again."""
_Stats: TypeAlias = dict[str, os.stat_result]


class Watching:
    """``ingest`` returns the ingest in use; ``lock`` is held by the process that looks at a folder."""

    def __init__(
        self,
        watched: "Watched",
        library: "Library",
        collections: "Collections",
        ingest: "Callable[[], Ingest]",
        settings: Settings,
        lock: "WorkLock",
    ) -> None:
        self._watched = watched
        self._library = library
        self._collections = collections
        self._ingest = ingest
        self._data_dir = settings.data_dir.resolve()
        self._lock = lock
        self._busy = threading.Lock()
        self._stop, self._wake = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    # ------------------------------------------------------------ what people ask for

    def folders(self) -> list[WatchedFolder]:
        return self._watched.folders()

    def files(self, folder_id: str) -> list[WatchedFile]:
        """Return the files of a folder as they were when it was last looked at."""
        return self._watched.files(folder_id)

    def add(
        self, path: Path | str, *, collection: str = "", ignored: Sequence[str] = (), removes: bool = False
    ) -> WatchedFolder:
        """Watch a folder from now on; a collection that is not there is made. Raises SettingsError."""
        folder = Path(path).expanduser()
        if not folder.is_absolute() or not folder.is_dir():
            raise SettingsError(f"{folder} is not a folder.", hint="Give its whole path, as this machine sees it.")
        folder = folder.resolve()
        if _overlap(folder, self._data_dir):
            raise SettingsError(f"{folder} holds Pincite's own data.", hint="Watch another folder.")
        for other in self.folders():
            if _overlap(folder, Path(other.path)):
                raise SettingsError(f"{other.path} is watched already.", hint="Stop watching it first.")
        into = ""
        if collection.strip():
            into = (self._collections.find(collection) or self._collections.create(collection)).id
        patterns = [pattern.strip() for pattern in ignored if pattern.strip()][:MAX_PATTERNS]
        made = self._watched.add_folder(str(folder), into, patterns, removes=removes)
        self._wake.set()
        return made

    def forget(self, folder_id: str) -> None:
        """Stop watching a folder; its documents stay."""
        self._watched.forget_folder(folder_id)
        self._wake.set()

    def decide(self, file: WatchedFile, *, remove: bool) -> None:
        """Remove the document of a deleted file, or keep it. Nothing happens if the file is back."""
        folder = self._watched.folder(file.folder_id)
        stored = next((one for one in self._watched.files(file.folder_id) if one.path == file.path), None)
        if folder and stored and stored.missing_since and not Path(folder.path, file.path).exists():
            if remove:
                self._remove(stored)
            self._watched.forget(stored)

    # ------------------------------------------------------------ the thread

    def start(self) -> None:
        """Look at the folders from now on, whenever something changes in them, until `close`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="watching", daemon=True)
            self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(CLOSING_SECONDS)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                for _ in self.follow():
                    pass
            except Exception:  # the thread's outermost frame: the fault goes to the log, and it looks again later
                logger.exception("Looking at the watched folders failed")
                self._wake.clear()
                self._wake.wait(LOOK_SECONDS)

    def follow(self, folder_id: str = "") -> Iterator[Changed]:
        """Look at the folders until `close`, or at one while it is watched; yield what changes."""
        seconds, retried = LOOK_SECONDS, -RETRY_SECONDS
        while not self._stop.is_set():
            self._wake.clear()
            if self._stop.is_set():  # closed in between
                return
            retry = time.monotonic() - retried > RETRY_SECONDS
            retried = time.monotonic() if retry else retried
            folders = [one for one in self.folders() if folder_id in ("", one.id)]
            if folder_id and not folders:
                return
            unsettled = False
            with closing(self._events([folder.path for folder in folders])) as events:
                next(events, None)  # it begins before the look, so that no change falls between the two
                for folder in folders:
                    for changed in self._look_safely(folder, retry=retry):
                        unsettled |= changed.change is Change.UNSETTLED
                        if changed.change is not Change.UNSETTLED:
                            yield changed
                if not unsettled:
                    seconds = LOOK_SECONDS
                else:
                    seconds = SETTLE_SECONDS if seconds >= LOOK_SECONDS else min(2 * seconds, LOOK_SECONDS)
                until = time.monotonic() + seconds
                next((True for is_event in events if is_event or time.monotonic() > until), None)

    def _look_safely(self, folder: WatchedFolder, *, retry: bool) -> list[Changed]:
        try:
            return self.look(folder, settle_seconds=SETTLE_SECONDS, grace_seconds=GRACE_SECONDS, retry=retry)
        except BusyError as error:
            logger.info("The watched folders are looked at later: %s", error)
        except PinciteError as error:  # such as a full disk
            self._watched.note_check(folder.id, str(error))
        return []

    def _events(self, paths: Sequence[str]) -> Generator[bool]:
        """Yield whether a file or folder changed, at least every second, until `_wake` is set."""
        import watchfiles

        endings = all_endings()

        class Relevant(watchfiles.DefaultFilter):
            """Documents and folders, but not the files of version control and the like."""

            def __call__(self, change: watchfiles.Change, path: str) -> bool:
                is_one = path.lower().endswith(endings) or not PurePosixPath(path).suffix
                return is_one and super().__call__(change, path)

        there = [path for path in paths if Path(path).is_dir()]
        try:
            if there:
                for changes in watchfiles.watch(
                    *there, watch_filter=Relevant(), stop_event=self._wake, rust_timeout=500, yield_on_timeout=True,
                    ignore_permission_denied=True,
                ):  # fmt: skip
                    yield bool(changes)
        except (OSError, RuntimeError) as error:  # a file system without events, or too many folders for them
            logger.info("Folders are looked at every %.0f s: %s", LOOK_SECONDS, error)
        while not self._wake.wait(1.0):
            yield False

    # ------------------------------------------------------------ one look

    def look(
        self,
        folder: WatchedFolder,
        *,
        settle_seconds: float = 0.0,
        grace_seconds: float = 0.0,
        retry: bool = False,
        patience_seconds: float = 0.0,
    ) -> list[Changed]:
        """Bring the library to what is in the folder, and return what changed.

        ``settle_seconds``: files that changed more recently are left for the next look. ``grace_seconds``: how long a
        file must be gone before its document is. ``retry``: try files again that could not be added. Raises
        BusyError if another process looks for longer than ``patience_seconds``.
        """
        with self._busy, self._alone(patience_seconds):
            try:
                found, closed = _files(Path(folder.path), folder.ignored)
            except OSError as error:
                self._watched.note_check(folder.id, f"It cannot be read ({error.strerror or error}).")
                return []
            look = _Look(folder, self._watched.files(folder.id), found, settle_seconds, retry=retry)
            changed = [*self._bring(look), *self._let_go(look, closed, grace_seconds)]
            if not self._stop.is_set():
                problem = f"{', '.join(closed[:3])} in it cannot be read, and is left out." if closed else ""
                self._watched.note_check(folder.id, problem)
            return changed

    @contextmanager
    def _alone(self, patience_seconds: float) -> Iterator[None]:
        until = time.monotonic() + patience_seconds
        try:
            while not self._lock.take():
                if time.monotonic() >= until or self._stop.wait(LOCK_SECONDS):
                    raise BusyError("Another process looks at the watched folders.", hint="Try again in a moment.")
            yield
        finally:
            self._lock.release()

    def _bring(self, look: "_Look") -> Iterator[Changed]:
        """Take in what is new or has changed."""
        for path, stat in look.found.items():
            if self._stop.is_set():
                return
            file, digest = look.known.get(path), look.digest(path)
            if path in look.unreadable:
                row = file or WatchedFile(look.folder.id, path, NOT_LOOKED_AT, 0)
                if row.problem != look.unreadable[path]:
                    self._watched.store(replace(row, problem=look.unreadable[path]))
                    yield Changed(path, Change.FAILED, look.unreadable[path])
            elif digest is None:
                yield Changed(path, Change.UNSETTLED)
            elif file and look.is_as_stored(file):
                if file.missing_since:
                    self._watched.note_missing(file, "")
            elif file and file.document_id == digest and not file.adding:  # it was only touched
                row = replace(file, size=stat.st_size, modified_ns=stat.st_mtime_ns, problem="", missing_since="")
                self._watched.store(row)
            else:
                yield self._take_in(look, WatchedFile(look.folder.id, path, stat.st_size, stat.st_mtime_ns, digest))

    def _take_in(self, look: "_Look", row: WatchedFile) -> Changed:
        """Add a file; it replaces its earlier version."""
        folder, name, before = look.folder, PurePosixPath(row.path).name, look.known.get(row.path)
        there = {one.id: one.name for one in self._library.list()}
        old, begun = (before.document_id, before.adding) if before else ("", "")
        if begun and begun in there and begun != row.document_id and not look.may_hold(begun):
            self._remove(replace(row, document_id=begun))
        if row.document_id not in there:
            started = replace(row, size=NOT_LOOKED_AT, document_id=old, adding=row.document_id)
            added, problem = (before.added, before.problem) if before else (True, "")
            self._watched.store(replace(started, added=added, problem=problem))
        try:
            outcome = self._ingest().add(Path(folder.path, row.path), name)
        except DocumentError as error:
            kept = replace(before, adding="") if before else replace(row, document_id="")
            failed = replace(kept, size=row.size, modified_ns=row.modified_ns, problem=str(error), missing_since="")
            self._watched.store(failed)
            return Changed(row.path, Change.FAILED, str(error))
        document_id = outcome.document.id
        if document_id != row.document_id:  # it was changed in between, and is looked at once more
            row = replace(row, document_id=document_id, size=NOT_LOOKED_AT)
        row = replace(
            row, added=document_id not in there or begun == document_id or self._watched.was_added(document_id)
        )
        if folder.collection_id:
            self._collections.add(folder.collection_id, outcome.ids)
        change = Change.ADDED if document_id not in there else Change.KNOWN
        if (
            old in there
            and old != document_id
            and not look.may_hold(old)
            and not self._watched.is_on_disk(old, but=row)
        ):
            with suppress(UnknownDocumentError):  # a person removed it meanwhile
                self._ingest().replace(old, document_id)
            change = Change.REPLACED
        elif change is Change.KNOWN and there[document_id] in look.names_gone(document_id):
            self._library.rename(document_id, name)
            change = Change.RENAMED
        self._watched.store(row)
        return Changed(row.path, change)

    def _let_go(self, look: "_Look", closed: Sequence[str], grace_seconds: float) -> Iterator[Changed]:
        """Note which files are gone, and let their documents go, or have a person decide."""
        folder, files = look.folder, self._watched.files(look.folder.id)
        there = {one.id for one in self._library.list()}
        kept = {file.document_id for file in files if file.path in look.found}
        gone = [
            file
            for file in files
            if file.path not in look.found and not any(file.path.startswith(f"{path}/") for path in closed)
        ]
        for file in gone:
            if self._stop.is_set() or Path(folder.path, file.path).exists():  # it is back
                continue
            asks = not folder.removes or not file.added or _may_be_a_missing_disk(file, files, gone)
            held = there & {file.document_id, file.adding}
            if all(self._watched.is_on_disk(one, but=file) for one in held):
                self._watched.forget(file)
                if file.document_id not in kept and not self._feeds(folder.collection_id, file):
                    self._collections.take_out(folder.collection_id, file.document_id)
                continue
            if not file.missing_since:
                file = replace(file, missing_since=now())
                self._watched.note_missing(file, file.missing_since)
                yield Changed(file.path, Change.MISSING)
            since = datetime.fromisoformat(now()) - datetime.fromisoformat(file.missing_since)
            if not asks and since.total_seconds() >= grace_seconds and self._watched.folder(folder.id):
                self._remove(file)
                self._watched.forget(file)
                yield Changed(file.path, Change.REMOVED)

    def _feeds(self, collection_id: str, file: WatchedFile) -> bool:
        """Return whether another folder puts the document of a file into the collection."""
        return any(
            other.document_id == file.document_id and not other.missing_since
            for folder in self.folders()
            if folder.collection_id == collection_id and folder.id != file.folder_id
            for other in self._watched.files(folder.id)
        )

    def _remove(self, file: WatchedFile) -> None:
        """Remove the document of a file, what was to replace it, and what it was to replace once it was searchable."""
        ingest = self._ingest()
        for one in (ingest.waits_to_replace(file.document_id), file.adding, file.document_id):
            if one and not self._watched.is_on_disk(one, but=file):
                with suppress(UnknownDocumentError):  # a person was faster
                    ingest.remove(one)


class _Look:
    """What a folder holds now, and what was stored of it."""

    def __init__(
        self, folder: WatchedFolder, files: Sequence[WatchedFile], found: _Stats, settle: float, *, retry: bool
    ) -> None:
        self.folder = folder
        self.known = {file.path: file for file in files}
        self.found = found
        self.unreadable = dict[str, str]()
        """Why files cannot be read."""
        self._retry = retry
        self._settled_before = time.time() - settle
        self._digests = dict[str, str | None]()

    def is_as_stored(self, file: WatchedFile) -> bool:
        """Return whether a file has not changed since it was stored, and need not be tried again."""
        stat = self.found[file.path]
        same = (file.size, file.modified_ns) == (stat.st_size, stat.st_mtime_ns)
        return same and not (file.problem and self._retry)

    def digest(self, path: str) -> str | None:
        """Return the SHA-256 of a file; None if it is being written or cannot be read."""
        if path not in self._digests:
            self._digests[path] = self._digest(path)
        return self._digests[path]

    def may_hold(self, document_id: str) -> bool:
        """Return whether a file has these bytes now, or may still have them."""
        stored = {path: file.document_id for path, file in self.known.items()}
        return any((self.digest(path) or stored.get(path)) == document_id for path in self.found)

    def names_gone(self, document_id: str) -> set[str]:
        """Return the names of files that are gone from where they had these bytes."""
        return {
            PurePosixPath(path).name
            for path, file in self.known.items()
            if path not in self.found and file.document_id == document_id
        }

    def _digest(self, path: str) -> str | None:
        file, changed = self.known.get(path), self.found[path].st_mtime
        if file and self.is_as_stored(file):
            return file.document_id
        if self._settled_before < changed <= time.time():
            return None
        try:
            with Path(self.folder.path, path).open("rb") as reading:
                return hashlib.file_digest(reading, "sha256").hexdigest()
        except PermissionError as error:
            self.unreadable[path] = f"It cannot be read ({error.strerror})."
        except OSError:  # gone again
            pass
        return None


def _may_be_a_missing_disk(file: WatchedFile, files: Sequence[WatchedFile], gone: Sequence[WatchedFile]) -> bool:
    """Return whether so much is gone at once that a disk may not be there: most files, or a whole folder in it."""
    top = file.path.split("/")[0] if "/" in file.path else ""
    siblings = [one for one in files if top and one.path.startswith(f"{top}/")]
    whole = len(siblings) > 1 and all(one in gone for one in siblings)
    return whole or len(gone) == len(files) or len(gone) > max(1, len(files) // 2)


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _files(folder: Path, ignored: Sequence[str]) -> tuple[_Stats, list[str]]:
    """Return the files that can be added, and the folders that cannot be read; links are not followed.

    Raises OSError if the folder itself cannot be read.
    """
    found, closed, patterns = _Stats(), list[str](), (*IGNORED, *ignored)
    endings = all_endings()

    def collect(within: str) -> None:
        with os.scandir(folder / within) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                path = f"{within}/{entry.name}" if within else entry.name
                if any(fnmatch(entry.name, pattern) or fnmatch(path, pattern) for pattern in patterns):
                    continue
                with suppress(UnicodeEncodeError, FileNotFoundError):  # no text, or gone meanwhile
                    path.encode()
                    if entry.is_dir(follow_symlinks=False):
                        try:
                            collect(path)
                        except PermissionError:
                            closed.append(path)
                    elif entry.is_file(follow_symlinks=False) and entry.name.lower().endswith(endings):
                        found[path] = (folder / path).stat()

    collect("")
    return found, closed
