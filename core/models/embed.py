"""What all embedders share: a query is embedded once, whoever embeds it."""

import threading
from collections.abc import Sequence

import numpy as np

from core.domain.ports import Embedder, Vectors

FEW_TEXTS = 16
"""Up to this many texts are a query's, answered ahead of the bulk work of an ingest."""
REMEMBERED_QUERIES = 256
"""A retry asks again what was asked before, and many questions look for the same section."""
LEAST_LENGTH = 1e-12


class RememberedEmbedder:
    """An embedder with the vectors of the latest queries; its name and version are the embedder's."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vectors] = {}
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def version(self) -> str:
        return self._embedder.version

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._embedder.embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        if not texts or len(texts) > FEW_TEXTS:
            return self._embedder.embed_queries(texts)
        with self._lock:
            found = {text: self._known[text] for text in texts if text in self._known}
        if new := list(dict.fromkeys(text for text in texts if text not in found)):
            made = dict(zip(new, self._embedder.embed_queries(new), strict=True))
            found |= made
            with self._lock:
                self._known |= made
                for oldest in list(self._known)[:-REMEMBERED_QUERIES]:
                    del self._known[oldest]
        return np.stack([found[text] for text in texts])
