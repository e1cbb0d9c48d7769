"""A yes or no stands exactly where the quotation behind it says so."""

import pytest

from core.domain.answers import AnswerPart, ClaimStatus, PartKind
from core.judge.judge import judge_answer
from core.judge.polarity import decide

SUBLET = "The Tenant shall not sublet the premises."
NOTICE = "The notice period is 60 days, and it begins on the day of receipt."


@pytest.mark.parametrize(
    ("question", "sentence", "word"),
    [
        ("Is the notice period 60 days?", NOTICE, "Yes"),
        ("Is the notice period 30 days?", NOTICE, "No"),
        ("May the tenant sublet the premises?", SUBLET, "No"),
        ("May the tenant sublet the premises?", "The Tenant may sublet the premises.", "Yes"),
        ("Is the licence of the software exclusive?", "The licence of the software is non-exclusive.", "No"),
    ],
)
def test_a_sentence_that_repeats_the_question_decides_it(question: str, sentence: str, word: str) -> None:
    decision = decide(question, sentence)
    assert decision is not None and decision.word == word
    assert 0.3 < decision.probability < 0.95


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Must the tenant pay the rent in advance?", "The tenant may pay the rent in advance."),
        ("Is the notice period 60 days?", "Notices are sent to the registered office."),
        ("Is the fee paid monthly or yearly?", "The fee is paid monthly."),
        ("What is the notice period?", NOTICE),
    ],
)
def test_what_does_not_plainly_say_decides_nothing(question: str, sentence: str) -> None:
    assert decide(question, sentence) is None


@pytest.mark.parametrize(("word", "status"), [("No", ClaimStatus.SUPPORTED), ("Yes", ClaimStatus.CONTRADICTED)])
def test_judge_takes_the_word_that_the_quotation_bears_out_and_no_other(word: str, status: ClaimStatus) -> None:
    parts = (AnswerPart(word, (1,), PartKind.YES_NO), AnswerPart(SUBLET, (1,), PartKind.VERBATIM))
    findings = judge_answer("May the tenant sublet the premises?", parts, [f"4. {SUBLET} Rent is due monthly."])
    assert findings.claims[0].status is status


def test_a_word_without_a_quotation_behind_it_is_not_accepted() -> None:
    findings = judge_answer("May the tenant sublet?", (AnswerPart("No", (1,), PartKind.YES_NO),), [SUBLET])
    assert findings.claims[0].status is ClaimStatus.UNSUPPORTED
