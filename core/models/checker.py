"""The checker: does a text bear out a claim, contradict it, or not speak of it?

MiniLM's layers that were taught to read English, and then taught this on open data; `benchmarks/train_checker.py` makes
them, and checker.json is their card.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from tokenizers import Tokenizer

from core.models.reader import Network, english_network, shipped
from core.text.sentences import split_sentences
from core.text.terms import content_terms, specificity

MOST_TOKENS, MOST_CLAIM_TOKENS = 288, 96
"""Of a claim with its text, and of the claim in it, as in training."""


@dataclass(frozen=True, slots=True)
class Support:
    """Log-odds that a text bears a claim out, and that it contradicts it."""

    supported: float
    contradicted: float


class Checker:
    """One claim and one text at a time, of a longer text the sentences nearest to the claim in words."""

    def __init__(self) -> None:
        self._loading = threading.Lock()

    def check(self, claim: str, text: str) -> Support:
        """Raises StorageError when the checker's file is missing or not the expected one."""
        with self._loading:
            network = self._network
        numbers = network.numbers(*claim_and_text(claim, text, network))
        return Support(float(numbers[0, 2]), float(numbers[0, 3]))

    @cached_property
    def _network(self) -> Network:
        return english_network(shipped("checker"))


@cache
def shipped_checker() -> Checker:
    return Checker()


def claim_and_text(claim: str, text: str, network: Network) -> tuple[list[int], int]:
    """The tokens that the network reads, and how many of them are the claim's."""
    ids: list[int] = network.tokenizer.encode(claim, add_special_tokens=False).ids
    head = [network.first, *ids[:MOST_CLAIM_TOKENS], network.between]
    room = MOST_TOKENS - len(head) - 1
    of_text: list[int] = network.tokenizer.encode(text, add_special_tokens=False).ids
    if len(of_text) > room:
        of_text = _nearest(claim, text, room, network.tokenizer)
    return [*head, *of_text[:room], network.between], len(head)


def _nearest(claim: str, text: str, room: int, tokenizer: Tokenizer) -> list[int]:
    """Tokens of the sentences that share most with the claim, rare words more, as many as there is room for."""
    asked = frozenset(content_terms(claim))
    pieces = _pieces(text)
    shared = [sum(map(specificity, asked & terms)) for _, terms in pieces]
    kept: dict[int, list[int]] = {}
    for place in sorted(range(len(pieces)), key=lambda one: -shared[one]):
        ids = tokenizer.encode(pieces[place][0], add_special_tokens=False).ids
        if len(ids) <= room or not kept:
            kept[place] = ids
            room -= len(ids)
    return [token for place in sorted(kept) for token in kept[place]]


@lru_cache(maxsize=256)
def _pieces(text: str) -> Sequence[tuple[str, frozenset[str]]]:
    sentences = [text[span.start : span.end].strip() for span in split_sentences(text)]
    return [(sentence, frozenset(content_terms(sentence))) for sentence in sentences]
