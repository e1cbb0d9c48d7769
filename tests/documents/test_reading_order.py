"""The text of a page is what a person would read aloud, in that order, with figures left in their columns."""

import io
from collections.abc import Callable
from pathlib import Path

import pypdf
import pytest

from pincite.core.documents.reader import ProcessReader
from pincite.core.domain.documents import BlockKind, Page, PageStatus
from tests.support import pdfs

LEFT = " ".join(pdfs.SENTENCES * 2)
RIGHT = " ".join(sentence.replace("vessel", "lorry").replace("harbour", "depot") for sentence in pdfs.SENTENCES * 2)
Read = Callable[[bytes], list[Page]]


@pytest.fixture
def read(reader: ProcessReader, tmp_path: Path) -> Read:
    def read_all(content: bytes) -> list[Page]:
        path = tmp_path / "file.pdf"
        path.write_bytes(content)
        return list(reader.read(path, range(reader.open(path).page_count)))

    return read_all


def _blocks(page: Page, kind: BlockKind) -> list[str]:
    return [page.text[block.start : block.end] for block in page.blocks if block.kind is kind]


def test_columns_are_read_one_after_the_other(read: Read) -> None:
    page = read(pdfs.two_columns(LEFT, RIGHT, title="Register of the Harbour"))[0]
    assert page.text.startswith("Register of the Harbour\n")
    assert LEFT in page.text and RIGHT in page.text
    assert page.text.index(LEFT) < page.text.index(RIGHT)


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_turned_page_reads_like_an_upright_one(read: Read, degrees: int) -> None:
    upright = pdfs.two_columns(LEFT, RIGHT)
    turned = read(pdfs.turned(upright, degrees))[0]
    assert turned.text == read(upright)[0].text


def test_paragraph_lines_are_joined(read: Read) -> None:
    assert read(pdfs.prose([LEFT]))[0].text == LEFT


def test_broken_words_are_mended_and_compounds_kept(read: Read) -> None:
    lines = ["The quarterly infor-", "mation was given by a well-", "known firm in 2019-", "2020 for the audit."]
    page = read(pdfs.glyphs([(72, 700 - 14 * number, line) for number, line in enumerate(lines)]))[0]
    assert page.text == "The quarterly information was given by a well-known firm in 2019-2020 for the audit."


def test_ligatures_and_soft_hyphens_do_not_hide_words(read: Read) -> None:
    page = read(pdfs.glyphs([(72, 700, "the ﬁnal of\ufb01ce con\u00adtract")]))[0]
    assert page.text == "the final office contract"


def test_right_to_left_text_is_in_logical_order(read: Read) -> None:
    first, second = "שלום עולם", "ספר חדש"
    page = read(pdfs.glyphs([(300, 700, first[::-1]), (300, 680, second[::-1])]))[0]
    assert page.text.split() == [*first.split(), *second.split()]


def test_scripts_without_spaces_keep_their_characters_together(read: Read) -> None:
    page = read(pdfs.glyphs([(72, 700, "年度報告書"), (72, 685, "売上高は増加した。")]))[0]
    assert "年度報告書" in page.text and "売上高は増加した。" in page.text
    assert len(page.words) == len(page.text.replace("\n", ""))


def test_a_table_row_stays_on_one_line_with_its_column_heads(read: Read) -> None:
    rows = [
        ("In millions", "2023", "2022"),
        ("Revenue", "$ 1,234.5", "$ 1,180.0"),
        ("Net loss", "(56.7)", "(12.3)"),
        ("Margin", "-4.6", "-1.0"),
    ]
    page = read(pdfs.table(rows, title="Results"))[0]
    lines = _blocks(page, BlockKind.TABLE_ROW)
    assert "Revenue\t$1,234.5\t$1,180.0" in lines
    assert "Net loss\t(56.7)\t(12.3)" in lines
    heads = {block.column_heads for block in page.blocks if page.text[block.start : block.end].startswith("Net loss")}
    assert heads == {"In millions | 2023 | 2022"}


