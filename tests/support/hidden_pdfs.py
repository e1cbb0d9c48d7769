"""PDFs that hide words from their reader, in every way that we know of, and honest ones that only look odd.

Every page is drawn in raw operators, in points from the lower left corner, so that nothing but the file decides.
"""

import io
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pypdfium2 as pdfium
from fpdf import FPDF
from pypdf import PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    NumberObject,
    RectangleObject,
    TextStringObject,
)

SUBJECTS = ("termination fee", "annual rent", "security deposit", "late charge", "liability cap")
PROSE = (
    "This agreement is made between the harbour office and the operator.",
    "Each party keeps its books for seven years after the end of the term.",
    "Notices are sent in writing to the address given on the first page.",
    "The operator insures the cranes against fire and storm at its own cost.",
    "Disputes are settled by the court at the seat of the harbour office.",
)
WIDTH, HEIGHT = 595.0, 842.0
LEFT = 60.0


@dataclass(frozen=True, slots=True)
class Made:
    """One generated file. ``text`` is its text, hidden or visible; ``shown``: what a reader sees instead."""

    kind: str
    content: bytes
    text: str
    question: str
    shown: str = ""


@dataclass(frozen=True, slots=True)
class _Case:
    chance: random.Random
    text: str
    shown: str
    question: str

    @property
    def y(self) -> float:
        return self.chance.choice((640.0, 560.0, 300.0))

    @property
    def size(self) -> float:
        return self.chance.choice((9.0, 10.0, 11.0, 12.0))


def attacks(number: int, seed: int = 1) -> Iterator[Made]:
    """Yield ``number`` files, the mechanisms in turn."""
    for at in range(number):
        kind, make = list(ATTACKS.items())[at % len(ATTACKS)]
        case = _case(random.Random(f"{seed} {at}"))
        yield Made(kind, make(case), case.text, case.question, case.shown)


def honest(number: int, seed: int = 1) -> Iterator[Made]:
    for at in range(number):
        kind, make = list(HONEST.items())[at % len(HONEST)]
        case = _case(random.Random(f"{seed} {at}"))
        yield Made(kind, make(case), case.text, case.question)


def changed_maps(number: int, seed: int = 1) -> Iterator[Made]:
    """Yield files with characters mapped to other ones than their shapes show."""
    for at in range(number):
        case = _case(random.Random(f"{seed} map {at}"))
        yield Made("changed character map", _changed_map(case), case.text, case.question, case.shown)


def _case(chance: random.Random) -> _Case:
    subject = chance.choice(SUBJECTS)
    digits = "".join(map(str, chance.sample(range(1, 10), 6)))  # no digit twice: a map gives each shape one meaning
    hidden, shown = digits[:3], digits[3:]
    sentence = f"The {subject} is EUR {{}},000 for each year of the term."
    return _Case(chance, sentence.format(hidden), sentence.format(shown), f"What is the {subject}?")


# ---------------------------------------------------------------- drawing


def _text(words: str, x: float, y: float, size: float, *, before: str = "0 g", font: str = "F1") -> str:
    escaped = words.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    return f"q BT /{font} {size} Tf {before} 1 0 0 1 {x} {y} Tm ({escaped}) Tj ET Q\n"


def _body(case: _Case) -> str:
    lines = case.chance.sample(PROSE, 4)
    return "".join(_text(line, LEFT, 780 - 18 * number, 11) for number, line in enumerate(lines))


def _page(
    content: str,
    *,
    picture: bytes | None = None,
    state: DictionaryObject | None = None,
    finish: Callable[[PdfWriter], None] | None = None,
    fonts: DictionaryObject | None = None,
) -> bytes:
    """A page of A4 with this content, Helvetica as /F1 and the picture as /Im."""
    writer = PdfWriter()
    page = writer.add_blank_page(WIDTH, HEIGHT)
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
            NameObject("/Encoding"): NameObject("/WinAnsiEncoding"),
        }
    )
    known = DictionaryObject({NameObject("/F1"): font})
    known.update(fonts or {})
    resources = DictionaryObject({NameObject("/Font"): known})
    if state is not None:
        resources[NameObject("/ExtGState")] = DictionaryObject({NameObject("/G"): state})
    if picture is not None:
        image = PdfReader(io.BytesIO(_as_pdf(picture))).pages[0]["/Resources"]["/XObject"]  # type: ignore[index]
        resources[NameObject("/XObject")] = DictionaryObject(
            {NameObject("/Im"): next(iter(image.values())).clone(writer)}
        )
    stream = DecodedStreamObject()
    stream.set_data(content.encode("cp1252"))
    page[NameObject("/Contents")] = writer._add_object(stream)
    page[NameObject("/Resources")] = resources
    if finish is not None:
        finish(writer)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def _as_pdf(picture: bytes) -> bytes:
    document = FPDF(unit="pt", format=(WIDTH, HEIGHT))
    document.add_page()
    document.image(io.BytesIO(picture), 0, 0, WIDTH, HEIGHT)
    return bytes(document.output())


