"""The one place that builds and wires Pincite, and the facade that pages and the command line use."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import langsmith

from core.documents.marking import mark_words
from core.documents.metadata import describe
from core.documents.reader import ProcessReader
from core.domain.answers import AnswerPart, Citation, ClaimStatus, Verdict
from core.domain.documents import Document, DocumentStatus
from core.domain.errors import DocumentError, IndexMismatchError, ModelUnavailableError, PinciteError, StoppedError
from core.domain.health import HealthCheck
from core.domain.ports import Embedder, PassageIndex, Reranker
from core.domain.search import SearchPlan, SearchResult
from core.domain.settings import Settings, load_settings, save_choices
from core.domain.turns import Recalled, ReviewDecision, Turn
from core.graph.build import build_graph, forget_runs, open_checkpointer
from core.ingest.pipeline import Ingest
from core.judge.citations import CitedAnswer, cite_typed
from core.judge.confidence import Recalibration, ThresholdEffect, shipped_models
from core.judge.confidence import ReliabilityBin as ReliabilityBin
from core.judge.learning import OwnReviews as OwnReviews
from core.judge.learning import learn
from core.judge.verdict import judged_question, verdict_of
from core.models.client import stoppable
from core.models.engines import EngineState, choose_engine, look_for_engines
from core.models.flash import LICENCE, MODEL, SIZE_MB, FlashReranker, download, is_cached
from core.models.rerank import BuiltInReranker
from core.search.plan import plan_question
from core.search.retriever import Retriever
from core.services.health import Look
from core.services.turns import CLOSING_SECONDS, Equipment, TurnRunner
from core.store.data_dir import check_ours, claim, quarantined
from core.store.database import Database, empty_log
from core.store.exact import NoMeaning
from core.store.indexes import Indexes
from core.store.keywords import Fts5Index
from core.store.library import Library
from core.store.private import keep_private
from core.store.purge import purge, quoting, scrub
from core.store.reviews import Reviews
from core.store.sessions import Sessions
from core.store.turns import Turns
from core.store.witness import check_whole, note_closing, note_opening

ENGINES_HOLD_SECONDS = 10.0
"""How long an answer about the engines is given again without asking the server."""
ENGINES_STALE_SECONDS = 60.0
"""How long it is still given while the server is asked."""
SCRUBBED_AT_ONCE_BYTES = 32 * 2**20
"""Size up to which the database is written anew with every deleted session; a larger one is when Pincite closes."""


@dataclass(frozen=True, slots=True)
class RerankerState:
    """FlashRank's weights: whether they are here, and what fetching them means."""

    name: str
    installed: bool
    size_mb: int
    licence: str


@dataclass(frozen=True, slots=True)
class ConfidenceMeasured:
    """``effects``: what a review threshold flags and catches."""

    answers: int
    reliability: tuple[ReliabilityBin, ...]
    effects: Mapping[float, ThresholdEffect]


@dataclass(frozen=True, slots=True)
class Purged:
    """How many answers went; ``scrubbed``: no file holds deleted text any more."""

    answers: int
    scrubbed: bool


