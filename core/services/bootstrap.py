"""The one place that opens the stores, builds the services on them and wires both together."""

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import langsmith

from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.accounts import User
from pincite.core.domain.errors import AccessError, IndexMismatchError, ModelUnavailableError, TurnError
from pincite.core.domain.ports import Embedder, PassageIndex
from pincite.core.domain.settings import Settings, load_settings
from pincite.core.domain.turns import TurnStatus
from pincite.core.figures.formulas import users_formulas
from pincite.core.ingest.describing import described
from pincite.core.ingest.pipeline import Ingest, UserIngest
from pincite.core.ingest.stages import Stores
from pincite.core.questions.lexicon import users_lexicon
from pincite.core.services.accounts import Accounts, Sharing
from pincite.core.services.health import Health
from pincite.core.services.registry import check_engine, choose_engine, make_embedder
from pincite.core.services.telemetry import Telemetry
from pincite.core.store.access import UserDatabase
from pincite.core.store.collections import Collections
from pincite.core.store.condition import Condition
from pincite.core.store.data_dir import check_ours, claim, delete_old_files, quarantined
from pincite.core.store.descriptions import Descriptions
from pincite.core.store.exact import NoMeaning
from pincite.core.store.grids import GridStore, basis_of
from pincite.core.store.indexes import Indexes
from pincite.core.store.jobs import Jobs
from pincite.core.store.library import Library
from pincite.core.store.locks import Elsewhere, WorkLock
from pincite.core.store.notes import NoteStore
from pincite.core.store.open import check_copied, open_database
from pincite.core.store.private import keep_private
from pincite.core.store.purge import of_turn, purge, quoting
from pincite.core.store.recall import Recall
from pincite.core.store.reviews import Reviews
from pincite.core.store.sessions import Sessions
from pincite.core.store.shelf import Shelf
from pincite.core.store.soundness import check_whole
from pincite.core.store.sqlite import SqliteDatabase
from pincite.core.store.tokens import Tokens
from pincite.core.store.turns import Turns
from pincite.core.store.users import Users
from pincite.core.store.watched import Watched

if TYPE_CHECKING:
    from pincite.core.graph.context import Equipment
    from pincite.core.services.grids import Grids
    from pincite.core.services.ingest import Documents


