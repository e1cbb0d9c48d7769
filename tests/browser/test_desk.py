"""What the conversation gives back: marks that open their page, the half-typed question, files dropped anywhere."""

import re
from pathlib import Path

from fpdf import FPDF
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS
from tests.browser.slow_model import SlowModel
from tests.browser.test_journeys import NewPage, ask, go_to

expect.set_options(timeout=PATIENCE_MS)
FITS = "() => { const main = document.querySelector('.stMain'); return main.scrollHeight <= main.clientHeight }"
BOTTOM = "document.querySelector('.st-key-page_panel').getBoundingClientRect().bottom"
DROP = """() => {
  const dropped = new DataTransfer()
  dropped.items.add(new File(["no pdf at all"], "notes.pdf", { type: "application/pdf" }))
  return dropped
}"""


def test_a_mark_opens_its_page_and_its_address_shows_it_again(quoting_app: str, new_page: NewPage) -> None:
    page = new_page()
    page.goto(quoting_app)
    page.get_by_role("button", name="Try it with the sample contract").click()
    mark = page.get_by_role("button", name=re.compile(r"^Open service-contract\.pdf, p\. 2")).first
    mark.focus()
    page.keyboard.press("Enter")
    picture = page.locator(".st-key-page_panel img")
    expect(picture).to_be_visible()
    expect(page).to_have_url(re.compile(r"page=2&citation="))
    second = new_page()
    second.goto(page.url)
    expect(second.locator(".st-key-page_panel img")).to_be_visible()
    second.get_by_role("button", name="Page 2 of 4").click()
    second.get_by_alt_text("Page 3", exact=True).wait_for()
    second.locator("[class*=_page_2] button").click()
    expect(second.get_by_role("button", name="Page 3 of 4")).to_be_visible()


def test_a_picture_that_was_not_there_at_first_is_asked_for_again(quoting_app: str, new_page: NewPage) -> None:
    """A rerun that is stopped before it draws a picture has Streamlit remove it, and the next one has it again."""
    page = new_page()
    page.goto(quoting_app)
    page.get_by_role("button", name="Try it with the sample contract").click()
    mark = page.get_by_role("button", name=re.compile(r"^Open service-contract\.pdf, p\. 2")).first
    page.route("**/media/*.jpg", lambda route: route.fulfill(status=404), times=1)
    mark.click()
    expect(page.locator(".pincite-words > span").first).to_be_attached()


def test_a_long_answer_is_shown_from_its_question_on(quoting_app: str, new_page: NewPage, tmp_path: Path) -> None:
    survey = FPDF()
    survey.add_page()
    survey.set_font("Helvetica", size=11)
    for at in range(1, 31):
        survey.cell(0, 7, f"Lock {at} was painted by the warden Bo{chr(97 + at % 26)}.", new_x="LMARGIN", new_y="NEXT")
    survey.output(str(tmp_path / "locks.pdf"))
    page = new_page()
    page.goto(quoting_app)
    page.locator('[data-testid="stChatInput"] input[type="file"]').set_input_files(tmp_path / "locks.pdf")
    expect(page.get_by_text("locks.pdf")).to_be_visible()
    ask(page, "How many wardens are named?")
    expect(page.get_by_text(re.compile("^30 sentences of one form"))).to_be_in_viewport()
    expect(page.get_by_test_id("stChatMessage").first).to_be_in_viewport()
    expect(page.locator("p", has_text="Lock 30 was painted").first).not_to_be_in_viewport()


