"""Take the README's picture, or with ``--all DIR`` one of every page at two widths and in both themes."""

import argparse
import os
import re
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from pincite.core.domain.settings import PACKAGE_ROOT
from tests.browser.conftest import ARGUMENTS, PATIENCE_MS
from tests.serving import free_port, running_app

README_PICTURE = PACKAGE_ROOT / "docs" / "images" / "pincite.png"
QUESTIONS = ("Which law governs the agreement?", "How much notice does a termination need?")
SETTLE_MS = 2_500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=Path, metavar="DIR")
    folder: Path | None = parser.parse_args().all
    environment = {**os.environ, "PINCITE_ENGINE": "quoting"}
    with (
        tempfile.TemporaryDirectory() as work,
        running_app(Path(work), port=free_port(), environment=environment) as app,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        fill(browser, app.entrance)
        if folder is None:
            README_PICTURE.parent.mkdir(parents=True, exist_ok=True)
            picture(browser, app.entrance, README_PICTURE, width=1440, theme="light", page="", cited=True)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            for width in (1440, 800):
                for theme in ("light", "dark"):
                    for page in ("", "documents", "traces", "review", "settings"):
                        target = folder / f"{page or 'chat'}-{width}-{theme}.png"
                        picture(browser, app.entrance, target, width=width, theme=theme, page=page, cited=not page)
        browser.close()


def fill(browser: Browser, entrance: str) -> None:
    """Three answers from the sample contract, one of them sent to review."""
    page = _open(browser, entrance, 1440, "light")
    page.get_by_role("button", name="Try it with the sample contract").click()
    for number, question in enumerate(("", *QUESTIONS)):
        if question:
            box = page.get_by_test_id("stChatInputTextArea")
            box.fill(question)
            box.press("Enter")
        page.get_by_role("button", name="Why this answer?").nth(number).wait_for()
        page.wait_for_timeout(SETTLE_MS)
    page.locator('[class*="st-key-also_"] button').nth(1).click()
    page.get_by_role("button", name="Send to review").last.click()
    page.get_by_text("Sent to review.").last.wait_for()
    page.context.close()


def picture(browser: Browser, entrance: str, target: Path, *, width: int, theme: str, page: str, cited: bool) -> None:
    tab = _open(browser, entrance.replace("/?", f"/{page}?"), width, theme)
    tab.get_by_test_id("stMain").wait_for()
    tab.wait_for_timeout(SETTLE_MS)
    tab.wait_for_function("!document.querySelector('[data-testid=stSkeleton]')")
    if cited:
        tab.locator(".st-key-conversation").evaluate("pane => pane.scrollTop = 0")
        tab.get_by_role("button", name=re.compile("service-contract · p")).first.click()
        tab.locator(".st-key-page_panel img").wait_for()
        tab.mouse.move(0, 0)
        tab.locator(".st-key-conversation").evaluate("pane => pane.scrollTop = 0")
        tab.wait_for_timeout(SETTLE_MS)
    tab.screenshot(path=target)
    tab.context.close()


def _open(browser: Browser, address: str, width: int, theme: str) -> Page:
    context = browser.new_context(viewport={"width": width, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.goto(address)
    return page


if __name__ == "__main__":
    main()