class Pincite:
    """Everything that is open on one data directory; views call its parts."""

    user: User | None = None
    """Whose view this is; None: of a library without accounts, or of everything."""

    def __init__(self, settings: Settings, *, at_work: bool = True) -> None:
        # LangGraph takes a second to import; a look at the library does without.
        from pincite.core.graph.build import build_graph
        from pincite.core.graph.checkpoints import forget_runs, open_checkpoints
        from pincite.core.services.model_library import ModelLibrary
        from pincite.core.services.settings import SettingsInForce
        from pincite.core.services.watching import Watching

        at_work = at_work and settings.role != "app"
        check_engine(settings.engine)
        check_ours(settings)
        if not settings.database_url:
            check_whole(settings)
        keep_private(settings.data_dir)
        self._forget = forget_runs
        self.database = open_database(settings)
        try:
            check_copied(self.database)
            self._checkpoints = open_checkpoints(settings.checkpoints_path, settings.database_url)
        except BaseException:
            self.database.close()
            raise
        self.library = Library(self.database, settings)
        if isinstance(self.database, SqliteDatabase):
            if not self.database.owner_id:  # what an older version left
                self.library.note_unlocked_files()
            claim(settings, self.database)
            delete_old_files(settings)
        self.indexes = Indexes(self.database, settings, make_embedder)
        self._keywords = self.database.keyword_index()
        self._at_work = at_work
        self._closed = False
        self._users: dict[str, UserPincite] = {}
        self._making_users = threading.Lock()
        self.accounts: Accounts | None = None
        if settings.admins:
            trusts = settings.trusts_email
            self.accounts = Accounts(Users(self.database), settings.admins.split(), trusts_email=trusts)

        self.settings = SettingsInForce(
            settings, self.indexes, changed=lambda: self.documents.use(self.settings.current)
        )
        self.models = ModelLibrary(lambda: self.settings.current)
        users_formulas(settings.data_dir)  # parsed once, before threads begin: see core/text/stating.py
        self._condition = Condition(self.database, self.library, settings)
        self._copies = self.database.copies()
        self.telemetry = Telemetry(self._condition.numbers)
        self._graph = build_graph(self._checkpoints.saver)
        self._wire()
        self._back_up()
        self.watching = Watching(
            Watched(self.database),
            self.library,
            self.collections,
            lambda: self.documents.ingest,
            settings,
            self.database.lock("watching"),
        )
        if at_work:
            self.watching.start()
            self.illustrations.start()
            self.grids.start()

    def _wire(self) -> None:
        """Build what works on the rows of this database, as they are seen with these settings."""
        from pincite.core.graph.context import Equipment
        from pincite.core.services.deletion import Deletion
        from pincite.core.services.engines import Engines
        from pincite.core.services.exports import Exports
        from pincite.core.services.illustrations import Illustrations
        from pincite.core.services.references import ReferenceImport
        from pincite.core.services.regression import Regression
        from pincite.core.services.reviews import Verdicts
        from pincite.core.services.search import Search
        from pincite.core.services.suggestions import Suggestions
        from pincite.core.services.turns import TurnRunner
        from pincite.core.services.verification import Verification
        from pincite.core.services.versions import Versions

        self.turns = Turns(self.database)
        self.sessions = Sessions(self.database, is_on_page=self.library.is_on_page)
        self.collections = Collections(self.database)
        self.tokens = Tokens(self.database)
        self.notes = NoteStore(self.database, self.library)
        self.engines = Engines(self.settings)
        self.search = Search(self.settings, self.library, self._keywords, self._meaning)
        self.verification = Verification(self.library, self.search)
        self.versions = Versions(self.library, self.search.relations)
        self.recall = Recall(self.database, self.sessions, self._meaning)
        self.verdicts = Verdicts(self.settings, self.turns, self.library)
        self.reviews = Reviews(self.database, self.turns, cite=self.verdicts.cite)
        self.exports = Exports(self.settings, self.library, self.turns, self.verdicts)

        def equipment() -> Equipment:
            current = self.settings.current
            return Equipment(
                settings=current,
                library=self.library,
                searcher=self.search.retriever,
                choose_engine=lambda asked: choose_engine(current, asked),
                recall=lambda question, ids: self.verdicts.recall(self.reviews.reviewed_match(question, ids)),
                await_documents=self.documents.lacking,
                lexicon=users_lexicon(current.data_dir),
                formulas=users_formulas(current.data_dir),
                look=self.documents.read_back,
            )

        self.runner = TurnRunner(
            turns=self.turns,
            sessions=self.sessions,
            graph=self._graph,
            equipment=equipment,
            settle=self._settle,
            ended=self.telemetry.ended,
            collection=self.collections.get,
        )
        self.suggestions = Suggestions(equipment, self._busy, self.library)
        self.grids = self._open_grids(equipment)
        self.deletion = Deletion(
            self.runner,
            self.sessions,
            self._scrub,
            remove_turn=self._remove_turn,
            remove_with_answers=self._remove_with_answers,
        )
        self._scrub_what_is_left()
        self.documents = self._open_documents()
        self.illustrations = Illustrations(
            lambda: self.settings.current,
            self.documents,
            self.library,
            Descriptions(self.database),
            lambda: self._meaning()[0],
        )
        self.references = ReferenceImport(self.documents, self.collections)
        self.regression = Regression(self.runner, self.turns, self.sessions, self.reviews, self.library)
        self.health = Health(lambda: self.settings.current, self.library, self._condition, self.engines.state)

    def of(self, user: User) -> "UserPincite":
        """Return the library as a user sees it: nothing of anybody else is there, unless it is shared with them."""
        with self._making_users:
            if user.id not in self._users:
                self._users[user.id] = UserPincite(self, user)
            own = self._users[user.id]
            own.user = user
            return own

    def note(self, action: str, kind: str, subject: str) -> None:
        """Add a line to the audit log, where there are accounts."""

    @property
    def is_admins(self) -> bool:
        """Return whether what concerns everybody may be changed here."""
        return self.user is None or self.user.is_admin

    @property
    def may_review(self) -> bool:
        return self.user is None or self.user.may_review

    def may_change(self, document_id: str) -> bool:
        """Return whether a document may be renamed and corrected."""
        return self.database.may_change(document_id)

    def may_delete(self, document_id: str) -> bool:
        return self.database.may_delete(document_id)

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def ingest(self) -> Ingest:
        return self.documents.ingest

    def close(self) -> None:
        """Stop turns and ingest, in that order, and close every file."""
        self._closed = True
        for own in self._users.values():
            own.close()
        self.watching.close()
        self.illustrations.close()
        self.grids.close()
        self.engines.close()
        self.models.stop()
        self.suggestions.close()
        self.runner.close()
        self.documents.close()
        self.indexes.close()
        self.deletion.scrub()
        self._checkpoints.close()
        self._copies.finish()
        self.database.close()

    def _busy(self) -> bool:
        """Return whether this process is answering anything."""
        return self.runner.busy() or any(own.runner.busy() for own in list(self._users.values()))

    def _open_grids(self, equipment: "Callable[[], Equipment]") -> "Grids":
        from pincite.core.services.grids import Grids

        store, fill = GridStore(self.database), self._fill_grid if self.accounts else None
        return Grids(equipment, self._busy, self.library, store, basis_of, self._lock("grids"), fill)

    def _fill_grid(self, grid_id: str) -> bool:
        """Ask a cell of a grid as its owner would: with that user's documents and engine."""
        owner = GridStore(self.database).owner(grid_id)
        user = self.accounts.with_id(owner) if self.accounts and owner else None
        if user is None:
            self.grids.stop(grid_id)
            return False
        try:
            return self.of(user).grids.fill_some(grid_id)
        except AccessError:  # the user was disabled meanwhile
            return False

    def _open_documents(self) -> "Documents":
        from pincite.core.services.ingest import Documents

        settings = self.settings.current
        return Documents(settings, self.library, self._open_ingest, quarantined=lambda: quarantined(settings))

    def _open_ingest(self, settings: Settings, reader: ProcessReader) -> Ingest:
        shelf = Shelf(self.database, self.library, self._keywords, settings, self._when_removed, self._after_removal)
        jobs, lock = Jobs(self.database, shelf, self.indexes), self._lock("ingest", shared=True)
        stores = Stores(self.library, shelf, jobs, self.indexes, lock, self.database.claim)
        return Ingest(stores, reader, described, settings, at_work=self._at_work)

    def _lock(self, name: str, *, shared: bool = False) -> WorkLock:
        return Elsewhere() if self.settings.current.role == "app" else self.database.lock(name, shared=shared)

    def _settle(self) -> None:
        self._forget_runs()
        self._back_up()

    def _scrub_what_is_left(self) -> None:
        """Leave nothing of what was deleted before the last end; ingest has not begun to write."""
        self.deletion.scrub(words=bool(self.sessions.to_scrub()))

    def _back_up(self) -> None:
        wanted = self._at_work and self.settings.current.automatic_backups
        self._copies.begin(daily=wanted and bool(self.library.list()))

    def _forget_runs(self) -> None:
        """What has ended needs no checkpoints; what was interrupted may be continued from them."""
        self._forget(self._checkpoints, self.turns.unfinished)

    def _when_removed(self, document_id: str) -> None:
        """Run inside the removal's transaction: no other lock is taken here, and no thread waited for."""
        self._copies.mark()
        self.suggestions.forget(document_id)
        name = self.library.get(document_id).name
        self.reviews.mark_stale(document_id, f"“{name}”, which the reviewed answer cites, was removed or replaced.")

    def _after_removal(self) -> None:
        self._forget(self._checkpoints, self.turns.running)  # what was interrupted may hold its text
        self._copies.begin(daily=False)

    def _meaning(self) -> tuple[Embedder, PassageIndex]:
        """Where the embedder cannot be used, words are searched all the same."""
        try:
            return self.indexes.active()
        except (ModelUnavailableError, IndexMismatchError) as error:
            none = NoMeaning(error)
            return none, none

    def _scrub(self, words: bool, max_bytes: int | None) -> bool:
        self._forget_runs()
        emptied = self._checkpoints.scrub() and self.database.scrub(words=words, max_bytes=max_bytes)
        return emptied and self._copies.replace()

    def _remove_turn(self, turn_id: str) -> None:
        turn = self.turns.without_trace(turn_id)
        if turn.status is TurnStatus.RUNNING:
            raise TurnError("This answer is still being written.", hint="Stop it first.")
        purge(self.database, of_turn(turn))

    def _remove_with_answers(self, document_id: str) -> int:
        found = quoting(self.database, document_id)
        self.ingest.remove(document_id, together_with=lambda: purge(self.database, found))
        return len(found.turn_ids)


