"""Promise: what is carried away keeps its proof: footnotes in Word, annotations in JSON, marks in a copy."""

import io
import json
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import docx
import pypdfium2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyld import jsonld
from pypdf import PdfReader

from pincite.cli import main
from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.errors import DocumentError, SettingsError
from pincite.core.domain.presentation import Tier, present
from pincite.core.domain.turns import ReviewDecision, Turn
from pincite.core.export.manifest import CONTEXT, PinCite, SourceFile, as_json, from_manifest
from pincite.core.export.proof import prove
from pincite.core.export.styles import References, check_style, fragments, plain
from pincite.core.services.bootstrap import Pincite
from pincite.core.services.exports import ExportForm
from tests.export.conftest import QUESTION
from tests.support import pdfs

WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
ODF = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
OA, DC = "http://www.w3.org/ns/oa#", "http://purl.org/dc/terms/"
VOCABULARY: dict[str, Any] = {
    "id": {"@type": "@id", "@id": "@id"},
    "type": {"@type": "@id", "@id": "@type"},
    **{name: OA + name for name in (
        "Annotation", "TextualBody", "SpecificResource", "FragmentSelector", "TextQuoteSelector",
        "TextPositionSelector", "linking", "exact", "prefix", "suffix",
    )},
    "Text": "http://purl.org/dc/dcmitype/Text",
    "Software": "http://www.w3.org/ns/activitystreams#Application",
    "body": {"@type": "@id", "@id": f"{OA}hasBody"},
    "target": {"@type": "@id", "@id": f"{OA}hasTarget"},
    "source": {"@type": "@id", "@id": f"{OA}hasSource"},
    "selector": {"@type": "@id", "@id": f"{OA}hasSelector"},
    "refinedBy": {"@type": "@id", "@id": f"{OA}refinedBy"},
    "generator": {"@type": "@id", "@id": "http://www.w3.org/ns/activitystreams#generator"},
    "conformsTo": {"@type": "@id", "@id": f"{DC}conformsTo"},
    "motivation": {"@type": "@vocab", "@id": f"{OA}motivatedBy"},
    "format": "http://purl.org/dc/elements/1.1/format",
    "value": "http://www.w3.org/1999/02/22-rdf-syntax-ns#value",
    "name": "http://xmlns.com/foaf/0.1/name",
    "label": "http://www.w3.org/2000/01/rdf-schema#label",
    "created": {"@id": f"{DC}created", "@type": "http://www.w3.org/2001/XMLSchema#dateTime"},
    "start": {"@id": f"{OA}start", "@type": "http://www.w3.org/2001/XMLSchema#nonNegativeInteger"},
    "end": {"@id": f"{OA}end", "@type": "http://www.w3.org/2001/XMLSchema#nonNegativeInteger"},
}  # fmt: skip
"""Those terms of the Web Annotation vocabulary, as its context (W3C, 23 February 2017) defines them, that we use."""


def place_of(
    document: str, page: int, *, label: str = "", title: str = "", author: str = "", date: str = ""
) -> PinCite:
    return PinCite(1, SourceFile(document, document.encode().hex(), title, author, date), page - 1, label, 0, 1, "x")


def vocabulary(url: str, options: object) -> dict[str, Any]:
    assert url == CONTEXT
    return {"contentType": "application/ld+json", "contextUrl": None, "documentUrl": url,
            "document": {"@context": VOCABULARY}}  # fmt: skip


def leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner) if name != "@context" else ()
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


