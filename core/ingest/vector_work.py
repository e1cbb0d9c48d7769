"""The work on vectors: embedding the passages that lack one, and keeping Chroma in step with what was embedded."""

from contextlib import suppress

from core.domain.documents import JobStage
from core.domain.errors import FullDiskError, PinciteError, StoppedError
from core.ingest.workplace import Workplace
from core.models.client import stoppable

BATCH_PASSAGES = 256


class VectorWork:
    def __init__(self, place: Workplace) -> None:
        self._place = place
        self._looked_through = False

    def embed_next(self) -> bool:
        """Embed one batch; False when no passage waits, or none can be embedded now."""
        try:
            with stoppable(self._place.closing.is_set):
                return self._embed_next()
        except StoppedError:
            return False
        except FullDiskError:
            raise
        except PinciteError as error:
            self._stop_embedding(str(error))
        except Exception:
            self._stop_embedding("Retry; if it happens again, report it.")
            raise
        return False

    def _embed_next(self) -> bool:
        if not self._looked_through:
            self._place.indexes.drop_unsound()
            for document_id in self._place.jobs.in_stage(JobStage.EMBED):
                self._place.settle(document_id)
            self._looked_through = True
        return self._embed_batch()

    def keep_in_step(self) -> bool:
        """Bring Chroma in step with what is embedded, some passages at a time."""
        return self._looked_through and self._place.indexes.keep_in_step(self._place.closing.is_set)

    def close(self) -> None:
        """Leave Chroma to the next process, in step where that is soon done."""
        if self._looked_through:
            with suppress(PinciteError):
                self._place.indexes.keep_in_step(lambda: False)
        self._place.indexes.let_go()

    def _embed_batch(self) -> bool:
        indexes = self._place.indexes
        batch = indexes.pending(limit=BATCH_PASSAGES)
        if batch is None:
            return indexes.finish_build()
        if not indexes.embed(batch, self._place.closing.is_set):
            return False
        for document_id in batch.document_ids:
            self._place.settle(document_id)
        self._place.announce()
        return True

    def _stop_embedding(self, trouble: str) -> None:
        """The jobs that wait for vectors fail; what else waits is tried again later, or when it is asked for again."""
        for document_id in self._place.jobs.in_stage(JobStage.EMBED):
            self._place.jobs.fail(document_id, f"Words can be searched, but embedding stopped. {trouble}")
        self._place.indexes.report_trouble(trouble)
