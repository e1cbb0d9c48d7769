"""The tables that statements name are those that the migrations make."""

from typing import Any

import pytest
from sqlalchemy import Engine, Inspector, Table, create_engine, inspect

from pincite.core.store.database import Database
from pincite.core.store.schema import metadata

OF_SQLITE = ("passage_words", "sqlite_")
"""Beginnings of the names of tables that no statement names."""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    path = tmp_path_factory.mktemp("library") / "pincite.db"
    Database(path).close()
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
