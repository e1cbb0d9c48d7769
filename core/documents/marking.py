"""Draw a page's image with words marked: where a quotation stands is shown on the page itself."""

import io
from collections.abc import Sequence

from PIL import Image, ImageChops, ImageDraw

from core.domain.documents import Box, Page

MARK = (255, 226, 89)
"""Yellow, multiplied in, so that the words under it stay readable."""
SAME_LINE = 0.5
"""Share of a word's height that must overlap for it to continue a line's mark."""


def mark_words(image: bytes, page: Page, spans: Sequence[tuple[int, int]]) -> bytes:
    """Return the PNG with the words of the character spans marked, one bar a line."""
    picture = Image.open(io.BytesIO(image)).convert("RGB")
    layer = Image.new("RGB", picture.size, "white")
    draw = ImageDraw.Draw(layer)
    for start, end in spans:
        for box in line_boxes([word.box for word in page.words if word.start < end and word.end > start]):
            corners = (
                box.left * picture.width,
                box.top * picture.height,
                box.right * picture.width,
                box.bottom * picture.height,
            )
            draw.rectangle(corners, fill=MARK)
    out = io.BytesIO()
    ImageChops.multiply(picture, layer).save(out, "PNG")
    return out.getvalue()


def line_boxes(boxes: Sequence[Box]) -> list[Box]:
    """Join the boxes of words that follow each other on one line."""
    lines: list[Box] = []
    for box in boxes:
        last = lines[-1] if lines else None
        if last is not None and _on_one_line(last, box):
            lines[-1] = Box(
                min(last.left, box.left),
                min(last.top, box.top),
                max(last.right, box.right),
                max(last.bottom, box.bottom),
            )
        else:
            lines.append(box)
    return lines


def _on_one_line(line: Box, word: Box) -> bool:
    overlap = min(line.bottom, word.bottom) - max(line.top, word.top)
    return overlap > SAME_LINE * min(line.bottom - line.top, word.bottom - word.top) and word.right >= line.right
