"""``kill -9`` at a statement or file operation drawn by lot, in all that writes; then a start, and a look at all of it.

``inconsistent`` counts the kills after which something was lost, doubled, left over or at odds with something else.
"""

import hashlib
import json
import logging
import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import resources
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Engine, event, func, select, text

from pincite.core.domain.documents import Page, PageStatus
from pincite.core.domain.errors import NotAPdfError, StorageError
from pincite.core.domain.ports import PdfInfo, Vectors
from pincite.core.domain.settings import Settings, load_settings
from pincite.core.domain.turns import ReviewDecision, TurnStatus
from pincite.core.services import bootstrap as runtime
from pincite.core.services import ingest as intake
from pincite.core.services.bootstrap import Pincite, open_pincite
from pincite.core.store.review_log import troubles
from pincite.core.store.schema import documents, metadata, pins, removals
from pincite.core.store.sqlite import SqliteDatabase
from pincite.core.text.marks import plain_text
from tests.support.databases import address_of, drop_database, end_connections, new_database

SEED = 11
LANES = 2
SETTLE_SECONDS = 60.0
CHILD_SECONDS = 120.0
START_MOMENTS = 250
CUT_OFF = 3
"""One in so many times it is the connections to a server's database that end, not the process."""
DIMENSIONS = 32
SECRET = "Zanzibarine"
"""A word of the session that is deleted; it occurs nowhere else."""
ADDRESS = "address"
"""File beside a data directory with the address of its PostgreSQL database, if it has one."""
FILE_EVENTS = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate")
CONTRACT, MANUAL, LEDGER, LETTER = "contract.pdf", "manual.pdf", "ledger.pdf", "letter.pdf"
PENALTY = "What interest do overdue amounts bear?"
TEXTS = {
    CONTRACT: [f"Clause {n}. Overdue amounts bear interest at {n} percent per month." for n in range(1, 7)],
    MANUAL: [f"Section {n} of the manual shows the gear number {n} of the machine." * 4 for n in range(1, 28)],
    LEDGER: [f"Entry {n}. The account of Bremen stood at {n}00 marks in spring." for n in range(1, 4)],
    LETTER: [f"Sheet {n} of the letter from Ghent speaks of the harvest of year {1800 + n}." for n in range(1, 31)],
}
"""The letter is not in the library to begin with."""


# ---------------------------------------------------------------- an application that starts fast


class PlainReader:
    """Reads files with form feeds between the pages, because reading is not attacked here."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def open(self, path: Path) -> PdfInfo:
        pages = _pages_of(path.read_bytes())
        return PdfInfo(len(pages), (), {})

    def read(self, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
        pages = _pages_of(path.read_bytes())
        for index in page_indexes:
            yield Page(index, str(index + 1), pages[index], (), (), PageStatus.TEXT)

    def lines(self, path: Path, page_index: int, boxes: Sequence[Sequence[float]]) -> list[str]:
        return ["" for _ in boxes]

    def own_text(self, path: Path) -> list[str]:
        return []

    def recognise(self, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
        return iter(())

    def close(self) -> None: ...


class HashEmbedder:
    """Counts words by their hash: vectors at no cost, the same in every process."""

    version = "1"
    dimensions = DIMENSIONS

    def __init__(self, name: str) -> None:
        self.name = name

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.full((len(texts), DIMENSIONS), 0.01, dtype=np.float32)
        for row, words in enumerate(texts):
            for word in words.lower().split():
                vectors[row, hashlib.sha256((self.name + word).encode()).digest()[0] % DIMENSIONS] += 1
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)


def pdf(name: str) -> bytes:
    return b"%PDF-1.4\f" + "\f".join(TEXTS[name]).encode()


def _pages_of(data: bytes) -> list[str]:
    head, *pages = data.decode().split("\f")
    if head != "%PDF-1.4":
        raise NotAPdfError("This is no file of this test.")
    return pages


def _wire(data_dir: Path) -> None:
    """In a child alone: the real thing on a reader and an embedder that cost nothing, and on its lane's database."""
    if (address := data_dir.with_name(ADDRESS)).exists():
        os.environ["PINCITE_DATABASE_URL"] = address.read_text()
    logging.disable(logging.CRITICAL)  # a kill leaves much to remark upon
    vars(runtime)["make_embedder"] = lambda name, settings: HashEmbedder(name)
    vars(intake)["ProcessReader"] = PlainReader