def test_an_empty_cell_leaves_the_others_in_their_columns(read: Read) -> None:
    rows = [
        ("Item", "2023", "2022", "2021"),
        ("Sales", "10.5", "11.5", "12.5"),
        ("Grants", "", "3.5", "4.5"),
        ("Other", "1.5", "", "2.5"),
    ]
    lines = _blocks(read(pdfs.table(rows))[0], BlockKind.TABLE_ROW)
    assert "Grants\t\t3.5\t4.5" in lines
    assert "Other\t1.5\t\t2.5" in lines


def test_headings_are_distinguished_from_text_by_their_type(read: Read) -> None:
    page = read(pdfs.headed([("Scope", LEFT), ("Fees and charges", RIGHT)]))[0]
    assert _blocks(page, BlockKind.HEADING) == ["Scope", "Fees and charges"]
    assert _blocks(page, BlockKind.PARAGRAPH) == [LEFT, RIGHT]


def test_a_title_far_behind_its_number_is_a_heading_and_a_figure_is_none(read: Read) -> None:
    body = ["We ask the model for the principles", "before it answers, and it reads them."]
    lines = [(72, 700, body[0]), (72, 686, body[1]), (72, 650, "4"), (120, 650, "STEM TASKS"), (72, 620, body[0])]
    page = read(pdfs.glyphs([*lines, (72, 606, body[1]), (72, 570, "4"), (120, 570, "boxes")]))[0]
    assert [" ".join(text.split()) for text in _blocks(page, BlockKind.HEADING)] == ["4 STEM TASKS"]


def test_repeated_heads_and_feet_are_set_apart(read: Read) -> None:
    texts = [f"{sentence} Entry {number}." for number, sentence in enumerate(pdfs.SENTENCES)]
    for page in read(pdfs.prose(texts, header="Harbour Rules 2024", footer="Page {number} of 4")):
        assert _blocks(page, BlockKind.HEADER) == ["Harbour Rules 2024"]
        assert _blocks(page, BlockKind.FOOTER) == [f"Page {page.page_index + 1} of 4"]
        assert _blocks(page, BlockKind.PARAGRAPH) == [texts[page.page_index]]


def test_labels_come_from_the_file_where_it_has_them(read: Read) -> None:
    pages = read(pdfs.labelled(pdfs.prose(list(pdfs.SENTENCES)), roman_pages=2))
    assert [page.page_label for page in pages] == ["i", "ii", "1", "2"]


def test_labels_are_recognised_in_running_feet_else_counted(read: Read) -> None:
    numbered = pdfs.prose(list(pdfs.SENTENCES), footer="F-{number}")
    assert [page.page_label for page in read(numbered)] == ["F-1", "F-2", "F-3", "F-4"]
    assert [page.page_label for page in read(pdfs.prose(list(pdfs.SENTENCES)))] == ["1", "2", "3", "4"]
    article = pypdf.PdfWriter(clone_from=io.BytesIO(pdfs.prose(list(pdfs.SENTENCES)[:3], footer="21{number}")))
    article.insert_page(pypdf.PdfReader(io.BytesIO(pdfs.prose([LEFT]))).pages[0], 0)
    article.remove_page(1)
    article.write(joined := io.BytesIO())
    assert [page.page_label for page in read(joined.getvalue())] == ["211", "212", "213"], "the first prints none"


def test_a_garbled_text_layer_is_named_as_such(read: Read) -> None:
    private = "".join(chr(0xE000 + ord(letter)) if letter != " " else letter for letter in LEFT)
    glued = LEFT.replace(" ", "")
    for text in (private, glued):
        lines = [(20.0, 750 - 14 * number, text[at : at + 90]) for number, at in enumerate(range(0, len(text), 90))]
        page = read(pdfs.glyphs(lines))[0]
        assert page.status is PageStatus.GARBLED
        assert page.reason
