"""Pictures of pages (.png, .jpg, .tiff, …): each becomes a page, which is recognised like a scan."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image

KIND = "a picture (.png, .jpg, .tiff, .webp, .bmp, .gif)"
ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".gif")
_SIGNATURES = (b"\x89PNG", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"GIF8", b"BM")
_MAX_POINTS, _MIN_DOTS, _QUALITY = 842.0, 72.0, 95
_MAX_PAGES = 1000
_WHITE = 65535.0
"""Of pictures with 16 bits a pixel."""


def is_one(path: Path, name: str) -> bool:
    with path.open("rb") as file:
        head = file.read(16)
    return head.startswith(_SIGNATURES) or (head.startswith(b"RIFF") and head[8:12] == b"WEBP")


def save_as_pdf(path: Path, target: Path) -> None:
    from PIL import Image, ImageSequence
    from pypdf import PdfWriter

    writer = PdfWriter()
    with Image.open(path) as file:
        for _, frame in zip(range(_MAX_PAGES), ImageSequence.Iterator(file), strict=False):
            page, made = _upright(frame), io.BytesIO()
            dots = max(_MIN_DOTS, 72 * max(page.size) / _MAX_POINTS)
            page.save(made, "PDF", resolution=dots, **({} if page.mode == "1" else {"quality": _QUALITY}))
            writer.append(made)
    writer.metadata = {"/Producer": "Pincite"}  # without the time
    writer.write(target)


def _upright(image: "Image.Image") -> "Image.Image":
    """Return the picture as it is shown: turned as its EXIF data states, and on white where it is transparent."""
    from PIL import Image, ImageOps

    turned = ImageOps.exif_transpose(image)
    if turned.mode.startswith(("I", "F")):  # more than 8 bits a pixel
        low, high = (float(side) for side in turned.convert("F").getextrema())  # type: ignore[arg-type]
        if turned.mode.startswith("I") and high <= _WHITE:
            low, high = 0.0, _WHITE
        scale = 255 / ((high - low) or 1.0)
        return turned.convert("F").point(lambda value: value * scale - low * scale).convert("L")
    if turned.mode in ("1", "L", "RGB"):
        return turned.copy()
    pixels = turned.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", pixels.size, "white"), pixels).convert("RGB")
