"""Word's numbers restart where the file requires it: after a higher number, after that of one level alone, or never."""

import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from pincite.core.documents.formats.word.numbering import Numbering

LIST = """<w:numbering {0}><w:abstractNum w:abstractNumId="1">
  <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="upperRoman"/><w:lvlText w:val="Article %1"/></w:lvl>
  <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="upperLetter"/><w:lvlText w:val="%2"/></w:lvl>
  <w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="decimal"/>{1}<w:lvlText w:val="§ %3"/></w:lvl>
</w:abstractNum><w:num w:numId="5"><w:abstractNumId w:val="1"/></w:num></w:numbering>"""


@pytest.mark.parametrize(
    ("restart", "third"),
    [
        ("", ["§ 1", "§ 2", "§ 1", "§ 1"]),
        ('<w:lvlRestart w:val="0"/>', ["§ 1", "§ 2", "§ 3", "§ 4"]),
        ('<w:lvlRestart w:val="1"/>', ["§ 1", "§ 2", "§ 3", "§ 1"]),
        ('<w:lvlRestart w:val="9"/>', ["§ 1", "§ 2", "§ 1", "§ 1"]),
    ],
)
def test_numbering_level_restarts_where_the_file_specifies(restart: str, third: list[str]) -> None:
    numbering = Numbering(parse_xml(LIST.format(nsdecls("w"), restart)))
    labels = [numbering.label("5", level) for level in (0, 1, 2, 2, 1, 2, 0, 1, 2)]
    assert [label for label in labels if label.startswith("§")] == third
    assert [label for label in labels if not label.startswith("§")] == ["Article I", "A", "B", "Article II", "A"]
