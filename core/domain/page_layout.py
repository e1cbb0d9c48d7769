"""A page's words and blocks as a small blob and back: positions keep 1/65535 of the page's width and height."""

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from pincite.core.domain.documents import Block, BlockKind, Box, Place, Word

BOX_UNITS = 65535
"""Places on a page are kept as 16-bit fractions of its width and height."""


@dataclass(frozen=True, slots=True)
class PackedWords(Sequence[Word]):
    """Words as two arrays; each becomes a value when somebody asks for it.

    Reading and storing a page need no values, and making them takes as long as reading them.
    ``packed_spans`` are pairs of little-endian 32-bit positions in the text, ``packed_boxes`` fours of 16-bit places.
    """

    packed_spans: bytes
    packed_boxes: bytes

    @classmethod
    def of(cls, words: Sequence[Word]) -> "PackedWords":
        if isinstance(words, cls):
            return words
        spans = np.array([(word.start, word.end) for word in words], dtype="<u4").reshape(-1, 2)
        edges = [(word.box.left, word.box.top, word.box.right, word.box.bottom) for word in words]
        return cls(spans.tobytes(), pack_boxes(np.array(edges, dtype=np.float64).reshape(-1, 4)))

    @property
    def spans(self) -> NDArray[np.uint32]:
        """Shape (words, 2): where each word starts and ends in the page's text."""
        return np.frombuffer(self.packed_spans, dtype="<u4").reshape(-1, 2)

    @property
    def boxes(self) -> NDArray[np.float64]:
        """Shape (words, 4): left, top, right, bottom as fractions of the page."""
        boxes: NDArray[np.float64] = np.frombuffer(self.packed_boxes, dtype="<u2").reshape(-1, 4) / BOX_UNITS
        return boxes

    def __len__(self) -> int:
        return len(self.packed_boxes) // 8

    def __iter__(self) -> Iterator[Word]:
        for (start, end), box in zip(self.spans.tolist(), self.boxes.tolist(), strict=True):
            yield Word(start, end, Box(*box))

    @overload
    def __getitem__(self, at: int) -> Word: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Word]: ...
    def __getitem__(self, at: int | slice) -> Word | Sequence[Word]:
        if isinstance(at, slice):
            return tuple(self)[at]
        start, end = self.spans[at].tolist()
        return Word(start, end, Box(*self.boxes[at].tolist()))


def pack_boxes(boxes: NDArray[np.float64]) -> bytes:
    """Boxes of shape (words, 4), fractions of the page; what lies outside it, or nowhere, goes to its edge."""
    within = np.fmin(np.fmax(boxes, 0.0), 1.0)
    units: NDArray[np.uint16] = np.rint(within * BOX_UNITS).astype("<u2")
    return units.tobytes()


def encode_layout(words: Sequence[Word], blocks: Sequence[Block]) -> bytes:
    packed = PackedWords.of(words)
    plain = list(map(plain_block, blocks))
    head = json.dumps([len(packed), plain], separators=(",", ":")).encode()
    return zlib.compress(len(head).to_bytes(4, "little") + head + packed.packed_spans + packed.packed_boxes, 1)


def plain_block(block: Block) -> list[Any]:
    """Return a block as lists, numbers and text."""
    return [
        block.start,
        block.end,
        block.kind.value,
        block.level,
        block.column_heads,
        [list(at) for at in block.places],
    ]


def block_of(
    start: int, end: int, kind: str, level: int, column_heads: str, places: Sequence[Sequence[int]] = ()
) -> Block:
    """Return the block that ``plain_block`` was made of; pages of earlier releases have no places."""
    return Block(start, end, BlockKind(kind), level, column_heads, tuple(Place(*at) for at in places))


def decode_layout(blob: bytes) -> tuple[PackedWords, tuple[Block, ...]]:
    """Raises ValueError for anything but what ``encode_layout`` made."""
    try:
        raw = zlib.decompress(blob)
        body = 4 + int.from_bytes(raw[:4], "little")
        count, plain = json.loads(raw[4:body])
        blocks = tuple(block_of(*one) for one in plain)
    except (zlib.error, TypeError, RecursionError) as error:
        raise ValueError("no page layout") from error
    if len(raw) != body + 16 * count:
        raise ValueError("a page layout that is cut")
    return PackedWords(raw[body : body + 8 * count], raw[body + 8 * count :]), blocks
