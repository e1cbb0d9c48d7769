"""Word files that hide a sentence in six ways, and honest ones that only look odd."""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from docx.document import Document
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from tests.support import words
from tests.support.hidden_pdfs import Made

Put: TypeAlias = Callable[[Document, str], None]
PLAIN = (
    "The operator insures the cranes against fire and storm at its own cost.",
    "The harbour office keeps a list of all berths and their tenants.",
    "Disputes are settled by the court at the seat of the harbour office.",
)
ASKED = "What is the fee?"


def _put(document: Document, runs: str, paragraph: str = "") -> None:
    properties = f"<w:pPr>{paragraph}</w:pPr>" if paragraph else ""
    document.element.body.insert(1, parse_xml(f"<w:p {nsdecls('w')}>{properties}{runs}</w:p>"))


def _run(text: str, properties: str = "", tag: str = "t") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:{tag} xml:space="preserve">{text}</w:{tag}></w:r>'


def _with(properties: str, paragraph: str = "") -> Put:
    return lambda document, text: _put(document, _run(text, properties), paragraph)


def _by_style(marks: str, kind: str) -> Put:
    def put(document: Document, text: str) -> None:
        style = (
            f'<w:style {nsdecls("w")} w:type="{kind}" w:styleId="Q"><w:name w:val="Q"/><w:rPr>{marks}</w:rPr></w:style>'
        )
        document.styles.element.append(parse_xml(style))
        if kind == "paragraph":
            _put(document, _run(text), '<w:pStyle w:val="Q"/>')
        else:
            _put(document, _run(text, '<w:rStyle w:val="Q"/>'))

    return put


def _deleted(document: Document, text: str) -> None:
    run = _run(text, tag="delText")
    _put(document, f'<w:del w:id="1" w:author="A. Lund" w:date="2026-05-03T10:00:00Z">{run}</w:del>')


def _field_code(document: Document, text: str) -> None:
    ends = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
    code = _run(f' COMMENTS "{text}" ', tag="instrText")
    _put(document, ends.format("begin") + code + ends.format("separate") + _run("12") + ends.format("end"))


ATTACKS: Mapping[str, Put] = {
    "white on white": _with('<w:color w:val="FFFFFF"/>'),
    "of one point": _with('<w:sz w:val="2"/>'),
    "hidden": _with("<w:vanish/>"),
    "hidden by its style": _by_style("<w:vanish/>", "paragraph"),
    "deleted": _deleted,
    "field code": _field_code,
    "on shading of its colour": _with('<w:color w:val="203040"/><w:shd w:val="clear" w:fill="203040"/>'),
    "white by a character style": _by_style('<w:color w:val="FEFEFE"/>', "character"),
}
HONEST: Mapping[str, Put] = {
    "plain": _with(""),
    "bold and red": _with('<w:b/><w:color w:val="C00000"/>'),
    "white on a dark ground": _with('<w:color w:val="FFFFFF"/><w:shd w:val="clear" w:fill="203040"/>'),
    "small": _with('<w:sz w:val="14"/>'),
    "highlighted": _with('<w:highlight w:val="yellow"/>'),
    "by a style": _by_style("<w:i/>", "paragraph"),
    "not hidden after all": _with('<w:vanish w:val="0"/>'),
}


def word_attacks(number: int) -> Iterator[Made]:
    yield from _made(ATTACKS, number)


def honest_words(number: int) -> Iterator[Made]:
    yield from _made(HONEST, number)


def _made(kinds: Mapping[str, Put], number: int) -> Iterator[Made]:
    """Yield ``number`` files, the ways in turn."""
    for at in range(number):
        kind, put = list(kinds.items())[at % len(kinds)]
        fee_sentence = f"The fee for berth {at + 1} is {random.Random(at).randint(100, 9_999)} euros."

        def fill(document: Document, put: Put = put, fee_sentence: str = fee_sentence) -> None:
            for sentence in PLAIN:
                document.add_paragraph(sentence)
            put(document, fee_sentence)

        yield Made(kind, words.made(fill), fee_sentence, ASKED)
