"""The form of a question shows whether it asks for a list or a date, and a list is given item by item."""

from pincite.core.answers.lists import listed
from pincite.core.answers.units import units_of
from pincite.core.domain.answers import PartKind
from pincite.core.domain.documents import Passage
from pincite.core.domain.questions import Kind
from pincite.core.domain.search import Evidence
from pincite.core.questions.wording import asks_only_for, kind_of


def test_question_form_determines_whether_a_list_or_date_is_requested() -> None:
    for question in ("What are the duties of the tenant?", "List the duties of the tenant."):
        assert kind_of(question) is Kind.LIST
    for question in ("May the tenant sublet?", "Who signs the lease?", "Was ist der Zweck der Miete?"):
        assert kind_of(question) is not Kind.LIST
    for question in ("When does the lease begin?", "In what year was the house built?"):
        assert kind_of(question) is Kind.DATE
    for question, kind in (
        ("How much is the rent?", Kind.FACT),
        ("How many rooms are let?", Kind.COUNT),
        ("May the tenant sublet?", Kind.YES_OR_NO),
        ("Why was the rent raised?", Kind.EXPLANATION),
        ("Wer zahlt die Miete?", Kind.FACT),
    ):
        assert kind_of(question) is kind


def test_a_question_asks_for_a_title_alone_where_it_names_it_whole_and_asks_for_nothing_else() -> None:
    names = "grant-agreement.pdf"
    for question in (
        "What does the agreement say about late reports?",
        "late reports",
        "Tell me about late reports.",
        "What does the section Late reports say?",
    ):
        assert asks_only_for("5 Late reports", question, names)
    for question in (
        "What does the agreement say about reports?",
        "Who receives late reports?",
        "How much is deducted for late reports?",
        "Are late reports accepted?",
        "What deduction do late reports lead to?",
    ):
        assert not asks_only_for("5 Late reports", question, names)
    assert not asks_only_for("Grant agreement", "What does the grant agreement say?", names)
    assert not asks_only_for("5.2", "What does section 5.2 say?", names)


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
