"""The review node: puts the best draft, the reasons and a question back before a person. It never un-marks a turn."""

from dataclasses import replace

from langgraph.runtime import Runtime

from core.domain.answers import AnswerPart, Attempt, ClaimStatus, PartKind, Verdict
from core.graph.context import TurnContext
from core.graph.nodes.retriever import evidence_line
from core.graph.nodes.unread import max_denial, parts_not_read, searched_documents
from core.graph.state import TurnState
from core.judge.verdict import declined_verdict
from core.models.quoting import chance_of_answer
from core.text.marks import marked_text
from core.text.questions import NOT_FOUND, missing_words

NOTHING_FOUND_REASON = "No passage was found to answer the question."


def review(state: TurnState, runtime: Runtime[TurnContext]) -> TurnState:
    """Choose the best attempt by verdict, never simply the last, and say why it needs a person."""
    context = runtime.context
    context.progress.step("Marking the answer for review…")
    best = best_attempt(state.attempts) or (replace(state.draft, verdict=None) if state.parts else None)
    verdict = best.verdict if best else None
    kept = verdict is not None and is_worth_showing(verdict, context.settings.review_threshold)
    searched = searched_documents(state, context)
    waits = state.suspect or context.promised is not None or not kept
    reviewed = replace(state, flagged=waits, question_back=question_back(state, best) if waits else "")
    if best is None:
        reviewed = replace(
            reviewed,
            parts=(AnswerPart(f"{NOT_FOUND} {missing_words(state.absent)}".strip(), kind=PartKind.DECLINE),),
            citations=(),
            verdict=declined_verdict(
                min(1 - chance_of_answer(state.asked, state.nearest), max_denial(searched, context.library)),
                context.settings.review_threshold,
            ),
            evidence=state.nearest,
            notices=tuple(dict.fromkeys([*reviewed.notices, *parts_not_read(searched)])),
            reasons=(NOTHING_FOUND_REASON,),
        )
    else:
        reviewed = replace(
            reviewed,
            parts=best.parts,
            citations=best.citations,
            verdict=best.verdict,
            evidence=best.evidence,
            reasons=(*(best.verdict.reasons if best.verdict else ()), *filter(None, [state.give_up])),
        )
    context.note(
        read={"attempts": [_attempt_line(attempt) for attempt in state.attempts], "gave up": state.give_up},
        decided={"kept attempt": best.number if best else None, "reasons": list(reviewed.reasons)},
        returned={
            "draft": marked_text(reviewed.parts),
            "question back": reviewed.question_back,
            "evidence": [evidence_line(item) for item in (best.evidence if best else ())],
        },
    )
    return reviewed


def is_worth_showing(verdict: Verdict, threshold: float) -> bool:
    """Whether an answer that was not accepted can be shown with a line that says what to check.

    Every claim stands where it says, and that it is what was asked for is not improbable.
    """
    found = (ClaimStatus.SUPPORTED, ClaimStatus.SEARCHED, ClaimStatus.NOT_CHECKED)
    supported = bool(verdict.claims) and all(claim.status in found for claim in verdict.claims)
    return (supported or verdict.declined) and verdict.confidence >= threshold


def best_attempt(attempts: tuple[Attempt, ...]) -> Attempt | None:
    """The attempt with the best verdict; of equals, the earliest."""
    judged = [attempt for attempt in attempts if attempt.verdict is not None]
    return max(judged, key=lambda a: a.verdict.confidence if a.verdict else 0, default=None)


def question_back(state: TurnState, best: Attempt | None) -> str:
    """Ask the user for what would help most."""
    plan = state.plan
    if best is not None and best.verdict is not None and best.verdict.question_back:
        return best.verdict.question_back
    if best is None:
        if state.nearest:
            nearest = state.nearest[0]
            where = f"page {nearest.passage.page_label} of “{nearest.document_name}”"
            return f"The nearest passage is on {where}. Do you mean that, or does the document use another word for it?"
        return "Which document might have it, and under what name?"
    if plan and plan.document_ids:
        return "Is this the part of the document you mean, or should I look elsewhere in it?"
    return "Which document or section do you mean, or which detail matters most to you?"


def _attempt_line(attempt: Attempt) -> dict[str, object]:
    verdict = attempt.verdict
    return {
        "attempt": attempt.number,
        "answer": attempt.answer,
        "confidence": round(verdict.confidence, 3) if verdict else None,
        "reasons": list(verdict.reasons) if verdict else [],
    }
