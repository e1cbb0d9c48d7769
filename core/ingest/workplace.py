"""What the workers of ingest share: the stores, the reader, and how to tell that a job stops or what it waits for."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from core.domain.documents import Job, JobStage, JobStatus
from core.domain.errors import FullDiskError, PinciteError
from core.domain.ports import PageReader
from core.domain.settings import Settings
from core.store.database import Database
from core.store.indexes import Indexes
from core.store.jobs import Jobs
from core.store.library import Library
from core.store.shelf import Shelf

_BEING_READ = (JobStage.PARSE, JobStage.KEYWORDS)


class JobStoppedError(Exception):
    """The job was cancelled or removed, or the process is closing."""


@dataclass(frozen=True, slots=True)
class Workplace:
    database: Database
    library: Library
    shelf: Shelf
    jobs: Jobs
    indexes: Indexes
    reader: PageReader
    settings: Settings
    closing: threading.Event
    announce: Callable[[], None]
    """Wakes the other workers and whoever waits."""

    def work_on(self, job: Job, work: Callable[[Job], None], what: str) -> None:
        """Do a document's work; what goes wrong ends its job with a message that says what to do."""
        try:
            work(job)
        except JobStoppedError:
            return
        except FullDiskError:
            raise  # the job is not to blame, and goes on once there is space
        except PinciteError as error:
            self._fail(job, str(error))
        except Exception:
            if self.jobs.goes_on(job):
                self._fail(job, f"{what} stopped unexpectedly. Retry; if it happens again, report the file.")
                raise

    def go_on(self, job: Job) -> None:
        """Raises JobStoppedError when there is no reason to."""
        if self.closing.is_set() or not self.jobs.goes_on(job):
            raise JobStoppedError

    def settle(self, document_id: str) -> None:
        """Say what an already read document waits for, or that it is ready."""
        with self.database.transaction():
            job = self.jobs.get(document_id)
            if job is None or job.stage in _BEING_READ or job.status is not JobStatus.RUNNING:
                return
            pending = self.indexes.pending_count(document_id=document_id)
            total = self.library.get(document_id).passage_count
            waiting = len(self.shelf.pages_to_recognise(document_id)) if self.settings.ocr else 0
            if pending and not (waiting and job.stage is JobStage.OCR):
                self.jobs.advance(document_id, JobStage.EMBED, done=total - pending, total=total)
            elif waiting:
                total = max(job.total, waiting) if job.stage is JobStage.OCR else waiting
                self.jobs.advance(document_id, JobStage.OCR, done=total - waiting, total=total)
            else:
                self.jobs.finish(document_id)

    def _fail(self, job: Job, message: str) -> None:
        """The reader knows a file by where it is stored; people know the document by its name."""
        with self.database.transaction():
            if self.jobs.goes_on(job):
                name = self.library.get(job.document_id).name
                stored = self.library.file_path(job.document_id).name
                self.jobs.fail(job.document_id, message.replace(stored, name))
