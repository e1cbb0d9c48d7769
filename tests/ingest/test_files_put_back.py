"""Promises about a PDF that went from the library's files: it is noticed, and the same bytes bring it back."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pincite.core.domain.documents import DocumentStatus
from pincite.core.domain.errors import PasswordNeededError
from pincite.core.domain.settings import Settings
from pincite.core.services.looking import look_into
from tests.ingest.workshop import make_pdf, open_workshop

pytestmark = pytest.mark.usefixtures("each_engine")

DAMAGES: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:300]),
    "changed": lambda path: path.write_bytes(path.read_bytes()[:-1] + b"X"),
}


def doctor_detail(settings: Settings) -> str:
    with look_into(settings) as look:
        return next(check.detail for check in look.health.checks() if check.part == "files" and not check.ok)


@pytest.mark.parametrize("damage", DAMAGES)
def test_missing_pdf_is_detected_and_restored(settings: Settings, tmp_path: Path, damage: str) -> None:
    source = make_pdf(tmp_path / "a.pdf", ["The tenant pays nine percent.", "Dogs are kept on a lead."])
    with open_workshop(settings) as shop:
        document = shop.ingest.add(source, "a.pdf").document
        shop.finish()
        kept = shop.library.file_path(document.id)
        DAMAGES[damage](kept)
        assert not shop.library.file_is_sound(document.id)
        if damage != "changed":
            assert shop.library.files_missing() == ["a.pdf"] and "a.pdf" in doctor_detail(settings)
        added = shop.ingest.add(source, "again.pdf")
        assert added.known and added.document.id == document.id
        assert kept.read_bytes() == source.read_bytes() and shop.library.files_missing() == []
        assert shop.library.get(document.id).status is DocumentStatus.READY and shop.vectors() == 2


def test_document_that_failed_for_want_of_its_pdf_is_read_when_it_is_back(settings: Settings, tmp_path: Path) -> None:
    source = make_pdf(tmp_path / "a.pdf", ["The tenant pays nine percent.", "Dogs are kept on a lead."])
    with open_workshop(settings) as shop:
        document = shop.ingest.add(source, "a.pdf").document
        shop.finish()
        shop.library.file_path(document.id).unlink()
        shop.ingest.retry(document.id, [0])
        shop.finish()
        assert shop.library.get(document.id).status is DocumentStatus.FAILED
        shop.ingest.add(source, "a.pdf")
        shop.finish()
        assert shop.library.get(document.id).status is DocumentStatus.READY and shop.vectors() == 2


def test_pdf_without_its_password_is_known_for_what_it_is(settings: Settings, tmp_path: Path) -> None:
    source = make_pdf(tmp_path / "a.pdf", ["The tenant pays nine percent."], password="open")
    with open_workshop(settings) as shop:
        document = shop.ingest.add(source, "a.pdf", password="open").document
        shop.finish()
        kept = shop.library.file_path(document.id)
        assert shop.library.file_is_sound(document.id) and shop.library.files_missing() == []
        assert shop.ingest.add(source, "a.pdf").known
        kept.unlink()
        with pytest.raises(PasswordNeededError):
            shop.ingest.add(source, "a.pdf")
        assert shop.ingest.add(source, "a.pdf", password="open").known and shop.library.file_is_sound(document.id)
