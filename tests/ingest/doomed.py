"""Work that ends with its own process being killed; imported by name, as a new process must."""

import os
import signal
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from pincite.core.domain.documents import Page
from pincite.core.domain.settings import Settings
from tests.ingest.other_embedder import OtherEmbedder, choose
from tests.ingest.pdfium_reader import PdfiumReader
from tests.ingest.workshop import LONG_SECONDS, open_workshop

RECOGNISED = {3: "A stamp from Bremen, hardly legible.", 7: "A letter from Ghent in a shaky hand."}
FILES = (
    [
        f"Chapter {number} of the contract speaks of matter{number}." * 8 if number not in RECOGNISED else ""
        for number in range(14)
    ],
    [f"Section {number} of the manual shows part{number}." * 8 for number in range(90)],
)


class LoggingReader(PdfiumReader):
    """Logs each page read, with its document."""

    def __init__(self, log: Path) -> None:
        super().__init__(recognised=RECOGNISED)
        self._log = log

    def read(self, path: Path, page_indexes: Sequence[int]) -> Iterator[Page]:
        for page in super().read(path, page_indexes):
            with self._log.open("a") as log:
                log.write(f"{path.stem} {page.page_index}\n")
            yield page


def ingest_until_killed(settings: Settings, folder: Path, statements: int, read_log: Path) -> None:
    """Add and process the files; after ``statements`` SQL statements of all threads the process kills itself."""
    left = statements
    connect = sqlite3.connect

    def count_down(_: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched_connect(*arguments: object, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)  # type: ignore[call-overload]
        connection.set_trace_callback(count_down)
        return connection

    sqlite3.connect = watched_connect  # type: ignore[assignment]
    with open_workshop(settings, LoggingReader(read_log)) as shop:
        for number in range(len(FILES)):
            shop.ingest.add(folder / f"{number}.pdf", f"{number}.pdf")
        shop.finish()


def build_until_killed(settings: Settings) -> None:
    other = OtherEmbedder(kill_after=130)
    with open_workshop(settings, embedders=lambda name, chosen: choose(other, name, chosen)) as shop:
        shop.indexes.switch_to("other")
        threading.Event().wait(LONG_SECONDS)
