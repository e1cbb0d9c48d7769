"""Promise: ``kill -9`` at any moment of whatever is done, start again, and nothing is lost, doubled or at odds."""

import pytest

from benchmarks.attacks import kills

SHORT = ("retry", "purge", "review")


def test_nothing_is_inconsistent_after_a_kill(capfd: pytest.CaptureFixture[str]) -> None:
    result = kills.run(600, scenes=SHORT, most=1)
    assert result["inconsistent"] == 0, capfd.readouterr().err
    assert result["kills"] >= len(SHORT) // 2