def _scan_of(content: str, scale: float = 2.0) -> bytes:
    """The page as a grey picture."""
    with pdfium.PdfDocument(_page(content)) as document:
        out = io.BytesIO()
        document[0].render(scale=scale).to_pil().convert("L").save(out, "PNG")
    return out.getvalue()


_PICTURE = f"q {WIDTH} 0 0 {HEIGHT} 0 0 cm /Im Do Q\n"


def _state(**values: float) -> DictionaryObject:
    return DictionaryObject({NameObject(f"/{name}"): FloatObject(value) for name, value in values.items()})


# ---------------------------------------------------------------- hidden


def _simple(before: str) -> Callable[[_Case], bytes]:
    return lambda case: _page(_body(case) + _text(case.text, LEFT, case.y, case.size, before=before))


def _tiny(case: _Case) -> bytes:
    return _page(_body(case) + _text(case.text, LEFT, case.y, case.chance.choice((0.3, 0.5, 1.0))))


def _tiny_matrix(case: _Case) -> bytes:
    return _page(_body(case) + f"q .05 0 0 .05 {LEFT} {case.y} cm {_text(case.text, 0, 0, 10)} Q\n")


def _outside(case: _Case) -> bytes:
    x, y = case.chance.choice(((-400.0, 500.0), (700.0, 500.0), (LEFT, -40.0), (LEFT, 900.0)))
    return _page(_body(case) + _text(case.text, x, y, 11))


def _cropped(case: _Case) -> bytes:
    def crop(writer: PdfWriter) -> None:
        writer.pages[0].cropbox = RectangleObject((0, 200, WIDTH, HEIGHT))

    return _page(_body(case) + _text(case.text, LEFT, 120, 11), finish=crop)


def _boxed(color: str) -> Callable[[_Case], bytes]:
    def make(case: _Case) -> bytes:
        y = case.y
        return _page(f"{_body(case)}{_text(case.text, LEFT, y, 11)}q {color} {LEFT - 5} {y - 6} 420 22 re f Q\n")

    return make


def _pictured(case: _Case) -> bytes:
    picture = _scan_of("".join(_text(line, 20, 780 - 60 * row, 32) for row, line in enumerate(PROSE * 2)), 1.0)
    over = f"q 400 0 0 160 {LEFT - 5} {{}} cm /Im Do Q\n"
    y = case.y
    return _page(_body(case) + _text(case.text, LEFT, y, 11) + over.format(y - 80), picture=picture)


def _clipped(case: _Case) -> bytes:
    return _page(f"{_body(case)}q 0 0 3 3 re W n {_text(case.text, LEFT, case.y, case.size)} Q\n")


def _transparent(case: _Case) -> bytes:
    state = _state(ca=case.chance.choice((0.0, 0.02)), CA=0.0)
    return _page(f"{_body(case)}q /G gs {_text(case.text, LEFT, case.y, case.size)} Q\n", state=state)


def _on_ground(case: _Case) -> bytes:
    color = case.chance.choice(("0.2 0.4 0.7 rg", "0.9 0.9 0.8 rg", "0 0 0 rg"))
    y = case.y
    ground = f"q {color} {LEFT - 5} {y - 10} 440 40 re f Q\n"
    return _page(_body(case) + ground + _text(case.text, LEFT, y, case.size, before=color))


