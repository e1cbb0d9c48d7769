"""Choose the conversation for a model: the newest exchanges, related older ones, and the rest condensed.

It is rebuilt from the stored turns each time, so that no trace of a deleted question remains.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from pincite.core.domain.ports import Message
from pincite.core.domain.search import Intent
from pincite.core.domain.turns import Exchange
from pincite.core.questions.plan import entities_in
from pincite.core.text.numbers import quantities
from pincite.core.text.plain import flat
from pincite.core.text.sentences import split_sentences
from pincite.core.text.terms import content_terms, specificity

HISTORY_CHARACTERS = 1_500
MAX_OLDER, MAX_OLDER_LENGTH = 2, 300
"""Maximum number of older exchanges, and of characters of their answers."""
MAX_ASKED, MAX_GIST = 80, 60
"""Maximum characters of a question and of its answer in a condensed line."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The chosen exchanges, oldest first, and the number of those that are left out or condensed."""

    older: tuple[Exchange, ...] = ()
    newest: tuple[Exchange, ...] = ()
    left_out: int = 0
    in_short: tuple[Exchange, ...] = ()
    """One line for each other exchange, without small talk."""

    @property
    def told(self) -> dict[str, list[str]]:
        """Return the questions as typed, for the trace. Text of answers is deleted with their documents."""
        kinds = {"in full": self.newest, "cut": self.older, "in one line": self.in_short}
        return {kind: [one.question for one in those] for kind, those in kinds.items() if those}

    def within(self, characters: int) -> "Conversation":
        """Return a copy with the newest condensed lines that fit into this number of characters."""
        lengths = list(accumulate(len(_line(one)) + 1 for one in reversed(self.in_short)))
        fitting = sum(length <= characters for length in lengths)
        return replace(self, in_short=self.in_short[len(self.in_short) - fitting :])

    @property
    def condensed(self) -> str:
        return "\n".join(map(_line, self.in_short))

    @property
    def messages(self) -> tuple[Message, ...]:
        exchanges = (
            [(f"What I asked before, and what was found:\n{self.condensed}", "Noted.")] if self.condensed else []
        )
        exchanges += [(one.question, _shortened(one.answer)) for one in self.older]
        exchanges += [(one.question, one.answer) for one in self.newest]
        return tuple(
            message for asked, said in exchanges for message in (Message("user", asked), Message("assistant", said))
        )


def conversation_for(question: str, history: Sequence[Exchange]) -> Conversation:
    """Choose from a whole conversation; an older exchange fits by the telling words that the question shares."""
    last = history[-1:]
    if last and len(last[0].question) + len(last[0].answer) > HISTORY_CHARACTERS:
        kept = max(0, HISTORY_CHARACTERS - len(last[0].question))
        newest = (replace(last[0], answer=last[0].answer[:kept]),)
        return Conversation((), newest, len(history) - 1, _in_short(history[:-1]))
    room, begin = HISTORY_CHARACTERS, len(history)
    while begin and (room := room - len(history[begin - 1].question) - len(history[begin - 1].answer)) >= 0:
        begin -= 1
    asked = set(content_terms(question))
    weights = {
        place: sum(map(specificity, asked & set(content_terms(f"{one.understood} {one.answer}"))))
        for place, one in enumerate(history[:begin])
    }
    best = sorted((place for place in weights if weights[place]), key=lambda place: (-weights[place], -place))
    older = tuple(history[place] for place in sorted(best[:MAX_OLDER]))
    rest = [history[place] for place in range(begin) if place not in best[:MAX_OLDER]]
    return Conversation(older, tuple(history[begin:]), len(rest), _in_short(rest))


def _in_short(exchanges: Sequence[Exchange]) -> tuple[Exchange, ...]:
    return tuple(one for one in exchanges if one.intent is not Intent.CHAT)


def _line(one: Exchange) -> str:
    """Return the standalone question and the gist of its answer; stable, so that servers can reuse the prompt."""
    return f"- {_shortened(flat(one.understood), MAX_ASKED)}: {_gist(flat(one.answer))}"


def _gist(answer: str) -> str:
    """Return the first sentence, or the names and figures of the answer where that is too long."""
    first = next((answer[span.start : span.end] for span in split_sentences(answer)), "")
    if len(first) <= MAX_GIST:
        return first
    mentions = dict.fromkeys([*entities_in(first), *(one.text.strip() for one in quantities(first))])
    kept = ""
    for one in mentions:
        if one not in kept.split(", ") and len(kept) + len(one) + 2 <= MAX_GIST:
            kept += f", {one}" if kept else one
    return kept or _shortened(first, MAX_GIST)


def _shortened(answer: str, longest: int = MAX_OLDER_LENGTH) -> str:
    return answer if len(answer) <= longest else f"{answer[:longest].rsplit(' ', 1)[0]} …"
