"""Copies a library from one engine to the other, table by table, and compares both; it resumes where it was ended.

Rows are copied in the order of their keys, a batch in a transaction, so that the last key tells how far it came.
"""

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Any

from sqlalchemy import Column, ColumnElement, Select, Table, UniqueConstraint, delete, insert, literal, select, tuple_
from sqlalchemy.exc import IntegrityError

from pincite.core.domain.documents import file_name
from pincite.core.domain.errors import StorageError
from pincite.core.domain.settings import Settings
from pincite.core.store.data_dir import check_ours
from pincite.core.store.database import Database
from pincite.core.store.files import Files
from pincite.core.store.library import PASSAGE, Library, stored_passage
from pincite.core.store.open import open_database
from pincite.core.store.private import keep_private
from pincite.core.store.schema import MIGRATING, NO_CHARACTER, counters, documents, metadata, passages
from pincite.core.store.vectors import note_change

BATCH = 500


def copy_library(source: Settings, target: Settings) -> Iterator[str]:
    """Copy everything but the checkpoints of unfinished answers; yield what was done. Raises StorageError."""
    check_ours(source)
    check_ours(target)
    if not source.database_url and not source.database_path.exists():
        raise StorageError(f"There is no library in {source.data_dir}.", hint="Name its folder with --data-dir.")
    keep_private(target.data_dir)
    with ExitStack() as opened:
        old, new = (opened.enter_context(closing(open_database(settings))) for settings in (source, target))
        for database in (old, new):
            lock = database.lock("ingest")
            if not lock.take():
                raise StorageError(f"Pincite is running on {database.name}.", hint="Stop it first.")
            opened.callback(lock.release)
        tables = [table for table in metadata.sorted_tables if table is not counters]
        _begin(new, tables)
        opened.enter_context(old.transaction())  # nobody changes it meanwhile
        for table in tables:
            try:
                copied = sum(_copy(old, new, table))
            except IntegrityError as error:
                raise _differing([table]) from error
            if copied:
                yield f"{table.name}: {copied:,} rows"
        new.rows_were_copied()
        yield from _index_words(new)
        yield from _copy_files(source, target, Library(new, target))
        if differing := [table for table in tables if _digest(old, table) != _digest(new, table)]:
            raise _differing(differing)
        _end(old, new)
        yield f"{new.name} has everything that {old.name} has."


def _differing(tables: Sequence[Table]) -> StorageError:
    return StorageError(
        f"What was copied differs from what there is: {', '.join(table.name for table in tables)}.",
        hint="Stop every process of Pincite, empty the target, and run the command again.",
    )


def _begin(new: Database, tables: Sequence[Table]) -> None:
    """Mark the target as a copy that is not whole. Raises StorageError if it holds another library."""
    with new.transaction():
        begun = new.row(select(counters).where(counters.c.name == MIGRATING))
        used = any(new.row(select(table).limit(1)) for table in tables)
        if used and not begun:
            raise StorageError(f"{new.name} has a library already.", hint="Name an empty database or a new folder.")
        new.put(counters, {"name": MIGRATING}, {"value": 1})


def _end(old: Database, new: Database) -> None:
    with new.transaction():
        for row in old.rows(select(counters).where(counters.c.name != MIGRATING)):
            new.put(counters, {"name": row["name"]}, {"value": row["value"]})
        note_change(new)
        new.run(delete(counters).where(counters.c.name == MIGRATING))


def _copy(old: Database, new: Database, table: Table) -> Iterator[int]:
    """Copy the rows that the target lacks; yield how many, batch by batch."""
    key = _key(table)
    query = select(table).order_by(*key).limit(BATCH)
    last = new.row(select(*key).order_by(*(column.desc() for column in key)).limit(1))
    while rows := old.rows(query if last is None else query.where(_after(key, last))):
        with new.transaction():
            new.run(insert(table), [dict(row) for row in rows])
        yield len(rows)
        last = rows[-1]


def _after(key: Sequence[Column[Any]], last: Any) -> ColumnElement[bool]:
    values = [literal(last[column.name], column.type) for column in key]
    return key[0] > values[0] if len(key) == 1 else tuple_(*key) > tuple_(*values)


def _key(table: Table) -> list[Column[Any]]:
    """Return the columns that identify a row."""
    unique = [one for one in table.constraints if isinstance(one, UniqueConstraint)]
    return list(table.primary_key.columns) or list(unique[0].columns)


def _index_words(new: Database) -> Iterator[str]:
    index, count = new.keyword_index(), 0
    for document_id in new.run(select(documents.c.id)).scalars().all():
        there = index.indexed(document_id)
        own = new.rows(PASSAGE.where(passages.c.document_id == document_id))
        lacking = [stored_passage(row) for row in own if row["id"] not in there]
        for at in range(0, len(lacking), BATCH):
            index.add(lacking[at : at + BATCH])
        count += len(lacking)
    if count:
        yield f"keyword index: {count:,} passages"


def _copy_files(source: Settings, target: Settings, library: Library) -> Iterator[str]:
    """Copy the files of documents that the target lacks, or has otherwise than they were added."""
    if (source.bucket, source.files_dir) == (target.bucket, target.files_dir):
        return
    target.files_dir.mkdir(parents=True, exist_ok=True)
    files, copied = Files(source), 0
    for document in library.list():
        name = file_name(document.id)
        file = files.path(name)
        if file.exists() and not library.file_is_sound(document.id):
            partial = target.files_dir / f"{document.id}.partial"
            shutil.copyfile(file, partial)
            library.files.put(name, partial)
            library.files.move_in(name, partial)
            copied += 1
    if copied:
        yield f"files: {copied:,}"


def _digest(database: Database, table: Table) -> str:
    """Return a hash of all rows in the order of their keys."""
    digest, key = hashlib.sha256(), _key(table)
    query: Select[Any] = select(table).order_by(*key).limit(BATCH)
    rows = database.rows(query)
    while rows:
        for row in rows:
            values = (one.replace("\0", NO_CHARACTER) if isinstance(one, str) else one for one in row.values())
            digest.update(repr(tuple(values)).encode())
        rows = database.rows(query.where(_after(key, rows[-1])))
    return digest.hexdigest()
