"""What the documents name is there: files, tests and commands; and so are the files that comments of settings name."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pincite.core.domain.settings import PACKAGE_ROOT
from tests.support.behaviours import PAGE, render_page

PAGES = sorted([PACKAGE_ROOT / "README.md", PACKAGE_ROOT / "CONTRIBUTING.md", *(PACKAGE_ROOT / "docs").glob("*.md")])
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
_PATH = re.compile(r"`((?:core|pages|tests|benchmarks|training|commands|web|docs|data|\.ci|\.streamlit)/[\w./-]+)`")
_COMMAND = re.compile(r"python -m (benchmarks|training) ([\w-]+)")


def _missing(page: Path) -> Iterator[str]:
    text = page.read_text(encoding="utf-8")
    for file, name in _TEST.findall(text):
        if f"def {name}(" not in (PACKAGE_ROOT / file).read_text(encoding="utf-8"):
            yield f"{file}::{name}"
    yield from (path for path in _PATH.findall(text) if not (PACKAGE_ROOT / path.rstrip("/")).exists())
    for package, name in _COMMAND.findall(text):
        if not (PACKAGE_ROOT / package / f"{name.replace('-', '_')}.py").exists():
            yield f"{package} {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_is_there(page: Path) -> None:
    assert list(_missing(page)) == []


def test_what_settings_and_migrations_name_is_there() -> None:
    for page in (PACKAGE_ROOT / ".streamlit" / "config.toml", *(PACKAGE_ROOT / "core").rglob("*.sql")):
        named = re.findall(r"\b((?:core|pages|web|docs)/[\w/-]+\.(?:py|md))\b", page.read_text("utf-8"))
        assert [path for path in named if not (PACKAGE_ROOT / path).exists()] == [], page.name


def test_the_page_of_behaviours_is_made_from_the_tests() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_page(), "run python -m tests.support.behaviours"


def test_every_page_is_reached_from_the_readme() -> None:
    linked = {name for page in PAGES for name in re.findall(r"\((?:docs/)?([\w-]+\.md)\)", page.read_text("utf-8"))}
    assert {page.name for page in PAGES} - linked - {"README.md"} == set()
