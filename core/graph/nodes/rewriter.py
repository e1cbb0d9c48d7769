"""The rewriter: makes a search plan of the question and its conversation; on a retry it works in what was missing."""

from collections.abc import Collection
from dataclasses import replace

from langgraph.runtime import Runtime

from core.domain.codec import to_plain
from core.graph.context import TurnContext
from core.graph.state import TurnState
from core.search.matching import named_documents
from core.search.plan import plan_question


def rewriter(state: TurnState, runtime: Runtime[TurnContext]) -> TurnState:
    """Plan the search; ``attempt`` counts up once the judge has seen a draft, and no retry looks for a gap again."""
    context = runtime.context
    attempt = len(state.attempts)
    if attempt:
        context.progress.step(f"Looking again, attempt {attempt + 1}…")
    tried = {query.text for one in state.attempts if one.plan for query in one.plan.sub_queries}
    gaps = [gap for gap in (state.verdict.gaps if state.verdict else ()) if gap not in tried]
    plan = plan_question(
        state.standalone,
        history=context.history,
        gaps=(*filter(None, [state.hint]), *gaps),
        attempt=attempt,
        lexicon=context.lexicon,
    )
    called = not (state.targets or state.everywhere)
    named = _named(plan.standalone_question, state.document_ids, attempt, context) if called else ()
    plan = replace(plan, document_ids=state.targets or named)
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


def _named(question: str, scope: Collection[str], attempt: int, context: TurnContext) -> tuple[str, ...]:
    """The documents that a question calls by name: what others say is no answer to it. A retry asks for sure names."""
    documents = [one for one in context.documents.list() if not scope or one.id in scope]
    return named_documents(question, documents, surely=attempt > 0)
