"""What of the conversation before a model is told: the newest exchanges, and of the older ones those that fit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.domain.ports import Message
from core.domain.turns import Exchange
from core.text.terms import content_terms, specificity

HISTORY_CHARACTERS = 1_500
MOST_OLDER, LONGEST_OLDER = 2, 300
"""Older exchanges that are told too, and the characters of their answers."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The exchanges that are told, oldest first, and how many are not."""

    older: tuple[Exchange, ...] = ()
    newest: tuple[Exchange, ...] = ()
    left_out: int = 0

    @property
    def messages(self) -> tuple[Message, ...]:
        told = [(one.question, _shortened(one.answer)) for one in self.older]
        told += [(one.question, one.answer) for one in self.newest]
        return tuple(
            message for asked, said in told for message in (Message("user", asked), Message("assistant", said))
        )


def conversation_for(question: str, history: Sequence[Exchange]) -> Conversation:
    """Choose from a whole conversation; an older exchange fits by the telling words that the question shares."""
    last = history[-1:]
    if last and len(last[0].question) + len(last[0].answer) > HISTORY_CHARACTERS:
        kept = max(0, HISTORY_CHARACTERS - len(last[0].question))
        return Conversation(newest=(replace(last[0], answer=last[0].answer[:kept]),), left_out=len(history) - 1)
    room, begin = HISTORY_CHARACTERS, len(history)
    while begin and (room := room - len(history[begin - 1].question) - len(history[begin - 1].answer)) >= 0:
        begin -= 1
    asked = set(content_terms(question))
    weights = {
        place: sum(map(specificity, asked & set(content_terms(f"{one.understood} {one.answer}"))))
        for place, one in enumerate(history[:begin])
    }
    best = sorted((place for place in weights if weights[place]), key=lambda place: (-weights[place], -place))
    older = tuple(history[place] for place in sorted(best[:MOST_OLDER]))
    return Conversation(older, tuple(history[begin:]), begin - len(older))


def _shortened(answer: str) -> str:
    return answer if len(answer) <= LONGEST_OLDER else f"{answer[:LONGEST_OLDER].rsplit(' ', 1)[0]} …"
