"""Promises of the facts in twelve languages: each has an answer and a question of its own, in a page that holds it."""

import pytest

from benchmarks.languages import ENGLISH, LANGUAGES, facts, pages, questions


@pytest.mark.parametrize("code", [ENGLISH, *LANGUAGES])
def test_every_language_has_the_facts_in_its_own_words(code: str) -> None:
    own = facts(code)
    assert len(own) == 40 and len({fact.question for fact in own}) == 40
    for fact, page in zip(own, pages(code), strict=True):
        assert fact.sentence in page and fact.answer in fact.sentence and fact.answer not in fact.question
        assert "[" not in fact.sentence


def test_a_question_in_one_language_is_answered_in_the_words_of_the_other() -> None:
    question, answer = questions("de", "en")[0]
    assert question.text.startswith("In welchem Jahr") and answer == "1974"
    assert question.documents == ("en.pdf",) and question.evidence == {("en.pdf", 0)}
