"""Promises of backups: whole or not there, private, checked, and brought back only where nothing is."""

import hashlib
import io
import json
import sqlite3
import stat
import threading
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import filelock
import pytest

from pincite.core.domain.errors import StorageError
from pincite.core.domain.settings import Settings
from pincite.core.domain.tokens import Permission
from pincite.core.services.bootstrap import open_pincite
from pincite.core.store.data_dir import STAMP
from pincite.core.store.upkeep.backup import FORMAT, MANIFEST, backup, restore
from pincite.core.store.upkeep.verify import verify


def test_what_was_backed_up_while_the_app_ran_comes_back_whole(library: Settings, tmp_path: Path) -> None:
    target = tmp_path / "library.zip"
    with closing(open_pincite(library)) as pincite:
        session = pincite.sessions.create(title="Asked while it ran")
        _, secret = pincite.tokens.create("Open WebUI", list(Permission))
        done = backup(library, target)
        names = {document.name for document in pincite.library.list()}
    assert (done.documents, done.sessions, done.missing) == (2, 2, ())
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    restored = Settings(data_dir=tmp_path / "new" / "place", engine="quoting", ocr=False)
    restore(target, restored.data_dir)
    with closing(open_pincite(restored)) as pincite:
        assert pincite.ingest.wait(timeout_seconds=300)
        assert {document.name for document in pincite.library.list()} == names
        assert pincite.sessions.get(session.id).title == "Asked while it ran"
        assert pincite.tokens.admitted(secret) is None, "a restored library admits no program"
        assert pincite.search.try_out("late payment penalties")[1].evidence
    assert list(verify(restored)) == []
    assert stat.S_IMODE(restored.data_dir.stat().st_mode) == 0o700


def test_a_backup_overwrites_nothing(library: Settings, tmp_path: Path) -> None:
    target = tmp_path / "library.zip"
    target.write_bytes(b"mine")
    with pytest.raises(StorageError, match="already exists"):
        backup(library, target)
    assert target.read_bytes() == b"mine"


def test_a_backup_that_cannot_be_finished_leaves_nothing_under_its_name(library: Settings, tmp_path: Path) -> None:
    library.database_path.write_bytes(library.database_path.read_bytes()[:20_000])
    with pytest.raises(StorageError):
        backup(library, tmp_path / "library.zip")
    assert [path.name for path in tmp_path.iterdir()] == ["library"]


def test_a_missing_pdf_is_named(library: Settings, tmp_path: Path) -> None:
    max(library.files_dir.glob("*.pdf")).unlink()
    assert len(backup(library, tmp_path / "library.zip").missing) == 1


def test_restoring_changes_no_library(library: Settings, tmp_path: Path) -> None:
    backup(library, tmp_path / "library.zip")
    before = {path: path.read_bytes() for path in library.data_dir.rglob("*") if path.is_file()}
    with pytest.raises(StorageError, match="not empty"):
        restore(tmp_path / "library.zip", library.data_dir)
    with filelock.FileLock(library.data_dir / "ingest.lock"), pytest.raises(StorageError, match="is running"):
        restore(tmp_path / "library.zip", library.data_dir)
    assert {path: path.read_bytes() for path in library.data_dir.rglob("*") if path.is_file()} == before


Change = Callable[[dict[str, bytes]], None]


def _first_file(entries: dict[str, bytes]) -> str:
    return next(name for name in entries if name.startswith("files/"))


def _add(name: str) -> Change:
    def change(entries: dict[str, bytes]) -> None:
        entries[name] = b"outside"
        manifest = json.loads(entries[MANIFEST])
        manifest["files"][name] = [hashlib.sha256(b"outside").hexdigest(), 7]
        entries[MANIFEST] = json.dumps(manifest).encode()

    return change


def _flip(entries: dict[str, bytes]) -> None:
    name = _first_file(entries)
    entries[name] = entries[name][:-1] + b"?"


def _drop(entries: dict[str, bytes]) -> None:
    del entries[_first_file(entries)]


def _newer(entries: dict[str, bytes]) -> None:
    entries[MANIFEST] = json.dumps(json.loads(entries[MANIFEST]) | {"format": FORMAT + 1}).encode()


def _vast(entries: dict[str, bytes]) -> None:
    manifest = json.loads(entries[MANIFEST])
    manifest["files"][_first_file(entries)][1] = 2**60
    entries[MANIFEST] = json.dumps(manifest).encode()


def _deep(entries: dict[str, bytes]) -> None:
    entries[MANIFEST] = b"[" * 100_000


