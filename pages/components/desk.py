"""What the conversation's script does for it: marks that open their page, a draft that stays, files from anywhere.

The address names the page beside the conversation, and the answer whose quotations are marked on it.
"""

from collections.abc import Sequence

import streamlit as st

from core.domain.answers import Citation
from core.domain.errors import PinciteError
from core.domain.turns import Session, Turn
from core.services.bootstrap import Pincite
from pages.components.layout import CONVERSATION
from pages.components.page_view import ShownPage, cited_page, show_page, shown_page
from pages.components.words import page_name

NAMED = ("document", "page", "citation")
_ADDRESSED = "addressed_page"

_SCRIPT = """
const SAVED = "pincite-half-typed"
const box = () => document.querySelector('[data-testid="stChatInputTextArea"]')

function keepTyped() {
  const area = box()
  if (!area || area.dataset.kept) return
  area.dataset.kept = "yes"
  const saved = sessionStorage.getItem(SAVED)
  if (saved && !area.value) {
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(area, saved)
    area.dispatchEvent(new Event("input", { bubbles: true }))
  }
  const save = () => area.isConnected && sessionStorage.setItem(SAVED, area.value)
  area.addEventListener("input", save)
  for (const event of ["keyup", "click"]) document.addEventListener(event, () => setTimeout(save, 300))
}

function takeDrops() {
  if (document.body.dataset.drops) return
  document.body.dataset.drops = "yes"
  const target = (event) => {
    if (![...(event.dataTransfer?.types ?? [])].includes("Files")) return null
    if (event.target.closest?.('[data-testid="stFileUploader"], [data-testid="stChatInput"]')) return null
    return document.querySelector('[data-testid="stChatInput"] input[type="file"]')
  }
  document.addEventListener("dragover", (event) => { if (target(event)) event.preventDefault() })
  document.addEventListener("drop", (event) => {
    const input = target(event)
    if (!input) return
    event.preventDefault()
    input.files = event.dataTransfer.files
    input.dispatchEvent(new Event("change", { bubbles: true }))
  })
}

function showQuestion(pane, turn, tries) {
  const end = pane.scrollHeight
  pane.scrollTop = end
  if (tries) setTimeout(() => (pane.scrollHeight > end || tries > 4) && showQuestion(pane, turn, tries - 1), 120)
}

export default function ({ data, setTriggerValue }) {
  keepTyped()
  takeDrops()
  const pane = document.querySelector(`.st-key-${data.pane}`)
  if (!pane) return
  if (data.asked && pane.dataset.session === data.session && pane.dataset.asked !== data.asked)
    showQuestion(pane, data.asked, 8)
  Object.assign(pane.dataset, { session: data.session, asked: data.asked })
  const cited = (badge) => {
    const turn = badge.closest('[class*="st-key-answer_"]')?.className.match(/st-key-answer_(\\w+)/)?.[1]
    const number = badge.textContent.match(/\\d+/)?.[0]
    return [data.cited[turn]?.[number], `${turn}.${number}`]
  }
  const mark = () => {
    for (const badge of pane.querySelectorAll('.stMarkdownBadge:not([role="button"])')) {
      const [told] = cited(badge)
      if (!told) continue
      badge.title = told
      badge.tabIndex = 0
      badge.setAttribute("role", "button")
      badge.setAttribute("aria-label", `Open ${told}`)
    }
  }
  const open = (event) => {
    const badge = event.target.closest?.('.stMarkdownBadge[role="button"]')
    if (!badge || (event.type === "keydown" && !["Enter", " "].includes(event.key))) return
    event.preventDefault()
    setTriggerValue("open", cited(badge)[1])
  }
  const seen = new MutationObserver(mark)
  seen.observe(pane, { childList: true, subtree: true })
  for (const event of ["click", "keydown"]) pane.addEventListener(event, open)
  mark()
  return () => {
    seen.disconnect()
    for (const event of ["click", "keydown"]) pane.removeEventListener(event, open)
  }
}
"""
_desk = st.components.v2.component("pincite_desk", js=_SCRIPT)


def draw_desk(app: Pincite, session: Session | None, slot: str, turns: Sequence[Turn]) -> None:
    _write_address(slot)
    waiting = app.runner.waiting(session.id) if session else ()
    here = {document.id for document in app.library.list()}
    _desk(
        key="desk",
        data={
            "pane": CONVERSATION,
            "session": session.id if session else "",
            "asked": f"{turns[-1].id} {len(waiting)}" if turns else "",
            "cited": {turn.id: {str(place.number): _told(place) for place in turn.final_citations
                                if place.document_id in here} for turn in turns},
        },
        on_open_change=lambda: _open(app, slot, st.session_state["desk"].open),
    )  # fmt: skip


def _told(place: Citation) -> str:
    return f"{place.document_name}, {page_name(place.page_label, place.page_index)}: “{place.quotation}”"


def _open(app: Pincite, slot: str, name: str | None) -> None:
    if name and (shown := _cited(app, name)):
        show_page(slot, shown)


def _cited(app: Pincite, name: str) -> ShownPage | None:
    """The page of a citation by its name, which is its turn and its number."""
    turn_id, _, number = name.partition(".")
    try:
        citations = app.turns.without_trace(turn_id).final_citations
    except PinciteError:
        return None
    place = next((place for place in citations if str(place.number) == number), None)
    return cited_page(place, citations, turn_id) if place else None


def follow_address(app: Pincite, slot: str) -> None:
    """Show the page that the address names, where it was changed since it was last written; say what is not here."""
    named = {name: st.query_params[name] for name in NAMED if name in st.query_params}
    if not named or named == st.session_state.get(_ADDRESSED):
        return
    cited = _cited(app, named["citation"]) if "citation" in named else None
    document = next((one for one in app.library.list() if one.id == named.get("document")), None)
    page = int(named["page"]) if named.get("page", "").isdecimal() else 1
    if document is None or not 1 <= page <= document.page_count:
        _say("The page in this address is not here: its document was removed, or has no such page.")
        return
    if "citation" in named and cited is None:
        _say("The citation in this address is not here; its page is shown without marks.")
    citations, turn_id = (cited.citations, cited.turn_id) if cited else ((), "")
    show_page(slot, ShownPage(document.id, page - 1, citations, turn_id))


def _say(words: str) -> None:
    st.warning(words, icon=":material/link_off:")


def _write_address(slot: str) -> None:
    shown = shown_page(slot)
    named = {}
    if shown:
        named = {"document": shown.document_id, "page": str(shown.page_index + 1)}
        if shown.turn_id and shown.here:
            named["citation"] = f"{shown.turn_id}.{shown.here[0].number}"
    for name in NAMED:
        if name in named:
            st.query_params[name] = named[name]
        elif name in st.query_params:
            del st.query_params[name]
    st.session_state[_ADDRESSED] = named
