"""Plug-ins: found by their entry points, held to the contracts of Pincite's own parts, and left out where they fail."""

import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from pincite.core.domain.documents import all_endings
from pincite.core.domain.errors import PinciteError
from pincite.core.domain.plugins import Group, added, plugins
from pincite.core.domain.settings import PACKAGE_ROOT, Settings
from pincite.core.judge.checks import check_claim
from pincite.core.judge.sources import Sources
from pincite.core.services.bootstrap import open_pincite
from pincite.core.services.contracts import check_check, check_export, check_format, check_provider
from pincite.core.services.exports import export_forms

EXAMPLE = PACKAGE_ROOT / "docs" / "plugin-example"
FILES = PACKAGE_ROOT / "tests" / "documents" / "files"
CALENDAR = (
    b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Hearing of Lee\r\nDTSTART:20270312T090000\r\n"
    b"LOCATION:Court 4\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)
SAMPLES = {
    "epub": ["agreement.epub"], "html": ["agreement.html"], "odt": ["agreement.odt"], "rtf": ["agreement.rtf"],
    "sheets": ["budget.xlsx"], "slides": ["results.pptx"],
}  # fmt: skip
TEXTS = {
    "mail": ("a.eml", b"Subject: Rent\n\nThe rent is 900 euros."), "markdown": ("a.md", b"# Rent\n\n900 euros"),
    "plain": ("a.txt", b"The rent is 900 euros."),
    "picture": ("a.gif", b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00"
                         b"\x00\x02\x02D\x01\x00;"),
}  # fmt: skip


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example package as it is installed, and a broken one."""
    described = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))
    groups = described["project"]["entry-points"]
    failing = {"pincite.formats": {"broken": "no.such.module"}, "pincite.checks": {"failing": "builtins:len"}}
    for name, points in (("pincite_calendar", groups), ("broken", failing)):
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in inside.items())
                 for group, inside in points.items()]  # fmt: skip
        (folder / "entry_points.txt").write_text("\n".join(lines))
    for path in (tmp_path, EXAMPLE):
        monkeypatch.syspath_prepend(str(path))
    plugins.cache_clear()
    added.cache_clear()
    yield
    plugins.cache_clear()
    added.cache_clear()
    for name in [one for one in sys.modules if one.startswith("pincite_calendar")]:
        del sys.modules[name]


@pytest.mark.parametrize("name", sorted({*SAMPLES, *TEXTS}))
def test_own_formats_keep_the_contract(name: str) -> None:
    samples = {file: (FILES / file).read_bytes() for file in SAMPLES.get(name, [])}
    check_format(plugins(Group.FORMATS)[name], samples | dict([TEXTS[name]] if name in TEXTS else []))


def test_an_installation_without_its_own_parts_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = EntryPoint("calendar", "pincite_calendar:calendars", Group.FORMATS)
    monkeypatch.setattr("pincite.core.domain.plugins.entry_points", lambda group: [foreign])
    plugins.cache_clear()
    try:
        with pytest.raises(PinciteError, match="not installed completely"):
            plugins(Group.FORMATS)
    finally:
        plugins.cache_clear()


def test_other_own_parts_keep_their_contracts() -> None:
    assert {*plugins(Group.FORMATS)} == {*SAMPLES, *TEXTS, "word"} and added(Group.FORMATS) == {}
    for export in export_forms().values():
        check_export(export)
    for check in plugins(Group.CHECKS).values():
        check_check(check)
    for provider in plugins(Group.PROVIDERS).values():
        check_provider(provider)
    assert [*plugins(Group.PROVIDERS)] == ["ollama", "openai"]


@pytest.mark.behaviour("Other programs", "Another package adds formats, checks and exports, by entry points.")
def test_the_example_adds_a_format_a_check_and_an_export(
    example: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    check_format(plugins(Group.FORMATS)["calendar"], {"may.ics": CALENDAR})
    assert "The plug-in broken" in caplog.text and ".ics" in all_endings()
    check_export(export_forms()[".csv"])
    check_check(plugins(Group.CHECKS)["weekdays"])
    wrong = check_claim("It is heard on Monday, 2027-03-12.", Sources.of(["It is heard on Monday, 2027-03-12."]))
    assert [finding.detail for finding in wrong] == ["2027-03-12 is a Friday"]
    assert "The plug-in failing of the group pincite.checks failed" in caplog.text
    settings = Settings(data_dir=tmp_path / "data", engine="quoting", ocr=False, page_seconds=29)  # a reader of its own
    with closing(open_pincite(settings)) as app:
        document = app.ingest.add(CALENDAR, "may.ics").document
        app.ingest.wait([document.id])
        assert "Place: Court 4" in app.library.page_text(document.id, 0)
        session = app.sessions.create(document_ids=[document.id])
        turn = app.runner.wait(app.runner.ask(session.id, "Where is the hearing of Lee?"), 60).turn
        assert b"may.ics" in app.exports.of_turn(turn.id, ".csv")