def test_word_has_a_footnote_with_the_words_for_every_part_that_cites(pincite: Pincite, turn: Turn) -> None:
    content = pincite.exports.of_turn(turn.id, ExportForm.WORD)
    body = docx.Document(io.BytesIO(content))
    text = "\n".join(paragraph.text for paragraph in body.paragraphs)
    assert QUESTION in text and "Claims:" in text and turn.citations[0].document_id in text
    for part in turn.parts:
        assert part.text.strip() in text
    notes = ElementTree.fromstring(zipfile.ZipFile(io.BytesIO(content)).read("word/footnotes.xml"))
    note_texts = ["".join(note.itertext()) for note in notes.findall(f"{WORD}footnote")[2:]]
    assert len(note_texts) == sum(1 for part in turn.parts if part.numbers)
    assert all(turn.citations[0].document_name in note for note in note_texts)
    references = body.element.body.findall(f".//{WORD}footnoteReference")
    assert [each.get(f"{WORD}id") for each in references] == [str(at) for at in range(1, len(note_texts) + 1)]


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_libreoffice_opens_the_word_document_and_keeps_its_footnotes(
    pincite: Pincite, turn: Turn, tmp_path: Path
) -> None:
    (tmp_path / "a.docx").write_bytes(pincite.exports.of_turn(turn.id, ExportForm.WORD))
    profile = f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"
    converted = ["soffice", profile, "--headless", "--convert-to", "odt", "--outdir", str(tmp_path)]
    subprocess.run([*converted, str(tmp_path / "a.docx")], check=True, capture_output=True, timeout=300)
    content = ElementTree.fromstring(zipfile.ZipFile(tmp_path / "a.odt").read("content.xml"))
    notes = ["".join(note.itertext()) for note in content.iter(f"{ODF}note")]
    assert len(notes) == sum(1 for part in turn.parts if part.numbers)
    assert all(turn.citations[0].document_name in note for note in notes)


def test_word_export_quotes_the_source_below_paraphrased_text(pincite: Pincite, turn: Turn) -> None:
    number = turn.citations[0].number
    pincite.reviews.decide(
        turn.id, ReviewDecision.EDITED, final_answer=f"Who pays late owes 1.5 % of the amount per month [{number}]."
    )
    reviewed = pincite.turns.get(turn.id)
    content = pincite.exports.of_turn(turn.id, ExportForm.WORD)
    notes = ElementTree.fromstring(zipfile.ZipFile(io.BytesIO(content)).read("word/footnotes.xml"))
    notes_text = "".join(notes.itertext())
    assert reviewed.final_citations
    assert all(" ".join(place.quotation.split()) in notes_text for place in reviewed.final_citations)


def test_word_takes_what_xml_cannot_hold(pincite: Pincite, turn: Turn) -> None:
    pincite.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer="Line\x0b one \ud800\x01 [1]\n\nTwo\ufffe [1]")
    text = [p.text for p in docx.Document(io.BytesIO(pincite.exports.of_turn(turn.id, ExportForm.WORD))).paragraphs]
    assert any(line.startswith("Line") for line in text) and any(line.startswith("Two") for line in text)


def test_every_export_states_that_an_answer_needs_checking(pincite: Pincite, turn: Turn) -> None:
    assert turn.verdict and present(turn).tier is Tier.ANSWERED
    pincite.turns.save(replace(turn, verdict=replace(turn.verdict, confidence=0.5)))
    warning = "Check the page: the words are there, but Pincite is only 50% sure"
    assert f"*Confidence 50%. {warning}" in pincite.sessions.export_markdown(turn.session_id)
    assert warning in json.loads(pincite.exports.of_turn(turn.id, ExportForm.JSON))["answers"][0]["finding"]
    pincite.turns.save(turn)
    assert "Check the page" not in pincite.sessions.export_markdown(turn.session_id)


