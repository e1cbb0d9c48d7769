"""Notes next to a conversation: pinned from an answer and from a page, edited, removed, restored."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS
from tests.browser.test_journeys import NewPage, downloaded

expect.set_options(timeout=PATIENCE_MS)


def test_what_is_pinned_is_kept_exported_and_brought_back(quoting_app: str, new_page: NewPage) -> None:
    page = new_page()
    page.goto(quoting_app)
    page.get_by_role("button", name="Try it with the sample contract").click()
    page.get_by_role("button", name="Pin to notes").first.click()
    notes = page.get_by_role("button", name=re.compile(r"Notes \(\d\)"))
    expect(notes).to_be_visible()
    counted = re.search(r"Notes \((\d+)\)", notes.inner_text())
    assert counted
    before = int(counted[1])
    page.get_by_role("button", name=re.compile(r"^Open service-contract\.pdf, p\. 2")).first.click()
    line = page.locator(".pincite-words > span", has_text="6.2 The Supplier may also charge").first
    line.click(click_count=3)
    page.get_by_role("toolbar", name="Selected words").get_by_role("button", name="Pin to notes").click()
    more = page.get_by_role("button", name=f"Notes ({before + 1})")
    expect(more).to_be_visible()
    more.click()
    panel = page.locator(".st-key-page_panel")
    expect(panel.get_by_text("6.2 The Supplier may also charge")).to_be_visible()
    panel.get_by_label("Your notes (Markdown)").fill("Ask the *supplier*.")
    panel.get_by_label("Your notes (Markdown)").blur()
    panel.get_by_role("button", name="Remove").last.click()
    expect(page.get_by_role("button", name=f"Notes ({before})")).to_be_visible()
    panel.get_by_role("button", name=re.compile("^Undo: restore")).click()
    expect(more).to_be_visible()
    exported = downloaded(page, panel.get_by_role("button", name="Export as Markdown")).read_text(encoding="utf-8")
    assert "Ask the *supplier*." in exported
    assert re.search(r"- \[\d\] service-contract\.pdf, page 2: “`?6\.2 The Supplier may also charge", exported), (
        exported
    )
    page.reload()
    more.click()
    expect(panel.get_by_label("Your notes (Markdown)")).to_have_value("Ask the *supplier*.")
