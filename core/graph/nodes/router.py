"""The router: does the question go to the documents, and to which? By rule, by what it reads like, then by a probe."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from langgraph.runtime import Runtime

from pincite.core.answers.quoting import MIN_ANSWERED, chance_of_answer
from pincite.core.domain.answers import AnswerPart, Citation
from pincite.core.domain.documents import NO_DOCUMENTS, Document, bare_name
from pincite.core.domain.errors import TurnError
from pincite.core.domain.questions import Question, Wish
from pincite.core.domain.search import Intent, Mode, SearchResult
from pincite.core.domain.turns import NO_DOCUMENT, Turn
from pincite.core.graph.about import about_answer, about_conversation, about_library, about_program
from pincite.core.graph.context import TurnContext
from pincite.core.graph.nodes.unread import holes_of
from pincite.core.graph.state import TurnState, owns
from pincite.core.questions.plan import plan_question
from pincite.core.questions.reading import CERTAIN, read_question
from pincite.core.questions.utterances import wish_of, wishes_of
from pincite.core.questions.wording import other_terms
from pincite.core.search.nearness import Nearness, nearness_of
from pincite.core.text.foreign import in_line
from pincite.core.text.prompts import PROMPTS

NEEDS_A_MODEL = (
    "Writing an answer in another form needs a language model, and none is connected. The answer is above; connect a "
    "model in the settings."
)
NOTHING_TO_REWORD = "The last reply cites no page that can be read again, so it is not written in another form."
SOURCE_CHANGED = (
    "A page that the last answer cites was removed or replaced since, so its quotations cannot be shown again. Ask the "
    "question once more."
)
INTENT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"needs": {"type": "string", "enum": ["documents", "chat"]}},
    "required": ["needs"],
}
MAX_NAMES = 20
MIN_WISH_PROBABILITY = 0.75
"""Minimum probability of a wish. Less likely messages about the program or the library are searched; less likely small
talk is searched if it is near the documents."""
_READS_LIKE = {
    Wish.CHAT: "small talk or a request that no document answers",
    Wish.PROGRAM: "a question about the program",
    Wish.LIBRARY: "a question about the library",
    Wish.DOCUMENTS: "a question to the documents",
    Wish.OVERVIEW: "a question about whole documents",
    Wish.CHART: "a wish for a chart",
    Wish.SOURCE: "a question about the last answer",
    Wish.REWORD: "a wish for the last answer in another form",
}
_INTENTS = {Wish.CHAT: Intent.CHAT, Wish.PROGRAM: Intent.ABOUT, Wish.LIBRARY: Intent.ABOUT}


@owns("intent", "reading", "notices", "reworded", "reused_from", "evidence", "parts", "citations", "verdict")
def router(state: TurnState, runtime: Runtime[TurnContext]) -> TurnState:
    """Decide the intent, resolve @mentions, and look for a reviewed answer to the question."""
    context = runtime.context
    context.progress.step("Reading the question…")
    documents = context.documents
    question = read_question(state.question, context.history, documents, context.opening)
    mentioned, notices, wish = question.mentioned, question.notices, question.wish
    scope = mentioned or state.document_ids
    in_scope = [document for document in documents if not scope or document.id in scope]
    context.note(read={"question": state.question, "mode": state.mode, "documents": [d.name for d in in_scope]})
    empty_collection = scope == NO_DOCUMENTS and not documents
    if scope and not in_scope and state.mode is not Mode.CHAT and not empty_collection:
        raise TurnError(
            "None of the documents chosen for this question is in the library any more, so nothing was searched.",
            hint="Choose other documents, or all of them, and ask again.",
        )
    if not mentioned and (gone := len(set(scope)) - len(in_scope)) > 0:
        notices = (*notices, f"No longer in the library: {gone} of the {len(set(scope))} chosen documents.")

    state = replace(state, reading=question, notices=notices)
    if state.mode is not Mode.CHAT and not mentioned and (said := about_conversation(question.text, context.history)):
        context.note(decided={"intent": Intent.ABOUT, "because": "it asks what was said before"})
        return replace(state, intent=Intent.ABOUT, parts=(AnswerPart(said),))
    about_last = (
        wish in (Wish.SOURCE, Wish.REWORD)
        and question.wish_probability >= MIN_WISH_PROBABILITY
        and state.mode is not Mode.CHAT
        and not mentioned
    )
    if about_last and (last := context.last_answer()):
        why = f"it reads like {_READS_LIKE[wish]}, {question.wish_probability:.0%} sure"
        context.note(decided={"because": why, "of": last.id})
        return _of_last_answer(state, wish, last, context)
    if about_last and context.history and context.history[-1].intent is Intent.CHAT:
        context.note(decided={"intent": Intent.CHAT, "because": "it is about the small talk before it"})
        return replace(state, intent=Intent.CHAT)
    intent, why = _by_rule(question, state.mode, in_scope)
    about = Wish.DOCUMENTS
    if intent is None:
        intent, why, about = _by_wish(question, in_scope)
    if intent not in (Intent.CHAT, Intent.ABOUT) and not any(document.searchable for document in in_scope):
        raise _nothing_to_search(in_scope)
    if intent is None:
        intent, why = _by_probe(question, about, state, context)
    elif _may_be_of_none(question, intent, state, context):
        intent, why = _by_distance(question.text, state, context)
        notices = (*notices, NO_DOCUMENT) if intent is Intent.CHAT else notices
    routed = replace(state, intent=intent, notices=notices)
    context.note(
        decided={
            "intent": intent,
            "because": why,
            "kind": question.kind,
            "draws": routed.draws,
            "mentioned": [d.name for d in documents if d.id in mentioned],
        }
    )
    if intent is Intent.ABOUT:
        return replace(routed, parts=(AnswerPart(_about(about, in_scope, context)),))
    if intent is Intent.CHAT or question.leans or state.fresh:
        return routed
    recalled = context.recall(question.text, [document.id for document in in_scope])
    if recalled is None:
        return routed
    if not recalled.same:
        offer = f"A similar question was reviewed: “{recalled.question}” Ask it in these words to see that answer."
        return replace(routed, notices=(*notices, offer))
    context.note(returned={"reviewed answer": recalled.turn_id})
    said = f"Answered from a review by {recalled.reviewer} on {recalled.decided_at[:10]} of “{recalled.question}”."
    return replace(
        routed,
        reused_from=recalled.turn_id,
        parts=recalled.parts,
        evidence=recalled.evidence,
        citations=recalled.citations,
        verdict=recalled.verdict,
        notices=(*notices, said),
    )


def _of_last_answer(state: TurnState, wish: Wish, last: Turn, context: TurnContext) -> TurnState:
    """Report the sources of the last answer, or have a language model rewrite it from the same passages."""
    answered = replace(state, intent=Intent.LAST_ANSWER)
    there = {document.id for document in context.documents}
    cited = last.final_citations
    if any(one.document_id not in there or not _still_contains(one, context) for one in cited):
        return replace(answered, parts=(AnswerPart(SOURCE_CHANGED),))
    if wish is Wish.SOURCE:
        return replace(answered, parts=about_answer(last), citations=cited, evidence=last.evidence if cited else ())
    if not context.model.writes_prose:
        return replace(answered, parts=(AnswerPart(NEEDS_A_MODEL),))
    numbers = {number for part in last.final_parts for number in part.numbers}
    evidence = tuple(one for one in last.evidence if one.number in numbers and one.passage.document_id in there)
    if not cited or len(evidence) < len(numbers):
        return replace(answered, parts=(AnswerPart(NOTHING_TO_REWORD),))
    return replace(state, intent=Intent.REWORD, reworded=last.final_parts, evidence=evidence)


def _still_contains(one: Citation, context: TurnContext) -> bool:
    return context.library.page_text(*one.page)[one.start : one.end] == one.quotation


def after_router(state: TurnState) -> Literal["rewriter", "generator", "__end__"]:
    if state.reused_from or state.intent in (Intent.ABOUT, Intent.LAST_ANSWER):
        return "__end__"
    return "generator" if state.intent in (Intent.CHAT, Intent.REWORD) else "rewriter"


def _by_rule(question: Question, mode: Mode, documents: Sequence[Document]) -> tuple[Intent | None, str]:
    text, mentioned = question.text, question.mentioned
    if mode is Mode.CHAT and not mentioned:
        return Intent.CHAT, "the mode is chat"
    if mentioned or mode is Mode.DOCUMENTS:
        why = "a document was @mentioned" if mentioned else "the mode is documents"
        search = Intent.TARGETED_SEARCH if mentioned else Intent.DOCUMENT_SEARCH
        for name in (bare_name(document.name) for document in documents if document.id in mentioned):
            text = text.replace(name, "the document")
        wish, sure = wish_of(text)
        if wish is Wish.OVERVIEW and sure >= MIN_WISH_PROBABILITY:
            return Intent.SURVEY, f"{why}, and it reads like {_READS_LIKE[wish]}"
        return search, why
    return None, ""


def _by_wish(question: Question, documents: Sequence[Document]) -> tuple[Intent | None, str, Wish]:
    """Return the intent; None if it may as well be about the documents, which are then probed."""
    if question.names_place:
        return Intent.DOCUMENT_SEARCH, "it names a page or a section", Wish.DOCUMENTS
    text, wish = question.text, question.wish
    reason = f"it reads like {_READS_LIKE[wish]}, {question.wish_probability:.0%} sure"
    if wish is Wish.OVERVIEW and question.wish_probability >= MIN_WISH_PROBABILITY:
        return Intent.SURVEY, reason, wish
    # "are you a robot?" may be small talk or about the program, and in neither case is it in the documents
    sure = sum(wishes_of(text)[other] for other in _INTENTS)
    if wish not in _INTENTS or (wish is not Wish.CHAT and sure < MIN_WISH_PROBABILITY):
        return Intent.DOCUMENT_SEARCH, reason, Wish.DOCUMENTS
    # small talk names no document: "And Bexton?" asks the one of that name
    topic = other_terms(text, "") if wish is Wish.CHAT else _topic(text, documents)
    may_be_of_documents = any(document.searchable for document in documents) and bool(topic)
    if wish is Wish.CHAT and question.names_document:
        return Intent.DOCUMENT_SEARCH, "it names a document", Wish.DOCUMENTS
    # "With what sign does every message close?" reads like one about the program, though less so than those that are
    return (
        (_INTENTS[wish] if sure >= (CERTAIN if may_be_of_documents else MIN_WISH_PROBABILITY) else None),
        reason,
        wish,
    )


def _nothing_to_search(documents: Sequence[Document]) -> TurnError:
    """Return the error for an empty scope; a model is not asked, as its own knowledge would pass for a document's."""
    if not documents:
        return TurnError("There are no documents to search yet.", hint="Add a PDF, then ask again.")
    return TurnError(
        "None of the documents to be searched has any text yet.",
        hint="Wait until they have been read, or see under Documents why they could not be read.",
    )


