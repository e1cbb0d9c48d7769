"""The settings in four states: fresh, building an index, refused, saved."""

import json
from collections.abc import Callable

import keyring
import pytest
from keyring.backends import fail

from pincite.core.domain.documents import Document
from pincite.core.domain.errors import ModelUnavailableError, StorageError
from pincite.core.domain.settings import load_settings
from pincite.core.domain.tokens import PREFIX, Permission
from pincite.core.services.bootstrap import Pincite
from tests.pages.conftest import Screen


def test_empty_library_has_a_health_line_for_every_part(app: Pincite) -> None:
    screen = Screen("settings")
    for check in app.health.checks():
        assert check.part in screen.words()
    assert str(app.settings.current.data_dir) in screen.words()
    screen.assert_sound()


def test_working_shows_the_index_that_is_being_built(
    app: Pincite, contract: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pincite.core.store.indexes import BuildProgress

    monkeypatch.setattr(app.indexes, "progress", lambda: BuildProgress("ollama:nomic", 3, 12, "The server went away."))
    screen = Screen("settings")
    (bar,) = screen.test.get("progress")
    assert "3 of 12" in bar.proto.text
    assert "The server went away." in screen.words() and "Stop and keep the old index" in screen.words()
    screen.assert_sound()


def test_failed_change_shows_the_reason_and_changes_nothing(app: Pincite, monkeypatch: pytest.MonkeyPatch) -> None:
    app.settings._current = app.settings.current.but(embedding_model="ollama:nomic-embed-text")

    def unreachable(name: str, *, together_with: Callable[[], None]) -> None:
        raise ModelUnavailableError("The embedding model cannot be reached.", hint="Start its server.")

    monkeypatch.setattr(app.indexes, "switch_to", unreachable)
    screen = Screen("settings")
    screen.test.selectbox(key="embedder").set_value("minilm").run()
    screen.press("Switch")
    assert "The embedding model cannot be reached." in screen.words()
    assert app.settings.current.embedding_model == "ollama:nomic-embed-text"
    screen.assert_sound()


def test_old_index_with_unreachable_model_is_reported(app: Pincite, monkeypatch: pytest.MonkeyPatch) -> None:
    from pincite.core.store.indexes import BuildProgress

    def unreachable() -> bool:
        raise ModelUnavailableError("The embedding model cannot be reached.", hint="Start its server.")

    monkeypatch.setattr(app.indexes, "progress", lambda: BuildProgress("ollama:nomic", 3, 12, ""))
    monkeypatch.setattr(app.settings, "roll_back_embedding", unreachable)
    screen = Screen("settings")
    screen.press("Stop and keep the old index")
    assert "The embedding model cannot be reached." in screen.words()
    screen.assert_sound()


def test_done_settings_are_kept(app: Pincite) -> None:
    screen = Screen("settings")
    next(slider for slider in screen.test.slider if slider.label == "Review threshold").set_value(0.8).run()
    assert "catches about" in screen.words()
    screen.test.button(key="save_checking").click().run()
    assert app.settings.current.review_threshold == 0.8
    screen.assert_sound()


def test_the_reranker_is_fetched_only_when_asked(app: Pincite) -> None:
    screen = Screen("settings")
    assert "Download FlashRank" in screen.words() and "22 MB" in screen.words()
    assert not app.search.reranker_state().installed
    screen.assert_sound()


def test_error_after_a_button_click_is_shown_on_the_page(app: Pincite, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**changes: object) -> None:
        raise StorageError("The settings could not be kept.", hint="Free some space.")

    monkeypatch.setattr(app.settings, "change", refuse)
    screen = Screen("settings")
    screen.test.button(key="save_checking").click().run()
    assert [error.value for error in screen.test.error] == ["**The settings could not be kept.** Free some space."]
    screen.assert_sound()


def test_only_what_was_changed_is_saved(app: Pincite, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a variable sets would else hold on as a choice when the variable is gone."""
    monkeypatch.setenv("PINCITE_KEPT", "7")
    app.settings._current = load_settings()
    screen = Screen("settings")
    [kept] = [number for number in screen.test.number_input if number.label == "Passages kept"]
    assert (kept.value, kept.disabled) == (7, True) and "PINCITE_KEPT" in screen.words()
    next(number for number in screen.test.number_input if number.label == "Candidates").set_value(41)
    next(button for button in screen.test.button if button.label == "Save" and button.form_id == "search").click().run()
    assert app.settings.current.candidates == 41 and app.settings.current.kept == 7
    assert json.loads(app.settings.current.choices_path.read_text(encoding="utf-8")) == {"candidates": 41}
    screen.assert_sound()


def test_an_address_elsewhere_waits_for_a_yes_that_can_be_taken_back(app: Pincite) -> None:
    app.settings.change(ollama_host="http://127.0.0.1:9", openai_address="http://nobody.invalid:9/v1")
    screen = Screen("settings")
    assert "This sends your questions and passages to http://nobody.invalid:9/v1" in screen.words()
    assert "Nothing has been sent so far." in screen.words()
    screen.press("Allow")
    assert app.engines.allowed == ("http://nobody.invalid:9/v1",)
    assert "may be sent to `http://nobody.invalid:9/v1`" in screen.words()
    screen.press("Revoke")
    assert not app.engines.allowed and "This sends your questions" in screen.words()
    screen.assert_sound()


def test_a_key_that_no_keyring_takes_is_not_kept_anywhere(app: Pincite) -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())  # type: ignore[no-untyped-call]
    try:
        screen = Screen("settings")
        fields = {field.label: field for field in screen.test.text_input}
        fields["Address of an OpenAI-compatible server"].set_value("http://127.0.0.1:9/v1")
        fields["API key"].set_value("sk-secret")
        screen.test.button(key="save_openai").click().run()
        assert "has no keyring" in screen.words() and app.settings.current.openai_address == ""
        kept = [path for path in app.settings.current.data_dir.rglob("*") if path.is_file()]
        assert kept and not [path for path in kept if b"sk-secret" in path.read_bytes()]
        screen.assert_sound()
    finally:
        keyring.set_keyring(before)


def test_a_token_is_shown_once_and_can_be_revoked(app: Pincite) -> None:
    screen = Screen("settings")
    screen.press("Create a token")
    assert "A token needs a name and at least one permission." in screen.words() and app.tokens.list() == []
    next(field for field in screen.test.text_input if field.label == "Name of the program").set_value("Open WebUI")
    screen.press("Create a token")
    [token] = app.tokens.list()
    assert token.name == "Open WebUI" and token.permissions == {Permission.READ, Permission.ASK}
    secret = next(code.value for code in screen.test.code if code.value.startswith(PREFIX))
    admitted = app.tokens.admitted(secret)
    assert admitted is not None and "never used" in screen.words()
    app.tokens.note_use(admitted)
    screen.press("Done")
    assert not [code for code in screen.test.code if code.value.startswith(PREFIX)], "it is not shown again"
    assert "last used" in screen.words()
    screen.press("Revoke")
    screen.test.button(key="confirm_delete").click().run()
    assert app.tokens.list() == [] and app.tokens.admitted(secret) is None
    screen.assert_sound()


def test_a_library_on_a_server_is_not_said_to_be_backed_up(app: Pincite) -> None:
    assert "Back up every day" in {toggle.label for toggle in Screen("settings").test.toggle}
    app.settings._current = app.settings.current.but(database_url="postgresql://host/pincite")
    screen = Screen("settings")
    assert "Back up every day" not in {toggle.label for toggle in screen.test.toggle}
    assert "back up the database with its own tools" in screen.words()
