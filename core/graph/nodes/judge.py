"""The judge: checks the draft against its evidence; the draft is accepted, tried again, or sent to a person.

Prose that is not supported after all attempts is replaced by quotations of the same evidence, which are judged like
any draft.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from langgraph.runtime import Runtime

from pincite.core.answers.selection import select
from pincite.core.domain.answers import AnswerPart, Citation, ClaimStatus, Form, Likeness, Verdict, form_of
from pincite.core.domain.codec import to_plain
from pincite.core.domain.presentation import MIN_ANSWER_CONFIDENCE
from pincite.core.domain.search import Intent, Reason
from pincite.core.domain.settings import Settings
from pincite.core.graph.context import TurnContext
from pincite.core.graph.nodes.unread import max_denial, not_read, searched_documents
from pincite.core.graph.state import TurnState, owns
from pincite.core.judge.critique import CRITIC_SCHEMA, critic_question, read_critique, weigh
from pincite.core.judge.features import states_reading
from pincite.core.judge.verdict import checked_against_pictures, declined_verdict, judged_question, verdict_of
from pincite.core.questions.wording import in_another_language, missing_words, strange_names
from pincite.core.text.formulas import without_latex
from pincite.core.text.marks import plain_text
from pincite.core.text.numbers import quantities
from pincite.core.text.orders import orders_in
from pincite.core.text.quotations import locate
from pincite.core.text.sentences import split_sentences
from pincite.core.text.terms import content_terms

SHOWS_OTHERWISE = "The page or the file shows different words from the text that was read."
"""Findings that another attempt would not change."""
_DECISIONS = {"__end__": "accept", "review": "give up", "generator": "quote instead", "rewriter": "retry"}
OF_SOMETHING_ELSE = 0.3
"""Maximum confidence of an answer if its passages share no word with the previous question, if it uses a name in no
searched passage, or if it has another figure than the one read with certainty from the pages."""
IS_IT_RIGHT = "Is the answer right anyway?"


@owns("citations", "verdict", "attempts", "give_up", "suspect", "by_code", "notices", "quoted_because")
def judge(state: TurnState, runtime: Runtime[TurnContext]) -> TurnState:
    """Give the verdict on this attempt and add the attempt to the earlier ones.

    A cut draft is never accepted; a language model's statement that the documents do not answer is accepted only after
    a looser search agrees.
    """
    context = runtime.context
    state = replace(state, citations=_looked_at(state.citations, context))
    verdict = _verdict(state, context)
    first_of_several = not state.attempt and context.settings.max_retries > 0
    if orders := _orders(state.citations, context):
        verdict = replace(verdict, reasons=(*verdict.reasons, *orders[1:]), question_back=IS_IT_RIGHT)
        state = replace(state, give_up=state.give_up or orders[0], suspect=True)
    elif any(one.read_back and one.read_back.likeness is Likeness.DIFFERS for one in state.citations):
        state = replace(state, give_up=state.give_up or SHOWS_OTHERWISE, suspect=True)
    if state.give_up:
        verdict = replace(verdict, accepted=False)
    elif verdict.declined and _is_prose(state, context) and first_of_several:
        verdict = replace(verdict, accepted=False, reasons=("The first, stricter search may have missed it.",))
    judged = replace(state, verdict=verdict)
    if not verdict.accepted:
        why = state.give_up or _why_no_further(state, context)
        quotable = state.intent is not Intent.REWORD and not (orders or state.give_up == SHOWS_OTHERWISE)
        by_code = bool(why) and _is_prose(state, context) and quotable
        judged = replace(judged, give_up="" if by_code else why, by_code=by_code)
    elif state.by_code and state.attempts:
        judged = replace(judged, quoted_because=state.quoted_because or quoted_instead(context.model.name))
    if verdict.declined and _is_prose(state, context) and (told := missing_words(state.absent)):
        judged = judged.noted(told)
    decision = _DECISIONS[after_judge(judged)]
    if form_of(state.parts, verdict) is not Form.ANSWER:
        lacking = not_read(searched_documents(state, context), context.library)
        judged = judged.noted(*lacking)
    context.note(
        read={"draft": judged.draft.answer, "evidence": [item.number for item in state.evidence]},
        decided={"decision": decision, "because": judged.give_up or list(verdict.reasons)},
        returned={"verdict": to_plain(verdict)},
    )
    return replace(judged, attempts=(*state.attempts, judged.draft))


def _verdict(state: TurnState, context: TurnContext) -> Verdict:
    """Return the verdict by code; if it accepts the draft, a language model may still lower it."""
    context.progress.step("Checking citations…")
    settings, model = context.settings, context.model
    prose = _is_prose(state, context)
    answered, read, states_what_is_read = _weighed(state) if prose else (None, None, False)
    verdict = verdict_of(
        judged_question(state.intent, state.asked),
        state.parts,
        state.evidence,
        removed_markers=state.removed_markers,
        tied=state.tied,
        page_text=context.library.page_text,
        threshold=_acceptance_threshold(settings),
        worked_out=[one.text for one in state.stated if one.computation],
        readings=_readings(state),
        answered=answered,
        read=read,
        states_what_is_read=states_what_is_read,
    )
    verdict = capped_by_topic(
        state, checked_against_pictures(verdict, state.citations), _acceptance_threshold(settings)
    )
    verdict = capped_by_names(state, verdict, _acceptance_threshold(settings)) if prose else verdict
    if prose and state.other_figure and not verdict.declined:
        reasons = (*verdict.reasons, *state.told_otherwise)
        verdict = replace(lowered(verdict, OF_SOMETHING_ELSE, _acceptance_threshold(settings)), reasons=reasons)
    searched = searched_documents(state, context)
    if verdict.declined and (most := max_denial(searched, context.library)) < verdict.confidence:
        verdict = lowered(verdict, most, _acceptance_threshold(settings))
        reasons = () if verdict.accepted else declined_verdict(most, _acceptance_threshold(settings)).reasons
        verdict = replace(verdict, reasons=verdict.reasons or reasons)
    if not (prose and verdict.accepted and verdict.claims) or context.out_of_time:
        return verdict
    context.progress.step(f"Asking {model.name} to check the answer…")
    reply = model.of_last_answer(critic_question(verdict.claims), CRITIC_SCHEMA)
    critique = read_critique(reply, len(verdict.claims))
    return weigh(
        verdict, critique, critic=model.name, evidence=state.evidence, threshold=_acceptance_threshold(settings)
    )


def capped_by_topic(state: TurnState, verdict: Verdict, threshold: float) -> Verdict:
    """Cap the verdict of a follow-up if its answer does not mention the topic of the previous question."""
    carried, own = (state.plan.carried, state.plan.question) if state.plan else ("", "")
    topic = frozenset(content_terms(carried)) - frozenset(content_terms(own))
    texts = [item.passage.text for item in state.evidence]
    if verdict.declined or not topic or in_another_language(own, texts):
        return verdict
    cited = {number for part in state.parts for number in part.numbers}
    passages = [item.passage for item in state.evidence if item.number in cited]
    if any(topic & frozenset(content_terms(" ".join([one.text, *one.heading_path]))) for one in passages):
        return verdict
    reasons = (*verdict.reasons, "Nothing it cites mentions what the previous question was about.")
    return replace(lowered(verdict, OF_SOMETHING_ELSE, threshold), reasons=reasons)


def capped_by_names(state: TurnState, verdict: Verdict, threshold: float) -> Verdict:
    """Mark claims about a name that is in the question and in no searched passage as to be checked."""
    names = strange_names(state.asked, state.absent)
    claims = [
        replace(claim, status=ClaimStatus.PARTLY_SUPPORTED, reason=missing_words(named).rstrip(".") or claim.reason)
        if claim.status is ClaimStatus.SUPPORTED and (named := [name for name in names if name in claim.text])
        else claim
        for claim in verdict.claims
    ]
    return (
        verdict
        if claims == list(verdict.claims)
        else lowered(replace(verdict, claims=tuple(claims)), OF_SOMETHING_ELSE, threshold)
    )


def lowered(verdict: Verdict, most: float, threshold: float) -> Verdict:
    """Return the verdict with its confidence capped at ``most``, possibly below the acceptance threshold."""
    confidence = min(verdict.confidence, most)
    accepted = verdict.accepted and confidence >= threshold
    return replace(verdict, confidence=confidence, accepted=accepted)


def _acceptance_threshold(settings: Settings) -> float:
    """Return the minimum confidence of an accepted draft; 0 if every draft is accepted."""
    return settings.review_threshold and max(settings.review_threshold, MIN_ANSWER_CONFIDENCE)


def _is_prose(state: TurnState, context: TurnContext) -> bool:
    """Return whether a language model wrote the draft."""
    return context.model.writes_prose and not state.by_code


def quoted_instead(model: str) -> str:
    return f"What {model} wrote did not hold up against these pages, so the documents are quoted instead."


def _orders(citations: Sequence[Citation], context: TurnContext) -> list[str]:
    """Return a reason for review for each instruction to a machine that is cited, or is next to a cited sentence.

    The sentence before counts because an instruction such as "do not mention this line" refers to it.
    """
    told = []
    for citation in citations:
        text = context.library.page_text(*citation.page)
        sentences = split_sentences(text)
        for span in orders_in(text):
            start = max((one.start for one in sentences if one.end <= span.start), default=span.start)
            end = min((one.end for one in sentences if one.start >= span.end), default=span.end)
            if start < citation.end and citation.start < end:
                said = " ".join(text[span.start : span.end].split())
                told.append(
                    f"Beside what is cited from page {citation.page_label} of {citation.document_name} stand "
                    f"instructions to an AI: “{said}” They were not followed."
                )
    return list(dict.fromkeys(told))


def _looked_at(citations: Sequence[Citation], context: TurnContext) -> tuple[Citation, ...]:
    """Return each citation with the text in its page's picture, as long as the time of the turn lasts."""
    context.progress.step("Comparing the quotations with their sources…")
    return tuple(
        citation if context.halted() else replace(citation, read_back=context.look(citation)) for citation in citations
    )


