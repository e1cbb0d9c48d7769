"""The rewriter: makes a search plan of the question and its conversation; on a retry it works in what was missing."""

from dataclasses import replace

from langgraph.runtime import Runtime

from core.domain.codec import to_plain
from core.figures.asked import years_compared_with
from core.graph.context import TurnContext
from core.graph.state import TurnState
from core.search.matching import named_documents
from core.search.plan import in_documents, is_joined, plan_question


def rewriter(state: TurnState, runtime: Runtime[TurnContext]) -> TurnState:
    """Plan the search; ``attempt`` counts up once the judge has seen a draft, and no retry looks for a gap again."""
    context = runtime.context
    attempt = len(state.attempts)
    if attempt:
        context.progress.step(f"Looking again, attempt {attempt + 1}…")
    tried = {query.text for one in state.attempts if one.plan for query in one.plan.queries}
    gaps = [gap for gap in (state.verdict.gaps if state.verdict else ()) if gap not in tried]
    plan = plan_question(
        state.standalone,
        history=context.history,
        gaps=(*filter(None, [state.hint]), *gaps),
        attempt=attempt,
        lexicon=context.lexicon,
    )
    called = not (state.targets or state.everywhere)
    documents = context.documents
    scope = [one for one in documents if not state.document_ids or one.id in state.document_ids]
    # what others say of what is called by name is no answer to it; a retry asks for sure names
    said = (plan.question, plan.standalone_question) if is_joined(plan) else (plan.standalone_question,)
    by_name = (
        named_documents(text, scope, surely=attempt > 0, beside=years_compared_with(text)) for text in said if called
    )
    named = next(filter(None, by_name), ())
    plan = replace(plan, document_ids=state.targets or named)
    if not state.everywhere:
        plan = in_documents(plan, documents if state.targets else scope, targets=state.targets, surely=attempt > 0)
    context.note(
        read={
            "question": state.standalone,
            "questions before": [one.question for one in context.history],
            "gaps": gaps,
        },
        decided={"attempt": attempt, "because": list(plan.notes), "named documents": list(named)},
        returned={"plan": to_plain(plan)},
    )
    return replace(state, plan=plan, attempt=attempt)
