"""Word files become pages with the text Word shows: clause numbers, tables, footnotes, its pages, no deleted words."""

from collections.abc import Callable
from pathlib import Path

import pytest
from docx.document import Document
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from pincite.core.documents import formats
from pincite.core.documents.formats import word
from pincite.core.documents.reader import ProcessReader
from pincite.core.documents.tables import find_tables
from pincite.core.domain.documents import BlockKind, HiddenReason, Page
from pincite.core.domain.errors import DocumentError, UnreadablePdfError
from tests.support import words

RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
Read = Callable[[Callable[[Document], object]], list[Page]]


@pytest.fixture
def read(tmp_path: Path, reader: ProcessReader) -> Read:
    def pages(fill: Callable[[Document], object]) -> list[Page]:
        path, target = tmp_path / "file.docx", tmp_path / "file.pdf"
        path.write_bytes(words.made(fill))
        reader.save_as_pdf(path, "", target)
        return list(reader.read(target, range(reader.open(target).page_count)))

    return pages


def test_headings_paragraphs_and_tables_are_read_as_such(read: Read) -> None:
    first, second = read(words.lease)
    kinds = {first.text[block.start : block.end]: block.kind for block in first.blocks}
    assert kinds["Rent"] is BlockKind.HEADING and words.RENT in " ".join(first.text.split())
    [table] = find_tables("d", [first])
    assert [cell.text for cell in table.cells if cell.row == 1] == ["Heating", "310", "335"]
    assert words.NOTICE in " ".join(second.text.split())


def test_clauses_have_the_numbers_that_word_counts(read: Read) -> None:
    clauses = [(0, "Rent"), (1, "It is paid monthly."), (1, "It is paid in advance."), (2, "By transfer."),
               (2, "By card."), (0, "Keys"), (1, "There are three.")]  # fmt: skip
    [page] = read(lambda document: words.numbered(document, *clauses))
    assert page.text.split("\n") == [
        "1. Rent",
        "1.1 It is paid monthly.",
        "1.2 It is paid in advance.",
        "(i) By transfer.",
        "(ii) By card.",
        "2. Keys",
        "2.1 There are three.",
    ]


def test_what_was_deleted_or_hidden_is_not_read_and_what_was_inserted_is_a_proposal(read: Read) -> None:
    def fill(document: Document) -> None:
        paragraph = document.add_paragraph("The notice is ")
        words.changed(paragraph, "w:del", "two ")
        words.changed(paragraph, "w:ins", "three ")
        paragraph.add_run("months.")
        paragraph.add_run(" Call it a draft.").font.hidden = True

    [page] = read(fill)
    assert page.text == "The notice is [Proposed insertion: three] months."
    assert [(item.text, item.reason) for item in page.hidden] == [
        ("two ", HiddenReason.STRUCK),
        (" Call it a draft.", HiddenReason.INVISIBLE),
    ]


def test_pages_are_called_as_word_calls_them(read: Read) -> None:
    def fill(document: Document) -> None:
        document.add_paragraph("On the first page. " * 400)  # more than one page holds here
        words.page_begins(document.add_paragraph())
        document.add_paragraph("On the second page.")

    *parts, last = read(fill)
    assert [page.page_label for page in parts] == ["1"] * len(parts) and len(parts) > 1
    assert (last.page_label, last.text) == ("2", "On the second page.")


def test_footnotes_are_on_the_page_and_their_marks_are_not_words(read: Read) -> None:
    def fill(document: Document) -> None:
        words.noted(document, document.add_paragraph("The fee is 40 euros"), "Without tax.")

    [page] = read(fill)
    assert "Without tax." in page.text and "euros1" not in page.text


def test_signs_of_boxes_and_other_alphabets_are_kept(read: Read) -> None:
    [page] = read(lambda document: document.add_paragraph("☑ Paid ☐ Open → Здравствуйте"))
    assert page.text == "[ticked] Paid [unticked] Open → Здравствуйте"


