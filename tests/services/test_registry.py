"""What the registry promises: a provider is one module and one line, as the contributor's guide shows it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pincite.core.domain.errors import ModelUnavailableError, SettingsError
from pincite.core.domain.plugins import Group, plugins
from pincite.core.domain.ports import AnswerRequest, ChatModel
from pincite.core.domain.search import Intent
from pincite.core.domain.settings import PACKAGE_ROOT, Settings
from pincite.core.services import registry
from pincite.core.services.registry import choose_engine, look_for_engines, make_embedder

GUIDE = PACKAGE_ROOT / "CONTRIBUTING.md"
NOBODY = "http://127.0.0.1:9"


@pytest.fixture
def guide(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Everything that the guide's Python makes, once its provider and its embedder are registered."""
    monkeypatch.setattr(registry, "EMBEDDERS", dict(registry.EMBEDDERS))
    made: dict[str, Any] = {"EMBEDDERS": registry.EMBEDDERS}
    for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL):
        if re.match(r"# core/models/|EMBEDDERS", block):
            exec(compile(block, str(GUIDE), "exec"), made)
    with_guide = {**plugins(Group.PROVIDERS), "echo": made["EchoProvider"]()}
    monkeypatch.setattr(registry, "plugins", lambda group: with_guide)
    return made


def choosing(tmp_path: Path, engine: str) -> Settings:
    return Settings(data_dir=tmp_path, engine=engine, ollama_host=NOBODY)


def text_of(model: ChatModel) -> str:
    return "".join(map(str, model.answer(AnswerRequest("How late?", Intent.CHAT), lambda: False)))


def test_the_guides_chat_provider_answers(guide: dict[str, Any], tmp_path: Path) -> None:
    assert text_of(choose_engine(choosing(tmp_path, "echo:soft"))) == "How late? "
    assert text_of(choose_engine(choosing(tmp_path, "echo"))) == "HOW LATE? "
    assert choose_engine(choosing(tmp_path, "quoting"), "echo:soft").name == "echo:soft"
    with pytest.raises(ModelUnavailableError, match="no chat model called whispered"):
        choose_engine(choosing(tmp_path, "echo:whispered"))


def test_auto_goes_on_to_the_provider_that_answers(guide: dict[str, Any], tmp_path: Path) -> None:
    settings = choosing(tmp_path, "auto")
    assert choose_engine(settings).name == "echo:loud"
    state = look_for_engines(settings)
    assert (state.name, state.model, state.models) == ("echo", "loud", ("loud", "soft"))
    assert "sent" not in state.message


@pytest.mark.parametrize(("sizes", "chosen"), [((135, 4000), "second"), ((0, 4000), "first"), ((135,), "")])
def test_auto_chooses_no_model_reported_as_small(
    sizes: Sequence[int], chosen: str, guide: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = {name: size * 1_000_000 for name, size in zip(("first", "second"), sizes, strict=False)}
    monkeypatch.setattr(guide["EchoProvider"], "models", lambda self, settings: offered)
    state = look_for_engines(choosing(tmp_path, "auto"))
    assert state.model == chosen and state.models == tuple(offered) and state.available
    assert chosen or ("billion" in state.message and state.hint)
    assert look_for_engines(choosing(tmp_path, "echo")).model == "first"


def test_the_guides_embedder_embeds(guide: dict[str, Any], tmp_path: Path) -> None:
    embedder = make_embedder("letters", Settings(data_dir=tmp_path))
    vectors = embedder.embed(["late", "tale", ""])
    assert vectors.shape == (3, embedder.dimensions)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    assert vectors[0] == pytest.approx(vectors[1])


@pytest.mark.parametrize("engine", ["mystery", "mystery:model", ""])
def test_a_provider_that_is_not_known_is_named(engine: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="engine cannot be"):
        choose_engine(replace_engine(tmp_path, engine))


def replace_engine(tmp_path: Path, engine: str) -> Settings:
    return Settings(data_dir=tmp_path, engine=engine)
