"""What a reviewer does, in a real browser and over a restart: edit with checks as typed, reuse, and what goes stale."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS, environment
from tests.browser.test_journeys import NewPage, ask, go_to
from tests.serving import free_port, running_app

expect.set_options(timeout=PATIENCE_MS)
WRONG = "The late payment penalty is 9 % of the overdue amount per month [1]."
RIGHT = "The late payment penalty is 1.5 % of the overdue amount per month [1]."
LONGER_THAN_THE_PAUSE_MS = 900
HALF_A_WORD = """(area) => {
  window.sent = 0
  area.addEventListener("keydown", (event) => (window.sent += event.ctrlKey))
  area.dispatchEvent(new InputEvent("input", { isComposing: true, bubbles: true }))
}"""
WIDTH_OF_PAGE = "one => one.closest('.stColumn').getBoundingClientRect().width"
AGAIN = "what is the penalty for LATE payment"


def test_a_reviewed_answer_outlives_a_restart_answers_again_and_goes_stale(tmp_path: Path, new_page: NewPage) -> None:
    page, port = new_page(), free_port()
    quoting = environment(PINCITE_ENGINE="quoting")
    with running_app(tmp_path, port=port, environment=quoting) as app:
        page.goto(app.entrance)
        page.get_by_role("button", name="Try it with the sample contract").click()
        page.locator('[class*="st-key-also_"] button').last.click()
        page.get_by_role("button", name="Send to review").click()
        expect(page.get_by_text("Sent to review.")).to_be_visible()
        conversation = page.url

        go_to(page, r"Review \(1\)")
        picture = page.locator('[data-testid="stMain"] img')
        expect(picture).to_be_visible()
        page.set_viewport_size({"width": 1024, "height": 768})
        page.wait_for_timeout(LONGER_THAN_THE_PAUSE_MS)
        assert picture.evaluate(WIDTH_OF_PAGE) >= 480
        page.set_viewport_size({"width": 1280, "height": 720})
        page.get_by_role("heading", name="Review").click()
        page.keyboard.press("e")
        editor = page.get_by_role("textbox", name="Final answer")
        expect(editor).to_be_in_viewport()
        expect(page.get_by_text("What is the penalty for late payment?").filter(visible=True).last).to_be_in_viewport()
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0, "the window stays"
        editor.evaluate(HALF_A_WORD)
        page.wait_for_timeout(LONGER_THAN_THE_PAUSE_MS)
        assert page.evaluate("window.sent") == 0, "half a word is no text yet"
        editor.dispatch_event("compositionend")
        page.wait_for_function("window.sent === 1")
        editor.fill(WRONG)
        expect(page.get_by_text("9 % does not occur in the evidence")).to_be_visible()
        expect(page.get_by_text("Edited, not saved").filter(visible=True)).to_have_count(1)
        expect(page.get_by_text("1 claim not supported").filter(visible=True)).to_have_count(1)
        page.reload()
        expect(editor).to_have_value(WRONG)
        page.get_by_role("heading", name="Review").click()
        for key in "axe":
            page.keyboard.press(key)
        note = page.get_by_role("textbox", name="Note")
        note.press_sequentially("axe")
        expect(note).to_have_value("axe")
        expect(editor).to_have_value(WRONG)
        editor.fill(RIGHT)
        expect(page.get_by_text("9 % does not occur in the evidence")).to_have_count(0)
        expect(page.get_by_text("✓ supported").filter(visible=True)).to_be_visible()
        page.get_by_label("Reviewer").fill("Maria")
        page.get_by_role("button", name="Save and approve").click()
        expect(page.get_by_text("Nothing is waiting for review.")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(editor).to_have_value(RIGHT)
        page.get_by_role("button", name="Save and approve").click()
        expect(page.get_by_text("Nothing is waiting for review.")).to_be_visible()
        page.goto(conversation)
        expect(page.get_by_text(re.compile("Reviewed and edited by Maria"))).to_be_visible()

    with running_app(tmp_path, port=port, environment=quoting) as app:
        page.goto(app.entrance)
        page.goto(conversation)
        expect(page.get_by_text(re.compile("Reviewed and edited by Maria"))).to_be_visible()
        ask(page, AGAIN)
        expect(page.get_by_text(re.compile("Answered from a review by Maria on "))).to_be_visible()
        expect(page.get_by_text(RIGHT.removesuffix(" [1]."), exact=False).filter(visible=True)).to_have_count(2)

        go_to(page, "Documents")
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_text("Usable text on")).to_have_count(0)
        go_to(page, r"Review \(1\)")
        expect(page.get_by_text("was removed or replaced").filter(visible=True).first).to_be_visible()
        page.goto(conversation)
        expect(page.get_by_text("No longer valid")).to_be_visible()
