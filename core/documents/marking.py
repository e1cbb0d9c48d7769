"""Draw a page's image with words marked: a quotation is shown in its place on the page itself."""

import io
from collections.abc import Iterable, Sequence

from PIL import Image, ImageChops, ImageDraw, ImageFont, ImageOps

from pincite.core.domain.documents import Box, HiddenText, Page

MARK = (255, 226, 89)
"""Yellow, multiplied in, so that the words under it stay readable."""
HIDDEN, HIDDEN_INK = (255, 224, 224), (178, 24, 24)
"""Red on pale red: nothing of it is visible on the page."""
_EDGE = (170, 176, 177)
_MIN_SIDE = 9.0
"""Pixels that hidden words are shown at least, so that tiny ones can be read."""
_MIN_WIDTH, _MAX_HEIGHT, _BESIDE, _ABOVE = 0.5, 0.2, 0.015, 0.003
"""Shares of a page's width or height that a cut shows, of the words and of what is around them."""
SAME_LINE = 0.5
"""Share of a word's height that must overlap for it to continue a line's mark."""


def mark_words(image: bytes, page: Page, spans: Sequence[tuple[int, int]]) -> bytes:
    """Return the PNG with the words of the character spans marked, one bar a line."""
    picture = Image.open(io.BytesIO(image)).convert("RGB")
    width, height = picture.size
    layer = Image.new("RGB", picture.size, "white")
    draw = ImageDraw.Draw(layer)
    for start, end in spans:
        for bar in bars_of(word.box for word in page.words if word.start < end and word.end > start):
            draw.rectangle((bar.left * width, bar.top * height, bar.right * width, bar.bottom * height), fill=MARK)
    out = io.BytesIO()
    ImageChops.multiply(picture, layer).save(out, "PNG")
    return out.getvalue()


def framed(image: bytes) -> bytes:
    """Return the PNG with an edge, so that a white page shows on white."""
    out = io.BytesIO()
    ImageOps.expand(Image.open(io.BytesIO(image)).convert("RGB"), border=2, fill=_EDGE).save(out, "PNG")
    return out.getvalue()


def lines_of(image: bytes, page: Page, span: tuple[int, int]) -> bytes:
    """Cut the lines of a span of characters out of the page's PNG, at most a fifth of the page's height."""
    boxes = (word.box for word in page.words if word.start < span[1] and word.end > span[0])
    if (around := Box.around(boxes)) is None:
        return image
    left, top = min(around.left, 1 - _MIN_WIDTH) - _BESIDE, around.top - _ABOVE
    right = max(around.right, around.left + _MIN_WIDTH) + _BESIDE
    bottom = min(around.bottom, around.top + _MAX_HEIGHT) + _ABOVE
    picture = Image.open(io.BytesIO(image))
    width, height = picture.size
    cut = (max(0, round(left * width)), max(0, round(top * height)),
           min(width, round(right * width)), min(height, round(bottom * height)))  # fmt: skip
    out = io.BytesIO()
    picture.crop(cut).save(out, "PNG")
    return out.getvalue()


def show_hidden(image: bytes, hidden: Sequence[HiddenText]) -> bytes:
    """Return the PNG with hidden words written over their places, on a ground of their own."""
    picture = Image.open(io.BytesIO(image)).convert("RGB")
    width, height = picture.size
    draw = ImageDraw.Draw(picture)
    for item in hidden:
        left, top = min(item.box.left * width, width - _MIN_SIDE), min(item.box.top * height, height - _MIN_SIDE)
        right = max(item.box.right * width, left + _MIN_SIDE)
        bottom = max(item.box.bottom * height, top + _MIN_SIDE)
        draw.rectangle((left, top, right, bottom), fill=HIDDEN, outline=HIDDEN_INK)
        font = ImageFont.load_default(size=max(0.7 * (bottom - top), _MIN_SIDE))
        draw.text((left, top), item.text, fill=HIDDEN_INK, font=font)
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def bars_of(boxes: Iterable[Box]) -> list[Box]:
    """Join the boxes of words that follow each other on one line."""
    bars: list[Box] = []
    for box in boxes:
        if bars and _on_one_line(last := bars[-1], box):
            edges = (min(last.left, box.left), min(last.top, box.top))
            bars[-1] = Box(*edges, max(last.right, box.right), max(last.bottom, box.bottom))
        else:
            bars.append(box)
    return bars


def _on_one_line(line: Box, word: Box) -> bool:
    overlap = min(line.bottom, word.bottom) - max(line.top, word.top)
    return overlap > SAME_LINE * min(line.bottom - line.top, word.bottom - word.top) and word.right >= line.right
