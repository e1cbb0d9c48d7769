"""`pincite --window` with a real Chromium, which is driven without a screen: let in by the token, and quit."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, expect

from tests.browser.conftest import ARGUMENTS, PATIENCE_MS, environment
from tests.serving import free_port, pincite_command, running_app

expect.set_options(timeout=PATIENCE_MS)


@pytest.mark.skipif(sys.platform == "win32", reason="the browser is wrapped in a script")
def test_the_window_of_its_own_is_let_in_and_quitting_it_ends_the_app(tmp_path: Path, browser: Browser) -> None:
    chromium, port, debugging = shutil.which("chromium"), free_port(), free_port()
    more = " ".join([*ARGUMENTS, "--headless=new", f"--remote-debugging-port={debugging}"])
    wrapper = tmp_path / "bin" / "google-chrome"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec {chromium} {more} "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    command = pincite_command("--window", "--port", str(port), "--data-dir", tmp_path / "data")
    path = f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}"
    with running_app(tmp_path, port=port, environment=environment(PINCITE_ENGINE="quoting", PATH=path),
                     command=command) as app:  # fmt: skip
        window = _driven(browser, debugging, app.process)
        page = window.contexts[0].pages[0]
        expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
        assert page.url == f"{app.address}/"
        window.new_browser_cdp_session().send("Browser.close")  # a page without a screen has no window to close
        assert app.process.wait(timeout=300) == 0
    kept = [file.name for file in (tmp_path / "data" / "window").rglob("*") if file.is_file()]
    assert kept == ["Preferences"]


def _driven(browser: Browser, port: int, process: subprocess.Popen[str]) -> Browser:
    while True:
        assert process.poll() is None, "the app ended"
        try:
            return browser.browser_type.connect_over_cdp(f"http://127.0.0.1:{port}")
        except Error:  # its window is not open yet
            continue