def _topic(text: str, documents: Sequence[Document]) -> set[str]:
    """Return the terms of a question other than documents, their names and their kinds."""
    return other_terms(text, " ".join(document.words_of_facts for document in documents))


def _by_probe(question: Question, wish: Wish, state: TurnState, context: TurnContext) -> tuple[Intent, str]:
    """Return the intent by whether the documents answer the message, read after the previous question."""
    text, asked = question.text, question.read.standalone
    if question.leans and wish_of(asked)[0] is Wish.DOCUMENTS:
        return Intent.DOCUMENT_SEARCH, f"with the question before it, it reads like {_READS_LIKE[Wish.DOCUMENTS]}"
    probed = _probed(asked, state, context)
    found, near = probed.evidence, nearness_of(asked, probed)
    probability = question.wish_probability
    if near is not Nearness.FAR and found and chance_of_answer(asked, found) >= (MIN_ANSWERED + probability) / 2:
        return Intent.DOCUMENT_SEARCH, f"a search found {found[0].document_name}, page {found[0].passage.page_label}"
    if near is Nearness.BETWEEN and context.model.writes_prose and probability < MIN_WISH_PROBABILITY:
        reply = context.model.structured(PROMPTS["intent"], text, INTENT_SCHEMA)
        chat = reply is not None and reply.get("needs") == "chat"
        return (_INTENTS[wish] if chat else Intent.DOCUMENT_SEARCH), f"{context.model.name} said so"
    return _INTENTS[wish], "a search of the documents found nothing like it"


