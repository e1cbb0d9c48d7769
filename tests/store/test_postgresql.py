"""What PostgreSQL promises of its connections: they are made anew when the server was away, and tell no password."""

import logging
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import insert, select, text

from pincite.core.domain.errors import (
    CollectionError,
    ForeignDirectoryError,
    NewerDatabaseError,
    SettingsError,
    StorageError,
)
from pincite.core.graph.checkpoints import PostgresqlCheckpoints
from pincite.core.store import postgresql as engine
from pincite.core.store.collections import Collections
from pincite.core.store.postgresql import PostgresqlDatabase
from pincite.core.store.schema import collections, sessions
from pincite.core.store.sessions import Sessions
from tests.support.databases import end_connections
from tests.support.waiting import wait_until

SECONDS = 60.0


@pytest.fixture
def opened(postgresql: str) -> Iterator[PostgresqlDatabase]:
    with closing(PostgresqlDatabase(postgresql)) as database:
        yield database


def test_a_server_that_was_restarted_is_used_again(opened: PostgresqlDatabase, postgresql: str) -> None:
    lock = opened.lock("ingest")
    worker = opened.this_worker()
    assert lock.take()
    with closing(PostgresqlDatabase(postgresql)) as other:
        for _ in range(3):
            end_connections(postgresql)
            assert Sessions(opened).create("A") and Sessions(other).list()
            assert lock.take() and not other.lock("ingest").take()
            wait_until(lambda: other.is_alive(worker), SECONDS)
    lock.release()


def test_a_process_is_alive_as_long_as_it_runs(opened: PostgresqlDatabase, postgresql: str) -> None:
    other = PostgresqlDatabase(postgresql)
    worker = other.this_worker()
    assert opened.is_alive(worker) and not opened.is_alive("another")
    with opened.transaction():
        assert opened.is_alive(worker)
    other.close()
    wait_until(lambda: not opened.is_alive(worker), SECONDS)


def test_what_is_looked_up_in_a_transaction_stays_true(opened: PostgresqlDatabase) -> None:
    """Forty threads want to make the same collection: one does, and the others are told so."""
    refused = list[CollectionError]()

    def make() -> None:
        try:
            Collections(opened).create("Leases")
        except CollectionError as error:
            refused.append(error)

    threads = [threading.Thread(target=make) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 39
    assert len(opened.rows(select(collections))) == 1


def test_a_transaction_that_fails_leaves_nothing(opened: PostgresqlDatabase) -> None:
    with pytest.raises(ZeroDivisionError), opened.transaction():
        Sessions(opened).create("Never")
        1 / 0  # noqa: B018
    assert Sessions(opened).list() == [] and not opened.in_transaction


def test_several_processes_may_be_the_first(postgresql: str) -> None:
    """Each makes what is lacking, and waits for who is making it."""
    done = list[bool]()

    def open_both() -> None:
        with closing(PostgresqlDatabase(postgresql)), closing(PostgresqlCheckpoints(postgresql)) as checkpoints:
            done.append(list(checkpoints.threads()) == [])

    threads = [threading.Thread(target=open_both, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert done == [True] * 4


def test_a_zero_character_is_replaced_and_other_places_stay(opened: PostgresqlDatabase) -> None:
    row = {"id": "s", "title": "a\0b", "created_at": "", "updated_at": ""}
    opened.run(insert(sessions).values(row))
    assert Sessions(opened).get("s").title == "a\ufffdb"


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE theirs (x int)", "CREATE TABLE alembic_version (version_num text)"]
)
def test_a_database_of_another_program_is_left_alone(postgresql: str, statement: str) -> None:
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute(statement.encode())
        with pytest.raises(ForeignDirectoryError, match="did not make"):
            PostgresqlDatabase(postgresql)
        names = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert names == (1,)


def test_a_library_of_a_newer_version_is_left_alone(opened: PostgresqlDatabase, postgresql: str) -> None:
    opened.run(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(NewerDatabaseError):
        PostgresqlDatabase(postgresql)


def test_a_server_without_pgvector_searches_exactly(postgresql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MAKE_POINTS", "CREATE TABLE points (point NO_SUCH_TYPE)")
    with closing(PostgresqlDatabase(postgresql)) as database:
        assert not database.has_pgvector and database.nearest().closest(1, [0.0], 1) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("address", ["mysql://a@b/c", "nonsense", "sqlite:///x"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(SettingsError, match="PINCITE_DATABASE_URL"):
        PostgresqlDatabase(address)


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg", "postgres"])
def test_no_password_is_told(scheme: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(StorageError) as caught:
        PostgresqlDatabase(f"{scheme}://somebody:TOP%25SECRET@127.0.0.1:9/library")
    said = f"{caught.value}{caught.value.hint}{caplog.text}"
    assert "SECRET" not in said and "library on 127.0.0.1" in said


def test_a_database_of_the_revision_before_is_brought_to_todays_tables(postgresql: str) -> None:
    with closing(PostgresqlDatabase(postgresql)) as database:
        Collections(database).create("Leases")
        made = _described(database)
    before = (
        *(f"DROP TABLE {table}" for table in ("collection_members", "user_settings", "users", "audit_log")),
        *(f"ALTER TABLE {table} DROP COLUMN owner" for table in ("collections", "grids", "tokens", "watched_folders")),
        "ALTER TABLE collections ADD CONSTRAINT collections_name_key UNIQUE (name)",
        "CREATE UNIQUE INDEX collections_by_name ON collections (lower(name))",
        "ALTER TABLE documents DROP COLUMN content_sha256",
        "DROP INDEX documents_by_owner",
        "DROP INDEX sessions_by_owner",
        "UPDATE alembic_version SET version_num = '0023'",
    )
    with psycopg.connect(postgresql, autocommit=True) as connection:
        for statement in before:
            connection.execute(statement)
    with closing(PostgresqlDatabase(postgresql)) as database:
        assert [one.name for one in Collections(database).list()] == ["Leases"]
        assert _described(database) == made


def _described(database: PostgresqlDatabase) -> set[tuple[object, ...]]:
    columns = text(
        """SELECT table_name, column_name, data_type, collation_name, is_nullable,
           replace(column_default, '::text', '') FROM information_schema.columns WHERE table_schema = 'public'"""
    )
    indexes = text("SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'")
    return {tuple(row) for query in (columns, indexes) for row in database.run(query)}
