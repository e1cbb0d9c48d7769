"""Promise: an evidence binder contains the cited pages with quotations marked; no change to it goes unnoticed."""

import io
import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from pypdf import PdfReader, PdfWriter

from pincite.cli import main
from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.errors import DocumentError, TurnError
from pincite.core.domain.turns import Turn
from pincite.core.export import binder
from pincite.core.export.binder import MANIFEST, bind, sealed
from pincite.core.export.manifest import Exhibit, PinCite, SourceFile, from_manifest
from pincite.core.export.proof import Outcome, _marked_in_binder, prove
from pincite.core.services.bootstrap import Pincite
from pincite.core.store.library import sha256_of
from tests.export.conftest import QUESTION
from tests.support import pdfs

MUTATIONS = 200


def saved(folder: Path, content: bytes) -> Path:
    file = folder / "binder.pdf"
    file.write_bytes(content)
    return file


def test_the_quoted_words_lie_under_the_highlights_of_the_copied_page(pincite: Pincite, turn: Turn) -> None:
    content = pincite.exports.of_turn(turn.id)
    binder = PdfReader(io.BytesIO(content))
    assert QUESTION in binder.pages[0].extract_text()
    answer = from_manifest(binder.attachments[MANIFEST][0]).answers[0]
    assert turn.verdict and (answer.question, answer.confidence) == (QUESTION, turn.verdict.confidence)
    seen = pypdfium2.PdfDocument(content)
    notes = [note.get_object() for note in binder.pages[answer.citations[0].binder_page_index or 0].get("/Annots", ())]
    assert len(notes) == len({(place.start, place.end) for place in turn.citations})
    for place, note in zip(answer.citations, notes, strict=True):
        text = seen[place.binder_page_index].get_textpage()
        quads = [float(value) for value in note["/QuadPoints"]]
        lines = [
            text.get_text_bounded(min(quad[::2]), min(quad[1::2]), max(quad[::2]), max(quad[1::2]))
            for quad in (quads[at : at + 8] for at in range(0, len(quads), 8))
        ]
        assert "".join(place.quotation.split()) in "".join("".join(lines).split())
        assert place.source.sha256 in text.get_text_bounded()
    assert len(binder.outline) == 1 + len(notes)


def test_a_binder_is_proved_with_and_without_its_sources(
    pincite: Pincite, turn: Turn, reader: ProcessReader, samples: Path, tmp_path: Path
) -> None:
    file = saved(tmp_path, pincite.exports.of_turn(turn.id))
    with_source = list(prove(file, [samples / "service-contract.pdf"], reader))
    assert all(finding.holds for finding in with_source), with_source
    alone = list(prove(file, [], reader))
    assert {finding.holds for finding in alone} == {True, None}
    stranger = list(prove(file, [samples / "technical-report.pdf"], reader))
    assert any(finding.holds is False and "not one of the documents" in finding.sentence for finding in stranger)


def test_every_changed_byte_is_detected(pincite: Pincite, turn: Turn, reader: ProcessReader, tmp_path: Path) -> None:
    content = pincite.exports.of_turn(turn.id)
    chance = random.Random(1)
    for _ in range(MUTATIONS):
        at, other = chance.randrange(len(content)), chance.randrange(1, 256)
        changed = content[:at] + bytes([content[at] ^ other]) + content[at + 1 :]
        first = next(prove(saved(tmp_path, changed), [], reader))
        assert first.holds is False, at


def test_resealed_binder_is_detected_from_its_sources(
    pincite: Pincite, turn: Turn, reader: ProcessReader, samples: Path, tmp_path: Path
) -> None:
    content = pincite.exports.of_turn(turn.id)
    manifest = json.loads(PdfReader(io.BytesIO(content)).attachments[MANIFEST][0])
    quote = manifest["answers"][0]["citations"][0]["annotation"]["target"]["selector"]["refinedBy"][0]
    quote["exact"] = quote["exact"].replace("1.5", "9.5")
    forged = saved(tmp_path, with_manifest(content, manifest))
    found = list(prove(forged, [samples / "service-contract.pdf"], reader))
    failed = [finding.sentence for finding in found if finding.holds is False]
    assert any("is not on" in sentence for sentence in failed)
    assert any("not what is marked" in sentence for sentence in failed)
    assert any("no citation contains it" in sentence for sentence in failed)


def with_manifest(content: bytes, manifest: object) -> bytes:
    """Return the binder with another manifest, sealed again."""
    writer = PdfWriter()
    for page in PdfReader(io.BytesIO(content)).pages:
        writer.add_page(page)
    writer.add_attachment(MANIFEST, json.dumps(manifest).encode())
    out = io.BytesIO()
    writer.write(out)
    return sealed(out.getvalue())


