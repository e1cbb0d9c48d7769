"""A library of each older format is brought to the tables that a new one is made of, and keeps what is in it."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, Inspector, Table, create_engine, inspect

from pincite.core.domain.errors import NewerDatabaseError
from pincite.core.domain.search import Mode
from pincite.core.domain.turns import ReviewDecision, Turn, TurnStatus
from pincite.core.store.review_log import troubles
from pincite.core.store.reviews import Reviews
from pincite.core.store.schema import REVISION, metadata
from pincite.core.store.sessions import Sessions
from pincite.core.store.sqlite import LAST_FORMAT, SqliteDatabase
from pincite.core.store.turns import Turns
from tests.store.older import as_format

OF_SQLITE = ("passage_words", "sqlite_", "alembic_version")
"""Beginnings of the names of tables that no statement names."""


@pytest.fixture(scope="module", params=[None, 1, 22], ids=["new", "format 1", "format 22"])
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    path = tmp_path_factory.mktemp("library") / "pincite.db"
    SqliteDatabase(path).close()
    if request.param:
        as_format(request.param, path)
        SqliteDatabase(path).close()
    return create_engine(f"sqlite:///{path}")


@pytest.fixture(scope="module")
def named() -> Engine:
    engine = create_engine("sqlite://")
    metadata.create_all(engine)
    return engine


def test_every_table_is_named(stored: Engine) -> None:
    names = inspect(stored).get_table_names()
    assert {name for name in names if not name.startswith(OF_SQLITE)} == set(metadata.tables)


@pytest.mark.parametrize("table", metadata.sorted_tables, ids=lambda table: table.name)
def test_a_table_is_what_the_migrations_make(stored: Engine, named: Engine, table: Table) -> None:
    made, ours = inspect(stored), inspect(named)
    assert _columns(made, table) == _columns(ours, table)
    assert _references(stored, table) == _references(named, table)
    for of in ("get_pk_constraint", "get_indexes", "get_unique_constraints"):
        assert _constraints(getattr(made, of)(table.name)) == _constraints(getattr(ours, of)(table.name)), of


def _references(engine: Engine, table: Table) -> list[tuple[Any, ...]]:
    """Return the table, the columns and what happens when the other row changes or goes."""
    with engine.connect() as connection:
        return sorted(tuple(row[2:7]) for row in connection.exec_driver_sql(f"PRAGMA foreign_key_list({table.name})"))


def _columns(inspector: Inspector, table: Table) -> dict[str, tuple[Any, ...]]:
    """Return by name whether a column may be empty and its default, as far as statements rely on them."""
    found = {}
    for one in inspector.get_columns(table.name):
        column = table.columns[one["name"]]
        empty = None if column.primary_key else one["nullable"]
        found[one["name"]] = empty, str(one["default"]) if column.server_default is not None else None
    return found


def _constraints(described: Any) -> list[tuple[str, ...]]:
    """Return the columns that constraints and indexes are on, in any order."""
    many = described if isinstance(described, list) else [described]
    kept = ("constrained_columns", "column_names")
    return sorted(tuple(str(one.get(key)) for key in kept) for one in many if any(one.get(key) for key in kept))


def test_the_newest_revision_is_that_of_a_new_library() -> None:
    config = Config()
    config.set_main_option("script_location", "pincite.core.store:migrations")
    assert ScriptDirectory.from_config(config).get_heads() == [REVISION]


@pytest.mark.parametrize("number", range(1, LAST_FORMAT + 1))
def test_a_library_of_each_format_keeps_its_rows(tmp_path: Path, number: int) -> None:
    path = tmp_path / "pincite.db"
    with closing(SqliteDatabase(path)) as database:
        session = Sessions(database).create("The lease")
        turn = Turns(database).create(_turn(session.id))
        Turns(database).save(replace(turn, status=TurnStatus.ANSWERED, answer="Three months."))
    as_format(number, path)
    with closing(SqliteDatabase(path)) as database:
        assert [one.title for one in Sessions(database).list("three months")] == ["The lease"]
        Reviews(database, Turns(database), cite=lambda turn, text: (turn.parts, turn.citations)).decide(
            turn.id, ReviewDecision.APPROVED
        )
        assert list(troubles(database)) == []


def _turn(session_id: str) -> Turn:
    status = TurnStatus.RUNNING
    return Turn("t1", session_id, 0, "How long is the notice?", Mode.AUTO, (), "quoting", status, "2026-01-01T00:00")


@pytest.mark.parametrize("later", ["PRAGMA user_version = 24", "UPDATE alembic_version SET version_num = '9999'"])
def test_a_library_of_a_newer_version_is_left_alone(tmp_path: Path, later: str) -> None:
    path = tmp_path / "pincite.db"
    with closing(SqliteDatabase(path)) as database:
        database.connection.execute(later)
    before = path.read_bytes()
    with pytest.raises(NewerDatabaseError):
        SqliteDatabase(path)
    assert path.read_bytes() == before
