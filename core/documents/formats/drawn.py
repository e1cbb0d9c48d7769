"""Letters that are drawn as shapes: a person sees them, but they are no text of the page."""

from functools import cache
from typing import Any

from fontTools.pens.basePen import BasePen
from fontTools.ttLib import TTFont
from reportlab.lib import colors
from reportlab.pdfbase.ttfonts import TTFOpenFile
from reportlab.platypus import Flowable

_POINTS = 6.0


class Drawn(Flowable):  # type: ignore[misc]  # reportlab ships no types
    """A short word in grey, such as the letter of a sheet's column."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self._word = word

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        return width, 1.2 * _POINTS

    def draw(self) -> None:
        font, glyphs, names = _font()
        canvas, at = self.canv, 0.0
        canvas.saveState()
        canvas.setFillColor(colors.grey)
        canvas.scale(_POINTS / font["head"].unitsPerEm, _POINTS / font["head"].unitsPerEm)
        for sign in self._word:
            glyph = glyphs[names.get(ord(sign), ".notdef")]
            path = canvas.beginPath()
            glyph.draw(_Pen(path, at, glyphs))
            canvas.drawPath(path, stroke=0, fill=1)
            at += glyph.width
        canvas.restoreState()


class _Pen(BasePen):  # type: ignore[misc]  # fontTools ships no types
    """Draws on a path of reportlab's canvas."""

    def __init__(self, path: Any, left: float, glyphs: Any) -> None:
        super().__init__(glyphs)
        self._path, self._left = path, left

    def _moveTo(self, point: tuple[float, float]) -> None:
        self._path.moveTo(self._left + point[0], point[1])

    def _lineTo(self, point: tuple[float, float]) -> None:
        self._path.lineTo(self._left + point[0], point[1])

    def _curveToOne(self, *points: tuple[float, float]) -> None:
        self._path.curveTo(*(one for x, y in points for one in (self._left + x, y)))

    def _closePath(self) -> None:
        self._path.close()


@cache
def _font() -> tuple[Any, Any, dict[int, str]]:
    font = TTFont(TTFOpenFile("Vera.ttf")[1])
    return font, font.getGlyphSet(), font.getBestCmap()
