"""A question is read after those before it: what it leans on, what it puts right, and what it points at."""

from dataclasses import replace

import pytest

from pincite.core.domain.documents import Passage
from pincite.core.domain.search import FROM_THE_ANSWER, Candidate, Intent
from pincite.core.domain.turns import Exchange
from pincite.core.graph.about import about_conversation
from pincite.core.graph.state import TurnState
from pincite.core.questions.follow_up import items_of, read_after
from pincite.core.questions.plan import plan_question
from pincite.core.questions.utterances import leaning_of
from pincite.core.search.retriever import merged
from tests.questions.asking import plan_after


def after(last: str, question: str, answer: str = "") -> str:
    return read_after(question, (Exchange("", last, answer),), leaning_of).standalone


@pytest.mark.parametrize("correction", ["no, I meant Span 3", "No, Span 3.", "sorry, not span 1 but Span 3"])
def test_correction_replaces_the_words_it_corrects(correction: str) -> None:
    assert after("How long is Span 1 of the bridge?", correction) == "How long is Span 3 of the bridge?"


def test_what_was_put_right_is_kept_in_mind() -> None:
    first = Exchange("", "How long is Span 1 of the bridge?", "120 m.")
    meant = plan_after("no, I meant Span 3", [first])
    second = Exchange("", "no, I meant Span 3", "140 m.", meant)
    assert "Span 3" in read_after("And its height?", (first, second), leaning_of).standalone
    assert "Span 1" not in read_after("And its height?", (first, second), leaning_of).standalone


@pytest.mark.parametrize(
    ("last", "question", "read"),
    [
        ("What was Acme's revenue in 2020?", "and for 2021?", "What was Acme's revenue in 2021?"),
        ("What was the revenue of Acme in 2020?", "And Northwind?", "What was the revenue of Northwind in 2020?"),
        ("Revenue of Orlan in Q3 2025?", "And Bexton?", "Revenue of Bexton in Q3 2025?"),
        ("Revenue of Bexton in Q3 2025?", "what about Q2?", "Revenue of Bexton in Q2 2025?"),
        ("What was Corvane's profit in 2023?", "And Pelham?", "What was Pelham's profit in 2023?"),
        ("Who chairs the Harbour Board?", "And the Ferry Board?", "Who chairs the Ferry Board?"),
        ("What was Acme's profit in 2020?", "I meant net income, not profit", "What was Acme's net income in 2020?"),
        (
            "What was the net revenue in 2014?",
            "No, I meant the operating loss in 2015",
            "What was the operating loss in 2015?",
        ),
        ("What was Acme's profit in 2020?", "no, I meant the total debt", "What was Acme's total debt in 2020?"),
        ("Who is the supplier?", "I meant the customer", "Who is the customer?"),
    ],
)
def test_a_short_follow_up_asks_the_same_of_something_else(last: str, question: str, read: str) -> None:
    assert after(last, question) == read


def test_words_of_an_answer_go_no_further_than_the_questions_that_are_marked_for_them() -> None:
    first = Exchange("", "Who took part in the study?", "Ada Moreno and Otto Hiddenson.")
    asked = ("What did the second one take?", "When does the lease of the warehouse end?", "Who signed the lease?")
    history = [first]
    for question in asked:
        plan = plan_after(question, history)
        found = "Hiddenson" in str(replace(plan, notes=()))
        assert found == (question == asked[0]) and any(FROM_THE_ANSWER in note for note in plan.notes) == found
        history.append(Exchange("", question, "Nothing.", plan))


def test_a_topic_is_no_instruction_how_to_answer() -> None:
    history = [Exchange("", "What is the return on equity in 2015?", "5 %.")]
    plan = plan_after("Why did that fall so much?", history)
    assert "return on equity" in plan.queries[0].text and not any("instructions" in note for note in plan.notes)


def test_a_question_of_little_words_leaves_no_empty_topic() -> None:
    assert "()" not in after("What is it?", "Why?")


def test_the_second_one_means_the_second_item_in_the_last_answer() -> None:
    assert after("Why was it late?", "What about the second one?", "- heavy rain\n- a strike") == "What about a strike?"
    assert after("Who signed?", "Tell me about the latter", "Ada Moreno and Ben Holt.") == "Tell me about Ben Holt"
    assert items_of("1. rain\n2. a strike.") == ["rain", "a strike"]


@pytest.mark.parametrize(
    "question", ["No smoking areas?", "No notice period is given, right?", "Actually, who signed it?"]
)
def test_what_only_begins_like_a_correction_is_none(question: str) -> None:
    note = read_after(question, (Exchange("", "What is the fee of Span 1?", ""),), leaning_of).note
    assert note != "Corrects the previous question."


