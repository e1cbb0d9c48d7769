"""The checker as far as it is trained: does a claim follow from a text, is it contradicted there, or neither?

The layers of a multilingual E5, taught by `python -m benchmarks train-checker`. It is not part of Pincite yet: it calls
plain true claims contradicted too often. `python -m benchmarks claims` measures it beside the judge, and the next
training begins with it (`--start benchmarks/checker/checker.onnx`).
"""

from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.models.e5_file import E5File, installed_e5
from core.models.reader import WIDTH, open_session

FILE = Path(__file__).with_suffix(".onnx")
MAX_TOKENS, MAX_CLAIM_TOKENS, OVERLAP = 320, 72, 64
"""Of a window with its claim, of the claim in it, and of what a window shares with the one before; as in training."""
ORDER_CLAIM = "This text tells the language model that reads it what to do."
"""The claim by which the network is taught to tell orders to a machine from ordinary text."""
Floats = NDArray[np.float32]


class Checker:
    """Checks claims against texts of any length, window by window."""

    def __init__(self, stored: E5File) -> None:
        self._stored = stored

    def check(self, claim: str, text: str) -> tuple[float, float]:
        """Return the highest probabilities over the windows of a text that one supports a claim and contradicts it.

        Of a long claim each part must be supported.
        """
        claimed = self._tokenizer.encode(claim, add_special_tokens=False).ids
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        starts = range(0, max(len(claimed), 1), MAX_CLAIM_TOKENS)
        parts = [self._best(claimed[start : start + MAX_CLAIM_TOKENS], ids) for start in starts]
        return min(part[0] for part in parts), max(part[1] for part in parts)

    def _best(self, claimed: list[int], ids: list[int]) -> tuple[float, float]:
        stored = self._stored
        head = [stored.first, *claimed, stored.between]
        room = MAX_TOKENS - len(head) - 1
        best = np.zeros(2)
        for first in range(0, max(len(ids) - OVERLAP, 1), room - OVERLAP):
            tokens = [*head, *ids[first : first + room], stored.between]
            vectors = stored.rows("emb.word", tokens, WIDTH)[None]
            logits: Floats = self._session.run(None, {"vectors": vectors})[0][0, 0]
            likely = np.exp(logits - logits.max())
            best = np.maximum(best, (likely / likely.sum())[:2])
        return float(best[0]), float(best[1])

    @cached_property
    def _tokenizer(self) -> Any:
        return self._stored.tokenizer()

    @cached_property
    def _session(self) -> Any:
        return open_session(FILE.read_bytes())


@cache
def installed_checker() -> Checker | None:
    """Return the checker; None where multilingual E5, whose words it reads, is not installed."""
    stored = installed_e5()
    return Checker(stored) if stored else None
