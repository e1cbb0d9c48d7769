"""One app for all attacks of a module: without a network, and at the end alive and without a traceback."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving import RunningApp, free_port, running_app, without_network
from tests.web.attacker import Attacker, let_in


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("app")


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[RunningApp]:
    environment = {**without_network(folder), "PINCITE_ENGINE": "quoting"}
    with running_app(folder, port=free_port(), environment=environment) as running:
        yield running
        assert running.process.poll() is None, "an attack ended the app"
        running.process.terminate()
        output = running.process.communicate(timeout=300)[0]
    assert "Traceback" not in output, output
    assert (folder / "network.log").read_text(encoding="utf-8") == "", "an attack made the app ask somebody outside"


@pytest.fixture(scope="module")
def inside(app: RunningApp) -> Attacker:
    """Somebody with the cookie, so that only what else is wrong keeps them out."""
    return let_in(app)
