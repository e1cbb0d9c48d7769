"""What an analyst does with a grid in a real browser: make one, open a cell's page, correct it, find it again."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from pincite.core.domain.settings import PACKAGE_ROOT, Settings
from pincite.core.services.bootstrap import open_pincite
from tests.browser.conftest import PATIENCE_MS, environment
from tests.browser.test_journeys import NewPage
from tests.serving import RunningApp, free_port, running_app
from tests.support.pdfs import prose

expect.set_options(timeout=PATIENCE_MS)
SECOND_CELL = (330, 66)
"""Pixels from the table's corner: the first row, the column after the documents' names."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    folder = tmp_path_factory.mktemp("grid")
    sample = PACKAGE_ROOT / "data" / "samples" / "service-contract.pdf"
    with closing(open_pincite(Settings(data_dir=folder / "data", engine="quoting"), at_work=False)) as pincite:
        pincite.ingest.add(sample, sample.name)
        pincite.ingest.add(prose(["The agreement begins on 3 May 2024. The fee is EUR 900 a month."]), "kestrel.pdf")
        pincite.ingest.wait()
    with running_app(folder, port=free_port(), environment=environment(PINCITE_ENGINE="quoting")) as running:
        yield running


def test_a_grid_is_made_filled_corrected_and_kept(
    app: RunningApp, new_page: NewPage, context: BrowserContext, tmp_path: Path
) -> None:
    context.request.get(app.entrance)
    page = new_page()
    page.goto(f"{app.address.rstrip('/')}/grid")
    page.get_by_role("button", name="New grid").click()
    page.get_by_label("Name").fill("Terms")
    page.get_by_role("combobox", name="Columns").click()
    page.get_by_role("option", name="Service contract").click()
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("cells answered")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    expect(page.get_by_text("found ·").first).to_be_visible()
    table = page.get_by_test_id("stDataFrame").bounding_box()
    assert table
    page.mouse.click(table["x"] + SECOND_CELL[0], table["y"] + SECOND_CELL[1])
    expect(page.get_by_text("Who are the parties?")).to_be_visible()
    expect(page.locator(".st-key-page_panel img")).to_be_visible()
    page.get_by_role("button", name="Correct").click()
    page.get_by_label("Value", exact=True).fill("Kestrel and others")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Found by you")).to_be_visible()
    page.get_by_role("button", name="to check").click()
    expect(page.get_by_text("Who are the parties?")).to_have_count(0)
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV", exact=True).click()
    saved.value.save_as(tmp_path / "terms.csv")
    assert "Kestrel and others" in (tmp_path / "terms.csv").read_text("utf-8-sig")
    page.reload()
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()
    expect(page.get_by_text("found ·").first).to_be_visible()
