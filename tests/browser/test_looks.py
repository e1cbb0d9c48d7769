"""No screen looks different from the last picture of it that a person checked and saved."""

from pathlib import Path

import pytest
from PIL import Image, ImageChops

from tests.browser.conftest import environment
from tests.browser.looks import ALONE, KEPT, THEMES, WIDTHS, looks
from tests.browser.test_journeys import NewPage
from tests.serving import free_port, running_app

SAME = 24
"""Levels of grey, of 256, by which a point may differ."""
MAX_DIFFERENCE = 0.01
"""Share of points that may differ by more."""


def differing(one: Image.Image, other: Image.Image) -> float:
    """The share of points that differ; all of them where the sizes do."""
    if one.size != other.size:
        return 1.0
    levels = ImageChops.difference(one, other).histogram()
    return sum(levels[SAME + 1 :]) / sum(levels)


def test_every_screen_looks_as_it_should(tmp_path: Path, new_page: NewPage) -> None:
    """`python -m tests.browser.looks` makes the stored pictures again; look at them before you commit them."""

    def apart(name: str, look: Image.Image) -> float:
        return differing(look, Image.open(KEPT / f"{name}.png"))

    with running_app(tmp_path, port=free_port(), environment=environment(**ALONE)) as app:
        page = new_page()
        found = dict[str, tuple[float, str]]()
        for name, look in looks(page, app.entrance, lambda name, look: apart(name, look) <= MAX_DIFFERENCE):
            found[name] = apart(name, look), page.locator("body").inner_text()
    assert len(found) == 10 * len(WIDTHS) * len(THEMES)
    assert {name: (share, text) for name, (share, text) in found.items() if share > MAX_DIFFERENCE} == {}


@pytest.mark.parametrize("moved", [(12, 0), (0, 12)])
def test_moved_content_is_detected(moved: tuple[int, int]) -> None:
    answered = Image.open(KEPT / "answered-1440-light.png")
    assert differing(ImageChops.offset(answered, *moved), answered) > MAX_DIFFERENCE
