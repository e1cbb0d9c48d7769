"""A few damages of a data directory, each of another kind; the campaign tries all."""

from benchmarks.attacks.damages import campaign

SHORT = (
    "pincite.db: missing",
    "pincite.db: flipped at the start",
    "checkpoints.db: cut",
    "settings.json: empty",
    "ingest.lock: a folder",
)


def test_damages_lose_nothing_without_a_word_and_show_no_traceback() -> None:
    outcomes = list(campaign(600, SHORT))
    assert {outcome.name for outcome in outcomes} == set(SHORT)
    assert [outcome for outcome in outcomes if outcome.silent or outcome.tracebacks] == []
