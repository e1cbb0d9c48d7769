// The conversation's scroll position: the question just asked is at the top of the view, its answer grows below it, and
// what a person looks at stays where it is when the conversation becomes narrower or wider.
const MARGIN = 8
const LEAVING_MS = 5000
const DELETES = ".st-key-deletes_session .st-key-confirm_delete button"
const SESSIONS = "[class*=st-key-session_]:not(.st-key-session_list) button, .st-key-new_session button"

const questions = (pane) => [...pane.querySelectorAll('[class*="st-key-question_"]')]
const keyOf = (question) => question.className.match(/st-key-question_\w+/)[0]
const topIn = (pane, part) => part.getBoundingClientRect().top - pane.getBoundingClientRect().top

// Room below the last answer, so that its question can be at the top of the view whatever the answer's length.
function makeRoom(pane) {
  const question = questions(pane).at(-1)
  const end = [...pane.children].at(-1)?.getBoundingClientRect().bottom ?? 0
  const used = question ? end - question.getBoundingClientRect().top : Infinity
  const room = `${Math.max(0, Math.floor(pane.clientHeight - used - MARGIN))}px`
  if (pane.style.paddingBottom !== room) pane.style.paddingBottom = room
}

function showQuestion(pane) {
  const all = questions(pane), question = all.at(-1)
  const hidden = Math.max(0, question.offsetHeight - pane.clientHeight / 3) // of a long question its end is shown
  const moved = topIn(pane, question) + hidden - MARGIN
  if (all.length === 1) pane.scrollTop = 0
  else if (Math.abs(moved) > 1) pane.scrollTop += moved
  pane.put = pane.scrollTop
}

// Remember where what is at the top of the view, or what was pressed, is in the window; a conversation that is at its
// beginning, with its title, stays there.
function hold(pane, pressed) {
  const top = pane.getBoundingClientRect().top
  const lines = '[class*="st-key-question_"] p, [class*="st-key-answer_"] :is(p, li, td, button)'
  const part = pressed ?? [...pane.querySelectorAll(lines)].find((one) => one.getBoundingClientRect().bottom > top)
  const until = pressed ? Date.now() + 3000 : 0
  pane.held = part && pane.scrollTop > 0 && { part, top: part.getBoundingClientRect().top, until }
}

// A conversation that is left is hidden at once, and the next one shown when nothing of the old one remains.
function leave(event) {
  const pane = document.querySelector(".st-key-conversation")
  const deleted = event.target.closest?.(DELETES) && "st-key-new_session"
  const chosen = deleted ?? event.target.closest?.(SESSIONS)?.closest("[class*=st-key-]").className
  if (!pane || !chosen?.match(/st-key-(new_session|session_[0-9a-f]{8})/)) return
  clearTimeout(pane.leaving)
  if (pane.session && chosen.includes(`st-key-session_${pane.session}`)) return delete pane.dataset.left
  pane.dataset.left = pane.session
  pane.old = questions(pane).map(keyOf)
  pane.leaving = setTimeout(() => { delete pane.dataset.left }, LEAVING_MS)
}

function showWhenDrawn(pane) {
  const old = questions(pane).map(keyOf).some((key) => pane.old.includes(key))
  const remains = old || pane.querySelector("[data-stale=true]")
  if (remains && pane.dataset.left !== undefined) requestAnimationFrame(() => showWhenDrawn(pane))
  else delete pane.dataset.left
}

export default function ({ data }) {
  const pane = document.querySelector(`.st-key-${data.pane}`)
  if (!pane) return
  pane.release?.()
  pane.session = data.session
  document.addEventListener("click", leave, true) // once, however often this runs
  if (pane.dataset.left !== undefined && pane.dataset.left !== data.session) showWhenDrawn(pane)
  const settle = () => {
    if (!pane.clientWidth) return // hidden: a page takes its place in a narrow window
    makeRoom(pane)
    const last = questions(pane).map(keyOf).at(-1) ?? ""
    pane.toggleAttribute("data-asked", Boolean(last)) // the first question takes the place of the welcome
    const waiting = pane.querySelector('[class*="st-key-waiting_"]')?.className.match(/st-key-waiting_(\d+)/)[1]
    const waits = Number(waiting ?? 0)
    if (pane.last !== last) Object.assign(pane, { last, shows: true })
    else if (waits > pane.waits) { // a question was asked meanwhile: it is shown at the end
      pane.shows = false
      pane.scrollTop = pane.scrollHeight
    }
    pane.waits = waits
    if (last && pane.shows) showQuestion(pane)
  }
  const moved = () => { // by a person: the question is no longer kept at the top
    pane.shows = false
    if (pane.held) pane.held.until = 0
  }
  const scrolled = () => {
    if (pane.clientWidth !== width) return // by the browser, as the pane was hidden, shown or resized
    if (pane.shows && Math.abs(pane.scrollTop - pane.put) > 2) moved() // by a screen reader or a search in the page
    if (!(pane.held?.until > Date.now())) hold(pane)
  }
  const pressed = (event) => {
    moved()
    const part = event.target.closest?.('[class*="st-key-answer_"] .stMarkdownBadge, [class*="st-key-answer_"] button')
    if (part) hold(pane, part)
  }
  const focused = () => { pane.shows = false } // a press keeps what it holds
  let width = pane.clientWidth
  const sized = new ResizeObserver(() => {
    if (!pane.clientWidth) return (width = 0)
    makeRoom(pane)
    if (pane.clientWidth !== width && pane.held?.part?.isConnected)
      pane.scrollTop += pane.held.part.getBoundingClientRect().top - pane.held.top
    width = pane.clientWidth
    settle()
  })
  const watch = () => { for (const one of [pane, ...pane.children]) sized.observe(one, { box: "border-box" }) }
  const grown = new MutationObserver(() => { watch(); settle() }) // before what changed is painted
  const heard = { scroll: scrolled, pointerdown: pressed, wheel: moved, touchmove: moved, keydown: moved, focusin: focused }
  for (const [event, hear] of Object.entries(heard)) pane.addEventListener(event, hear, { passive: true })
  const below = document.querySelector("[data-testid=stBottomBlockContainer]")
  const fitted = new ResizeObserver(() => { // the conversation ends where the files and the box to type in begin
    pane.closest(".stApp").style.setProperty("--below", `${below.offsetHeight}px`)
  })
  if (below) fitted.observe(below, { box: "border-box" })
  watch()
  grown.observe(pane, { childList: true, subtree: true })
  settle()
  pane.release = () => {
    sized.disconnect()
    grown.disconnect()
    fitted.disconnect()
    for (const [event, hear] of Object.entries(heard)) pane.removeEventListener(event, hear)
  }
  return () => pane.release()
}
