"""A full disk ends in sentences and loses nothing: one size of disk; the campaign tries six."""

from benchmarks.attacks.disk_full import campaign


def test_a_full_disk_ends_in_sentences_and_loses_nothing() -> None:
    [level] = campaign(600, [200])
    assert (level.tracebacks, level.lost, level.hung) == ([], [], False)
