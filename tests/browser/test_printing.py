"""What Ctrl+P puts on paper: the whole conversation with its citations, and nothing of the program around it."""

import io
import re
import uuid
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pypdfium2
import pytest
from playwright.sync_api import Page, expect
from pypdf import PdfReader

from pincite.core.domain.settings import Settings
from pincite.core.services.bootstrap import open_pincite
from tests.browser.conftest import PATIENCE_MS, environment
from tests.browser.test_journeys import NewPage
from tests.serving import free_port, running_app

expect.set_options(timeout=PATIENCE_MS)
QUESTIONS = (
    "What is the penalty for late payment?",
    "Which law governs the agreement?",
    "How much notice does a termination need?",
)
AT_REST = """() => {
  const pane = document.querySelector(".st-key-conversation"), at = pane.scrollTop
  return new Promise((resolve) => setTimeout(() => resolve(pane.scrollTop === at), 800))
}"""
"""Printing lays the page out again and scrolls the conversation to its end, which closes a menu opened before."""
NEARLY_BLACK = 40
"""Of 255: thin letters have grey edges alone, where none falls whole upon a point."""
LAST = "Where are the Client's goods stored at the very end?"


@pytest.fixture
def long_conversation(tmp_path: Path, samples: Path) -> str:
    """The id of a session of 22 turns, which is more than is shown at once; the last asks for something of its own."""
    settings = Settings(data_dir=tmp_path / "data", engine="quoting")
    with closing(open_pincite(settings)) as app:
        added = app.ingest.add((samples / "service-contract.pdf").read_bytes(), "service-contract.pdf").document
        app.documents.lacking([added.id], 60)
        session = app.sessions.create("Printed")
        asked = [app.runner.wait(app.runner.ask(session.id, question), 120).turn for question in QUESTIONS]
        for number in range(18):
            app.turns.create(replace(asked[number % 3], id=uuid.uuid4().hex, place=-1))
        app.runner.wait(app.runner.ask(session.id, LAST), 120)
    return session.id


def words_of(page: Page) -> str:
    data = page.pdf(format="A4")
    with closing(pypdfium2.PdfDocument(data)) as document:
        sheet = document[0].render().to_pil().convert("L")
        darkest, lightest = sheet.getextrema()
        assert darkest < NEARLY_BLACK and lightest == sheet.getpixel((2, 2)) == 255, "not black on white"
    printed = PdfReader(io.BytesIO(data))
    return " ".join(" ".join(one.extract_text() for one in printed.pages).split())


def test_the_whole_conversation_is_printed(tmp_path: Path, new_page: NewPage, long_conversation: str) -> None:
    with running_app(tmp_path, port=free_port(), environment=environment(PINCITE_ENGINE="quoting")) as app:
        page = new_page()
        page.goto(app.entrance.replace("/?", f"/?session={long_conversation}&"))
        expect(page.get_by_role("button", name="Why this answer?")).to_have_count(20)
        assert "at the very end?" in words_of(page)
        page.wait_for_function(AT_REST)
        page.locator(".st-key-conversation").get_by_test_id("stPopover").first.get_by_role("button").click()
        page.get_by_role("button", name="Show everything, for printing").click()
        expect(page.get_by_role("button", name="Why this answer?")).to_have_count(22)
        page.get_by_role("button", name=re.compile(r"service-contract · p\. 2")).first.click()
        expect(page.locator(".st-key-page_panel img")).to_be_visible()
        printed = words_of(page)
        page.emulate_media(color_scheme="dark")
        assert words_of(page) == printed
    assert "at the very end?" in printed
    assert sum(printed.count(question) for question in QUESTIONS) == 21
    assert re.search(r"\[1\] service-contract\.pdf, p\. \d+: “", printed)
    for of_the_program in ("New session", "Why this answer?", "Send to review", "Find in this document", "Page 2 of 4"):
        assert of_the_program not in printed
