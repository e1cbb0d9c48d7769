"""Questions and plans after a conversation."""

from collections.abc import Sequence

from pincite.core.domain.questions import Question
from pincite.core.domain.search import SearchPlan
from pincite.core.domain.turns import Exchange
from pincite.core.questions.follow_up import Leaning, Replacing, read_after
from pincite.core.questions.plan import plan_question
from pincite.core.questions.reading import read_question
from pincite.core.questions.utterances import leaning_of


def read(message: str, history: Sequence[Exchange] = ()) -> Question:
    """Return a message as it is read where the library is empty."""
    return read_question(message, history, (), lambda document_id: "")


def plan_after(
    question: str,
    history: Sequence[Exchange],
    leaning: Leaning = leaning_of,
    replacing: Replacing = lambda before, question: "",
) -> SearchPlan:
    return plan_question(Question(question, read_after(question, history, leaning, replacing)), leaning=leaning)
