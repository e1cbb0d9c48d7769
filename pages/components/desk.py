"""The conversation's script: marks that open their page, a kept draft, dropped files.

The address names the page next to the conversation, and the answer that has its quotations marked on the page.
"""

from collections.abc import Sequence

import streamlit as st

from pincite.core.domain.answers import Citation
from pincite.core.domain.documents import Document, bare_name
from pincite.core.domain.errors import PinciteError
from pincite.core.domain.presentation import Tier, present
from pincite.core.domain.turns import Session, Turn, TurnStatus
from pincite.core.services.bootstrap import Pincite
from pincite.pages.components.layout import CONVERSATION, asset
from pincite.pages.components.page_view import ShownPage, cited_page, show_page, shown_page
from pincite.pages.components.printing import as_text
from pincite.pages.components.sessions import choose_session
from pincite.pages.components.words import count, in_words, page_name, shorten
from pincite.web.pictures import quotation_address

NAMED = ("document", "page", "citation")
_ADDRESSED = "addressed_page"
MAX_QUOTATION_LENGTH, MAX_NAMES = 400, 500
LOST = ":material/link_off:"

_desk = st.components.v2.component("pincite_desk", js=asset("desk.js"))
_scroll = st.components.v2.component("pincite_scroll", js=asset("scroll.js"))


def draw_desk(
    app: Pincite, session: Session | None, slot: str, turns: Sequence[Turn], documents: Sequence[Document]
) -> None:
    """``documents``: those that a question can name."""
    write_address(session, slot)
    here = {document.id for document in app.library.list()}
    last = turns[-1].id if turns else ""
    _scroll(key="scroll", data={"pane": CONVERSATION, "session": session.id if session else "", "last": last})
    _desk(
        key="desk",
        data={
            "pane": CONVERSATION,
            "status": _status(app, session, turns),
            "names": [bare_name(document.name) for document in documents[:MAX_NAMES]],
            "sessions": [(one.id, one.title) for one in app.sessions.list(most=MAX_NAMES) if one != session],
            "session": session.id if session else "",
            "copied": {turn.id: as_text(turn, here) for turn in turns},
            "cited": {turn.id: {str(place.number): _place_shown(place, turn) for place in turn.final_citations
                                if place.document_id in here} for turn in turns},
        },
        on_open_change=lambda: _open(app, slot, st.session_state["desk"].open),
        on_session_change=lambda: choose_session(st.session_state["desk"].session or ""),
    )  # fmt: skip


def _status(app: Pincite, session: Session | None, turns: Sequence[Turn]) -> str:
    """What became of the last question, for people who do not see it."""
    if session and (app.runner.running(session.id) or (turns and turns[-1].status is TurnStatus.RUNNING)):
        return "Answering"
    if not turns or turns[-1].status not in (TurnStatus.ANSWERED, TurnStatus.FLAGGED):
        return ""
    cited = count(len({place.number for place in turns[-1].final_citations}), "citation")
    warning = {Tier.CHECK: ", check the page", Tier.DO_NOT_RELY: ", do not rely on it yet"}.get(
        present(turns[-1]).tier, ""
    )
    return f"Answer ready, {cited}{warning}"


def _place_shown(place: Citation, turn: Turn) -> dict[str, str]:
    """Return the target of a mark, its quotation, and the verdicts of the claims that cite it."""
    page = page_name(place.page_label, place.page_index)
    claims = turn.verdict.claims if turn.verdict and not turn.review else ()
    found = dict.fromkeys(": ".join(filter(None, [in_words(claim.status).capitalize(), claim.reason]))
                          for claim in claims if place.number in claim.citations)  # fmt: skip
    return {"place": f"{place.document_name}, {page}", "quotation": shorten(place.quotation, MAX_QUOTATION_LENGTH),
            "verdict": shorten(". ".join(found), MAX_QUOTATION_LENGTH),
            "picture": quotation_address(place)}  # fmt: skip


def _open(app: Pincite, slot: str, name: str | None) -> None:
    if name and (shown := _cited(app, name)):
        show_page(slot, shown)


def _cited(app: Pincite, name: str) -> ShownPage | None:
    """Return the page of a citation by its name, which is its turn and its number."""
    turn_id, _, number = name.partition(".")
    try:
        citations = app.verdicts.as_current(app.turns.without_trace(turn_id)).final_citations
    except PinciteError:
        return None
    place = next((place for place in citations if str(place.number) == number), None)
    return cited_page(place, citations, turn_id) if place else None


def follow_address(app: Pincite, slot: str) -> None:
    """Show the page that the address names, or none, where it was changed since it was last written."""
    named = {name: st.query_params[name] for name in NAMED if name in st.query_params}
    if named == st.session_state.get(_ADDRESSED, {}):
        return
    if not named:
        if "session" in st.query_params:  # else somebody came from another page of the program
            show_page(slot, None)
        return
    cited = _cited(app, named["citation"]) if "citation" in named else None
    document = next((one for one in app.library.list() if one.id == named.get("document")), None)
    page = int(named["page"]) if named.get("page", "").isdecimal() else 1
    if document is None or not 1 <= page <= document.page_count:
        st.warning("The page in this link was not found. Its document was removed or has no such page.", icon=LOST)
        return
    if "citation" in named and cited is None:
        st.warning("The citation in this link was not found. Its page is shown without highlights.", icon=LOST)
    citations, turn_id = (cited.citations, cited.turn_id) if cited else ((), "")
    show_page(slot, ShownPage(document.id, page - 1, citations, turn_id))


def write_address(session: Session | None, slot: str) -> None:
    """All of the address at once: what is written is a step of the browser's history."""
    shown = shown_page(slot)
    named = {}
    if shown:
        named = {"document": shown.document_id, "page": str(shown.page_index + 1)}
        if shown.turn_id and shown.here:
            named["citation"] = f"{shown.turn_id}.{shown.here[0].number}"
    others = {name: value for name, value in st.query_params.items() if name not in ("session", *NAMED)}
    address = others | ({"session": session.id} if session else {}) | named
    if st.query_params.to_dict() != address:
        st.query_params.from_dict(address)
    st.session_state.update({_ADDRESSED: named, "addressed": session.id if session else ""})
