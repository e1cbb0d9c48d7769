"""What works and what does not: the lines of `pincite doctor` and of the settings page."""

import shutil
from typing import TYPE_CHECKING

from pincite.core.errors import PinciteError
from pincite.core.retrieval.flash import LICENCE, SIZE_MB, is_cached
from pincite.core.types import DocumentStatus, HealthCheck

if TYPE_CHECKING:
    from pincite.core.runtime import Pincite

LEAST_FREE_MIB = 500


def check_health(pincite: "Pincite") -> list[HealthCheck]:
    """Look at every part; none of the looks needs the network, but for the language model's server."""
    return [
        _storage(pincite),
        _database(pincite),
        _embeddings(pincite),
        _reranker(pincite),
        _language_model(pincite),
        _documents(pincite),
    ]


def _storage(pincite: "Pincite") -> HealthCheck:
    free = shutil.disk_usage(pincite.settings.data_dir).free // 2**20
    detail = f"{pincite.settings.data_dir}, {free:,} MiB free"
    return HealthCheck("data directory", free >= LEAST_FREE_MIB, detail, "Free some space, or choose another folder.")


def _database(pincite: "Pincite") -> HealthCheck:
    result = pincite.database.connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    return HealthCheck("database", result == "ok", str(pincite.settings.database_path), "Restore it from a backup.")


def _embeddings(pincite: "Pincite") -> HealthCheck:
    try:
        embedder, index = pincite.indexes.active()
        length = embedder.embed(["A test of the embedder."]).shape[1]
    except PinciteError as error:
        return HealthCheck("embeddings", False, error.message, error.hint)
    return HealthCheck("embeddings", True, f"{embedder.name}, {length} dimensions, {index.count():,} vectors")


def _reranker(pincite: "Pincite") -> HealthCheck:
    if is_cached(pincite.settings.models_dir):
        return HealthCheck("reranker", True, "FlashRank")
    return HealthCheck(
        "reranker", True, f"built-in; FlashRank's weights ({SIZE_MB} MB, {LICENCE}) are not on this machine"
    )


def _language_model(pincite: "Pincite") -> HealthCheck:
    state = pincite.engines()
    wanted = pincite.settings.engine == "ollama"
    detail = state.message if state.available or wanted else f"none; answers are quoted. {state.message}"
    return HealthCheck("language model", state.available or not wanted, detail, "Start Ollama, or choose quoting.")


def _documents(pincite: "Pincite") -> HealthCheck:
    documents = pincite.library.list()
    failed = [document for document in documents if document.status is DocumentStatus.FAILED]
    unread = ", ".join(document.name for document in failed if not document.searchable)
    words_only = ", ".join(document.name for document in failed if document.searchable)
    detail = f"{len(documents)} stored" + (f", not read: {unread}" if unread else "")
    detail += f", searched by words alone: {words_only}" if words_only else ""
    return HealthCheck("documents", not failed, detail, "Retry them on the documents page.")
