"""Documents from a reference manager: their files are added, and what it knows of them is kept and cited."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from docx import Document as WordFile

from pincite.cli import main
from pincite.core.domain.documents import REFERENCE, Document, MetadataField, MetadataSource
from pincite.core.domain.errors import DocumentError, SettingsError
from pincite.core.domain.settings import Settings
from pincite.core.export.manifest import source_of
from pincite.core.services import zotero as api
from pincite.core.services.bibtex import read_bibtex
from pincite.core.services.bootstrap import Pincite, open_pincite
from pincite.core.services.references import Reference
from pincite.core.services.zotero import Zotero
from tests.support.pdfs import prose
from tests.support.zotero import BRIDGES, zotero

BIBTEX = r"""
@article{lee2021,
  title = {Deep {{Learning}} of {Br\"ucken} \& Rails},
  author = {Lee, Ann B. and family=Dyck, given=Jan, prefix=van and {World Health Organization}},
  date = {2021-03-04}, journaltitle = {Journal of Bridges}, volume = {12}, number = {3}, pages = {101--120},
  doi = {10.1000/x\_y}, file = {lee.pdf;Snapshot:snapshot.html:text/html}
}
@phdthesis{poe, author = {van der Poe, Carl}, title = "Loads", year = 1999, month = sep, school = {Oslo},
  file = {Full Text:files/12/poe\;1.pdf:application/pdf}}
@misc{none, title = {No file}}
@article{broken, title={never closed
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "storage"
    made.mkdir()
    (made / "Lee 2021.pdf").write_bytes(prose(["The model finds 94 % of the cracks in bridges."]))
    (made / "survey.pdf").write_bytes(prose(["The survey counts 312 lime trees."]))
    (made / "alone.pdf").write_bytes(prose(["The toll is 3 euros."]))
    (made / "snapshot.html").write_text("<p>Journal of Bridges</p>", encoding="utf-8")
    return made


@pytest.fixture
def pincite(tmp_path: Path) -> Iterator[Pincite]:
    with closing(open_pincite(Settings(data_dir=tmp_path / "data", ocr=False))) as opened:
        yield opened


def facts(document: Document) -> dict[str, str]:
    return {field.name: field.value for field in document.metadata}


def test_collections_are_listed_with_those_around_them(folder: Path) -> None:
    with zotero(folder) as address:
        assert [one.name for one in Zotero(address).collections()] == [
            "Chambers / Cases", "Thesis", "Thesis / Chapter 1",
        ]  # fmt: skip


@pytest.mark.behaviour("Other programs", "Documents are imported from Zotero, with what it knows of them.")
def test_a_collection_is_imported_with_what_zotero_knows(pincite: Pincite, folder: Path) -> None:
    with zotero(folder) as address:
        library = Zotero(address)
        [_, thesis, _] = library.collections()
        outcomes = list(pincite.references.add(library.references(thesis), collection=thesis.short_name))
    assert [(one.reference.name, len(one.documents), one.problems) for one in outcomes] == [
        ("Deep learning of bridges", 1, ()), ("Bare", 0, ("It has no file.",)), ("Survey of lime trees", 1, ()),
        ("alone.pdf", 1, ()),
    ]  # fmt: skip
    pincite.ingest.wait()
    lee, survey, alone = (pincite.library.find(name) for name in ("Lee 2021.pdf", "survey.pdf", "alone.pdf"))
    assert facts(lee) | {REFERENCE: ""} == facts(lee) | {
        "title": "Deep learning of bridges", "author": "Ann B. Lee, Bridge Office", "date": "2021-03-04", REFERENCE: "",
    }  # fmt: skip
    assert json.loads(facts(lee)[REFERENCE])["container-title"] == "Journal of Bridges"
    assert facts(survey)["title"] == "Survey of lime trees"
    assert REFERENCE not in facts(alone)
    [collection] = pincite.collections.list()
    assert collection.name == "Thesis"
    assert set(collection.document_ids) == {lee.id, survey.id, alone.id}
    assert REFERENCE not in lee.words_of_facts and "Journal" not in lee.words_of_facts


def test_what_a_person_enters_stays_and_is_cited(pincite: Pincite, folder: Path) -> None:
    reference = Reference(BRIDGES, (folder / "Lee 2021.pdf",))
    [first] = pincite.references.add([reference])
    [document] = first.documents
    pincite.ingest.wait()
    kept = [field for field in pincite.library.get(document.id).metadata if field.name != "author"]
    pincite.ingest.set_metadata(document.id, [*kept, MetadataField("author", "A. B. Lee", MetadataSource.USER)])
    list(pincite.references.add([reference]))
    pincite.ingest.read_again([document.id])
    pincite.ingest.wait()
    stored = facts(pincite.library.get(document.id))
    assert (stored["author"], stored["title"]) == ("A. B. Lee", "Deep learning of bridges")
    asked = pincite.runner.ask(pincite.sessions.create().id, "What share of the cracks does the model find?")
    turn = pincite.runner.wait(asked, 60).turn
    assert "94 %" in turn.answer
    for style, cited in (("oscola", "A. B. Lee, ‘Deep Learning of Bridges’ (2021) 12 Journal of Bridges 101, 1"),
                         ("apa", "(A. B. Lee, 2021, p. 1)")):  # fmt: skip
        pincite.settings.change(citation_style=style)
        file = folder / f"{style}.docx"
        file.write_bytes(pincite.exports.of_turn(turn.id, ".docx"))
        body = "\n".join(paragraph.text for paragraph in WordFile(str(file)).paragraphs)
        notes = "".join(part.blob.decode() for part in WordFile(str(file)).part.package.iter_parts()
                        if part.partname == "/word/footnotes.xml")  # fmt: skip
        assert cited in (body if style == "apa" else notes)
        assert ("References" in body) and ('w:id="1"' in notes) == (style == "oscola")
    with pytest.raises(SettingsError, match="no-such-style"):
        pincite.settings.change(citation_style="no-such-style")
    assert pincite.settings.current.citation_style == "apa"


def test_a_date_in_words_is_cited(pincite: Pincite, folder: Path) -> None:
    reference = Reference(BRIDGES | {"issued": {"literal": "spring 1999"}}, (folder / "Lee 2021.pdf",))
    [outcome] = pincite.references.add([reference])
    [document] = outcome.documents
    assert facts(pincite.library.get(document.id))["date"] == "spring 1999"
    assert json.loads(source_of(pincite.library.get(document.id)).reference)["issued"] == {"literal": "spring 1999"}


def test_a_missing_file_stops_no_other(pincite: Pincite, folder: Path) -> None:
    gone, there = Reference({}, (folder / "gone.pdf",)), Reference({}, (folder / "survey.pdf",))
    unread = Reference({"title": "A film"}, (folder / "film.mkv",))
    outcomes = list(pincite.references.add([gone, unread, there]))
    assert [len(one.documents) for one in outcomes] == [0, 0, 1]
    assert "gone.pdf" in outcomes[0].problems[0] and "format" in outcomes[1].problems[0]


def test_a_closed_zotero_and_one_that_refuses_are_explained(folder: Path) -> None:
    with zotero(folder, allowed=False) as address, pytest.raises(DocumentError, match="does not let") as refused:
        Zotero(address).collections()
    assert "Allow other applications" in refused.value.hint
    with pytest.raises(DocumentError, match="not running"):
        Zotero("http://127.0.0.1:9/api/").collections()
    with zotero(folder) as address, pytest.raises(DocumentError, match="does not answer"):
        Zotero(f"{address}elsewhere/").collections()


def test_better_bibtex_is_read(tmp_path: Path) -> None:
    file = tmp_path / "thesis.bib"
    file.write_text(BIBTEX, encoding="utf-8")
    lee, poe, none, unread = read_bibtex(file)
    assert lee.item == {
        "type": "article-journal", "title": "Deep Learning of Brücken & Rails", "container-title": "Journal of Bridges",
        "author": [{"given": "Ann B.", "family": "Lee"},
                   {"given": "Jan", "non-dropping-particle": "van", "family": "Dyck"},
                   {"literal": "World Health Organization"}],
        "issued": {"date-parts": [[2021, 3, 4]]}, "volume": "12", "issue": "3", "page": "101-120", "DOI": "10.1000/x_y",
    }  # fmt: skip
    assert lee.files == (tmp_path / "lee.pdf", tmp_path / "snapshot.html")
    assert poe.item["author"] == [{"given": "Carl", "non-dropping-particle": "van der", "family": "Poe"}]
    assert (poe.item["issued"], poe.item["publisher"]) == ({"date-parts": [[1999, 9]]}, "Oslo")
    assert poe.files == (tmp_path / "files" / "12" / "poe;1.pdf",)
    assert none.files == ()
    assert unread.name == "thesis.bib, invalid entries: 1"


def test_better_bibtex_as_people_have_it(tmp_path: Path) -> None:
    file = tmp_path / "old.bib"
    file.write_bytes(
        rb"""
@book{a, author={{\'A}lvarez, Jos{\'e} and others}, title={5% in M{\"u}nchen}, year=2020, month={0},
  file={:C$\backslash$:/Users/x.pdf:pdf}}
@book{a, author={M"""
        + "ü".encode("cp1252")
        + rb"""ller, J.}, title={Twice}, title={Again}, file={file:///tmp/a%20b.pdf}}
"""
    )
    first, second = read_bibtex(file)
    assert first.item["author"] == [{"given": "José", "family": "Álvarez"}]
    assert (first.item["title"], first.item["issued"]) == ("5% in München", {"date-parts": [[2020]]})
    assert first.files[0].name == "x.pdf"
    assert second.item["author"] == [{"given": "J.", "family": "Müller"}]
    assert second.files == (Path("/tmp/a b.pdf"),)


@pytest.mark.parametrize("content", ["", "no references here", "@article{", "\x00\xff"])
def test_a_file_without_entries_is_refused(content: str, tmp_path: Path) -> None:
    file = tmp_path / "empty.bib"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(DocumentError, match="no entries"):
        read_bibtex(file)
    with pytest.raises(DocumentError, match="cannot be read"):
        read_bibtex(tmp_path / "none.bib")


def test_the_command_lists_and_imports(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = ["--data-dir", str(tmp_path / "data")]
    with zotero(folder) as address:
        monkeypatch.setattr(api, "ADDRESS", address)
        assert main(["zotero", *data]) == 0
        assert "Thesis / Chapter 1" in capsys.readouterr().out
        assert main(["zotero", "thesis / chapter 1", *data]) == 0
        assert "3 documents in the collection Chapter 1" in capsys.readouterr().out
        assert main(["zotero", "Nothing", *data]) != 0
    (folder / "own.bib").write_text("@misc{a, title={Survey}, file={survey.pdf}}\n@misc{b, title={Bare}}", "utf-8")
    assert main(["zotero", str(folder / "own.bib"), "--collection", "Mine", *data]) == 1
    told = capsys.readouterr()
    assert "Bare: It has no file." in told.out and "1 document in the collection Mine" in told.out
