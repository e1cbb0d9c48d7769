"""Promises about automatic backups: one a day, three kept, none that holds what was deleted, and a way back."""

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.exc import IntegrityError

from pincite import cli
from pincite.core.domain.errors import StorageError
from pincite.core.domain.settings import Settings
from pincite.core.graph.checkpoints import SqliteCheckpoints
from pincite.core.services.bootstrap import Pincite, open_pincite
from pincite.core.store import copies
from pincite.core.store.copies import DAY_SECONDS, FOLDER, KEPT, copies_in
from tests.store.older import as_format
from tests.store.upkeep.conftest import QUESTION
from tests.support.rows import sqlite_of


def _open_and_close(settings: Settings) -> None:
    open_pincite(settings).close()


def _age(settings: Settings) -> None:
    """Make every copy a day older."""
    for path in copies_in(settings.data_dir):
        there = path.stat().st_mtime - DAY_SECONDS
        os.utime(path, (there, there))
        path.rename(path.with_name(f"{path.stem}-.db"))


def test_a_copy_is_made_once_a_day_and_three_are_kept(library: Settings) -> None:
    for _ in range(2):
        _open_and_close(library)
    assert len(copies_in(library.data_dir)) == 1
    for _ in range(KEPT + 1):
        _age(library)
        _open_and_close(library)
    assert len(copies_in(library.data_dir)) == KEPT
    assert not list(library.data_dir.rglob("*.partial"))
    with closing(sqlite3.connect(copies_in(library.data_dir)[0])) as copy:
        assert copy.execute("SELECT count(*) FROM turns").fetchone()[0] == 1


def test_none_is_made_of_an_empty_library_or_where_nobody_wants_them(library: Settings) -> None:
    _open_and_close(library.but(automatic_backups=False))
    _open_and_close(library.but(data_dir=library.data_dir / "new"))
    assert copies_in(library.data_dir) == copies_in(library.data_dir / "new") == []


def _of_session(pincite: Pincite) -> None:
    pincite.deletion.session(pincite.sessions.list()[0].id)


def _of_answer(pincite: Pincite) -> None:
    pincite.deletion.turn(pincite.turns.recent(1)[0].id)


def _of_document(pincite: Pincite) -> None:
    _of_session(pincite)  # its trace holds what was found for it
    for document in pincite.library.list():
        pincite.ingest.remove(document.id)


def _of_document_with_answers(pincite: Pincite) -> None:
    for document in pincite.library.list():
        assert pincite.deletion.document_with_answers(document.id).scrubbed


