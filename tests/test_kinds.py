"""What a question asks for is told by its form, and "not found" says what was looked for."""

import pytest

from core.domain.answers import PartKind
from core.domain.documents import Passage
from core.domain.search import Evidence
from core.models.quoting import listed
from core.models.selection import units_of
from core.text.questions import Kind, kind_of, not_found


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who signs the lease?", Kind.FACT),
        ("How much is the rent?", Kind.FIGURE),
        ("When does the lease begin?", Kind.DATE),
        ("In what year was the house built?", Kind.DATE),
        ("May the tenant sublet?", Kind.YES_NO),
        ("What does “Rent” mean?", Kind.DEFINITION),
        ("How many tenants are there?", Kind.COUNT),
        ("What are the duties of the tenant?", Kind.LIST),
        ("List the duties of the tenant.", Kind.LIST),
        ("Compare the rents of both flats.", Kind.COMPARE),
        ("What is the difference between rent and deposit?", Kind.COMPARE),
        ("Why was the deposit kept?", Kind.WHY_HOW),
        ("How is the deposit paid back?", Kind.WHY_HOW),
        ("Was ist der Zweck der Miete?", Kind.FACT),
        ("Summarise the duties of the tenant.", Kind.SUMMARY),
    ],
)
def test_the_form_of_a_question_tells_its_kind(question: str, kind: Kind) -> None:
    assert kind_of(question) is kind


def test_not_found_says_what_was_looked_for() -> None:
    assert not_found("When does the lease begin?") == "I found no date for this in these documents."
    assert not_found("Who signs the lease?") == "I found no answer in these documents."
    assert len({not_found(question) for question in ("Is it so?", "How long is it?", "Why?", "Define rent.")}) == 4


LIST = "The tenant has three duties:\n• to pay the rent\n• to keep the peace\n• to clean the stairs\nThe landlord none."


def test_a_list_that_a_sentence_leads_to_is_given_item_by_item() -> None:
    passage = Passage("d:0:0", "d", 0, "1", LIST, 0, len(LIST))
    unit = units_of(Evidence(1, passage, "lease.pdf"))[0]
    items = listed(unit)
    assert [item.text for item in items] == ["to pay the rent", "to keep the peace", "to clean the stairs"]
    for item in items:
        assert item.kind is PartKind.HEADLINE and item.start is not None
        assert LIST[item.start : item.start + len(item.text)] == item.text


def test_what_is_no_list_is_none() -> None:
    text = "The tenant has duties. He pays - as all do - the rent."
    unit = units_of(Evidence(1, Passage("d:0:0", "d", 0, "1", text, 0, len(text)), "lease.pdf"))[0]
    assert listed(unit) == []
