"""Watched folders: the library follows the files, whatever happens to them and whenever Pincite is killed."""

import hashlib
import os
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pincite.core.domain.documents import DocumentStatus
from pincite.core.domain.errors import BusyError, SettingsError
from pincite.core.domain.settings import Settings
from pincite.core.domain.watching import Change, Changed, WatchedFolder
from pincite.core.services import watching
from pincite.core.services.bootstrap import Pincite, open_pincite
from tests.support.pdfs import prose
from tests.support.waiting import wait_until


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Pincite]:
    settings = Settings(data_dir=tmp_path / "data", engine="quoting", ocr=False)
    with closing(open_pincite(settings, at_work=False)) as pincite:
        yield pincite


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "Contracts"
    made.mkdir()
    return made


def look(app: Pincite, watched: WatchedFolder, **options: Any) -> dict[str, Change]:
    return {one.path: one.change for one in app.watching.look(watched, **options)}


def names(app: Pincite) -> set[str]:
    return {document.name for document in app.library.list()}


def test_what_happens_in_a_folder_happens_in_the_library(app: Pincite, folder: Path) -> None:
    watched = app.watching.add(folder, collection="Contracts", removes=True)
    (folder / "lease.pdf").write_bytes(prose(["The rent is 900 euros."]))
    (folder / "2024").mkdir()
    (folder / "2024" / "loan.PDF").write_bytes(prose(["The loan is 5,000 euros."]))
    (folder / "notes.log").write_text("not a document")
    (folder / "~$lease.docx").write_bytes(b"Word keeps who has it open")
    assert look(app, watched) == {"2024/loan.PDF": Change.ADDED, "lease.pdf": Change.ADDED}
    assert look(app, watched) == {}
    app.ingest.wait()

    (folder / "lease.pdf").write_bytes(prose(["The rent is 950 euros."]))
    assert look(app, watched) == {"lease.pdf": Change.REPLACED}
    app.ingest.wait()
    lease = app.library.find("lease.pdf")
    assert "950" in app.library.page_text(lease.id, 0) and len(app.library.list()) == 2

    (folder / "lease.pdf").rename(folder / "2024" / "rent.pdf")
    assert look(app, watched) == {"2024/rent.pdf": Change.RENAMED}
    assert app.library.find("rent.pdf").id == lease.id

    (folder / "2024" / "loan.PDF").unlink()
    assert look(app, watched, grace_seconds=60) == {"2024/loan.PDF": Change.MISSING}, "it may be written again"
    assert look(app, watched) == {"2024/loan.PDF": Change.REMOVED}
    held = app.collections.find("Contracts")
    assert names(app) == {"rent.pdf"} and held is not None and held.document_ids == (lease.id,)


def test_a_person_decides_about_deleted_files(app: Pincite, folder: Path) -> None:
    watched = app.watching.add(folder)
    contents = {name: prose([f"This is {name}."]) for name in ("a.pdf", "b.pdf", "c.pdf", "d.pdf")}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    look(app, watched)
    for name in ("a.pdf", "b.pdf", "c.pdf"):
        (folder / name).unlink()
    assert set(look(app, watched).values()) == {Change.MISSING} and len(app.library.list()) == 4
    a, b, c = [file for file in app.watching.files(watched.id) if file.missing_since]
    app.watching.decide(a, remove=True)
    app.watching.decide(b, remove=False)
    (folder / "c.pdf").write_bytes(contents["c.pdf"])
    look(app, watched)
    app.watching.decide(c, remove=True)
    assert names(app) == {"b.pdf", "c.pdf", "d.pdf"}
    assert [file.path for file in app.watching.files(watched.id)] == ["c.pdf", "d.pdf"]


def test_a_folder_that_is_not_there_removes_nothing(app: Pincite, folder: Path) -> None:
    watched = app.watching.add(folder, removes=True)
    for name in ("a.pdf", "b.pdf"):
        (folder / name).write_bytes(prose([f"This is {name}."]))
    look(app, watched)
    away = folder.rename(folder.with_name("away"))
    assert look(app, watched) == {} and "cannot be read" in app.watching.folders()[0].problem
    folder.mkdir()  # a network disk that is not connected
    look(app, watched)
    assert look(app, watched) == {} and len(app.library.list()) == 2
    folder.rmdir()
    away.rename(folder)
    assert look(app, watched) == {} and app.watching.folders()[0].problem == ""
    assert not any(file.missing_since for file in app.watching.files(watched.id))


