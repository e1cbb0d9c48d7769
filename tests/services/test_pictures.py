"""Pictures have addresses: small ones of first pages, and the lines that a citation quotes, with their words marked."""

import io

from PIL import Image
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pincite.core.documents.marking import MARK
from pincite.core.domain.answers import Citation
from pincite.core.services.bootstrap import Pincite
from pincite.web.pictures import page_address, picture_routes, quotation_address


def quoted(app: Pincite, words: str) -> Citation:
    (document,) = app.library.list()
    page = next(at for at in range(document.page_count) if words in app.library.page_text(document.id, at))
    start = app.library.page_text(document.id, page).index(words)
    return Citation(1, document.id, document.name, page, "", words, start, start + len(words))


def test_a_page_is_small_and_a_quotations_lines_are_marked(app: Pincite) -> None:
    (document,) = app.library.list()
    browser = TestClient(Starlette(routes=picture_routes(lambda claims: app)))
    page = Image.open(io.BytesIO(browser.get(page_address(document.id)).content))
    assert page.width < 100 and page.height > page.width
    shown = browser.get(quotation_address(quoted(app, "6.2 The Supplier may also charge")))
    lines = Image.open(io.BytesIO(shown.content))
    assert lines.width > 500 and lines.height < 100, "one line of the page, and not the page"
    assert MARK in [color for _, color in lines.getcolors(lines.width * lines.height) or []]
    assert shown.headers["Cache-Control"] == "no-store"


def test_what_is_no_picture_is_not_found(app: Pincite) -> None:
    (document,) = app.library.list()
    browser = TestClient(Starlette(routes=picture_routes(lambda claims: app)))
    here = f"/pictures/{document.id}"
    for address in ("/pictures/no-such/0", f"{here}/99", f"{here}/0?start=1", f"{here}/0?start=a&end=b", f"{here}/x"):
        assert browser.get(address).status_code == 404, address
