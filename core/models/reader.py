"""The reader: the span of a passage that answers a question, and the probability that there is one.

The layers of a multilingual E5 that were taught to read on open data; where E5's file is not installed, a MiniLM that
was taught to read English. `training/train_reader.py` makes them; reader_languages.json and reader.json are their
cards.
"""

import hashlib
import json
import math
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.core.domain.answers import Span
from pincite.core.domain.errors import StorageError
from pincite.core.text.e5_file import WIDTH, E5File, installed_e5
from pincite.core.text.installed import TOKENIZER_FILE, verified_file
from pincite.core.text.networks import open_session

CELL_BORDER = " | "
"""Separator between the cells of a table for the reader; its tokens do not distinguish a tab from a space."""
MAX_TOKENS, MAX_QUESTION_TOKENS = 224, 48
"""Of a window, and of the question in it, as in training."""
OVERLAP = 64
"""Tokens that a window of a longer text has in common with the one before."""
MAX_ANSWER_LENGTH = 48
MAX_KEPT = 500
"""Windows whose numbers are kept, each at most 4 KB."""
NEARLY = math.log(2)
"""Log-odds: what is half as likely as the best, holds it and no other cell is taken for it: half an answer misleads."""
CLS, SEP = 101, 102
Numbers = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Window:
    """What the reader makes of a stretch of text: for each token, log-odds against "nothing here answers"."""

    starts: Numbers
    ends: Numbers
    offsets: NDArray[np.int64]
    """Shape (tokens, 2): characters of the text."""
    cells: NDArray[np.int64]
    """Shape (tokens,): how many cells of tables end before each."""
    answerable: float
    """Log-odds that any of it answers."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One text, read for one question."""

    windows: tuple[Window, ...]

    @property
    def answerable(self) -> float:
        return max(window.answerable for window in self.windows)

    def best(self, start: int, end: int) -> tuple[Span, float] | None:
        """Return the likeliest answer within these characters, and its log-odds; None where they hold no token."""
        found = [one for window in self.windows if (one := _best(window, start, end)) is not None]
        return max(found, key=lambda one: one[1], default=None)


@dataclass(frozen=True, slots=True)
class Network:
    """How a reader's texts become tokens, and tokens numbers."""

    tokenizer: Any
    first: int
    """The token that a window begins with."""
    between: int
    """The one that ends the question and the text."""
    numbers: Callable[[list[int], int], Numbers]
    """Tokens, and how many of them are the question's → shape (tokens, 4)."""


class Reader:
    """Windows go through the network one at a time, side by side in two threads: it quantises over a whole input.

    Several steps of a turn read the same windows; the last ones are kept.
    """

    def __init__(self, open_network: Callable[[], Network] | None = None) -> None:
        self._open = open_network or _english
        self._loading = threading.Lock()

    def read(self, question: str, texts: Sequence[str]) -> list[Reading]:
        """Raises StorageError when the reader's file is missing or not the expected one."""
        with self._loading:
            network = self._network
        asked = network.tokenizer.encode(question, add_special_tokens=False).ids[:MAX_QUESTION_TOKENS]
        head = [network.first, *asked, network.between]
        room = MAX_TOKENS - len(head) - 1
        pieces = []
        for number, text in enumerate(texts):
            encoded = network.tokenizer.encode(text.replace("\t", CELL_BORDER), add_special_tokens=False)
            places = _places(text, encoded.offsets)
            for first in range(0, max(len(encoded.ids) - OVERLAP, 1), room - OVERLAP):
                cut = slice(first, first + room)
                pieces.append((number, encoded.ids[cut], places[cut]))
        read = self._threads.map(lambda piece: self._window(head, piece[1], piece[2], texts[piece[0]]), pieces)
        windows: list[list[Window]] = [[] for _ in texts]
        for (number, _, _), window in zip(pieces, read, strict=True):
            windows[number].append(window)
        return [Reading(tuple(own)) for own in windows]

    def _window(self, head: Sequence[int], ids: Sequence[int], offsets: NDArray[np.int64], text: str) -> Window:
        numbers = self._numbers((*head, *ids, self._network.between), len(head))
        of_text = slice(len(head), len(head) + len(ids))
        starts, ends, answerable, _ = numbers[0]
        cells = np.array([text.count("\t", 0, start) for start, _ in offsets], dtype=np.int64)
        return Window(numbers[of_text, 0] - starts, numbers[of_text, 1] - ends, offsets, cells, float(answerable))

    @cached_property
    def _network(self) -> Network:
        return self._open()

    @cached_property
    def _numbers(self) -> Callable[[tuple[int, ...], int], Numbers]:
        network = self._network
        return lru_cache(MAX_KEPT)(lambda ids, question_tokens: network.numbers([*ids], question_tokens))

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="reader")


