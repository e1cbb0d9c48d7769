"""The frame around the pages: it is shown even if nothing can be opened."""

from collections.abc import Sequence
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pincite.core.domain.errors import StorageError
from pincite.core.domain.settings import PACKAGE_ROOT
from pincite.core.services.bootstrap import Pincite
from pincite.pages import PAGES


def test_every_page_module_is_registered() -> None:
    modules = {file.stem for file in (PACKAGE_ROOT / "pages").glob("*.py")} - {"__init__"}
    assert {page.module for page in PAGES} == modules


def test_navigation_and_reason_are_shown_when_data_cannot_be_opened(
    app: Pincite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> Pincite:
        raise StorageError("The folder cannot be used.", hint="Choose another.")

    offered: list[Sequence[Any]] = []
    navigation = st.navigation

    def noted(pages: Sequence[Any], **options: Any) -> object:
        offered.append(pages)
        return navigation(pages, **options)

    monkeypatch.setattr("pincite.pages.components.facade.pincite", refuse)
    monkeypatch.setattr(st, "navigation", noted)
    test = AppTest.from_file(str(PACKAGE_ROOT / "app.py")).run()
    assert [len(pages) for pages in offered] == [sum(not page.of_admins for page in PAGES)]
    assert [error.value for error in test.error] == ["**The folder cannot be used.** Choose another."]
    assert not test.exception
