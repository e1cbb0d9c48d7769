"""A true sentence is accepted; the same with one figure, date, unit, currency, name or negation changed is not."""

from benchmarks.falsify import measure, samples, written


def test_hardly_one_changed_sentence_is_accepted_and_hardly_a_true_one_refused() -> None:
    found = measure([*samples()[::2], *written(12, seed=4)], seed=4)
    assert found["changed"] > 300 and found["unchanged"] > 60
    assert found["accepted"] <= 0.02, found["examples"]
    assert found["rejected"] <= 0.03
