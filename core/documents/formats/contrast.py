"""Whether letters can be made out on what is behind them, by their colours."""

from collections.abc import Iterator
from typing import TypeAlias

from lxml import etree

from pincite.core.domain.documents import HiddenReason

Color: TypeAlias = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""

DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
MIN_POINTS = 2.0
"""As in ``pdf.visibility``: points of the em that can be read."""
_SEEN, _WHITE = 24, 235
"""As in ``pdf.visibility``: what can be made out, and from where on a colour is called white."""


def reason_by_color(color: Color | None, ground: Color | None) -> HiddenReason | None:
    """Return why letters are not seen; None if they are, or a colour is not known."""
    if color is None or ground is None:
        return None
    if max(abs(one - other) for one, other in zip(color, ground, strict=True)) >= _SEEN:
        return None
    return HiddenReason.WHITE if min(color) > _WHITE else HiddenReason.SAME_COLOR


def rgb(hexadecimal: str) -> Color | None:
    """Return the colour of six hexadecimal digits."""
    try:
        red, green, blue = bytes.fromhex(hexadecimal)
    except ValueError:
        return None
    return red, green, blue


def theme_colors(theme: etree._Element) -> Iterator[tuple[str, Color]]:
    for scheme in theme.iter(f"{DRAWING}clrScheme"):
        for place in scheme:
            for color in place:
                if found := rgb(str(color.get("lastClr") or color.get("val") or "")):
                    yield str(place.tag).rpartition("}")[2], found
        return