def test_each_citation_of_the_json_is_an_annotation_of_the_vocabulary(pincite: Pincite, turn: Turn) -> None:
    exported = json.loads(pincite.exports.of_turn(turn.id, ExportForm.JSON))
    assert exported["answers"][0]["question"] == QUESTION
    for place, cited_place in zip(turn.citations, exported["answers"][0]["citations"], strict=True):
        annotation = cited_place["annotation"]
        expanded = jsonld.expand(annotation, {"documentLoader": vocabulary})
        kept, given_ = set(map(str, leaves(expanded))), set(map(str, leaves(annotation)))
        lost = {one for one in given_ - kept if one not in VOCABULARY}
        assert lost == set(), "a term that the vocabulary does not know is dropped when it is read"
        assert expanded[0]["@type"] == [f"{OA}Annotation"]
        selector = annotation["target"]["selector"]
        assert selector["value"] == f"page={place.page_index + 1}"
        quote, position = selector["refinedBy"]
        text = pincite.library.page_text(place.document_id, place.page_index)
        assert quote["exact"] == place.quotation == text[position["start"] : position["end"]]
        assert f"{quote['prefix']}{quote['exact']}{quote['suffix']}" in text


def test_a_scanned_page_is_proved_by_what_is_seen_on_it(
    pincite: Pincite, reader: ProcessReader, samples: Path, tmp_path: Path
) -> None:
    source, file = samples / "scanned-letter.pdf", tmp_path / "binder.pdf"
    document = pincite.ingest.add(source, source.name).document
    assert pincite.ingest.wait([document.id], timeout_seconds=300)
    session = pincite.sessions.create(document_ids=[document.id])
    asked = pincite.runner.wait(pincite.runner.ask(session.id, "What is the new mooring fee for berth 7?"), 120).turn
    assert asked.citations
    file.write_bytes(pincite.exports.of_turn(asked.id))
    assert all(one.holds for one in prove(file, [source], reader))


def test_json_is_read_again_as_it_was_and_proved(
    pincite: Pincite, turn: Turn, reader: ProcessReader, samples: Path, tmp_path: Path
) -> None:
    file = tmp_path / "answers.json"
    file.write_bytes(pincite.exports.of_turn(turn.id, ExportForm.JSON))
    manifest = from_manifest(file.read_bytes())
    assert from_manifest(as_json(manifest)) == manifest
    assert all(one.holds for one in prove(file, [samples / "service-contract.pdf"], reader))
    changed = file.read_text(encoding="utf-8").replace("1.5", "9.5")
    file.write_text(changed, encoding="utf-8")
    assert any(one.holds is False for one in prove(file, [samples / "service-contract.pdf"], reader))


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "{}", "null", '{"answers": [{}]}', '{"answers": [{"citations": [{}]}]}'),
        *('{"format": "other", "answers": []}', '{"answers": ' + "[" * 5000),
    ],
)
def test_what_is_no_export_is_refused(text: str) -> None:
    with pytest.raises(DocumentError, match="cannot be read"):
        from_manifest(text)


@pytest.mark.parametrize("angle", [0, 90, 180, 270])
def test_a_copy_of_the_document_has_its_citations_marked(pincite: Pincite, angle: int) -> None:
    turned = pdfs.turned(pdfs.prose(["The mooring fee of the northern quay is 4,250 euro a year."]), angle)
    document = pincite.ingest.add(turned, "turned.pdf").document
    with pytest.raises(DocumentError, match="No answer cites"):
        pincite.exports.marked(document)
    assert pincite.ingest.wait([document.id], timeout_seconds=300)
    session = pincite.sessions.create(document_ids=[document.id])
    question = "What is the mooring fee of the quay?"
    answered = pincite.runner.wait(pincite.runner.ask(session.id, question), 300).turn
    assert answered.citations
    content = pincite.exports.marked(document)
    place = answered.citations[-1]
    notes = [note.get_object() for note in PdfReader(io.BytesIO(content)).pages[place.page_index].get("/Annots", ())]
    assert all(note["/Contents"] == f"Cited for: {question}" for note in notes)
    seen = pypdfium2.PdfDocument(content)[place.page_index].get_textpage()
    under = []
    for note in notes:
        quads = [float(value) for value in note["/QuadPoints"]]
        for quad in (quads[at : at + 8] for at in range(0, len(quads), 8)):
            under.append(seen.get_text_bounded(min(quad[::2]), min(quad[1::2]), max(quad[::2]), max(quad[1::2])))
    assert "".join(place.quotation.split()) in "".join("".join(under).split())