def _switched_off(case: _Case) -> bytes:
    def switch(writer: PdfWriter) -> None:
        layer = writer._add_object(
            DictionaryObject({NameObject("/Type"): NameObject("/OCG"), NameObject("/Name"): TextStringObject("Notes")})
        )
        default = DictionaryObject({NameObject("/OFF"): ArrayObject([layer])})
        writer.root_object[NameObject("/OCProperties")] = DictionaryObject(
            {NameObject("/OCGs"): ArrayObject([layer]), NameObject("/D"): default}
        )
        resources = writer.pages[0]["/Resources"]
        resources[NameObject("/Properties")] = DictionaryObject({NameObject("/L"): layer})  # type: ignore[index]

    hidden = f"/OC /L BDC {_text(case.text, LEFT, case.y, case.size)} EMC\n"
    return _page(_body(case) + hidden, finish=switch)


def _squeezed(case: _Case) -> bytes:
    return _page(_body(case) + _text(case.text, LEFT, case.y, 11, before="0 g 1 Tz"))


def _beneath_print(before: str) -> Callable[[_Case], bytes]:
    def make(case: _Case) -> bytes:
        y, other = case.y, case.chance.choice(PROSE)
        return _page(_body(case) + _text(case.text, LEFT, y, 11, before=before) + _text(other, LEFT, y, 11))

    return make


def _lying_layer(case: _Case) -> bytes:
    """Make a scan that shows one sum, under a layer of text with another."""
    picture = _scan_of(_text(case.shown, LEFT, 600, 12))
    return _page(_PICTURE + _text(case.text, LEFT, 600, 12, before="3 Tr"), picture=picture)


def _layer_on_nothing(case: _Case) -> bytes:
    picture = _scan_of(_body(case))
    return _page(_PICTURE + _text(case.text, LEFT, 400, 11, before="3 Tr"), picture=picture)


def _annotated(case: _Case) -> bytes:
    y = case.y

    def cover(writer: PdfWriter) -> None:
        stream = DecodedStreamObject()
        stream.set_data(b"1 1 1 rg 0 0 440 24 re f")
        stream.update(
            {
                NameObject("/Type"): NameObject("/XObject"),
                NameObject("/Subtype"): NameObject("/Form"),
                NameObject("/BBox"): ArrayObject(map(FloatObject, (0, 0, 440, 24))),
            }
        )
        form = writer._add_object(stream)
        annotation = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Annot"),
                NameObject("/Subtype"): NameObject("/Square"),
                NameObject("/F"): NumberObject(4),
                NameObject("/Rect"): ArrayObject(map(FloatObject, (LEFT - 5, y - 7, LEFT + 435, y + 17))),
                NameObject("/AP"): DictionaryObject({NameObject("/N"): form}),
            }
        )
        writer.pages[0][NameObject("/Annots")] = ArrayObject([writer._add_object(annotation)])

    return _page(_body(case) + _text(case.text, LEFT, y, 11), finish=cover)


def _blank_shapes(case: _Case) -> bytes:
    """Make a page with a font of empty shapes."""

    def empty(writer: PdfWriter) -> None:
        stream = DecodedStreamObject()
        stream.set_data(b"600 0 d0")
        shape = writer._add_object(stream)
        letters = sorted(set(case.text))
        names = [f"/g{ord(letter)}" for letter in letters]
        differences = ArrayObject()
        for letter, name in zip(letters, names, strict=True):
            differences += [NumberObject(ord(letter)), NameObject(name)]
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type3"),
                NameObject("/FontBBox"): ArrayObject(map(NumberObject, (0, 0, 750, 750))),
                NameObject("/FontMatrix"): ArrayObject(map(FloatObject, (0.001, 0, 0, 0.001, 0, 0))),
                NameObject("/FirstChar"): NumberObject(0),
                NameObject("/LastChar"): NumberObject(255),
                NameObject("/Widths"): ArrayObject([NumberObject(600)] * 256),
                NameObject("/CharProcs"): DictionaryObject({NameObject(name): shape for name in names}),
                NameObject("/Encoding"): DictionaryObject({NameObject("/Differences"): differences}),
                NameObject("/ToUnicode"): writer._add_object(_unicode_map({ord(letter): letter for letter in letters})),
            }
        )
        writer.pages[0]["/Resources"]["/Font"][NameObject("/F9")] = font  # type: ignore[index]

    return _page(_body(case) + _text(case.text, LEFT, case.y, 11, font="F9"), finish=empty)


