"""Which words of the last question a follow-up replaces: "And what about the limit?" after "What is the deductible?".

A conditional logit over pairs of spans, one of the last question and one at the end of the follow-up, and over no pair
at all. It compares the vectors that multilingual E5 gives the words of both, read together, and their form.
``python -m training fit-replacements`` fits replacements.json.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from pincite.core.models.e5 import QUERY, E5Embedder, e5_is_here

MAX_SPAN_WORDS = 8
MAX_WORDS, MAX_NEW_WORDS = 60, 12
"""Of the last question and of the follow-up; longer ones replace nothing."""
MIN_PROBABILITY = 0.5
_WORD = re.compile(r"\w+(?:[.,’'&/-]\w+)*%?|[^\w\s]+")
_SHORT_WORD = 3
WEIGHT_OF_VECTOR = 6.0
"""E5's vectors lie close to each other."""
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pair:
    """Words ``start`` to ``end`` of the last question, and ``new_start`` to ``new_end`` of the follow-up."""

    start: int
    end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True)
class Message:
    """A text, its words and their character spans."""

    text: str
    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, text: str) -> "Message":
        matches = list(_WORD.finditer(text))
        return cls(text, tuple(match.group() for match in matches), tuple(match.span() for match in matches))


@dataclass(frozen=True, slots=True)
class Replacing:
    """The fitted model: weights of standardised features, then those of no replacement."""

    mean: Matrix
    scale: Matrix
    weights: Matrix

    def probabilities(self, features: Matrix, whole: Matrix) -> Matrix:
        """Return the probability of each pair (rows of ``features``), and last that nothing is replaced."""
        sums = np.append(self.design(features) @ self.weights[: -len(whole)], whole @ self.weights[-len(whole) :])
        powers = np.exp(sums - sums.max())
        shares: Matrix = powers / powers.sum()
        return shares

    def design(self, features: Matrix) -> Matrix:
        standard: Matrix = (features - self.mean) / self.scale
        return with_products(standard)


@lru_cache(maxsize=256)
def with_replacement(before: str, follow_up: str) -> str:
    """Return the last question with what the follow-up names in its place; empty if that is not likely."""
    old, new = Message.of(before), Message.of(follow_up)
    pairs = pairs_of(old, new)
    if not pairs or not e5_is_here():
        return ""
    shares = _model().probabilities(features_of(old, new, pairs), features_of_whole(new))
    return likely_text([replaced(old, new, pair) for pair in pairs], shares)


def likely_text(texts: Sequence[str], shares: Matrix) -> str:
    """Return the question that is likelier than all others, which several pairs may give; empty if there is none.

    ``shares`` are the probabilities of the texts, and last that nothing is replaced.
    """
    sums: dict[str, float] = {}
    for text, share in zip(texts, shares[:-1].tolist(), strict=True):
        sums[text] = sums.get(text, 0.0) + share
    text, share = max(sums.items(), key=lambda one: one[1])
    replaces = 1.0 - float(shares[-1])
    return text if replaces > MIN_PROBABILITY and share > MIN_PROBABILITY * replaces else ""


def replaced(old: Message, new: Message, pair: Pair) -> str:
    start, end = old.spans[pair.start][0], old.spans[pair.end - 1][1]
    first, last = new.spans[pair.new_start][0], new.spans[pair.new_end - 1][1]
    return f"{old.text[:start]}{new.text[first:last]}{old.text[end:]}"


def pairs_of(old: Message, new: Message) -> list[Pair]:
    """Return all spans of the last question with all ends of the follow-up; spans begin and end with words."""
    if len(old.words) > MAX_WORDS or len(new.words) > MAX_NEW_WORDS:
        return []
    letters, new_letters = ([word[0].isalnum() for word in one.words] for one in (old, new))
    new_end = max((at + 1 for at, is_word in enumerate(new_letters) if is_word), default=0)
    spans = [
        (start, end)
        for start in range(len(letters))
        for end in range(start + 1, min(len(letters), start + MAX_SPAN_WORDS) + 1)
        if letters[start] and letters[end - 1]
    ]
    starts = [at for at in range(new_end) if new_letters[at]]
    return [Pair(start, end, at, new_end) for start, end in spans for at in starts]


