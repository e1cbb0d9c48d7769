"""Promises about a damaged data directory: nothing is lost without a word, and nobody sees a traceback."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pincite import cli
from pincite.core.domain.errors import StorageError
from pincite.core.domain.settings import Settings
from pincite.core.services.bootstrap import open_pincite
from pincite.core.store.upkeep.defects import DefectKind
from pincite.core.store.upkeep.verify import verify


def _kinds(settings: Settings) -> set[DefectKind]:
    return {finding.kind for finding in verify(settings)}


def _execute(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def _repair(settings: Settings) -> int:
    return cli.main(["repair", "--data-dir", str(settings.data_dir)])


def test_a_sound_library_has_nothing_to_find_and_is_not_changed(library: Settings) -> None:
    before = {path: path.read_bytes() for path in library.data_dir.rglob("*") if path.is_file()}
    assert _kinds(library) == set()
    assert {path: path.read_bytes() for path in library.data_dir.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("UPDATE pages SET text = replace(text, '30 days', '90 days')", DefectKind.PASSAGES_WRONG),
        ("UPDATE pages SET layout = x'00' WHERE page_index = 1", DefectKind.PAGE_UNREADABLE),
        ("DELETE FROM pages WHERE page_index = 2", DefectKind.PAGES_LACKING),
        ("DELETE FROM passage_words_content WHERE id < 5", DefectKind.WORDS_WRONG),
        ("UPDATE passage_words_data SET block = zeroblob(9) WHERE id > 100", DefectKind.WORDS_WRONG),
        ("UPDATE documents SET status = 'redy'", DefectKind.DOCUMENT_UNREADABLE),
        (
            "INSERT INTO passages SELECT 999, 'x:0:0', 'nobody', 0, 0, 1, '[]', '[]', '', x'00'",
            DefectKind.ROWS_ORPHANED,
        ),
    ],
)
def test_what_is_wrong_in_the_database_is_found_and_mended(library: Settings, statement: str, kind: DefectKind) -> None:
    with closing(open_pincite(library)) as pincite:
        truth = {
            d.id: [pincite.library.page_text(d.id, at) for at in range(d.page_count)] for d in pincite.library.list()
        }
    _execute(library.database_path, statement)
    assert kind in _kinds(library)
    assert _repair(library) == 0
    assert _kinds(library) == set()
    with closing(open_pincite(library)) as pincite:
        documents = pincite.library.list()
        now = {d.id: [pincite.library.page_text(d.id, at) for at in range(d.page_count)] for d in documents}
    assert now == truth


def test_a_wrong_number_of_migrations_is_mended(library: Settings) -> None:
    open_pincite(library).close()  # makes the backup of the day
    _execute(library.database_path, "PRAGMA user_version = 1")
    for _ in range(5):
        with pytest.raises(StorageError, match="repair"):
            open_pincite(library)
    assert DefectKind.DATABASE_DAMAGED in _kinds(library)
    assert _repair(library) == 0
    with closing(open_pincite(library)) as pincite:
        assert len(pincite.library.list()) == 2 and len(pincite.sessions.list()) == 1


def test_unreadable_turn_is_reported_and_kept(library: Settings) -> None:
    _execute(library.database_path, "UPDATE turns SET body = '{broken'")
    assert DefectKind.TURN_UNREADABLE in _kinds(library)
    assert _repair(library) == 1


def test_nothing_is_repaired_under_a_running_app(library: Settings) -> None:
    with closing(open_pincite(library)) as pincite:
        while not pincite.ingest.take_charge():
            pass
        assert _repair(library) == cli.USAGE
