"""Search further before writing: with a model's wordings, for what it finds missing, and with lower thresholds."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeAlias

from pincite.core.answers.quoting import MIN_ANSWERED, chance_of_answer
from pincite.core.domain.errors import StoppedError
from pincite.core.domain.search import Evidence, SubQuery
from pincite.core.graph.context import TurnContext
from pincite.core.graph.state import TurnState
from pincite.core.models.client import stoppable
from pincite.core.text.foreign import in_line
from pincite.core.text.plain import shortened
from pincite.core.text.prompts import PROMPTS

MAX_LOOKS, MAX_WORDINGS, MAX_MISSING, MAX_TEXT_LENGTH = 3, 3, 4, 200
WORDING_SECONDS = 4.0
"""Seconds that the first search waits for a model's wordings; a slower model is not asked again."""
WORDED = "Also searched in the model's own wordings."
Look: TypeAlias = Callable[[TurnState], TurnState]
"""Search with the plan of the state and return what it found."""
_slow: set[str] = set()
"""Models that took longer than WORDING_SECONDS in this process."""


def _texts(name: str, most: int) -> Mapping[str, Any]:
    listed = {"type": "array", "items": {"type": "string", "maxLength": MAX_TEXT_LENGTH}, "maxItems": most}
    return {"type": "object", "properties": {name: listed}, "required": [name]}


def look_wider(state: TurnState, context: TurnContext, look: Look) -> TurnState:
    """Search up to MAX_LOOKS times, while the passages more likely than not contain no answer.

    After the first search a language model, if there is one, lists what is missing. The evidence that is likeliest to
    answer is kept, and the trace describes the search that found it.
    """
    first = _in_other_words(state, context, look)
    chances, best, notes, missing = [_chance(first)], first, context.notes, list[str]()
    while max(chances) < MIN_ANSWERED and len(chances) < MAX_LOOKS and not context.halted():
        if len(chances) == 1 and context.model.writes_prose:
            missing = _missing(first, context)
        before = dict(notes.read), dict(notes.decided), dict(notes.returned)
        assert first.plan is not None
        queries = (*first.plan.sub_queries, *map(SubQuery, missing))
        plan = replace(first.plan, sub_queries=queries, attempt=state.attempt + len(chances))
        looked = look(replace(state, plan=plan))
        chances.append(_chance(looked))
        if chances[-1] > max(chances[:-1]):
            best = looked
        else:
            notes.read, notes.decided, notes.returned = before
    rounded = [round(chance, 2) for chance in chances]
    context.note(decided={"chance of an answer, look by look": rounded, "what the model missed": missing})
    return best


def worded_otherwise(questions: Sequence[str], context: TurnContext) -> list[str]:
    """Return the questions in a language model's words; empty without a model, or if its reply is not a list."""
    content, most = "\n".join(questions), MAX_WORDINGS * len(questions)
    return _listed(context, "wordings", content, most, known=questions)


def _in_other_words(state: TurnState, context: TurnContext, look: Look) -> TurnState:
    """Search with the plan while a model rewords its questions; also with these, if they arrive in time."""
    plan, model = state.plan, context.model
    if plan is None or not model.writes_prose or model.name in _slow:
        return look(state)
    until = time.monotonic() + WORDING_SECONDS
    asked = [piece.asked for piece in plan.pieces] or [plan.standalone_question]

    def worded() -> list[str]:
        try:
            with stoppable(lambda: time.monotonic() > until or context.halted()):
                return worded_otherwise(asked, context)
        except StoppedError:
            if not context.halted():
                _slow.add(model.name)
            return []

    with ThreadPoolExecutor(1, thread_name_prefix="wordings") as pool:
        waiting = pool.submit(worded)
        found = look(state)
        wordings = waiting.result()
    context.note(decided={"other wordings": wordings})
    if not wordings or context.halted():
        return found
    queries = (*plan.sub_queries, *map(SubQuery, wordings))
    return look(replace(state, plan=replace(plan, sub_queries=queries, notes=(*plan.notes, WORDED))))


def _missing(state: TurnState, context: TurnContext) -> list[str]:
    """Return what a language model would search next: key words and headings that the passages lack."""
    context.progress.step("Asking what is missing…")
    passages = "\n".join(map(_in_a_line, state.evidence))
    return _listed(context, "missing", f"Question: {state.asked}\nFound:\n{passages}", MAX_MISSING, known=[state.asked])


def _in_a_line(item: Evidence) -> str:
    where = " › ".join([item.document_name, *item.passage.heading_path])
    return f"- {in_line(where)}: {in_line(shortened(item.passage.text))}"


def _listed(context: TurnContext, name: str, content: str, most: int, *, known: Sequence[str]) -> list[str]:
    reply = context.model.structured(PROMPTS[name], content, _texts(name, most))
    entries = reply.get(name) if reply else None
    texts = (
        [" ".join(one.split())[:MAX_TEXT_LENGTH] for one in entries if isinstance(one, str)]
        if isinstance(entries, list)
        else []
    )
    return [text for text in dict.fromkeys(texts) if text and text not in known][:most]


def _chance(state: TurnState) -> float:
    return chance_of_answer(state.asked, state.evidence) if state.evidence else 0.0
