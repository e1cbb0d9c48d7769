"""What may leave this machine: nothing before it was allowed, and no key but out of a keyring or the environment."""

from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend

from pincite.core.domain.errors import ModelUnavailableError, SettingsError
from pincite.core.domain.settings import Settings
from pincite.core.models.keys import CHAT_KEY, EMBEDDING_KEY, keep_key, key_for
from pincite.core.services.registry import choose_engine, look_for_engines, make_embedder
from tests.model_servers import Script, fake_openai_server

HOSTED = "https://api.example.com:443/v1"


class Kept(KeyringBackend):
    """A keyring in memory."""

    priority = 5

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def ring() -> Iterator[Kept]:
    before = keyring.get_keyring()
    kept = Kept()
    keyring.set_keyring(kept)
    yield kept
    keyring.set_keyring(before)


def chosen(tmp_path: Path, **more: str) -> Settings:
    return Settings(data_dir=tmp_path, engine="openai", ollama_host="http://127.0.0.1:9").but(**more)


@pytest.mark.parametrize("engine", ["openai", "auto"])
def test_a_hosted_address_is_named_and_asked_nothing(tmp_path: Path, engine: str) -> None:
    state = look_for_engines(chosen(tmp_path, engine=engine, openai_address="https://api.example.com"))
    assert not state.available and state.asks_to_send_to == HOSTED
    assert state.message.startswith(f"This sends your questions and passages to {HOSTED}")
    with pytest.raises(ModelUnavailableError, match="This sends your questions"):
        choose_engine(chosen(tmp_path, openai_address="https://api.example.com"))


def test_ollama_on_another_machine_is_asked_nothing_either(tmp_path: Path) -> None:
    state = look_for_engines(chosen(tmp_path, engine="ollama", ollama_host="http://big.example:11434"))
    assert state.asks_to_send_to == "http://big.example:11434"


def test_texts_are_not_embedded_elsewhere_unasked(tmp_path: Path) -> None:
    for name in ("openai:small", "ollama:small"):
        settings = chosen(tmp_path, embedding_address="https://vectors.example/v1")
        with pytest.raises(ModelUnavailableError, match=r"This sends .* to https://vectors\.example:443/v1"):
            make_embedder(name, settings).embed(["one"])


def test_what_was_allowed_is_allowed_for_that_address_alone(tmp_path: Path) -> None:
    settings = chosen(tmp_path, allowed_addresses=f"{HOSTED} http://big.example:11434")
    assert settings.may_send(HOSTED) and settings.may_send("http://127.0.0.1:1/v1") and settings.may_send("")
    assert not settings.may_send("https://api.example.com:443/v2") and not settings.may_send("http://big.example:80")


def test_without_an_address_no_such_server_is_asked(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="No OpenAI-compatible server is set up"):
        choose_engine(chosen(tmp_path))
    with pytest.raises(ModelUnavailableError, match="No OpenAI-compatible server is set up"):
        make_embedder("openai:small", chosen(tmp_path)).embed(["one"])


def test_a_server_of_ones_own_is_chosen_by_its_address(tmp_path: Path) -> None:
    with fake_openai_server(Script()) as script:
        settings = chosen(tmp_path, openai_address=script.address)
        assert look_for_engines(settings).models == ("m",)
        assert choose_engine(settings).name == "openai:m"
        assert choose_engine(settings.but(engine="openai:m")).name == "openai:m"
        assert choose_engine(settings.but(engine="auto")).name == "openai:m"
        with pytest.raises(ModelUnavailableError, match="no chat model called other"):
            choose_engine(settings.but(openai_model="other"))


def test_each_key_goes_to_the_server_that_it_is_for(
    tmp_path: Path, ring: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CHAT_KEY, "sk-chat")
    with fake_openai_server(Script()) as chat, fake_openai_server(Script()) as vectors:
        settings = chosen(tmp_path, openai_address=chat.address, embedding_address=vectors.address)
        look_for_engines(settings)
        make_embedder("openai:small", settings).embed(["one"])
        monkeypatch.setenv(EMBEDDING_KEY, "sk-vectors")
        make_embedder("openai:small", settings).embed(["one"])
        keep_key(vectors.address, "sk-kept")
        monkeypatch.delenv(EMBEDDING_KEY)
        make_embedder("openai:small", settings).embed(["one"])
        assert chat.seen[0][1]["authorization"] == "Bearer sk-chat"
        sent = [headers.get("authorization") for _, headers, _ in vectors.seen]
        assert sent == [None, "Bearer sk-vectors", "Bearer sk-kept"]


def test_a_key_is_kept_in_the_keyring_and_forgotten_again(ring: Kept) -> None:
    keep_key(HOSTED, "sk-secret")
    assert key_for(HOSTED, CHAT_KEY) == "sk-secret" and key_for("https://other:443/v1", CHAT_KEY) == ""
    keep_key(HOSTED, "")
    keep_key(HOSTED, "")
    assert key_for(HOSTED, CHAT_KEY) == "" and ring.kept == {}


def test_without_a_safe_keyring_a_key_is_not_kept(ring: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kept, "priority", 0.5)
    with pytest.raises(SettingsError, match="has no keyring") as caught:
        keep_key(HOSTED, "sk-secret")
    assert CHAT_KEY in caught.value.hint and ring.kept == {} and key_for(HOSTED, CHAT_KEY) == ""
