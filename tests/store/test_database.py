"""What the database promises of its connections: one a thread, and none that outlives its thread."""

import sqlite3
import threading
from pathlib import Path

import pytest

from pincite.core.store.sqlite import SqliteDatabase


def test_a_connection_is_closed_when_its_thread_ends(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "pincite.db")
    opened: list[sqlite3.Connection] = []
    threads = [threading.Thread(target=lambda: opened.append(database.connection)) for _ in range(8)]
    for thread in threads:
        thread.start()
        thread.join()
    assert len({id(connection) for connection in opened}) == len(threads)
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError):
            connection.execute("SELECT 1")
    assert database.connection.execute("SELECT 1").fetchone()[0] == 1
    database.close()


def test_closing_closes_what_other_threads_hold(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "pincite.db")
    held, done = threading.Event(), threading.Event()
    opened: list[sqlite3.Connection] = []

    def hold() -> None:
        opened.append(database.connection)
        held.set()
        done.wait(300)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(300)
    database.close()
    with pytest.raises(sqlite3.ProgrammingError):
        opened[0].execute("SELECT 1")
    done.set()
    thread.join()