def _unicode_map(letters: dict[int, str]) -> DecodedStreamObject:
    lines = "\n".join(f"<{code:02x}> <{ord(letter):04x}>" for code, letter in letters.items())
    stream = DecodedStreamObject()
    stream.set_data(
        f"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def\n"
        f"1 begincodespacerange <00> <ff> endcodespacerange\n{len(letters)} beginbfchar\n{lines}\nendbfchar\n"
        f"endcmap end end".encode()
    )
    return stream


def _changed_map(case: _Case) -> bytes:
    """Shapes show ``shown``; each digit is mapped to the one at the same position in ``text``."""
    own = {ord(shown): meant for shown, meant in zip(case.shown, case.text, strict=True) if shown.isdigit()}
    letters = {code: chr(code) for code in range(32, 127)} | own

    def change(writer: PdfWriter) -> None:
        font = DictionaryObject(writer.pages[0]["/Resources"]["/Font"]["/F1"])  # type: ignore[index]
        font[NameObject("/ToUnicode")] = writer._add_object(_unicode_map(letters))
        writer.pages[0]["/Resources"]["/Font"][NameObject("/F9")] = font  # type: ignore[index]

    return _page(_body(case) + _text(case.shown, LEFT, case.y, case.size, font="F9"), finish=change)


ATTACKS: dict[str, Callable[[_Case], bytes]] = {
    "white on white": _simple("1 g"),
    "nearly white": _simple("0.97 g"),
    "render mode 3": _simple("3 Tr"),
    "render mode 7": _simple("7 Tr"),
    "tiny": _tiny,
    "tiny by its matrix": _tiny_matrix,
    "outside the page": _outside,
    "outside the crop box": _cropped,
    "under a white box": _boxed("1 g"),
    "under a black bar": _boxed("0 g"),
    "under a picture": _pictured,
    "clipped away": _clipped,
    "transparent": _transparent,
    "in the colour of its ground": _on_ground,
    "on a layer switched off": _switched_off,
    "squeezed": _squeezed,
    "without ink beneath print": _beneath_print("3 Tr"),
    "white beneath print": _beneath_print("1 g"),
    "layer that lies": _lying_layer,
    "layer on nothing": _layer_on_nothing,
    "under an annotation": _annotated,
    "font of blank shapes": _blank_shapes,
    "changed character map": _changed_map,
}


# ---------------------------------------------------------------- honest


def _on_dark(case: _Case) -> bytes:
    dark = case.chance.choice(("0.1 0.2 0.4 rg", "0 g", "0.5 0 0 rg", "0 0.35 0.2 rg"))
    y = case.y
    ground = f"q {dark} {LEFT - 5} {y - 10} 440 40 re f Q\n"
    return _page(_body(case) + ground + _text(case.text, LEFT, y, case.size, before="1 g"))


def _on_tint(case: _Case) -> bytes:
    tint, ink = case.chance.choice((("1 0.9 0.6 rg", "0.5 0.1 0 rg"), ("0.8 0.9 1 rg", "0 0 0.5 rg"), ("0.9 g", "0 g")))
    y = case.y
    ground = f"q {tint} {LEFT - 5} {y - 10} 440 40 re f Q\n"
    return _page(_body(case) + ground + _text(case.text, LEFT, y, case.size, before=ink))


def _footnote(case: _Case) -> bytes:
    return _page(_body(case) + _text(case.text, LEFT, 60, case.chance.choice((4.0, 5.0, 6.0))))


def _scanned(case: _Case) -> bytes:
    drawn = _body(case) + _text(case.text, LEFT, case.chance.choice((600.0, 500.0)), 12)
    layer = drawn.replace("0 g", "3 Tr")
    return _page(_PICTURE + layer, picture=_scan_of(drawn))


def _layer_beneath(case: _Case) -> bytes:
    """As some scanners write it: the text first, the scan over it."""
    drawn = _body(case) + _text(case.text, LEFT, 600, 12)
    return _page(drawn + _PICTURE, picture=_scan_of(drawn))


def _turned(case: _Case) -> bytes:
    angle = case.chance.choice((90, 180, 270))
    return _page(_body(case) + _text(case.text, LEFT, case.y, case.size), finish=lambda writer: _turn(writer, angle))


def _turn(writer: PdfWriter, angle: int) -> None:
    writer.pages[0].rotate(angle)


def _sideways(case: _Case) -> bytes:
    return _page(f"{_body(case)}q 0 1 -1 0 300 150 cm {_text(case.text, 0, 0, 11)} Q\n")


