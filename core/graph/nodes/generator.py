"""The generator: streams a draft from the evidence, then finds the words in the pages that its markers point to."""

from typing import Literal

from langgraph.runtime import Runtime

from pincite.core.graph.citations import cite
from pincite.core.graph.context import TurnContext, TurnStopped
from pincite.core.graph.nodes.rewriter import messages_of, question_to_answer
from pincite.core.graph.state import TurnState, TurnUpdate, exchange_of
from pincite.core.ports import AnswerRequest
from pincite.core.store.codec import to_plain
from pincite.core.types import Intent, Verdict


def generator(state: TurnState, runtime: Runtime[TurnContext]) -> TurnUpdate:
    """Write one draft; in chat intent it is the answer."""
    context = runtime.context
    chat = state["intent"] is Intent.CHAT
    request = _request(state, context)
    verb = "Writing" if context.model.writes_prose else "Selecting quotations"
    context.progress.step(f"{verb}…" if chat else f"{verb} from {len(request.evidence)} passages…")
    draft = ""
    context.progress.draft(draft)
    for piece in context.model.answer(request, context.halted):
        draft += piece
        context.progress.draft(draft)
        if context.halted():
            break
    if context.stopped():
        raise TurnStopped("The turn was stopped.")
    give_up = "The time for this turn was used up." if context.out_of_time and not chat else state["give_up"]
    cited = cite(draft, request.evidence, context.documents.page_text, attach=context.model.writes_prose and not chat)
    context.progress.draft(cited.text)
    context.note(
        read={"engine": context.model.name, "evidence": [item.number for item in request.evidence],
              "critique": list(request.critique), "notes": list(request.notes)},
        returned={"draft": cited.text, "citations": [to_plain(citation) for citation in cited.citations],
                  "removed markers": cited.removed},
    )  # fmt: skip
    update = TurnUpdate(
        draft=cited.text,
        citations=cited.citations,
        removed_markers=cited.removed,
        give_up=give_up,
        notices=tuple(dict.fromkeys([*state["notices"], *context.model.notices])),
    )
    if chat:
        update["history"] = exchange_of(state, cited.text)
    return update


def after_generator(state: TurnState) -> Literal["judge", "__end__"]:
    return "__end__" if state["intent"] is Intent.CHAT else "judge"


def _request(state: TurnState, context: TurnContext) -> AnswerRequest:
    notes = []
    documents = context.documents.list()
    if not documents:
        notes.append("There are no documents yet.")
    if state["hint"]:
        notes.append(f"A reviewer's hint: {state['hint']}")
    return AnswerRequest(
        question=question_to_answer(state),
        intent=state["intent"],
        evidence=state["evidence"],
        history=messages_of(state["history"]),
        critique=_critique(state["verdict"]),
        notes=tuple(notes),
        absent=state["absent"],
    )


def _critique(verdict: Verdict | None) -> tuple[str, ...]:
    return (*verdict.reasons, *verdict.gaps) if verdict else ()
