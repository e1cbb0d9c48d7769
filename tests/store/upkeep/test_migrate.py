"""A library moves from SQLite to PostgreSQL and back with everything that is in it, however often it is interrupted."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select, update

from pincite import cli
from pincite.core.domain.errors import ForeignDirectoryError, StorageError
from pincite.core.domain.settings import Settings
from pincite.core.domain.turns import ReviewDecision
from pincite.core.services.bootstrap import Pincite, open_pincite
from pincite.core.store.open import open_database
from pincite.core.store.review_log import troubles
from pincite.core.store.schema import documents, turns
from pincite.core.store.upkeep import migrate
from pincite.core.store.upkeep.migrate import copy_library
from pincite.core.store.upkeep.verify import verify

QUESTION = "What is the penalty for late payment?"


@pytest.fixture
def library(app: Pincite) -> Settings:
    """A closed library with a reviewed answer, a note and a collection."""
    session = app.sessions.create()
    turn = app.runner.wait(app.runner.ask(session.id, QUESTION), 300).turn
    app.reviews.send(turn.id)
    app.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer="It is 1.5 % per month.")
    app.notes.write(session.id, "Ask the landlord.")
    app.collections.add(app.collections.create("Leases").id, [app.library.list()[0].id])
    app.close()
    return app.settings.current


@pytest.fixture
def server(library: Settings, postgresql: str) -> Settings:
    return Settings(data_dir=library.data_dir.with_name("replica"), engine="quoting", database_url=postgresql)


def _holds(settings: Settings) -> Iterator[object]:
    """Yield what people see of the library, and the answer to a new question."""
    with closing(open_pincite(settings)) as app:
        [session] = app.sessions.list()
        [turn] = app.turns.of_session(session.id)
        assert turn.review is not None
        yield from (turn.question, turn.review.final_answer, turn.citations, app.notes.of_session(session.id))
        yield from ((one.name, one.document_ids) for one in app.collections.list())
        yield from ((one.name, one.metadata, one.passage_count) for one in app.library.list())
        yield [(one.passage.id, one.scores) for one in app.search.try_out(QUESTION)[1].evidence]
        assert list(troubles(app.database)) == []
        again = app.runner.wait(app.runner.ask(session.id, "How can the contract be ended?"), 300).turn
        yield again.citations
        app.deletion.turn(again.id)


def test_it_comes_back_as_it_was(library: Settings, server: Settings) -> None:
    before = list(_holds(library))
    list(copy_library(library, server))
    assert list(verify(server)) == []
    assert list(_holds(server)) == before
    back = library.but(data_dir=library.data_dir.with_name("back"))
    list(copy_library(server, back))
    assert list(verify(back)) == []
    assert list(_holds(back)) == before


def test_a_copy_that_was_interrupted_goes_on(
    library: Settings, server: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "BATCH", 3)
    for reached in ("pages: ", "turns: "):
        for line in copy_library(library, server):
            if line.startswith(reached):
                break
        with pytest.raises(StorageError, match="is being copied"):
            open_pincite(server)
    assert list(copy_library(library, server))[-1].endswith(f"has everything that {library.database_path} has.")
    assert list(verify(server)) == []


def test_a_library_is_not_mixed_with_another(library: Settings, server: Settings) -> None:
    list(copy_library(library, server))
    with pytest.raises(StorageError, match="has a library already"):
        list(copy_library(library, server))


def test_what_differs_is_noticed(library: Settings, server: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def changing(new: object) -> Iterator[str]:
        with closing(open_database(server)) as database:
            database.run(update(turns).values(question="Another?"))
        yield "changed"

    monkeypatch.setattr(migrate, "_index_words", changing)
    with pytest.raises(StorageError, match="differs from what there is: turns"):
        list(copy_library(library, server))


def test_the_command_copies_and_reports(library: Settings, postgresql: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["migrate", "--data-dir", str(library.data_dir)]) == 2
    files = library.data_dir.with_name("files")
    command = ["migrate", "--to", postgresql, "--files", str(files), "--data-dir", str(library.data_dir)]
    assert cli.main(command) == 0
    assert [path.name for path in files.iterdir()] == [path.name for path in library.files_dir.iterdir()]
    assert "documents: 1 rows" in capsys.readouterr().out
    with closing(open_database(library.but(database_url=postgresql))) as database:
        assert len(database.rows(select(documents.c.id))) == 1


def test_a_library_that_is_in_use_is_not_copied(app: Pincite, postgresql: str) -> None:
    server = Settings(data_dir=app.settings.current.data_dir.with_name("replica"), database_url=postgresql)
    assert app.ingest.take_charge()
    with pytest.raises(StorageError, match="is running"):
        list(copy_library(app.settings.current, server))


def test_commands_for_a_data_directory_say_what_to_use_instead(
    tmp_path: Path, postgresql: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PINCITE_DATABASE_URL", postgresql)
    for command in (["backup", str(tmp_path / "b.zip")], ["repair"]):
        assert cli.main([*command, "--data-dir", str(tmp_path / "data")]) == 2
        assert "pg_dump" in capsys.readouterr().err


def test_two_libraries_do_not_share_a_folder_of_files(library: Settings, postgresql: str) -> None:
    before = sorted(library.data_dir.rglob("*"))
    with pytest.raises(ForeignDirectoryError, match="a library of its own"):
        open_pincite(library.but(database_url=postgresql))
    assert sorted(library.data_dir.rglob("*")) == before


def test_a_file_that_the_database_does_not_know_stays_where_it_is(server: Settings) -> None:
    server.files_dir.mkdir(parents=True)
    stranger = server.files_dir / f"{'a' * 64}.pdf"
    stranger.write_bytes(b"another library's")
    with closing(open_pincite(server)) as app:
        assert app.ingest.take_charge()
    assert stranger.exists()
