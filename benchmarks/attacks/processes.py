"""Run two applications and a command line on one data directory at once: each must see the others' changes.

After each change every other process searches. What was added must be found by words and by meaning, or the search
must report that it was incomplete; removed documents must not be evidence; no process may end or answer with an error.
"""

import atexit
import contextlib
import io
import multiprocessing
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from fpdf import FPDF

from pincite import cli
from pincite.core.domain.errors import PinciteError
from pincite.core.domain.ports import Embedder, Vectors
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import TurnStatus
from pincite.core.models.minilm import MiniLmEmbedder
from pincite.core.services import bootstrap as runtime
from pincite.core.services.registry import make_embedder

SEED = 17
PATIENCE_SECONDS = 120.0
TURNED = "turned"
SUBJECTS = (
    ("The tenant pays interest of nine percent on late rent.", "What does it cost to pay the rent too late?"),
    ("Dogs must be kept on a lead in the courtyard.", "Where do pets have to be leashed?"),
    ("The machine is oiled every six weeks by the night shift.", "How often is the equipment lubricated?"),
    ("The ferry to the island leaves at noon on Sundays.", "When can one travel by boat at the weekend?"),
    ("Visitors sign the book at the porter's lodge.", "Where do guests have to register?"),
    ("The orchestra rehearses in the old riding school.", "In which building do the musicians practise?"),
)


class TurnedEmbedder:
    """A second embedder that needs no server: the first with its numbers turned round."""

    name, version, dimensions = TURNED, "1", MiniLmEmbedder.dimensions

    def __init__(self) -> None:
        self._minilm = MiniLmEmbedder()

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.ascontiguousarray(self._minilm.embed(texts)[:, ::-1])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)


@dataclass
class Counts:
    processes: int = 0
    changes: int = 0
    looks: int = 0
    stale: int = 0
    errors: int = 0


@dataclass(frozen=True)
class Application:
    """A process with the library open, which runs the commands that it receives."""

    pool: ProcessPoolExecutor

    def tell(self, *order: str) -> Any:
        return self.pool.submit(_obey, *order).result(PATIENCE_SECONDS)


def run(budget_seconds: float) -> dict[str, int | float]:
    """``stale``: looks that missed what was there or found what was gone; ``errors``: of any process."""
    started, counts, chance = time.monotonic(), Counts(), random.Random(SEED)
    with tempfile.TemporaryDirectory(prefix="pincite-processes-") as scratch, _applications(Path(scratch)) as apps:
        counts.processes = len(apps)
        _Campaign(Path(scratch), apps, counts, chance).go_on_until(started + budget_seconds)
    return {
        "processes": counts.processes,
        "changes": counts.changes,
        "looks": counts.looks,
        "stale": counts.stale,
        "errors": counts.errors,
        "seconds": round(time.monotonic() - started, 1),
    }


