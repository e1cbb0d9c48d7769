"""A reviewed answer is repeated for the same question in other small words, and never for another question."""

import pytest

from core.text.questions import telling_words

ASKED = "What interest do overdue amounts bear?"


@pytest.mark.parametrize(
    "same",
    [
        "Which interest do overdue amounts bear?",
        "what INTEREST does an overdue amount bear",
        "Please tell me: what interest do the overdue amounts bear?",
    ],
)
def test_the_same_question_in_other_small_words_is_the_same(same: str) -> None:
    assert telling_words(same) == telling_words(ASKED)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ASKED, "What interest do overdue amounts bear in 2019?"),
        (ASKED, "What interest do overdue amounts not bear?"),
        ("What was the revenue in 2018?", "What was the revenue in 2019?"),
        ("What is 1.5 % of the fee?", "What is 5.1 % of the fee?"),
        ("What fell in the first quarter?", "What fell in the second quarter?"),
        ("When does the contract end?", "Why does the contract end?"),
        ("When does the contract end?", "What does the contract end?"),
        ("Who leaves before the audit ends?", "Who leaves after the audit ends?"),
        ("What number of people left?", "What percentage of people left?"),
        ("What did Alpha earn?", "What did Beta earn?"),
        ("Wann endet der Vertrag?", "Warum endet der Vertrag?"),
    ],
)
def test_another_question_is_another(one: str, other: str) -> None:
    assert telling_words(one) != telling_words(other)
