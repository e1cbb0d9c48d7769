"""What users do, in a real browser: upload, ask, look at the page, at the trace, review; leave and come back."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, TimeoutError, expect

from tests.browser.conftest import PATIENCE_MS, environment, with_model
from tests.browser.slow_model import SlowModel, slow_model
from tests.serving import free_port, running_app

expect.set_options(timeout=PATIENCE_MS)
QUESTION = "What is the penalty for late payment?"
NewPage = Callable[[], Page]
CLICKS = 4


def go_to(page: Page, name: str) -> None:
    """Open a page. A click that meets a page in mid-redraw is lost now and then; people click again.

    The sidebar is closed, or about to close, where a document's page is open beside the conversation.
    """
    menu = page.get_by_test_id("stExpandSidebarButton")
    link = page.get_by_test_id("stSidebarNav").get_by_role("link", name=re.compile(name))
    href = (link.get_attribute("href") or "").partition("?")[0]
    address = re.compile(re.escape(href.rstrip("/")) + r"/?(\?.*)?$")  # a page may write its session behind it at once
    for _ in range(CLICKS):
        with suppress(TimeoutError):
            if menu.is_visible():
                menu.click(timeout=PATIENCE_MS / 16)
            link.click(timeout=PATIENCE_MS / 16)
            page.wait_for_url(address, timeout=PATIENCE_MS / CLICKS)
            return
    raise AssertionError(f"{name} was never opened; the address is {page.url}")


def downloaded(page: Page, button: Locator) -> Path:
    """What a button gives; a click that meets a page in mid-redraw is lost now and then."""
    for _ in range(CLICKS):
        with suppress(TimeoutError):
            with page.expect_download(timeout=PATIENCE_MS / CLICKS) as download:
                button.click()
            return Path(download.value.path())
    raise AssertionError("nothing was downloaded")


def ask(page: Page, question: str) -> None:
    box = page.get_by_test_id("stChatInputTextArea")
    expect(box).to_be_enabled()
    box.fill(question)
    # Until a dropped file has arrived, the box keeps what was typed.
    for _ in range(PATIENCE_MS // 1000):
        box.press("Enter")
        with suppress(AssertionError):
            expect(box).to_have_value("", timeout=1000)
            return
    raise AssertionError("the question was never sent")


@pytest.mark.behaviour(
    "Memory",
    "If a question is read with those before it, “Understood as …” shows the complete question, and *Ask on "
    "its own* undoes the reading.",
)
@pytest.mark.usefixtures("each_engine")
def test_upload_ask_citation_page_trace_review(quoting_app: str, new_page: NewPage, samples: Path) -> None:
    page = new_page()
    page.goto(f"{quoting_app}/documents")
    page.locator('[data-testid="stFileUploader"] input[type="file"]').set_input_files(samples / "service-contract.pdf")
    expect(page.get_by_text("Usable text on 4 of 4 pages")).to_be_visible()

    go_to(page, "Chat")
    ask(page, QUESTION)
    chip = page.get_by_role("button", name=re.compile(r"service-contract · p\. 2")).first
    expect(chip).to_be_visible()
    expect(page.get_by_text("Draft, not checked yet")).to_have_count(0)

    chip.click()
    picture = page.locator(".st-key-page_panel img")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 500
    page.locator(".st-key-icon_chat_page_next button").first.click()
    expect(page.get_by_role("button", name="Page 3 of 4")).to_be_visible()

    page.get_by_role("button", name="Why this answer?").click()
    dialog = page.get_by_role("dialog")
    for step in ("Understood as", "Searched", "Found", "Doubts"):
        expect(dialog.get_by_text(step)).to_be_visible()
    dialog.get_by_role("link", name="Full trace").click()
    expect(page.locator('[data-testid="stGraphVizChart"] svg')).to_be_visible()
    trace = json.loads(downloaded(page, page.get_by_role("button", name="Download as JSON")).read_text("utf-8"))
    assert trace["question"] == QUESTION and trace["path"][0] == "router"

    page.get_by_role("link", name="Open the session").click()
    page.locator('[class*="st-key-also_"] button').last.click()
    page.get_by_role("button", name="Send to review").click()
    expect(page.get_by_text("Sent to review.")).to_be_visible()
    go_to(page, r"Review \(1\)")
    expect(page.locator('[data-testid="stMain"] img')).to_be_visible()
    page.get_by_role("heading", name="Review").click()
    page.keyboard.press("a")
    expect(page.get_by_text("Nothing is waiting for review.")).to_be_visible()
    go_to(page, "Chat")
    expect(page.get_by_text(re.compile("Reviewed and approved by"))).to_be_visible()


@pytest.mark.usefixtures("each_engine")
def test_files_dropped_with_a_question_are_read_and_answered_from(
    quoting_app: str, new_page: NewPage, samples: Path
) -> None:
    page = new_page()
    page.goto(quoting_app)
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
    page.locator('[data-testid="stChatInput"] input[type="file"]').set_input_files(samples / "service-contract.pdf")
    expect(page.get_by_text("service-contract.pdf")).to_be_visible()
    ask(page, QUESTION)
    expect(page.get_by_role("button", name=re.compile(r"service-contract · p\. 2")).first).to_be_visible()


def test_switch_reload_and_second_tab_in_mid_answer_lose_nothing(
    slow_app: tuple[str, SlowModel], new_page: NewPage
) -> None:
    address, model = slow_app
    page = new_page()
    page.goto(address)
    page.get_by_role("button", name="Try it with the sample contract").click()
    begun = page.get_by_text("The late payment penalty is", exact=False)
    expect(begun).to_be_visible()
    expect(page.get_by_text("Draft, not checked yet")).to_be_visible()

    go_to(page, "Documents")
    expect(page.get_by_role("heading", name="Documents")).to_be_visible()
    go_to(page, "Chat")
    expect(begun).to_be_visible()
    page.reload()
    expect(begun).to_be_visible()
    assert "session=" in page.url
    second = new_page()
    second.goto(page.url)
    expect(second.get_by_text("The late payment penalty is", exact=False)).to_be_visible()
    expect(second.get_by_test_id("stChatInputTextArea")).to_be_enabled()

    model.go_on.set()
    for tab in (page, second):
        expect(tab.get_by_role("button", name="Why this answer?")).to_be_visible()
        expect(tab.get_by_text("overdue amount per month").filter(visible=True)).to_be_visible()
        expect(tab.get_by_text("Draft, not checked yet")).to_have_count(0)


def test_stop_ends_the_answer_and_offers_to_run_it_again(slow_app: tuple[str, SlowModel], new_page: NewPage) -> None:
    address, model = slow_app
    page = new_page()
    page.goto(address)
    page.get_by_role("button", name="Try it with the sample contract").click()
    expect(page.get_by_text("Draft, not checked yet")).to_be_visible()
    page.get_by_test_id("stMain").get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_role("button", name="Run again", exact=True)).to_be_visible()
    assert not model.go_on.is_set(), "it stopped while the model was still at it"
    page.get_by_role("button", name="Run again with quoting").click()
    expect(page.get_by_role("button", name=re.compile(r"service-contract · p\. 2")).first).to_be_visible()


@pytest.mark.behaviour(
    "Resume",
    "After a kill the answer reads “Interrupted before it was finished”, keeps its draft unchecked, and "
    "*Continue* takes it up at the step that was cut off.",
)
def test_a_killed_answer_reads_interrupted_after_the_start_and_is_continued(tmp_path: Path, new_page: NewPage) -> None:
    page, port = new_page(), free_port()
    with slow_model() as model, running_app(tmp_path, port=port, environment=with_model(model)) as app:
        page.goto(app.entrance)
        page.get_by_role("button", name="Try it with the sample contract").click()
        expect(page.get_by_text("Draft, not checked yet")).to_be_visible()
        conversation = page.url
        app.process.kill()
        app.process.wait()
    with running_app(tmp_path, port=port, environment=environment(PINCITE_ENGINE="quoting")) as app:
        page.goto(app.entrance)
        page.goto(conversation)
        expect(page.get_by_text("Interrupted before it was finished.")).to_be_visible()
        expect(page.get_by_role("button", name="Run again", exact=True)).to_be_visible()
        page.get_by_role("button", name="Continue", exact=True).click()
        expect(page.get_by_role("button", name=re.compile(r"service-contract · p\. 2")).first).to_be_visible()


def test_no_page_asks_anything_of_another_machine(quoting_app: str, new_page: NewPage) -> None:
    page = new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(quoting_app)
    page.get_by_role("button", name="Try it with the sample contract").click()
    expect(page.get_by_role("button", name="Why this answer?")).to_be_visible()
    for name in ("Documents", "Traces", "Review", "Settings"):
        go_to(page, name)
        expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    elsewhere = [url for url in asked if not url.startswith((quoting_app, "data:", "blob:"))]
    assert asked and elsewhere == []
