"""The documents' files: in a folder, or in an object store of which each process keeps copies of what it reads."""

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.core.domain.errors import DocumentError, SettingsError
from pincite.core.domain.settings import Settings

if TYPE_CHECKING:
    from obstore.store import ObjectStore

CHUNK_BYTES = 2**22
MAX_REASON = 300
"""Characters of what the client says."""


class Files:
    """Files by name; ``path`` is where a file can be read on this machine."""

    def __init__(self, settings: Settings) -> None:
        self._folder = settings.files_dir
        self._url = settings.bucket
        if self._url and not settings.database_url:
            raise SettingsError(
                f"The files are to be kept in {self._url}, but the library is in this data directory.",
                hint="Name a database for it with PINCITE_DATABASE_URL, or a folder with PINCITE_FILES.",
            )

    @property
    def has_copies(self) -> bool:
        """Whether the folder has copies of files that are kept elsewhere."""
        return bool(self._url)

    def path(self, name: str) -> Path:
        """Return the path of a file, which is not there if the file is not. Raises DocumentError."""
        path = self._folder / name
        if self._url and not path.exists():
            with suppress(FileNotFoundError):
                self._fetch(name, path)
        return path

    def renew(self, name: str) -> None:
        """Fetch a file again, whether there is a copy of it here or not. Raises FileNotFoundError and DocumentError."""
        if self._url:
            self._fetch(name, self._folder / name)

    def put(self, name: str, copy: Path) -> None:
        """Send a file to where it is kept; to a folder ``move_in`` brings it. Raises DocumentError."""
        if self._url:
            import obstore

            with self._reached(FileNotFoundError):  # there is no such bucket
                obstore.put(self._bucket, name, copy)

    def move_in(self, name: str, copy: Path) -> None:
        """Move the file to its place on this machine."""
        copy.replace(self._folder / name)

    def delete(self, name: str) -> None:
        """Delete a file, if it is there. Raises DocumentError."""
        (self._folder / name).unlink(missing_ok=True)
        if self._url:
            import obstore

            with self._reached(), suppress(FileNotFoundError):
                obstore.delete(self._bucket, name)

    def sizes(self) -> dict[str, int]:
        """Return the bytes of every file. Raises DocumentError."""
        if not self._url:
            found = {}
            for one in self._folder.glob("*.pdf"):
                with suppress(OSError):  # it was removed in between
                    found[one.name] = one.stat().st_size
            return found
        import obstore

        with self._reached(FileNotFoundError):
            return {one["path"]: one["size"] for some in obstore.list(self._bucket) for one in some}

    def delete_copies(self, but: Callable[[list[str]], set[str]]) -> None:
        """Delete this machine's copies of files other than those that ``but`` returns of their names."""
        names = [path.name for path in self._folder.glob("*.pdf")] if self._url else []
        for name in set(names) - (but(names) if names else set()):
            (self._folder / name).unlink(missing_ok=True)

    def _fetch(self, name: str, path: Path) -> None:
        import obstore

        self._folder.mkdir(parents=True, exist_ok=True)
        partial = self._folder / f"{uuid.uuid4().hex}.partial"
        try:
            with self._reached(), partial.open("wb") as out:
                for chunk in obstore.get(self._bucket, name).stream(min_chunk_size=CHUNK_BYTES):
                    out.write(chunk)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    @property
    def _bucket(self) -> "ObjectStore":
        return _store(self._url, os.environ.get("AWS_ENDPOINT_URL", ""))

    @contextmanager
    def _reached(self, *others: type[Exception]) -> Iterator[None]:
        """Raises DocumentError where the object store refuses or cannot be reached, or for one of ``others``."""
        try:
            from obstore.exceptions import BaseError
        except ImportError as error:  # an extra that a laptop does without
            hint = "Install it with: pip install 'pincite[server]'"
            raise SettingsError("The client of object stores is missing.", hint=hint) from error
        refusals: tuple[type[Exception], ...] = (BaseError, ValueError, *others)
        try:
            yield
        except refusals as error:
            reason = str(error).strip().partition("\n")[0][:MAX_REASON]
            raise DocumentError(
                f"The files in {self._url} cannot be reached ({reason}).",
                hint="Check the address in PINCITE_FILES, the bucket, and the keys in AWS_ACCESS_KEY_ID and so on.",
            ) from error


@cache
def _store(url: str, endpoint: str) -> "ObjectStore":
    """Return the client, with its connections; keys and region are in the variables of its service."""
    from obstore.store import from_url

    return from_url(url, client_options={"allow_http": endpoint.startswith("http://")})
