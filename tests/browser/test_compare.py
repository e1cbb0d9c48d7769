"""What a lawyer does with two versions in a real browser: open what changed, go through it, export it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from pincite.core.domain.settings import Settings
from pincite.core.services.bootstrap import open_pincite
from tests.browser.conftest import PATIENCE_MS, environment
from tests.browser.test_journeys import NewPage
from tests.serving import RunningApp, free_port, running_app
from tests.support.pdfs import prose

expect.set_options(timeout=PATIENCE_MS)
OLD = "The rent is EUR 2,750 a month. The tenant shall pay for heating. Keys are returned on the last day."
NEW = "The rent is EUR 2,950 a month. The tenant may pay for heating. Keys are returned on the last day."
FIRST_ROW = (15, 60)
"""Pixels from the table's corner."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    folder = tmp_path_factory.mktemp("compare")
    with closing(open_pincite(Settings(data_dir=folder / "data", engine="quoting"), at_work=False)) as pincite:
        for name, text in (("lease-v1.pdf", OLD), ("lease-v2.pdf", NEW)):
            pincite.ingest.add(prose([text]), name)
        pincite.ingest.wait()
    with running_app(folder, port=free_port(), environment=environment(PINCITE_ENGINE="quoting")) as running:
        yield running


def test_what_changed_is_opened_from_the_newer_version_and_gone_through(
    app: RunningApp, new_page: NewPage, context: BrowserContext, tmp_path: Path
) -> None:
    context.request.get(app.entrance)
    page = new_page()
    page.goto(f"{app.address.rstrip('/')}/documents")
    table = page.get_by_test_id("stDataFrame").first
    expect(table).to_be_visible()
    box = table.bounding_box()
    assert box
    what_changed = page.get_by_role("button", name="What changed?")
    page.mouse.click(box["x"] + FIRST_ROW[0], box["y"] + FIRST_ROW[1])
    expect(page.get_by_role("heading", name="lease-v2.pdf")).to_be_visible()
    what_changed.click()
    expect(page.get_by_text("May matter (2)")).to_be_visible()
    words = page.get_by_test_id("stMarkdown")
    expect(words.get_by_text("EUR 2,950")).to_be_visible()
    expect(page.get_by_role("img", name="Page 1 of lease-v2.pdf")).to_be_visible()
    page.get_by_role("button", name="Next Shortcut N").click()
    expect(words.filter(has_text="Changed · duty or meaning")).to_be_visible()
    expect(page.get_by_role("img", name="Page 1 of lease-v1.pdf")).to_be_visible()
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_test_id("stPopoverBody").get_by_role("button", name="CSV").click()
    download.value.save_as(tmp_path / "changes.csv")
    assert "EUR 2,950" in (tmp_path / "changes.csv").read_text(encoding="utf-8-sig")
