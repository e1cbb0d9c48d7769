"""The generator: streams a draft from the evidence, then finds the words in the pages that its markers point to.

The evidence is renumbered in the order in which the draft cites it.

If the model wrote nothing (no time was left, or its reply is empty), quotations replace its text and a notice reports
this; quotations also replace prose that the judge sends back because it was not supported.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

from langgraph.runtime import Runtime

from pincite.core.answers.selection import select
from pincite.core.answers.units import Unit
from pincite.core.domain.answers import AnswerPart, PartKind, engine_declines
from pincite.core.domain.codec import to_plain
from pincite.core.domain.errors import StoppedError
from pincite.core.domain.figures import Stated
from pincite.core.domain.ports import AnswerRequest, AskedPiece, ChatModel
from pincite.core.domain.presentation import MIN_ANSWER_CONFIDENCE
from pincite.core.domain.search import Evidence, Intent, Reason, piece_score
from pincite.core.domain.turns import WRITING_FROM
from pincite.core.figures.answers import parts_of
from pincite.core.figures.proposed import split_chart
from pincite.core.graph.context import TurnContext
from pincite.core.graph.nodes.analyst import best_pages, tables_on
from pincite.core.graph.nodes.drawn import drawn_of, with_chart
from pincite.core.graph.state import TurnState, critique_of, owns
from pincite.core.judge.citations import CitedAnswer, cite, read_typed, renumbered
from pincite.core.judge.claims import without_filler
from pincite.core.models.replies import mended
from pincite.core.questions.wording import kind_of, missing_words, strange_names
from pincite.core.search.conversation import Conversation, conversation_for
from pincite.core.text.formulas import without_latex
from pincite.core.text.marks import marked_text, plain_text
from pincite.core.text.numbers import Quantity, comparable, quantities, same
from pincite.core.text.plain import storable
from pincite.core.text.terms import content_terms
from pincite.core.text.thinking import holds_a_closing_mark, split_thinking

MIN_STATED_PROBABILITY = 0.5
"""Minimum probability of a figure that is shown next to prose that does not state it."""
MEMORY = 600
"""Characters of a condensed conversation that fit every window; a longer one takes up to half of the evidence."""
MIN_SCALE = 1e3
ANY_SCALE = frozenset({1.0, MIN_SCALE, 1e6, 1e9})


@owns(
    "attempt",
    "by_code",
    "parts",
    "evidence",
    "citations",
    "removed_markers",
    "tied",
    "thoughts",
    "usage",
    "give_up",
    "suspect",
    "told_otherwise",
    "other_figure",
    "quoted_because",
    "notices",
)
def generator(state: TurnState, runtime: Runtime[TurnContext]) -> TurnState:
    """Write one draft; in chat intent it is the answer."""
    context = runtime.context
    chat, rewords = state.intent is Intent.CHAT, state.intent is Intent.REWORD
    engine, silence, instead = context.stand_in if state.by_code else context.model, "", state.quoted_because
    conversation = conversation_for(state.asked, context.history)
    conversation = conversation.within(max(context.model.context_characters // 2, MEMORY))
    request = whole = _request(state, context, conversation)
    quoted: list[AnswerPart] = []
    if engine.writes_prose and not chat:
        if not rewords:
            quoted = _quoted_by_code(request, context)
            whole = _counted_as_sent(request, quoted)
            whole = replace(whole, pieces=tuple(_pieces(state, whole.evidence)))
        # what memory takes beyond the share that windows are reckoned with is taken from the evidence
        room = engine.readable_characters - max(len(conversation.condensed) - MEMORY, 0)
        request = replace(whole, evidence=_readable(whole, max(room, engine.readable_characters // 2)))
    verb = WRITING_FROM if engine.writes_prose else "Selecting quotations from"
    passages = f"{len(request.evidence)} passage{'' if len(request.evidence) == 1 else 's'}"
    context.progress.step("Writing…" if chat else f"{verb} {passages}…")
    parts, removed, thoughts, proposed = _written(engine, request, context, quoted)
    if engine.writes_prose and not chat and context.evidence_only():
        parts, thoughts, proposed = (), "", ""
    left_out = ""
    if engine.writes_prose and not chat:
        tables = tables_on(best_pages(whole.evidence), context) if proposed else []
        drawn, left_out = drawn_of(proposed, request.stated, tables, whole.evidence, engine)
        parts = with_chart(parts, drawn, asked_for=state.draws)
    if not parts and engine.writes_prose:
        engine = context.stand_in
        if rewords:
            silence, parts, removed = _no_reply_notice(context, "the answer stands as it was"), state.reworded, 0
        else:
            instead = _no_reply_notice(context, "the documents are quoted instead")
            parts, removed = _written(engine, whole, context, ())[:2]
    give_up = "The answer reached its time limit." if context.out_of_time and not (chat or state.by_code) else ""
    found = (
        CitedAnswer(parts, ())
        if chat
        else cite(parts, whole.evidence, context.library.page_text, question=request.question)
    )
    cited, evidence = renumbered(found, whole.evidence)
    writes = engine.writes_prose and not chat
    differing = list(_differing_statements(cited.parts, request.stated)) if writes and cited.parts else []
    otherwise = tuple(one.text for one in differing)
    in_full = [item.number for item in request.evidence if item.reason is not Reason.EXCERPT]
    read = {item.number for item in request.evidence}
    usage = engine.usage and replace(engine.usage, passages=len(in_full), left_out=len(whole.evidence) - len(in_full))
    names = () if chat or engine_declines(cited.parts) else strange_names(request.question, request.absent)
    strange = missing_words(names)
    context.progress.draft(cited.parts)
    context.note(
        read={"engine": engine.name, "evidence": in_full, "usage": to_plain(usage),
              "one sentence each of": [item.number for item in request.evidence if item.number not in in_full],
              "not read": [item.number for item in whole.evidence if item.number not in read],
              "critique": list(request.critique), "hint": request.hint, "instructions": request.instructions,
              "conversation": conversation.told},
        returned={"draft": cited.text, "evidence": [item.passage.id for item in evidence],
                  "citations": [to_plain(citation) for citation in cited.citations],
                  "removed markers": removed} | ({"thoughts": thoughts} if thoughts else {}),
    )  # fmt: skip
    return replace(
        state,
        attempt=len(state.attempts),
        by_code=state.by_code or bool(silence or instead),
        parts=cited.parts,
        evidence=evidence,
        citations=cited.citations,
        removed_markers=removed,
        tied=cited.tied,
        thoughts=thoughts,
        usage=usage,
        give_up=give_up,
        suspect=state.suspect or bool(give_up),
        told_otherwise=otherwise,
        other_figure=any(one.figure_differs for one in differing),
        quoted_because=instead,
    ).noted(silence, left_out, strange, *engine.notices)


def _written(
    engine: ChatModel, request: AnswerRequest, context: TurnContext, meanwhile: Sequence[AnswerPart]
) -> tuple[tuple[AnswerPart, ...], int, str, str]:
    """Return what an engine writes, as parts, the number of its markers without evidence, its thoughts, and its chart.

    Prose is read here, once. Quoting takes no time worth limiting. `meanwhile` is shown until the first words.
    """
    halted = context.writing_halted if engine.writes_prose else context.stopped
    whole: list[AnswerPart] = []
    reply = prose = thoughts = chart = ""
    context.progress.draft(meanwhile)
    alone = not any(holds_a_closing_mark(item.passage.text) for item in request.evidence)
    for piece in engine.answer(request, halted):
        if isinstance(piece, str):
            reply += storable(piece)
            thought_before = bool(thoughts)
            thoughts, prose = split_thinking(reply, alone=alone)
            prose, chart = split_chart(prose)
            if thoughts and not thought_before:
                context.progress.step(f"{engine.name} is thinking…")
        else:
            whole.append(piece)
        context.progress.draft((*whole, AnswerPart(prose)) if prose else whole or meanwhile)
        if halted():
            break
    if context.stopped():
        raise StoppedError("The turn was stopped.")
    prose = mended(prose, request)
    places = frozenset(content_terms(" ".join(_where(item) for item in request.evidence)))
    read, removed = read_typed(without_filler(prose, places) if request.evidence else prose, request.evidence)
    parts = (*whole, *read)
    return parts, removed, thoughts, chart


def _where(item: Evidence) -> str:
    return " ".join([item.document_name, *item.called, *item.passage.heading_path, item.passage.page_label])


def _quoted_by_code(request: AnswerRequest, context: TurnContext) -> list[AnswerPart]:
    """Return what quoting would answer, from the evidence alone."""
    if request.intent is Intent.SURVEY or context.stand_in.writes_prose or not request.evidence:
        return []
    quoted = replace(request, stated=(), pieces=tuple(replace(piece, stated=()) for piece in request.pieces))
    return [part for part in context.stand_in.answer(quoted, context.halted) if isinstance(part, AnswerPart)]


def _counted_as_sent(request: AnswerRequest, quoted: Sequence[AnswerPart]) -> AnswerRequest:
    """Return the request with its evidence renumbered: the sources of the answer by code, then the strongest.

    The answer by quotation is added to the statements if it is certain enough that prose can be checked against it.
    """
    first = next((part for part in quoted if part.kind is not PartKind.NOTE), None)
    sure = (
        first is not None and first.kind is PartKind.HEADLINE and (first.probability or 0.0) >= MIN_STATED_PROBABILITY
    )
    stated = (*request.stated, first) if first and sure else request.stated
    ordered = sorted(
        request.evidence, key=lambda item: (item.reason is not Reason.SEARCH, -item.scores.get("reranked", 0.0))
    )
    counted, evidence = renumbered(CitedAnswer((*stated, *quoted), ()), ordered)
    return replace(request, evidence=evidence, stated=counted.parts[: len(stated)])


def _readable(whole: AnswerRequest, characters: int) -> tuple[Evidence, ...]:
    """Return as many passages as fit with a sentence of each other one, at least one; then the sentences that fit."""
    lengths = list(accumulate(len(item.passage.text) for item in whole.evidence))
    if not lengths or lengths[-1] <= characters:
        return whole.evidence
    sentences = _likeliest_sentences(whole)
    left = [sum(len(one.passage.text) for one in sentences[count:]) for count in range(len(lengths) + 1)]
    read = max(
        [count for count, length in enumerate(lengths, start=1) if length + left[count] <= characters], default=1
    )
    kept, room = list(whole.evidence[:read]), characters - lengths[read - 1]
    for one in sentences[read:]:
        if len(one.passage.text) <= room:
            room -= len(one.passage.text)
            kept.append(one)
    return tuple(kept)


def _likeliest_sentences(whole: AnswerRequest) -> list[Evidence]:
    """Return each passage cut to the sentence that likeliest answers."""
    best: dict[int, Unit] = {}
    for one in select(whole.question, whole.evidence).scored:
        best.setdefault(one.unit.item.number, one.unit)
    cut = []
    for item in whole.evidence:
        unit, passage = best.get(item.number), item.passage
        if unit is None or unit.quoted == passage.text:
            cut.append(item)
            continue
        start, end = passage.start + unit.start, passage.start + unit.end
        cut.append(
            replace(item, passage=replace(passage, text=unit.quoted, start=start, end=end), reason=Reason.EXCERPT)
        )
    return cut


@dataclass(frozen=True, slots=True)
class _Differing:
    """A sentence for people; ``figure_differs``: its quotation has another figure than the prose."""

    text: str
    figure_differs: bool


def _differing_statements(parts: Sequence[AnswerPart], stated: Sequence[AnswerPart]) -> Iterator[_Differing]:
    """Yield what tables or pages state, if a model's prose has another figure, other words or none."""
    prose = without_latex(plain_text(parts))
    figure = next((part for part in stated if part.kind is PartKind.FIGURE), None)
    if figure is not None and (figure.probability or 0.0) >= MIN_STATED_PROBABILITY:
        result = figure.text.rpartition(": ")[2]
        given = quantities(prose)
        if not any(same(one, other) or same(other, one) for one in quantities(result) for other in given):
            differs = _figures_differ(prose, result) and (figure.probability or 0.0) >= MIN_ANSWER_CONFIDENCE
            yield _Differing(f"The tables on these pages say: {figure.text}.", differs)
    read = next((part for part in stated if part.kind is not PartKind.FIGURE), None)
    if read is not None:
        differs = _figures_differ(prose, read.text) and (read.probability or 0.0) >= MIN_ANSWER_CONFIDENCE
        if differs or not frozenset(content_terms(read.text)) & frozenset(content_terms(prose)):
            yield _Differing(f"The pages themselves say: “{' '.join(read.text.split())}”.", differs)


