"""A reviewed answer is repeated for the same question in the same words, whatever their case and punctuation."""

import pytest

from pincite.core.questions.wording import normalised_words

ASKED = "What interest do overdue amounts bear?"


@pytest.mark.parametrize("same", ["what INTEREST do overdue amounts bear", "What interest — do overdue amounts bear ?"])
def test_case_and_punctuation_make_no_other_question(same: str) -> None:
    assert normalised_words(same) == normalised_words(ASKED)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ASKED, "What interest do overdue amounts bear in 2019?"),
        (ASKED, "What interest do overdue amounts not bear?"),
        ("What is 1.5 % of the fee?", "What is 5.1 % of the fee?"),
        ("How much does the landlord owe the tenant?", "How much does the tenant owe the landlord?"),
        ("When does the contract end?", "Why does the contract end?"),
        ("Who leaves before the audit ends?", "Who leaves after the audit ends?"),
        ("Wann endet der Vertrag?", "Warum endet der Vertrag?"),
    ],
)
def test_another_question_is_another(one: str, other: str) -> None:
    assert normalised_words(one) != normalised_words(other)
