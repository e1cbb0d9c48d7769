"""Do many people at once get their answers? Users ask and upload on two apps and a worker that share a PostgreSQL.

Each user asks, reads for a while, and asks again. Answers are quoted: no language model takes part.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measures import quantile
from pincite.core.domain.errors import BusyError, PinciteError
from pincite.core.domain.settings import PACKAGE_ROOT, Settings
from pincite.core.domain.turns import TurnStatus
from pincite.core.services.bootstrap import Pincite, open_pincite
from tests.support.databases import address_of, new_database, server_in
from tests.support.pdfs import prose

APPS = 2
READING_SECONDS = 60.0
"""Mean time between an answer and the next question of the same user."""
WAIT_SECONDS = 300.0
TOPICS = ("rent", "deposit", "notice", "insurance", "repairs", "heating", "parking", "interest", "fee", "penalty")
PLACES = ("Aldwych", "Bremen", "Cadiz", "Dover", "Esbjerg", "Faro", "Ghent", "Hull", "Izmir", "Jaffa")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--users", type=int, default=50, help="who ask (default 50)")
    parser.add_argument("--uploaders", type=int, default=3, help="who add a document every ten seconds (default 3)")
    parser.add_argument("--seconds", type=float, default=180, help="how long they do so (default 180)")
    parser.add_argument("--reading", type=float, default=READING_SECONDS, help="mean seconds between questions")


def run(options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="pincite-many-") as folder:
        place = Path(folder)
        server = server_in(Path(tempfile.mkdtemp(prefix="pincite-postgresql-")))
        os.environ["PINCITE_DATABASE_URL"] = address_of(server, new_database(server))
        os.environ["PINCITE_FILES"] = str(place / "files")
        with closing(open_pincite(Settings(data_dir=place / "setup", engine="quoting"))) as app:
            for at, name in enumerate(PLACES):
                app.ingest.add(_lease(at), f"{name}.pdf")
            app.ingest.wait()
        with _worker(place):
            apps = [
                subprocess.Popen(
                    [sys.executable, "-m", "benchmarks.many", str(place / f"app{number}"), str(number),
                     json.dumps(vars(options) | {"func": None}, default=str)],
                    stdout=subprocess.PIPE, text=True, cwd=PACKAGE_ROOT,
                )
                for number in range(APPS)
            ]  # fmt: skip
            found = [json.loads(one.communicate()[0].splitlines()[-1]) for one in apps]
    seconds = sorted(second for one in found for second in one["seconds"])
    return {
        "users": options.users,
        "uploaders": options.uploaders,
        "answers": len(seconds),
        "uploads": sum(one["uploads"] for one in found),
        "errors": sum(one["errors"] for one in found),
        "busy": sum(one["busy"] for one in found),
        "p50_seconds": round(quantile(seconds, 0.5), 1),
        "p95_seconds": round(quantile(seconds, 0.95), 1),
        "lists_p95_ms": round(quantile(sorted(ms for one in found for ms in one["lists"]), 0.95), 1),
    }


@contextmanager
def _worker(place: Path) -> Iterator[None]:
    command = "import sys; from pincite.cli import main; sys.exit(main())"
    arguments = [sys.executable, "-c", command, "worker", "--data-dir", str(place / "worker")]
    worker = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, cwd=PACKAGE_ROOT)
    try:
        yield
    finally:
        worker.terminate()
        worker.wait()


def _lease(number: int) -> bytes:
    """Return a document of its own: what each topic costs at one of the places."""
    place = PLACES[number % len(PLACES)]
    return prose([f"At {place} {number} the {topic} is {100 + number + at} euro." for at, topic in enumerate(TOPICS)])


class _App:
    """One app, with its share of the users."""

    def __init__(self, pincite: Pincite, options: dict[str, Any], number: int) -> None:
        self._pincite = pincite
        self._options = options
        self._number = number
        self._until = time.monotonic() + options["seconds"]
        self._lock = threading.Lock()
        self.found: dict[str, Any] = {"seconds": [], "lists": [], "uploads": 0, "errors": 0, "busy": 0}

    def serve(self) -> dict[str, Any]:
        asking = range(self._number, self._options["users"], APPS)
        uploading = range(self._number, self._options["uploaders"], APPS)
        users = [threading.Thread(target=self._guarded, args=(self._ask, one)) for one in asking]
        users += [threading.Thread(target=self._guarded, args=(self._upload, one)) for one in uploading]
        for user in users:
            user.start()
        for user in users:
            user.join()
        return self.found

    def _guarded(self, act: Any, user: int) -> None:
        try:
            act(random.Random(user), user)
        except BusyError:
            self._count("busy")
        except PinciteError as error:
            print(error, file=sys.stderr)
            self._count("errors")

    def _ask(self, lot: random.Random, user: int) -> None:
        session = self._pincite.sessions.create(f"User {user}")
        time.sleep(lot.uniform(0, self._options["reading"]))
        while time.monotonic() < self._until:
            began = time.monotonic()
            self._pincite.sessions.list(most=15)
            self._pincite.turns.newest(session.id, 20)
            listed = time.monotonic()
            question = f"What is the {lot.choice(TOPICS)} at {lot.choice(PLACES)}?"
            turn = self._pincite.runner.wait(self._pincite.runner.ask(session.id, question), WAIT_SECONDS).turn
            with self._lock:
                self.found["lists"].append(1000 * (listed - began))
                self.found["seconds"].append(time.monotonic() - listed)
                self.found["errors"] += turn.status not in (TurnStatus.ANSWERED, TurnStatus.FLAGGED)
            time.sleep(max(0.0, min(lot.expovariate(1 / self._options["reading"]), self._until - time.monotonic())))

    def _upload(self, lot: random.Random, user: int) -> None:
        number = 1000 * (user + 1)
        while time.monotonic() < self._until:
            number += 1
            self._pincite.ingest.add(_lease(number), f"upload {number}.pdf")
            self._count("uploads")
            time.sleep(10)

    def _count(self, name: str) -> None:
        with self._lock:
            self.found[name] += 1


def main() -> None:
    folder, number, options = sys.argv[1:]
    settings = Settings(data_dir=Path(folder), engine="quoting", role="app")
    with closing(open_pincite(settings)) as pincite:
        print(json.dumps(_App(pincite, json.loads(options), int(number)).serve()))


if __name__ == "__main__":
    main()
