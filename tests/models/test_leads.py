"""Overviews come from all over the documents, in reading order; a place that is named is quoted from its beginning."""

from dataclasses import replace

from core.domain.documents import Passage
from core.domain.search import Evidence, Reason
from core.models.leads import MOST_LEADS, lead_quotes


def item(number: int, *, of: str = "a", reason: Reason = Reason.SECTION) -> Evidence:
    text = f"Section {number} says what the parties owe each other in case {number}. More follows."
    return Evidence(number, Passage(f"{of}:{number}:0", of, number, "", text, 0, len(text)), f"{of}.pdf", {}, reason)


def test_an_overview_of_a_long_document_comes_from_all_over_it_in_reading_order() -> None:
    evidence = [item(number) for number in range(1, 21)]
    evidence[18] = replace(evidence[18], reason=Reason.SUMMARY)
    numbers = [lead.numbers[0] for lead in lead_quotes(evidence)]
    assert len(numbers) == MOST_LEADS and numbers == sorted(numbers) and {1, 19} < set(numbers)
    assert all(any(start <= number < start + 7 for number in numbers) for start in (1, 8, 14))


def test_each_document_has_its_say_and_named_places_are_quoted_from_the_first() -> None:
    several = [item(number, of=of) for number, of in enumerate("aaaaaaaaab", start=1)]
    assert {lead.numbers[0] for lead in lead_quotes(several)} >= {1, 10}
    named = [item(number, reason=Reason.NAMED) for number in range(1, 12)]
    assert [lead.numbers[0] for lead in lead_quotes(named)] == list(range(1, MOST_LEADS + 1))