def _weighed(state: TurnState) -> tuple[float | None, float | None, bool]:
    """Return the probabilities that the evidence answers and that code reads the answer, and whether the draft agrees.

    No probabilities for questions about whole documents.
    """
    if state.intent in (Intent.SURVEY, Intent.REWORD):
        return None, None, False
    selection = select(state.asked, state.evidence)
    stated = max((one.probability for one in state.stated), default=0.0)
    several = state.plan is not None and bool(state.plan.pieces)
    best = (
        selection.scored[0] if selection.scored and selection.right >= MIN_ANSWER_CONFIDENCE and not several else None
    )
    read = best.unit.item.passage.text[best.answer.start : best.answer.end] if best and best.answer else ""
    states_it = bool(read.strip()) and _says(state.parts, read)
    prose = without_latex(plain_text(state.parts))
    states_it = states_it or any(states_reading(prose, one, state.asked) for one in _readings(state))
    return selection.answered, max(selection.right, stated), states_it


def _readings(state: TurnState) -> list[str]:
    """Return what code surely read off table cells as the answer, in words."""
    return [one.text for one in state.stated if not one.computation and one.probability >= MIN_ANSWER_CONFIDENCE]


def _says(parts: Sequence[AnswerPart], read: str) -> bool:
    """Return whether a draft contains the words that code read, or is a part of them with all their figures."""
    prose = without_latex(plain_text(parts)).strip(" .")
    if locate(read, prose) is not None:
        return True
    figures = {one.value for one in quantities(read)}
    return bool(figures) and figures == {one.value for one in quantities(prose)} and locate(prose, read) is not None


def _why_no_further(state: TurnState, context: TurnContext) -> str:
    if context.out_of_time:
        return "The answer reached its time limit."
    if state.intent is Intent.REWORD:
        return "The last answer in another form is not looked for again."
    if context.evidence_only():
        return "Only the evidence was asked for."
    if state.evidence and all(item.reason is Reason.NAMED for item in state.evidence):
        return "It is what stands at the place that the question names."
    if state.attempt >= context.settings.max_retries or (state.by_code and state.attempts):
        return f"No reliable answer after {state.attempt + 1} attempt{'s' if state.attempt else ''}."
    return ""


def after_judge(state: TurnState) -> Literal["rewriter", "generator", "review", "__end__"]:
    if state.verdict is not None and state.verdict.accepted:
        return "__end__"
    if state.give_up:
        return "review"
    return "generator" if state.by_code else "rewriter"
