"""The app as a user starts it, and a real browser in front of it."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from pincite.tests.browser.slow_model import SlowModel, slow_model
from pincite.tests.serving import free_port, running_app

ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
PATIENCE_MS = 60_000


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[[], Page]]:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    context.set_default_timeout(PATIENCE_MS)
    yield context.new_page
    context.close()


def environment(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PINCITE_")} | more


def with_model(model: SlowModel) -> dict[str, str]:
    return environment(PINCITE_ENGINE="ollama", PINCITE_OLLAMA_HOST=model.address)


@pytest.fixture
def quoting_app(tmp_path: Path) -> Iterator[str]:
    """The address of a fresh app without a language model."""
    port = free_port()
    with running_app(tmp_path, port=port, environment=environment(PINCITE_ENGINE="quoting")):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def slow_app(tmp_path: Path) -> Iterator[tuple[str, SlowModel]]:
    """The address of a fresh app whose model waits in the middle of its answer."""
    port = free_port()
    with slow_model() as model, running_app(tmp_path, port=port, environment=with_model(model)):
        yield f"http://127.0.0.1:{port}", model
