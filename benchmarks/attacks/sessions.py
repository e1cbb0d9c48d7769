"""Run fifty sessions at once, each on its own document, while others are read: does a word reach another session?

All documents state the same facts, so that only the scope separates the sessions' answers. Each document has a word
that occurs nowhere else, and that word is searched for in everything that any other session has stored.
"""

import gc
import random
import re
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pincite.core.domain.errors import PinciteError
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import TurnStatus
from pincite.core.services.bootstrap import Pincite, open_pincite
from tests.support.pdfs import prose

SESSIONS = 50
TURNS = 600
WARM_UP = 100
"""Turns before the first measurement: by then every cache and pool has been used."""
TURN_SECONDS = 120.0
QUESTIONS = (
    "What is the late fee of the tower?",
    "Who keeps the tower, and since when?",
    "How high is the tower?",
    "Which stone is the tower built of?",
    "Summarise the document.",
)


@dataclass(frozen=True, slots=True)
class Asker:
    """One session, the word that only its document has, and its document."""

    session_id: str
    word: str
    document_id: str


@dataclass(frozen=True, slots=True)
class Use:
    memory_kib: int
    descriptors: int
    threads: int


def run(
    budget_seconds: float, *, sessions: int = SESSIONS, turns: int = TURNS, warm_up: int = WARM_UP
) -> dict[str, int | float]:
    """Ask in all sessions at once, wave after wave; ``leaks`` counts words that were found where they do not belong."""
    deadline = time.monotonic() + 0.85 * budget_seconds
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder) / "data", engine="quoting")
        with closing(open_pincite(settings)) as pincite:
            counts = _campaign(pincite, deadline, sessions, turns, warm_up)
    return counts


def _campaign(pincite: Pincite, deadline: float, sessions: int, turns: int, warm_up: int) -> dict[str, int | float]:
    words = list(_words(sessions + turns))
    askers = _askers(pincite, words[:sessions])
    strangers = iter(words[sessions:])
    asked, errors, warm = 0, 0, None
    with ThreadPoolExecutor(sessions) as pool:
        while asked < turns and (asked < 2 * sessions or time.monotonic() < deadline):
            gate = threading.Barrier(sessions + 1)
            answers = [pool.submit(_ask, pincite, asker, asked // sessions, gate) for asker in askers]
            gate.wait(TURN_SECONDS)
            pincite.ingest.add(_document(next(strangers)), f"stranger {asked}.pdf")
            errors += sum(not answer.result() for answer in answers)
            asked += sessions
            if warm is None and asked >= warm_up:
                warm = _use()
    pincite.ingest.wait([document.id for document in pincite.library.list()], timeout_seconds=TURN_SECONDS)
    warm, last = warm or _use(), _use()
    return {
        "sessions": sessions,
        "turns": asked,
        "errors": errors,
        "leaks": sum(_leaks(pincite, asker, words) for asker in askers),
        "memory_growth_ratio": round(last.memory_kib / warm.memory_kib, 3),
        "descriptor_growth": last.descriptors - warm.descriptors,
        "thread_growth": last.threads - warm.threads,
    }


def _words(count: int) -> Iterator[str]:
    chance = random.Random(12)
    seen: set[str] = set()
    while len(seen) < count:
        word = "".join(chance.choice("bdfgklmnprstvz") + chance.choice("aeiou") for _ in range(4)) + "x"
        if word not in seen:
            seen.add(word)
            yield word


def _document(word: str) -> bytes:
    first = (
        f"The keeper of the tower is called {word}. {word.title()} has kept the tower since 1911. The late fee of the "
        f"tower is 17 crowns a day, as {word} decided."
    )
    second = f"The tower is 40 metres high. It is built of {word} stone, which {word} brought from the north."
    return prose([first, second])


def _askers(pincite: Pincite, words: Sequence[str]) -> list[Asker]:
    askers = []
    for number, word in enumerate(words):
        document = pincite.ingest.add(_document(word), f"tower {number}.pdf").document
        askers.append(Asker(pincite.sessions.create().id, word, document.id))
    pincite.ingest.wait([asker.document_id for asker in askers], timeout_seconds=TURN_SECONDS)
    return askers


def _ask(pincite: Pincite, asker: Asker, wave: int, gate: threading.Barrier) -> bool:
    """Return whether the question was answered, from the session's own document where it was answered at all."""
    gate.wait(TURN_SECONDS)
    question = QUESTIONS[wave % len(QUESTIONS)]
    try:
        turn_id = pincite.runner.ask(asker.session_id, question, document_ids=(asker.document_id,))
        turn = pincite.runner.wait(turn_id, TURN_SECONDS).turn
    except PinciteError:
        return False
    cited = {citation.document_id for citation in turn.citations}
    if turn.status is TurnStatus.FLAGGED:
        return cited <= {asker.document_id}
    return turn.status is TurnStatus.ANSWERED and cited == {asker.document_id}


def _leaks(pincite: Pincite, asker: Asker, words: Sequence[str]) -> int:
    """Return how many words of other documents occur in what a session stored: turns, traces and checkpoints."""
    kept = "\n".join(_everything_of(pincite.settings.current, asker.session_id)).lower()
    found = set(re.findall(r"[a-z]{8}x", kept))
    assert asker.word in found, "what a session leaves behind was not found, so nothing was looked through"
    return len(found & set(words) - {asker.word})


def _everything_of(settings: Settings, session_id: str) -> Iterator[str]:
    """Yield all values that the databases on disk contain for a session."""
    turns = "turn_id IN (SELECT id FROM turns WHERE session_id = ?)"
    wanted = {
        settings.database_path: {
            "sessions": "id = ?",
            "turns": "session_id = ?",
            **dict.fromkeys(("turn_lines", "trace_steps", "drafts", "reviews"), turns),
        },
        settings.checkpoints_path: dict.fromkeys(("checkpoints", "writes"), "thread_id = ?"),
    }
    for path, conditions in wanted.items():
        with closing(sqlite3.connect(path)) as connection:
            for table, condition in conditions.items():
                for row in connection.execute(f"SELECT * FROM {table} WHERE {condition}", (session_id,)):
                    yield from (v.decode("latin-1") if isinstance(v, bytes) else str(v) for v in row)


def _use() -> Use:
    """What this process has now, once what nobody holds any more is gone."""
    gc.collect()
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    resident = re.search(r"VmRSS:\s+(\d+)", status)
    assert resident is not None
    return Use(int(resident[1]), len(list(Path("/proc/self/fd").iterdir())), threading.active_count())
