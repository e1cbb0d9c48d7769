"""Promises about several processes on one data directory: what one changes, every other one sees at once."""

from benchmarks.attacks import processes


def test_what_one_process_changes_the_others_see() -> None:
    counted = processes.run(0)
    assert counted["processes"] >= 3 and counted["changes"] >= 6 and counted["looks"] >= 24
    assert counted["stale"] == counted["errors"] == 0
