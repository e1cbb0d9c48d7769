"""Whether a reader of a Word file sees a run, by the file's own properties with its styles resolved (ECMA-376, 17.7).

The limits are those of PDFs. What Word decides only when it draws (pictures behind text, shapes over it) is unknown.
"""

import colorsys
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from docx.oxml.ns import qn
from docx.oxml.xmlchemy import BaseOxmlElement

from pincite.core.documents.formats.contrast import DRAWING, MIN_POINTS, Color, reason_by_color, rgb, theme_colors
from pincite.core.documents.formats.word.numbering import value
from pincite.core.domain.documents import HiddenReason

Styles: TypeAlias = Mapping[str, BaseOxmlElement]
Properties: TypeAlias = Sequence[BaseOxmlElement]
"""Elements like w:rPr, the one that counts most first."""

_MIN_WIDTH = 16
"""Percent of a letter's width: the 0.08 of the em of PDFs, letters being half an em wide."""
_PAPER: Color = (255, 255, 255)
_MAX_DEPTH = 20
_W14 = "{http://schemas.microsoft.com/office/word/2010/wordml}"
_WPS = "{http://schemas.microsoft.com/office/word/2010/wordprocessingShape}"
_HIGHLIGHTS = {
    "black": "000000", "blue": "0000FF", "cyan": "00FFFF", "green": "00FF00", "magenta": "FF00FF", "red": "FF0000",
    "yellow": "FFFF00", "white": "FFFFFF", "darkBlue": "000080", "darkCyan": "008080", "darkGreen": "008000",
    "darkMagenta": "800080", "darkRed": "800000", "darkYellow": "808000", "darkGray": "808080", "lightGray": "C0C0C0",
}  # fmt: skip
_THEME = {
    "text1": "dk1", "dark1": "dk1", "background1": "lt1", "light1": "lt1", "text2": "dk2", "dark2": "dk2",
    "background2": "lt2", "light2": "lt2", "hyperlink": "hlink", "followedHyperlink": "folHlink",
}  # fmt: skip
_MAPPED = {"text1": "t1", "background1": "bg1", "text2": "t2", "background2": "bg2"}
_EDGES = ("firstRow", "lastRow", "firstColumn", "lastColumn")


@dataclass(frozen=True, slots=True)
class Ground:
    """Surroundings of paragraphs. ``color`` None: not known, so that no colour is called hidden on it."""

    color: Color | None = _PAPER
    properties: tuple[BaseOxmlElement, ...] = ()
    """w:rPr of the table's style."""
    reason: HiddenReason | None = None
    """Why nothing in it is seen: its row is."""


