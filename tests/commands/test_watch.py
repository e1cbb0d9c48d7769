"""Promises of `pincite watch`: a folder is brought in once or followed, and says what changed."""

from pathlib import Path

import pytest

from pincite import cli
from tests.support.pdfs import prose


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "Contracts"
    made.mkdir()
    return made


def test_a_folder_is_brought_in_listed_and_watched_no_longer(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pincite.core.services.watching.SETTLE_SECONDS", 0.1)
    data = ["--data-dir", str(tmp_path / "data")]
    (folder / "lease.pdf").write_bytes(prose(["The rent is 900 euros."]))
    assert cli.main(["watch", str(folder), "--collection", "Leases", "--once", *data]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "lease.pdf: added"
    assert cli.main(["ask", "What is the rent?", "--collection", "Leases", *data]) == 0
    assert "900" in capsys.readouterr().out

    (folder / "broken.pdf").write_bytes(b"no PDF")
    assert cli.main(["watch", str(folder), "--once", *data]) == 1
    assert "broken.pdf: " in capsys.readouterr().out
    assert cli.main(["watch", *data]) == 0
    assert f"{folder}: 2 files" in capsys.readouterr().out
    assert cli.main(["watch", str(folder), "--ignore", "x", *data]) == 2
    assert "watched already" in capsys.readouterr().err
    assert cli.main(["watch", str(folder), "--stop", *data]) == 0
    assert cli.main(["watch", str(folder), "--stop", *data]) == 2
    assert "is not watched" in capsys.readouterr().err


def test_what_is_no_folder_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["watch", str(tmp_path / "nothing"), "--once", "--data-dir", str(tmp_path / "data")]) == 2
    assert "is not a folder" in capsys.readouterr().err
