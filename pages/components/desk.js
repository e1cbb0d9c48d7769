const SAVED = "pincite-half-typed"
const box = () => document.querySelector('[data-testid="stChatInputTextArea"]')

// The box may be drawn after its script.
function withBox(act, tries = 100) {
  if (box()) act()
  else if (tries) setTimeout(() => withBox(act, tries - 1), 100)
}

function write(area, text) {
  Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(area, text)
  area.dispatchEvent(new Event("input", { bubbles: true }))
}

function keepTyped() {
  const area = box()
  if (!area || area.dataset.kept) return
  area.dataset.kept = "yes"
  const saved = sessionStorage.getItem(SAVED)
  if (saved && !area.value) write(area, saved)
  const save = () => area.isConnected && sessionStorage.setItem(SAVED, area.value)
  area.addEventListener("input", save)
  for (const event of ["keyup", "click"]) document.addEventListener(event, () => setTimeout(save, 300))
}

// What has a name with the words typed behind an @, to be chosen with the arrows, Enter or the pointer: a document is
// named in the question, a session is opened.
let names = [], openSession, drawNames
function offerNames() {
  const area = box()
  if (!area || area.dataset.names) return
  area.dataset.names = "yes"
  let list = null
  const close = () => { list?.remove(); list = null }
  const typed = () => area.value.slice(0, area.selectionStart).match(/(?:^|[\s(])@([^@\n]{0,80})$/)?.[1]
  const choose = ({ name, session }) => {
    const [end, part] = [area.selectionStart, typed() ?? ""]
    const before = area.value.slice(0, end - part.length)
    if (session) {
      write(area, before.slice(0, -1) + area.value.slice(end))
      close()
      return openSession(session)
    }
    write(area, `${before}${name} ${area.value.slice(end)}`)
    area.setSelectionRange(before.length + name.length + 1, before.length + name.length + 1)
    close()
    area.focus()
  }
  const select = (option) => {
    for (const one of list.children) one.ariaSelected = String(one === option)
  }
  const draw = () => {
    const part = typed()
    const fits = part === undefined ? [] : names.filter(({ name }) => name.toLowerCase().includes(part.toLowerCase()))
    close()
    if (!fits.length) return
    list = area.closest(".stApp").appendChild(document.createElement("div"))
    Object.assign(list, { className: "pincite-names", role: "listbox", ariaLabel: "Documents and sessions" })
    list.append(...fits.slice(0, 8).map((one) => {
      const option = Object.assign(document.createElement("div"), { role: "option", one })
      option.textContent = one.session ? `Session: ${one.name}` : one.name
      option.addEventListener("pointerdown", (event) => { event.preventDefault(); choose(one) })
      return option
    }))
    select(list.firstChild)
    const at = area.getBoundingClientRect()
    Object.assign(list.style, { left: `${at.left}px`, bottom: `${innerHeight - at.top + 8}px` })
  }
  drawNames = draw
  area.addEventListener("input", draw)
  area.addEventListener("blur", close)
  document.addEventListener("keydown", (event) => {
    if (!list || event.target !== area || event.isComposing) return
    const chosen = list.querySelector('[aria-selected="true"]')
    const act = {
      ArrowDown: () => select(chosen.nextSibling ?? list.firstChild),
      ArrowUp: () => select(chosen.previousSibling ?? list.lastChild),
      Enter: () => choose(chosen.one),
      Tab: () => choose(chosen.one),
      Escape: close,
    }[event.key]
    if (!act) return
    event.preventDefault()
    event.stopPropagation()
    act()
  }, true)
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

// Files are read as soon as they are there, where no question is being typed with them.
function sendFiles() {
  const input = box().closest('[data-testid="stChatInput"]')
  if (!input || input.dataset.sends) return
  input.dataset.sends = "yes"
  const send = () => {
    const button = input.querySelector('[data-testid="stChatInputSubmitButton"]')
    const files = [...input.querySelectorAll('[data-testid="stFileChip"]')]
    const sound = files.length && files.every((file) => file.ariaInvalid !== "true") // else their message would go, too
    if (sound && !box()?.value.trim() && !button.disabled) button.click()
  }
  let waiting
  new MutationObserver(() => {
    clearTimeout(waiting)
    waiting = setTimeout(send, 250)
  }).observe(input, { childList: true, subtree: true, attributeFilter: ["disabled"] })
}

// What a mark quotes, shown while the pointer or the keyboard is on it.
function showCard(badge, told) {
  const card = document.querySelector(".pincite-card") ?? badge.closest(".stApp").appendChild(document.createElement("div"))
  card.className = "pincite-card"
  card.ariaHidden = "true" // the mark's own name says the same
  const place = Object.assign(document.createElement("strong"), { textContent: told.place })
  const words = Object.assign(document.createElement("span"), { textContent: `“${told.quotation}”` })
  const verdict = Object.assign(document.createElement("em"), { textContent: told.verdict })
  card.replaceChildren(place, words, ...(told.verdict ? [verdict] : []))
  const at = badge.getBoundingClientRect()
  const stand = () => {
    const height = card.offsetHeight
    card.style.left = `${Math.max(8, Math.min(at.left, innerWidth - card.offsetWidth - 8))}px`
    card.style.top = `${at.bottom + height + 12 < innerHeight ? at.bottom + 6 : at.top - height - 6}px`
  }
  stand()
  // Of who only passes over the mark, no picture is asked.
  const lines = Object.assign(document.createElement("img"), { alt: "" })
  lines.addEventListener("load", () => { card.append(lines); stand() })
  setTimeout(() => words.isConnected && (lines.src = told.picture), 150)
}

// For screen readers, in words, what changed in the open session.
function announce(pane, words) {
  const line = document.querySelector(".pincite-status") ?? pane.closest(".stApp").appendChild(document.createElement("div"))
  Object.assign(line, { className: "pincite-status", role: "status" })
  if (line.textContent !== words) line.textContent = words
}

function focusWithSlash() {
  if (document.body.dataset.slash) return
  document.body.dataset.slash = "yes"
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]") || !box()) return
    event.preventDefault()
    box().focus()
  })
}
// The first thing that Tab reaches.
function offerQuestion() {
  const app = document.querySelector(".stApp")
  if (!app || app.querySelector(".pincite-skip")) return
  const link = Object.assign(document.createElement("button"), { className: "pincite-skip", textContent: "Skip to question" })
  link.addEventListener("click", () => withBox(() => box().focus()))
  app.prepend(link)
}

