"""Damages every file of a data directory in every way, and looks whether anything is lost without a word.

Loss is silent where what is stored differs from what was, and `verify` finds nothing; or where a PDF is nowhere.
"""

import contextlib
import hashlib
import io
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from pincite import cli
from pincite.core.domain.settings import PACKAGE_ROOT

QUESTIONS = ("What is the penalty for late payment?", "When does the contract end?")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("list",),
    ("doctor",),
    ("verify",),
    ("ask", "--engine", "quoting", QUESTIONS[1]),
    ("repair",),
)
MIN_TRIALS = 25
"""Damages to be tried where the machine is slow, for half as long again as was asked."""
TABLES = {
    "documents": "SELECT id, name, page_count FROM documents",
    "pages": "SELECT document_id, page_index, status, text FROM pages",
    "sessions": "SELECT id, title FROM sessions",
    "turns": "SELECT id, question, status, body FROM turns",
    "reviews": "SELECT turn_id, decision, final_answer FROM reviews",
}
Rows = dict[str, set[tuple[object, ...]]]
Damage = Callable[[Path, Path, random.Random], None]


@dataclass(frozen=True, slots=True)
class Template:
    """A library as it was on two days."""

    earlier: Path
    today: Path


@dataclass(slots=True)
class Outcome:
    """What came of one damage."""

    name: str
    reported: bool = False
    lost: bool = False
    tracebacks: list[str] = field(default_factory=list)

    @property
    def silent(self) -> bool:
        return self.lost and not self.reported


def run(budget_seconds: float) -> dict[str, int | float]:
    """Run as many damages as the time allows, each kind and each file in turn."""
    outcomes = list(campaign(budget_seconds))
    for outcome in outcomes:
        if outcome.silent or outcome.tracebacks:
            print(outcome, file=sys.stderr)
    return {
        "damages": len(outcomes),
        "silent_losses": sum(outcome.silent for outcome in outcomes),
        "tracebacks": sum(len(outcome.tracebacks) for outcome in outcomes),
    }


def campaign(budget_seconds: float, chosen: Sequence[str] = ()) -> Iterator[Outcome]:
    """``chosen``: names of damages, such as "pincite.db: missing"; empty: all."""
    deadline = time.monotonic() + budget_seconds
    with tempfile.TemporaryDirectory(prefix="pincite-damages-") as folder, _surroundings():
        template = make_template(Path(folder))
        for number, (name, base, damage) in enumerate(_plan(template)):
            if time.monotonic() > deadline + (budget_seconds / 2 if number < MIN_TRIALS else 0):
                return
            if not chosen or name in chosen:
                yield _attack(name, base, damage, template, Path(folder) / f"attack-{number}")


@contextlib.contextmanager
def _surroundings() -> Iterator[None]:
    before = dict(os.environ)
    os.environ |= {"PINCITE_ENGINE": "quoting", "PINCITE_OCR": "false", "PINCITE_OLLAMA_HOST": "http://127.0.0.1:9"}
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def make_template(folder: Path) -> Template:
    samples = PACKAGE_ROOT / "data" / "samples"
    template = Template(folder / "earlier", folder / "today")
    _must(template.today, "add", str(samples / "service-contract.pdf"))
    _must(template.today, "ask", "--engine", "quoting", QUESTIONS[0])
    (template.today / "settings.json").write_text('{"review_threshold": 0.6}', encoding="utf-8")
    (template.today / "models").mkdir(exist_ok=True)
    (template.today / "models" / "note.txt").write_text("weights", encoding="utf-8")
    (template.today / "pincite.log").write_text("an old line\n", encoding="utf-8")
    shutil.copytree(template.today, template.earlier)
    _must(template.today, "add", str(samples / "technical-report.pdf"))
    _must(template.today, "ask", "--engine", "quoting", QUESTIONS[0])
    return template


def _must(data_dir: Path, command: str, *words: str) -> None:
    status, output = _run(data_dir, command, *words)
    if status not in (cli.ANSWERED, cli.FLAGGED):
        raise RuntimeError(f"{command} ended with {status}: {output}")


