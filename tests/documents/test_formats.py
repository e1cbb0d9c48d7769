"""A format of documents is one module and one line: its files are set as PDFs when they are added."""

from pathlib import Path

import pytest

from pincite.core.documents import formats
from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.errors import NotAPdfError
from pincite.core.domain.settings import Settings
from pincite.core.ingest.intake import open_copy
from tests.support import pdfs


class Notes:
    """Plain text behind a signature."""

    KIND = "notes"
    ENDINGS = (".notes",)

    def is_one(self, path: Path, name: str) -> bool:
        return path.read_bytes().startswith(b"NOTES")

    def save_as_pdf(self, path: Path, target: Path) -> None:
        target.write_bytes(pdfs.prose([path.read_text().removeprefix("NOTES")]))


def test_a_new_format_is_set_as_a_pdf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "FORMATS", [*formats.FORMATS, Notes()])
    path, target = tmp_path / "anything.at.all", tmp_path / "set.pdf"
    path.write_text("NOTESThe first and only page.")
    formats.save_as_pdf(path, path.name, "", target)
    assert target.read_bytes().startswith(b"%PDF")


def test_what_is_of_no_format_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    reader, copy = ProcessReader(settings), tmp_path / "copy.partial"
    copy.write_bytes(b"PK\x03\x04 no package")
    with pytest.raises(NotAPdfError, match="is of no format that Pincite reads"):
        open_copy(copy, "notes.zip", None, reader, settings)
    assert [path.name for path in tmp_path.iterdir()] == ["copy.partial"]
    reader.close()