def test_a_file_that_cannot_be_added_says_why_and_is_tried_again_when_it_changes(app: Pincite, folder: Path) -> None:
    watched = app.watching.add(folder)
    (folder / "lease.pdf").write_bytes(prose(["The rent is 900 euros."]))
    look(app, watched)
    (folder / "lease.pdf").write_bytes(b"half written")
    assert look(app, watched) == {"lease.pdf": Change.FAILED}
    assert look(app, watched) == {} and app.watching.files(watched.id)[0].problem
    assert names(app) == {"lease.pdf"}, "the last readable version stays"
    (folder / "lease.pdf").write_bytes(prose(["The rent is 950 euros."]))
    assert look(app, watched) == {"lease.pdf": Change.REPLACED} and not app.watching.files(watched.id)[0].problem


def test_a_file_that_is_being_written_waits(app: Pincite, folder: Path) -> None:
    watched = app.watching.add(folder)
    (folder / "lease.pdf").write_bytes(prose(["The rent is 900 euros."]))
    assert look(app, watched, settle_seconds=60) == {"lease.pdf": Change.UNSETTLED} and not app.library.list()
    os.utime(folder / "lease.pdf", (1, 1))
    assert look(app, watched, settle_seconds=60) == {"lease.pdf": Change.ADDED}


def test_what_was_in_the_library_before_is_not_removed_without_asking(app: Pincite, folder: Path) -> None:
    watched = app.watching.add(folder, removes=True)
    for name in ("a.pdf", "b.pdf", "c.pdf"):
        (folder / name).write_bytes(prose([f"This is {name}."]))
    app.ingest.add(folder / "a.pdf", "a.pdf")
    look(app, watched)
    (folder / "a.pdf").unlink()
    assert look(app, watched) == {"a.pdf": Change.MISSING} and "a.pdf" in names(app)
    (folder / "b.pdf").unlink()
    assert look(app, watched) == {"b.pdf": Change.MISSING}, "most files are gone: the disk may not be there"
    assert names(app) == {"a.pdf", "b.pdf", "c.pdf"}