def _run(data_dir: Path, command: str, *words: str) -> tuple[int, str]:
    """Exit status and what was printed; what escapes is a traceback."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            status = cli.main([command, "--data-dir", str(data_dir), *words])
        except SystemExit as stop:
            status = int(stop.code or 0)
    return status, output.getvalue()


# ---------------------------------------------------------------- damages


def _missing(path: Path, earlier: Path, dice: random.Random) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def _empty(path: Path, earlier: Path, dice: random.Random) -> None:
    if path.is_dir():
        shutil.rmtree(path)
        path.mkdir()
    else:
        path.write_bytes(b"")


def _cut(path: Path, earlier: Path, dice: random.Random) -> None:
    os.truncate(path, path.stat().st_size * 2 // 3)


def _flipped(share: float) -> Damage:
    def flip(path: Path, earlier: Path, dice: random.Random) -> None:
        data = bytearray(path.read_bytes())
        start = int(share * (len(data) - 1))
        for at in range(start, min(start + 16, len(data))):
            data[at] ^= 1 << dice.randrange(8)
        path.write_bytes(data)

    return flip


def _from_another_day(path: Path, earlier: Path, dice: random.Random) -> None:
    if earlier.exists():
        _missing(path, earlier, dice)
        shutil.copytree(earlier, path) if earlier.is_dir() else shutil.copyfile(earlier, path)
    else:
        path.write_bytes(b"from another day " * 400)


def _swapped(path: Path, earlier: Path, dice: random.Random) -> None:
    """A folder where a file was, a file where a folder was."""
    folder = path.is_dir()
    _missing(path, earlier, dice)
    if folder:
        path.write_bytes(b"not a folder")
    else:
        path.mkdir()
        (path / "inside").write_bytes(b"not a file")


def _locked(path: Path, earlier: Path, dice: random.Random) -> None:
    path.chmod(0)


_OF_FILES: dict[str, Damage] = {
    "missing": _missing,
    "flipped in the middle": _flipped(0.5),
    "empty": _empty,
    "from another day": _from_another_day,
    "cut": _cut,
    "flipped at the start": _flipped(0.0),
    "a folder": _swapped,
    "flipped at a third": _flipped(0.33),
    "flipped near the end": _flipped(0.9),
    "without permission": _locked,
}
_UNSEEN_BY_SQLITE = ("from another day", "flipped in the middle", "flipped at a third", "flipped near the end")
"""An older copy is a sound database, and a changed letter in a text is a sound row."""
_OF_FOLDERS: dict[str, Damage] = {"missing": _missing, "empty": _empty, "a file": _swapped}


def _plan(template: Template) -> list[tuple[str, Path, Damage]]:
    """Return every damage of every file: kind by kind, so that a short campaign meets all the files."""
    contract = max((template.earlier / "files").glob("*.pdf"))
    whole = ["pincite.db", "checkpoints.db", "settings.json", "pincite-data.json", "ingest.lock"]
    whole += ["pincite.log", f"files/{contract.name}", "models/note.txt"]
    targets = [(name, template.today) for name in whole if (template.today / name).exists()]
    kinds = [kind for kind in _OF_FILES if kind != "without permission" or not _is_root()]
    planned = [
        (f"{name}: {kind}", base, _OF_FILES[kind])
        for kind in kinds
        for name, base in targets
        if name != "pincite.db" or kind not in _UNSEEN_BY_SQLITE
    ]
    folders = [name for name in ("files", "models") if (template.today / name).is_dir()]
    of_folders = [(f"{name}: {kind}", template.today, _OF_FOLDERS[kind]) for kind in _OF_FOLDERS for name in folders]
    return [*planned[: len(targets)], *of_folders, *planned[len(targets) :]]


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


# ---------------------------------------------------------------- what came of it


def _attack(name: str, base: Path, damage: Damage, template: Template, place: Path) -> Outcome:
    shutil.copytree(base, place)
    target = name.split(":")[0]
    truth, files = _rows(place / "pincite.db"), _pdfs(place)
    damage(place / target, template.earlier / target, random.Random(name))
    files = {digest for digest in files if digest in _pdfs(place)}
    outcome = Outcome(name)
    outcome.lost = _differs(truth, place)
    for command in COMMANDS:
        try:
            status, output = _run(place, *command)
        except Exception as error:  # a traceback is what this looks for
            outcome.tracebacks.append(f"{command[0]}: {type(error).__name__}: {error}")
            continue
        if "Traceback" in output or not output.strip():
            outcome.tracebacks.append(f"{command[0]}: {output[:200] or 'no word'}")
        if command[0] in ("verify", "repair"):
            outcome.reported = (
                outcome.reported or status != 0 or (command[0] == "repair" and "nothing to mend" not in output)
            )
    outcome.lost = outcome.lost or _differs(truth, place)
    if not files <= _pdfs(place):
        outcome.reported, outcome.lost = False, True
    shutil.rmtree(place, ignore_errors=True)
    return outcome


def _rows(database: Path) -> Rows:
    """Return all that people put in or were answered, as SQLite reads it from a copy."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        for suffix in ("", "-wal"):
            with contextlib.suppress(OSError):
                shutil.copyfile(f"{database}{suffix}", f"{copy}{suffix}")
        with closing(sqlite3.connect(copy)) as connection:
            return {table: set(connection.execute(query)) for table, query in TABLES.items()}


def _differs(truth: Rows, place: Path) -> bool:
    """Return whether something of what was there is not there; what was added since does not count."""
    try:
        found = _rows(place / "pincite.db")
    except sqlite3.DatabaseError:
        return True
    return any(not rows <= found[table] for table, rows in truth.items()) or _pdf_ids(truth) - _names(place) != set()


def _pdf_ids(truth: Rows) -> set[str]:
    return {str(row[0]) for row in truth["documents"]}


def _names(place: Path) -> set[str]:
    """Return the hashes of the PDFs that are where the library looks for them."""
    paths = (place / "files").glob("*.pdf") if (place / "files").is_dir() else ()
    return {_digest(path) for path in paths if path.is_file()}


def _pdfs(place: Path) -> set[str]:
    return {_digest(path) for path in place.rglob("*.pdf") if path.is_file()}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