// Over plain HTTP from another machine a page has no clipboard, and what is selected is copied.
function copyAnswer(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.body.appendChild(Object.assign(document.createElement("textarea"), { value: text }))
  area.select()
  document.execCommand("copy")
  area.remove()
}

const hideCard = () => document.querySelector(".pincite-card")?.remove()

export default function ({ data, setTriggerValue }) {
  takeDrops()
  focusWithSlash()
  offerQuestion()
  names = [...data.names.map((name) => ({ name })), ...data.sessions.map(([session, name]) => ({ session, name }))]
  const listed = JSON.stringify(names)
  openSession = (session) => setTriggerValue("session", session)
  withBox(() => {
    keepTyped()
    sendFiles()
    if (box().dataset.listed !== listed) drawNames?.()
    box().dataset.listed = listed
    offerNames()
  })
  const pane = document.querySelector(`.st-key-${data.pane}`)
  if (!pane) return
  announce(pane, pane.dataset.session === data.session ? data.status : "")
  pane.dataset.session = data.session
  const cited = (badge) => {
    const turn = badge.closest('[class*="st-key-answer_"]')?.className.match(/st-key-answer_(\w+)/)?.[1]
    const number = badge.textContent.match(/\d+/)?.[0]
    return [data.cited[turn]?.[number], `${turn}.${number}`]
  }
  const mark = () => {
    for (const badge of pane.querySelectorAll('.stMarkdownBadge:not([role="button"])')) {
      const [told] = cited(badge)
      if (!told) continue
      badge.tabIndex = 0
      badge.setAttribute("role", "button")
      badge.setAttribute("aria-label", `Open ${told.place}: “${told.quotation}”`)
    }
  }
  const open = (event) => {
    const copy = event.type === "click" && event.target.closest?.('[class*="st-key-icon_copy_"]')
    if (copy) copyAnswer(data.copied[copy.className.match(/st-key-icon_copy_(\w+)/)[1]])
    const badge = event.target.closest?.('.stMarkdownBadge[role="button"]')
    if (!badge || (event.type === "keydown" && !["Enter", " "].includes(event.key))) return
    event.preventDefault()
    hideCard()
    setTriggerValue("open", cited(badge)[1])
  }
  const point = (event) => {
    const badge = event.target.closest?.('.stMarkdownBadge[role="button"]')
    const told = badge && cited(badge)[0]
    if (told) showCard(badge, told)
    else hideCard()
  }
  const seen = new MutationObserver(mark)
  seen.observe(pane, { childList: true, subtree: true })
  const heard = { click: open, keydown: open, pointerover: point, focusin: point, pointerleave: hideCard,
    focusout: hideCard, scroll: hideCard }
  for (const [event, hear] of Object.entries(heard)) pane.addEventListener(event, hear)
  mark()
  return () => {
    hideCard()
    seen.disconnect()
    for (const [event, hear] of Object.entries(heard)) pane.removeEventListener(event, hear)
  }
}
