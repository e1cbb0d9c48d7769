"""PowerPoint presentations (.pptx): one page for each slide, labelled with its number, with its notes."""

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.core.documents.formats.content import Cell, Content, Item, Layout, PageStart, Paragraph, Run, Table
from pincite.core.documents.formats.contrast import DRAWING, MIN_POINTS, Color, reason_by_color, rgb, theme_colors
from pincite.core.documents.formats.numerals import BULLET, numeral
from pincite.core.domain.documents import HiddenReason

if TYPE_CHECKING:
    from pptx.presentation import Presentation
    from pptx.shapes.base import BaseShape
    from pptx.slide import Slide

KIND = "a PowerPoint presentation (.pptx)"
ENDINGS = (".pptx",)
_PRESENTATION = "ppt/presentation.xml"
_LAYOUT = Layout(842.0, 595.0, 40.0, 40.0, 40.0, 40.0, 12.0)
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_MIN_ALPHA = 10_000
"""Of 100,000."""
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"


def is_one(path: Path, name: str) -> bool:
    try:
        with zipfile.ZipFile(path) as package:
            return _PRESENTATION in package.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


def save_as_pdf(path: Path, target: Path) -> None:
    import pptx

    from pincite.core.documents.formats.typeset import typeset

    presentation = pptx.Presentation(str(path))
    typeset(_Reading(presentation).content(), path.name, target)


