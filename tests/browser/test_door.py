"""The door in a real browser: who opens the printed address is in, also in a second tab; others read how to get in."""

import os
import re
import subprocess
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser.conftest import PATIENCE_MS, environment
from tests.browser.test_journeys import NewPage
from tests.serving import free_port, pincite_command, running_app

expect.set_options(timeout=PATIENCE_MS)


def test_the_printed_address_lets_this_browser_in_and_no_other(
    tmp_path: Path, new_page: NewPage, browser: Browser
) -> None:
    with running_app(tmp_path, port=free_port(), environment=environment(PINCITE_ENGINE="quoting")) as app:
        page = new_page()
        page.goto(app.entrance)
        expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
        assert "token" not in page.url
        second = new_page()
        second.goto(f"{app.address}/documents")
        expect(second.get_by_role("heading", name="Documents")).to_be_visible()
        stranger = browser.new_page()
        stranger.goto(app.address)
        expect(stranger.get_by_role("heading", name="This address alone does not open Pincite")).to_be_visible()
        stranger.context.close()


def test_somebody_from_another_machine_signs_in(tmp_path: Path, new_page: NewPage) -> None:
    command = pincite_command("passphrase", "--data-dir", tmp_path / "data")
    subprocess.run(command, input="four words nobody guesses\n", text=True, check=True, timeout=300)
    listening = {**os.environ, "PINCITE_ENGINE": "quoting", "STREAMLIT_SERVER_ADDRESS": "0.0.0.0"}
    with running_app(tmp_path, port=free_port(), environment=listening) as app:
        page = new_page()
        page.goto(f"{app.address}/documents")
        page.get_by_label("Passphrase").fill("not the right one")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_text("Wrong passphrase.")).to_be_visible()
        page.get_by_label("Passphrase").fill("four words nobody guesses")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Documents")).to_be_visible()
        assert re.search(r"/documents$", page.url)
