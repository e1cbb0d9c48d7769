"""Ten screens as they should look, small and in grey, at two widths and in both themes; run it to make them again."""

import io
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import ARGUMENTS, PATIENCE_MS
from tests.serving import free_port, running_app

KEPT = Path(__file__).with_suffix("")
WIDTHS, HEIGHT = (1440, 1024), 900
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SMALLER = 5
"""Times that a kept picture is smaller: words are stripes, and what a clock or another font changes is hardly seen."""
SETTLE_MS, TRIES, REDRAWN_EVERY = 900, 100, 6
HOW_LONG = "stVegaLiteChart"
"""The bars of a trace are as long as its steps took."""
TO_THE_TOP = """for (const one of document.querySelectorAll(".st-key-page_panel, :has(> .st-key-page_panel)"))
  one.scrollTop = 0"""
"""How far an opened page is scrolled to its mark hangs on when its picture came."""
ALONE = {"PINCITE_ENGINE": "quoting", "PINCITE_OLLAMA_HOST": "http://127.0.0.1:9"}
"""No model server shows in the pictures, whatever runs on this machine."""


def main() -> None:
    """Write the pictures that the test compares with."""
    KEPT.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as work,
        running_app(Path(work), port=free_port(), environment={**os.environ, **ALONE}) as app,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        for name, look in looks(page, app.entrance):
            look.save(KEPT / f"{name}.png", optimize=True)
        browser.close()


def looks(
    page: Page, entrance: str, drawn: Callable[[str, Image.Image], bool] = lambda name, look: True
) -> Iterator[tuple[str, Image.Image]]:
    """Each screen at each width and in each theme, by its name; a busy machine is given time until it is ``drawn``."""
    for screen in _screens(page, entrance):
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": HEIGHT})
            for theme in THEMES:
                page.emulate_media(color_scheme=theme)
                name = f"{screen}-{width}-{theme}"
                for number in range(TRIES):
                    if number % REDRAWN_EVERY == REDRAWN_EVERY - 1:  # a busy machine may have missed a last drawing
                        page.emulate_media(color_scheme=THEMES[theme == THEMES[0]])
                        page.wait_for_timeout(SETTLE_MS)
                        page.emulate_media(color_scheme=theme)
                    page.evaluate(TO_THE_TOP)
                    page.wait_for_timeout(SETTLE_MS)
                    page.evaluate(TO_THE_TOP)  # it may have been scrolled to its mark meanwhile
                    hidden = [page.get_by_test_id(HOW_LONG)] if screen == "traces" else []
                    look = _small(page.screenshot(mask=hidden, mask_color="#808080"))
                    if drawn(name, look):
                        break
                yield name, look
        page.set_viewport_size({"width": WIDTHS[0], "height": HEIGHT})


def _small(shot: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(shot)).convert("L")
    return picture.resize((picture.width // SMALLER, picture.height // SMALLER), Image.Resampling.BOX)


def _screens(page: Page, entrance: str) -> Iterator[str]:
    """The name of each screen while the page shows it."""
    page.goto(entrance)
    sample = page.get_by_role("button", name="Try it with the sample contract")
    sample.wait_for()
    yield "empty"
    sample.click()
    why = page.get_by_role("button", name="Why this answer?")
    why.wait_for()
    page.get_by_text(re.compile("Reading|recognising")).wait_for(state="detached")
    yield "answered"
    page.locator(".stMarkdownBadge[role=button]").first.click()
    page.locator(".pincite-words > span").first.wait_for()
    yield "page"
    page.get_by_role("button", name="Pin to notes").click()
    page.get_by_role("button", name=re.compile("^Notes")).click()
    page.get_by_label("Your notes").wait_for()
    yield "notes"
    page.get_by_role("button", name="Close the notes").click()
    page.locator(".pincite-words > span").first.wait_for()  # the page is there again
    why.click()
    page.get_by_role("dialog").wait_for()
    page.mouse.move(0, 0)  # what slid under the pointer shows no card
    yield "why"
    page.keyboard.press("Escape")
    page.locator('[class*="st-key-also_"] button').click()
    page.get_by_role("button", name="Send to review").wait_for()
    yield "more"
    page.get_by_role("button", name="Send to review").click()
    page.get_by_text("Sent to review.").wait_for()
    for place, there in (("review", "Approve"), ("documents", "Ask about it"), ("traces", "Download as JSON")):
        page.goto(f"{page.url.split('?')[0].rsplit('/', 1)[0]}/{place}")
        page.get_by_role("button", name=there).wait_for()
        yield place
    page.goto(f"{page.url.split('?')[0].rsplit('/', 1)[0]}/settings")
    page.get_by_role("tab", name="Answers").wait_for()
    yield "settings"


if __name__ == "__main__":
    main()
