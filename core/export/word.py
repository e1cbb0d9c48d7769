"""Answers as a Word document: each part of an answer has a footnote that cites and quotes what it rests on.

python-docx knows no footnotes yet; their part of the package (ECMA-376, 17.11) is made here.
"""

import io
import re
from collections.abc import Iterator
from itertools import groupby

import docx
from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import XmlPart
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.oxml.xmlchemy import BaseOxmlElement
from docx.shared import Mm, Pt
from docx.text.paragraph import Paragraph

from pincite.core.domain.answers import PartKind
from pincite.core.export.manifest import Exhibits, Manifest, PinCite, ToldAnswer, ToldPart
from pincite.core.export.styles import Note, References, fragments

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
ENDING, LABEL = ".docx", "Export for Word, with footnotes"
COPIED = (PartKind.HEADLINE, PartKind.VERBATIM)
_MARK, _TEXT = "Footnote Reference", "Footnote Text"
_SEPARATORS = f"""<w:footnotes {nsdecls("w")}>
  <w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:footnote>
  <w:footnote w:type="continuationSeparator" w:id="0"><w:p><w:r><w:continuationSeparator/></w:r></w:p></w:footnote>
</w:footnotes>"""


class _Footnotes:
    def __init__(self, document: Document) -> None:
        mark = document.styles.add_style(_MARK, WD_STYLE_TYPE.CHARACTER)
        mark.font.superscript = True
        self._text = document.styles.add_style(_TEXT, WD_STYLE_TYPE.PARAGRAPH)
        self._text.base_style = document.styles["Normal"]
        self._text.font.size = Pt(9)
        self._document, self._mark = document, mark
        package = document.part.package
        self._part = XmlPart(
            PackURI("/word/footnotes.xml"), CONTENT_TYPE.WML_FOOTNOTES, parse_xml(_SEPARATORS), package
        )
        document.part.relate_to(self._part, RELATIONSHIP_TYPE.FOOTNOTES)
        self.count = 0

    def add(self, paragraph: Paragraph, note: str) -> None:
        """Put a footnote at the paragraph's end."""
        self.count += 1
        paragraph.add_run(style=self._mark)._r.append(self._numbered("w:footnoteReference"))
        own = self._numbered("w:footnote")
        self._part.element.append(own)
        inside = Paragraph(OxmlElement("w:p"), self._document._body)
        own.append(inside._p)
        inside.style = self._text
        inside.add_run(style=self._mark)._r.append(OxmlElement("w:footnoteRef"))
        inside.add_run(" ")
        _write(inside, note)
        if not inside.text.endswith("."):
            inside.add_run(".")

    def _numbered(self, name: str) -> BaseOxmlElement:
        element = OxmlElement(name)
        element.set(qn("w:id"), str(self.count))
        return element


def write(manifest: Manifest, exhibits: Exhibits) -> bytes:
    """Return the answers as a Word document."""
    return as_word(manifest)


def as_word(manifest: Manifest) -> bytes:
    document = docx.Document()
    page = document.sections[0]
    page.page_width, page.page_height = Mm(210), Mm(297)
    document.core_properties.title = "Answers with their sources"
    document.core_properties.author = f"Pincite {manifest.made_with['pincite']}"
    document.add_heading("Answers with their sources", 1)
    footnotes, references = _Footnotes(document), References(list(_notes(manifest)), manifest.style)
    notes = iter(references.notes)
    for answer in manifest.answers:
        document.add_heading(_plain(" ".join(answer.question.split())), 2)
        paragraph = document.add_paragraph()
        for part in answer.parts:
            paragraph = _say(document, paragraph, part)
            if _places(answer, part):
                note = next(notes)
                if references.in_text:
                    paragraph.add_run(" ")
                    _write(paragraph, note)
                else:
                    footnotes.add(paragraph, note)
        document.add_paragraph().add_run(_plain(answer.finding)).italic = True
    if references.sources:
        document.add_heading("References", 2)
    for entry in references.sources:
        _write(document.add_paragraph(), entry)
    document.add_heading("Documents", 2)
    sources = {place.source for answer in manifest.answers for place in answer.citations}
    for source in sorted(sources, key=lambda each: each.name):
        document.add_paragraph(_plain(f"{source.name} (SHA-256 {source.sha256})"), style="List Bullet")
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def _say(document: Document, paragraph: Paragraph, part: ToldPart) -> Paragraph:
    """Add a part, what is copied in quotation marks; each of its lines is a paragraph. Returns the last one."""
    text = part.text
    if part.kind in COPIED:
        sentence = text.strip()
        text = text.replace(sentence, f"“{sentence}”") if sentence else text
    if part.formula:
        text += f"\n= {part.formula}"
    first, *rest = _plain(text).split("\n")
    paragraph.add_run(first)
    for line in rest:
        paragraph = document.add_paragraph(line) if paragraph.text.strip() else paragraph
        if not paragraph.text:
            paragraph.add_run(line)
    return paragraph


def _places(answer: ToldAnswer, part: ToldPart) -> list[list[PinCite]]:
    """What a part cites, the places of one page together; what is copied cites where it was copied from."""
    cited_here = [place for place in answer.citations if place.number in part.citations]
    own = [place for place in cited_here if part.kind in COPIED and place.quotation.split() == part.text.split()]
    return [list(group) for _, group in groupby(own or cited_here, lambda place: (place.number, place.page))]


def _notes(manifest: Manifest) -> Iterator[Note]:
    """Yield what each note cites: the places, and their words unless the answer itself quotes them."""
    for answer in manifest.answers:
        for part in answer.parts:
            if groups := _places(answer, part):
                shows = part.kind not in COPIED
                quoted = (", ".join(f"“{' '.join(one.quotation.split())}”" for one in group) for group in groups)
                yield [(group[0], words if shows else "") for group, words in zip(groups, quoted, strict=True)]


def _write(paragraph: Paragraph, citing: str) -> None:
    for fragment in fragments(citing):
        run = paragraph.add_run(_plain(fragment.text))
        run.italic, run.bold = fragment.italic or None, fragment.bold or None
        run.font.superscript, run.font.subscript = fragment.superscript or None, fragment.subscript or None
        run.font.small_caps = fragment.small_capitals or None


def _plain(text: str) -> str:
    """Without characters that XML does not know."""
    return _NO_XML.sub("", text)
