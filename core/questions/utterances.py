"""Classify sentences by small logistic models over their vector and letters, shipped as utterances.json.

They decide what a message wants, whether a sentence changes another text, and what a date is to it. ``python -m
training fit-routing`` fits them on sentences of our own and on open questions about documents, with the vectors of
both built-in embedders, and for machines that have no E5 with those of MiniLM alone.
"""

import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pincite.core.domain.questions import Wish
from pincite.core.models.e5 import E5Embedder, e5_is_here
from pincite.core.models.minilm import MiniLmEmbedder

BUCKETS = 1024
"""For runs of letters, and again for words."""
MAX_RUN_LENGTH = 4
"""Letters of a run, within a word and its borders."""
LONG = 20
"""Maximum number of words of a message that count."""
MAX_CHARACTERS = 300
"""Longer messages are judged by their beginning."""
WEIGHT_OF_E5 = 3.0
"""Its vectors lie close to each other."""
MIN_SELECTS = 0.85
"""Log-odds: other questions with a figure or a date are commoner than those that select documents by one."""
COMPARISON, LEANS, SELECTS = "comparison", "leans", "selects"
_WORD = re.compile(r"[^\W_]+|[?!.¿？؟]")
Matrix = NDArray[np.float64]
_Name = TypeVar("_Name", bound=StrEnum)


class Changes(StrEnum):
    """What a sentence of a document does to another text."""

    AMENDS = "amends"
    """It changes a part of it, adds or deletes one."""
    REPLACES = "replaces"
    """It takes the place of the whole."""
    NOTHING = "changes nothing"


class DateRole(StrEnum):
    """What a date is to the sentence that states it, or to the question that asks for it."""

    START = "start"
    END = "end"
    """The last day or the deadline of something."""
    EVENT = "event"


@lru_cache(maxsize=256)
def wishes_of(text: str) -> Mapping[Wish, float]:
    """Return the probability of each wish that a message may have."""
    return _shares(text, Wish)


@lru_cache(maxsize=4096)
def changes_of(sentence: str) -> Mapping[Changes, float]:
    """Return the probability that a sentence amends another text, replaces it, or does neither."""
    return _shares(sentence, Changes)


@lru_cache(maxsize=1024)
def date_role_of(text: str) -> DateRole:
    """Return what the date is that a question asks for, or the one that a sentence states."""
    return max(DateRole, key=_shares(text, DateRole).__getitem__)


def _shares(text: str, names: type[_Name]) -> dict[_Name, float]:
    sums = _sums(text, *names, with_e5=e5_is_here())
    shares = np.exp(sums - sums.max())
    return dict(zip(names, (shares / shares.sum()).tolist(), strict=True))


def wish_of(text: str) -> tuple[Wish, float]:
    """Return the likeliest wish and its probability."""
    return max(wishes_of(text).items(), key=lambda one: one[1])


@lru_cache(maxsize=256)
def asks_of_each(text: str) -> bool:
    """Return whether the message asks for one thing from each of several documents: a question, whatever else it wants.

    English alone decides it better for messages by another writer.
    """
    return _log_odds(COMPARISON, text, with_e5=False) > 0.0


@lru_cache(maxsize=256)
def selects_documents(text: str) -> bool:
    """Return whether the message asks which documents are within a limit that it states: "leases under 2,000 euros"."""
    return _log_odds(SELECTS, text, with_e5=e5_is_here()) >= MIN_SELECTS


@lru_cache(maxsize=256)
def leaning_of(text: str) -> float:
    """Return the probability that a message is understood only with the one before it."""
    return float(1 / (1 + np.exp(-_log_odds(LEANS, text, with_e5=e5_is_here()))))


def nearest_of(text: str, others: Sequence[str]) -> int:
    """Return the position of the text of others that is nearest in meaning; with E5 also in another language."""
    embedder = _e5() if e5_is_here() else _minilm()
    vectors = np.asarray(embedder.embed_queries([text, *others]))
    return int(np.argmax(vectors[1:] @ vectors[0]))


def _log_odds(name: str, text: str, *, with_e5: bool) -> float:
    return float(_sums(text, name, with_e5=with_e5)[0])


def _sums(text: str, *names: str, with_e5: bool) -> Matrix:
    """Return the log-odds of each name, shape (names,)."""
    weights, biases = _shipped(*names, with_e5=with_e5)
    sums: Matrix = (described([text], with_e5=with_e5) @ weights.T + biases)[0]
    return sums


def described(texts: Sequence[str], *, with_e5: bool) -> Matrix:
    """Shape (texts, dimensions of the embedders + 2 * BUCKETS + 4)."""
    texts = [" ".join(text[:MAX_CHARACTERS].split()) for text in texts]
    vectors = [np.asarray(_minilm().embed_queries(texts), dtype=np.float64)]
    vectors += [WEIGHT_OF_E5 * np.asarray(_e5().embed_queries(texts), dtype=np.float64)] if with_e5 else []
    return np.hstack([*vectors, np.stack([np.concatenate([_letters(t), _words(t), _form(t)]) for t in texts])])


def _letters(text: str) -> Matrix:
    padded = f" {text.casefold()} "
    runs = (
        padded[start : start + size] for size in range(1, MAX_RUN_LENGTH + 1) for start in range(len(padded) - size + 1)
    )
    return _scaled(np.sqrt(_counted(runs)))


def _words(text: str) -> Matrix:
    """Words and marks, and pairs of them."""
    found = _WORD.findall(text.casefold())
    return _scaled(_counted([f"w{word}" for word in found] + [f"{a} {b}" for a, b in pairwise(["^", *found])]))


def _form(text: str) -> Matrix:
    words = _WORD.findall(text)
    features = (min(len(words), LONG) / 10, text.endswith("?"), any(map(str.isdigit, text)), len(words) <= 2)
    return 0.5 * np.array(features, dtype=np.float64)


def _counted(pieces: Iterable[str]) -> Matrix:
    counts = np.zeros(BUCKETS)
    for piece in pieces:
        counts[zlib.crc32(piece.encode()) % BUCKETS] += 1
    return counts


def _scaled(counts: Matrix) -> Matrix:
    length = float(np.linalg.norm(counts))
    return counts / length if length else counts


@cache
def _minilm() -> MiniLmEmbedder:
    return MiniLmEmbedder(workers=1)


@cache
def _e5() -> E5Embedder:
    return E5Embedder(workers=1)


@cache
def _shipped(*names: str, with_e5: bool) -> tuple[Matrix, Matrix]:
    """Weights, shape (names, measures), and biases."""
    text = files("pincite.core.questions").joinpath("utterances.json").read_text(encoding="utf-8")
    data = json.loads(text)["e5" if with_e5 else "minilm"]
    return np.array([data["weights"][name] for name in names]), np.array([data["biases"][name] for name in names])
