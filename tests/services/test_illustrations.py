"""Figures of pages: found, described by a model when it is asked, and never the document's words."""

import base64
import io
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw
from reportlab.graphics import renderPDF
from reportlab.graphics.charts.barcharts import VerticalBarChart
from reportlab.graphics.shapes import Drawing
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from pincite.core.domain.documents import Document
from pincite.core.domain.errors import ModelUnavailableError, SettingsError
from pincite.core.domain.settings import Settings
from pincite.core.services.bootstrap import Pincite, open_pincite
from pincite.core.services.illustrations import pages_in_words
from tests.model_servers import Script, fake_openai_server
from tests.support.waiting import wait_until

SAID = "A bar chart, “Lime trees by year”: 120 in 2019, 187 in 2020 and 999 in 2021."


def report() -> bytes:
    """Return three pages: a photograph below text, a bar chart, and a shaded table."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(400, 500))
    canvas.drawString(40, 460, "The survey counts lime trees in the old town.")
    picture = Image.new("RGB", (300, 200), "darkgreen")
    ImageDraw.Draw(picture).ellipse((50, 30, 250, 170), fill="yellow")
    canvas.drawImage(ImageReader(picture), 60, 200, 240, 160)
    canvas.showPage()
    canvas.drawString(40, 460, "Lime trees by year")
    chart = VerticalBarChart()
    chart.x, chart.y, chart.width, chart.height = 30, 30, 240, 160
    chart.data, chart.categoryAxis.categoryNames = [[120, 187, 96, 44]], ["2019", "2020", "2021", "2022"]
    drawing = Drawing(300, 220)
    drawing.add(chart)
    renderPDF.draw(drawing, canvas, 40, 200)
    canvas.showPage()
    canvas.drawString(40, 460, "The council meets on the first Monday of each month.")
    for row in range(8):
        for column in range(3):
            canvas.setFillGray(0.9 if row % 2 else 1)
            canvas.rect(40 + 100 * column, 400 - 20 * row, 100, 20, fill=1)
            canvas.setFillGray(0)
            canvas.drawString(50 + 100 * column, 406 - 20 * row, f"{row}.{column} euros")
    canvas.showPage()
    canvas.save()
    return out.getvalue()


@pytest.fixture
def server() -> Iterator[Script]:
    with fake_openai_server(Script(pieces=(SAID[:20], SAID[20:]))) as script:
        yield script


@pytest.fixture
def pincite(tmp_path: Path, server: Script) -> Iterator[Pincite]:
    settings = Settings(data_dir=tmp_path / "data", engine="openai:m", openai_address=server.address, ocr=False)
    with closing(open_pincite(settings)) as opened:
        yield opened


@pytest.fixture
def document(pincite: Pincite) -> Document:
    added = pincite.ingest.add(report(), "survey.pdf").document
    pincite.ingest.wait([added.id])
    return added


@pytest.mark.behaviour("Figures and charts", "Figures whose contents were not read are named with their pages.")
def test_photographs_and_charts_are_figures_and_tables_are_none(pincite: Pincite, document: Document) -> None:
    [photograph] = [one for one, _ in pincite.illustrations.on_page(document.id, 0)]
    edges = (photograph.box.left, photograph.box.top, photograph.box.right, photograph.box.bottom)
    assert edges == pytest.approx((0.15, 0.28, 0.75, 0.6), abs=0.02)
    assert len(pincite.illustrations.on_page(document.id, 1)) == 1
    assert pincite.illustrations.on_page(document.id, 2) == []
    left = pincite.illustrations.not_described(document.id)
    assert pages_in_words(left) == "Pages 1 and 2 have figures whose contents are not in the text."
    assert pages_in_words(left[:1]).startswith("Page 1 has") and pages_in_words([]) == ""


@pytest.mark.behaviour("Figures and charts", "A model that sees pictures describes a figure; its numbers are checked.")
def test_a_figure_is_described_and_its_numbers_are_checked(
    pincite: Pincite, document: Document, server: Script
) -> None:
    [(chart, _)] = pincite.illustrations.on_page(document.id, 1)
    description = pincite.illustrations.describe(chart)
    assert (description.text, description.model) == (SAID, "openai:m")
    assert description.unsure == ("120", "187", "999")  # the bars have no numbers; the years are on the axis
    [(_, _, asked)] = [one for one in server.seen if one[0].endswith("completions")]
    [told, shown] = asked["messages"][0]["content"]
    assert "Describe this figure" in told["text"]
    picture = Image.open(io.BytesIO(base64.b64decode(shown["image_url"]["url"].partition(",")[2])))
    assert max(picture.size) <= 1024 and picture.width > picture.height
    assert [one.page_index for one in pincite.illustrations.not_described(document.id)] == [0]
    pincite.illustrations.delete(chart)
    assert len(pincite.illustrations.not_described(document.id)) == 2


def test_a_description_is_offered_with_answers_about_it_and_is_no_evidence(
    pincite: Pincite, document: Document
) -> None:
    [(chart, _)] = pincite.illustrations.on_page(document.id, 1)
    pincite.illustrations.describe(chart)
    described = pincite.illustrations.described([document.id])
    passages = [one.text for one in pincite.library.passages_of_pages([(document.id, at) for at in range(3)])]
    assert [one.figure for one in pincite.illustrations.related(
        "How many lime trees were there in the bar chart of 2020?", described, passages)] == [chart]  # fmt: skip
    assert pincite.illustrations.related("On which day does the council meet?", described, passages) == []
    pincite.settings.change(engine="quoting")
    session = pincite.sessions.create(document_ids=[document.id])
    turn = pincite.runner.wait(pincite.runner.ask(session.id, "How many lime trees were there in 2021?"), 60).turn
    assert "999" not in turn.answer and all("999" not in item.passage.text for item in turn.evidence)
    pincite.ingest.remove(document.id)
    assert pincite.illustrations.described([document.id]) == []


def test_figures_are_described_in_the_background_where_that_is_on(pincite: Pincite, document: Document) -> None:
    with pytest.raises(SettingsError, match="qwen2"):
        pincite.settings.change(picture_model="qwen2.5vl")
    pincite.settings.change(describe_figures=True)
    wait_until(lambda: not pincite.illustrations.not_described(document.id), 60)


def test_without_a_model_that_sees_pictures_it_is_said(pincite: Pincite, document: Document, server: Script) -> None:
    [(chart, _)] = pincite.illustrations.on_page(document.id, 1)
    server.refuses = lambda asked: not isinstance(asked["messages"][0]["content"], str)
    with pytest.raises(ModelUnavailableError, match="did not describe") as refused:
        pincite.illustrations.describe(chart)
    assert "sees pictures" in refused.value.hint
    pincite.settings.change(engine="quoting")
    with pytest.raises(ModelUnavailableError, match="No model that sees pictures"):
        pincite.illustrations.describe(chart)


def test_one_figure_that_cannot_be_described_stops_no_other(
    pincite: Pincite, document: Document, server: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pincite.core.services.illustrations._RETRY_SECONDS", 1.0)
    asked = list[int]()

    def refuses(body: dict[str, Any]) -> bool:
        asked.append(len(str(body["messages"][0]["content"])))
        return asked[-1] == asked[0]

    server.refuses = refuses
    pincite.settings.change(describe_figures=True)
    wait_until(lambda: len(pincite.illustrations.not_described(document.id)) == 1, 100)
