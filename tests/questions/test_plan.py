"""A question becomes a plan without a model: its subject, in several wordings, and where to look."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.core.domain.turns import Exchange
from pincite.core.questions.follow_up import read_after
from pincite.core.questions.places import numbered_in, pages_in
from pincite.core.questions.plan import core_question, parts_of, plan_question
from pincite.core.questions.utterances import leaning_of
from pincite.core.text.terms import content_terms, words
from tests.questions.asking import plan_after


@pytest.mark.parametrize(
    ("question", "core"),
    [
        ("What is the warranty period? Answer in months.", "What is the warranty period?"),
        ("How many sites are open? Please write the answer as an integer format.", "How many sites are open?"),
        ("What was capex in FY2019? Round your answer to two decimal places.", "What was capex in 2019?"),
        ("Who signed the report?", "Who signed the report?"),
        ("Answer briefly.", "Answer briefly."),
    ],
)
def test_how_to_answer_is_not_searched_for(question: str, core: str) -> None:
    assert core_question(question) == core


def test_the_main_question_is_also_worded_as_documents_print_it() -> None:
    main = plan_question("What was the capital expenditure of Acme in FY2020?").sub_queries[0]
    assert main.text == "What was the capital expenditure of Acme in 2020?"
    [variation] = main.variations
    assert "purchases of property" in variation and "What" not in variation


def test_statement_names_and_ratio_terms_say_where_to_look() -> None:
    plan = plan_question("What is the days payable outstanding (DPO) for Acme in FY2020?")
    assert "consolidated balance sheets" in plan.wanted_sections
    assert "consolidated statements of income" in plan.wanted_sections
    assert any(query.text.startswith("consolidated balance sheets accounts payable") for query in plan.sub_queries)


@pytest.mark.parametrize(
    ("question", "pages"),
    [
        ("What is on page 12?", ("12",)),
        ("Compare slides 3 and 5.", ("3", "5")),
        ("What do pages 4-6 say?", ("4", "5", "6")),
        ("Who wrote the preface on page iv?", ("iv",)),
        ("What is on the first page and on the last page?", ("first", "last")),
        ("Who signed page(1), and who the second cover page?", ("1", "2")),
        ("What is on the 12th slide, and on page two?", ("12", "2")),
        ("What is on page twelve?", ("12",)),
        ("What do pages three to five say?", ("3", "4", "5")),
        ("What is on page one hundred and four, and on the twenty-first slide?", ("104", "21")),
        ("How many pages are there?", ()),
        ("Which of the two pages is the older one?", ()),
    ],
)
def test_pages_that_a_question_names(question: str, pages: tuple[str, ...]) -> None:
    assert sorted(plan_question(question).wanted_pages) == sorted(pages)


def test_clauses_are_numbered_too() -> None:
    assert numbered_in("What do clause 4.3 and § 12 say?") == ("clause 4.3", "§ 12")


def test_numbered_things_are_wanted_sections() -> None:
    assert plan_question("What does Table 2 list that section 3.4 does not?").wanted_sections == (
        "Table 2",
        "section 3.4",
    )
    assert plan_question("How many tables and units are listed?").wanted_sections == ()


def test_years_with_spans_and_fiscal_years() -> None:
    assert plan_question("Average margin FY2018 - FY2020 against FY16?").time_ranges == ("2016", "2018", "2019", "2020")


def test_entities_are_names_and_quotations() -> None:
    plan = plan_question('Does the Acme Holding plan mention "early retirement"?')
    assert plan.entities == ("early retirement", "Acme Holding")


HISTORY = (Exchange("", "How do I charge the headset?", "With the cable."),)


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("How long does it take?", "charge the headset"),
        ("Why?", "charge the headset"),
        ("And with USB-C?", "How do I charge the headset"),
    ],
)
def test_a_follow_up_is_read_with_what_it_refers_to(question: str, topic: str) -> None:
    """The whole question, if the follow-up does not contain what it asks."""
    assert read_after(question, HISTORY, leaning_of).standalone == f"{question} ({topic})"


@pytest.mark.behaviour(
    "Memory", "A follow-up (“Why did it fall?”, “And at Southgate?”) is understood from the questions before it."
)
@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("Why did it fall?", "Why did the toll of the Aller bridge in 2014 fall?"),
        ("Who sets it?", "Who sets the toll of the Aller bridge in 2014?"),
    ],
)
def test_a_pronoun_is_read_as_what_the_last_question_asked_for(question: str, meant: str) -> None:
    history = (Exchange("", "What was the toll of the Aller bridge in 2014?", "2 EUR."),)
    read = read_after(question, history, leaning_of)
    assert read.standalone == meant and question in read.others


def test_standalone_question_is_unchanged() -> None:
    question = "Which microphone models support noise cancelling?"
    assert plan_after(question, HISTORY).standalone_question == question
    assert read_after("Why?", (), leaning_of).standalone == "Why?"


def test_parts_and_gaps_become_sub_queries() -> None:
    plan = plan_question("What is the price? Who sells the spare parts?", gaps=("delivery time",), attempt=1)
    texts = [query.text for query in plan.queries]
    assert "What is the price?" in texts and "Who sells the spare parts?" in texts and texts[-1] == "delivery time"
    assert plan.attempt == 1


@pytest.mark.parametrize(
    ("question", "pages"),
    [
        ("Compare pages 3, 5 and 7.", ("3", "5", "7")),
        ("Compare pages 3,5,7 and page 9.", ("3", "5", "7", "9")),
        ("What do pp. 3–5 say?", ("4", "3", "5")),
        ("Who signs on p. 3?", ("3",)),
        ("What is on pages A-1 to A-3?", ("A-1", "A-2", "A-3")),
        ("What is on pages iii to vi?", ("iii", "iv", "v", "vi")),
        ("On page 3, 5 people sign. Who?", ("3",)),
        ("Pages 2 to 4 and 8?", ("2", "3", "4", "8")),
        ("Which pages in 1999 were lost?", ()),
    ],
)
def test_every_page_in_a_list_or_range_is_requested(question: str, pages: tuple[str, ...]) -> None:
    assert sorted(pages_in(question)) == sorted(pages)


WORD_BEGINNINGS = ("So", "Hi", "Ok", "Hey", "In", "Per", "From", "As", "Hello", "Format", "Answer", "And", "It", "No")
words_like_openings = st.builds(
    lambda opening, rest: opening + rest, st.sampled_from(WORD_BEGINNINGS), st.text("lmnrtz", min_size=3, max_size=8)
)
content_words = st.one_of(words_like_openings, st.text("bcdfgklmprtvz", min_size=4, max_size=9))
SHAPES = (
    "{} {} {}",
    "What is the {} of {} {}?",
    "{}, {} and {}?",
    "So {} {} {}?",
    "In {} {}, which {}?",
    "Hi, {} {} {}",
)


@given(st.sampled_from(SHAPES), st.lists(content_words, min_size=3, max_size=3))
def test_planning_drops_and_changes_no_content_word(shape: str, chosen: list[str]) -> None:
    core = plan_question(shape.format(*chosen)).sub_queries[0].text
    assert set(chosen) <= set(words(core))


@given(st.lists(st.integers(1, 999), min_size=1, max_size=9, unique=True), st.sampled_from(("and", "or", "&")))
def test_no_page_in_a_list_is_lost(numbers: list[int], last: str) -> None:
    listed = ", ".join(map(str, numbers[:-1])) + (f" {last} " if numbers[1:] else "") + str(numbers[-1])
    assert pages_in(f"What do pages {listed} say?") == tuple(map(str, numbers))


@pytest.mark.parametrize(
    "question",
    [
        "Solar panel efficiency at noon?",
        "In the Acme report of 2019, who is the chair?",
        "From the survey of Lisbon, how many answered?",
        "Give the names of all directors of Acme.",
        "What is the aim of the study?",
    ],
)
def test_an_opening_that_names_something_is_kept(question: str) -> None:
    named = [word for word in content_terms(question) if word not in ("report", "give", "name")]
    assert set(named) <= set(content_terms(core_question(question)))


@pytest.mark.behaviour("Memory", "A message that is complete is read alone, whatever was asked before.")
@pytest.mark.parametrize(
    "question",
    [
        "Who signed the lease?",
        "Solar panel efficiency",
        "Does the turbine reach its nominal efficiency in winter?",
        "Which tenants say that they pay late?",
        "Is there another entrance to the warehouse in Porto?",
    ],
)
def test_another_topic_is_not_joined_with_the_last_question(question: str) -> None:
    assert read_after(question, HISTORY, leaning_of).standalone == question


@pytest.mark.parametrize("question", ["On Semiconductor revenue?", "But Ltd turnover in 2020?"])
def test_a_name_that_opens_with_a_little_word_is_not_joined(question: str) -> None:
    assert read_after(question, HISTORY, leaning_of).standalone == question


@pytest.mark.parametrize("question", ["What is the price of it?", "And in 2019?", "What about the cable?", "How long?"])
def test_a_question_that_leans_is_joined(question: str) -> None:
    assert read_after(question, HISTORY, leaning_of).standalone != question


@pytest.mark.parametrize(
    "question",
    [
        "So Young Kim wrote which paper?",
        "What happened on 3. May?",
        "Who is Dr. No? What does he want?",
        "What is written in the pdf format section?",
        "What does “in the document” mean for the lease?",
    ],
)
def test_what_looks_like_a_phrase_to_leave_out_and_is_none_stays(question: str) -> None:
    assert core_question(question) == question


def test_lists_of_pages_in_other_signs_and_words_that_are_no_numbers() -> None:
    assert pages_in("pages 3; 5 / 7") == ("3", "5", "7")
    assert pages_in("page 3, 5 and 7?") == ("3", "5", "7")
    assert pages_in("On page 3, 5 people sign") == ("3",)
    assert pages_in("pgs. 3-5") == ("3", "4", "5")
    assert pages_in("page civil") == ()


def test_names_are_not_taken_for_words_that_point_back() -> None:
    history = [Exchange("", "What is the fee?", "1 %.")]
    for question in (
        "In which year was Acme founded?",
        "Who is Her Majesty?",
        "Where does This American Life air?",
        "What was this year's profit at Acme?",
    ):
        assert read_after(question, history, leaning_of).standalone == question
    for question in ("Explain.", "Can you elaborate?", "It costs what?", "Is this so?", "More details please"):
        assert read_after(question, history, leaning_of).standalone != question


def test_previous_question_is_not_a_part_in_the_current_one() -> None:
    history = [Exchange("", "When was the pump installed?", "In April.")]
    plan = plan_after("How much did it cost?", history)
    assert "pump installed" in plan.standalone_question and not plan.pieces
    assert len(plan_after("How much did it cost and who paid?", history).pieces) == 2


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (
            "When does the contract begin, how long does it run, and what law governs it?",
            ("When does the contract begin", "how long does it run", "what law governs it?"),
        ),
        (
            "What does the lease, which runs until 2030, cost and who pays it?",
            ("What does the lease, which runs until 2030, cost", "who pays it?"),
        ),
    ],
)
def test_consecutive_questions_are_distinguished_from_a_clause_between_commas(
    question: str, parts: tuple[str, ...]
) -> None:
    assert parts_of(question) == parts


@pytest.mark.parametrize("clause", ["which starts in March", "who is liable", "when it rains"])
def test_a_clause_stays_with_its_question(clause: str) -> None:
    assert parts_of(f"What is the notice period, {clause}, and who gives it?") == (
        f"What is the notice period, {clause}", "who gives it?"
    )  # fmt: skip


def test_a_part_that_leans_on_the_first_is_also_read_with_it() -> None:
    asked = "When does the lease begin, how long does it run, and who owns the red barn?"
    plan = plan_question(asked, leaning=leaning_of)
    assert [piece.readings for piece in plan.pieces] == [
        ("When does the lease begin",),
        ("how long does it run", "When does the lease begin how long does it run"),
        ("who owns the red barn?",),
    ]


@pytest.mark.parametrize(
    ("before", "follow_up"),
    [("What does Peter Miller earn?", "And who is Anna Smith?"), ("What was revenue in 2023?", "And why in 2024?"),
     ("Who signed the lease in 2023?", "And when in 2024?"), ("Wie hoch war der Umsatz 2023?", "Und wer 2024?")],
)  # fmt: skip
def test_a_follow_up_with_a_question_word_of_its_own_asks_something_else(before: str, follow_up: str) -> None:
    history = [Exchange("1", before, "", plan_question(before))]
    plan = plan_after(follow_up, history, lambda _: 1.0)
    asked = follow_up.split()[1]
    assert asked in plan.standalone_question, plan.standalone_question


@pytest.mark.parametrize(
    ("before", "follow_up", "whole"),
    [("Wie hoch war der Umsatz 2022?", "Und 2021?", "Wie hoch war der Umsatz 2021?"),
     ("Quel était le chiffre d'affaires en 2022 ?", "Et en 2021 ?", "Quel était le chiffre d'affaires en 2021 ?"),
     ("What was Alder's revenue in 2022?", "How about Birch Lines?", "What was Birch Lines's revenue in 2022?")],
)  # fmt: skip
def test_another_year_or_name_takes_its_place_in_other_languages_too(before: str, follow_up: str, whole: str) -> None:
    history = [Exchange("1", before, "", plan_question(before))]
    assert plan_after(follow_up, history, lambda _: 1.0).standalone_question == whole