class _Reading:
    def __init__(self, presentation: "Presentation") -> None:
        self._presentation = presentation
        self._lacks = dict[str, None]()
        self._size = (int(presentation.slide_width or 0), int(presentation.slide_height or 0))

    def content(self) -> Content:
        items = list[Item]()
        for number, slide in enumerate(self._presentation.slides, 1):
            items += [PageStart(str(number))] if number > 1 else []
            items += self._slide(slide)
        stated = self._presentation.core_properties
        kind = "a presentation"
        return Content(
            kind, tuple(items), "1", tuple(self._lacks), stated.title, stated.author, stated.created, _LAYOUT
        )

    def _slide(self, slide: "Slide") -> Iterator[Item]:
        reason = HiddenReason.SWITCHED if slide._element.get("show") == "0" else None
        self._colors = _Colors(slide)
        title = slide.shapes.title
        self._shapes = list(slide.shapes)
        if next(slide._element.iter(f"{_MC}AlternateContent"), None) is not None:
            self._lacks["shapes of newer versions"] = None
        found = [
            item for shape in _in_order(slide.shapes, title) for item in self._shape(shape, shape == title, reason)
        ]
        if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None and frame.text.strip():
            found += [Paragraph((Run(f"Notes: {frame.text.strip()}", hidden=reason),), note=True)]
        yield from found or [Paragraph((Run(" "),))]

    def _shape(
        self, shape: "BaseShape", is_title: bool, reason: HiddenReason | None, *, within: bool = False
    ) -> Iterator[Item]:
        """``within``: it is in a group; shapes in groups have coordinates of their own."""
        from pptx.enum.shapes import MSO_SHAPE_TYPE

        properties = next(shape._element.iter("{*}cNvPr"), None)
        if properties is not None and properties.get("hidden") in ("1", "true"):
            reason = reason or HiddenReason.SWITCHED
        elif not within and self._is_outside(shape):
            reason = reason or HiddenReason.OUTSIDE
        if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
            for inner in shape.shapes:  # type: ignore[attr-defined]
                yield from self._shape(inner, False, reason, within=True)
        elif getattr(shape, "has_table", False):
            rows = shape.table.rows  # type: ignore[attr-defined]
            made = tuple(tuple(self._cells(row.cells, reason)) for row in rows)
            yield Table(made, bool(shape.table.first_row) and len(made) > 1)  # type: ignore[attr-defined]
        elif getattr(shape, "has_chart", False):
            yield from self._chart(shape.chart, reason)  # type: ignore[attr-defined]
        elif shape.has_text_frame:
            ground = self._ground_of(shape, within)
            yield from self._paragraphs(shape.text_frame.paragraphs, is_title, reason, ground)  # type: ignore[attr-defined]
        elif shape.shape_type in (MSO_SHAPE_TYPE.PICTURE, MSO_SHAPE_TYPE.LINKED_PICTURE):
            self._lacks["pictures"] = None
        elif shape.shape_type == MSO_SHAPE_TYPE.MEDIA:
            self._lacks["videos"] = None
        elif next(shape._element.iter(f"{DRAWING}graphicData"), None) is not None:
            self._lacks["diagrams"] = None

    def _chart(self, chart: Any, reason: HiddenReason | None) -> Iterator[Item]:
        """Yield the numbers that a chart draws, as a table; how it draws them is not read."""
        self._lacks["how charts are drawn"] = None
        if chart.has_title and chart.chart_title.has_text_frame and chart.chart_title.text_frame.text.strip():
            yield Paragraph((Run(chart.chart_title.text_frame.text.strip(), bold=True, hidden=reason),))
        for plot in chart.plots:
            series = list(plot.series)
            categories = [str(one) for one in plot.categories]
            if not categories or not series:
                self._lacks["charts"] = None
                continue
            head = ("", *(str(one.name) for one in series))
            values = [["" if value is None else f"{value:.15g}" for value in one.values] for one in series]
            lines = [head] + [
                (name, *(column[at] if at < len(column) else "" for column in values))
                for at, name in enumerate(categories)
            ]
            yield Table(
                tuple(tuple(Cell((Paragraph((Run(text, hidden=reason),)),)) for text in line) for line in lines),
                heads=True,
            )

    def _ground_of(self, shape: "BaseShape", within: bool) -> Color | None:
        """Return the colour behind a shape's letters; None where another shape, or a style, may fill it."""
        filled = shape._element.find(f"{_P}style/{DRAWING}fillRef")
        is_styled = filled is not None and filled.get("idx") != "0"
        unknown = within or is_styled or any(_overlap(shape, other) for other in self._before(shape))
        return self._colors.ground_of(shape._element.find(f"{_P}spPr"), None if unknown else self._colors.page)

    def _before(self, shape: "BaseShape") -> Iterator["BaseShape"]:
        """Yield the shapes that are drawn before one."""
        for other in self._shapes:
            if other.shape_id == shape.shape_id:
                return
            yield other

    def _is_outside(self, shape: "BaseShape") -> bool:
        """Return whether a shape is outside its slide."""
        if shape.left is None or shape.top is None or shape.width is None or shape.height is None:
            return False
        width, height = self._size
        return bool(shape.left >= width or shape.top >= height or shape.left + shape.width <= 0
                    or shape.top + shape.height <= 0)  # fmt: skip

    def _paragraphs(
        self, paragraphs: Iterable[Any], is_title: bool, reason: HiddenReason | None, ground: Color | None
    ) -> Iterator[Paragraph]:
        counts = dict[int, int]()
        for paragraph in paragraphs:
            runs = tuple(self._runs(paragraph, reason, ground))
            if not any(run.text.strip() for run in runs):
                continue
            properties, level = paragraph._p.find(f"{DRAWING}pPr"), paragraph.level
            kinds = {str(one.tag) for one in properties} if properties is not None else set[str]()
            bulleted = (f"{DRAWING}buChar" in kinds or level) and f"{DRAWING}buNone" not in kinds
            label = BULLET if bulleted and not is_title else ""
            numbered = properties.find(f"{DRAWING}buAutoNum") if properties is not None else None
            if numbered is not None:
                counts[level] = counts.get(level, int(numbered.get("startAt") or 1) - 1) + 1
                label = _numbered(counts[level], str(numbered.get("type")))
            for other in [one for one in counts if one > level or (one == level and numbered is None)]:
                del counts[other]
            yield Paragraph(runs, int(is_title), label, level)

    def _runs(self, paragraph: Any, reason: HiddenReason | None, ground: Color | None) -> Iterator[Run]:
        """Yield the words of a paragraph, with fields (dates, numbers of slides) and line breaks."""
        for element in paragraph._p:
            if element.tag == f"{DRAWING}br":
                yield Run("\n")
            elif element.tag in (f"{DRAWING}r", f"{DRAWING}fld"):
                text = element.findtext(f"{DRAWING}t") or ""
                look = element.find(f"{DRAWING}rPr")
                size = int(look.get("sz") or 1200) / 100 if look is not None else 12.0
                on = {name: look is not None and look.get(name) in ("1", "true") for name in ("b", "i")}
                struck = look is not None and look.get("strike") in ("sngStrike", "dblStrike")
                why = reason or (HiddenReason.STRUCK if struck else HiddenReason.SMALL if size < MIN_POINTS else None)
                why = why or (self._colors.reason(look, ground) if look is not None else None)
                raised = look is not None and int(look.get("baseline") or 0) > 0
                yield Run(text, on["b"], on["i"], raised, why)

    def _cells(self, cells: Iterable[Any], reason: HiddenReason | None) -> Iterator[Cell]:
        for cell in cells:
            if cell.is_spanned and not int(cell._tc.get("vMerge") in ("1", "true")):
                continue  # it is one with the cell to its left
            paragraphs: tuple[Paragraph, ...] = ()
            if not cell.is_spanned:
                ground = self._colors.ground_of(cell._tc.find(f"{DRAWING}tcPr"), otherwise=None)
                paragraphs = tuple(self._paragraphs(cell.text_frame.paragraphs, False, reason, ground))
            yield Cell(paragraphs, cell.span_width if cell.is_merge_origin else 1, goes_on=cell.is_spanned)


