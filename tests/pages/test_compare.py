"""The page Compare in its states: too few documents, a choice, and two versions with what changed."""

from pincite.core.services.bootstrap import Pincite
from tests.pages.conftest import Screen
from tests.support.pdfs import prose

OLD = "The rent is EUR 2,750 a month. The tenant may keep a dog."
NEW = "The rent is EUR 2,950 a month. The tenant may keep a dog."


def add(app: Pincite) -> tuple[str, str]:
    older, newer = (
        app.ingest.add(prose([text]), name).document.id for name, text in (("rules-v1.pdf", OLD), ("rules-v2.pdf", NEW))
    )
    app.ingest.wait()
    return older, newer


def test_empty_page_says_what_is_needed(app: Pincite) -> None:
    screen = Screen("compare")
    assert "Two versions of a document side by side" in screen.words()
    screen.assert_sound()


def test_chosen_versions_are_compared_with_their_pages(app: Pincite) -> None:
    older, newer = add(app)
    screen = Screen("compare")
    assert "Choose the older and the newer version." in screen.words()
    screen.test.selectbox[0].set_value(older)
    screen.test.selectbox[1].set_value(newer).run()
    table = screen.test.dataframe[0].value
    assert list(table["About"]) == ["figure"] and table["Newer"][0] == "The rent is EUR 2,950 a month."
    words = screen.words()
    assert "The rent is :red[~~EUR 2,750~~] a month." in words and "is :green[**EUR 2,950**] a month." in words
    assert "1 of 1" in words
    assert words.count("Page 1 of 1") == 2
    screen.test.session_state["difference_at"] = 7
    screen.press("Swap the versions")
    assert "difference_at" not in screen.test.session_state, "another pair begins at its first change"
    assert screen.test.dataframe[0].value["Newer"][0] == "The rent is EUR 2,750 a month."
    screen.assert_sound()


def test_the_same_document_twice_is_explained(app: Pincite) -> None:
    older, _ = add(app)
    screen = Screen("compare")
    screen.test.selectbox[0].set_value(older)
    screen.test.selectbox[1].set_value(older).run()
    assert "no differences from itself" in screen.words()


def test_a_document_leads_to_what_changed_in_it(app: Pincite) -> None:
    older, newer = add(app)
    names = {row: one.id for row, one in enumerate(app.library.list())}
    shown = {}
    for row, document_id in names.items():
        screen = Screen("documents")
        screen.test.session_state["documents"] = {"selection": {"rows": [row], "columns": [], "cells": []}}
        screen.test.run()
        screen.assert_sound()
        shown[document_id] = "What changed?" in screen.words()
    assert shown == {older: False, newer: True}
