"""No text holds the program longer than its length explains; `benchmarks.attacks.patterns` tries many more texts."""

from benchmarks.attacks import patterns
from core.documents.passages import split_pages
from core.domain.documents import Page, PageStatus


def test_a_page_of_one_endless_word_is_cut_without_recursion() -> None:
    page = Page(0, "1", "a" * 2_000_000, (), (), PageStatus.TEXT)
    assert len(list(split_pages([page], document_id="d", title=""))) > 2_000


def test_patterns_that_grew_faster_than_their_text_are_noticed() -> None:
    tasks = [("pattern", "exponential", ("(?:a|a)+$", 0, True)), ("pattern", "quadratic", (r"\s+$", 0, True))]
    suspects, untried = patterns.attack(tasks, float("inf"))
    assert [suspect.name for suspect in suspects] == ["exponential", "quadratic"] and not untried


def test_no_pattern_and_no_function_grows_faster_than_its_text() -> None:
    assert len(patterns.all_patterns()) > 150
    suspects, untried = patterns.short_run()
    assert not suspects and not untried, patterns.render_suspects(suspects)
