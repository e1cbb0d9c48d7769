"""Ask both indexes for everything that a plan looks for."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from pincite.core.domain.errors import IndexMismatchError, ModelUnavailableError
from pincite.core.domain.ports import Embedder, KeywordIndex, PassageIndex, Vectors
from pincite.core.domain.search import SearchPlan
from pincite.core.text.terms import FUNCTION_WORDS, content_terms, words

SEARCH_DEPTH = 60
"""Results asked of each index per wording."""

SPREADS = {"e5": 4.3}
"""How much nearer to each other an embedder's cosines lie than MiniLM's, with which all that weighs them was fitted: on
30 open English questions the best passage is .546 above the middle one with MiniLM, .127 with E5."""

Ranking = list[tuple[str, float]]
"""Passage ids with their scores, best first."""


@dataclass(frozen=True, slots=True)
class Rankings:
    """Rankings of the indexes, per wording; the question as asked is first."""

    keyword: list[Ranking]
    printed: list[Ranking]
    """Of the wording with what documents print."""
    dense: list[Ranking]
    trouble: str
    """Why there was no search by meaning, if there was none."""
    absent: Sequence[str] = ()
    """Words of the question that are in no passage searched."""

    def best_scores(self) -> dict[str, dict[str, float]]:
        """Return the best score of each passage, by index."""
        groups = {"keyword": self.keyword, "keyword printed": self.printed, "dense": self.dense}
        best: dict[str, dict[str, float]] = {name: {} for name in groups}
        for name, group in groups.items():
            for identity, score in (pair for ranking in group for pair in ranking):
                best[name][identity] = max(score, best[name].get(identity, score))
        return best


class RunIndexes:
    """Asks for words and meaning at once."""

    def __init__(self, keywords: KeywordIndex, vectors: PassageIndex, embedder: Embedder) -> None:
        self._keywords = keywords
        self._vectors = vectors
        self._embedder = embedder
        self._pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="search")

    @property
    def embedder(self) -> str:
        return self._embedder.name

    def __call__(self, plan: SearchPlan, ids: Sequence[str], named: Sequence[str]) -> Rankings:
        """Search within the named documents where there are any, else within ``ids``; empty means everything.

        The question as asked also goes to the whole scope, so that a wrongly named document cannot hide the rest.
        """
        own = list(dict.fromkeys(query.text for query in plan.sub_queries))
        printed = [text for query in plan.sub_queries for text in query.variations if text not in own]
        narrow = list(named) or list(ids)
        wide = [list(ids)] if narrow != list(ids) else []

        def by_words(text: str, scope: Sequence[str]) -> Future[Ranking]:
            return self._pool.submit(self._keywords.search, text, document_ids=scope, limit=SEARCH_DEPTH)

        keyword = [by_words(text, narrow) for text in _different_words(own)]
        keyword += [by_words(own[0], scope) for scope in wide]
        expanded = [by_words(text, narrow) for text in printed]
        question_words = [word for word in words(plan.standalone_question) if word.lower() not in FUNCTION_WORDS]
        absent = self._pool.submit(self._keywords.absent, question_words, document_ids=ids)
        dense, trouble = list[Ranking](), ""
        try:
            vectors = self._embedder.embed_queries(own)
            dense += [self._by_meaning(vector, narrow) for vector in vectors]
            dense += [self._by_meaning(vectors[0], scope) for scope in wide]
        except (ModelUnavailableError, IndexMismatchError) as error:
            dense, trouble = [], str(error)
        by_word, by_printed = ([one.result() for one in found] for found in (keyword, expanded))
        return Rankings(by_word, by_printed, dense, trouble, absent.result())

    def _by_meaning(self, vector: Vectors, scope: Sequence[str]) -> Ranking:
        spread = SPREADS.get(self._embedder.name, 1.0)
        found = self._vectors.search(vector, document_ids=scope, limit=SEARCH_DEPTH)
        return [(identity, 1 - spread * (1 - cosine)) for identity, cosine in found]


def _different_words(texts: Sequence[str]) -> list[str]:
    """Leave out wordings with the same words as an earlier one: a keyword index would answer the same."""
    by_terms: dict[frozenset[str], str] = {}
    for text in texts:
        by_terms.setdefault(frozenset(content_terms(text)), text)
    return list(by_terms.values())
