"""A page's words and blocks as a small blob and back: positions keep 1/65535 of the page's width and height."""

import json
import zlib
from collections.abc import Sequence

import numpy as np

from pincite.core.types import Block, BlockKind, Box, Word

_SCALE = 65535


def encode_layout(words: Sequence[Word], blocks: Sequence[Block]) -> bytes:
    spans = np.array([(word.start, word.end) for word in words], dtype="<u4").reshape(-1, 2)
    edges = [(word.box.left, word.box.top, word.box.right, word.box.bottom) for word in words]
    boxes = np.rint(np.clip(np.array(edges, dtype=np.float64).reshape(-1, 4), 0, 1) * _SCALE).astype("<u2")
    plain = [[block.start, block.end, block.kind.value, block.level, block.column_heads] for block in blocks]
    head = json.dumps([len(words), plain], separators=(",", ":")).encode()
    return zlib.compress(len(head).to_bytes(4, "little") + head + spans.tobytes() + boxes.tobytes(), 1)


def decode_layout(blob: bytes) -> tuple[tuple[Word, ...], tuple[Block, ...]]:
    raw = zlib.decompress(blob)
    body = 4 + int.from_bytes(raw[:4], "little")
    count, plain = json.loads(raw[4:body])
    spans = np.frombuffer(raw, dtype="<u4", count=2 * count, offset=body).reshape(-1, 2).tolist()
    boxes = (np.frombuffer(raw, dtype="<u2", offset=body + 8 * count).reshape(-1, 4) / _SCALE).tolist()
    words = tuple(Word(start, end, Box(*box)) for (start, end), box in zip(spans, boxes, strict=True))
    blocks = tuple(Block(start, end, BlockKind(kind), level, heads) for start, end, kind, level, heads in plain)
    return words, blocks