def test_panes_fill_the_window_and_nothing_lies_over_what_is_clicked(quoting_app: str, new_page: NewPage) -> None:
    page = new_page()
    page.goto(quoting_app)
    page.get_by_role("button", name="Try it with the sample contract").click()
    page.get_by_role("button", name=re.compile(r"^Open service-contract\.pdf, p\. 2")).first.click()
    expect(page.locator(".st-key-page_panel img")).to_be_visible()
    close = page.locator(".st-key-icon_chat_page_close button").first
    expect(page.get_by_test_id("stExpandSidebarButton")).to_be_visible()  # the page has the width of the sidebar
    for width, height in ((1440, 900), (1024, 768), (800, 900)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(FITS)
        for one in (
            page.locator('[data-testid="stMainMenu"] button'),
            page.get_by_test_id("stChatInputTextArea"),
            close,
        ):
            one.click(trial=True)
        if width > 1300:
            assert page.evaluate(BOTTOM) > height - 30
    page.set_viewport_size({"width": 1024, "height": 768})
    close.click()
    expect(close).to_have_count(0)
    expect(page.get_by_test_id("stExpandSidebarButton")).to_have_count(0)
    page.wait_for_function(FITS)
    page.locator(".st-key-session_head button").first.click(trial=True)


def test_page_text_can_be_found_selected_copied_with_citation_and_asked_about(
    quoting_app: str, new_page: NewPage
) -> None:
    page = new_page()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(quoting_app)
    page.get_by_role("button", name="Try it with the sample contract").click()
    page.get_by_role("button", name=re.compile(r"^Open service-contract\.pdf, p\. 2")).first.click()
    line = page.locator(".pincite-words > span", has_text="6.2 The Supplier may also charge").first
    expect(line).to_be_attached()
    find = page.get_by_label("Find in this document")
    find.fill("Overdue  INVOICE")
    expect(page.locator(".pincite-count")).to_have_text("1 of 1")
    expect(page.locator(".pincite-here")).to_have_count(2)
    find.fill("no such words")
    expect(page.locator(".pincite-count")).to_have_text("No matches")
    line.click(click_count=3)
    page.get_by_role("button", name="Copy with citation").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("“6.2 The Supplier may also charge") and copied.endswith("(service-contract.pdf, p. 2)")
    find.fill("Supplier")  # what is found on other pages comes later, and the selection outlives it
    expect(page.locator(".pincite-places button").first).to_be_visible()
    page.get_by_role("button", name="Ask about this").click()
    box = page.get_by_test_id("stChatInputTextArea")
    expect(box).to_be_focused()
    expect(box).to_have_value(re.compile("^“6.2 The Supplier may also charge"))
    picture = page.locator(".st-key-page_panel img")
    narrow = picture.bounding_box()
    page.get_by_role("button", name="Zoom in").click()
    expect(page.locator(".pincite-size")).to_have_text("200%")
    page.wait_for_function("document.querySelector('.st-key-page_panel img').naturalWidth > 1100")
    wide = picture.bounding_box()
    assert narrow and wide and wide["width"] > 1.1 * narrow["width"]
    for _ in range(2):
        page.get_by_role("button", name="Zoom out").click()
    expect(page.locator(".pincite-size")).to_have_text("100%")
    expect(page.locator(".pincite-words > span", has_text="6.2 The Supplier may also charge")).to_be_attached()


def test_words_are_found_on_every_page_and_a_mark_tells_what_it_quotes(quoting_app: str, new_page: NewPage) -> None:
    page = new_page()
    page.goto(quoting_app)
    page.get_by_role("button", name="Try it with the sample contract").click()
    mark = page.get_by_role("button", name=re.compile(r"^Open service-contract\.pdf, p\. 2")).first
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the answer with its citations").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "1.5 % of the overdue amount" in copied and "\n\n[1] service-contract.pdf, p. 2: “" in copied
    mark.hover()
    expect(page.locator(".pincite-card")).to_contain_text("service-contract.pdf, p. 2")
    expect(page.locator(".pincite-card")).to_contain_text("Supported")
    page.wait_for_function("document.querySelector('.pincite-card img')?.naturalWidth > 500")
    mark.click()
    expect(page.locator(".pincite-card")).to_have_count(0)
    find = page.get_by_label("Find in this document")
    find.press_sequentially("month")
    pages = page.locator(".pincite-places button")
    expect(pages.first).to_be_visible()
    found = [int(number) for number in pages.all_inner_texts()]
    assert len(found) > 1 and 2 in found
    other = next(number for number in found if number != 2)
    pages.filter(has_text=str(other)).click()
    expect(page.get_by_role("button", name=f"Page {other} of 4")).to_be_visible()
    expect(find).to_have_value("month")
    expect(page.locator(".pincite-count")).to_have_text(re.compile(r"^1 of \d"))
    find.press("Control+a")
    find.press("Backspace")
    expect(page.locator(".pincite-hit")).to_have_count(0)
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_role("button", name=f"Page {other + 1} of 4")).to_be_visible()
    expect(find).to_have_value("")


def test_files_are_read_as_they_come_the_wheel_turns_pages_and_escape_closes_them(
    quoting_app: str, new_page: NewPage, samples: Path
) -> None:
    page = new_page()
    page.goto(quoting_app)
    page.wait_for_function("document.querySelector('[data-testid=stChatInput]')?.dataset.sends")
    files = page.locator('[data-testid="stChatInput"] input[type="file"]')
    files.set_input_files({"name": "notes.log", "mimeType": "text/plain", "buffer": b"no document"})
    refused = page.locator('[data-testid="stFileChip"][aria-invalid="true"]')
    expect(refused).to_be_visible()
    page.wait_for_timeout(1000)
    expect(refused).to_be_visible()  # with what is wrong with it; files that are read are gone by then
    page.get_by_role("button", name="Remove notes.log").click()
    files.set_input_files(samples / "service-contract.pdf")
    expect(page.get_by_text(re.compile("questions you can ask", re.IGNORECASE)).first).to_be_visible()
    ask(page, "What is the penalty for late payment?")
    page.get_by_role("button", name=re.compile(r"^Open service-contract\.pdf, p\. 2")).first.click()
    page.locator(".pincite-words").hover()
    later = page.get_by_role("button", name=re.compile("Page [34] of 4"))
    for _ in range(100):
        if later.is_visible():
            break
        page.mouse.wheel(0, 400)
        page.wait_for_timeout(200)
    expect(later).to_be_visible()
    panel = page.locator(".st-key-page_panel")
    for _ in range(30):  # a key that meets a page in mid-redraw is lost
        page.keyboard.press("Escape")
        page.wait_for_timeout(1000)
        if not panel.count():
            break
    expect(panel).to_have_count(0)


