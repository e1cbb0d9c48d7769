"""The queue of ingest jobs: one row a document, kept so that a killed process finds its place again.

A row holds the stage of a document and since when; how much is left of the stage is counted when it is asked for.
"""

from datetime import datetime

from sqlalchemy import RowMapping, select, update

from pincite.core.domain.documents import DocumentStatus, Job, JobStage, JobStatus
from pincite.core.domain.turns import now
from pincite.core.store.database import Database
from pincite.core.store.indexes import Indexes
from pincite.core.store.schema import documents, jobs
from pincite.core.store.shelf import Shelf

_STATUS_OF_STAGE = {
    JobStage.PARSE: DocumentStatus.READING,
    JobStage.KEYWORDS: DocumentStatus.READING,
    JobStage.EMBED: DocumentStatus.EMBEDDING,
    JobStage.OCR: DocumentStatus.RECOGNISING,
}
_STATUS_AT_END = {
    JobStatus.DONE: DocumentStatus.READY,
    JobStatus.FAILED: DocumentStatus.FAILED,
    JobStatus.CANCELLED: DocumentStatus.CANCELLED,
}
_UNFINISHED = jobs.c.status.in_((JobStatus.WAITING, JobStatus.RUNNING))


class Jobs:
    """The rows of ``jobs``, and the document's status that goes with each."""

    def __init__(self, database: Database, shelf: Shelf, indexes: Indexes) -> None:
        self._database = database
        self._shelf = shelf
        self._indexes = indexes

    def list(self) -> list[Job]:
        """Oldest first, finished ones too."""
        return [self._job(row) for row in self._database.rows(select(jobs).order_by(jobs.c.id))]

    def get(self, document_id: str) -> Job | None:
        row = self._row(document_id)
        return self._job(row) if row else None

    def unfinished(self, *stages: JobStage) -> tuple[str, ...]:
        """Return the documents with an unfinished job, in one of these stages or any, oldest job first."""
        query = select(jobs.c.document_id).where(_UNFINISHED).order_by(jobs.c.id)
        return tuple(self._database.run(query.where(jobs.c.stage.in_(stages)) if stages else query).scalars())

    def left(self, document_id: str, stage: JobStage) -> int:
        """How many pages, or passages to embed, the stage has still to do for the document."""
        match stage:
            case JobStage.PARSE:
                return len(self._shelf.missing_pages(document_id))
            case JobStage.KEYWORDS:
                return len(self._shelf.pages_to_index(document_id))
            case JobStage.EMBED:
                return self._indexes.pending_count(document_id=document_id)
            case JobStage.OCR:
                return len(self._shelf.pages_to_recognise(document_id))

    def goes_on(self, job: Job) -> bool:
        """False once this very job has ended, was removed with its document, or is to recognise no more, or not yet."""
        row = self._row(job.document_id)
        if row is None or row["id"] != job.id or row["status"] not in (JobStatus.WAITING, JobStatus.RUNNING):
            return False
        recognising: bool = row["stage"] == JobStage.OCR
        return recognising == (job.stage is JobStage.OCR)

    def enqueue(self, document_id: str) -> None:
        """Add the document's job, or have it go through all stages again; each does what is left for it."""
        moment = now()
        begins = {"stage": JobStage.PARSE, "status": JobStatus.WAITING, "updated_at": moment}
        added = self._database.insert(jobs).values(document_id=document_id, created_at=moment, **begins)
        again = begins | {"message": "", "stage_started_at": ""}
        with self._database.transaction():
            self._database.run(added.on_conflict_do_update(index_elements=["document_id"], set_=again))
            self._set_status(document_id, DocumentStatus.QUEUED, "")

    def advance(self, document_id: str, stage: JobStage) -> None:
        """Put an unfinished job to work in a stage; its progress and the estimate of its time begin here."""
        with self._database.transaction():
            moment, total = now(), self.left(document_id, stage)
            works = {"status": JobStatus.RUNNING, "total": total, "stage_started_at": moment, "updated_at": moment}
            if self._change_unfinished(document_id, stage=stage, **works):
                self._set_status(document_id, _STATUS_OF_STAGE[stage], "")

    def end(self, document_id: str, status: JobStatus, message: str = "") -> None:
        """End an unfinished job; ``message`` also contains what to do."""
        with self._database.transaction():
            if self._change_unfinished(document_id, status=status, message=message, updated_at=now()):
                self._set_status(document_id, _STATUS_AT_END[status], message)

    def set_replaces(self, document_id: str, old_id: str) -> None:
        """Note which document goes once this one can be searched."""
        self._database.run(update(jobs).where(jobs.c.document_id == document_id).values(replaces=old_id))

    def keep(self, document_id: str) -> None:
        """Let no newer document replace this one: it was added once more."""
        self._database.run(update(jobs).where(jobs.c.replaces == document_id).values(replaces=""))

    def _change_unfinished(self, document_id: str, **values: object) -> bool:
        """Return whether there was an unfinished job to change."""
        own = update(jobs).where(jobs.c.document_id == document_id, _UNFINISHED)
        return self._database.change(own.values(**values)) > 0

    def _set_status(self, document_id: str, status: DocumentStatus, message: str) -> None:
        self._database.run(
            update(documents).where(documents.c.id == document_id).values(status=status, message=message)
        )

    def _row(self, document_id: str) -> RowMapping | None:
        return self._database.row(select(jobs).where(jobs.c.document_id == document_id))

    def _job(self, row: RowMapping) -> Job:
        """Return the time left, estimated from the pace of this stage so far."""
        stage, status = JobStage(row["stage"]), JobStatus(row["status"])
        done, total, seconds_left = 0, 0, None
        if status is JobStatus.RUNNING and row["stage_started_at"]:
            left = self.left(row["document_id"], stage)
            total = max(row["total"], left)
            done = total - left
            elapsed = datetime.fromisoformat(now()) - datetime.fromisoformat(row["stage_started_at"])
            seconds_left = elapsed.total_seconds() / done * left if done else None
        return Job(
            row["id"], row["document_id"], stage, status, done, total, row["message"], seconds_left, row["replaces"]
        )
