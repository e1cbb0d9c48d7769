"""What embedders share: servers are asked only where that is allowed, and vectors have length 1."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from pincite.core.domain.errors import ModelUnavailableError
from pincite.core.domain.ports import Vectors
from pincite.core.models.client import ServerTrouble

EMBED_SECONDS = 120.0
FEW_TEXTS = 16
"""Up to this many texts are a query's, answered ahead of the bulk work of an ingest."""
MIN_NORM = 1e-12
MAX_DIMENSIONS = 16_384


class ServedEmbedder(ABC):
    """An embedding model behind a server."""

    def __init__(self, name: str, may_send: Callable[[str], bool] | None) -> None:
        """``may_send``: whether texts may go to an address; None: to any."""
        self.name = name
        self._may_send = may_send

    @property
    @abstractmethod
    def address(self) -> str:
        """Raises ModelUnavailableError."""

    @abstractmethod
    def _request(self, texts: Sequence[str]) -> Vectors:
        """Of a few texts. Raises ModelUnavailableError."""

    @property
    def allowed_address(self) -> str:
        """Raises ModelUnavailableError where nobody has allowed that texts are sent there."""
        address = self.address
        if self._may_send and not self._may_send(address):
            raise ModelUnavailableError(sends_to(address), hint="Allow it in the settings, or choose another model.")
        return address

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


def sends_to(address: str) -> str:
    """Notice before anything is sent to another machine."""
    return f"This sends your questions and passages to {address}, which is not on this machine."


def unit_vectors(rows: Sequence[Sequence[float]], count: int) -> Vectors:
    """Shape (count, dimensions), each row of length 1. Raises ServerTrouble for anything that cannot be made so."""
    if len(rows) != count or len({len(row) for row in rows}) != 1 or not 1 <= len(rows[0]) <= MAX_DIMENSIONS:
        raise ServerTrouble("sent vectors of an unexpected number or length")
    vectors = np.asarray(rows, dtype=np.float64)
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths < MIN_NORM).any():
        raise ServerTrouble("sent vectors that cannot be used")
    unit: Vectors = (vectors / lengths).astype(np.float32)
    return unit
