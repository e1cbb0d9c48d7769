"""The app as a user starts it, and a real browser in front of it."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.slow_model import SlowModel, slow_model
from tests.serving import free_port, running_app

ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
PATIENCE_MS = 240_000
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="module")  # its event loop must not keep running during other tests
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    opened.set_default_timeout(PATIENCE_MS)
    yield opened
    opened.close()


@pytest.fixture
def new_page(context: BrowserContext) -> Callable[[], Page]:
    return context.new_page


def environment(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PINCITE_")} | more


def with_model(model: SlowModel) -> dict[str, str]:
    return environment(PINCITE_OLLAMA_HOST=model.address)


@pytest.fixture
def quoting_app(tmp_path: Path, context: BrowserContext) -> Iterator[str]:
    """Return the address of a fresh app without a language model; the browser has access."""
    database = os.environ.get("PINCITE_DATABASE_URL", "")  # as ``each_engine`` sets it
    settings = environment(PINCITE_ENGINE="quoting", PINCITE_DATABASE_URL=database)
    with running_app(tmp_path, port=free_port(), environment=settings) as app:
        context.request.get(app.entrance)
        yield app.address


@pytest.fixture
def slow_app(tmp_path: Path, context: BrowserContext) -> Iterator[tuple[str, SlowModel]]:
    """Yield the address of a fresh app and its model, which waits in mid-answer; the browser has access."""
    with slow_model() as model, running_app(tmp_path, port=free_port(), environment=with_model(model)) as app:
        context.request.get(app.entrance)
        yield app.address, model
