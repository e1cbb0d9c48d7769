"""Plain search to compare with: BM25, MiniLM and their reciprocal rank fusion over 800-character passages."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from benchmarks.corpus import Corpus
from benchmarks.measures import Found, PageRef, Question

CHARACTERS = 800
DEPTH = 200
_WORD = re.compile(r"\w+")
_COMMON = frozenset(
    "a an the of in on at to for from by with and or is are was were be been do does did what which who when where how "
    "that this these those it its as than there".split()
)


class Bm25:
    """Okapi BM25 with k1 = 1.2 and b = 0.75 over lower-case words without the commonest."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(terms_of(text)) for text in texts]
        lengths = np.array([sum(count.values()) for count in counts], dtype=np.float64)
        norms = 1.2 * (0.25 + 0.75 * lengths / max(float(lengths.mean()) if len(texts) else 1.0, 1.0))
        self._size = len(texts)
        self._places: dict[str, list[int]] = defaultdict(list)
        self._weights: dict[str, list[float]] = defaultdict(list)
        for place, count in enumerate(counts):
            for term, times in count.items():
                self._places[term].append(place)
                self._weights[term].append(times * 2.2 / (times + norms[place]))

    def scores(self, query: str) -> np.ndarray:
        total = np.zeros(self._size)
        for term in set(terms_of(query)):
            if term in self._places:
                spread = len(self._places[term])
                rarity = math.log(1 + (self._size - spread + 0.5) / (spread + 0.5))
                total[self._places[term]] += rarity * np.array(self._weights[term])
        return total


def terms_of(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in _COMMON]


def rank_plainly(corpus: Corpus, questions: Sequence[Question], *, scope: str) -> dict[str, list[Found]]:
    """Rank pages by their best passage with each plain method."""
    texts: list[str] = []
    places: list[PageRef] = []
    for name, pages in corpus.page_texts.items():
        for index, text in enumerate(pages):
            flat = " ".join(text.split())
            for start in range(0, len(flat), CHARACTERS):
                texts.append(flat[start : start + CHARACTERS])
                places.append((name, index))
    vectors = corpus.embed_cached(texts)
    asked = corpus.embed_cached([question.text for question in questions])
    names = np.array([name for name, _ in places])
    indexes: dict[tuple[str, ...], tuple[np.ndarray, Bm25]] = {}
    found: dict[str, list[Found]] = {"BM25": [], "MiniLM": [], "fusion": []}
    for question, vector in zip(questions, asked, strict=True):
        key = question.documents if scope == "document" else ()
        if key not in indexes:
            inside = np.flatnonzero(np.isin(names, key)) if key else np.arange(len(texts))
            indexes[key] = (inside, Bm25([texts[place] for place in inside]))
        inside, bm25 = indexes[key]
        by_words = np.argsort(-bm25.scores(question.text), kind="stable")[:DEPTH]
        by_meaning = np.argsort(-(vectors[inside] @ vector), kind="stable")[:DEPTH]
        fused: dict[int, float] = defaultdict(float)
        for order in (by_words, by_meaning):
            for rank, place in enumerate(order.tolist(), start=1):
                fused[place] += 1 / (60 + rank)
        both = np.array(sorted(fused, key=lambda place: (-fused[place], place)), dtype=np.intp)
        for name, order in (("BM25", by_words), ("MiniLM", by_meaning), ("fusion", both)):
            ranked = list(dict.fromkeys(places[inside[place]] for place in order))
            found[name].append(Found(question, {"pages": ranked}, 0.0))
    return found
