"""What of a Word file is not read: named, so that nothing is denied over it as if all had been seen."""

from collections.abc import Iterator

from docx.document import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import qn

_KINDS = {"diagram": "diagrams", "chart": "charts", "chartex": "charts", "picture": "pictures"}
"""By the end of the address of what a drawing holds."""
_ELEMENTS = {
    qn("w:altChunk"): "inserted files", qn("w:subDoc"): "inserted files", qn("w:contentPart"): "ink",
    "{urn:schemas-microsoft-com:vml}imagedata": "pictures",
    "{urn:schemas-microsoft-com:office:office}OLEObject": "embedded objects",
}  # fmt: skip
_A_DATA = "{http://schemas.openxmlformats.org/drawingml/2006/main}graphicData"


def lacking(document: Document) -> tuple[str, ...]:
    """Of the file's text and pictures, the kinds that are not read, in words."""
    return tuple(dict.fromkeys(_lacking(document)))


def _lacking(document: Document) -> Iterator[str]:
    for element in document.element.iter():
        if element.tag == _A_DATA:
            address = str(element.get("uri")).rstrip("/").rpartition("/")[2]
            if address in _KINDS:
                yield _KINDS[address]
        elif element.tag == qn("w:delText") and (element.text or "").strip():
            yield "proposed deletions"
        elif element.tag in _ELEMENTS:
            yield _ELEMENTS[element.tag]
    headers = (RELATIONSHIP_TYPE.HEADER, RELATIONSHIP_TYPE.FOOTER)
    for relation in document.part.rels.values():
        if relation.reltype in headers and not relation.is_external and _holds_picture(relation.target_part):
            yield "pictures"


def _holds_picture(part: Part) -> bool:
    return next(parse_xml(part.blob).iter(_A_DATA), None) is not None
