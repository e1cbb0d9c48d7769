"""Promises about who can read the data, and that what was deleted is gone from every byte."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pincite import cli
from pincite.core.domain.settings import Settings
from pincite.core.services.bootstrap import open_pincite
from tests.ingest.workshop import make_pdf
from tests.support.rows import sqlite_of

WORD = "zyxquorvimble"
SENTENCE = f"The tenant shall deliver the {WORD} certificate within 14 days of the start of the lease."
QUESTION = f"When shall the tenant deliver the {WORD} certificate?"


@pytest.fixture(params=[0o000, 0o022], ids=oct)
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def _modes(folder: Path) -> dict[str, int]:
    kept = [folder, *folder.rglob("*")]
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in kept}


@pytest.mark.usefixtures("_umask")
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_only_the_owner_can_read_the_data_directory(settings: Settings, tmp_path: Path) -> None:
    data = settings.data_dir
    open_pincite(settings).close()
    (data / "files" / "left-open.pdf").write_bytes(b"from an older version")
    for path in [data, *data.rglob("*")]:
        path.chmod(0o777)
    (data / "pincite.db").touch()
    with closing(open_pincite(settings)) as pincite:
        document = pincite.ingest.add(make_pdf(tmp_path / "lease.pdf", [SENTENCE]), "lease.pdf").document
        assert pincite.ingest.wait([document.id], timeout_seconds=300)
        modes = _modes(data)
    assert {path: oct(mode) for path, mode in modes.items() if mode & 0o077} == {}


def _places(folder: Path, word: str) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes().lower()]


def _ask(data: Path, question: str, name: str) -> None:
    words = ["ask", "--data-dir", str(data), "--engine", "quoting", "--document", name, question]
    assert cli.main(words) in (cli.ANSWERED, cli.FLAGGED)


def test_purged_text_is_in_no_byte_of_the_data_directory(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = settings.data_dir
    lease = make_pdf(tmp_path / "lease.pdf", [SENTENCE, "The rent is 900 euros a month."] * 5)
    other = make_pdf(tmp_path / "manual.pdf", ["The pump is to be oiled every 300 hours."])
    assert cli.main(["add", "--data-dir", str(data), str(lease), str(other)]) == cli.ANSWERED
    _ask(data, QUESTION, "lease.pdf")
    _ask(data, "How often is the pump to be oiled?", "manual.pdf")
    capsys.readouterr()
    assert _places(data, WORD)
    assert cli.main(["remove", "--data-dir", str(data), "lease.pdf", "--purge-answers"]) == cli.ANSWERED
    assert "and 1 answer that quoted it" in capsys.readouterr().out
    assert _places(data, WORD) == []
    with closing(open_pincite(settings)) as pincite:
        [session] = pincite.sessions.list()
        [turn] = pincite.turns.of_session(session.id)
    assert "300 hours" in turn.answer, "what quotes other documents stays"


def test_without_purging_old_answers_keep_their_text(settings: Settings, tmp_path: Path) -> None:
    data = settings.data_dir
    lease = make_pdf(tmp_path / "lease.pdf", [SENTENCE])
    assert cli.main(["add", "--data-dir", str(data), str(lease)]) == cli.ANSWERED
    _ask(data, QUESTION, "lease.pdf")
    assert cli.main(["remove", "--data-dir", str(data), "lease.pdf"]) == cli.ANSWERED
    with closing(open_pincite(settings)) as pincite:
        [turn] = pincite.turns.of_session(pincite.sessions.list()[0].id)
    assert WORD in turn.answer


def test_rows_that_are_deleted_are_overwritten(settings: Settings) -> None:
    with closing(open_pincite(settings)) as pincite:
        session = pincite.sessions.create(title=WORD)
        pincite.sessions.delete(session.id)
        assert sqlite_of(pincite).connection.execute("PRAGMA secure_delete").fetchone()[0] == 1
    assert _places(settings.data_dir, WORD) == []
    with closing(sqlite3.connect(settings.database_path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
