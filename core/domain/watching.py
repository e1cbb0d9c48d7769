"""Folders whose files are kept in the library as they are on the disk."""

from dataclasses import dataclass
from enum import StrEnum

MAX_PATTERNS = 50


@dataclass(frozen=True, slots=True)
class WatchedFolder:
    id: str
    path: str
    collection_id: str = ""
    """Its documents are put into this collection; empty: into none."""
    ignored: tuple[str, ...] = ()
    """Patterns of names, or of paths within the folder, such as ``drafts/*``."""
    removes: bool = False
    """Whether the documents of deleted files are removed without asking."""
    checked_at: str = ""
    problem: str = ""
    """Why it could not be looked at; empty where it could."""


@dataclass(frozen=True, slots=True)
class WatchedFile:
    folder_id: str
    path: str
    """Within the folder, with slashes."""
    size: int
    modified_ns: int
    document_id: str = ""
    """Of what it held when it was last added; empty: it could not be."""
    added: bool = False
    """Whether watching added the document, which may then go without a question."""
    problem: str = ""
    """Why it could not be added."""
    adding: str = ""
    """Id of the document that was being added when the process was killed."""
    missing_since: str = ""
    """The file is gone, and a person decides whether its document goes, too."""


class Change(StrEnum):
    ADDED = "added"
    KNOWN = "already there"
    REPLACED = "new version"
    RENAMED = "renamed"
    REMOVED = "removed"
    MISSING = "deleted from the folder"
    FAILED = "not added"
    UNSETTLED = "still being written"


@dataclass(frozen=True, slots=True)
class Changed:
    """What happened to a file."""

    path: str
    change: Change
    problem: str = ""