class UserPincite(Pincite):
    """The library as one user sees it; what works in the background is that of everybody."""

    user: User

    def __init__(self, everybodys: Pincite, user: User) -> None:
        from pincite.core.services.settings import UserSettings

        self.user, self._everybodys = user, everybodys
        self._store = Users(everybodys.database)
        accounts = everybodys.accounts
        assert accounts
        check = partial(accounts.now, user.id)
        self.database = UserDatabase(everybodys.database, user.id, self.note, check)
        self.accounts, self.models, self.watching = everybodys.accounts, everybodys.models, everybodys.watching
        self.indexes, self.telemetry = everybodys.indexes, everybodys.telemetry
        self._keywords, self._graph, self._condition = everybodys._keywords, everybodys._graph, everybodys._condition
        self._checkpoints, self._copies, self._at_work = everybodys._checkpoints, everybodys._copies, False
        self.settings = UserSettings(
            everybodys.settings,
            lambda: self._store.settings(user.id),
            lambda values: self._store.set_settings(user.id, values),
            lambda: accounts.now(user.id).is_admin,
        )
        self.library = Library(self.database, everybodys.settings.current)
        self._wire()
        self.sharing = Sharing(self._store, lambda: self.user, self.database.right)

    @property
    def closed(self) -> bool:
        return self._everybodys.closed

    def close(self) -> None:
        self.engines.close()
        self.suggestions.close()
        self.grids.close()
        self.runner.close()

    def of(self, user: User) -> "UserPincite":
        return self._everybodys.of(user)

    def note(self, action: str, kind: str, subject: str) -> None:
        self._store.note(self.user.email, action, kind, subject)

    def _busy(self) -> bool:
        return self._everybodys._busy()

    def _open_grids(self, equipment: "Callable[[], Equipment]") -> "Grids":
        from pincite.core.services.grids import UserGrids

        store = GridStore(self.database)
        return UserGrids(self._everybodys.grids, equipment, self._busy, self.library, store, basis_of, Elsewhere())

    def _open_documents(self) -> "Documents":
        return self._everybodys.documents.asked_by(self.library, self._open_users_ingest)

    def _open_users_ingest(self, working: Ingest, settings: Settings, reader: ProcessReader) -> Ingest:
        shelf = Shelf(
            self.database, self.library, self._keywords, settings, self._when_removed, self._everybodys._after_removal
        )
        jobs = Jobs(self.database, shelf, self.indexes)
        stores = Stores(self.library, shelf, jobs, self.indexes, Elsewhere(), self.database.claim)
        return UserIngest(working, stores, reader, described, settings)

    def _scrub_what_is_left(self) -> None:
        """That of everybody did it."""

    def _settle(self) -> None:
        self._everybodys._settle()

    def _when_removed(self, document_id: str) -> None:
        self._everybodys._when_removed(document_id)
        self.suggestions.forget(document_id)

    def _scrub(self, words: bool, max_bytes: int | None) -> bool:
        return self._everybodys._scrub(words, max_bytes)

    def _remove_with_answers(self, document_id: str) -> int:
        """The answers of others that quote the document go, too; how many those are is not this user's to know."""
        everything = self.database.everything
        found, own = quoting(everything, document_id), quoting(self.database, document_id)
        self.ingest.remove(document_id, together_with=lambda: purge(everything, found))
        return len(own.turn_ids)


def open_pincite(settings: Settings | None = None, *, at_work: bool = True) -> Pincite:
    """Open the data directory, making it where it is new. Raises StorageError or SettingsError.

    Without ``at_work`` ingest begins to work only once something is asked of it.
    """
    # LangGraph would send whole turns to LangSmith where the user's environment asks that of other programs.
    langsmith.configure(enabled=False)
    return Pincite(settings or load_settings(), at_work=at_work)
