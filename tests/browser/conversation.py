"""Hold the conversation of ``docs/conversation.md`` in a browser, and write down how it came out."""

import os
import tempfile
from contextlib import closing
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from pincite.core.domain.settings import PACKAGE_ROOT, Settings
from pincite.core.services.bootstrap import open_pincite
from tests.browser.conftest import ARGUMENTS, PATIENCE_MS
from tests.serving import free_port, running_app

SETTLE_MS = 2_500
TARGET = PACKAGE_ROOT / "docs" / "conversation.md"
TURNS = (
    ("Hello, who are you?", "a greeting"),
    ("What is the penalty for late payment?", "a question"),
    ("When does the penalty begin, and which law governs the agreement?", "two questions at once"),
    ("Which span had the largest loss?", "another topic, in another document: the answer is a cell of a table"),
    ("And the smallest?", "what was asked before is put in its place"),
    ("No, I meant the mean loss of Span 2.", "a correction"),
    ("What is the new mooring fee for berth 7?", "a scanned letter"),
    ("Since when?", "a follow-up"),
    ("", "Pincite is killed here and started again"),
    ("Who signed the letter?", "the session goes on after the restart"),
    ("What did I ask first about the penalty?", "a look back"),
    ("Compare the notice for a Work Order with the notice before a renewal.", "a comparison"),
    ("Does the contract say anything about parking?", "nothing says it"),
    ("Thank you!", "thanks"),
)
HEAD = """# A conversation

Twelve questions and a restart over the three sample documents, in the browser, without a language model, as they came
out. Nothing was chosen or corrected; `python -m tests.browser.conversation` repeats it and writes this page. The text
in italics explains why a question was asked.
"""


def main() -> None:
    environment = {**os.environ, "PINCITE_ENGINE": "quoting"}
    with tempfile.TemporaryDirectory() as work, sync_playwright() as playwright:
        folder = Path(work)
        fill(folder)
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        cut = next(at for at, (question, _) in enumerate(TURNS) if not question)
        for part in (TURNS[:cut], TURNS[cut + 1 :]):
            with running_app(folder, port=free_port(), environment=environment) as app:
                context = browser.new_context(viewport={"width": 1440, "height": 900})
                context.set_default_timeout(PATIENCE_MS)
                page = context.new_page()
                page.goto(app.entrance)
                page.get_by_test_id("stChatInputTextArea").wait_for()
                page.wait_for_timeout(SETTLE_MS)
                for question, _ in part:
                    ask(page, question)
                context.close()
        browser.close()
        TARGET.write_text("\n".join([HEAD, session_as_markdown(folder)]), encoding="utf-8")


def fill(folder: Path) -> None:
    with closing(open_pincite(Settings(data_dir=folder / "data", engine="quoting"))) as pincite:
        for path in sorted((PACKAGE_ROOT / "data" / "samples").glob("*.pdf")):
            pincite.ingest.add(path, path.name)
        assert pincite.ingest.wait(timeout_seconds=PATIENCE_MS / 1000)


def ask(page: Page, question: str) -> None:
    answers = page.get_by_role("button", name="Why this answer?")
    before = answers.count()
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill(question)
    box.press("Enter")
    answers.nth(before).wait_for()
    page.wait_for_timeout(SETTLE_MS)


def session_as_markdown(folder: Path) -> str:
    """Return the exported session with the reason for each question."""
    with closing(open_pincite(Settings(data_dir=folder / "data", engine="quoting"))) as pincite:
        [session] = pincite.sessions.list()
        _, *answers = pincite.sessions.export_markdown(session.id).split("\n## ")
    lines = iter(answers)
    pieces = []
    for question, why in TURNS:
        if question:
            asked, _, answer = next(lines).partition("\n")
            pieces.append(f"## {asked}\n\n*{why[0].upper()}{why[1:]}.*\n\n{answer.strip()}\n")
        else:
            pieces.append(f"---\n\n*{why}*\n\n---\n")
    return "\n".join(pieces)


if __name__ == "__main__":
    main()