CHANGES: dict[str, Change] = {
    "a path that leads out": _add("../outside"),
    "an absolute path": _add("/tmp/outside"),
    "a path with a drive": _add("C:\\outside"),
    "a PDF with a path": _add("files/../../outside.pdf"),
    "a file of another kind": _add("files/script.sh"),
    "a changed byte": _flip,
    "a missing entry": _drop,
    "a newer format": _newer,
    "an absurd size": _vast,
    "a manifest without end": _deep,
    "no manifest": lambda entries: entries.update({MANIFEST: b""}),
    "a manifest of another kind": lambda entries: entries.update({MANIFEST: b'{"format": 1, "files": [1]}'}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_backup_that_was_tampered_with_restores_nothing(library: Settings, tmp_path: Path, change: str) -> None:
    good, bad = tmp_path / "good.zip", tmp_path / "bad.zip"
    backup(library, good)
    with zipfile.ZipFile(good) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    CHANGES[change](entries)
    with zipfile.ZipFile(bad, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    _refused(bad, tmp_path)


@pytest.mark.parametrize("at", [0.0, 0.2, 0.5, 0.9, 0.999])
def test_a_backup_with_a_flipped_bit_or_a_cut_end_restores_nothing(
    library: Settings, tmp_path: Path, at: float
) -> None:
    bad = tmp_path / "bad.zip"
    backup(library, bad)
    data = bytearray(bad.read_bytes())
    whole = bytes(data)
    data[int(at * (len(data) - 1))] ^= 0x10
    bad.write_bytes(data)
    try:
        restore(bad, tmp_path / "place")
    except StorageError:
        assert not (tmp_path / "place").exists()
    else:  # a bit without meaning, such as part of a time
        assert list(verify(Settings(data_dir=tmp_path / "place"))) == []
    bad.write_bytes(whole[: int(at * len(whole))])
    _refused(bad, tmp_path, "other")


def test_a_link_in_a_backup_restores_nothing(library: Settings, tmp_path: Path) -> None:
    bad = tmp_path / "bad.zip"
    backup(library, bad)
    data = io.BytesIO()
    with zipfile.ZipFile(bad) as archive, zipfile.ZipFile(data, "w") as out:
        for entry in archive.infolist():
            content = archive.read(entry)
            if entry.filename.startswith("files/"):
                entry.external_attr = 0o120777 << 16
            out.writestr(entry, content)
    bad.write_bytes(data.getvalue())
    _refused(bad, tmp_path)


def _refused(bad: Path, tmp_path: Path, name: str = "place") -> None:
    before = set(tmp_path.iterdir())
    with pytest.raises(StorageError) as refused:
        restore(bad, tmp_path / name)
    assert refused.value.hint
    assert set(tmp_path.iterdir()) == before and not Path("/tmp/outside").exists()


def test_two_backups_at_once_to_one_name_leave_one(library: Settings, tmp_path: Path) -> None:
    outcomes: list[str] = []
    together = threading.Barrier(2)

    def write() -> None:
        together.wait()
        try:
            backup(library, tmp_path / "library.zip")
            outcomes.append("written")
        except StorageError as error:
            outcomes.append("refused" if "already exists" in str(error) else str(error))

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) in (["refused", "written"],)
    restore(tmp_path / "library.zip", tmp_path / "place")


def test_what_was_restored_is_sound_before_it_is_opened(library: Settings, tmp_path: Path) -> None:
    backup(library, tmp_path / "library.zip")
    restore(tmp_path / "library.zip", tmp_path / "restored")
    assert list(verify(Settings(data_dir=tmp_path / "restored"))) == []


def test_a_pdf_that_a_password_was_taken_off_by_an_older_version_is_no_changed_one(
    library: Settings, tmp_path: Path
) -> None:
    whole, cut = sorted(library.files_dir.glob("*.pdf"))
    whole.write_bytes(whole.read_bytes() + b"% opened\n")
    cut.write_bytes(cut.read_bytes()[:-2000])
    (library.data_dir / STAMP).unlink()
    with closing(sqlite3.connect(library.database_path)) as connection:
        connection.execute("PRAGMA application_id = 0")
    with closing(open_pincite(library, at_work=False)) as pincite:
        assert pincite.library.file_is_sound(whole.stem)
        cut_name = pincite.library.get(cut.stem).name
    assert [finding.subject for finding in verify(library)] == [cut.stem]
    assert backup(library, tmp_path / "library.zip").missing == (cut_name,)
