"""The judge: checks the draft against its evidence; it stands, is tried again, or goes to a person."""

from dataclasses import replace
from typing import Literal

from langgraph.runtime import Runtime

from core.domain.codec import to_plain
from core.domain.search import Intent
from core.graph.context import TurnContext
from core.graph.nodes.rewriter import question_to_answer
from core.graph.state import TurnState, TurnUpdate, attempt_of
from core.judge.confidence import Recalibration
from core.judge.critique import CRITIC_INSTRUCTIONS, CRITIC_SCHEMA, critic_content, read_critique, weigh
from core.judge.verdict import verdict_of


def judge(state: TurnState, runtime: Runtime[TurnContext]) -> TurnUpdate:
    """Give the verdict on this attempt and keep the attempt beside the earlier ones.

    A cut draft is never accepted; a language model's "the documents do not say" is, once a looser search agrees.
    """
    context = runtime.context
    context.progress.step("Checking citations…")
    question = question_to_answer(state)
    about_whole = state["intent"] is Intent.SURVEY
    verdict = verdict_of(
        "" if about_whole else question,  # no page holds the words of a question about whole documents
        state["parts"],
        state["evidence"],
        removed_markers=state["removed_markers"],
        page_text=context.documents.page_text,
        threshold=context.settings.review_threshold,
        recalibration=Recalibration(context.settings.confidence_slope, context.settings.confidence_intercept),
    )
    if context.model.writes_prose and verdict.accepted and verdict.claims and not context.out_of_time:
        context.progress.step(f"Asking {context.model.name} to check the answer…")
        content = critic_content(question, verdict.claims, state["evidence"])
        reply = context.model.structured(CRITIC_INSTRUCTIONS, content, CRITIC_SCHEMA)
        verdict = weigh(
            verdict,
            read_critique(reply, len(verdict.claims)),
            critic=context.model.name,
            evidence=state["evidence"],
            threshold=context.settings.review_threshold,
        )
    give_up = state["give_up"]
    if give_up:
        verdict = replace(verdict, accepted=False)
    elif verdict.declined and context.model.writes_prose and not state["attempt"] and context.settings.max_retries:
        reason = "The first, stricter search may have missed it."
        verdict = replace(verdict, accepted=False, reasons=(reason,))
    attempt = attempt_of(state, verdict)
    if not verdict.accepted and not give_up:
        if context.out_of_time:
            give_up = "The time for this turn was used up."
        elif state["attempt"] >= context.settings.max_retries:
            give_up = f"{state['attempt'] + 1} attempts did not lead to an answer that can be relied on."
    decision = "accept" if verdict.accepted else "give up" if give_up else "retry"
    context.note(
        read={"draft": attempt.answer, "evidence": [item.number for item in state["evidence"]]},
        decided={"decision": decision, "because": give_up or list(verdict.reasons)},
        returned={"verdict": to_plain(verdict)},
    )
    return TurnUpdate(verdict=verdict, attempts=(*state["attempts"], attempt), give_up=give_up)


def after_judge(state: TurnState) -> Literal["rewriter", "review", "__end__"]:
    verdict = state["verdict"]
    if verdict is not None and verdict.accepted:
        return "__end__"
    return "review" if state["give_up"] else "rewriter"