def test_another_hash_is_noticed_where_other_citations_keep_theirs(
    pincite: Pincite, turn: Turn, reader: ProcessReader, samples: Path, tmp_path: Path
) -> None:
    content = pincite.exports.of_turn(turn.id)
    manifest = json.loads(PdfReader(io.BytesIO(content)).attachments[MANIFEST][0])
    citations = manifest["answers"][0]["citations"]
    citations.append(json.loads(json.dumps(citations[0])))
    last = from_manifest(json.dumps(manifest).encode())
    rebound = bind(last, {place.page: exhibit(pincite, place, samples) for place in last.answers[0].citations})
    manifest = json.loads(PdfReader(io.BytesIO(rebound)).attachments[MANIFEST][0])
    source = manifest["answers"][0]["citations"][-1]["annotation"]["target"]["source"]
    source["id"] = source["id"][:-5] + ("A" if source["id"][-5] != "A" else "B") + source["id"][-4:]
    forged = saved(tmp_path, with_manifest(rebound, manifest))
    failed = [one.sentence for one in prove(forged, [samples / "service-contract.pdf"], reader) if one.holds is False]
    assert "The cover does not match the manifest." in failed


def exhibit(pincite: Pincite, place: PinCite, samples: Path) -> Exhibit:
    (document,) = pincite.library.list()
    page = pincite.library.page(document.id, place.page_index)
    return Exhibit(place.source.name, document, samples / "service-contract.pdf", page)


@pytest.mark.parametrize("read", ["The well-known fee is due, and in ", "The well- known fee is due, and in-"])
def test_a_quotation_is_found_under_its_mark_however_broken_words_are_read(
    reader: ProcessReader, tmp_path: Path, read: str
) -> None:
    source = tmp_path / "broken.pdf"
    source.write_bytes(pdfs.prose([told := "The well-known fee is due, and in-"]))
    page = next(iter(reader.read(source, [0])))
    assert page.text == told
    cited = PinCite(1, SourceFile("broken.pdf", sha256_of(source)), 0, "1", 0, len(told), told)
    seen = replace(page, text=read, words=tuple(
        replace(page.words[0], start=found.start(), end=found.end()) for found in re.finditer(r"\S+", read)
    ))  # fmt: skip
    marks = [[word.box for word in page.words]]
    found = _marked_in_binder(cited, marks, source, source, lambda path, index: seen)
    assert found.holds is True, found.sentence


def test_a_source_of_several_cited_pages_is_parsed_once(
    pincite: Pincite, turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []

    class Counted(PdfReader):
        def __init__(self, stream: Any, *more: Any, **named: Any) -> None:
            opened.append(stream)
            super().__init__(stream, *more, **named)

    monkeypatch.setattr(binder, "PdfReader", Counted)
    cited = {(place.document_id, place.page_index) for place in turn.citations}
    pincite.exports.of_turn(turn.id)
    paths = [one for one in opened if isinstance(one, Path)]
    assert cited and len(paths) == len(set(paths)) == len({document for document, _ in cited})


def test_removed_source_is_reported(pincite: Pincite, turn: Turn, reader: ProcessReader, tmp_path: Path) -> None:
    pincite.ingest.remove(turn.citations[0].document_id)
    content = pincite.exports.of_turn(turn.id)
    assert "its source is gone" in " ".join(PdfReader(io.BytesIO(content)).pages[0].extract_text().split())
    found = list(prove(saved(tmp_path, content), [], reader))
    assert found[0] == Outcome(True, found[0].sentence) and any("source is missing" in one.sentence for one in found)


def test_what_is_no_binder_is_refused(pincite: Pincite, reader: ProcessReader, samples: Path, tmp_path: Path) -> None:
    for content in (b"", b"%PDF-1.7 broken", (samples / "service-contract.pdf").read_bytes(), sealed(b"nothing")):
        with pytest.raises(DocumentError, match="not an evidence binder"):
            list(prove(saved(tmp_path, content), [], reader))
    with pytest.raises(TurnError, match="no finished answer"):
        pincite.exports.of_session(pincite.sessions.create().id)


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_marks_lie_on_the_words_of_turned_pages(
    pincite: Pincite, reader: ProcessReader, tmp_path: Path, angle: int
) -> None:
    turned = pdfs.turned(pdfs.prose(["The mooring fee of the northern quay is 4,250 euro a year."]), angle)
    document = pincite.ingest.add(turned, "turned.pdf").document
    assert pincite.ingest.wait([document.id], timeout_seconds=300)
    session = pincite.sessions.create(document_ids=[document.id])
    turn = pincite.runner.wait(pincite.runner.ask(session.id, "What is the mooring fee of the quay?"), 300).turn
    assert turn.citations
    found = list(prove(saved(tmp_path, pincite.exports.of_turn(turn.id)), [], reader))
    assert [finding for finding in found if finding.holds is False] == []


def test_the_commands_write_and_prove(
    pincite: Pincite, turn: Turn, samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, file = str(tmp_path / "data"), str(tmp_path / "evidence.pdf")
    pincite.close()
    assert main(["export", file, "--data-dir", data]) == 0
    assert main(["export", file, "--data-dir", data]) == 2
    assert main(["export", str(tmp_path / "b.pdf"), "--reviewed", "--data-dir", data]) == 2
    capsys.readouterr()
    assert main(["verify", file, str(samples / "service-contract.pdf")]) == 0
    assert "The seal holds" in capsys.readouterr().out
    Path(file).write_bytes(Path(file).read_bytes()[:-1])
    assert main(["verify", file]) == 1
    assert main(["verify", str(tmp_path / "none.pdf")]) == 2