@contextmanager
def _opened(settings: Settings) -> Iterator[Pincite]:
    with closing(open_pincite(load_settings(settings.data_dir).but(engine="quoting", ocr=False))) as app:
        yield app


# ---------------------------------------------------------------- what is killed


@dataclass(frozen=True, slots=True)
class Scene:
    """``act`` does its work on an open application; without one, opening it is what is killed."""

    act: Callable[[Pincite], object] | None
    may_lack: tuple[str, ...] = ()
    """Documents that may be gone afterwards."""
    may_have: tuple[str, ...] = ()
    old: bool = False
    """Starts on a directory of the first version."""


def _id(name: str) -> str:
    return hashlib.sha256(pdf(name)).hexdigest()


def _session(app: Pincite, title: str) -> str:
    return next((session.id for session in app.sessions.list() if session.title == title), "")


def _ingest(app: Pincite) -> None:
    app.ingest.add(pdf(LETTER), LETTER)
    app.ingest.wait()


def _ask(app: Pincite) -> None:
    for _ in range(2):
        app.runner.wait(app.runner.ask(_session(app, "kept"), "Which gear does section 5 show?"))


def _retry(app: Pincite) -> None:
    app.ingest.retry(_id(MANUAL), range(2, 25))
    app.ingest.wait()


def _review(app: Pincite) -> None:
    for turn in app.turns.of_session(_session(app, "kept")):
        if turn.review is None:
            app.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer=f"As reviewed: {turn.position}.")


def _settings(app: Pincite) -> None:
    for kept in (12, 13, 14):
        app.settings.change(kept=kept, ocr=False)


def _switch(app: Pincite) -> None:
    app.settings.change(embedding_model="other")
    _settle(app)
    app.settings.roll_back_embedding()
    _settle(app)


def _replace(app: Pincite) -> None:
    app.ingest.add(pdf(LETTER), LEDGER)
    app.ingest.replace(_id(LEDGER), _id(LETTER))
    app.ingest.wait()


def _delete(app: Pincite) -> None:
    app.deletion.session(_session(app, SECRET))


def _purge(app: Pincite) -> None:
    app.deletion.document_with_answers(_id(CONTRACT))


def _backup(app: Pincite) -> None:
    from pincite.core.store.upkeep.backup import backup

    backup(app.settings.current, app.settings.current.data_dir.parent / "backup.zip")


SCENES = {
    "ingest": Scene(_ingest, may_have=(LETTER,)),
    "ask": Scene(_ask),
    "retry": Scene(_retry),
    "remove": Scene(lambda app: app.ingest.remove(_id(CONTRACT)), may_lack=(CONTRACT,)),
    "purge": Scene(_purge, may_lack=(CONTRACT,)),
    "replace": Scene(_replace, may_lack=(LEDGER,), may_have=(LETTER,)),
    "review": Scene(_review),
    "settings": Scene(_settings),
    "switch": Scene(_switch),
    "delete_session": Scene(_delete),
    "migration": Scene(None, old=True),
    "start": Scene(None),
    "backup": Scene(_backup),
}