@cache
def large_reader() -> Reader | None:
    """Return the reader for all languages; None if multilingual E5, which provides its embeddings, is not installed."""
    stored = installed_e5()
    return Reader(partial(_languages, stored)) if stored else None


@cache
def small_reader() -> Reader:
    """Of English, with MiniLM's layers and words."""
    return Reader()


@cache
def card(name: str) -> dict[str, Any]:
    """What a reader was trained on, what was measured, and its file's checksum."""
    fields: dict[str, Any] = json.loads(
        files("pincite.core.models").joinpath(f"{name}.json").read_text(encoding="utf-8")
    )
    return fields


def english_network(model: bytes) -> Network:
    """``model``: ONNX, as `training.train_reader` exports it."""
    from tokenizers import Tokenizer  # takes long to import

    tokenizer = Tokenizer.from_file(str(verified_file(*TOKENIZER_FILE)))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    session = open_session(model)

    def numbers(ids: list[int], question_tokens: int) -> Numbers:
        tokens = np.array([ids], dtype=np.int64)
        kinds = (np.arange(tokens.shape[1]) >= question_tokens)[None].astype(np.int64)
        inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": kinds}
        found: Numbers = session.run(None, inputs)[0][0]
        return found

    return Network(tokenizer, CLS, SEP, numbers)


def languages_network(model: bytes, stored: E5File) -> Network:
    session = open_session(model)

    def numbers(ids: list[int], question_tokens: int) -> Numbers:
        found: Numbers = session.run(None, {"vectors": stored.rows("emb.word", ids, WIDTH)[None]})[0][0]
        return found

    return Network(stored.tokenizer, stored.first, stored.between, numbers)


def _english() -> Network:
    return english_network(_shipped("reader"))


def _languages(stored: E5File) -> Network:
    return languages_network(_shipped("reader_languages"), stored)


def _shipped(name: str) -> bytes:
    model = files("pincite.core.models").joinpath(f"{name}.onnx").read_bytes()
    if hashlib.sha256(model).hexdigest() != card(name)["sha256"]:
        raise StorageError("The reader's file is not the expected one.", hint="Reinstall Pincite.")
    return model


def _places(text: str, offsets: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """Return the spans of tokens, of shape (tokens, 2), in a text that was read with CELL_BORDER for each tab.

    E5's tokens begin with the space before them; the rest of a border is empty.
    """
    of_text = [at for at, character in enumerate(text) for _ in (CELL_BORDER if character == "\t" else character)]
    begun = ((of_text[start], of_text[end - 1] + 1) for start, end in offsets)
    return np.array([(end - len(text[start:end].lstrip()), end) for start, end in begun], dtype=np.int64).reshape(-1, 2)


def _best(window: Window, start: int, end: int) -> tuple[Span, float] | None:
    inside = np.flatnonzero((window.offsets[:, 0] >= start) & (window.offsets[:, 1] <= end))
    if not len(inside):
        return None
    own = slice(int(inside[0]), int(inside[-1]) + 1)
    first, last, odds = likeliest(window.starts[own], window.ends[own], window.cells[own])
    offsets = window.offsets[own]
    return Span(int(offsets[first, 0]), int(offsets[last, 1])), odds


def likeliest(starts: Numbers, ends: Numbers, cells: NDArray[np.int64]) -> tuple[int, int, float]:
    """Return the first and the last token of the answer, and its log-odds; all three shapes (tokens,)."""
    sums = starts[:, None] + ends[None, :]
    near = np.triu(np.ones_like(sums, dtype=bool)) & ~np.triu(np.ones_like(sums, dtype=bool), MAX_ANSWER_LENGTH)
    odds = np.where(near, sums, -np.inf)
    first, last = np.unravel_index(int(np.argmax(odds)), odds.shape)
    same = cells[last:] - cells[: first + 1, None] == cells[last] - cells[first]
    near_best = np.argwhere(same & (odds[: first + 1, last:] >= odds[first, last] - NEARLY))
    earlier, more = near_best[np.argmax(near_best[:, 1] - near_best[:, 0])]
    return int(earlier), int(last + more), float(odds[first, last])
