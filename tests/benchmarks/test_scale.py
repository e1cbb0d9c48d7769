"""A question reads what belongs to it: with twenty thousand turns in the database no more than with a few hundred."""

import sqlite3
from pathlib import Path

import pytest

from benchmarks.overhead import World
from core.store import database

REVIEWS = 500
INSTRUCTIONS_A_TICK = 100


class Counter:
    """Counts statements, and SQLite's own instructions, which grow with the rows that are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.statements: list[str] = []
        self.ticks = 0
        opened = database._open

        def counted(source: Path | str) -> sqlite3.Connection:
            connection = opened(source)
            connection.set_trace_callback(self.statements.append)
            connection.set_progress_handler(self._tick, INSTRUCTIONS_A_TICK)
            return connection

        monkeypatch.setattr(database, "_open", counted)

    def _tick(self) -> int:
        self.ticks += 1
        return 0

    def of(self, world: World, number: int) -> tuple[int, int]:
        self.statements.clear()
        self.ticks = 0
        world.ask(number)
        return len(self.statements), self.ticks


def test_a_question_reads_no_more_when_there_are_twenty_thousand_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = Counter(monkeypatch)
    found = []
    for turns in (REVIEWS, 20_000):
        world = World(tmp_path / str(turns))
        world.fill(turns, REVIEWS)
        world.ask(1)
        found.append(counter.of(world, 2))
        world.close()
    (few_statements, few), (many_statements, many) = found
    assert many_statements == few_statements < 80
    assert many <= 1.1 * few + 10