class _Colors:
    """The colours of one slide, with those of its theme resolved."""

    def __init__(self, slide: "Slide") -> None:
        from lxml import etree
        from pptx.opc.constants import RELATIONSHIP_TYPE

        master = slide.slide_layout.slide_master
        theme = etree.fromstring(master.part.part_related_by(RELATIONSHIP_TYPE.THEME).blob)
        named, mapped = dict(theme_colors(theme)), master._element.find(f"{_P}clrMap")
        self._named = named | {key: named[to] for key, to in (mapped.attrib if mapped is not None else {}).items()
                               if to in named}  # fmt: skip
        self._page: Color | None = None
        for part in (slide, slide.slide_layout, master):
            if (background := part._element.find(f"{_P}cSld/{_P}bg")) is not None:
                filled = background.find(f"{_P}bgPr")
                fill = filled.find(f"{DRAWING}solidFill") if filled is not None else background.find(f"{_P}bgRef")
                self._page = self._color(fill)
                break

    def ground_of(self, properties: Any, otherwise: Color | None) -> Color | None:
        """Return the colour behind the letters of a shape or a cell; ``otherwise``: where it has no fill of its own."""
        if properties is None:
            return otherwise
        if (solid := properties.find(f"{DRAWING}solidFill")) is not None:
            return self._color(solid)
        fills = ("gradFill", "blipFill", "pattFill", "grpFill")
        return None if any(properties.find(f"{DRAWING}{fill}") is not None for fill in fills) else otherwise

    @property
    def page(self) -> Color | None:
        return self._page

    def reason(self, look: Any, ground: Color | None) -> HiddenReason | None:
        """Return why letters are not seen, by how they are filled; ``look``: a:rPr."""
        if look.find(f"{DRAWING}noFill") is not None:
            return HiddenReason.INVISIBLE
        solid = look.find(f"{DRAWING}solidFill")
        alpha = next(solid.iter(f"{DRAWING}alpha"), None) if solid is not None else None
        if alpha is not None and int(alpha.get("val") or 100_000) < _MIN_ALPHA:
            return HiddenReason.TRANSPARENT
        marked = look.find(f"{DRAWING}highlight")
        return reason_by_color(self._color(solid), self._color(marked) if marked is not None else ground)

    def _color(self, fill: Any) -> Color | None:
        """Return a plain colour, of the file's own or of its theme; None of one that is changed in a further step."""
        if fill is None or len(fill) != 1 or (len(fill[0]) and fill[0][0].tag != f"{DRAWING}alpha"):
            return None
        value = str(fill[0].get("val") or "")
        return rgb(value) if fill[0].tag == f"{DRAWING}srgbClr" else self._named.get(value)


def _numbered(count: int, kind: str) -> str:
    """Return a number as PowerPoint writes it: arabicPeriod, alphaLcParenR, romanUcParenBoth, …"""
    forms = {"alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman"}
    text = numeral(count, next((form for name, form in forms.items() if kind.startswith(name)), "decimal"))
    if kind.endswith("ParenBoth"):
        return f"({text})"
    return f"{text})" if kind.endswith("ParenR") else f"{text}."


def _overlap(one: "BaseShape", other: "BaseShape") -> bool:
    """Return whether two shapes may share a place; one without a place of its own is where its layout has it."""
    if other.is_placeholder and other.has_text_frame:
        return False
    sides = [(int(shape.left or 0), int(shape.top or 0), int(shape.width or 0), int(shape.height or 0))
             for shape in (one, other)]  # fmt: skip
    (left, top, width, height), (at, over, wide, high) = sides
    return left < at + wide and at < left + width and top < over + high and over < top + height


def _in_order(shapes: Iterable["BaseShape"], title: "BaseShape | None") -> list["BaseShape"]:
    """Return the title, then the others from top to bottom; those without a place of their own as the file has them."""

    def place(shape: "BaseShape") -> tuple[bool, int, int]:
        return shape != title, int(shape.top or 0), int(shape.left or 0)

    return sorted(shapes, key=place)
