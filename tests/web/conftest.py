"""One app for all attacks of a module: without a network, and at the end alive and without a traceback."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pincite.core.domain.settings import Settings
from pincite.core.domain.tokens import Permission
from pincite.core.store.sqlite import SqliteDatabase
from pincite.core.store.tokens import Tokens
from tests.serving import RunningApp, free_port, running_app, without_network
from tests.support.waiting import wait_until
from tests.web.attacker import Attacker, let_in

SECONDS = 120.0


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


def opened_tokens(folder: Path) -> "closing[SqliteDatabase]":
    path = Settings(data_dir=folder / "data").database_path
    wait_until(path.exists, SECONDS)
    return closing(SqliteDatabase(path))


@pytest.fixture(scope="module")
def make_token(app: RunningApp, folder: Path) -> Callable[..., str]:
    def make(*permissions: Permission) -> str:
        with opened_tokens(folder) as database:
            return Tokens(database).create("test", permissions)[1]

    return make