def _figures_differ(prose: str, read: str) -> bool:
    """Return whether prose gives figures of the same kinds as what was read, and none of that value at any scale."""
    results = [one for one in quantities(read) if one.counts]
    given = [one for one in quantities(prose) if one.counts and any(comparable(one, other) for other in results)]
    return bool(given) and not any(_is_same(one, other) for one in results for other in given)


def _is_same(one: Quantity, other: Quantity) -> bool:
    """Return whether both are one value; at any scale if only one has a scale, as a cell may leave it to its head."""
    scales = ANY_SCALE if (one.step >= MIN_SCALE) != (other.step >= MIN_SCALE) else frozenset({1.0})
    return same(one, other, scales) or same(other, one, scales)


def _no_reply_notice(context: TurnContext, instead: str) -> str:
    if context.evidence_only():
        return f"{context.model.name} was stopped, so {instead}."
    seconds = context.settings.turn_seconds
    why = f" within the limit of {seconds:.0f} seconds" if context.out_of_time else ""
    return f"{context.model.name} wrote nothing{why}, so {instead}."


def after_generator(state: TurnState) -> Literal["judge", "__end__"]:
    return "__end__" if state.intent is Intent.CHAT else "judge"


def _request(state: TurnState, context: TurnContext, conversation: Conversation) -> AnswerRequest:
    pieces = tuple(_pieces(state, state.evidence))
    return AnswerRequest(
        question=state.asked,
        intent=state.intent,
        kind=kind_of(state.asked),
        evidence=state.evidence,
        history=conversation.messages,
        critique=critique_of(state.verdict),
        hint=state.hint,
        stated=_stated(state.stated, state.evidence),
        instructions=context.instructions,
        library_is_empty=not context.documents,
        absent=state.absent,
        draws=state.draws,
        reworded=marked_text(state.reworded),
        read_otherwise=_read_otherwise(state),
        pieces=pieces,
        of_each=all(piece.name for piece in pieces) and not (state.plan and state.plan.document_ids),
        selects=state.plan is not None and state.plan.selects,
    )