@pytest.mark.parametrize(
    ("delete", "words"),
    [
        (_of_session, QUESTION),
        (_of_answer, QUESTION),
        (_of_document, "seventeenth panel"),
        (_of_document_with_answers, "Aller estuary"),
    ],
)
def test_after_a_deletion_one_copy_is_left_without_the_deleted_content(
    library: Settings, delete: Callable[[Pincite], None], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _open_and_close(library)
    before = copies_in(library.data_dir)[0].read_bytes()
    (library.data_dir / FOLDER / "before-format-9.db").write_bytes(before)
    assert words.encode() in before
    unlink = Path.unlink

    def watched(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        assert path.parent.name != FOLDER or copies_in(library.data_dir), "no copy was left"

    monkeypatch.setattr(Path, "unlink", watched)
    with closing(open_pincite(library)) as pincite:
        delete(pincite)
    (copy,) = (library.data_dir / FOLDER).iterdir()
    assert words.encode() not in copy.read_bytes()
    with closing(sqlite3.connect(copy)) as opened:
        assert opened.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_a_removal_that_is_rolled_back_leaves_every_copy(library: Settings) -> None:
    _open_and_close(library)
    before = {path: path.read_bytes() for path in copies_in(library.data_dir)}
    with closing(open_pincite(library)) as pincite:
        sqlite_of(pincite).connection.execute(
            "CREATE TEMP TRIGGER full BEFORE DELETE ON documents BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
        with pytest.raises(IntegrityError, match="full"):
            pincite.ingest.remove(pincite.library.list()[0].id)
    assert {path: path.read_bytes() for path in copies_in(library.data_dir)} == before


def test_without_space_for_a_new_copy_the_old_ones_stay_until_there_is(
    library: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: sqlite3.Connection, target: Path) -> str:
        raise OSError(28, "No space left on device")

    _open_and_close(library)
    before = copies_in(library.data_dir)
    with monkeypatch.context() as patch:
        patch.setattr("pincite.core.store.copies.copy_whole", full)
        with closing(open_pincite(library)) as pincite:
            assert not pincite.deletion.document_with_answers(pincite.library.list()[0].id).scrubbed
            pincite.ingest.remove(pincite.library.list()[0].id)
        assert copies_in(library.data_dir) == before
    _open_and_close(library)
    (copy,) = copies_in(library.data_dir)
    assert b"Aller estuary" not in copy.read_bytes() and QUESTION.encode() not in copy.read_bytes()


def test_scrubbing_and_removing_do_not_wait_for_each_other(library: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pincite.core.store.sqlite.BUSY_SECONDS", 2)  # what a deadlock costs
    pincite, both, results = open_pincite(library), threading.Barrier(2), list[bool]()
    real = SqliteCheckpoints.scrub

    def waiting_scrub(checkpoints: SqliteCheckpoints) -> bool:
        with checkpoints.saver.lock:
            both.wait(300)
        return real(checkpoints)

    mark_stale = pincite.reviews.mark_stale

    def marking(document_id: str, why: str) -> None:
        both.wait(300)  # the removal's transaction is open
        mark_stale(document_id, why)

    with closing(pincite):
        with monkeypatch.context() as patch:
            patch.setattr(SqliteCheckpoints, "scrub", waiting_scrub)
            patch.setattr(pincite.reviews, "mark_stale", marking)
            pincite.sessions.delete(pincite.sessions.list()[0].id)
            thread = threading.Thread(target=lambda: results.append(pincite.deletion.scrub()))
            thread.start()
            pincite.ingest.remove(pincite.library.list()[0].id)
            thread.join(300)
        assert results == [True]


def test_a_removal_waits_for_no_copy(library: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    copying, may_end = threading.Event(), threading.Event()
    real = copies.copy_whole

    def waiting_copy(source: sqlite3.Connection, target: Path) -> str:
        copying.set()
        assert may_end.wait(300)
        return real(source, target)

    monkeypatch.setattr(copies, "copy_whole", waiting_copy)
    with closing(open_pincite(library)) as pincite:
        assert copying.wait(300)
        pincite.ingest.remove(pincite.library.list()[0].id)
        with sqlite_of(pincite).transaction():
            assert not may_end.is_set()
        may_end.set()


def test_a_damaged_database_goes_on_from_the_newest_copy(library: Settings) -> None:
    _open_and_close(library)
    with closing(open_pincite(library)) as pincite:
        pincite.sessions.create(title="Of today")
    library.database_path.write_bytes(b"nothing that SQLite knows" * 1_000)
    with pytest.raises(StorageError, match="automatic backup"):
        open_pincite(library)
    assert cli.main(["repair", "--data-dir", str(library.data_dir)]) == 0
    with closing(open_pincite(library)) as pincite:
        assert [turn.question for turn in pincite.turns.recent(5)] == [QUESTION]
        assert len(pincite.library.list()) == 2 and not [s for s in pincite.sessions.list() if s.title == "Of today"]


def test_without_a_copy_the_pdfs_are_read_again(library: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    library.database_path.unlink()
    assert cli.main(["repair", "--data-dir", str(library.data_dir)]) == 0
    assert "there was no automatic backup: 0 documents" in capsys.readouterr().out
    with closing(open_pincite(library)) as pincite:
        assert len(pincite.library.list()) == 2 and pincite.turns.recent(5) == []


def test_a_format_changes_only_behind_a_copy(library: Settings) -> None:
    as_format(22, library.database_path)
    _open_and_close(library.but(automatic_backups=False))
    (copy,) = copies_in(library.data_dir)
    assert copy.name == "before-format-23.db"