class _Campaign:
    def __init__(self, folder: Path, apps: list[Application], counts: Counts, chance: random.Random) -> None:
        self._folder = folder
        self._apps = apps
        self._counts = counts
        self._chance = chance
        self._there: dict[str, tuple[str, str]] = {}
        """By the document's id: its code word and the question about its subject."""
        self._gone: set[str] = set()
        self._made = 0

    def go_on_until(self, end: float) -> None:
        """One change after the other; each kind at least once, whatever the time."""
        kinds = [self._add, self._add, self._add_by_command, self._rename, self._remove, self._switch]
        for kind in kinds:
            self._change(kind)
        while time.monotonic() < end:
            self._change(self._chance.choice([*kinds, self._remove_by_command]))

    def _change(self, kind: Any) -> None:
        self._counts.changes += 1
        who = self._chance.randrange(len(self._apps))
        try:
            kind(self._apps[who])
            for app in self._apps:
                self._look(app)
        except (TimeoutError, BrokenProcessPool, PinciteError, OSError) as error:
            self._wrong(f"{kind.__name__}: {error!r}")

    def _add(self, app: Application) -> None:
        path, word, question = self._pdf()
        self._there[app.tell("add", str(path))] = (word, question)

    def _add_by_command(self, app: Application) -> None:
        path, word, question = self._pdf()
        self._command("add", str(path))
        self._there[app.tell("find", path.name)] = (word, question)

    def _rename(self, app: Application) -> None:
        if self._there:
            app.tell("rename", self._chance.choice(sorted(self._there)), f"Renamed {self._made}.pdf")

    def _remove(self, app: Application) -> None:
        if len(self._there) > 1:
            removed = self._forget()
            app.tell("remove", removed)

    def _remove_by_command(self, app: Application) -> None:
        if len(self._there) > 1:
            self._command("remove", self._forget())

    def _switch(self, app: Application) -> None:
        app.tell("switch")

    def _forget(self) -> str:
        document_id = self._chance.choice(sorted(self._there))
        del self._there[document_id]
        self._gone.add(document_id)
        return document_id

    def _look(self, app: Application) -> None:
        """Ask for one document by its code word, and by its subject in other words; and a turn now and then."""
        if not self._there:
            return
        document_id = self._chance.choice(sorted(self._there))
        word, question = self._there[document_id]
        for query in (f"Who mentions {word}?", question):
            self._counts.looks += 1
            by_words, by_meaning, evidence, notices = app.tell("search", query)
            if self._gone & {*evidence}:
                self._stale(f"{query}: evidence of a removed document")
            if query != question and document_id not in by_words:
                self._stale(f"{query}: not found by words")
            if document_id not in by_meaning and not notices:
                self._stale(f"{query}: not found by meaning, and nothing said")
        if self._counts.changes % 3 == 0 and (error := app.tell("ask", question)):
            self._wrong(f"{question}: {error}")

    def _pdf(self) -> tuple[Path, str, str]:
        sentence, question = SUBJECTS[self._made % len(SUBJECTS)]
        self._made += 1
        word = f"codeword{self._made}"
        document = FPDF()
        for text in (f"{sentence} It was noted by {word}.", f"Appendix {self._made} of {word}, left blank on purpose."):
            document.add_page()
            document.set_font("helvetica", size=11)
            document.multi_cell(0, 6, text)
        path = self._folder / f"paper {self._made}.pdf"
        document.output(str(path))
        return path, word, question

    def _command(self, *arguments: str) -> None:
        """Run the command line in a process of its own."""
        self._counts.processes += 1
        with _pool(_know_both_embedders) as pool:
            status, output = pool.submit(_run_command, self._folder, arguments).result(PATIENCE_SECONDS)
        if status != 0 or "Traceback" in output:
            self._wrong(f"{arguments[0]}: {status} {output}")

    def _stale(self, message: str) -> None:
        self._counts.stale += 1
        print(f"stale: {message}", flush=True)

    def _wrong(self, message: str) -> None:
        self._counts.errors += 1
        print(f"error: {message}", flush=True)


@contextlib.contextmanager
def _applications(folder: Path) -> Iterator[list[Application]]:
    with _pool(_open, folder) as one, _pool(_open, folder) as other:
        yield [Application(one), Application(other)]


def _pool(begin: Callable[..., None], *given: object) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), begin, given)


def _choose(name: str, settings: Settings) -> Embedder:
    return TurnedEmbedder() if name == TURNED else make_embedder(name, settings)


def _know_both_embedders() -> None:
    vars(runtime)["make_embedder"] = _choose


def _settings(folder: Path) -> Settings:
    return Settings(data_dir=folder / "data", ocr=False, engine="quoting")


def _run_command(folder: Path, arguments: tuple[str, ...]) -> tuple[int, str]:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        status = cli.main(["--data-dir", str(folder / "data"), *arguments])
    return status, output.getvalue()


def _open(folder: Path) -> None:
    """Keep the library open in this process until it ends."""
    global _app  # of a process that was made for it
    _know_both_embedders()
    _app = runtime.open_pincite(_settings(folder))
    atexit.register(_app.close)


_app: runtime.Pincite


def _obey(order: str, *arguments: str) -> object:
    app = _app
    match order, arguments:
        case "add", (path,):
            document = app.ingest.add(Path(path), Path(path).name).document
            app.ingest.wait([document.id], timeout_seconds=PATIENCE_SECONDS)
            return document.id
        case "find", (name,):
            return app.library.find(name).id
        case "rename", (document_id, name):
            app.library.rename(document_id, name)
        case "remove", (document_id,):
            app.ingest.remove(document_id)
        case "switch", ():
            _switch(app)
        case "search", (query,):
            _, result = app.search.try_out(query)
            found = {stage: [c.passage.document_id for c in result.rankings[stage]] for stage in ("keyword", "dense")}
            evidence = [item.passage.document_id for item in result.evidence]
            return found["keyword"], found["dense"], evidence, result.notices
        case "ask", (question,):
            turn = app.runner.wait(app.runner.ask(app.sessions.create("").id, question), PATIENCE_SECONDS).turn
            return "" if turn.status in (TurnStatus.ANSWERED, TurnStatus.FLAGGED) else f"{turn.status} {turn.answer}"
    return None


def _switch(app: runtime.Pincite) -> None:
    """Change to the other embedder and wait until its index is in use."""
    wanted = "minilm" if app.indexes.chosen_name == TURNED else TURNED
    app.indexes.switch_to(wanted)
    waited = threading.Event()
    end = time.monotonic() + PATIENCE_SECONDS
    while app.indexes.chosen_name != wanted and time.monotonic() < end:
        waited.wait(0.1)
