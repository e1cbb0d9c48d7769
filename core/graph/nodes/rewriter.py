"""The rewriter: makes a search plan of the question and its conversation; on a retry it works in what was missing."""

from collections.abc import Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from core.domain.codec import to_plain
from core.figures.asked import years_compared_with
from core.graph.context import TurnContext
from core.graph.nodes.wider import WORDED, worded_otherwise
from core.graph.state import TurnState
from core.models.utterances import asks_of_each, leaning_of
from core.search.follow_up import Leaning
from core.search.matching import named_documents, only_names
from core.search.plan import in_documents, plan_question


def rewriter(state: TurnState, runtime: Runtime[TurnContext]) -> TurnState:
    """Plan the search; ``attempt`` counts up once the judge has seen a draft, and no retry looks for a gap again.

    The first retry also looks for what a language model words otherwise, where the first search did not.
    """
    context = runtime.context
    attempt = len(state.attempts)
    if attempt:
        context.progress.step(f"Looking again, attempt {attempt + 1}…")
    tried = {query.text for one in state.attempts if one.plan for query in one.plan.queries}
    gaps = [gap for gap in (state.verdict.gaps if state.verdict else ()) if gap not in tried]
    worded = any(one.plan and WORDED in one.plan.notes for one in state.attempts)
    wordings = worded_otherwise([state.asked], context) if attempt == 1 and not worded else []
    plan = plan_question(
        state.standalone,
        history=context.history,
        gaps=(*filter(None, [state.hint]), *gaps, *wordings),
        attempt=attempt,
        lexicon=context.lexicon,
        leaning=leaning_in(state.targets, context),
    )
    called = not (state.targets or state.everywhere)
    documents = context.documents
    scope = [one for one in documents if not state.document_ids or one.id in state.document_ids]
    # what others say of what is called by name is no answer to it; a retry asks for sure names
    said = (plan.question, plan.standalone_question) if plan.carried else (plan.standalone_question,)
    by_name = (
        named_documents(text, scope, surely=attempt > 0, beside=years_compared_with(text)) for text in said if called
    )
    named = next(filter(None, by_name), ())
    plan = replace(plan, document_ids=state.targets or named)
    each = called and not named and asks_of_each(plan.standalone_question)
    targets = tuple(one.id for one in scope) if each else state.targets
    if not state.everywhere:
        plan = in_documents(
            plan, documents if state.targets else scope, targets=targets, surely=attempt > 0, leaning=leaning_of
        )
    context.note(
        read={
            "question": state.standalone,
            "questions before": [one.question for one in context.history],
            "gaps": gaps,
        },
        decided={
            "attempt": attempt,
            "because": list(plan.notes),
            "named documents": list(named),
            "asked of each": list(targets) if each else [],
            "other wordings": wordings,
        },
        returned={"plan": to_plain(plan)},
    )
    return replace(state, plan=plan, attempt=attempt)


def leaning_in(targets: Sequence[str], context: TurnContext) -> Leaning:
    """Return how likely a question needs the one before it; one that is asked of a named document does not."""

    def leaning(question: str) -> float:
        mentioned = [one for one in context.documents if one.id in targets]
        ids = named_documents(question, context.documents, surely=True)
        named = [*mentioned, *(one for one in context.documents if one.id in ids)]
        return 0.0 if named and not only_names(question, named) else leaning_of(question)

    return leaning