def test_a_half_typed_question_outlives_another_page_and_files_may_be_dropped_anywhere(
    quoting_app: str, new_page: NewPage
) -> None:
    page = new_page()
    page.goto(quoting_app)
    box = page.get_by_test_id("stChatInputTextArea")
    expect(box).to_be_visible()
    page.wait_for_function("document.body.dataset.drops")
    expect(box).to_have_attribute("data-kept", "yes")
    box.press_sequentially("What is the pen")
    go_to(page, "Traces")
    expect(page.get_by_role("heading", name="Traces")).to_be_visible()
    go_to(page, "Chat")
    expect(box).to_have_value("What is the pen")
    page.dispatch_event(".st-key-conversation", "drop", {"dataTransfer": page.evaluate_handle(DROP)})
    expect(page.get_by_test_id("stChatInput").get_by_text("notes.pdf")).to_be_visible()


def test_the_box_stays_live_in_mid_answer_and_the_next_question_comes_into_view(
    slow_app: tuple[str, SlowModel], new_page: NewPage
) -> None:
    address, model = slow_app
    page = new_page()
    page.goto(address)
    sample = page.get_by_role("button", name="Try it with the sample contract")
    expect(sample).to_be_visible()
    skip = page.get_by_role("button", name="Skip to question")
    expect(skip).to_be_attached()
    page.keyboard.press("Tab")
    expect(skip).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("stChatInputTextArea")).to_be_focused()
    sample.click()
    expect(page.get_by_text("Draft, not checked yet")).to_be_visible()
    pane = page.locator(".st-key-conversation")
    pane.evaluate("pane => { pane.style.setProperty('height', '200px', 'important'); pane.scrollTop = 0 }")
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill("Which law governs it?")
    box.press("Enter")
    waits = pane.get_by_text("Waiting for the previous answer")
    expect(waits).to_be_in_viewport()
    expect(box).to_be_focused()
    model.go_on.set()
    expect(waits).to_have_count(0)
    expect(pane.get_by_text("Which law governs it?")).to_be_visible()
    page.set_viewport_size({"width": 800, "height": 900})
    page.wait_for_function(FITS)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.get_by_role("button", name="Written by slow:latest").click()
    page.get_by_text("No model: quotations only").click()
    expect(page.get_by_role("button", name="Answers in quotations")).to_be_visible()


def test_back_closes_the_cited_page_and_at_sign_offers_document_names(quoting_app: str, new_page: NewPage) -> None:
    page = new_page()
    page.goto(quoting_app)
    page.get_by_role("button", name="Try it with the sample contract").click()
    mark = page.get_by_role("button", name=re.compile(r"^Open service-contract\.pdf, p\. 2")).first
    mark.click()
    panel = page.locator(".st-key-page_panel")
    expect(panel).to_be_visible()
    page.wait_for_url(re.compile("citation="))
    page.go_back()
    expect(panel).to_have_count(0)
    expect(mark).to_be_visible()
    page.get_by_role("button", name="Answers in quotations").click()
    page.get_by_role("radio", name="Auto: when a question asks for it").focus()
    page.keyboard.press("/")
    box = page.get_by_test_id("stChatInputTextArea")
    expect(box).to_be_focused()
    page.keyboard.type("@penal")
    expect(page.locator(".pincite-names")).to_have_count(0)
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("@serv")
    expect(page.locator(".pincite-names > *").first).to_have_text("service-contract")
    page.keyboard.press("Enter")
    expect(box).to_have_value("@service-contract ")
    page.keyboard.type("Which law governs it?")
    page.keyboard.press("Enter")
    expect(page.locator(".st-key-conversation").get_by_text("Which law governs it?")).to_be_visible()
    expect(page.locator(".pincite-status")).to_have_text(re.compile(r"^Answer ready, \d citation"))
    page.get_by_role("button", name="New session").click()
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
    box.press_sequentially("@penalty")
    expect(page.locator(".pincite-names > *").first).to_have_text("Session: What is the penalty for late payment?")
    box.press("Enter")
    expect(page.locator(".st-key-conversation").get_by_text("Which law governs it?")).to_be_visible()
    expect(box).to_have_value("")
