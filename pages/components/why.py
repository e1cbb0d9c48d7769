"""Why an answer is as it is, in four plain steps; the trace has the rest."""

from collections.abc import Iterator

import streamlit as st

from pincite.core.domain.presentation import Standing, Tier, present
from pincite.core.domain.search import APART
from pincite.core.domain.turns import NO_DOCUMENT, Turn
from pincite.core.services.bootstrap import Pincite
from pincite.pages.components.answer import draw_evaluation
from pincite.pages.components.controls import link_to_trace
from pincite.pages.components.words import count, escape, page_name

MAX_NAMED = 3


@st.dialog("Why this answer?", width="medium")
def draw_why(app: Pincite, turn: Turn) -> None:
    names = {document.id: document.name for document in app.library.list()}
    steps = {
        "Understood as": _understood(turn),
        "Searched": _looked_in(turn, names),
        "Found": _found(turn),
        "Doubts": _doubts(turn),
    }
    for number, (title, lines) in enumerate(steps.items(), start=1):
        st.markdown("  \n".join([f"**{number}. {title}**", *lines]))
    if turn.verdict:
        with st.expander("How each claim was checked", type="compact"):
            draw_evaluation(turn)
    link_to_trace(turn, "Full trace")


def _understood(turn: Turn) -> Iterator[str]:
    plan = turn.plan
    yield f"“{escape(plan.standalone_question if plan else turn.asked or turn.question)}”"
    if plan and len({one.asked for one in plan.pieces}) == 1:
        yield "Asked of each by itself: " + ", ".join(escape(one.name) for one in plan.pieces)
    elif plan and plan.pieces:
        asked = (f"“{escape(one.asked)}”" + (f" of {escape(one.name)}" if one.name else "") for one in plan.pieces)
        yield "Answered part by part: " + "; ".join(asked)


def _looked_in(turn: Turn, names: dict[str, str]) -> Iterator[str]:
    if turn.intent in APART:
        yield NO_DOCUMENT if NO_DOCUMENT in turn.notices else "No document was searched."
        return
    searched = (turn.plan.document_ids if turn.plan else ()) or turn.document_ids
    shown = [escape(names[id_]) for id_ in searched if id_ in names]
    yield ", ".join(shown) if 0 < len(shown) <= MAX_NAMED else count(len(searched), "document")
    if turn.plan and (queries := dict.fromkeys(query.text for query in turn.plan.queries)):
        yield "Searched for " + "; ".join(f"“{escape(query)}”" for query in queries)
    yield from map(escape, turn.notices)


def _found(turn: Turn) -> Iterator[str]:
    if turn.evidence:
        documents = len({item.passage.document_id for item in turn.evidence})
        yield f"{count(len(turn.evidence), 'passage')} in {count(documents, 'document')}."
    for place in turn.final_citations:
        where = f"{escape(place.document_name)}, {page_name(place.page_label, place.page_index)}"
        yield f"[{place.number}] “{escape(' '.join(place.quotation.split()))}” · {where}"
    if not turn.final_citations:
        yield "Nothing was quoted."


def _doubts(turn: Turn) -> Iterator[str]:
    shown = present(turn)
    if shown.tier is Tier.CHECK:
        yield escape(shown.warning)
    elif shown.standing is Standing.WAITS:
        yield from map(escape, turn.reasons)
    elif turn.verdict and turn.verdict.claims:
        yield f"Every claim matches its page. Pincite is {turn.verdict.confidence:.0%} sure that this is the answer."
    else:
        yield "The answer makes no claims about documents, so nothing was checked."
