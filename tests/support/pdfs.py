"""Small PDFs made for one promise each: columns, tables, labels, scans, locks, turned pages, other scripts, bombs."""

import io
import zlib
from collections.abc import Sequence
from pathlib import Path

import pypdf
import pypdfium2 as pdfium
import reportlab
from fpdf import FPDF
from pypdf.constants import PageLabelStyle
from pypdf.generic import (
    ArrayObject,
    BooleanObject,
    DictionaryObject,
    NameObject,
    NumberObject,
    RectangleObject,
    TextStringObject,
)

SENTENCES = (
    "The harbour office keeps a register of every vessel that enters the basin.",
    "Each entry names the master, the cargo and the berth that was assigned.",
    "Fees are due on the day of departure and are counted in whole days.",
    "A vessel that stays longer than thirty days pays a reduced rate from then on.",
)


def prose(pages: Sequence[str], *, header: str = "", footer: str = "") -> bytes:
    """One page for each text; ``footer`` may hold {number}. An empty text makes a page without any."""
    document = _document()
    for number, text in enumerate(pages, start=1):
        document.add_page()
        document.set_font("helvetica", size=11)
        if header:
            document.text(20, 12, header)
        if footer:
            document.text(100, 288, footer.format(number=number))
        document.set_xy(20, 30)
        if text:
            document.multi_cell(170, 6, text)
    return bytes(document.output())


def two_columns(left: str, right: str, *, title: str = "") -> bytes:
    """Two columns of prose, drawn line by line across the page, as some writers do."""
    document = _document()
    document.add_page()
    if title:
        document.set_font("helvetica", "B", size=18)
        document.text(20, 20, title)
    document.set_font("helvetica", size=10)
    columns = [_wrapped(document, text, 80) for text in (left, right)]
    for row in range(max(map(len, columns))):
        for x, lines in zip((20, 112), columns, strict=True):
            if row < len(lines):
                document.text(x, 32 + 5 * row, lines[row])
    return bytes(document.output())


def table(rows: Sequence[Sequence[str]], *, title: str = "", ruled: bool = False) -> bytes:
    """A table: the first column left, the others right-aligned; empty cells are not drawn."""
    document = _document()
    document.add_page()
    document.set_font("helvetica", "B", size=11)
    document.text(20, 25, title)
    for number, row in enumerate(rows):
        document.set_font("helvetica", "B" if number == 0 else "", size=10)
        for column, cell in enumerate(row):
            x = 20.0 if column == 0 else 95 + 32 * column - document.get_string_width(cell)
            if cell:
                document.text(x, 35 + 6 * number, cell)
            if ruled:
                document.rect(18 if column == 0 else 65 + 32 * column, 31 + 6 * number, 79 if column == 0 else 32, 6)
    return bytes(document.output())


def headed(sections: Sequence[tuple[str, str]]) -> bytes:
    """Headings in large type, each with a paragraph; no outline."""
    document = _document()
    document.add_page()
    for heading, text in sections:
        document.set_font("helvetica", "B", size=16)
        document.cell(0, 12, heading, new_x="LMARGIN", new_y="NEXT")
        document.set_font("helvetica", size=11)
        document.multi_cell(170, 6, text, new_x="LMARGIN", new_y="NEXT")
        document.ln(4)
    return bytes(document.output())


def with_outline(titles: Sequence[str]) -> bytes:
    """One page for each title, an outline that leads to them, and fields that name the author."""
    document = _document()
    document.set_title("Harbour Rules")
    document.set_author("Harbour Office")
    for title in titles:
        document.add_page()
        document.set_font("helvetica", size=11)
        document.start_section(title)
        document.multi_cell(170, 6, SENTENCES[0])
    return bytes(document.output())


def scanned(text: str, *, degrees: int = 0) -> bytes:
    """A page that is only a picture of the text, put on the glass so far turned counterclockwise."""
    page = pdfium.PdfDocument(prose([text]))[0]
    picture = page.render(scale=2).to_pil().rotate(degrees, expand=True)
    document = FPDF()
    document.add_page()
    document.image(picture, x=0, y=0, w=210)
    return bytes(document.output())


def turned(pdf: bytes, degrees: int) -> bytes:
    """The same pages with a /Rotate entry."""
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf))
    for page in writer.pages:
        page.rotate(degrees)
    return _written(writer)


def labelled(pdf: bytes, roman_pages: int) -> bytes:
    """The first pages labelled i, ii, …, the others from 1."""
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf))
    writer.set_page_label(0, roman_pages - 1, style=PageLabelStyle.LOWERCASE_ROMAN)
    writer.set_page_label(roman_pages, len(writer.pages) - 1, style=PageLabelStyle.DECIMAL)
    return _written(writer)


def locked(pdf: bytes, password: str, *, owner: str = "owner") -> bytes:
    """Encrypted with AES-256; an empty password makes a file that opens without one."""
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf))
    writer.encrypt(user_password=password, owner_password=owner, algorithm="AES-256")
    return _written(writer)


def with_attachment(pdf: bytes, name: str, content: bytes, *, portfolio: bool = False) -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf))
    writer.add_attachment(name, content)
    if portfolio:
        writer.root_object[pypdf.generic.NameObject("/Collection")] = pypdf.generic.DictionaryObject()
    return _written(writer)


_FONT = Path(reportlab.__file__).parent / "fonts" / "Vera.ttf"
_FIRST_LETTER = 36
"""The number of its glyph for "A"."""


