"""Two apps and a worker on one PostgreSQL database: what is done in one is seen in the other."""

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import environment
from tests.browser.test_journeys import QUESTION, ask, go_to
from tests.serving import RunningApp, free_port, pincite_command, running_app


@pytest.fixture
def replicas(tmp_path: Path, postgresql: str, context: BrowserContext) -> Iterator[tuple[RunningApp, RunningApp]]:
    shared = environment(
        PINCITE_ENGINE="quoting", PINCITE_DATABASE_URL=postgresql, PINCITE_FILES=str(tmp_path / "files")
    )
    with ExitStack() as running:
        apps = []
        for name in ("one", "two"):
            folder = tmp_path / name
            folder.mkdir()
            app = running_app(folder, port=free_port(), environment={**shared, "PINCITE_ROLE": "app"})
            apps.append(running.enter_context(app))
            context.request.get(apps[-1].entrance)
        worker = subprocess.Popen(pincite_command("worker", "--data-dir", tmp_path / "worker"), env=shared)
        running.callback(worker.wait)
        running.callback(worker.terminate)
        yield apps[0], apps[1]


@pytest.mark.behaviour("Several processes", "Several apps and workers share one library in PostgreSQL.")
def test_what_one_replica_takes_in_another_answers_from(
    replicas: tuple[RunningApp, RunningApp], new_page: Callable[[], Page], samples: Path
) -> None:
    one, two = replicas
    page = new_page()
    page.goto(f"{one.address}/documents")
    page.locator('[data-testid="stFileUploader"] input[type="file"]').set_input_files(samples / "service-contract.pdf")
    expect(page.get_by_text("Usable text on 4 of 4 pages")).to_be_visible()

    other = new_page()
    other.goto(two.address)
    ask(other, QUESTION)
    cited = re.compile(r"service-contract · p\. 2")
    chip = other.get_by_role("button", name=cited).first
    expect(chip).to_be_visible()
    chip.click()
    expect(other.locator(".st-key-page_panel img")).to_be_visible()

    page.goto(other.url.replace(two.address, one.address))
    expect(page.get_by_role("button", name=cited).first).to_be_visible()
    go_to(page, "Trace")
    expect(page.locator('[data-testid="stGraphVizChart"] svg')).to_be_visible()


def test_health_is_told_without_a_key(replicas: tuple[RunningApp, RunningApp]) -> None:
    for app in replicas:
        assert httpx.get(f"{app.address}/healthz").text == "alive"
        ready = httpx.get(f"{app.address}/readyz")
        assert (ready.status_code, ready.text) == (200, "ready")
        assert httpx.post(f"{app.address}/readyz").status_code == 403