def _over_picture(case: _Case) -> bytes:
    picture = _scan_of("q 0.75 g 0 0 600 900 re f Q " + _text("HARBOUR", 60, 500, 90, before="0.6 g"), 1.0)
    y = case.y
    over = f"q 480 0 0 120 {LEFT - 10} {y - 60} cm /Im Do Q\n"
    return _page(_body(case) + over + _text(case.text, LEFT, y, 11), picture=picture)


def _form_field(case: _Case) -> bytes:
    """A filled text field with an appearance of its own."""

    def fill(writer: PdfWriter) -> None:
        stream = DecodedStreamObject()
        stream.set_data(f"/Tx BMC q BT /F1 11 Tf 0 g 4 7 Td ({case.text}) Tj ET Q EMC".encode())
        fonts = writer.pages[0]["/Resources"]["/Font"]  # type: ignore[index]
        stream.update(
            {
                NameObject("/Type"): NameObject("/XObject"),
                NameObject("/Subtype"): NameObject("/Form"),
                NameObject("/BBox"): ArrayObject(map(FloatObject, (0, 0, 440, 24))),
                NameObject("/Resources"): DictionaryObject({NameObject("/Font"): fonts}),
            }
        )
        field = writer._add_object(
            DictionaryObject(
                {
                    NameObject("/Type"): NameObject("/Annot"),
                    NameObject("/Subtype"): NameObject("/Widget"),
                    NameObject("/FT"): NameObject("/Tx"),
                    NameObject("/T"): TextStringObject("field"),
                    NameObject("/V"): TextStringObject(case.text),
                    NameObject("/F"): NumberObject(4),
                    NameObject("/Rect"): ArrayObject(map(FloatObject, (LEFT, 500, LEFT + 440, 524))),
                    NameObject("/AP"): DictionaryObject({NameObject("/N"): writer._add_object(stream)}),
                }
            )
        )
        writer.pages[0][NameObject("/Annots")] = ArrayObject([field])
        writer.root_object[NameObject("/AcroForm")] = DictionaryObject({NameObject("/Fields"): ArrayObject([field])})

    return _page(_body(case), finish=fill)


def _ruled(case: _Case) -> bytes:
    """Underlined and struck at by rules that come later, in a shaded row."""
    y = case.y
    shade = f"q 0.93 g {LEFT - 5} {y - 5} 440 18 re f Q\n"
    rules = f"q 0.7 w {LEFT} {y - 2} m {LEFT + 300} {y - 2} l S Q q 0 g {LEFT} {y - 3} 300 0.6 re f Q\n"
    return _page(_body(case) + shade + _text(case.text, LEFT, y, 10) + rules)


def _outlined(case: _Case) -> bytes:
    return _page(_body(case) + _text(case.text, LEFT, case.y, 16, before="1 g 0 G 0.4 w 2 Tr"))


def _clipped_wide(case: _Case) -> bytes:
    return _page(f"{_body(case)}q 20 20 555 800 re W n {_text(case.text, LEFT, case.y, case.size)} Q\n")


def _half_strong(case: _Case) -> bytes:
    state = _state(ca=0.6, CA=0.6)
    return _page(f"{_body(case)}q /G gs {_text(case.text, LEFT, case.y, case.size)} Q\n", state=state)


def _twice(case: _Case) -> bytes:
    """Bold by drawing twice, a little aside."""
    y = case.y
    return _page(_body(case) + _text(case.text, LEFT, y, 11) + _text(case.text, LEFT + 0.3, y, 11))


HONEST: dict[str, Callable[[_Case], bytes]] = {
    "plain": _simple("0 g"),
    "light grey footer": _simple("0.7 g"),
    "coloured print": _simple("0.8 0.1 0.1 rg"),
    "white on dark": _on_dark,
    "print on a tint": _on_tint,
    "tiny footnote": _footnote,
    "scan under its layer": _scanned,
    "scan over its layer": _layer_beneath,
    "turned page": _turned,
    "sideways print": _sideways,
    "print over a picture": _over_picture,
    "form field": _form_field,
    "ruled and shaded": _ruled,
    "outlined print": _outlined,
    "clipped wide": _clipped_wide,
    "half transparent": _half_strong,
    "drawn twice": _twice,
}
