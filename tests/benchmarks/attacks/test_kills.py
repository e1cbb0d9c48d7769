"""Promise: ``kill -9`` at any moment of whatever is done, start again, and nothing is lost, doubled or at odds."""

import pytest

from benchmarks.attacks import kills
from tests.support.databases import ENGINES

SHORT = ("retry", "purge", "review")


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_is_inconsistent_after_a_kill(
    request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str], engine: str
) -> None:
    server = request.getfixturevalue("postgresql_server") if engine == "postgresql" else ""
    result = kills.run(600, scenes=SHORT, most=1, server=server)
    assert result["inconsistent"] == 0, capfd.readouterr().err
    assert result["kills"] >= len(SHORT) // 2