def features_of(old: Message, new: Message, pairs: Sequence[Pair]) -> Matrix:
    """Return a row of features for each pair."""
    moved = len(QUERY) + len(old.text) + 1
    spans = [(start + len(QUERY), end + len(QUERY)) for start, end in old.spans]
    spans += [(start + moved, end + moved) for start, end in new.spans]
    vectors = _e5().span_vectors(f"{QUERY}{old.text} {new.text}", spans)
    vectors = vectors - vectors.mean(axis=0)
    own, other = vectors[: len(old.words)], vectors[len(old.words) :]
    sums, new_sums = (np.vstack([np.zeros(one.shape[1]), np.cumsum(one, axis=0)]) for one in (own, other))
    return np.array([_features(old.words, new.words, pair, own, other, sums, new_sums) for pair in pairs])


def features_of_whole(new: Message) -> Matrix:
    """Return the features by which a follow-up replaces nothing: its length and its vector."""
    return np.array([1.0, np.log(len(new.words)), *(WEIGHT_OF_VECTOR * _e5().embed_queries([new.text])[0])])


def with_products(standard: Matrix) -> Matrix:
    """Add the products of features that matter together, such as likeness and how many words are more or less."""
    products = [standard[:, a] * standard[:, b] for a, b in ((0, 1), (0, 2), (1, 2), (0, 5), (4, 0), (15, 0), (18, 0))]
    return np.column_stack([standard, *products])


def _features(
    old: Sequence[str], new: Sequence[str], pair: Pair, own: Matrix, other: Matrix, sums: Matrix, new_sums: Matrix
) -> list[float]:
    i, j, k, m = pair.start, pair.end, pair.new_start, pair.new_end
    before, after = [word.lower() for word in old[i:j]], [word.lower() for word in new[k:m]]
    digits = [any(sign.isdigit() for word in words for sign in word) for words in (before, after)]
    names = [any(word[0].isupper() for word in words) for words in (old[max(i, 1) : j], new[max(k, 1) : m])]
    short = [len(word) <= _SHORT_WORD for word in (before[0], after[0], before[-1], after[-1])]
    lead = i > 0 and k > 0
    return [
        _cosine((sums[j] - sums[i]) / (j - i), (new_sums[m] - new_sums[k]) / (m - k)),
        _cosine(own[i], other[k]),
        _cosine(own[j - 1], other[m - 1]),
        (j - i) - (m - k),
        abs((j - i) - (m - k)),
        j - i,
        m - k,
        np.log(j - i),
        np.log(m - k),
        k == 0,
        k,
        i == 0,
        j >= len(old) - 1,
        i / len(old),
        j / len(old),
        digits[0] == digits[1],
        all(digits),
        names[0] == names[1],
        all(names),
        before[0] == after[0],
        before[-1] == after[-1],
        lead and old[i - 1].lower() == new[k - 1].lower(),
        len(set(before) & set(after)) / len(after),
        before == after,
        _cosine(own[i - 1], other[k - 1]) if lead else 0.0,
        i > 0 and old[i - 1].lower() in {word.lower() for word in new},
        j < len(old) and old[j][0].isupper() and old[j - 1][0].isupper(),
        i > 1 and old[i - 1][0].isupper() and old[i][0].isupper(),
        *short[:3],
        short[0] == short[1],
        any(not word[0].isalnum() for word in before),
        _short_within(before),
        _short_within(after),
        _short_within(before) - _short_within(after),
        _short_within(before) > 0 and _short_within(after) == 0,
    ]


def _short_within(words: Sequence[str]) -> int:
    """Return the number of short words, such as prepositions, between the first word and the last."""
    return sum(len(word) <= _SHORT_WORD for word in words[1:-1])


def _cosine(one: Matrix, other: Matrix) -> float:
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other) + 1e-9))


@cache
def _e5() -> E5Embedder:
    return E5Embedder(workers=1)


@cache
def _model() -> Replacing:
    read = json.loads(files("pincite.core.questions").joinpath("replacements.json").read_text(encoding="utf-8"))
    return Replacing(*(np.array(read[name]) for name in ("mean", "scale", "weights")))