def test_a_file_in_two_folders_of_a_collection_stays_in_it(app: Pincite, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "Copies"
    other.mkdir()
    (folder / "a.pdf").write_bytes(prose(["This is a.pdf."]))
    (other / "a.pdf").write_bytes((folder / "a.pdf").read_bytes())
    first, second = (app.watching.add(one, collection="Contracts") for one in (folder, other))
    look(app, first)
    look(app, second)
    (folder / "a.pdf").unlink()
    look(app, first)
    held = app.collections.find("Contracts")
    assert held is not None and len(held.document_ids) == 1 and app.watching.files(first.id) == []


def test_a_folder_that_cannot_be_read_is_named_and_its_documents_stay(
    app: Pincite, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = app.watching.add(folder, removes=True)
    (folder / "closed").mkdir()
    for name in ("a.pdf", "closed/b.pdf"):
        (folder / name).write_bytes(prose([f"This is {name}."]))
    look(app, watched)
    scandir = os.scandir

    def refused(path: Path) -> Any:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)
    assert look(app, watched) == {} and "closed in it cannot be read" in app.watching.folders()[0].problem
    assert names(app) == {"a.pdf", "b.pdf"}


def test_patterns_and_folders_that_overlap(app: Pincite, folder: Path) -> None:
    watched = app.watching.add(folder, ignored=["drafts/*", " ", "*.old.pdf"])
    for name in ("drafts/a.pdf", "b.old.pdf", "c.pdf"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(prose([f"This is {name}."]))
    assert set(look(app, watched)) == {"c.pdf"}
    for wrong in (folder, folder / "drafts", folder.parent, folder / "nothing", "relative", ""):
        with pytest.raises(SettingsError):
            app.watching.add(wrong)
    app.watching.forget(watched.id)
    assert names(app) == {"c.pdf"} and app.watching.folders() == []


def test_the_thread_follows_the_folder(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(data_dir=tmp_path / "data", engine="quoting", ocr=False)
    with closing(open_pincite(settings)) as app:
        look_at_folder = app.watching.look

        def look_and_rename(*arguments: Any, **options: Any) -> list[Changed]:
            changed = look_at_folder(*arguments, **options)
            if any(one.change is Change.ADDED for one in changed):
                (folder / "lease.pdf").rename(folder / "rent.pdf")  # right after the look
            return changed

        monkeypatch.setattr(app.watching, "look", look_and_rename)
        app.watching.add(folder)
        (folder / "lease.pdf").write_bytes(prose(["The rent is 900 euros."]))
        wait_until(lambda: names(app) == {"rent.pdf"}, watching.LOOK_SECONDS / 2)


class Killed(BaseException):
    """Stands for the end of the process."""


CONTENTS = [prose([f"This is document number {number}."]) for number in range(12)]


@pytest.mark.behaviour("Other programs", "The library follows watched folders through 1,000 random changes and kills.")
def test_a_thousand_changes_with_kills_between_leave_the_library_as_the_folder_is(
    app: Pincite, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(63)
    armed = threading.Event()

    def deadly(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **options: Any) -> Any:
            if armed.is_set() and chance.random() < 0.05:
                raise Killed
            result = call(*arguments, **options)
            if armed.is_set() and chance.random() < 0.05:
                raise Killed
            return result

        return called

    for owner, method in (
        (app.watching._watched, "store"), (app.watching._watched, "forget"), (app.ingest, "add"),
        (app.ingest, "replace"), (app.ingest, "remove"), (app.library, "rename"), (app.collections, "add"),
    ):  # fmt: skip
        monkeypatch.setattr(owner, method, deadly(getattr(owner, method)))
    watched = app.watching.add(folder, collection="All", removes=True)
    (folder / "within").mkdir()
    places = [folder / name for name in ("a.pdf", "b.pdf", "c.pdf", "within/a.pdf", "within/d.pdf", "e.pdf")]
    kills = 0
    for event in range(1_000):
        place, other = chance.sample(places, 2)
        match chance.choice(("write", "write", "move", "delete", "copy", "read")):
            case "write":
                place.write_bytes(chance.choice(CONTENTS))
                os.utime(place, (event, event))  # file systems count in steps that are longer than this loop's
            case "move" if place.exists():
                place.rename(other)
            case "copy" if place.exists():
                other.write_bytes(place.read_bytes())
                os.utime(other, (event, event))
            case "delete":
                place.unlink(missing_ok=True)
            case "read" if event % 40 == 0:
                app.ingest.wait()
        if chance.random() < 0.75:
            continue
        armed.set()
        try:
            app.watching.look(watched)
        except Killed:
            kills += 1
        armed.clear()
    app.watching.look(watched)
    for file in app.watching.files(watched.id):  # where most files are gone, a person is asked
        app.watching.decide(file, remove=True)
    app.ingest.wait()
    assert all(document.status is DocumentStatus.READY for document in app.library.list())
    present = {hashlib.sha256(one.read_bytes()).hexdigest() for one in places if one.exists()}
    held = app.collections.find("All")
    assert held is not None and kills > 50
    assert {document.id for document in app.library.list()} == set(held.document_ids) == present


@pytest.mark.usefixtures("each_engine")
@pytest.mark.behaviour("Several processes", "One process at a time looks at the watched folders.")
def test_one_process_at_a_time_looks_at_the_folders(folder: Path, request: pytest.FixtureRequest) -> None:
    app: Pincite = request.getfixturevalue("app")
    watched = app.watching.add(folder)
    (folder / "lease.pdf").write_bytes(prose(["The rent is 900 euros."]))
    other = app.database.lock("watching")
    assert other.take()
    with pytest.raises(BusyError, match="Another process looks"):
        look(app, watched)
    other.release()
    assert look(app, watched) == {"lease.pdf": Change.ADDED}
    assert other.take()
    other.release()