def _may_be_of_none(question: Question, intent: Intent, state: TurnState, context: TurnContext) -> bool:
    """Return whether a model may answer without documents: the question is self-contained and the mode allows it."""
    free = state.mode is Mode.AUTO and not (state.alone or state.everywhere or state.hint)
    asks = intent is Intent.DOCUMENT_SEARCH and question.wish is Wish.DOCUMENTS
    names = question.mentioned or question.names_document or question.names_place
    return context.model.writes_prose and free and asks and not (question.leans or names)


def _by_distance(text: str, state: TurnState, context: TurnContext) -> tuple[Intent, str]:
    """Return the intent by distance: near questions go to the documents, far ones to the model, which decides between.

    Questions that the reader finds answered, or that arrive while passages have no vectors yet, go to the documents.
    """
    found = _probed(text, state, context)
    near = nearness_of(text, found)
    if near is not Nearness.NEAR and found.evidence and chance_of_answer(text, found.evidence) >= MIN_ANSWERED:
        near = Nearness.NEAR
    if near is Nearness.NEAR or found.notices:
        return Intent.DOCUMENT_SEARCH, "the documents have something near it"
    if near is Nearness.FAR:
        return Intent.CHAT, "nothing in the documents is near it"
    names = ", ".join(document.title or document.name for document in context.documents[:MAX_NAMES])
    reply = context.model.structured(PROMPTS["intent"], f"Documents: {in_line(names)}\nMessage: {text}", INTENT_SCHEMA)
    chat = reply is not None and reply.get("needs") == "chat"
    return (Intent.CHAT if chat else Intent.DOCUMENT_SEARCH), f"{context.model.name} said so"


def _probed(asked: str, state: TurnState, context: TurnContext) -> SearchResult:
    plan = plan_question(asked, lexicon=context.lexicon)
    return context.searcher.search(plan, context.documents, context_characters=1_000, scope=state.document_ids)


def _about(wish: Wish, documents: Sequence[Document], context: TurnContext) -> str:
    if wish is Wish.PROGRAM:
        return about_program(context.model)
    return about_library(documents, holes_of(documents, context.library, {document.id for document in documents}))
