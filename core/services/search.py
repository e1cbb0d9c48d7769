"""Searching with the index, the reranker and the settings of the moment."""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pincite.core.domain.documents import Document
from pincite.core.domain.ports import Embedder, KeywordIndex, PassageIndex
from pincite.core.domain.search import SearchPlan, SearchResult
from pincite.core.domain.settings import Settings
from pincite.core.models.e5 import E5Embedder, e5_is_here
from pincite.core.models.flash import LICENCE, MODEL, SIZE_MB, download, is_cached
from pincite.core.models.minilm import MiniLmEmbedder
from pincite.core.questions.lexicon import users_lexicon
from pincite.core.questions.plan import plan_question
from pincite.core.search.facts import values_of, with_facts
from pincite.core.search.relations import Relation, relations_among
from pincite.core.search.retriever import Retriever
from pincite.core.services.registry import make_reranker
from pincite.core.services.settings import SettingsInForce

if TYPE_CHECKING:
    from pincite.core.store.library import Library

ENGLISH_EMBEDDER, MULTILINGUAL_EMBEDDER = MiniLmEmbedder.name, E5Embedder.name


@dataclass(frozen=True, slots=True)
class RerankerState:
    """FlashRank's weights: whether they are here, and what fetching them means."""

    name: str
    installed: bool
    size_mb: int
    licence: str


@dataclass(frozen=True, slots=True)
class LanguageOffer:
    """Documents that the embedding model in use does not know; ``model`` is the one to switch to, empty: none here."""

    documents: tuple[str, ...]
    model: str


class Search:
    def __init__(
        self,
        settings: SettingsInForce,
        library: "Library",
        keywords: KeywordIndex,
        meaning: Callable[[], tuple[Embedder, PassageIndex]],
    ) -> None:
        """``meaning`` hands out the index that is active now: it changes when a new embedder's index is whole."""
        self._settings = settings
        self._library = library
        self._keywords = keywords
        self._meaning = meaning
        self._lock = threading.Lock()
        self._made: tuple[Settings, PassageIndex, bool, Retriever] | None = None

    @property
    def retriever(self) -> Retriever:
        """Return the retriever, rebuilt after changes of settings, index or reranker."""
        settings = self._settings.current
        embedder, vectors = self._meaning()
        flash = is_cached(settings.models_dir)
        with self._lock:
            if self._made is None or self._made[0] is not settings or self._made[1:3] != (vectors, flash):
                made = Retriever(
                    library=self._library,
                    keywords=self._keywords,
                    vectors=vectors,
                    embedder=embedder,
                    reranker=make_reranker(settings),
                    settings=settings,
                )
                self._made = settings, vectors, flash, made
            return self._made[3]

    def try_out(self, query: str, document_ids: Sequence[str] = ()) -> tuple[SearchPlan, SearchResult]:
        """Return what the rewriter and the retriever make of a query, without an answer."""
        settings = self._settings.current
        plan = plan_question(query, lexicon=users_lexicon(settings.data_dir))
        return plan, self.retriever.search(
            plan, self._library.list(), context_characters=settings.context_characters, scope=tuple(document_ids)
        )

    def facts(self, documents: Sequence[Document]) -> dict[str, list[str]]:
        """Return the facts for choosing documents: values of company, year and type that distinguish them."""
        return values_of(documents)

    def with_facts(self, wanted: Mapping[str, Sequence[str]], among: Collection[str] = ()) -> tuple[str, ...]:
        """Return the ids of the documents, all or ``among`` these, that have them. Raises DocumentError."""
        documents = [one for one in self._library.list() if not among or one.id in among]
        return tuple(document.id for document in with_facts(documents, wanted))

    def relations(self) -> list[Relation]:
        """Return which documents amend or replace others."""
        return relations_among(self._library.list())

    def language_offer(self) -> LanguageOffer | None:
        """None while no document is in another language than English, or the model in use knows others."""
        if self._settings.current.embedding_model != ENGLISH_EMBEDDER:
            return None
        languages = ((one.name, field.value) for one in self._library.list() for field in one.metadata
                     if field.name == "language")  # fmt: skip
        foreign = tuple(name for name, language in languages if not language.lower().startswith("en"))
        return LanguageOffer(foreign, MULTILINGUAL_EMBEDDER if e5_is_here() else "") if foreign else None

    @property
    def built_in_embedders(self) -> tuple[str, ...]:
        return (ENGLISH_EMBEDDER, *((MULTILINGUAL_EMBEDDER,) if e5_is_here() else ()))

    def reranker_state(self) -> RerankerState:
        return RerankerState(MODEL, is_cached(self._settings.current.models_dir), SIZE_MB, LICENCE)

    def fetch_reranker(self, progress: Callable[[float], object]) -> None:
        """Download FlashRank's weights because a person asked for it. Raises ModelUnavailableError."""
        download(self._settings.current.models_dir, progress=progress)
