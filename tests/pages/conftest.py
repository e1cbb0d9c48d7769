"""The real runtime on an empty data directory, behind pages that run without a browser."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from pincite.core.domain.documents import Document
from pincite.core.domain.ports import ChatModel
from pincite.core.domain.search import Mode
from pincite.core.domain.settings import PACKAGE_ROOT
from pincite.core.domain.turns import Turn
from pincite.core.services.bootstrap import Pincite
from pincite.core.services.suggestions import Suggestions
from pincite.pages.components.facade import pincite
from tests.graph.world import ScriptedModel

PENALTIES = "What is the penalty for late payment?"
WRONG = "The late payment penalty is 9 % of the overdue amount per week [1]."
SECONDS = 300


@pytest.fixture(autouse=True, scope="session")
def _components_looked_for_once() -> Iterator[None]:
    """Streamlit's AppTest scans every installed package for components again for each screen; scan once instead."""
    with pytest.MonkeyPatch.context() as patch:
        found = manifest_scanner.scan_component_manifests()
        patch.setattr(manifest_scanner, "scan_component_manifests", lambda *args, **options: found)
        yield


@pytest.fixture
def suggestions() -> None:
    """For tests of what a new conversation suggests."""


@pytest.fixture(autouse=True)
def _suggests_nothing(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """To suggest three questions, a new conversation asks a dozen; in other tests these would run in the background."""
    if "suggestions" not in request.fixturenames:
        monkeypatch.setattr(Suggestions, "of", lambda self, documents: ())
        monkeypatch.setattr(Suggestions, "known", lambda self, documents: True)


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Pincite]:
    """On an empty data directory, or on one with the contract where a test asks for that."""
    if "contract" in request.fixturenames:
        shutil.copytree(request.getfixturevalue("contract_library"), tmp_path / "data")
    monkeypatch.setenv("PINCITE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("PINCITE_ENGINE", "quoting")
    st.cache_data.clear()
    opened = pincite()
    yield opened
    opened.close()


class Screen:
    """One page in the frame, as a user opens it."""

    def __init__(self, page: str, /, **query: str) -> None:
        self.test = AppTest.from_file(str(PACKAGE_ROOT / "app.py"), default_timeout=SECONDS)
        if page != "chat":
            self.test.run().switch_page(f"pages/{page}.py")
        for name, value in query.items():
            self.test.query_params[name] = value
        self.test.run()

    def words(self) -> str:
        """Everything there is to read, without the backslashes that keep it from being Markdown."""
        kinds = ("markdown", "caption", "info", "warning", "error", "success", "header", "subheader")
        values = [str(element.value) for kind in kinds for element in getattr(self.test, kind)]
        labels = [
            str(element.label) for kind in ("expander", "button", "status") for element in getattr(self.test, kind)
        ]
        labels += [block.proto.popover.label for block in self.test.get("popover")]
        return re.sub(r"\\([^\w\s])", r"\1", "\n".join([*values, *labels])).replace("\u2060", "")

    def press(self, label: str) -> None:
        next(button for button in self.test.button if label in button.label.replace("\\", "")).click().run()

    def assert_sound(self) -> None:
        assert not self.test.exception, [str(shown.message) for shown in self.test.exception]


@pytest.fixture
def contract(app: Pincite) -> Document:
    """The sample contract, read to its end."""
    [document] = app.library.list()
    return document


Ask = Callable[..., Turn]


@pytest.fixture
def ask(app: Pincite) -> Ask:
    """Ask in a new session and wait for the end."""

    def put(question: str = PENALTIES, mode: Mode = Mode.AUTO) -> Turn:
        turn_id = app.runner.ask(app.sessions.create().id, question, mode=mode)
        turn = app.runner.wait(turn_id, SECONDS).turn
        assert turn.finished_at, "the turn did not end in time"
        return turn

    return put


@pytest.fixture
def speak(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ScriptedModel]:
    """Let a scripted model write the answers."""

    def scripted(*answers: str | Exception) -> ScriptedModel:
        model = ScriptedModel(*answers)

        def choose(settings: object, asked: str | None = None) -> ChatModel:
            return model

        monkeypatch.setattr("pincite.core.services.bootstrap.choose_engine", choose)
        return model

    return scripted
