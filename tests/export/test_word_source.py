"""Promise: a Word file is asked, cited and proved like a PDF; what is kept of it is its pages."""

from pathlib import Path

import pytest
from pypdf import PdfReader

from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.documents import DocumentStatus
from pincite.core.export.proof import prove
from pincite.core.services.bootstrap import Pincite
from tests.support import words


@pytest.fixture
def lease(tmp_path: Path) -> Path:
    file = tmp_path / "Workshop lease.docx"
    file.write_bytes(words.made(words.lease))
    return file


def test_it_is_answered_from_and_the_binder_is_proved_by_the_file_itself(
    pincite: Pincite, reader: ProcessReader, lease: Path, tmp_path: Path
) -> None:
    document = pincite.ingest.add(lease, lease.name).document
    pincite.ingest.wait([document.id])
    stored = pincite.library.get(document.id)
    assert (stored.status, stored.title, stored.page_count) == (DocumentStatus.READY, "Lease of a workshop", 2)
    assert any("Word file" in note for note in stored.notes)
    session = pincite.sessions.create(document_ids=[document.id])
    turn = pincite.runner.wait(pincite.runner.ask(session.id, "How many months’ notice ends the lease?"), 60).turn
    assert "three months’ notice" in turn.answer
    assert {(place.document_name, place.page_index) for place in turn.citations} == {(lease.name, 1)}
    file = tmp_path / "binder.pdf"
    file.write_bytes(pincite.exports.of_turn(turn.id))
    proof = list(prove(file, [lease], reader))
    assert proof and all(one.holds for one in proof), proof
    other = tmp_path / "other" / lease.name
    other.parent.mkdir()
    other.write_bytes(words.made(lambda document: document.add_paragraph("Another lease.")))
    wrong = [one.sentence for one in prove(file, [lease, other], reader) if not one.holds]
    assert wrong == [f"{lease.name} is not one of the documents cited here."]
    assert len(PdfReader(pincite.library.file_path(document.id)).pages) == 2


def test_the_same_file_is_known_again_and_what_was_lost_is_kept_again(pincite: Pincite, lease: Path) -> None:
    first = pincite.ingest.add(lease, lease.name)
    pincite.ingest.wait([first.document.id])
    pincite.library.file_path(first.document.id).unlink()
    again = pincite.ingest.add(lease, lease.name)
    assert again.known and again.document.id == first.document.id
    assert pincite.library.file_is_sound(first.document.id)