def _doomed(data_dir: Path, scene: str, kill_at: int, report: Path, *, cut_off: bool = False) -> None:
    """Do a scene's work; at the ``kill_at``-th statement or file operation of it, of any thread, die. 0: count them.

    ``cut_off``: instead of that, lose all connections to the database, as when its server is restarted.
    """
    _wire(data_dir)
    settings, act = Settings(data_dir=data_dir), SCENES[scene].act
    counted, armed = 0, act is None

    def count(*_: object) -> None:
        nonlocal counted
        counted += armed
        if armed and counted == kill_at:
            if cut_off:
                end_connections(settings.database_url)
            else:
                os.kill(os.getpid(), signal.SIGKILL)

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event in FILE_EVENTS or (event == "open" and arguments[1] and set(str(arguments[1])) & set("wax+")):
            count()

    connect = sqlite3.connect

    def watched(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.set_trace_callback(count)
        return connection

    sqlite3.connect = watched  # type: ignore[assignment] # the same for all that open one
    if settings.database_url:
        event.listen(Engine, "before_cursor_execute", count)
    sys.addaudithook(audit)
    with suppress(StorageError), _opened(settings) as app:  # people read it
        if act is not None:
            armed = True
            act(app)
        else:
            _settle(app)
        armed = False
    report.write_text(str(counted))


def _settle(app: Pincite) -> bool:
    """Wait until nothing is left to be done; False when that takes too long."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < deadline:
        if app.ingest.wait(timeout_seconds=1) and app.indexes.progress() is None and not _removals(app):
            return True
        threading.Event().wait(0.02)
    return False


def _removals(app: Pincite) -> int:
    return app.database.count(select(func.count()).select_from(removals))


# ---------------------------------------------------------------- what must hold


def _examined(data_dir: Path, scene: str, report: Path) -> None:
    """Start again, let everything come to its end, and write down what does not hold."""
    _wire(data_dir)
    settings = Settings(data_dir=data_dir)
    try:
        with _opened(settings) as app:
            finished = _settle(app)
            wrong = [*([] if finished else ["does not come to rest"]), *_faults(app, SCENES[scene])]
        wrong += _left_over(settings)
    except Exception as error:  # whatever it is, the start failed
        wrong = [f"does not start: {type(error).__name__}: {error}"]
    report.write_text(json.dumps(wrong))


def _faults(app: Pincite, scene: Scene) -> Iterator[str]:
    yield from _faults_of_documents(app, scene)
    yield from _faults_of_rows(app)
    yield from _faults_of_conversations(app)
    wanted = load_settings(app.settings.current.data_dir).embedding_model
    if wanted != app.indexes.wanted_name or app.settings.current.embedding_model != wanted:
        yield f"the settings say {wanted}, the index {app.indexes.wanted_name}"


def _faults_of_documents(app: Pincite, scene: Scene) -> Iterator[str]:
    names = {_id(name): name for name in TEXTS}
    there = {names[document.id] for document in app.library.list()}
    must = {CONTRACT, MANUAL, LEDGER} - set(scene.may_lack)
    if not must <= there <= must | set(scene.may_lack) | set(scene.may_have):
        yield f"the library holds {sorted(there)}"
    if scene.may_lack and scene.may_have and not there & {LEDGER, LETTER}:
        yield "the old document went before the new one came"
    for document in app.library.list():
        texts = [app.library.page_text(document.id, index) for index in range(document.page_count)]
        if texts != TEXTS[names[document.id]]:
            yield f"pages of {document.name} are lost or altered"
        if document.status != "ready" or not document.searchable:
            yield f"{document.name} is {document.status}"
        file = app.library.file_path(document.id)
        if not file.exists() or file.read_bytes() != pdf(names[document.id]):
            yield f"the file of {document.name} is gone or altered"
    known = {f"{document.id}.pdf" for document in app.library.list()}
    for path in app.settings.current.files_dir.glob("*.pdf"):
        if path.name not in known:
            yield f"{path.name} belongs to nothing"
    for path in app.documents.quarantined():
        if path.stem not in names or hashlib.sha256(path.read_bytes()).hexdigest() != path.stem:
            yield f"{path.name} in quarantine is not whole"
    vectors, passages = app.indexes.active()[1].count(), sum(d.passage_count for d in app.library.list())
    if vectors != passages:
        yield f"{passages} passages have {vectors} vectors"


COUNTS = {
    "passages of no page": """SELECT count(*) FROM passages WHERE NOT EXISTS (SELECT 1 FROM pages
        WHERE pages.document_id = passages.document_id AND pages.page_index = passages.page_index)""",
    "doubled passages": """SELECT count(*) FROM (SELECT 1 FROM passages GROUP BY document_id, page_index, start
        HAVING count(*) > 1) AS doubled""",
    "wrong passage counts": """SELECT count(*) FROM documents WHERE passage_count <>
        (SELECT count(*) FROM passages WHERE document_id = documents.id)""",
    "embeddings of no passage": """SELECT count(*) FROM embeddings
        WHERE key NOT IN (SELECT embedding_key FROM passages)""",
    "unfinished removals": "SELECT count(*) FROM removals",
    "running turns": "SELECT count(*) FROM turns WHERE status = 'running'",
    "turns without a line": "SELECT count(*) FROM turns WHERE id NOT IN (SELECT turn_id FROM turn_lines)",
}
OF_SQLITE = {
    "words without passage": "SELECT count(*) FROM passage_words WHERE rowid NOT IN (SELECT number FROM passages)",
    "broken references": "SELECT count(*) FROM pragma_foreign_key_check",
}
"""PostgreSQL lets neither be."""


def _faults_of_rows(app: Pincite) -> Iterator[str]:
    database = app.database
    of_engine = {} if app.settings.current.database_url else OF_SQLITE
    for what, query in (COUNTS | of_engine).items():
        if found := database.count(text(query)):
            yield f"{found} {what}"
    for table in metadata.tables.values():
        if "document_id" in table.c and table is not pins:
            gone = table.c.document_id.not_in(select(documents.c.id)) & (table.c.document_id != "")
            if found := database.count(select(func.count()).select_from(table).where(gone)):
                yield f"{found} rows of no document in {table.name}"
    if not database.keyword_index().is_sound():
        yield "passages without words"
    for _, sentence in troubles(database):
        yield sentence
    if isinstance(database, SqliteDatabase):
        checked = database.connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if checked != "ok":
            yield f"the database is damaged: {checked}"


def _faults_of_conversations(app: Pincite) -> Iterator[str]:
    there = {document.id for document in app.library.list()}
    if not _session(app, "kept") and _id(CONTRACT) in there:
        yield "a session was lost"
    for session in app.sessions.list():
        turns = app.turns.of_session(session.id)
        answers = {exchange.turn_id: exchange.answer for exchange in app.turns.exchanges(session.id)}
        for turn in turns:
            reviewed = turn.status is TurnStatus.REVIEWED
            if reviewed and turn.review is None:
                yield "a reviewed turn without its review"
            if turn.review is not None and not turn.review.stale and not reviewed:
                yield f"a review whose turn is {turn.status}"
            if turn.review is not None and answers.get(turn.id) not in (
                *(None, turn.review.final_answer, plain_text(turn.review.parts)),
            ):
                yield "the conversation does not say what the reviewer said"
            document_deleted = turn.review is not None and any(
                c.document_id not in there for c in turn.review.citations
            )
            if turn.review is not None and document_deleted != bool(turn.review.stale):
                yield "a review is not marked as its document is"
            if turn.status in (TurnStatus.ANSWERED, TurnStatus.FLAGGED) and not turn.trace:
                yield "an answered turn without a trace"


def _left_over(settings: Settings) -> Iterator[str]:
    """Yield the faults in the files after everything is closed; those of a server are not ours to look into."""
    data_dir = settings.data_dir
    if settings.database_url:
        return
    with closing(sqlite3.connect(data_dir / "checkpoints.db")) as connection:
        connection.execute("ATTACH ? AS library", (str(data_dir / "pincite.db"),))
        interrupted = f"SELECT id FROM library.turns WHERE status = '{TurnStatus.INTERRUPTED}'"
        if connection.execute(f"SELECT 1 FROM checkpoints WHERE thread_id NOT IN ({interrupted})").fetchone():
            yield "checkpoints of turns that have ended"
    with closing(sqlite3.connect(data_dir / "pincite.db")) as connection:
        if connection.execute("SELECT count(*) FROM sessions WHERE title = ?", (SECRET,)).fetchone()[0]:
            return
    for path in data_dir.rglob("*"):
        if path.is_file() and path.name != "data_level0.bin" and SECRET.encode() in path.read_bytes():
            yield f"text of a deleted session in {path.name}"


# ---------------------------------------------------------------- the campaign


def _furnish(data_dir: Path) -> None:
    """A library of three documents, a session with reviewed and unreviewed answers, and one to be deleted."""
    _wire(data_dir)
    with _opened(Settings(data_dir=data_dir)) as app:
        for name in (CONTRACT, MANUAL, LEDGER):
            app.ingest.add(pdf(name), name)
        assert _settle(app)
        kept = app.sessions.create("kept")
        questions = (PENALTY, "What stood the account of Bremen at?", "Which gear does section 3 show?", PENALTY)
        for question in questions:
            app.runner.wait(app.runner.ask(kept.id, question, fresh=True))
        first, second, *_ = app.turns.of_session(kept.id)
        for turn in (first, second):
            app.reviews.decide(turn.id, ReviewDecision.APPROVED)
        secret = app.sessions.create(SECRET)
        for number in range(3):
            turn_id = app.runner.ask(secret.id, f"Does {SECRET}{number} pay interest on overdue amounts?")
            app.runner.wait(turn_id)
            app.reviews.decide(turn_id, ReviewDecision.EDITED, final_answer=f"{SECRET}{number} pays none.")


def _age(data_dir: Path) -> None:
    """Write the database as the first version did: its tables, with as much of the rows as they can hold."""
    new, old = data_dir / "pincite.db", data_dir / "old.db"
    (data_dir / "pincite-data.json").unlink(missing_ok=True)
    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        script = resources.files("pincite.core.store.formats") / "001_initial.sql"
        connection.executescript(script.read_text(encoding="utf-8"))
        connection.execute("ATTACH ? AS new", (str(new),))
        listed = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'passage_words%'"
        for (table,) in connection.execute(f"{listed} AND name NOT LIKE 'sqlite_%'").fetchall():
            columns = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]
            have = {row[1] for row in connection.execute(f"PRAGMA new.table_info({table})")}
            names = ", ".join(f'"{column}"' for column in columns if column in have)
            if not names:
                continue
            connection.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM new.{table}")
        connection.execute(
            "INSERT INTO main.passage_words (rowid, context, text) SELECT rowid, context, text FROM new.passage_words"
        )
        connection.execute("DETACH new")
        connection.execute("PRAGMA user_version = 1")
    old.replace(new)


class _Campaign:
    """Kills in lanes side by side; each in a directory of its own that is a copy of the furnished one."""

    def __init__(self, folder: Path, context: ForkServerContext, server: str) -> None:
        """``server``: the address of a PostgreSQL server; empty: SQLite."""
        self._folder = folder
        self._server = server
        self._base = ""
        self._context = context
        self._lengths: dict[str, int] = {}
        self.kills = dict.fromkeys(SCENES, 0)
        self.faults: list[str] = []
        self._lock = threading.Lock()
        self._asking = threading.Lock()
        """Starting a process asks after all others, and only one may read how another ended."""

    def prepare(self) -> None:
        base = self._folder / "base" / "data"
        base.parent.mkdir()
        if self._server:
            self._base = new_database(self._server)
            base.with_name(ADDRESS).write_text(address_of(self._server, self._base))
        self._run(_furnish, base)
        if not self._server:
            shutil.copytree(base.parent, self._folder / "old")
            _age(self._folder / "old" / "data")

    def measure(self, scene: str) -> None:
        """Run the scene to its end once, to count its moments; nothing may be wrong then either."""
        place = self._place(scene, "measured")
        self._run(_doomed, place, scene, 0, self._folder / f"{scene}-length")
        self._lengths[scene] = int((self._folder / f"{scene}-length").read_text())
        self._examine(place, scene, "without a kill")

    def kill(self, scene: str, number: int) -> None:
        """Kill once; every other time again, while the next start puts in order what the first kill left."""
        lot = random.Random(f"{SEED} {scene} {number}")
        moment, again = lot.randint(1, self._lengths[scene]), lot.randint(1, START_MOMENTS)
        cut_off = bool(self._server) and number % CUT_OFF == CUT_OFF - 1
        place = self._place(scene, str(number))
        report = place.with_suffix(".report")
        doomed = partial(_doomed, cut_off=cut_off)
        killed = self._run(doomed, place, scene, moment, report, may_die=True) == (0 if cut_off else -signal.SIGKILL)
        twice = killed and number % 2 == 1
        if twice:
            twice = self._run(_doomed, place, "start", again, report, may_die=True) == -signal.SIGKILL
        if killed:
            with self._lock:
                self.kills[scene] += killed + twice
            how = "cut off " if cut_off else ""
            when = f"{how}at {moment} of {self._lengths[scene]}, then at {again if twice else 'none'}"
            self._examine(place, scene, when)
        if self._server:
            drop_database(place.with_name(ADDRESS).read_text())
        shutil.rmtree(place.parent, ignore_errors=True)

    def _place(self, scene: str, name: str) -> Path:
        place = self._folder / f"{scene}-{name}" / "data"
        shutil.copytree(self._folder / ("old" if SCENES[scene].old else "base"), place.parent)
        if self._server:
            address = address_of(self._server, new_database(self._server, self._base))
            place.with_name(ADDRESS).write_text(address)
        return place

    def _examine(self, place: Path, scene: str, when: str) -> None:
        report = place.with_suffix(".found")
        self._run(_examined, place, scene, report)
        if wrong := json.loads(report.read_text()):
            with self._lock:
                self.faults.append(f"{scene} {when}: {'; '.join(wrong)}")

    def _run(self, target: Callable[..., None], *arguments: object, may_die: bool = False) -> int | None:
        process = self._context.Process(target=target, args=arguments)
        with self._asking:
            process.start()
        ended = wait([process.sentinel], CHILD_SECONDS)
        with self._asking:
            status = process.exitcode if ended else None
            if status is None:
                process.kill()
                process.join()
                raise TimeoutError(f"{target} {arguments[1:]} hangs")
        if status != 0 and not (may_die and status == -signal.SIGKILL):
            raise RuntimeError(f"{target} {arguments[1:]} ended with {status}")
        return status


def run(
    budget_seconds: float, *, scenes: Sequence[str] = tuple(SCENES), most: int = 100_000, server: str = ""
) -> dict[str, int | float]:
    """Kill in each scene by turns while the time lasts; what is found wrong goes to stderr.

    ``server``: the address of a PostgreSQL server that keeps the libraries, but for scenes of SQLite alone.
    """
    if server:
        scenes = [scene for scene in scenes if scene not in ("migration", "backup")]
    began = time.monotonic()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "chromadb", "chromadb.api.client"])
    hung = 0
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        campaign = _Campaign(Path(folder), context, server)
        campaign.prepare()
        with ThreadPoolExecutor(LANES) as lanes:
            list(lanes.map(campaign.measure, scenes))
            for number in range(most):
                for done in [lanes.submit(campaign.kill, scene, number) for scene in scenes]:
                    try:
                        done.result()
                    except (TimeoutError, RuntimeError) as error:
                        hung += 1
                        print(error, file=sys.stderr)
                if time.monotonic() - began > budget_seconds * 0.9:
                    break
    for fault in campaign.faults:
        print(fault, file=sys.stderr)
    return {
        "kills": sum(campaign.kills.values()),
        "inconsistent": len(campaign.faults) + hung,
        **{f"kills_{scene}": count for scene, count in campaign.kills.items() if scene in scenes},
    }
