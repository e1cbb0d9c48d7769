"""What can be wrong with a data directory, as values."""

from dataclasses import dataclass
from enum import StrEnum


class DefectKind(StrEnum):
    MISPLACED = "misplaced"
    SETTINGS_UNREADABLE = "settings_unreadable"
    DATABASE_MISSING = "database_missing"
    DATABASE_DAMAGED = "database_damaged"
    CHECKPOINTS_DAMAGED = "checkpoints_damaged"
    CHECKPOINTS_ORPHANED = "checkpoints_orphaned"
    FILE_MISSING = "file_missing"
    FILE_CHANGED = "file_changed"
    FILE_UNKNOWN = "file_unknown"
    DOCUMENT_UNREADABLE = "document_unreadable"
    PAGES_LACKING = "pages_lacking"
    PAGE_UNREADABLE = "page_unreadable"
    PASSAGES_WRONG = "passages_wrong"
    WORDS_WRONG = "words_wrong"
    VECTORS_WRONG = "vectors_wrong"
    DECISION_CHANGED = "decision_changed"
    TURN_UNREADABLE = "turn_unreadable"
    ROWS_ORPHANED = "rows_orphaned"


@dataclass(frozen=True, slots=True)
class Defect:
    """``sentence`` is for people; ``subject`` the id or file that it is about; ``repairable`` by `pincite repair`."""

    kind: DefectKind
    sentence: str
    repairable: bool
    subject: str = ""
