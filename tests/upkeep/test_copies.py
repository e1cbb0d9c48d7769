"""Promises about automatic backups: one a day, three kept, none that holds what was deleted, and a way back."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest

import cli
from core.domain.errors import StorageError
from core.domain.settings import Settings
from core.services.bootstrap import open_pincite
from core.store.copies import DAY_SECONDS, KEPT, copies_in
from tests.upkeep.conftest import QUESTION


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


def test_no_copy_holds_what_was_deleted(library: Settings) -> None:
    _open_and_close(library)
    with closing(open_pincite(library)) as pincite:
        pincite.deletion.session(pincite.sessions.list()[0].id)
        assert copies_in(library.data_dir) == []
    _open_and_close(library)
    (copy,) = copies_in(library.data_dir)
    assert QUESTION.encode() not in copy.read_bytes()
    with closing(open_pincite(library)) as pincite:
        pincite.ingest.remove(pincite.library.list()[0].id)
        assert copies_in(library.data_dir) == []


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


def test_a_format_changes_only_behind_a_copy(library: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.store.database._migrations", _with_one_more())
    _open_and_close(library.but(automatic_backups=False))
    (copy,) = copies_in(library.data_dir)
    assert copy.name.startswith("before-format-")


def _with_one_more() -> Callable[[], list[str]]:
    from core.store import database

    scripts = [*database._migrations(), "CREATE TABLE later (id TEXT) STRICT;"]
    return lambda: scripts