class Pincite:
    """Everything that is open on one data directory."""

    def __init__(self, settings: Settings, *, at_work: bool = True) -> None:
        check_ours(settings)
        check_whole(settings)
        self.settings = settings
        keep_private(settings.data_dir)
        self._at_work = at_work
        self.database = Database(settings.database_path)
        self.library = Library(self.database, settings)
        if not self.database.owner_id:  # what an older version left
            self.library.note_unlocked_files()
        claim(settings, self.database)
        self.turns = Turns(self.database)
        self._checkpointer = open_checkpointer(settings.checkpoints_path)
        self._opening = note_opening(settings, self.database)
        self.sessions = Sessions(self.database, stands=self.library.stands)
        self._keywords = Fts5Index(self.database)
        self.indexes = Indexes(self.database, settings)
        self._follow_index()
        self._reader = ProcessReader(self.settings)
        self.runner = TurnRunner(
            turns=self.turns,
            sessions=self.sessions,
            graph=build_graph(self._checkpointer),
            equipment=self._equipment,
            settle=lambda: forget_runs(self._checkpointer, self.turns.running()),
        )
        self.reviews = Reviews(
            self.database,
            self.turns,
            cite=self._cite,
        )
        self._scrub_deleted(words=bool(self.sessions.to_scrub()))
        self.ingest = self._ingest()
        self._lock = threading.Lock()
        self._retriever: tuple[object, Retriever] | None = None
        self._engines: EngineState | None = None
        self._engines_at = 0.0
        self._looking: threading.Thread | None = None
        self._closing = threading.Event()
        self._own: tuple[object, OwnReviews] | None = None

    def page_image(
        self, document_id: str, page_index: int, *, width: int = 900, marks: Sequence[tuple[int, int]] = ()
    ) -> bytes:
        """A PNG of the page with these character spans of its text marked. Raises a DocumentError."""
        image = self._reader.render(self.library.file_path(document_id), page_index, width=width)
        return mark_words(image, self.library.page(document_id, page_index), marks) if marks else image

    def engines(self) -> EngineState:
        """What answers now and what could; a thread asks the server anew every few seconds, and nobody waits for it.

        Only where nothing is known, or what is known is old, the caller asks.
        """
        with self._lock:
            known, age = self._engines, time.monotonic() - self._engines_at
            looking = self._looking is not None and self._looking.is_alive()
            if known is not None and ENGINES_HOLD_SECONDS < age <= ENGINES_STALE_SECONDS and not looking:
                self._looking = threading.Thread(target=self._look_again, name="engines", daemon=True)
                self._looking.start()
        return known if known is not None and age <= ENGINES_STALE_SECONDS else self._look_for_engines()

    def _look_again(self) -> None:
        with suppress(StoppedError):
            self._look_for_engines()

    def _look_for_engines(self) -> EngineState:
        """No lock is held while the server is asked; what it says of settings that have changed since is not kept."""
        settings = self.settings
        with stoppable(self._closing.is_set):
            found = look_for_engines(settings)
        with self._lock:
            if settings is self.settings:
                self._engines, self._engines_at = found, time.monotonic()
        return found

    def change_settings(self, **values: Any) -> None:
        """Save the choices and use them from the next turn on. Raises SettingsError or ModelUnavailableError."""
        changed = self.settings.but(**values)
        self.indexes.use(changed)
        try:
            if changed.embedding_model != self.settings.embedding_model:
                self.indexes.switch_to(changed.embedding_model)
            save_choices(changed.data_dir, values)
        except PinciteError:
            self.indexes.use(self.settings)
            raise
        with self._lock:
            previous, self.settings = self.settings, changed
            self._retriever = self._engines = None
        reading = ("ocr", "max_file_mib", "max_pages", "page_seconds", "reader_memory_mib")
        if any(getattr(changed, name) != getattr(previous, name) for name in reading):
            self.ingest.close()
            self._reader.close()
            self._reader = ProcessReader(changed)
            self.ingest = self._ingest()

    def search(self, query: str, document_ids: Sequence[str] = ()) -> tuple[SearchPlan, SearchResult]:
        """The playground: what the rewriter and the retriever make of a query, without an answer."""
        plan = plan_question(query)
        characters = self.settings.context_characters
        return plan, self.retriever.search(plan, context_characters=characters, scope=tuple(document_ids))

    def check_edit(self, turn_id: str, text: str) -> Verdict:
        """What the checks without a model say of a reviewer's text, against the turn's evidence. Raises TurnError."""
        turn = self.turns.without_trace(turn_id)
        if text.strip() == turn.answer.strip():
            return self._judged(turn, CitedAnswer(turn.parts, turn.citations))
        return self._judged(turn, cite_typed(text, turn.evidence, self.library.page_text))

    def as_it_stands(self, turn: Turn) -> Turn:
        """The turn as it can be shown today: words that no longer stand on their page bear no claim out."""
        attempts = (replace(one, verdict=self._standing(one.verdict, one.citations)) for one in turn.attempts)
        return replace(turn, verdict=self._standing(turn.verdict, turn.citations), attempts=tuple(attempts))

    def verdict_on_review(self, turn: Turn) -> Verdict | None:
        """What can be said today of the text that a reviewer approved or wrote; None of a rejection."""
        review = turn.review
        if review is None or review.decision is ReviewDecision.REJECTED:
            return None
        own = review.parts != turn.parts
        verdict = self._judged(turn, CitedAnswer(review.parts, review.citations)) if own else turn.verdict
        return self._standing(verdict, review.citations)

    def _standing(self, verdict: Verdict | None, citations: Sequence[Citation]) -> Verdict | None:
        lost = {citation.number for citation in citations if not self.library.stands(citation)}
        return verdict and _without_sources(verdict, lost, self.library.stands)

    def _judged(self, turn: Turn, cited: CitedAnswer) -> Verdict:
        return verdict_of(
            judged_question(turn),
            cited.parts,
            turn.evidence,
            removed_markers=cited.removed,
            page_text=self.library.page_text,
            threshold=self.settings.review_threshold,
            recalibration=Recalibration(self.settings.confidence_slope, self.settings.confidence_intercept),
        )

    @property
    def confidence_is_learned(self) -> bool:
        """Whether the confidence is corrected by the user's own reviews."""
        return (self.settings.confidence_slope, self.settings.confidence_intercept) != (1.0, 0.0)

    def confidence_measured(self) -> ConfidenceMeasured:
        """How the confidence did on labelled answers that it was not fitted on."""
        measured = shipped_models().measured
        bins = tuple(ReliabilityBin(*row) for row in measured.get("reliability", ()))
        effects = {row[0]: ThresholdEffect(row[1], row[2]) for row in measured.get("thresholds", ())}
        return ConfidenceMeasured(sum(part.count for part in bins), bins, effects)

    def own_reviews(self) -> OwnReviews:
        """What the decisions that hold say of the confidence; judged again only when there are other ones."""
        decided = self.reviews.decision_times()
        if self._own is None or self._own[0] != decided:
            self._own = (decided, learn(self.turns.without_trace(turn_id) for turn_id, _ in decided))
        return self._own[1]

    def learn_confidence(self, own: OwnReviews | None) -> None:
        """Correct the confidence by the user's own reviews from the next turn on; None returns to the shipped one."""
        learned = (own and own.learned) or Recalibration()
        self.change_settings(confidence_slope=learned.slope, confidence_intercept=learned.intercept)

    def roll_back_embedding(self) -> bool:
        """Stop a build, or return to the index before the last switch; False when there is neither."""
        if not self.indexes.roll_back():
            return False
        self._follow_index()
        return True

    def _follow_index(self) -> None:
        """The database alone knows which index there is; the choice that is kept beside it may lag behind a kill."""
        name = self.indexes.wanted_name
        if name != self.settings.embedding_model:
            self.settings = self.settings.but(embedding_model=name)
            self.indexes.use(self.settings)
            save_choices(self.settings.data_dir, {"embedding_model": name})

    def delete_session(self, session_id: str) -> None:
        """Stop what the session is answering, then delete it with its turns, traces and reviews."""
        running = self.runner.running(session_id)
        if running is not None:
            self.runner.stop(running)
            self.runner.wait(running, CLOSING_SECONDS)
        self.sessions.delete(session_id)
        self._scrub_deleted(most_bytes=SCRUBBED_AT_ONCE_BYTES)

    def _scrub_deleted(self, *, words: bool = False, most_bytes: int | None = None) -> bool:
        """Leave nothing of deleted sessions in the files; where another process is in the way, the next start does."""
        deleted = self.sessions.to_scrub()
        if not deleted and not words:
            return True
        with self._checkpointer.lock:
            scrubbed = scrub(self._checkpointer.conn) and scrub(
                self.database.connection, words=words, most_bytes=most_bytes
            )
        if scrubbed:
            self.sessions.scrubbed(deleted)
        return scrubbed

    def remove_with_answers(self, document_id: str) -> Purged:
        """Remove a document and every answer that quotes it, and leave no copy of its text in any file."""
        found = quoting(self.database, document_id)
        self.ingest.remove(document_id, together_with=lambda: purge(self.database, found))
        return Purged(len(found.turn_ids), self._scrub_deleted(words=True))

    def reranker_state(self) -> RerankerState:
        return RerankerState(MODEL, is_cached(self.settings.models_dir), SIZE_MB, LICENCE)

    def fetch_reranker(self, progress: Callable[[float], None]) -> None:
        """Download FlashRank's weights because a person asked for it. Raises ModelUnavailableError."""
        download(self.settings.models_dir, progress=progress)
        with self._lock:
            self._retriever = None

    @property
    def retriever(self) -> Retriever:
        """On the index that is active now: it changes when a new embedder's index is whole.

        Where its embedder cannot be used, words are searched all the same.
        """
        embedder: Embedder
        vectors: PassageIndex
        try:
            embedder, vectors = self.indexes.active()
        except (ModelUnavailableError, IndexMismatchError) as error:
            embedder = vectors = NoMeaning(error)
        with self._lock:
            if self._retriever is None or self._retriever[0] is not vectors:
                made = Retriever(
                    library=self.library,
                    keywords=self._keywords,
                    vectors=vectors,
                    embedder=embedder,
                    reranker=self._reranker(),
                    settings=self.settings,
                )
                self._retriever = (vectors, made)
            return self._retriever[1]

    def health(self) -> list[HealthCheck]:
        return self._look().health()

    def _look(self) -> Look:
        return Look(self.settings, self.database, self.library, self.engines)

    def storage(self) -> Mapping[str, int]:
        """Bytes on disk by part."""
        return self._look().storage()

    @property
    def closed(self) -> bool:
        return self._closing.is_set()

    def close(self) -> None:
        """Stop turns and ingest, in that order, and close every file."""
        self._closing.set()
        self.runner.close()
        self.ingest.close()
        self.indexes.close()
        self._reader.close()
        self._scrub_deleted()
        empty_log(self._checkpointer.conn)
        self._checkpointer.conn.close()
        self.database.close()
        note_closing(self.settings, self._opening)

    def quarantined(self) -> list[Path]:
        """PDFs that lay among the library's files and are none of its documents."""
        return quarantined(self.settings)

    def add_quarantined(self) -> list[tuple[str, DocumentError]]:
        """Take in what was set aside; return the names that cannot become documents, and why. Those stay there."""
        stayed: list[tuple[str, DocumentError]] = []
        for path in self.quarantined():
            try:
                self.ingest.add(path, path.name)
            except DocumentError as error:
                stayed.append((path.name, error))
        return stayed

    def _ingest(self) -> Ingest:
        return Ingest(
            self.database,
            self.library,
            self._keywords,
            self.indexes,
            self._reader,
            describe,
            self.settings,
            going=self._tell_reviews,
            at_work=self._at_work,
        )

    def _tell_reviews(self, document: Document) -> None:
        why = f"“{document.name}”, which the reviewed answer cites, was removed or replaced."
        self.reviews.mark_stale(document.id, why)

    def _reranker(self) -> Reranker:
        folder = self.settings.models_dir
        return FlashReranker(folder) if is_cached(folder) else BuiltInReranker()

    def _equipment(self) -> Equipment:
        settings = self.settings
        return Equipment(
            settings=settings,
            documents=self.library,
            searcher=self.retriever,
            choose_engine=lambda asked: choose_engine(settings, asked),
            recall=self._recall,
            await_documents=self._await_documents,
        )

    def _recall(self, question: str, document_ids: Sequence[str]) -> Recalled | None:
        """The reviewed answer to the same question; an edited one with a verdict of its own, not the draft's."""
        recalled = self.reviews.reviewed_match(question, document_ids)
        if recalled is None or not all(map(self.library.stands, recalled.citations)):
            return None
        turn = self.turns.without_trace(recalled.turn_id)
        if recalled.parts == turn.parts:
            return recalled
        return replace(recalled, verdict=self._judged(turn, CitedAnswer(recalled.parts, recalled.citations)))

    def _await_documents(self, document_ids: Sequence[str], seconds: float) -> bool:
        """Wait for the text; where there is none yet because every page is scanned, for the first recognised page."""
        if not self.ingest.wait(document_ids, searchable_only=True, timeout_seconds=seconds):
            return False
        documents = [document for document in self.library.list() if document.id in document_ids]
        scanned = [document for document in documents if document.status is DocumentStatus.RECOGNISING]
        blank = [document.id for document in scanned if not document.passage_count]
        return not blank or self.ingest.wait(blank, timeout_seconds=seconds)

    def _cite(self, turn: Turn, text: str) -> tuple[tuple[AnswerPart, ...], tuple[Citation, ...]]:
        cited = cite_typed(text, turn.evidence, self.library.page_text)
        return cited.parts, cited.citations


def open_pincite(settings: Settings | None = None, *, at_work: bool = True) -> Pincite:
    """Open the data directory, making it where it is new. Raises StorageError or SettingsError.

    Without ``at_work`` ingest begins to work only once something is asked of it.
    """
    # LangGraph would send whole turns to LangSmith where the user's environment asks that of other programs.
    langsmith.configure(enabled=False)
    return Pincite(settings or load_settings(), at_work=at_work)


def _without_sources(verdict: Verdict, lost: Set[int], stands: Callable[[Citation], bool]) -> Verdict:
    """The verdict with each claim that cites what is gone, or quotes it, marked so."""
    claims = tuple(
        replace(claim, status=ClaimStatus.SOURCE_REMOVED, reason="what it quotes no longer stands on its page")
        if lost & set(claim.citations) or (claim.quotation and not stands(claim.quotation))
        else claim
        for claim in verdict.claims
    )
    return verdict if claims == verdict.claims else replace(verdict, claims=claims, accepted=False)
