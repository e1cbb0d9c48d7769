"""Fills the disk to several levels under a working Pincite: every command ends in a sentence, and nothing is lost.

Each level has a small file system of its own where one may be mounted (as root, or in a namespace); elsewhere the size
of every file is limited instead. After space is freed, the same work resumes automatically or with `retry`.
"""

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import func, select

from pincite.core.domain.settings import PACKAGE_ROOT

FREE_KIB = (0, 512, 64, 4096, 200, 1500, 24, 2600)
"""Space that is left when the work begins."""
DISK_MIB = 48
AT_ONCE = 3
"""Levels side by side: most of the time is spent on starting processes."""
LEVEL_SECONDS = 150
SAMPLES = PACKAGE_ROOT / "data" / "samples"
QUESTION = "What is the penalty for late payment?"
FULL: tuple[tuple[str, ...], ...] = (
    ("add", str(SAMPLES / "technical-report.pdf")),
    ("ask", "--engine", "quoting", QUESTION),
    ("list",),
    ("retry", "technical-report.pdf"),
    ("remove", "service-contract.pdf-is-not-there"),
    ("doctor",),
    ("verify",),
    ("backup", "{data}/backup.zip"),
)
AFTERWARDS: tuple[tuple[str, ...], ...] = (
    ("add", str(SAMPLES / "technical-report.pdf")),
    ("ask", "--engine", "quoting", "--document", "service-contract.pdf", QUESTION),
    ("verify",),
)


@dataclass(slots=True)
class Level:
    free_kib: int
    results: list[tuple[str, int, str]] = field(default_factory=list)
    tracebacks: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    hung: bool = False


def run(budget_seconds: float) -> dict[str, int | float]:
    """Run as many levels as the time allows."""
    levels = list(campaign(budget_seconds))
    for level in levels:
        if level.tracebacks or level.lost or level.hung:
            print(level, file=sys.stderr)
    return {
        "disk_full": len(levels),
        "lost": sum(bool(level.lost) for level in levels),
        "disk_full_tracebacks": sum(len(level.tracebacks) for level in levels),
        "disk_full_hangs": sum(level.hung for level in levels),
    }


def campaign(budget_seconds: float, levels: Sequence[int] = FREE_KIB) -> Iterator[Level]:
    deadline = time.monotonic() + budget_seconds
    with tempfile.TemporaryDirectory(prefix="pincite-full-") as folder:
        before = Path(folder) / "before"
        _child(
            "work", before, [("add", str(SAMPLES / "service-contract.pdf")), ("ask", "--engine", "quoting", QUESTION)]
        )

        def attack(free_kib: int) -> Level | None:
            if time.monotonic() > deadline:
                return None
            with _small_disk(Path(folder) / f"disk-{free_kib}") as disk:
                return _level(free_kib, before, disk)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            yield from (level for level in pool.map(attack, levels) if level is not None)


def _level(free_kib: int, before: Path, disk: Path) -> Level:
    level = Level(free_kib)
    data = disk / "data"
    shutil.copytree(before, data)
    ballast = _fill(disk, free_kib)
    commands = [tuple(word.format(data=data) for word in command) for command in FULL]
    limit = None if ballast else _largest(data) + free_kib * 1024
    _note(level, _child("work", data, commands, limit=limit), len(commands))
    if ballast is not None:
        ballast.unlink()
    (data / "backup.zip").unlink(missing_ok=True)
    after = _child("work", data, list(AFTERWARDS))
    _note(level, after, len(AFTERWARDS))
    level.lost += [f"{name} afterwards: {status} {output}" for name, status, output in after if status not in (0, 3)]
    level.lost += _missing(data)
    return level


def _note(level: Level, results: list[tuple[str, int, str]], expected: int) -> None:
    level.results += results
    level.hung = level.hung or len(results) < expected
    level.tracebacks += [
        f"{name}: {text[-400:]}"
        for name, status, text in results
        if "Traceback" in text or not text.strip() or status < 0
    ]


def _missing(data: Path) -> list[str]:
    """What was there before the disk was full, or was asked for then, and is not there now."""
    from pincite.core.domain.documents import DocumentStatus
    from pincite.core.domain.settings import Settings
    from pincite.core.services.looking import look_into
    from pincite.core.store.schema import turns

    with look_into(Settings(data_dir=data)) as look:
        documents = {document.name: document for document in look.library.list()}
        answers = look.database.count(select(func.count()).select_from(turns).where(turns.c.status == "answered"))
    ready = {name for name, document in documents.items() if document.status is DocumentStatus.READY}
    lost = [f"{name} is not ready" for name in ("service-contract.pdf", "technical-report.pdf") if name not in ready]
    return lost + (["an answer"] if answers < 1 else [])


# ---------------------------------------------------------------- the disk


@contextlib.contextmanager
def _small_disk(place: Path) -> Iterator[Path]:
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", str(place)]
    mounted = (
        shutil.which("mount") is not None and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    )
    try:
        yield place
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(place)], capture_output=True, check=False)


def _fill(disk: Path, free_kib: int) -> Path | None:
    """Leave so much space; None where the folder is on a disk that is not ours to fill."""
    if not disk.is_mount():
        return None
    ballast = disk / "ballast"
    size = shutil.disk_usage(disk).free - free_kib * 1024
    with ballast.open("wb") as file:
        while size > 0:
            size -= file.write(bytes(min(size, 2**20)))
    return ballast


def _largest(data: Path) -> int:
    return max(path.stat().st_size for path in data.rglob("*") if path.is_file())


# ---------------------------------------------------------------- the work


def _child(
    name: str, data: Path, commands: Sequence[tuple[str, ...]], *, limit: int | None = None
) -> list[tuple[str, int, str]]:
    """Run commands in one process that may be killed; return name, exit status and output of each that ended."""
    script = f"from benchmarks.attacks.disk_full import {name}; {name}()"
    environment = {**os.environ, "PINCITE_OCR": "false", "PINCITE_OLLAMA_HOST": "http://127.0.0.1:9"}
    task = json.dumps({"data": str(data), "commands": commands, "limit": limit})
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        text=True,
        start_new_session=True,
    ) as child:
        try:
            out, _ = child.communicate(task, timeout=LEVEL_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, _ = child.communicate()
    results = [tuple(json.loads(line)) for line in out.splitlines() if line.startswith('["')]
    rest = "\n".join(line for line in out.splitlines() if not line.startswith('["'))
    return [*results, ("at the end", -1, rest)] if "Traceback" in rest else results


def work() -> None:
    """In the child: each command of the task in turn, as the command line runs it."""
    from pincite import cli

    task = json.loads(sys.stdin.read())
    if task["limit"] is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (task["limit"], task["limit"]))
    for command, *words in task["commands"]:
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            status = cli.main([command, "--data-dir", task["data"], *words])
        print(json.dumps([command, status, output.getvalue()]), flush=True)
