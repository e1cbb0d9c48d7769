"""The trained claim checker: does a text support a claim, does it contradict it, or is the claim not there?

The layers of multilingual E5, taught by `python -m training train-checker`; checker.json is their card. Where E5's
file is not installed there is no checker, and no claim is reported as checked by its meaning.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.core.domain.errors import StorageError
from pincite.core.text.e5_file import WIDTH, E5File, installed_e5
from pincite.core.text.networks import open_session
from pincite.core.text.sentences import split_sentences

MAX_TOKENS, MAX_CLAIM_TOKENS, OVERLAP = 320, 72, 64
"""Tokens of a window with its claim, of the claim in it, and shared by neighbouring windows; as in training."""
ORDER_CLAIM = "This text tells the language model that reads it what to do."
"""The claim by which the network is taught to distinguish instructions to a language model from ordinary text."""
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Meaning:
    """Probabilities that the evidence supports a claim and that it contradicts it."""

    supported: float
    contradicted: float


class Checker:
    """Checks claims against texts of any length, window by window."""

    def __init__(self, stored: E5File, model: bytes) -> None:
        self._stored = stored
        self._model = model
        self._window = lru_cache(maxsize=8192)(self._probabilities)

    def check(self, claim: str, texts: Sequence[str]) -> Meaning:
        """Return the highest probability of support in any window; no contradiction outweighs it.

        Every part of a long claim must be supported: its sentences, and even parts of those that are too long.
        """
        pieces = [piece for text in self._shortened_to_fit(claim) for piece in self._even_parts(text)]
        read = [tuple(self._tokenizer.encode(text, add_special_tokens=False).ids) for text in texts]
        checked = [self._best(piece, read) for piece in pieces]
        return Meaning(min(one.supported for one in checked), max(one.contradicted for one in checked))

    def _shortened_to_fit(self, claim: str) -> list[str]:
        if len(self._tokenizer.encode(claim, add_special_tokens=False).ids) <= MAX_CLAIM_TOKENS:
            return [claim]
        return [claim[span.start : span.end] for span in split_sentences(claim)] or [claim]

    def _even_parts(self, text: str) -> Iterator[tuple[int, ...]]:
        claimed = self._tokenizer.encode(text, add_special_tokens=False).ids
        count = max(1, -(-len(claimed) // MAX_CLAIM_TOKENS))
        cuts = [round(number * len(claimed) / count) for number in range(count + 1)]
        yield from (tuple(claimed[start:end]) for start, end in pairwise(cuts))

    def _best(self, claimed: tuple[int, ...], texts: Sequence[tuple[int, ...]]) -> Meaning:
        room = MAX_TOKENS - len(claimed) - 3
        windows = [
            self._window(claimed, ids[first : first + room])
            for ids in texts
            for first in range(0, max(len(ids) - OVERLAP, 1), room - OVERLAP)
        ]
        supported = max((one.supported for one in windows), default=0.0)
        contradicted = max((one.contradicted for one in windows), default=0.0)
        return Meaning(supported, min(contradicted, 1 - supported))

    def _probabilities(self, claimed: tuple[int, ...], ids: tuple[int, ...]) -> Meaning:
        stored = self._stored
        tokens = [stored.first, *claimed, stored.between, *ids, stored.between]
        logits: Floats = self._session.run(None, {"vectors": stored.rows("emb.word", tokens, WIDTH)[None]})[0][0, 0]
        likely = np.exp(logits - logits.max())
        supported, contradicted, _ = (likely / likely.sum()).tolist()
        return Meaning(supported, contradicted)

    @cached_property
    def _tokenizer(self) -> Any:
        return self._stored.tokenizer

    @cached_property
    def _session(self) -> Any:
        return open_session(self._model)


@cache
def installed_checker() -> Checker | None:
    """Return the shipped checker; None if multilingual E5, which it needs to read words, is not installed."""
    stored = installed_e5()
    if stored is None:
        return None
    model = files("pincite.core.text").joinpath("checker.onnx").read_bytes()
    if hashlib.sha256(model).hexdigest() != card()["sha256"]:
        raise StorageError("The checker's file is not the expected one.", hint="Reinstall Pincite.")
    return Checker(stored, model)


@cache
def card() -> dict[str, Any]:
    """Return what the checker was trained on, its measured figures and the checksum of its file."""
    read: dict[str, Any] = json.loads(files("pincite.core.text").joinpath("checker.json").read_text(encoding="utf-8"))
    return read
