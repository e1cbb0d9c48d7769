"""What works and what does not: the lines of `pincite doctor` and of the settings page."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.core.domain.documents import DocumentStatus
from pincite.core.domain.errors import DocumentError, PinciteError
from pincite.core.domain.settings import Settings
from pincite.core.figures.formulas import users_formulas
from pincite.core.models.flash import LICENCE, MODEL, SIZE_MB, is_cached
from pincite.core.questions.lexicon import users_lexicon
from pincite.core.services.registry import AUTO, QUOTING, EngineState, make_embedder

if TYPE_CHECKING:
    from pincite.core.store.condition import Condition
    from pincite.core.store.library import Library

MIN_FREE_MIB = 500


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One line of `pincite doctor` and of the settings page."""

    part: str
    ok: bool
    detail: str
    hint: str = ""


class Health:
    """None of the looks needs the network, but for the one at the language model's server."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        library: "Library",
        stores: "Condition",
        engines: Callable[[], EngineState],
    ) -> None:
        self._current = settings
        self._library = library
        self._stores = stores
        self._engines = engines

    def checks(self) -> list[HealthCheck]:
        """Look at every part."""
        looks = (self._storage, self._database, self._embeddings, self._reranker, self._terms,
                 self._language_model, self._documents, self._files, self._records)  # fmt: skip
        return [look() for look in looks]

    def reachable(self) -> None:
        """Raises StorageError if the database does not answer."""
        self._stores.database_answers()

    def storage(self) -> Mapping[str, int]:
        """Bytes on disk by part."""
        settings = self._current()
        parts = {
            "documents": settings.files_dir,
            "checkpoints": settings.checkpoints_path,
            "models": settings.models_dir,
        }
        return {"database": self._stores.database_size()} | {name: _size_of(path) for name, path in parts.items()}

    def _storage(self) -> HealthCheck:
        directory = self._current().data_dir
        there = next(path for path in (directory, *directory.parents) if path.exists())
        free = shutil.disk_usage(there).free // 2**20
        made = "" if there == directory else "; it will be created with the first document"
        detail = f"{directory}, {free:,} MiB free{made}"
        return HealthCheck("data directory", free >= MIN_FREE_MIB, detail, "Free some space, or choose another folder.")

    def _database(self) -> HealthCheck:
        sound = self._stores.database_is_sound()
        return HealthCheck("database", sound, self._stores.database_name, "Restore it from a backup.")

    def _embeddings(self) -> HealthCheck:
        try:
            embedder = make_embedder(self._stores.embedder_name(), self._current())
            length = embedder.embed(["A test of the embedder."]).shape[1]
        except PinciteError as error:
            detail = f"{error.message} Only keyword search is available."
            return HealthCheck("embeddings", False, detail, error.hint)
        count, troubles = self._stores.vectors()
        detail = " ".join([f"Search by meaning: {embedder.name}, {count:,} vectors of {length} numbers.", *troubles])
        hint = "Pincite fixes this in the background while the app is open."
        return HealthCheck("embeddings", not troubles, detail, hint)

    def _reranker(self) -> HealthCheck:
        folder = self._current().models_dir
        if is_cached(folder):
            return HealthCheck("reranker", True, f"FlashRank {MODEL} ranks, because its weights are in {folder}.")
        why = f"FlashRank's weights ({SIZE_MB} MB, {LICENCE}) are not in {folder}"
        return HealthCheck(
            "reranker", True, f"The built-in scorer ranks, because {why}; the settings page fetches them."
        )

    def _terms(self) -> HealthCheck:
        data_dir = self._current().data_dir
        lexicon, formulas = users_lexicon(data_dir), users_formulas(data_dir)
        problems = [*lexicon.problems, *formulas.problems]
        counted = f"{len(lexicon.terms)} specialist terms, {len(formulas.formulas)} formulas."
        detail = " ".join([counted, *problems])
        return HealthCheck("terms", not problems, detail, "Correct the file. All other files are in use.")

    def _language_model(self) -> HealthCheck:
        state = self._engines()
        wanted = self._current().engine not in (AUTO, QUOTING)
        detail = state.message if state.available or wanted else f"none; answers quote the documents. {state.message}"
        return HealthCheck("language model", state.available or not wanted, detail, "Start Ollama, or choose quoting.")

    def _documents(self) -> HealthCheck:
        documents = self._library.list()
        failed = [document for document in documents if document.status is DocumentStatus.FAILED]
        unread = ", ".join(document.name for document in failed if not document.searchable)
        words_only = ", ".join(document.name for document in failed if document.searchable)
        detail = f"{len(documents)} stored" + (f", not read: {unread}" if unread else "")
        detail += f", found by keywords only: {words_only}" if words_only else ""
        return HealthCheck("documents", not failed, detail, "Retry them on the documents page.")

    def _files(self) -> HealthCheck:
        try:
            missing = self._library.files_missing()
        except DocumentError as error:
            return HealthCheck("files", False, error.message, error.hint)
        if missing:
            detail = f"missing or changed: {', '.join(missing)}; their text can still be searched"
            return HealthCheck("files", False, detail, "Add the same files again. `pincite verify` gives details.")
        unknown = self._stores.unknown_files()
        if not unknown:
            return HealthCheck("files", True, "no stray files")
        detail = f"{len(unknown)} not belonging to any document, set aside in {self._stores.quarantine}; none deleted"
        return HealthCheck("files", False, detail, "Add them on the documents page or with `pincite add`.")

    def _records(self) -> HealthCheck:
        damaged = self._stores.damaged_records()
        detail = f"cannot be read, and are kept as they are: {', '.join(damaged)}" if damaged else "all readable"
        return HealthCheck("records", not damaged, detail, "Their contents are missing from the app. Restore a backup.")


def _size_of(path: Path) -> int:
    """Return the size of a file; a database's includes its write-ahead log."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))