def test_the_command_writes_each_form(
    pincite: Pincite, turn: Turn, samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = str(tmp_path / "data")
    pincite.close()
    for name in ("a.docx", "a.json"):
        assert main(["export", str(tmp_path / name), "--style", "oscola", "--data-dir", data]) == 0
    marked = str(tmp_path / "marked.pdf")
    assert main(["export", marked, "--marked", "service-contract.pdf", "--data-dir", data]) == 0
    assert main(["export", str(tmp_path / "a.txt"), "--data-dir", data]) == 2
    assert ".docx" in capsys.readouterr().err
    assert main(["verify", str(tmp_path / "a.json"), str(samples / "service-contract.pdf")]) == 0
    assert '"style": "oscola"' in (tmp_path / "a.json").read_text(encoding="utf-8")


AGREEMENT = {"title": "Services Agreement", "author": "Meridian Works", "date": "2024-09-03"}


def test_plain_names_file_and_page() -> None:
    assert plain(place_of("a.pdf", 3, label="3")) == "a.pdf, page 3 of the file"
    assert plain(place_of("a.pdf", 6, label="iv")) == "a.pdf, p. iv (page 6 of the file)"


def cited(notes: list[list[PinCite]], style: str) -> list[str]:
    return [words(note) for note in references(notes, style).notes]


def words(citing: str) -> str:
    return "".join(one.text for one in fragments(citing))


def references(notes: list[list[PinCite]], style: str) -> References:
    return References([[(place, "") for place in note] for note in notes], style)


def test_bluebook_shortens_what_was_cited() -> None:
    a3, a4 = place_of("a.pdf", 3, **AGREEMENT), place_of("a.pdf", 4, **AGREEMENT)
    b1 = place_of("annual-report.pdf", 1)
    assert cited([[a3], [a3], [a4], [b1], [a4]], "bluebook") == [
        "Meridian Works, Services Agreement 3 (2024).", "Id.", "Id. at 4.", "annual-report, 1.",
        "Meridian Works, supra note 1 at 4.",
    ]  # fmt: skip


def test_bluebook_uses_id_only_after_a_single_source() -> None:
    a, b = place_of("a.pdf", 3, **AGREEMENT), place_of("b.pdf", 1, title="B", author="B. Author")
    assert cited([[a, b], [b], [b]], "bluebook")[1:] == ["B. Author, supra note 1 at 1.", "Id."]


def test_oscola_points_to_the_note() -> None:
    a3, a4, b = (place_of(name, page, **AGREEMENT) for name, page in (("a.pdf", 3), ("a.pdf", 4), ("b.pdf", 1)))
    notes = cited([[a3], [b], [a4]], "oscola")
    assert notes[0] == "Meridian Works, ‘Services Agreement’ (2024) 3."
    assert "(n 1)" in notes[2]


@pytest.mark.behaviour("Other programs", "Exports cite in any style of the Citation Style Language.")
def test_styles_of_the_text_cite_in_parentheses_and_list_the_sources() -> None:
    a, b = place_of("a.pdf", 3, **AGREEMENT), place_of("annual-report.pdf", 7, label="iv")
    apa = references([[a], [b]], "apa")
    assert apa.in_text
    assert cited([[a], [b]], "apa") == ["(Meridian Works, 2024, p. 3)", "(annual-report, n.d., p. iv)"]
    assert [words(source) for source in apa.sources] == [
        "annual-report. (n.d.).", "Meridian Works. (2024). Services Agreement.",
    ]  # fmt: skip
    assert [one.text for one in fragments(apa.sources[1]) if one.italic] == ["Services Agreement"]


ARTICLE = {
    "type": "article-journal", "title": "Deep Learning of Bridges <x>", "container-title": "Journal of Bridges",
    "author": [{"family": "Lee", "given": "Ann B."}, {"family": "Poe", "given": "Carl"}],
    "issued": {"date-parts": [[2021, 3, 4]]}, "volume": "12", "page": "101-120", "DOI": "10.1000/xyz",
}  # fmt: skip


def test_what_a_reference_manager_knows_is_cited() -> None:
    place = replace(place_of("a.pdf", 5, label="105"), source=SourceFile("a.pdf", "aa", reference=json.dumps(ARTICLE)))
    assert cited([[place], [place]], "oscola") == [
        "AB Lee and C Poe, ‘Deep Learning of Bridges <x>’ (2021) 12 Journal of Bridges 101, 105 "
        "<https://doi.org/10.1000/xyz>.",
        "ibid.",
    ]
    shortened = cited([[place], [place_of("b.pdf", 1)], [place]], "chicago-notes-bibliography")[2]
    assert shortened == "Lee and Poe, “Deep Learning of Bridges <x>”, 105."  # nothing of an edition that it lacks
    [listed] = references([[place]], "chicago-author-date").sources
    assert ": 101–20." in words(listed)  # its pages, not the cited one


def test_a_statute_is_cited_by_its_title_and_works_of_one_year_are_told_apart() -> None:
    act = json.dumps({"type": "legislation", "title": "Companies Act 2006", "issued": {"date-parts": [[2006]]}})
    place = replace(place_of("a.pdf", 3), source=SourceFile("a.pdf", "aa", reference=act))
    assert "Companies Act 2006" in cited([[place]], "oscola")[0]
    lee = [place_of(name, 3, title=name, author="Lee", date="2020") for name in ("One", "Two")]
    assert cited([[lee[1]], [lee[0]]], "apa") == ["(Lee, 2020b, p. 3)", "(Lee, 2020a, p. 3)"]


def test_a_style_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.csl"
    broken.write_text("<style>", encoding="utf-8")
    for style in ("no-such-style", str(broken), str(tmp_path / "none.csl"), "wikipedia-fr-templates"):
        with pytest.raises(SettingsError, match="cannot be used"):
            check_style(style)


def test_a_style_of_the_user_is_used(tmp_path: Path) -> None:
    own = tmp_path / "own.csl"
    own.write_text(
        '<style xmlns="http://purl.org/net/xbiblio/csl" class="note" version="1.0"><info><title>Own</title></info>'
        '<citation><layout delimiter=" / "><text variable="title"/><text variable="locator" prefix=" @ "/></layout>'
        "</citation></style>",
        encoding="utf-8",
    )
    assert cited([[place_of("a.pdf", 3, **AGREEMENT)]], str(own)) == ["Services Agreement @ 3"]


@given(
    st.lists(st.lists(st.tuples(st.integers(1, 4), st.sampled_from(["a.pdf", "b.pdf"])), min_size=1, max_size=3)),
    st.sampled_from(["plain", "oscola", "bluebook", "apa", "ieee", "chicago-notes-bibliography"]),
    st.text(max_size=12),
    st.text(max_size=12),
)
def test_every_note_is_cited_whatever_the_document_states(
    notes: list[list[tuple[int, str]]], style: str, date: str, title: str
) -> None:
    places = [[place_of(name, page, date=date, title=title) for page, name in note] for note in notes]
    assert len(cited(places, style)) == len(places)


def test_table_claims_are_exported_as_worded_in_the_answer(
    pincite: Pincite, turn: Turn, reader: ProcessReader, samples: Path, tmp_path: Path
) -> None:
    number = turn.citations[0].number
    table = f"| | Penalty |\n|---|---|\n| Late payment | 1.5 % of the overdue amount per month [{number}] |"
    pincite.reviews.decide(turn.id, ReviewDecision.EDITED, final_answer=table)
    file = tmp_path / "answers.json"
    file.write_bytes(pincite.exports.of_turn(turn.id, ExportForm.JSON))
    assert from_manifest(file.read_bytes()).answers[0].claims
    assert [one for one in prove(file, [samples / "service-contract.pdf"], reader) if one.holds is False] == []
