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
        canvas = self.canv
        canvas.saveState()
        canvas.scale(_POINTS / font["head"].unitsPerEm, _POINTS / font["head"].unitsPerEm)
        for sign in self._word:
            glyph, form = glyphs[names.get(ord(sign), ".notdef")], f"drawn-{sign}"
            if not canvas.hasForm(form):  # each letter is drawn once in a file
                canvas.beginForm(form, 0, -font["head"].unitsPerEm, 2 * glyph.width, 2 * font["head"].unitsPerEm)
                path = canvas.beginPath()
                glyph.draw(_Pen(path, glyphs))
                canvas.setFillColor(colors.grey)
                canvas.drawPath(path, stroke=0, fill=1)
                canvas.endForm()
            canvas.doForm(form)
            canvas.translate(glyph.width, 0)
        canvas.restoreState()


class _Pen(BasePen):  # type: ignore[misc]  # fontTools ships no types
    """Draws on a path of reportlab's canvas."""

    def __init__(self, path: Any, glyphs: Any) -> None:
        super().__init__(glyphs)
        self._path = path

    def _moveTo(self, point: tuple[float, float]) -> None:
        self._path.moveTo(*point)

    def _lineTo(self, point: tuple[float, float]) -> None:
        self._path.lineTo(*point)

    def _curveToOne(self, *points: tuple[float, float]) -> None:
        self._path.curveTo(*(one for point in points for one in point))

    def _closePath(self) -> None:
        self._path.close()


@cache
def _font() -> tuple[Any, Any, dict[int, str]]:
    font = TTFont(TTFOpenFile("Vera.ttf")[1])
    return font, font.getGlyphSet(), font.getBestCmap()
