"""The errors Pincite raises on purpose: each states what happened and what to do."""


class PinciteError(Exception):
    """An error written for the person in front of the screen.

    ``message`` names what happened and to what; ``hint`` is what to do.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class DocumentError(PinciteError):
    """A file cannot become a document."""


class NotAPdfError(DocumentError):
    """The bytes are not a PDF."""


class EmptyFileError(DocumentError):
    """The file has no bytes."""


class TooLargeError(DocumentError):
    """The file or its page count is over a limit; the message names the limit."""


class PasswordNeededError(DocumentError):
    """The file is encrypted and no password, or a wrong one, was given."""


class UnreadablePdfError(DocumentError):
    """No reader can open the file."""


class ReaderStoppedError(DocumentError):
    """The reading process crashed or went over its time or memory limit."""


class UnknownDocumentError(DocumentError):
    """No stored document has this name or id, or more than one has."""


class UnknownPageError(DocumentError):
    """A document has no page with this number."""


class AccessError(PinciteError):
    """The user may not do this."""


class CollectionError(PinciteError):
    """No collection has this name, or another one has it."""


class GridError(PinciteError):
    """A grid cannot be stored or changed as asked; the message explains why."""


class UnknownGridError(GridError):
    """No stored grid has this id or name."""


class ModelError(PinciteError):
    """A language or embedding model did not do its work."""


class ModelUnavailableError(ModelError):
    """The model's server cannot be reached, or does not have the model."""


class ModelInterruptedError(ModelError):
    """The model's server was lost in the middle of a reply."""


class StoppedError(PinciteError):
    """The person who waited for it stopped the operation; nothing is wrong."""


class IndexMismatchError(PinciteError):
    """A query came with another embedder than the one the index was built with."""


class StorageError(PinciteError):
    """The data directory cannot be used."""


class BusyError(StorageError):
    """Somebody else holds the write lock for longer than anybody should wait."""


class FullDiskError(StorageError):
    """There is no space left for what was to be written; what was there before is as it was."""


class DamagedDatabaseError(StorageError):
    """Bytes of a database are not what was written."""


class NewerDatabaseError(StorageError):
    """The database was written by a version to come."""


class ForeignDirectoryError(StorageError):
    """The data directory, or the database in it, is not Pincite's own."""


class SettingsError(PinciteError):
    """A setting has a value that cannot work; the message names the setting and the allowed range."""


class TurnError(PinciteError):
    """A turn cannot be started, stopped or run again."""


class UnknownSessionError(TurnError):
    """No stored session has this id."""


class NoAnswerError(TurnError):
    """A question was asked, and there is no answer: it failed or took too long."""
