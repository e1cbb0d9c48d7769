"""The settings in four states: fresh, building an index, refused, saved."""

from dataclasses import replace

import pytest

from pincite.core.errors import ModelUnavailableError
from pincite.core.runtime import Pincite
from pincite.core.types import Document
from pincite.tests.pages.conftest import Screen


def test_empty_library_has_a_health_line_for_every_part(app: Pincite) -> None:
    screen = Screen("settings")
    for check in app.health():
        assert check.part in screen.words()
    assert str(app.settings.data_dir) in screen.words()
    screen.assert_sound()


def test_working_shows_the_index_that_is_being_built(
    app: Pincite, contract: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pincite.core.retrieval.indexes import BuildProgress

    monkeypatch.setattr(app.indexes, "progress", lambda: BuildProgress("ollama:nomic", 3, 12, "The server went away."))
    screen = Screen("settings")
    (bar,) = screen.test.get("progress")
    assert "3 of 12" in bar.proto.text
    assert "The server went away." in screen.words() and "Stop and keep the old index" in screen.words()
    screen.assert_sound()


def test_failed_change_says_why_and_changes_nothing(app: Pincite, monkeypatch: pytest.MonkeyPatch) -> None:
    app.settings = replace(app.settings, embedding_model="ollama:nomic-embed-text")

    def unreachable(name: str) -> None:
        raise ModelUnavailableError("The embedding model cannot be reached.", hint="Start its server.")

    monkeypatch.setattr(app.indexes, "switch_to", unreachable)
    screen = Screen("settings")
    screen.test.selectbox(key="embedder").set_value("minilm").run()
    screen.press("Switch")
    assert "The embedding model cannot be reached." in screen.words()
    assert app.settings.embedding_model == "ollama:nomic-embed-text"
    screen.assert_sound()


def test_done_settings_are_kept(app: Pincite) -> None:
    screen = Screen("settings")
    next(slider for slider in screen.test.slider if slider.label == "Review threshold").set_value(0.8).run()
    assert "catches about" in screen.words()
    screen.test.button(key="save_checking").click().run()
    assert app.settings.review_threshold == 0.8
    screen.assert_sound()


def test_the_reranker_is_fetched_only_when_asked(app: Pincite) -> None:
    screen = Screen("settings")
    assert "Download FlashRank" in screen.words() and "22 MB" in screen.words()
    assert not app.reranker_state().installed
    screen.assert_sound()
