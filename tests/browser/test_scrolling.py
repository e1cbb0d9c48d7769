"""What a person reads stays where it is: the question is at the top of the view, its answer below it."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pincite.core.domain.settings import PACKAGE_ROOT, Settings
from pincite.core.services.bootstrap import open_pincite
from tests.browser.conftest import PATIENCE_MS, environment
from tests.browser.test_journeys import NewPage
from tests.serving import RunningApp, free_port, running_app
from tests.support.pdfs import prose

expect.set_options(timeout=PATIENCE_MS)
MARGIN = 12
"""Pixels between the top of the conversation and its last question."""
WATCH = """() => {
  const pane = document.querySelector(".st-key-conversation")
  window.tops = []
  const look = () => {
    const question = [...pane.querySelectorAll('[class*="st-key-question_"]')].at(-1)
    const top = question.getBoundingClientRect().top - pane.getBoundingClientRect().top
    window.tops.push([pane.querySelectorAll('[class*="st-key-question_"]').length, top, performance.now()])
    requestAnimationFrame(look)
  }
  look()
}"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """One app for all of these tests, with the sample contract."""
    folder = tmp_path_factory.mktemp("scrolling")
    sample = PACKAGE_ROOT / "data" / "samples" / "service-contract.pdf"
    with closing(open_pincite(Settings(data_dir=folder / "data", engine="quoting"), at_work=False)) as pincite:
        pincite.ingest.add(sample, sample.name)
        pincite.ingest.wait()
    with running_app(folder, port=free_port(), environment=environment(PINCITE_ENGINE="quoting")) as running:
        yield running


@pytest.fixture
def page(app: RunningApp, new_page: NewPage, context: BrowserContext) -> Page:
    """A new session with one answer."""
    context.request.get(app.entrance)
    page = new_page()
    page.goto(app.address)
    expect(page.get_by_test_id("stChatInputTextArea")).to_be_enabled()
    new_session = page.get_by_role("button", name="New session")
    if new_session.is_enabled():  # disabled where there is no session yet
        new_session.click()
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
    ask(page, "What is the penalty for late payment?")
    answered(page, 1)
    return page


def answered(page: Page, questions: int) -> None:
    expect(page.get_by_role("button", name="Why this answer?")).to_have_count(questions)


def ask(page: Page, question: str) -> None:
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill(question)
    box.press("Enter")


def top_of(page: Page, selector: str) -> Any:
    return page.locator(selector).first.evaluate("one => one.getBoundingClientRect().top")


@pytest.mark.parametrize("width", [1440, 1024])
def test_a_question_is_at_the_top_while_its_answer_grows_and_stays_there(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate(WATCH)
    for number, question in enumerate(("Who may terminate the contract?", "What are the fees?"), start=2):
        ask(page, question)
        answered(page, number)
        page.wait_for_timeout(1_000)
        seen = [(top, at) for count, top, at in page.evaluate("window.tops") if count == number]
        later = [top for top, at in seen if at > seen[0][1] + 1_000]
        assert later and all(0 <= top <= MARGIN for top in later), "nothing jumps once the question is shown"
        expect(page.get_by_role("button", name="Why this answer?").last).to_be_visible()
    page.reload()
    answered(page, 3)
    page.wait_for_timeout(1_000)
    pane, last = top_of(page, ".st-key-conversation"), page.locator('[class*="st-key-question_"]').last
    assert 0 <= last.evaluate("one => one.getBoundingClientRect().top") - pane <= MARGIN, "as it was left"


SCROLLS = 20


@pytest.mark.parametrize("width", [1440, 800])
def test_a_citation_stays_where_it_was_pressed_while_its_page_opens_and_closes(page: Page, width: int) -> None:
    """At 800 px the page takes the place of the conversation."""
    page.set_viewport_size({"width": width, "height": 900})
    for number, question in enumerate(("Who may terminate the contract?", "Which law governs it?"), start=2):
        ask(page, question)
        answered(page, number)
    page.wait_for_timeout(1_000)
    pane = page.locator(".st-key-conversation").bounding_box()
    assert pane
    page.mouse.move(pane["x"] + 200, pane["y"] + 200)
    page.mouse.wheel(0, -450)
    marks, mark = page.get_by_role("button", name=re.compile(r"^Open service-contract")), None
    for _ in range(SCROLLS):  # a busy machine scrolls late
        page.wait_for_timeout(500)
        shown = [one.element_handle() for one in marks.all()]
        if mark := next((one for one in shown if (box := one.bounding_box()) and pane["y"] < box["y"] < 700), None):
            break
        page.mouse.wheel(0, -150)
    assert mark, "no citation is in view"
    page.wait_for_timeout(500)
    before = mark.bounding_box()
    mark.click()
    expect(page.locator(".st-key-page_panel img")).to_be_visible()
    page.wait_for_timeout(1_500)
    opened = mark.bounding_box()
    assert before and (opened or width == 800)
    assert not opened or abs(opened["y"] - before["y"]) < 30, "it may be on another line of its paragraph"
    page.go_back()
    expect(page.locator(".st-key-page_panel")).to_have_count(0)
    page.wait_for_timeout(1_000)
    closed = mark.bounding_box()
    assert closed and abs(closed["y"] - before["y"]) < 60


MAX_BAND = 40
"""Pixels between the conversation and the files being read, or the box to type in."""
BAND = """() => {
  const [pane, below] = [".st-key-conversation", "[data-testid=stBottomBlockContainer]"].map((one) =>
    document.querySelector(one).getBoundingClientRect())
  return below.top - pane.bottom
}"""
FILES_SEEN = """() => {
  window.bands = []
  const look = () => {
    if (document.querySelector(".st-key-dropped_files")?.clientHeight) window.bands.push((%s)())
    requestAnimationFrame(look)
  }
  look()
}"""


@pytest.mark.parametrize("width", [1440, 390])
def test_the_conversation_ends_where_the_files_being_read_begin(page: Page, tmp_path: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    assert 0 <= page.evaluate(BAND) <= MAX_BAND
    page.evaluate(FILES_SEEN % BAND)
    berths = tmp_path / f"berths-{width}.pdf"
    berths.write_bytes(
        prose([f"The mooring fee for berth {number} is {number * width} euros." for number in range(60)])
    )
    page.locator("[data-testid=stChatInput] input[type=file]").set_input_files([str(berths)])
    page.wait_for_function("window.bands.length", timeout=PATIENCE_MS)  # sent, which empties the box
    ask(page, "What is the mooring fee for berth 7?")
    answered(page, 2)
    bands = page.evaluate("window.bands")
    settled = [band for band in bands if 0 <= band <= MAX_BAND]
    assert bands and len(settled) >= 0.9 * len(bands), "in nearly each frame: its height is known a frame later"


LEFT = r"""() => {
  window.old = []
  const pane = document.querySelector(".st-key-conversation")
  const left = pane.querySelector("[class*=st-key-question_]").className.match(/st-key-question_\w+/)[0]
  let pressed = Infinity
  document.addEventListener("click", () => { pressed = performance.now() }, { once: true })
  const look = () => {
    const seen = pane.querySelector(`.${left} p`)?.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    window.old.push([performance.now() - pressed, Boolean(seen)])
    requestAnimationFrame(look)
  }
  look()
}"""


def test_a_conversation_that_is_left_is_not_seen_until_the_next_is_drawn(page: Page) -> None:
    page.wait_for_timeout(1_000)
    new_session = page.get_by_role("button", name="New session").element_handle()
    page.evaluate(LEFT)
    new_session.evaluate("one => one.click()")
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
    old = page.evaluate("window.old")
    assert old[0][1], "it was seen before"
    assert not [at for at, seen in old if seen and at > 0]


def test_a_deleted_conversation_is_not_seen_until_the_next_is_drawn(page: Page) -> None:
    page.wait_for_timeout(1_000)
    page.get_by_role("button", name="Session menu").click()
    page.get_by_role("button", name="Delete…").click()
    confirm = page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True)
    expect(confirm).to_be_visible()
    page.evaluate(LEFT)
    confirm.click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.wait_for_timeout(1_000)
    old = page.evaluate("window.old")
    assert old[0][1], "it was seen before"
    assert not [at for at, seen in old if seen and at > 0]


BOTH = """() => {
  window.both = 0
  const look = () => {
    const welcome = document.querySelector(".st-key-conversation [data-testid=stAlert]")
    const asked = document.querySelector("[class*=st-key-question_]")
    window.both += Boolean(asked && welcome?.checkVisibility())
    requestAnimationFrame(look)
  }
  look()
}"""


def test_the_first_question_takes_the_place_of_the_welcome(app: RunningApp, page: Page) -> None:
    page.get_by_role("button", name="New session").click()
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
    page.evaluate(BOTH)
    ask(page, "Which law governs it?")
    answered(page, 1)
    assert not page.evaluate("window.both"), "the question was never seen above the welcome"
