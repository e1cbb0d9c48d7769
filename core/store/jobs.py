"""The queue of ingest jobs: one row a document, kept so that a killed process finds its place again.

A row holds the stage of a document and since when; how much is left of the stage is counted when it is asked for.
"""

from datetime import datetime
from sqlite3 import Row

from pincite.core.domain.documents import DocumentStatus, Job, JobStage, JobStatus
from pincite.core.domain.turns import now
from pincite.core.store.database import Database
from pincite.core.store.indexes import Indexes
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
_UNFINISHED = "status IN ('waiting', 'running')"


class Jobs:
    """The rows of ``jobs``, and the document's status that goes with each."""

    def __init__(self, database: Database, shelf: Shelf, indexes: Indexes) -> None:
        self._database = database
        self._shelf = shelf
        self._indexes = indexes

    def list(self) -> list[Job]:
        """Oldest first, finished ones too."""
        return [
            self._job(row) for row in self._database.connection.execute("SELECT * FROM jobs ORDER BY id").fetchall()
        ]

    def get(self, document_id: str) -> Job | None:
        row = self._row(document_id)
        return self._job(row) if row else None

    def unfinished(self, *stages: JobStage) -> tuple[str, ...]:
        """Return the documents with an unfinished job, in one of these stages or any, oldest job first."""
        scope = f"AND stage IN ({','.join('?' * len(stages))})" if stages else ""
        rows = self._database.connection.execute(
            f"SELECT document_id FROM jobs WHERE {_UNFINISHED} {scope} ORDER BY id", stages
        )
        return tuple(row["document_id"] for row in rows)

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
        with self._database.transaction() as connection:
            connection.execute(
                """INSERT INTO jobs (document_id, stage, status, created_at, updated_at) VALUES (?, ?, ?, ?, ?)
                   ON CONFLICT (document_id) DO UPDATE SET stage = excluded.stage, status = excluded.status,
                   message = '', stage_started_at = '', updated_at = excluded.updated_at""",
                (document_id, JobStage.PARSE, JobStatus.WAITING, moment, moment),
            )
            self._set_status(document_id, DocumentStatus.QUEUED, "")

    def advance(self, document_id: str, stage: JobStage) -> None:
        """Put an unfinished job to work in a stage; its progress and the estimate of its time begin here."""
        with self._database.transaction() as connection:
            changed = connection.execute(
                f"""UPDATE jobs SET stage = ?1, status = ?2, total = ?3, stage_started_at = ?4, updated_at = ?4
                    WHERE document_id = ?5 AND {_UNFINISHED}""",
                (stage, JobStatus.RUNNING, self.left(document_id, stage), now(), document_id),
            ).rowcount
            if changed:
                self._set_status(document_id, _STATUS_OF_STAGE[stage], "")

    def end(self, document_id: str, status: JobStatus, message: str = "") -> None:
        """End an unfinished job; ``message`` also contains what to do."""
        with self._database.transaction() as connection:
            changed = connection.execute(
                f"UPDATE jobs SET status = ?, message = ?, updated_at = ? WHERE document_id = ? AND {_UNFINISHED}",
                (status, message, now(), document_id),
            ).rowcount
            if changed:
                self._set_status(document_id, _STATUS_AT_END[status], message)

    def set_replaces(self, document_id: str, old_id: str) -> None:
        """Note which document goes once this one can be searched."""
        self._database.connection.execute("UPDATE jobs SET replaces = ? WHERE document_id = ?", (old_id, document_id))

    def keep(self, document_id: str) -> None:
        """Let no newer document replace this one: it was added once more."""
        self._database.connection.execute("UPDATE jobs SET replaces = '' WHERE replaces = ?", (document_id,))

    def _set_status(self, document_id: str, status: DocumentStatus, message: str) -> None:
        self._database.connection.execute(
            "UPDATE documents SET status = ?, message = ? WHERE id = ?", (status, message, document_id)
        )

    def _row(self, document_id: str) -> Row | None:
        found: Row | None = self._database.connection.execute(
            "SELECT * FROM jobs WHERE document_id = ?", (document_id,)
        ).fetchone()
        return found

    def _job(self, row: Row) -> Job:
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
