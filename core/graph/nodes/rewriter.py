"""The rewriter: make a search plan from the question and its conversation; on a retry, add what was missing."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langgraph.runtime import Runtime

from pincite.core.domain.codec import to_plain
from pincite.core.domain.search import SearchPlan
from pincite.core.graph.context import TurnContext
from pincite.core.graph.nodes.wider import MAX_TEXT_LENGTH, WORDED, worded_otherwise
from pincite.core.graph.state import TurnState, owns
from pincite.core.questions.follow_up import without_opening
from pincite.core.questions.matching import kind_meant, named_documents
from pincite.core.questions.operations import years_compared_with
from pincite.core.questions.plan import in_documents, plan_question
from pincite.core.questions.reading import leaning_in, read_question
from pincite.core.questions.utterances import asks_of_each, leaning_of, selects_documents
from pincite.core.text.foreign import in_line
from pincite.core.text.prompts import PROMPTS
from pincite.core.text.terms import content_terms, words

STANDALONE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"question": {"type": "string", "maxLength": MAX_TEXT_LENGTH}},
    "required": ["question"],
}


@owns("plan", "attempt", "reading")
def rewriter(state: TurnState, runtime: Runtime[TurnContext]) -> TurnState:
    """Plan the search; ``attempt`` counts up once the judge has seen a draft, and no retry looks for a gap again.

    The first retry also looks for what a language model words otherwise, where the first search did not.
    """
    context = runtime.context
    if state.reading is None:  # a turn that an earlier version began: it stored no reading
        reading = read_question(state.question, context.history, context.documents, context.opening)
        state = replace(state, reading=reading)
    attempt = len(state.attempts)
    if attempt:
        context.progress.step(f"Looking again, attempt {attempt + 1}…")
    tried = {query.text for one in state.attempts if one.plan for query in one.plan.queries}
    gaps = [gap for gap in (state.verdict.gaps if state.verdict else ()) if gap not in tried]
    worded = any(one.plan and WORDED in one.plan.notes for one in state.attempts)
    wordings = worded_otherwise([state.asked], context) if attempt == 1 and not worded else []
    sought = (*filter(None, [state.hint]), *gaps, *wordings)
    plan = plan_question(
        state.read,
        gaps=sought,
        attempt=attempt,
        lexicon=context.lexicon,
        leaning=leaning_in(context.documents, state.read.mentioned),
    )
    if plan.carried and context.model.writes_prose and (text := _alone(state, plan, context)):
        alone = plan_question(text, gaps=sought, attempt=attempt, lexicon=context.lexicon)
        note = f"{context.model.name} worded the question so that it stands alone."
        readings = (*plan.sub_queries[:1], *plan.readings)
        plan = replace(alone, question=plan.question, readings=readings, notes=(*plan.notes, *alone.notes, note))
    mentioned = state.read.mentioned
    called = not (mentioned or state.everywhere)
    documents = context.documents
    scope = [one for one in documents if not state.document_ids or one.id in state.document_ids]
    # other documents' text about a named document does not answer the question; a retry requires certain names
    texts = (plan.question, plan.standalone_question) if plan.carried else (plan.standalone_question,)
    by_name = (
        named_documents(text, scope, surely=attempt > 0, beside=years_compared_with(text)) for text in texts if called
    )
    named = next(filter(None, by_name), ())
    selects = len(mentioned or named or scope) > 1 and selects_documents(plan.standalone_question)
    if called and not named and not attempt and not selects:
        named = kind_meant(plan.standalone_question, scope)
    plan = replace(plan, document_ids=mentioned or named, selects=selects)
    each = called and not named and (selects or asks_of_each(plan.standalone_question))
    by_title = sorted(scope, key=lambda one: one.name.casefold())
    targets = tuple(one.id for one in by_title) if each else mentioned
    if not state.everywhere:
        plan = in_documents(
            plan, documents if mentioned else scope, targets=targets, surely=attempt > 0, leaning=leaning_of
        )
    context.note(
        read={"question": state.read.text, "questions before": [one.question for one in context.history], "gaps": gaps},
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


def _alone(state: TurnState, plan: SearchPlan, context: TurnContext) -> str:
    """Return a follow-up as a language model words it, if it has only words of the follow-up and the previous question.

    A retry keeps to what the first attempt made of it.
    """
    if state.attempts:
        first = state.attempts[0].plan
        return first.standalone_question if first and not first.carried else ""
    content = f"Before: {in_line(plan.carried)}\nNow: {in_line(plan.question)}"
    reply = context.model.structured(PROMPTS["standalone"], content, STANDALONE_SCHEMA)
    rewording = " ".join(str(reply["question"]).split()) if reply else ""
    worded = frozenset(map(str.casefold, words(rewording)))
    own = frozenset(map(str.casefold, words(without_opening(plan.question))))
    terms = set(content_terms(rewording))
    keeps = bool(own) and own <= worded and bool(terms) and terms <= set(content_terms(plan.standalone_question))
    repeats = worded == frozenset(map(str.casefold, words(plan.carried)))
    return rewording if keeps and not repeats and len(rewording) <= MAX_TEXT_LENGTH else ""
