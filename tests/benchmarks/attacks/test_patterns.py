"""No text holds the program longer than its length explains; `benchmarks.attacks.patterns` tries many more texts."""

from benchmarks.attacks import patterns


def test_patterns_that_grew_faster_than_their_text_are_noticed() -> None:
    tasks = [("pattern", "exponential", ("(?:a|a)+$", 0, True)), ("pattern", "quadratic", (r"\s+$", 0, True))]
    suspects, untried = patterns.attack(tasks, float("inf"))
    assert [suspect.name for suspect in suspects] == ["exponential", "quadratic"] and not untried


def test_no_pattern_and_no_function_grows_faster_than_its_text() -> None:
    assert len(patterns.all_patterns()) > 150
    suspects, untried = patterns.short_run()
    assert not suspects and not untried, patterns.render_suspects(suspects)
