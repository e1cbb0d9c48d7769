"""The retriever: find the evidence, and report which searched documents are incomplete."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from langgraph.runtime import Runtime

from pincite.core.domain.documents import Document
from pincite.core.domain.search import Candidate, Evidence, Intent, Reason, SearchResult
from pincite.core.graph.context import TurnContext
from pincite.core.graph.nodes.changed import with_changes
from pincite.core.graph.nodes.placed import placed, with_places
from pincite.core.graph.nodes.unread import holes_of
from pincite.core.graph.nodes.wider import look_wider
from pincite.core.graph.state import TurnState, critique_of, owns
from pincite.core.search.overview import documents_meant, overview
from pincite.core.search.pack import evidence_of
from pincite.core.text.plain import counted

NOTHING_NEW = "Searching further found nothing new."
SHOWN_PER_STAGE = 40
MAX_NEAREST_SHOWN = 3


@owns("plan", "intent", "evidence", "nearest", "absent", "parts", "notices", "by_code", "give_up")
def retriever(state: TurnState, runtime: Runtime[TurnContext]) -> TurnState:
    """Search with the plan, looser by its attempt number; a retry that brings nothing new is the last.

    Then quotations take the place of a model's prose.
    """
    context = runtime.context
    assert state.plan is not None, "the rewriter comes before the retriever"
    scope = state.plan.document_ids or state.document_ids
    searched = [document for document in context.documents if not scope or document.id in scope]
    found = placed(state, context, searched)
    if found is None:
        if state.intent is Intent.SURVEY:
            found = _survey(state, context, searched)
        else:
            look = partial(_search, context=context, searched=searched)
            found = look(state) if state.attempts else look_wider(state, context, look)
            found = with_changes(with_places(found, context, searched), context)
    if _repeats(found, context):
        return replace(found, by_code=True) if context.model.writes_prose else replace(found, give_up=NOTHING_NEW)
    return found


def _search(state: TurnState, context: TurnContext, searched: Sequence[Document]) -> TurnState:
    assert state.plan is not None
    context.progress.step(f"Searching {counted(len(searched), 'document')}…")
    result = context.searcher.search(
        state.plan, context.documents, context_characters=context.evidence_characters, scope=state.document_ids
    )
    drawn_on = {item.passage.document_id for item in result.evidence}
    holes = holes_of(searched, context.library, drawn_on)
    context.note(
        read={
            "queries": [query.text for query in state.plan.queries],
            "documents": [document.name for document in searched],
        },
        decided={
            "score floor": result.score_floor,
            "reranker": result.reranker,
            "left out": list(result.left_out),
            "notes": list(result.notes),
            "words in no passage": list(result.absent),
        },
        returned=described(result),
    )
    return replace(
        state,
        evidence=result.evidence,
        nearest=() if result.evidence else _nearest(result, {document.id: document for document in searched}),
        absent=() if holes or state.draws or not state.read.english else result.absent,
    ).noted(*result.notices, *holes)


def _survey(state: TurnState, context: TurnContext, searched: Sequence[Document]) -> TurnState:
    """Return the state with passages that represent whole documents, for a question about these."""
    meant = documents_meant(state.read.text, searched)
    context.progress.step(f"Looking through {counted(len(meant), 'document')}…")
    evidence = overview(meant, context.library, context_characters=context.model.readable_characters)
    notices = list(holes_of(meant, context.library, {document.id for document in meant}))
    if left := len(meant) - len({item.passage.document_id for item in evidence}):
        notices.append(f"{counted(left, 'document')} had no text or did not fit in this answer.")
    context.note(
        read={"documents": [document.name for document in searched]},
        decided={"meant": [document.name for document in meant]},
        returned={"evidence": [evidence_line(item) for item in evidence]},
    )
    return replace(state, evidence=evidence, nearest=()).noted(*notices)


def _repeats(state: TurnState, context: TurnContext) -> bool:
    """Return whether a retry would repeat the last request: the same passages, the same critique."""
    if not state.attempts or not state.evidence:
        return False
    *_, before, last = (None, *state.attempts)
    if {item.passage.id for item in state.evidence} != {item.passage.id for item in last.evidence}:
        return False
    critique = critique_of(before.verdict if before else None)
    return not context.model.writes_prose or critique_of(last.verdict) == critique


def after_retriever(state: TurnState) -> Literal["analyst", "generator", "judge", "review"]:
    if state.parts and not state.attempts:
        return "judge"  # there is no such place: no draft is needed
    if state.give_up or not state.evidence:
        return "review"
    return "generator" if state.intent is Intent.SURVEY else "analyst"


def described(result: SearchResult) -> dict[str, object]:
    """Return the evidence and every stage's ranking, with each score, as the trace keeps it."""
    return {
        "evidence": [evidence_line(item) for item in result.evidence],
        "rankings": {
            stage: [_candidate_line(candidate) for candidate in candidates[:SHOWN_PER_STAGE]]
            for stage, candidates in result.rankings.items()
        },
    }


def evidence_line(item: Evidence) -> dict[str, object]:
    return {
        "number": item.number,
        "document": item.document_name,
        "page": item.passage.page_label,
        "page_index": item.passage.page_index,
        "passage": item.passage.id,
        "scores": {stage: round(score, 4) for stage, score in item.scores.items()},
        "reason": item.reason,
        "text": item.passage.text,
    }


def _candidate_line(candidate: Candidate) -> dict[str, object]:
    passage = candidate.passage
    return {
        "passage": passage.id,
        "document_id": passage.document_id,
        "page": passage.page_label,
        "scores": {stage: round(score, 4) for stage, score in candidate.scores.items()},
        "text": passage.text[:300],
    }


def _nearest(result: SearchResult, documents: Mapping[str, Document]) -> tuple[Evidence, ...]:
    """Return the best passages below the floor, to show where the search came closest."""
    ranked = result.rankings.get("reranked") or result.rankings.get("fused") or ()
    return tuple(
        evidence_of(number, found, documents, Reason.BELOW_FLOOR)
        for number, found in enumerate(ranked[:MAX_NEAREST_SHOWN], start=1)
    )