class Visibility:
    """The styles, the theme and the settings of one file."""

    def __init__(
        self,
        styles: Styles,
        defaults: BaseOxmlElement | None,
        theme: BaseOxmlElement | None,
        settings: BaseOxmlElement | None,
        background: BaseOxmlElement | None,
    ) -> None:
        """``defaults``: w:docDefaults; ``background``: of the document, which Word shows only if set to."""
        self._styles = styles
        path = f"{qn('w:rPrDefault')}/{qn('w:rPr')}"
        self._defaults = [found] if defaults is not None and (found := defaults.find(path)) is not None else []
        self._default_of = {
            value(style, "w:type"): name for name, style in styles.items() if value(style, "w:default") in ("1", "true")
        }
        self._theme = dict(theme_colors(theme)) if theme is not None else {}
        mapping = settings.find(qn("w:clrSchemeMapping")) if settings is not None else None
        self._mapping = {
            name: _THEME.get(told, told) for name, short in _MAPPED.items()
            if mapping is not None and (told := value(mapping, f"w:{short}"))
        }  # fmt: skip
        shown = settings is not None and _on([settings], "w:displayBackgroundShape")
        self.page = Ground((self._color(background, "w:color", "w:theme") if shown and background is not None else None)
                           or _PAPER)  # fmt: skip

    def reason(self, run: BaseOxmlElement, paragraph: BaseOxmlElement | None, ground: Ground) -> HiddenReason | None:
        """Why the run (w:r or m:r) is not seen; ``paragraph``: its w:pPr."""
        own = run.find(qn("w:rPr"))
        direct = [own] if own is not None else []
        named = _named(own, "w:rStyle") or self._default_of.get("character", "")
        characters = list(self._of_style(named, "w:rPr"))
        lettered = list(self._of_style(self._paragraph_style(paragraph), "w:rPr"))
        levels = (characters, lettered, ground.properties)
        every = [*direct, *characters, *lettered, *ground.properties, *self._defaults]
        if ground.reason or self._vanishes(direct, levels) or _on(every, "w:specVanish"):
            return ground.reason or HiddenReason.INVISIBLE
        lines = [paragraph] if paragraph is not None else []
        lines += self._of_style(self._paragraph_style(paragraph), "w:pPr")
        if _is_small(every) or _is_squeezed(lines):
            return HiddenReason.SMALL
        return self._by_color(every, lines, ground)

    def ground_of_cell(
        self,
        table: BaseOxmlElement,
        row: BaseOxmlElement,
        cell: BaseOxmlElement,
        around: Ground,
        place: tuple[int, int, bool, bool],
    ) -> Ground:
        """``place``: the row's and the cell's number, and whether they are the last."""
        properties = table.find(qn("w:tblPr"))
        chosen = list(self._parts_of_table(properties, place))
        shades = [cell.find(qn("w:tcPr")), *(part.find(qn("w:tcPr")) for part in chosen), properties,
                  *(part.find(qn("w:tblPr")) for part in chosen)]  # fmt: skip
        color = self._shade([one for one in shades if one is not None], around.color)
        letters = tuple(found for part in chosen if (found := part.find(qn("w:rPr"))) is not None)
        of_row = row.find(qn("w:trPr"))
        return Ground(color, (*letters, *around.properties), around.reason or _row_reason(of_row))

    def ground_of_box(self, box: BaseOxmlElement, around: Ground) -> Ground:
        """Of a text box (w:txbxContent), by the fill of the shape that holds it."""
        for shape in box.iterancestors():
            name = str(shape.tag).rpartition("}")[2]
            if name == "wsp":
                return replace(around, color=self._fill_of_shape(shape, around))
            if name in ("shape", "rect", "roundrect", "oval") and "vml" in str(shape.tag):
                fill = str(shape.get("fillcolor") or "").lstrip("#").partition(" ")[0]
                filled = shape.get("filled") not in ("f", "false") and bool(fill)
                known = rgb(fill) or rgb(_HIGHLIGHTS.get(fill, ""))
                return replace(around, color=known if filled else around.color)
            if name in ("group", "wgp", "p"):
                break
        return replace(around, color=None)

    def _fill_of_shape(self, shape: BaseOxmlElement, around: Ground) -> Color | None:
        look, style = shape.find(f"{_WPS}spPr"), shape.find(f"{_WPS}style/{DRAWING}fillRef")
        if look is not None and (solid := look.find(f"{DRAWING}solidFill")) is not None:
            return self._drawn(solid)
        if look is not None and any(
            look.find(f"{DRAWING}{kind}") is not None for kind in ("gradFill", "blipFill", "pattFill")
        ):
            return None
        bare = look is not None and look.find(f"{DRAWING}noFill") is not None
        grouped = any(str(one.tag).endswith("}wgp") for one in shape.iterancestors())
        return around.color if not grouped and (bare or style is None or style.get("idx") == "0") else None

    # ------------------------------------------------------------ styles

    def _paragraph_style(self, paragraph: BaseOxmlElement | None) -> str:
        return _named(paragraph, "w:pStyle") or self._default_of.get("paragraph", "")

    def _of_style(self, name: str, part: str) -> Iterator[BaseOxmlElement]:
        for _ in range(_MAX_DEPTH):
            style = self._styles.get(name)
            if style is None:
                return
            if (found := style.find(qn(part))) is not None:
                yield found
            name = _named(style, "w:basedOn")

    def _vanishes(self, direct: Properties, levels: Sequence[Properties]) -> bool:
        """Return whether a run vanishes: its own property counts; styles of several kinds undo each other (17.7.3)."""
        direct_value = _flag(direct, "w:vanish")
        if direct_value is not None:
            return direct_value
        return bool(_flag(self._defaults, "w:vanish")) or sum(bool(_flag(one, "w:vanish")) for one in levels) % 2 == 1

    def _parts_of_table(
        self, properties: BaseOxmlElement | None, place: tuple[int, int, bool, bool]
    ) -> Iterator[BaseOxmlElement]:
        """What of the table's style is in force at a cell, what counts most first."""
        row, column, last_row, last_column = place
        look = properties.find(qn("w:tblLook")) if properties is not None else None
        bits = int(value(look) or "0", 16) if look is not None and re.fullmatch(r"[0-9A-Fa-f]{0,4}", value(look)) else 0
        here = (row == 0, last_row, column == 0, last_column)
        kinds = [
            name
            for name, at, bit in zip(_EDGES, here, (0x20, 0x40, 0x80, 0x100), strict=True)
            if at and (bits & bit or (look is not None and value(look, f"w:{name}") in ("1", "true")))
        ]
        kinds = [{"firstColumn": "firstCol", "lastColumn": "lastCol"}.get(name, name) for name in kinds]
        banded = look is None or not (bits & 0x200 or value(look, "w:noHBand") in ("1", "true"))
        if banded:
            kinds.append("band1Horz" if (row - ("firstRow" in kinds)) % 2 == 0 else "band2Horz")
        name = _named(properties, "w:tblStyle") or self._default_of.get("table", "")
        for _ in range(_MAX_DEPTH):
            style = self._styles.get(name)
            if style is None:
                return
            parts = {value(part, "w:type"): part for part in style.iterchildren(qn("w:tblStylePr"))}
            yield from (parts[kind] for kind in kinds if kind in parts)
            yield style
            name = _named(style, "w:basedOn")

    # ------------------------------------------------------------ colours

    def _by_color(self, every: Properties, lines: Properties, ground: Ground) -> HiddenReason | None:
        color = self._letters(every)
        if color is None:
            return None  # Word chooses black or white, whichever is seen
        if isinstance(color, HiddenReason):
            return color
        behind = self._behind(every, lines, ground)
        return reason_by_color(color, behind)

    def _letters(self, every: Properties) -> Color | HiddenReason | None:
        fill = next((one for part in every if (one := part.find(f"{_W14}textFill")) is not None), None)
        if fill is not None:
            alpha = next(fill.iter(f"{_W14}alpha"), None)
            clear = alpha is not None and _whole(str(alpha.get(f"{_W14}val"))) > 90_000
            if fill.find(f"{_W14}noFill") is not None or clear:
                return HiddenReason.TRANSPARENT
            if (plain := next(fill.iter(f"{_W14}srgbClr"), None)) is not None:
                return rgb(str(plain.get(f"{_W14}val")))
        color = next((one for part in every if (one := part.find(qn("w:color"))) is not None), None)
        return self._color(color, "w:val", "w:theme") if color is not None else None

    def _behind(self, every: Properties, lines: Properties, ground: Ground) -> Color | None:
        mark = next((one for part in every if (one := part.find(qn("w:highlight"))) is not None), None)
        if mark is not None and value(mark) in _HIGHLIGHTS:
            return rgb(_HIGHLIGHTS[value(mark)])
        return self._shade(every, self._shade(lines, ground.color))

    def _shade(self, properties: Properties, around: Color | None) -> Color | None:
        """Return the colour of the first shading (w:shd) that is not clear, else what is around."""
        shade = next((one for part in properties if (one := part.find(qn("w:shd"))) is not None), None)
        if shade is None:
            return around
        kind = value(shade) or "clear"
        fill = self._color(shade, "w:fill", "w:themeFill") or around
        over = self._color(shade, "w:color", "w:theme") or (0, 0, 0)
        if kind in ("clear", "nil"):
            return fill
        share = 100 if kind == "solid" else _whole(kind.removeprefix("pct")) if kind.startswith("pct") else -1
        if share < 0 or fill is None:
            return None if share != 100 else over
        red, green, blue = ((one * share + other * (100 - share)) // 100 for one, other in zip(over, fill, strict=True))
        return red, green, blue

    def _color(self, element: BaseOxmlElement, plain: str, theme: str) -> Color | None:
        """Of attributes; None: automatic. ``theme``: how the names of its place in the theme begin."""
        name = value(element, f"{theme}Color" if theme == "w:theme" else theme)
        known = self._theme.get(self._mapping.get(name, _THEME.get(name, name))) if name else None
        if known is None:
            return rgb(value(element, plain))
        return _toned(known, value(element, f"{theme}Tint"), value(element, f"{theme}Shade"))

    def _drawn(self, solid: BaseOxmlElement) -> Color | None:
        plain, scheme = solid.find(f"{DRAWING}srgbClr"), solid.find(f"{DRAWING}schemeClr")
        if plain is not None:
            return rgb(str(plain.get("val")))
        if scheme is None or len(scheme):  # changed further: not known
            return None
        short = {one: name for name, one in _MAPPED.items()} | {"tx1": "text1", "tx2": "text2"}
        name = short.get(str(scheme.get("val")), str(scheme.get("val")))
        return self._theme.get(_THEME.get(name, name))


def _toned(color: Color, tint: str, shade: str) -> Color:
    """Lighter or darker, as Word does it: by the lightness."""
    hue, light, full = colorsys.rgb_to_hls(*(part / 255 for part in color))
    for told, base in ((shade, 0.0), (tint, 1.0)):
        if re.fullmatch(r"[0-9A-Fa-f]{1,2}", told):
            share = int(told, 16) / 255
            light = light * share + base * (1 - share)
    red, green, blue = (round(255 * part) for part in colorsys.hls_to_rgb(hue, light, full))
    return red, green, blue


def _is_small(every: Properties) -> bool:
    size = next((one for part in every if (one := part.find(qn("w:sz"))) is not None), None)
    width = next((one for part in every if (one := part.find(qn("w:w"))) is not None), None)
    if size is not None and re.fullmatch(r"\d{1,4}(\.\d+)?", value(size)) and float(value(size)) / 2 < MIN_POINTS:
        return True
    return width is not None and 0 < _whole(value(width).rstrip("%"), 100) < _MIN_WIDTH


def _is_squeezed(lines: Properties) -> bool:
    """Lines of an exact height cut off what is higher."""
    spacing = [one for part in lines if (one := part.find(qn("w:spacing"))) is not None]
    rule = next((told for one in spacing if (told := value(one, "w:lineRule"))), "")
    line = next((told for one in spacing if (told := value(one, "w:line"))), "")
    return rule == "exact" and _whole(line, 240) < 20 * MIN_POINTS


def _row_reason(properties: BaseOxmlElement | None) -> HiddenReason | None:
    if properties is None:
        return None
    if _on([properties], "w:hidden"):
        return HiddenReason.INVISIBLE
    height = properties.find(qn("w:trHeight"))
    cut = height is not None and value(height, "w:hRule") == "exact" and _whole(value(height), 240) < 20 * MIN_POINTS
    return HiddenReason.CLIPPED if cut else None


def _flag(properties: Properties, name: str) -> bool | None:
    found = next((one for part in properties if (one := part.find(qn(name))) is not None), None)
    return None if found is None else value(found) not in ("0", "false", "none", "off")


def _on(properties: Properties, name: str) -> bool:
    return bool(_flag(properties, name))


def _named(element: BaseOxmlElement | None, name: str) -> str:
    child = element.find(qn(name)) if element is not None else None
    return value(child) if child is not None else ""


def _whole(number: str, otherwise: int = 0) -> int:
    return int(number) if re.fullmatch(r"-?\d{1,6}", number) else otherwise
