"""The rewriter: makes a search plan of the question and its conversation; on a retry it works in what was missing."""

from dataclasses import replace

from langgraph.runtime import Runtime

from core.domain.codec import to_plain
from core.domain.ports import Message
from core.domain.turns import Exchange
from core.graph.context import TurnContext
from core.graph.state import TurnState, TurnUpdate
from core.search.plan import plan_question
from core.text.terms import content_terms

OWN_TERMS = 2
"""Telling words that a question needs to be answered by itself."""


def rewriter(state: TurnState, runtime: Runtime[TurnContext]) -> TurnUpdate:
    """Plan the search; ``attempt`` counts up once the judge has seen a draft."""
    context = runtime.context
    verdict = state["verdict"]
    attempt = state["attempt"] + 1 if verdict is not None else state["attempt"]
    gaps = verdict.gaps if verdict is not None else ()
    if attempt:
        context.progress.step(f"Looking again, attempt {attempt + 1}…")
    history = messages_of(state["history"])
    plan = plan_question(
        state["standalone"],
        history=history,
        gaps=(*((state["hint"],) if state["hint"] else ()), *gaps),
        attempt=attempt,
        lexicon=context.lexicon,
    )
    plan = replace(plan, document_ids=state["targets"])
    context.note(
        read={"question": state["standalone"], "conversation": [m.text for m in history], "gaps": list(gaps)},
        decided={"attempt": attempt, "because": list(plan.notes)},
        returned={"plan": to_plain(plan)},
    )
    return TurnUpdate(plan=plan, attempt=attempt)


def question_to_answer(state: TurnState) -> str:
    """The question alone where it says enough by itself; joined with the one before where it leans on it.

    The search may well look for both: what comes up too much is left out, what is not looked for is never found.
    """
    plan = state["plan"]
    if plan is None or len(set(content_terms(state["standalone"]))) >= OWN_TERMS:
        return state["standalone"]
    return plan.standalone_question


def messages_of(history: tuple[Exchange, ...]) -> tuple[Message, ...]:
    """The exchanges as the conversation that engines and planning read."""
    return tuple(
        message
        for exchange in history
        for message in (Message("user", exchange.question), Message("assistant", exchange.answer))
    )
