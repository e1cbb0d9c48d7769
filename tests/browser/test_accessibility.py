"""axe-core on every page, with and without content, wide and narrow, light and dark, finds nothing to complain of."""

from collections.abc import Iterator

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE_MS
from tests.browser.test_journeys import NewPage, go_to

expect.set_options(timeout=PATIENCE_MS)
SIZES = ((1440, 900), (800, 900))
NOT_OURS = {"exclude": [['[data-testid="stFileUploaderDropzone"]']]}
"""Streamlit gives this one both a name and the role of decoration."""


ANIMATIONS_ENDED = "() => document.getAnimations().every(animation => animation.playState !== 'running')"
"""What fades in has come to its end."""


def complaints(page: Page) -> Iterator[str]:
    """In both widths and themes: the rule, what is wrong, and the element."""
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_function(ANIMATIONS_ENDED)
            for violation in Axe().run(page, context=NOT_OURS).response["violations"]:
                for node in violation["nodes"]:
                    why = " ".join(node["failureSummary"].split())
                    yield f"{width} {scheme} {violation['id']}: {node['html'][:160]} | {why[:200]}"


def test_axe_finds_nothing(quoting_app: str, new_page: NewPage) -> None:
    page = new_page()
    page.goto(quoting_app)
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
    found = {"chat, empty": list(complaints(page))}
    page.get_by_role("button", name="Try it with the sample contract").click()
    page.locator('[class*="st-key-also_"] button').last.click()
    page.get_by_role("button", name="Send to review").click()
    expect(page.get_by_text("Sent to review.")).to_be_visible()
    found["chat"] = list(complaints(page))
    for name, heading in (("Documents", "Documents"), ("Grid", "Grid"), ("Traces", "Traces"),
                          (r"Review \(1\)", "Review"), ("Settings", "Settings")):  # fmt: skip
        page.set_viewport_size({"width": 1440, "height": 900})
        go_to(page, name)
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
        page.wait_for_function(ANIMATIONS_ENDED)
        found[heading] = list(complaints(page))
    messages = [f"{place}: {complaint}" for place, many in found.items() for complaint in many]
    assert not messages, "\n".join(messages)
