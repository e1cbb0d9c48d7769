"""What can be wrong with a data directory, as values."""

from dataclasses import dataclass
from enum import StrEnum


class DefectKind(StrEnum):
    MISPLACED = "misplaced"
    SETTINGS_MISSING = "settings missing"
    SETTINGS_UNREADABLE = "settings unreadable"
    DATABASE_MISSING = "database missing"
    DATABASE_OLDER = "database older"
    DATABASE_DAMAGED = "database damaged"
    DATABASE_CHANGED = "database changed"
    CHECKPOINTS_DAMAGED = "checkpoints damaged"
    CHECKPOINTS_ORPHANED = "checkpoints orphaned"
    FILE_MISSING = "file missing"
    FILE_CHANGED = "file changed"
    FILE_UNKNOWN = "file unknown"
    DOCUMENT_UNREADABLE = "document unreadable"
    PAGES_LACKING = "pages lacking"
    PAGE_UNREADABLE = "page unreadable"
    PASSAGES_WRONG = "passages wrong"
    WORDS_WRONG = "words wrong"
    VECTORS_WRONG = "vectors wrong"
    DECISION_CHANGED = "decision changed"
    TURN_UNREADABLE = "turn unreadable"
    ROWS_ORPHANED = "rows orphaned"


@dataclass(frozen=True, slots=True)
class Defect:
    """``sentence`` is for people; ``subject`` the id or file that it is about; ``repairable`` by `pincite repair`."""

    kind: DefectKind
    sentence: str
    repairable: bool
    subject: str = ""