def test_page_numbers_of_sections_are_words_own(read: Read) -> None:
    def fill(document: Document) -> None:
        document.add_paragraph("The preface.")
        words.page_begins(document.add_paragraph("More of it."))
        words.counted(document, "lowerRoman")
        document.add_section()
        words.page_begins(document.add_paragraph())
        document.add_paragraph("The first chapter.")
        words.counted(document, "decimal", start=1)

    assert [page.page_label for page in read(fill)] == ["i", "ii", "1"]


def test_controls_fields_formulas_and_symbols_say_what_they_show(read: Read) -> None:
    def fill(document: Document) -> None:
        words.controlled(document, "Date of birth", "14.03.1981")
        words.fielded(document.add_paragraph("Dear "), "Jones")
        words.formula(document.add_paragraph("x is "))
        words.symbol(document.add_paragraph("at most "), "Symbol", "F0A3")

    [page] = read(fill)
    assert page.text.split("\n") == ["Date of birth\t14.03.1981", "Dear Jones", "x is (1)/(2)", "at most ≤"]


def test_rows_at_the_edges_of_pages_are_rows_and_years_no_line_numbers(read: Read) -> None:
    def fill(document: Document) -> None:
        table = document.add_table(rows=0, cols=3)
        for number in range(150):
            texts = (f"Station {number}", str(300 + 7 * number), str(1850 + number))
            for cell, text in zip(table.add_row().cells, texts, strict=True):
                cell.text = text

    pages = read(fill)
    blocks = [(block, page.text[block.start : block.end]) for page in pages for block in page.blocks]
    assert len(pages) > 3 and {block.kind for block, _ in blocks} == {BlockKind.TABLE_ROW}
    assert [text.split("\t")[-1] for _, text in blocks] == [str(1850 + number) for number in range(150)]


def test_letters_without_a_font_are_refused_with_what_to_do(read: Read) -> None:
    with pytest.raises(UnreadablePdfError, match="letters that no font here can show") as refused:
        read(lambda document: document.add_paragraph("שלום"))
    assert "PDF" in refused.value.hint


def test_a_long_table_and_a_tall_cell_are_set(read: Read) -> None:
    def fill(document: Document) -> None:
        document.add_heading("Rows", 1)
        table = document.add_table(rows=0, cols=2)
        for number in range(120):
            for cell, text in zip(table.add_row().cells, (f"Row {number}", str(number)), strict=True):
                cell.text = text
        table.add_row().cells[0].merge(table.rows[-1].cells[1]).text = "Much is said here. " * 600

    pages = read(fill)
    assert len(pages) > 3 and "Row 119" in "".join(page.text for page in pages)
    assert "Row 7\t7" in [pages[0].text[block.start : block.end] for block in pages[0].blocks], "no line numbers"


def test_figures_in_a_wide_table_are_not_split(read: Read) -> None:
    figures = [f"{number},234,567.89" for number in range(10, 22)]

    def fill(document: Document) -> None:
        cells = document.add_table(rows=1, cols=len(figures)).rows[0].cells
        for cell, figure in zip(cells, figures, strict=True):
            cell.text = figure

    [page] = read(fill)
    assert page.text.split() == figures


@pytest.mark.parametrize("content", [b"", b"<not-xml", b"<w:document/>"])
def test_a_damaged_package_is_refused_in_a_sentence(content: bytes, tmp_path: Path) -> None:
    import zipfile

    path = tmp_path / "file.docx"
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("word/document.xml", content)
    with pytest.raises(DocumentError, match="ordinary Word document"):
        formats.save_as_pdf(path, path.name, "", tmp_path / "out.pdf")


def test_the_same_file_gives_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "file.docx"
    path.write_bytes(words.made(words.lease))
    for name in ("one.pdf", "two.pdf"):
        word.save_as_pdf(path, tmp_path / name)
    assert (tmp_path / "one.pdf").read_bytes() == (tmp_path / "two.pdf").read_bytes()


