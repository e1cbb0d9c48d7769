"""A folder of evaluation PDFs as an ingested library: made once through the product's own path, kept between runs.

The library lies in ``PINCITE_BENCHMARK_CACHE`` (default: the user's cache folder), a data directory per folder.
"""

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import platformdirs

from pincite.core.domain.documents import Document
from pincite.core.domain.ports import Vectors
from pincite.core.domain.settings import Settings
from pincite.core.search.retriever import Retriever
from pincite.core.services.bootstrap import Pincite, open_pincite

POLL_SECONDS = 20.0
EMBED_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Corpus:
    """An ingested folder: the open product, its documents by file name, and the retriever to measure."""

    app: Pincite
    ids: Mapping[str, str]
    names: Mapping[str, str]
    retriever: Retriever
    documents: Sequence[Document]
    """Of the library that the retriever searches."""

    @property
    def context_characters(self) -> int:
        return self.app.settings.current.context_characters

    @property
    def page_texts(self) -> dict[str, list[str]]:
        """Every page's text by file name."""
        counts = {document.id: document.page_count for document in self.documents}
        return {
            name: [self.app.library.page_text(identity, index) for index in range(counts[identity])]
            for name, identity in self.ids.items()
        }

    def embed_cached(self, texts: Sequence[str]) -> Vectors:
        """Return vectors of texts that are not passages; they are cached in a file next to the library."""
        digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
        kept = self.app.settings.current.data_dir / f"vectors-{digest}.npy"
        if kept.exists():
            loaded: Vectors = np.load(kept)
            return loaded
        embedder = self.app.indexes.active()[0]
        parts = []
        for start in range(0, len(texts), EMBED_AT_ONCE):
            parts.append(embedder.embed(texts[start : start + EMBED_AT_ONCE]))
            print(f"Embedding for the baselines: {start} of {len(texts)}", file=sys.stderr, flush=True)
        vectors = np.concatenate(parts)
        np.save(kept, vectors)
        return vectors


def cache_root() -> Path:
    return Path(os.environ.get("PINCITE_BENCHMARK_CACHE") or platformdirs.user_cache_path("pincite-benchmarks"))


def cache_directory(directory: Path) -> Path:
    path = directory.resolve()
    return cache_root() / f"{path.name}-{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"


def open_corpus(directory: Path, *, whole: bool = True, embedder: str = "minilm") -> Corpus:
    """Ingest ``directory``/pdfs where that has not been done, wait for it to be whole, and open it for searching.

    Where it need not be ``whole``, open what is there.
    """
    kept = cache_directory(directory)
    own = kept if embedder == "minilm" else kept.with_name(f"{kept.name}-{embedder}")
    app = open_pincite(Settings(data_dir=own, embedding_model=embedder))
    files = sorted((directory / "pdfs").glob("*.pdf"))
    known = {document.name for document in app.library.list()}
    for file in files:
        if whole and file.name not in known:
            app.ingest.add(file, file.name)
    while whole and not app.ingest.wait(timeout_seconds=POLL_SECONDS):
        ready = sum(document.status == "ready" for document in app.library.list())
        print(f"Ingesting {directory.name}: {ready} of {len(files)} documents ready", file=sys.stderr, flush=True)
    documents = app.library.list()
    ids = {document.name: document.id for document in documents}
    return Corpus(app, ids, {identity: name for name, identity in ids.items()}, app.search.retriever, documents)
