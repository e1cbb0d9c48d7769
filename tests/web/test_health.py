"""``/healthz`` says that the process lives, ``/readyz`` that the library can be read; other paths go on to the app."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from pincite.core.domain.errors import StorageError
from pincite.core.services.bootstrap import Pincite
from pincite.web.health import HealthChecks


def _client(reachable: Any, metrics: bytes | None = None) -> TestClient:
    telemetry = SimpleNamespace(page=lambda: metrics)
    pincite = cast(Pincite, SimpleNamespace(health=SimpleNamespace(reachable=reachable), telemetry=telemetry))
    return TestClient(HealthChecks(PlainTextResponse("the app", 403), lambda: pincite))


@pytest.mark.parametrize(("path", "said"), [("/healthz", "alive"), ("/readyz", "ready")])
def test_a_library_that_can_be_read_is_ready(path: str, said: str) -> None:
    answer = _client(lambda: None).get(path)
    assert (answer.status_code, answer.text) == (200, said)
    assert answer.headers["x-frame-options"] == "DENY" and answer.headers["cache-control"] == "no-store"


def test_a_process_without_its_database_lives_but_is_not_ready() -> None:
    def gone() -> None:
        raise StorageError("The database cannot be used.")

    client = _client(gone)
    assert client.get("/healthz").status_code == 200
    assert (client.get("/readyz").status_code, client.get("/readyz").text) == (503, "not ready")


@pytest.mark.parametrize("path", ["/", "/healthz/", "/readyz/x", "/HEALTHZ"])
def test_all_else_goes_on_to_the_app(path: str) -> None:
    assert _client(lambda: None).get(path).text == "the app"
    assert _client(lambda: None).post("/readyz").text == "the app"


def test_metrics_are_there_only_where_they_are_on() -> None:
    assert _client(lambda: None, b"pincite_turns 1").get("/metrics").text == "pincite_turns 1"
    assert _client(lambda: None).get("/metrics").text == "the app"
