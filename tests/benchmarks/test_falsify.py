"""True statements are accepted, however they are worded; the same statements with one thing changed are not."""

from benchmarks.falsify import measure, samples
from benchmarks.invented import invented


def test_hardly_one_changed_statement_is_accepted_and_hardly_a_true_one_refused() -> None:
    found = measure([*samples()[::2], *invented(12, seed=4)], seed=4)
    assert found["false"] > 300 and found["true"] > 100
    assert found["accepted"] <= 0.02, found["examples"]
    assert found["rejected"] <= 0.03, found["examples"]
