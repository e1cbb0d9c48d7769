"""Promise: questions and passages in other languages are read by the reader that knows them, and weighed as such."""

from dataclasses import replace

import pytest

from pincite.core.answers import selection
from pincite.core.answers.quoting import quotes, reply
from pincite.core.answers.selection import Skill, select, skill_for, without_name
from pincite.core.answers.units import units_of
from pincite.core.domain.answers import PartKind
from pincite.core.domain.documents import TICKED, Passage
from pincite.core.domain.presentation import MIN_ANSWER_CONFIDENCE
from pincite.core.domain.search import Evidence

ENGLISH = "The tenant pays the rent by the third working day of each month. The deposit is 900 euro."
GERMAN = "Die Mieterin zahlt die Miete bis zum dritten Werktag des Monats. Die Kaution beträgt 900 Euro."
JAPANESE = "賃借人は毎月三日までに家賃を支払う。敷金は900ユーロである。契約は2027年に終了する。"


def evidence(text: str) -> list[Evidence]:
    passage = Passage("p1", "d1", 0, "1", text, 0, len(text))
    return [Evidence(1, passage, "lease.pdf", {"reranked": 0.9, "dense": 0.6})]


@pytest.mark.parametrize(
    ("question", "text", "skill"),
    [
        ("What is the deposit?", ENGLISH, Skill.ENGLISH),
        ("What is the deposit?", GERMAN, Skill.LANGUAGES),
        ("Wie hoch ist die Kaution?", ENGLISH, Skill.LANGUAGES),
        ("敷金はいくらですか。", JAPANESE, Skill.LANGUAGES),
        ("Is the deposit 900 euro?", ENGLISH, Skill.YES_NO),
        ("Is the deposit 900 euro?", f"{ENGLISH} A deposit is paid {TICKED}", Skill.UNREAD),
        ("Is the deposit 900 euro?", GERMAN, Skill.LANGUAGES),
    ],
)
def test_english_alone_is_read_by_the_english_reader(question: str, text: str, skill: Skill) -> None:
    assert skill_for(question, evidence(text)) is skill


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("Wie viel beträgt die Kaution?", GERMAN, "900"),
        ("When must the rent be paid?", GERMAN, "dritten Werktag"),
        ("敷金はいくらですか。", JAPANESE, "900"),
    ],
)
def test_the_words_that_answer_are_found_in_other_languages(question: str, text: str, answer: str) -> None:
    found = select(question, evidence(text))
    first, *_ = reply(question, replace(found, answered=0.9, right=MIN_ANSWER_CONFIDENCE), evidence(text))
    assert first.kind is PartKind.HEADLINE and answer in first.text and len(first.text.strip()) == len(first.text) < 40
    head, _, quoted = reply(question, replace(found, answered=0.9, right=MIN_ANSWER_CONFIDENCE - 0.01), evidence(text))
    assert head.kind is PartKind.EVIDENCE
    [mark] = quoted.marked
    assert quoted.text[mark.start : mark.end] == first.text


def test_sentences_without_spaces_are_quoted_one_by_one() -> None:
    (item,) = evidence(JAPANESE)
    assert [unit.text for unit in units_of(item)] == [f"{text}。" for text in JAPANESE.split("。")[:-1]]


def test_without_the_large_reader_other_languages_are_weighed_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "large_reader", lambda: None)
    found = select("Wie hoch ist die Kaution?", evidence(GERMAN))
    assert found.skill is Skill.UNREAD and found.scored[0].answer is None


def test_the_sentence_that_decides_yes_or_no_is_read_and_quoted_without_a_headline() -> None:
    rules = (
        "Bicycles may be kept in the cellar but not in the stairwell. The stairwell is cleaned on Mondays. "
        "The cellar is locked at night."
    )
    question = "may I leave my bike in the stairwell"
    found = select(question, evidence(rules))
    assert found.skill is Skill.YES_NO and found.scored[0].unit.text.startswith("Bicycles")
    assert next(part.kind for part in quotes(question, found)) is PartKind.VERBATIM


def test_without_the_large_reader_yes_or_no_is_weighed_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "large_reader", lambda: None)
    assert select("Is the deposit 900 euro?", evidence(ENGLISH)).skill is Skill.UNREAD


def test_without_the_large_reader_english_is_read_by_the_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "large_reader", lambda: None)
    found = select("What is the deposit?", evidence(ENGLISH))
    assert found.skill is Skill.ENGLISH_SMALL and found.scored[0].answer is not None
    headline = quotes("What is the deposit?", found)[0]
    assert headline.kind is PartKind.HEADLINE and "900" in headline.text


CONTRACT = "Where an invoice is paid late, the Client shall pay a penalty of 1.5 % of the overdue amount per month."


@pytest.mark.behaviour("Filters", "Naming the document in the question costs no confidence.")
@pytest.mark.parametrize(
    "asked",
    ["What is the late payment penalty in the Services Agreement?", "What is the Services Agreement's penalty?",
     "What late payment penalty does the service contract set?"],
)  # fmt: skip
def test_naming_the_document_costs_no_confidence(asked: str) -> None:
    passage = Passage("p1", "d1", 2, "3", CONTRACT, 0, len(CONTRACT))
    called = ("Services Agreement", "service contract")
    named = [Evidence(1, passage, "service-contract.pdf", {"reranked": 0.9, "dense": 0.6}, called=called)]
    mentioned = select("What is the late payment penalty?", named)
    assert mentioned.right >= MIN_ANSWER_CONFIDENCE and select(asked, named).right >= mentioned.right - 0.1


def test_a_name_stays_where_pages_speak_of_it_or_documents_are_several() -> None:
    text = "Alder's revenue was EUR 512 million, that of Birch EUR 390 million."
    passage = Passage("p1", "d1", 2, "3", text, 0, len(text))
    one = Evidence(1, passage, "alder.pdf", {}, called=("Alder Marine", "Rent"))
    asked = "What was Alder Marine's revenue?"
    assert (
        without_name(asked, [replace(one, passage=replace(passage, text=text.replace("Alder", "Alder Marine")))]) == ""
    )
    assert without_name(asked, [one]) == "What was its revenue?"
    other = replace(one, passage=replace(passage, document_id="d2"))
    assert without_name(asked, [one, other]) == ""
    assert without_name("Who pays the rent?", [one]) == "", "it may be a common word"
