"""The review node: choose the best attempt and flag a doubtful one for a person. It never removes a flag.

A list of passages and "not found" claim nothing, and wait for nobody.
"""

from dataclasses import replace

from langgraph.runtime import Runtime

from pincite.core.answers.quoting import chance_of_answer
from pincite.core.answers.relevant import as_passages
from pincite.core.domain.answers import (
    AnswerPart,
    Attempt,
    ClaimStatus,
    Form,
    PartKind,
    Verdict,
    form_of,
    is_prose,
    separated,
)
from pincite.core.domain.presentation import MIN_ANSWER_CONFIDENCE
from pincite.core.graph.context import TurnContext
from pincite.core.graph.nodes.retriever import evidence_line
from pincite.core.graph.nodes.unread import max_denial, not_read, searched_documents
from pincite.core.graph.state import TurnState, owns
from pincite.core.judge.citations import cite
from pincite.core.judge.verdict import declined_verdict
from pincite.core.questions.wording import NOT_FOUND, missing_words
from pincite.core.text.marks import marked_text
from pincite.core.text.stating import is_drawn

NOTHING_FOUND_REASON = "No passage was found to answer the question."


@owns("flagged", "question_back", "parts", "citations", "verdict", "evidence", "notices", "reasons")
def review(state: TurnState, runtime: Runtime[TurnContext]) -> TurnState:
    """Choose the best attempt by verdict, not the last one, with the reasons if a person must review it."""
    context = runtime.context
    context.progress.step("Choosing what to show…")
    attempts = state.attempts[-1:] if context.evidence_only() else state.attempts
    best = best_attempt(attempts) or (replace(state.draft, verdict=None) if state.parts else None)
    best = _listed(best, context) if best and not state.suspect else best
    verdict = best.verdict if best else None
    searched = searched_documents(state, context)
    claims_something = best is not None and form_of(best.parts, verdict) is Form.ANSWER
    waits = state.suspect or (claims_something and not _is_worth_showing(verdict, context))
    reviewed = replace(state, flagged=waits, question_back=verdict.question_back if verdict and waits else "")
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
            reasons=(NOTHING_FOUND_REASON,),
        ).noted(*not_read(searched, context.library))
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


def _listed(best: Attempt, context: TurnContext) -> Attempt:
    """Return an attempt with its quotations as a list of passages, if its confidence is too low for an answer."""
    verdict = best.verdict
    quoted = any(part.verbatim or part.figures for part in best.parts)
    if (
        verdict is None
        or verdict.confidence >= MIN_ANSWER_CONFIDENCE
        or form_of(best.parts, verdict) is not Form.ANSWER
        or not quoted
    ):
        return best
    if is_prose(best.parts) or any(map(is_drawn, best.parts)):
        return best
    listed_parts = tuple(separated(as_passages(best.parts, best.evidence, verdict.confidence)))
    cited = cite(listed_parts, best.evidence, context.library.page_text)
    looked_at = {(one.page, one.start, one.end): one.read_back for one in best.citations}
    citations = tuple(replace(one, read_back=looked_at.get((one.page, one.start, one.end))) for one in cited.citations)
    listed = replace(best, parts=cited.parts, citations=citations, verdict=replace(verdict, claims=()))
    return listed if cited.parts else best


def _is_worth_showing(verdict: Verdict | None, context: TurnContext) -> bool:
    """Return whether an answer that was not accepted can be shown with a line about what to check.

    Every claim was found at its cited place, and it is not improbable that the answer is what was asked for.
    """
    if verdict is None:
        return False
    found = (ClaimStatus.SUPPORTED, ClaimStatus.SEARCHED, ClaimStatus.NOT_CHECKED)
    supported = bool(verdict.claims) and all(claim.status in found for claim in verdict.claims)
    return supported and verdict.confidence >= context.settings.review_threshold


def best_attempt(attempts: tuple[Attempt, ...]) -> Attempt | None:
    """Return the attempt with the best verdict; of equals, the earliest."""
    judged = [attempt for attempt in attempts if attempt.verdict is not None]
    return max(judged, key=lambda a: a.verdict.confidence if a.verdict else 0, default=None)


def _attempt_line(attempt: Attempt) -> dict[str, object]:
    verdict = attempt.verdict
    return {
        "attempt": attempt.number,
        "answer": attempt.answer,
        "confidence": round(verdict.confidence, 3) if verdict else None,
        "reasons": list(verdict.reasons) if verdict else [],
    }
