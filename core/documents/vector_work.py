"""The work on vectors: embedding the passages that an index lacks while the batch before is being stored."""

from concurrent.futures import Future, ThreadPoolExecutor

from pincite.core.documents.workplace import Workplace
from pincite.core.errors import PinciteError, StoppedError
from pincite.core.language.client import stoppable
from pincite.core.ports import Vectors
from pincite.core.retrieval.embed import step_back
from pincite.core.retrieval.indexes import PendingPassages
from pincite.core.types import JobStage

BATCH_PASSAGES = 256
"""Chroma takes in large batches at a third of the cost of small ones."""


class VectorWork:
    def __init__(self, place: Workplace) -> None:
        self._place = place
        self._storing = ThreadPoolExecutor(1, thread_name_prefix="ingest-store", initializer=step_back)
        self._stored: Future[None] | None = None
        self._taken = (0, 0)
        self._tidied = False

    def close(self) -> None:
        """Wait for the batch that is being stored."""
        self._storing.shutdown()

    def embed_next(self) -> bool:
        """Embed one batch; False when no passage waits, or none can be embedded now."""
        try:
            with stoppable(self._place.closing.is_set):
                return self._embed_next()
        except StoppedError:
            return False
        except PinciteError as error:
            self._stop_embedding(str(error))
        except Exception:
            self._stop_embedding("Retry; if it happens again, report it.")
            raise
        return False

    def _embed_next(self) -> bool:
        if not self._tidied:
            self._place.indexes.tidy()
            for document_id in self._place.jobs.in_stage(JobStage.EMBED):
                self._place.settle(document_id)
            self._tidied = True
        return self._embed_batch()

    def _embed_batch(self) -> bool:
        """Embed the next passages while those before them are being stored."""
        batch = self._place.indexes.pending(limit=BATCH_PASSAGES, after=self._taken)
        if batch is None:
            self._taken = (0, 0)
            return self._finish_storing() or self._place.indexes.finish_build()
        vectors = self._place.indexes.embed(batch, self._place.closing.is_set)
        self._finish_storing()
        if vectors is None:
            return False
        self._taken = (batch.index_id, batch.numbers[-1])
        self._stored = self._storing.submit(self._store, batch, vectors)
        return True

    def _store(self, batch: PendingPassages, vectors: dict[bytes, Vectors]) -> None:
        self._place.indexes.store(batch, vectors)
        for document_id in dict.fromkeys(passage.document_id for passage in batch.passages):
            self._place.settle(document_id)
        self._place.announce()

    def _finish_storing(self) -> bool:
        """Wait for the batch that is being stored; False when there was none."""
        stored, self._stored = self._stored, None
        if stored is not None:
            stored.result()
        return stored is not None

    def _stop_embedding(self, trouble: str) -> None:
        """The jobs that wait for vectors fail; a build that has trouble alone waits until it is asked for again."""
        self._taken = (0, 0)
        waiting = self._place.jobs.in_stage(JobStage.EMBED)
        for document_id in waiting:
            self._place.jobs.fail(document_id, f"Words can be searched, but embedding stopped. {trouble}")
        if not waiting:
            self._place.indexes.report_trouble(trouble)
