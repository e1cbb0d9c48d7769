"""The queue of ingest jobs: one row a document, kept so that a killed process finds its place again."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from sqlite3 import Row

from core.domain.documents import DocumentStatus, Job, JobStage, JobStatus
from core.domain.turns import now
from core.store.database import Database

_STATUS_OF_STAGE = {
    JobStage.PARSE: DocumentStatus.READING,
    JobStage.KEYWORDS: DocumentStatus.READING,
    JobStage.EMBED: DocumentStatus.EMBEDDING,
    JobStage.OCR: DocumentStatus.RECOGNISING,
}
_UNFINISHED = (JobStatus.WAITING, JobStatus.RUNNING)


class Jobs:
    """The rows of ``jobs``, and the document's status that goes with each."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self) -> list[Job]:
        """Oldest first, finished ones too."""
        return [_job(row) for row in self._database.connection.execute("SELECT * FROM jobs ORDER BY id")]

    def list_of(self, document_ids: Sequence[str] | None) -> Iterator[Job]:
        """The jobs of these documents, or all."""
        return (job for job in self.list() if document_ids is None or job.document_id in document_ids)

    def get(self, document_id: str) -> Job | None:
        row = self._row(document_id)
        return _job(row) if row else None

    def goes_on(self, job: Job) -> bool:
        """False once this very job was cancelled, failed or removed with its document, even if that is back."""
        row = self._row(job.document_id)
        return row is not None and row["id"] == job.id and row["status"] in _UNFINISHED

    def next_in(self, stage: JobStage) -> Job | None:
        """The oldest unfinished job in this stage."""
        row = self._database.connection.execute(
            "SELECT * FROM jobs WHERE status IN (?, ?) AND stage = ? ORDER BY id LIMIT 1", (*_UNFINISHED, stage)
        ).fetchone()
        return _job(row) if row else None

    def in_stage(self, stage: JobStage) -> Sequence[str]:
        rows = self._database.connection.execute(
            "SELECT document_id FROM jobs WHERE status IN (?, ?) AND stage = ?", (*_UNFINISHED, stage)
        )
        return [row["document_id"] for row in rows]

    def enqueue(self, document_id: str, stage: JobStage = JobStage.PARSE) -> None:
        """Add the document's job, or set it going again from ``stage``."""
        moment = now()
        with self._database.transaction() as connection:
            connection.execute(
                """INSERT INTO jobs (document_id, stage, status, created_at, updated_at) VALUES (?, ?, ?, ?, ?)
                   ON CONFLICT (document_id) DO UPDATE SET stage = excluded.stage, status = excluded.status,
                   message = '', stage_started_at = '', updated_at = excluded.updated_at""",
                (document_id, stage, JobStatus.WAITING, moment, moment),
            )
            connection.execute(
                "UPDATE documents SET status = ?, message = '' WHERE id = ?", (DocumentStatus.QUEUED, document_id)
            )

    def advance(self, document_id: str, stage: JobStage, *, done: int, total: int) -> None:
        """Say how far an unfinished job is; the clock of the estimate starts with each stage."""
        with self._database.transaction() as connection:
            row = self._row(document_id)
            if row is None or row["status"] not in _UNFINISHED:
                return
            moment = now()
            if row["stage"] != stage or not row["stage_started_at"]:
                connection.execute(
                    "UPDATE jobs SET stage_started_at = ?, stage_started_done = ? WHERE document_id = ?",
                    (moment, done, document_id),
                )
            connection.execute(
                "UPDATE jobs SET stage = ?, status = ?, done = ?, total = ?, updated_at = ? WHERE document_id = ?",
                (stage, JobStatus.RUNNING, done, total, moment, document_id),
            )
            connection.execute(
                "UPDATE documents SET status = ?, message = ? WHERE id = ?",
                (_STATUS_OF_STAGE[stage], f"{stage.capitalize()}: {done} of {total}", document_id),
            )

    def set_replaces(self, document_id: str, old_id: str) -> None:
        """Note which document goes once this one can be searched."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE jobs SET replaces = ? WHERE document_id = ?", (old_id, document_id))

    def replaces(self, document_id: str) -> str:
        row = self._row(document_id)
        return row["replaces"] if row else ""

    def finish(self, document_id: str) -> None:
        self._end(document_id, JobStatus.DONE, DocumentStatus.READY, "")

    def fail(self, document_id: str, message: str) -> None:
        """``message`` says what to do as well."""
        self._end(document_id, JobStatus.FAILED, DocumentStatus.FAILED, message)

    def cancel(self, document_id: str) -> None:
        message = "Stopped. What was read so far can be searched; retry goes on from there."
        self._end(document_id, JobStatus.CANCELLED, DocumentStatus.CANCELLED, message)

    def _end(self, document_id: str, status: JobStatus, document_status: DocumentStatus, message: str) -> None:
        with self._database.transaction() as connection:
            changed = connection.execute(
                """UPDATE jobs SET status = ?1, message = ?2, updated_at = ?3, done = iif(?1 = 'done', total, done)
                   WHERE document_id = ?4 AND status IN (?5, ?6)""",
                (status, message, now(), document_id, *_UNFINISHED),
            ).rowcount
            if changed:
                connection.execute(
                    "UPDATE documents SET status = ?, message = ? WHERE id = ?", (document_status, message, document_id)
                )

    def _row(self, document_id: str) -> Row | None:
        found: Row | None = self._database.connection.execute(
            "SELECT * FROM jobs WHERE document_id = ?", (document_id,)
        ).fetchone()
        return found


def _job(row: Row) -> Job:
    return Job(
        id=row["id"],
        document_id=row["document_id"],
        stage=JobStage(row["stage"]),
        status=JobStatus(row["status"]),
        done=row["done"],
        total=row["total"],
        message=row["message"],
        seconds_left=_seconds_left(row),
    )


def _seconds_left(row: Row) -> float | None:
    """From the pace of this stage so far; None while it is too early to say."""
    did = row["done"] - row["stage_started_done"]
    if row["status"] != JobStatus.RUNNING or did <= 0 or not row["stage_started_at"]:
        return None
    elapsed = datetime.fromisoformat(row["updated_at"]) - datetime.fromisoformat(row["stage_started_at"])
    left: float = elapsed.total_seconds() / did * (row["total"] - row["done"])
    return left