def glyphs(lines: Sequence[tuple[float, float, str]], *, size: float = 12, down: bool = False) -> bytes:
    """Text of any script: each line is (x, y from below, characters from left to right as they are drawn).

    The font maps each glyph to its character, and that each is one em wide by half; it is not embedded. ``down``: the
    lines run downwards, and some font's glyphs are embedded, since pdfium leaves out what has no size then.
    """
    letters = sorted({letter for _, _, text in lines for letter in text})
    codes = {letter: number for number, letter in enumerate(letters, start=_FIRST_LETTER if down else 1)}
    mapping = "\n".join(f"<{codes[c]:04x}> <{c.encode('utf-16-be').hex()}>" for c in letters)
    to_unicode = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /T def /CMapType 2 def "
        f"1 begincodespacerange <0000> <ffff> endcodespacerange {len(letters)} beginbfchar\n{mapping}\n"
        "endbfchar endcmap end end"
    )
    drawn = "\n".join(
        f"BT /F1 {size} Tf {x} {y} Td <{''.join(f'{codes[c]:04x}' for c in text)}> Tj ET" for x, y, text in lines
    )
    return _assembled(
        drawn.encode(),
        b"<< /Font << /F1 5 0 R >> >>",
        {
            5: b"<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding /Identity-%s "
            b"/DescendantFonts [6 0 R] /ToUnicode 7 0 R >>" % (b"V" if down else b"H"),
            6: b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Any /DW 500 /FontDescriptor 8 0 R "
            b"/CIDToGIDMap /Identity /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
            7: _stream(to_unicode.encode()),
            8: b"<< /Type /FontDescriptor /FontName /Any /Flags 4 /Ascent 800 /Descent -200 /CapHeight 700 "
            b"/ItalicAngle 0 /StemV 80 /FontBBox [0 -200 1000 800] %s >>" % (b"/FontFile2 9 0 R" if down else b""),
            **({9: _stream(_FONT.read_bytes())} if down else {}),
        },
    )


def endless(levels: int = 9) -> bytes:
    """Two pages; the first draws a form that draws a form ten times, and so on: 10 to the power of ``levels``."""
    forms = {}
    for level in range(levels):
        inner = b"BT /F1 8 Tf 10 10 Td (x) Tj ET" if level == 0 else b"/X Do " * 10
        resources = b"/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
        below = b"" if level == 0 else b"/XObject << /X %d 0 R >>" % (4 + level)
        forms[5 + level] = _stream(
            inner, b"/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << %s %s >>" % (resources, below)
        )
    bomb = _assembled(b"/X Do", b"<< /XObject << /X %d 0 R >> >>" % (4 + levels), forms)
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(bomb))
    writer.append(io.BytesIO(prose([SENTENCES[0]])))
    return _written(writer)


def swelling(mebibytes: int) -> bytes:
    """A page with content that unpacks to the given number of MiB."""
    return _assembled(b"", b"<< >>", {}, content=_stream(b"q Q " * (mebibytes * 262_144)))


def _wrapped(document: FPDF, text: str, width: float) -> list[str]:
    lines = document.multi_cell(width, 5, text, dry_run=True, output="LINES")
    assert isinstance(lines, list)
    return lines


def _document() -> FPDF:
    document = FPDF()
    document.set_auto_page_break(False)
    return document


def _written(writer: pypdf.PdfWriter) -> bytes:
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def _stream(content: bytes, entries: bytes = b"") -> bytes:
    packed = zlib.compress(content)
    return b"<< %s /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (entries, len(packed), packed)


def _assembled(drawn: bytes, resources: bytes, more: dict[int, bytes], *, content: bytes | None = None) -> bytes:
    """A file of one page from its parts: objects 1 to 4 are catalogue, pages, page and content."""
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources %s >>" % resources,
        4: content or _stream(drawn),
        **more,
    }
    body, offsets = b"%PDF-1.7\n", {}
    for number, text in objects.items():
        offsets[number] = len(body)
        body += b"%d 0 obj\n%s\nendobj\n" % (number, text)
    table_ = b"".join(b"%010d 00000 n \n" % offsets[number] for number in sorted(offsets))
    size = len(objects) + 1
    return (
        body
        + b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table_)
        + (b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (size, len(body)))
    )


def filled_in(content: bytes, *, field: str) -> bytes:
    """The first page with a form field that holds a value."""
    writer = pypdf.PdfWriter(clone_from=pypdf.PdfReader(io.BytesIO(content)))
    widget = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Annot"),
            NameObject("/Subtype"): NameObject("/Widget"),
            NameObject("/FT"): NameObject("/Tx"),
            NameObject("/T"): TextStringObject("tenant"),
            NameObject("/V"): TextStringObject(field),
            NameObject("/DA"): TextStringObject("/Helv 11 Tf 0 g"),
            NameObject("/F"): NumberObject(4),
            NameObject("/Rect"): RectangleObject((60, 400, 400, 420)),
        }
    )
    added = writer._add_object(widget)
    writer.pages[0][NameObject("/Annots")] = ArrayObject([added])
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    helvetica = DictionaryObject({NameObject(key): NameObject(value) for key, value in font.items()})
    fonts = DictionaryObject({NameObject("/Helv"): helvetica})
    writer.root_object[NameObject("/AcroForm")] = DictionaryObject(
        {
            NameObject("/Fields"): ArrayObject([added]),
            NameObject("/NeedAppearances"): BooleanObject(True),
            NameObject("/DR"): DictionaryObject({NameObject("/Font"): fonts}),
        }
    )
    return _written(writer)
