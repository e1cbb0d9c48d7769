"""Word files for tests, made with python-docx and, where it has no word for something, with Word's own elements."""

import io
from collections.abc import Callable

import docx
from docx.document import Document
from docx.enum.text import WD_BREAK
from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.text.paragraph import Paragraph

RENT = "The tenant pays a monthly rent of 1,240 euros on the first working day."
NOTICE = "Either party may end the lease with three months’ notice to the end of a quarter."
NUMBERS = """<w:abstractNum {0} w:abstractNumId="77"><w:multiLevelType w:val="multilevel"/>
  <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
  <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl>
  <w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="lowerRoman"/><w:lvlText w:val="(%3)"/></w:lvl>
</w:abstractNum>"""


def made(fill: Callable[[Document], object]) -> bytes:
    document = docx.Document()
    fill(document)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def lease(document: Document) -> None:
    """A short contract: title, headings, a table, and clauses on a second page."""
    document.core_properties.title = "Lease of a workshop"
    document.add_heading("Lease of a workshop", 0)
    document.add_heading("Rent", 1)
    document.add_paragraph(RENT)
    table = document.add_table(rows=0, cols=3)
    for row in (("Costs", "2024", "2025"), ("Heating", "310", "335"), ("Water", "120", "128")):
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    document.add_paragraph().add_run().add_break(WD_BREAK.PAGE)
    document.add_heading("Notice", 1)
    document.add_paragraph(NOTICE)


def numbered(document: Document, *clauses: tuple[int, str]) -> None:
    """Paragraphs with the level on which Word counts each: 1., 1.1, (i)."""
    numbering = document.part.numbering_part.element
    numbering.insert(0, parse_xml(NUMBERS.format(nsdecls("w"))))
    number = numbering.add_num(77)
    for level, text in clauses:
        properties = document.add_paragraph(text)._p.get_or_add_pPr().get_or_add_numPr()
        properties.get_or_add_ilvl().val, properties.get_or_add_numId().val = level, number.numId


def page_begins(paragraph: Paragraph) -> None:
    """As Word notes where its pages began when it last showed the file."""
    run = OxmlElement("w:r")
    run.append(OxmlElement("w:lastRenderedPageBreak"))
    paragraph._p.append(run)


def changed(paragraph: Paragraph, how: str, text: str, author: str = "", date: str = "") -> None:
    """A tracked change: "w:ins" or "w:del"."""
    change, run = OxmlElement(how), OxmlElement("w:r")
    words = OxmlElement("w:t" if how == "w:ins" else "w:delText")
    words.text = text
    words.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    run.append(words)
    for name, said in (("w:author", author), ("w:date", date)):
        if said:
            change.set(qn(name), said)
    change.append(run)
    paragraph._p.append(change)


def noted(document: Document, paragraph: Paragraph, text: str) -> None:
    """A footnote at the paragraph's end."""
    note = f'<w:footnote w:id="1"><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:footnote>'
    notes = f"<w:footnotes {nsdecls('w')}>{note}</w:footnotes>"
    place = PackURI("/word/footnotes.xml")
    part = Part(place, CONTENT_TYPE.WML_FOOTNOTES, notes.encode(), document.part.package)
    document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
    reference = OxmlElement("w:footnoteReference")
    reference.set(qn("w:id"), "1")
    paragraph.add_run()._r.append(reference)


def counted(document: Document, form: str, *, start: int = 0) -> None:
    """How the pages of the last section are numbered."""
    section = document.sections[-1]._sectPr
    for before in section.findall(qn("w:pgNumType")):
        section.remove(before)
    kind = OxmlElement("w:pgNumType")
    kind.set(qn("w:fmt"), form)
    if start:
        kind.set(qn("w:start"), str(start))
    section.append(kind)


def controlled(document: Document, label: str, text: str) -> None:
    """A row with its second cell inside a content control."""
    row = document.add_table(rows=1, cols=2).rows[0]
    row.cells[0].text, row.cells[1].text = label, text
    control, content, cell = OxmlElement("w:sdt"), OxmlElement("w:sdtContent"), row.cells[1]._tc
    row._tr.append(control)
    control.append(content)
    content.append(cell)


def fielded(paragraph: Paragraph, result: str) -> None:
    """A field with another one in its instruction, as mail merge writes it."""
    for kind, text in (("begin", ""), ("", "IF "), ("begin", ""), ("separate", ""), ("", "M"), ("end", ""),
                       ("", " = M"), ("separate", ""), ("", result), ("end", "")):  # fmt: skip
        run = paragraph.add_run(text)._r
        if kind:
            mark = OxmlElement("w:fldChar")
            mark.set(qn("w:fldCharType"), kind)
            run.append(mark)


def formula(paragraph: Paragraph) -> None:
    """One half, as a fraction."""
    parts = "".join(f"<m:{part}><m:r><m:t>{text}</m:t></m:r></m:{part}>" for part, text in (("num", "1"), ("den", "2")))
    paragraph._p.append(parse_xml(f"<m:oMath {nsdecls('m')}><m:f>{parts}</m:f></m:oMath>"))


def symbol(paragraph: Paragraph, font: str, code: str) -> None:
    mark = OxmlElement("w:sym")
    mark.set(qn("w:font"), font)
    mark.set(qn("w:char"), code)
    paragraph.add_run()._r.append(mark)