def _read_otherwise(state: TurnState) -> str:
    """Return the other reading of a follow-up: the question without its context; empty if it is not a follow-up."""
    return state.plan.question if state.plan and state.plan.carried else ""


def _stated(stated: Iterable[Stated], evidence: Sequence[Evidence]) -> tuple[AnswerPart, ...]:
    return tuple(part for one in stated for part in parts_of(one, evidence))


def _pieces(state: TurnState, counted: Sequence[Evidence]) -> Iterator[AskedPiece]:
    """Yield each piece of the plan with its own evidence, counted as all of it is."""
    for number, piece in enumerate(state.plan.pieces if state.plan else ()):
        worth, asked_of = piece_score(number), piece.query.document_ids
        own = tuple(
            replace(one, scores={**one.scores, "reranked": one.scores[worth]}) if worth in one.scores else one
            for one in counted
            if (worth in one.scores or one.reason is not Reason.SEARCH)
            and (one.passage.document_id in asked_of or not asked_of)
        )
        changes = {change.passage_id for one in own for change in one.changes}
        own += tuple(one for one in counted if one.passage.id in changes and one not in own)
        stated = _stated((one for one in state.stated if one.piece == number), counted)
        # what a follow-up asks of several documents is read as what it asks of one
        whole = state.plan is not None and piece.asked == state.plan.question
        yield AskedPiece(piece.asked.strip(), (state.asked,) if whole else piece.readings, own, stated, piece.name)
