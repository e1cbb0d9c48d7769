"""A second embedder for tests of switching: MiniLM with its numbers turned round, which may wait, fail or kill."""

import os
import signal
import threading
from collections.abc import Sequence

import numpy as np

from pincite.core.domain.errors import ModelUnavailableError
from pincite.core.domain.ports import Embedder, Vectors
from pincite.core.domain.settings import Settings
from pincite.core.models.minilm import MiniLmEmbedder
from pincite.core.services.registry import make_embedder
from tests.ingest.workshop import LONG_SECONDS


class OtherEmbedder:
    """Another model: MiniLM with its numbers turned round. It may wait, fail or end the process on its way."""

    name = "other"
    version = "1"
    dimensions = 384

    def __init__(self, *, kill_after: int = 0) -> None:
        self._minilm = MiniLmEmbedder()
        self._kill_after = kill_after
        self.opened = threading.Event()
        self.opened.set()
        self.reached = threading.Event()
        self.broken = False
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.broken:
            raise ModelUnavailableError("The other model is away.", hint="Start it.")
        self.embedded.extend(texts)
        if self._kill_after and len(self.embedded) > self._kill_after:
            os.kill(os.getpid(), signal.SIGKILL)
        if len(texts) > 1:
            self.reached.set()
            assert self.opened.wait(LONG_SECONDS)
        return np.ascontiguousarray(self._minilm.embed(texts)[:, ::-1])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)


def choose(other: OtherEmbedder, name: str, settings: Settings) -> Embedder:
    return other if name == "other" else make_embedder(name, settings)
