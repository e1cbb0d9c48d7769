"""Replies in forms that small models fall into, through the whole graph: the answer is the one they meant."""

from dataclasses import replace
from typing import Any

import pytest

from pincite.core.domain.documents import Passage
from pincite.core.domain.ports import AnswerRequest
from pincite.core.domain.search import Evidence, Intent
from pincite.core.domain.turns import TurnStatus
from pincite.core.models.prompts import messages_for
from pincite.core.models.replies import mended
from pincite.core.questions.wording import kind_of
from pincite.core.text.prompts import PROMPTS
from tests.graph.test_walks import PENALTY, RIGHT
from tests.graph.world import CONTRACT, ScriptedModel

SENTENCE = "Overdue amounts bear interest at 1.5 % per month."
PAID = "Each invoice is paid by the customer within 30 days of receipt."
HABITS = {
    "no citation": SENTENCE,
    "a number of no source": f"{SENTENCE} [1, 7]",
    "the rule's own placeholder": f"{SENTENCE} [n]",
    "a label in round brackets": f"{SENTENCE} (Source: 1)",
    "a label in square brackets": f"{SENTENCE} [Passage 1, page 1]",
    "footnotes": f"{SENTENCE}[^1]\n\n[^1]: Service contract.pdf, page 1",
    "raised figures": f"{SENTENCE}¹",
    "foreign brackets": f"{SENTENCE} 【1†source】",
    "its place, copied": f"{SENTENCE} [1] (Service contract.pdf, page 1)",
    "a list of sources": f"{SENTENCE} [1]\n\nSources:\n- [1] Service contract.pdf, page 1",
    "JSON": f'{{"question": "{PENALTY}", "answer": "{SENTENCE}", "citations": [1]}}',
    "JSON in a fence": f'```json\n{{"sentences": [{{"text": "{SENTENCE}", "source": 1}}]}}\n```',
    "the prompt repeated": f"<passages>\n<passage>\n[1] {CONTRACT[0]}\n</passage>\n</passages>\n\n"
    f"Question: {PENALTY}\nAnswer: {SENTENCE} [1]",
    "the rules repeated": f"{PROMPTS['answer']}\n\n{SENTENCE}",
    "the same over and over": f"{SENTENCE} [1] " * 8,
}  # fmt: skip


@pytest.mark.parametrize("habit", HABITS)
def test_the_answer_is_the_one_that_was_meant(world: Any, habit: str) -> None:
    turn = world(ScriptedModel(HABITS[habit])).ask(PENALTY).turn
    assert turn.answer.strip() == RIGHT
    assert turn.status is TurnStatus.ANSWERED, turn.reasons
    (citation,) = turn.citations
    assert "1.5 % per month" in citation.quotation


@pytest.mark.parametrize("reply", ["", "   \n", "<think>What now?</think>", "逾期款项按每月百分之五计息。[1]"])
def test_documents_are_quoted_when_the_reply_is_unusable(world: Any, reply: str) -> None:
    turn = world(ScriptedModel(*[reply] * 3)).ask(PENALTY).turn
    assert turn.status is TurnStatus.ANSWERED, turn.reasons
    assert "1.5 % per month" in turn.answer and any("quoted instead" in notice for notice in turn.notices)


def request(text: str = CONTRACT[0]) -> AnswerRequest:
    passage = Passage("p1", "d", 0, "1", text, 0, len(text))
    return AnswerRequest(PENALTY, Intent.DOCUMENT_SEARCH, (Evidence(1, passage, "Service contract.pdf"),))


@pytest.mark.parametrize(
    "prose",
    [
        "Let x[n] be the signal.",
        "An area of 40 m² (see Source Code Pro, 2) is let.",
        "- Meridian [1]\n- Span [1]",
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 1 | 2 |",
        "{1, 2} is a set.",
        "Yes. Yes, it is.",
    ],
)
def test_what_is_no_habit_stays(prose: str) -> None:
    assert mended(prose, request("Let x[n] be the signal.")) == prose


@pytest.mark.parametrize(
    ("question", "reply", "expected"),
    [
        ("Is smoking allowed?", "Yes, smoking is not allowed here. [1]", "Smoking is not allowed here. [1]"),
        ("Is smoking allowed?", "**No.** Smoking is not allowed here. [1]", "Smoking is not allowed here. [1]"),
        ("Is smoking allowed?", "No - guests smoke outside the house. [1]", "Guests smoke outside the house. [1]"),
        ("Is smoking allowed?", "Yes, it is. [1]", "Yes, it is. [1]"),
        ("What is not allowed?", "No, smoking is not allowed here. [1]", "No, smoking is not allowed here. [1]"),
    ],
)
def test_deciding_sentence_is_kept_without_yes_or_no(question: str, reply: str, expected: str) -> None:
    assert mended(reply, replace(request(), question=question, kind=kind_of(question))) == expected


def test_reply_that_repeats_the_whole_prompt_is_empty() -> None:
    asked = request()
    assert mended("\n".join(message["content"] for message in messages_for(asked)), asked) == ""
