"""Promises about the data directory: nothing that is not ours is deleted or taken over; looking is looking."""

import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pincite.cli import main
from pincite.core.domain.errors import ForeignDirectoryError, NewerDatabaseError
from pincite.core.domain.settings import PACKAGE_ROOT, Settings
from pincite.core.services.bootstrap import open_pincite
from pincite.core.services.looking import look_into
from pincite.core.store.data_dir import STAMP, check_ours, quarantined, stamp_of
from pincite.core.store.sqlite import ReadOnlyDatabase, SqliteDatabase
from tests.ingest.workshop import LONG_SECONDS, make_pdf, open_workshop
from tests.support.rows import sqlite_of


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", engine="quoting", ocr=False)


def test_the_folder_of_a_fresh_clone_can_be_used(settings: Settings) -> None:
    """An editable install keeps its data there, beside what is shipped."""
    patterns = (PACKAGE_ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    shipped = [line.removeprefix("!/data/").strip("/") for line in patterns if line.startswith("!/data/")]
    assert len(shipped) > 3
    settings.data_dir.mkdir()
    for name in shipped:
        (settings.data_dir / name).mkdir()
    check_ours(settings)
    (settings.data_dir / "photos").mkdir()
    with pytest.raises(ForeignDirectoryError):
        check_ours(settings)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with one document, closed; never worked in."""
    folder = tmp_path_factory.mktemp("made")
    pdf = make_pdf(folder / "terms.pdf", ["The rent is due on the first of each month."])
    with closing(open_pincite(Settings(data_dir=folder / "data", engine="quoting", ocr=False))) as app:
        app.ingest.add(pdf, "terms.pdf")
        assert app.ingest.wait(timeout_seconds=LONG_SECONDS)
    return folder / "data"


@pytest.fixture
def library(settings: Settings, made: Path) -> Settings:
    """A copy of it."""
    shutil.copytree(made, settings.data_dir)
    return settings


def snapshot(directory: Path) -> dict[str, tuple[str, int]]:
    """Every file and folder below with its bytes and the time it was written."""
    return {
        str(path.relative_to(directory.parent)): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            path.stat().st_mtime_ns,
        )
        for path in sorted([directory, *directory.rglob("*")])
        if path.exists()
    }


def open_and_settle(settings: Settings) -> None:
    """Open as the app does, until ingest has had its look at the files."""
    with closing(open_pincite(settings)) as app:
        while not app.ingest.take_charge():
            pass


LOSSES: dict[str, Callable[[Settings], object]] = {
    "a foreign PDF": lambda settings: (settings.files_dir / "thesis.pdf").write_bytes(b"%PDF-1.4 mine"),
    "a capital PDF": lambda settings: (settings.files_dir / "THESIS.PDF").write_bytes(b"%PDF-1.4 mine"),
    "a database without rows": lambda settings: _execute(settings.database_path, "DELETE FROM documents"),
}


def _execute(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_pdf_that_the_database_does_not_know_is_set_aside_and_can_be_added(library: Settings, loss: str) -> None:
    LOSSES[loss](library)
    before = sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in library.files_dir.iterdir())
    open_and_settle(library)
    after = sorted(hashlib.sha256(p.read_bytes()).hexdigest() for p in library.files_dir.rglob("*") if p.is_file())
    assert after == before
    assert quarantined(library)
    with look_into(library) as look:
        assert any("not belonging to any document" in check.detail and not check.ok for check in look.health.checks())


def test_what_was_set_aside_is_taken_in_again(library: Settings) -> None:
    _execute(library.database_path, "DELETE FROM documents")
    with closing(open_pincite(library)) as app:
        while not app.ingest.take_charge():
            pass
        assert app.documents.add_quarantined() == []
        assert app.ingest.wait(timeout_seconds=LONG_SECONDS)
        (document,) = app.library.list()
        assert app.library.file_path(document.id).exists() and not app.documents.quarantined()
        assert [check.part for check in app.health.checks() if not check.ok] == []


def test_one_that_cannot_be_read_keeps_no_other_in_quarantine(library: Settings) -> None:
    _execute(library.database_path, "DELETE FROM documents")
    (library.files_dir / "0.pdf").write_bytes(b"%PDF-1.4 mine")
    with closing(open_pincite(library)) as app:
        while not app.ingest.take_charge():
            pass
        ((name, error),) = app.documents.add_quarantined()
        assert name == "0.pdf" and name in str(error)
        assert [path.name for path in app.documents.quarantined()] == ["0.pdf"] and len(app.library.list()) == 1


def test_files_of_one_name_do_not_overwrite_each_other_in_quarantine(library: Settings) -> None:
    for text in (b"%PDF one", b"%PDF two"):
        (library.files_dir / "same.pdf").write_bytes(text)
        open_and_settle(library)
    assert {path.read_bytes() for path in quarantined(library)} == {b"%PDF one", b"%PDF two"}


def test_half_copied_files_of_others_stay(library: Settings) -> None:
    import os

    foreign = library.files_dir / "download.partial"
    foreign.write_bytes(b"mine")
    os.utime(foreign, (1, 1))
    open_and_settle(library)
    assert foreign.read_bytes() == b"mine"


@pytest.mark.parametrize("command", ["list", "doctor"])
@pytest.mark.parametrize("state", ["healthy", "foreign file", "no database", "old copy", "empty", "absent", "killed"])
def test_looking_changes_nothing(
    library: Settings, tmp_path: Path, state: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = library.data_dir
    if state == "foreign file":
        (library.files_dir / "thesis.pdf").write_bytes(b"%PDF-1.4 mine")
    elif state == "no database":
        library.database_path.unlink()
    elif state == "old copy":
        _execute(library.database_path, "DELETE FROM documents")
    elif state == "empty":
        directory = tmp_path / "empty"
        directory.mkdir()
    elif state == "absent":
        directory = tmp_path / "absent"
    elif state == "killed":
        _write_and_die(library.database_path)
    before = snapshot(directory)
    status = main([command, "--data-dir", str(directory)])
    assert snapshot(directory) == before
    printed = capsys.readouterr()
    if state == "no database":
        assert status == 2 and "pincite.db is missing" in printed.err
        return
    assert status in (0, 1)
    assert printed.out and not printed.err
    if state in ("healthy", "killed") and command == "list":
        assert "renamed.pdf" in printed.out if state == "killed" else "terms.pdf" in printed.out


def _write_and_die(path: Path) -> None:
    """Leave the log of a process that did not close the database."""
    script = """
import os, sys
from pathlib import Path
from pincite.core.store.sqlite import SqliteDatabase
database = SqliteDatabase(Path(sys.argv[1]))
database.connection.execute("UPDATE documents SET name = 'renamed.pdf'")
os._exit(9)
"""
    subprocess.run([sys.executable, "-c", script, str(path)], check=False, timeout=300)
    assert path.with_name("pincite.db-wal").stat().st_size


def test_a_log_without_its_index_is_looked_at_in_a_copy(library: Settings) -> None:
    _write_and_die(library.database_path)
    library.database_path.with_name("pincite.db-shm").unlink()
    before = snapshot(library.data_dir)
    with look_into(library) as look:
        assert [document.name for document in look.library.list()] == ["renamed.pdf"]
    assert snapshot(library.data_dir) == before


def test_looking_sees_what_a_running_app_writes_and_writes_nothing(settings: Settings) -> None:
    database = SqliteDatabase(settings.database_path)
    with database.transaction() as connection:
        connection.execute(
            "INSERT INTO documents (id, name, byte_size, added_at, status) VALUES ('a', 'a.pdf', 1, '', 'ready')"
        )
    look = ReadOnlyDatabase(settings.database_path)
    assert look.connection.execute("SELECT name FROM documents").fetchone()["name"] == "a.pdf"
    with pytest.raises(Exception, match="readonly"):
        look.connection.execute("DELETE FROM documents")
    look.close()
    database.close()


@pytest.mark.parametrize("command", [["list"], ["doctor"], ["ask", "What?"], ["remove", "a"]])
def test_a_folder_of_others_is_left_alone(
    tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "photos"
    (directory / "files").mkdir(parents=True)
    (directory / "files" / "thesis.pdf").write_bytes(b"%PDF mine")
    before = snapshot(directory)
    assert main([*command, "--data-dir", str(directory)]) == 2
    assert snapshot(directory) == before
    assert "--data-dir" in capsys.readouterr().err


def test_a_directory_of_the_version_before_is_adopted(library: Settings) -> None:
    (library.data_dir / STAMP).unlink()
    _execute(library.database_path, "PRAGMA application_id = 0")
    with closing(open_pincite(library)) as app:
        assert stamp_of(library.data_dir) == sqlite_of(app).owner_id > 0
        assert [document.name for document in app.library.list()] == ["terms.pdf"]


@pytest.mark.parametrize("kept", ["stamp", "database"])
def test_the_one_that_lost_its_id_takes_the_others(library: Settings, kept: str) -> None:
    identity = stamp_of(library.data_dir)
    if kept == "stamp":
        _execute(library.database_path, "PRAGMA application_id = 0")
    else:
        (library.data_dir / STAMP).write_bytes(b"\x00\xff")
    with closing(open_pincite(library)) as app:
        assert stamp_of(library.data_dir) == sqlite_of(app).owner_id == identity


def test_a_database_from_another_directory_is_noticed_and_nothing_changed(library: Settings, tmp_path: Path) -> None:
    other = Settings(data_dir=tmp_path / "other", engine="quoting", ocr=False)
    with closing(open_pincite(other)):
        pass
    shutil.copyfile(other.database_path, library.database_path)
    before = snapshot(library.data_dir)
    with pytest.raises(ForeignDirectoryError, match="another data directory"):
        open_pincite(library)
    assert snapshot(library.data_dir) == before


def test_directory_from_a_newer_version_is_left_unchanged(library: Settings) -> None:
    (library.data_dir / STAMP).write_text(json.dumps({"id": 1, "format": 99}))
    with pytest.raises(NewerDatabaseError):
        open_pincite(library)


def test_retry_forgets_pages_only_together_with_its_job(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pdf = make_pdf(tmp_path / "a.pdf", [f"Page {number} of the manual." for number in range(4)])
    with open_workshop(settings) as shop:
        document = shop.ingest.add(pdf, "a.pdf").document
        shop.finish()

        def die(document_id: str) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(shop.stores.jobs, "enqueue", die)
        with pytest.raises(KeyboardInterrupt):
            shop.ingest.retry(document.id, [0, 1, 2])
        assert shop.rows()["pages"] == 4


def test_pages_lost_by_an_earlier_version_are_read_again(settings: Settings, tmp_path: Path) -> None:
    pdf = make_pdf(tmp_path / "a.pdf", [f"Page {number} of the manual." for number in range(4)])
    with open_workshop(settings) as shop:
        document = shop.ingest.add(pdf, "a.pdf").document
        shop.finish()
        shop.stores.shelf.forget_pages(document.id, [1, 2])
    with open_workshop(settings) as shop:
        while not shop.ingest.take_charge():
            pass
        shop.finish()
        assert shop.rows()["pages"] == 4


@pytest.mark.parametrize("command", [["list"], ["verify"], ["repair"], ["doctor"], ["add", "a.pdf"]])
def test_another_programs_database_of_our_name_is_left_alone(settings: Settings, command: list[str]) -> None:
    settings.data_dir.mkdir()
    with closing(sqlite3.connect(settings.database_path)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    before = settings.database_path.read_bytes()
    assert main([*command, "--data-dir", str(settings.data_dir)]) == 2
    assert [path.name for path in settings.data_dir.iterdir()] == ["pincite.db"]
    assert settings.database_path.read_bytes() == before


def test_what_chroma_wrote_for_an_older_version_goes_and_nothing_else(library: Settings) -> None:
    folder = library.data_dir / "vectors"
    graph = folder / "0d6f3b1c-94a7-4c1e-8f62-5f2f4f0a7a11"
    graph.mkdir(parents=True)
    (graph / "data_level0.bin").write_bytes(b"vectors of a removed document")
    (folder / "chroma.sqlite3-wal").write_bytes(b"")
    (folder / "notes.txt").write_text("mine")
    open_and_settle(library)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    (folder / "notes.txt").unlink()
    open_and_settle(library)
    assert not folder.exists()
