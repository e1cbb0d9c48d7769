"""Embedding models of an Ollama server."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

import numpy as np
import ollama

from core.domain.errors import ModelUnavailableError, SettingsError
from core.domain.ports import Vectors
from core.domain.settings import Settings
from core.models.client import ServerTrouble, model_server
from core.models.embed import FEW_TEXTS, LEAST_LENGTH
from core.models.ollama import LOOK_SECONDS, context_length, host_of

MOST_OLLAMA_TOKENS = 2048
MOST_DIMENSIONS = 16_384
EMBED_SECONDS = 120.0


class OllamaEmbedder:
    """An embedding model of an Ollama server; its version is the digest of the model's files."""

    def __init__(self, model: str, *, host: str = "") -> None:
        self.model = model
        self.name = f"ollama:{model}"
        self._chosen_host = host

    @classmethod
    def open(cls, settings: Settings, model: str) -> "OllamaEmbedder":
        if not model:
            raise SettingsError("Which of Ollama's models embeds is not said.", hint="Use ollama:NAME.")
        return cls(model, host=settings.ollama_host)

    @cached_property
    def version(self) -> str:
        with self._server(LOOK_SECONDS) as server:
            listed = server.list().models
        wanted = {self.model, f"{self.model}:latest"}
        for entry in listed:
            if entry.model in wanted and re.fullmatch(r"(?:sha256:)?[0-9a-f]{12,64}", entry.digest or ""):
                return (entry.digest or "")[:12]
        raise ModelUnavailableError(
            f"Ollama does not have the embedding model {self.model}.", hint=f"Run: ollama pull {self.model}"
        )

    @cached_property
    def dimensions(self) -> int:
        return int(self._request(["dimensions"]).shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Raises ModelUnavailableError."""
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return np.concatenate([self._request(texts[at : at + FEW_TEXTS]) for at in range(0, len(texts), FEW_TEXTS)])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)

    @cached_property
    def _context_tokens(self) -> int:
        """Where the server is to cut texts: left to itself it lets a model of 512 tokens crash on 2,048."""
        with self._server(LOOK_SECONDS) as server:
            return context_length(server.show(self.model), MOST_OLLAMA_TOKENS)

    def _request(self, texts: Sequence[str]) -> Vectors:
        options = {"num_ctx": self._context_tokens}
        filled = [text or " " for text in texts]
        with self._server(EMBED_SECONDS) as server:
            rows = server.embed(model=self.model, input=filled, truncate=True, options=options).embeddings
            return _unit_vectors(rows, len(texts))

    @contextmanager
    def _server(self, seconds: float) -> Iterator[ollama.Client]:
        """Raises ModelUnavailableError."""
        try:
            with model_server(host_of(self._chosen_host), seconds=seconds) as server:
                yield server
        except ServerTrouble as trouble:
            raise self._unavailable(trouble) from trouble

    def _unavailable(self, trouble: ServerTrouble) -> ModelUnavailableError:
        return ModelUnavailableError(
            f"Ollama could not embed with {self.model}: the server {trouble}.",
            hint=f"Check that Ollama runs and has the model (ollama pull {self.model}), then try again.",
        )


def _unit_vectors(rows: Sequence[Sequence[float]], count: int) -> Vectors:
    """Shape (count, dimensions), each row of length 1. Raises ServerTrouble for anything that cannot be made so."""
    if len(rows) != count or len({len(row) for row in rows}) != 1 or not 1 <= len(rows[0]) <= MOST_DIMENSIONS:
        raise ServerTrouble("sent vectors of a number or length that was not asked for")
    vectors = np.asarray(rows, dtype=np.float64)
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths < LEAST_LENGTH).any():
        raise ServerTrouble("sent vectors that point nowhere")
    unit: Vectors = (vectors / lengths).astype(np.float32)
    return unit