def test_headers_and_footers_are_notes_of_the_first_page_each_text_once(read: Read) -> None:
    def fill(document: Document) -> None:
        document.add_paragraph("The hall is let by the hour.")
        document.sections[0].header.paragraphs[0].text = "Hall rules, contract KX-77"
        document.sections[0].footer.paragraphs[0].text = "3"
        document.add_section().header.is_linked_to_previous = False
        document.sections[1].header.paragraphs[0].text = "Hall rules, contract KX-77"
        document.add_paragraph("The keys are in the office.")

    pages = read(fill)
    assert "".join(page.text for page in pages).count("Header: Hall rules, contract KX-77") == 1
    assert not any("Footer" in page.text for page in pages), "a page's number alone is no footer's text"


def test_comment_is_a_note_with_its_author(read: Read) -> None:
    def fill(document: Document) -> None:
        clause = document.add_paragraph("The deposit is 300 euros.")
        document.add_comment(clause.runs, text="See [2]. We sign at 200 euros only.", author="K. Moran")

    [page] = read(fill)
    clause, comment = page.text.split("\n")
    assert clause == "The deposit is 300 euros."
    assert comment.startswith("[Comment by K. Moran, 20") and comment.endswith(": See (2). We sign at 200 euros only.]")


def test_headers_that_word_does_not_show_are_not_read(read: Read) -> None:
    def fill(document: Document) -> None:
        document.add_paragraph("The hall is let by the hour.")
        section = document.sections[0]
        section.first_page_header.paragraphs[0].text = "Draft for the council"
        section.even_page_header.paragraphs[0].text = "Even draft"
        section.header.paragraphs[0].text = "Hall rules"
        section.different_first_page_header_footer = False

    [page] = read(fill)
    assert "Header: Hall rules" in page.text and "raft" not in page.text


def test_a_field_that_nobody_filled_in_is_a_blank(read: Read) -> None:
    control = (
        f"<w:sdt {nsdecls('w')}><w:sdtPr>{{}}<w:text/></w:sdtPr><w:sdtContent><w:r><w:t>{{}}</w:t></w:r>"
        "</w:sdtContent></w:sdt>"
    )

    def fill(document: Document) -> None:
        for label, shown, text in (
            ("Owner: ", "", "Ines Falk"),
            ("Valid until: ", "<w:showingPlcHdr/>", "Tap to enter a date."),
        ):
            document.add_paragraph(label)._p.append(parse_xml(control.format(shown, text)))

    [page] = read(fill)
    assert page.text.split("\n") == ["Owner: Ines Falk", "Valid until: ____"]


def test_diagram_words_are_read_where_the_diagram_is(read: Read) -> None:
    space = "http://schemas.openxmlformats.org/drawingml/2006"
    steps = "".join(f"<d:pt><d:t><a:p><a:r><a:t>{one}</a:t></a:r></a:p></d:t></d:pt>" for one in ("Ring", "Leave"))
    names = f'xmlns:d="{space}/diagram" xmlns:a="{space}/main" xmlns:r="{RELATIONSHIPS}"'
    data = f"<d:dataModel {names}><d:ptLst>{steps}</d:ptLst></d:dataModel>"

    def fill(document: Document) -> None:
        document.add_paragraph("In case of fire:")
        part = Part(PackURI("/word/diagrams/data1.xml"), "application/xml", data.encode(), document.part.package)
        identity = document.part.relate_to(part, f"{RELATIONSHIPS}/diagramData")
        document.add_paragraph()._p.append(
            parse_xml(
                f"<w:r {nsdecls('w')} {names}><w:drawing><a:graphic><a:graphicData uri='{space}/diagram'>"
                f"<d:relIds r:dm='{identity}'/></a:graphicData></a:graphic></w:drawing></w:r>"
            )
        )
        document.add_paragraph("Nobody uses the lift.")

    [page] = read(fill)
    assert page.text.split() == "In case of fire: Ring Leave Nobody uses the lift.".split()
