"""An overview states what a document is, quotes its own summary, and outlines it; a named place is quoted whole."""

from dataclasses import replace

from pincite.core.answers.overviews import MAX_PLACES, overview_quotes
from pincite.core.domain.answers import PartKind
from pincite.core.domain.documents import Passage
from pincite.core.domain.search import Evidence, Reason


def item(number: int, *, of: str = "a", reason: Reason = Reason.SECTION) -> Evidence:
    text = f"Section {number} says what the parties owe each other in case {number}. More follows."
    passage = Passage(f"{of}:{number}:0", of, number, "", text, 0, len(text), (f"{number} Duties",))
    return Evidence(number, passage, f"{of}.pdf", {}, reason, about="contract · 20 pages")


def test_a_document_is_named_summed_up_by_itself_and_outlined_from_all_over_it() -> None:
    evidence = [item(number) for number in range(1, 21)]
    evidence[18] = replace(evidence[18], reason=Reason.SUMMARY)
    about, summary, *outline = overview_quotes(evidence)
    assert (about.kind, about.text) == (PartKind.NOTE, "a.pdf: contract · 20 pages")
    assert summary.text == evidence[18].passage.text and summary.numbers == (19,), "whole, before the outline"
    numbers = [part.numbers[0] for part in outline if part.verbatim]
    assert len(numbers) == MAX_PLACES and numbers == sorted(numbers) and 19 not in numbers
    assert all(any(start <= number < start + 7 for number in numbers) for start in (1, 8, 14))
    assert [part.text for part in outline if part.kind is PartKind.NOTE] == [f"{number} Duties:" for number in numbers]


def test_what_has_no_summary_is_quoted_from_its_beginning() -> None:
    _, begun, *outline = overview_quotes([item(number) for number in range(1, 4)])
    assert begun.text == item(1).passage.text
    assert [part.numbers for part in outline if part.verbatim] == [(2,), (3,)]


def test_each_document_has_its_say_and_named_places_are_quoted_from_the_first() -> None:
    several = [item(number, of=of) for number, of in enumerate("aaaaaaaaab", start=1)]
    parts = overview_quotes(several)
    assert [part.text for part in parts if ".pdf" in part.text] == [f"{of}.pdf: contract · 20 pages" for of in "ab"]
    assert {part.numbers[0] for part in parts if part.verbatim} >= {1, 10}
    named = [item(number, reason=Reason.NAMED) for number in range(1, 12)]
    assert [lead.numbers[0] for lead in overview_quotes(named)] == list(range(1, MAX_PLACES + 1))