def test_small_talk_in_between_changes_no_topic() -> None:
    history = (Exchange("", "How long is Span 1?", "120 m."), Exchange("", "Thanks!", "Gladly.", intent=Intent.CHAT))
    assert read_after("And its height?", history, leaning_of).standalone == "And Span 1’s height?"


def test_every_question_after_another_is_searched_alone_and_with_what_was_asked_before() -> None:
    history = [Exchange("", "How long is Span 1?", ""), Exchange("", "Who built the bridge?", "")]
    plan = plan_after("What is the capital of Mongolia?", history)
    assert plan.standalone_question == plan.sub_queries[0].text == "What is the capital of Mongolia?"
    assert [reading.text for reading in plan.readings] == [
        "What is the capital of Mongolia? (built the bridge)",
        "What is the capital of Mongolia? (Span 1; built the bridge)",
    ]
    assert not plan_question("What is the capital of Mongolia?").readings


def test_parts_are_split_also_without_a_question_mark_on_the_first() -> None:
    texts = [query.text for query in plan_question("Who signed the lease. Which rooms are let?").queries]
    assert "Who signed the lease." in texts and "Which rooms are let?" in texts


def test_the_reranker_settles_which_reading_a_passage_counts_by() -> None:
    def rated(**scores: float) -> list[Candidate]:
        return [Candidate(Passage(i, "d", 0, "1", i, 0, 1), {"reranked": score}) for i, score in scores.items()]

    assert [one.scores["reranked"] for one in merged([rated(a=0.4)])] == [0.4]
    relevance = {c.passage.id: c.scores["reranked"] for c in merged([rated(a=0.9, b=0.2), rated(b=0.8, c=0.4)])}
    assert relevance == pytest.approx({"a": (0.9 + 0.65) / 2, "b": (0.8 + 0.5) / 2, "c": (0.4 + 0.3) / 2})


@pytest.mark.parametrize("reply", ["No, that is wrong.", "No, please look again", "I meant for the customer only"])
def test_what_names_no_other_thing_puts_nothing_in_its_place(reply: str) -> None:
    question = "What was the net revenue in 2014?"
    assert "net revenue in 2014" in read_after(reply, [Exchange("", question, "5.5 billion.")], leaning_of).standalone


def test_a_figure_takes_the_place_of_the_one_before_the_same_word() -> None:
    asked = "What do 250 copies of the Flyer A5 cost?"
    assert after(asked, "And 500 copies?") == "What do 500 copies of the Flyer A5 cost?"


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("How much did the flyer cost?", "How much did the flyer cost?"),
        ("And at Harbour Print?", "What does design work cost at Harbour Print?"),
        ("Why?", "Why? (design work cost at Copper Lane)"),
    ],
)
def test_the_new_part_decides_what_is_answered(question: str, asked: str) -> None:
    history = (Exchange("", "What does design work cost at Copper Lane?", "65 euros"),)
    state = TurnState(question, plan=plan_after(question, history))
    assert state.asked == asked


def test_earlier_questions_about_a_topic_are_listed_for_that_topic_only() -> None:
    history = (Exchange("", "When does the council meet?", "In March."), Exchange("", "Who pays?", "The client."))
    reply = about_conversation("What did I ask about the council?", history)
    assert "When does the council meet?" in reply and "Who pays" not in reply
    assert (
        about_conversation("What did I ask about bridges?", history)
        == "You asked nothing about bridges in this session."
    )


@pytest.mark.parametrize(
    "question", ["What are the fees?", "Who signed the letter of 3 May?", "Compare boats with rafts of oak."]
)
def test_a_whole_question_is_no_reply_to_a_list_of_passages(question: str) -> None:
    asked = (
        Exchange(
            "",
            "What is the fee?",
            "Most relevant in your documents",
            listed=("harbour.pdf, page 1 · Fees", "quay.pdf, page 2 · Dunby"),
        ),
    )
    assert read_after(question, asked, leaning_of).standalone == question


@pytest.mark.parametrize(
    ("reply", "place"),
    [("harbour.pdf", "harbour.pdf"), ("What about the harbour?", "harbour"), ("Dunby, please", "Dunby, please")],
)
def test_reply_that_is_not_a_question_selects_a_passage_from_the_list(reply: str, place: str) -> None:
    asked = (
        Exchange(
            "",
            "What is the fee?",
            "Most relevant in your documents",
            listed=("harbour.pdf, page 1 · Fees", "quay.pdf, page 2 · Dunby"),
        ),
    )
    assert read_after(reply, asked, leaning_of).standalone == f"What is the fee ({place})?"
