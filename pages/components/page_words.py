"""What makes the picture of a page a page: words to select, copy with their citation and ask about, find, and zoom.

A transparent layer with the words lies over the picture, each line of words where it is printed; what a search found
and nobody cites is framed. Without the script there is the picture.
"""

from collections.abc import Callable, Sequence

import streamlit as st

from core.domain.documents import Box, Page, Word
from pages.components.words import page_name

PICTURE = "page_picture"
"""The key of the container that the picture is in."""
_GAP = 1.2
"""In heights of a line: words further apart are selected apart, as in the columns of a table."""
_SAME_LINE = 0.5

_SCRIPT = """
const NAMES = ["Find on this page", "Previous", "Next", "Smaller", "Larger"]
const MOST_FITTED = 1.7
const make = (tag, name, more) => Object.assign(document.createElement(tag), { className: name, ...more })
const flat = (text) => text.replace(/\\s+/g, " ").trim()

function layer(data, image) {
  const words = make("div", "pincite-words", { lang: "" })
  const measure = make("canvas").getContext("2d")
  const shape = image.naturalWidth / image.naturalHeight
  for (const [left, top, width, height, text] of data.lines) {
    measure.font = "100px sans-serif"
    const natural = (measure.measureText(text).width / 100) * 0.8 * height
    const line = make("span", "", { textContent: text + " " })
    line.style.cssText = `left:${left * 100}%;top:${top * 100}%;font-size:${height * 80}cqh;` +
      `transform:scaleX(${natural ? (width * shape) / natural : 1})`
    words.append(line)
  }
  for (const box of data.found) words.append(frame(box, "pincite-found"))
  return words
}

function frame([left, top, width, height], name) {
  const box = make("div", name)
  box.style.cssText =
    `left:${left * 100}%;top:${top * 100}%;width:${width * 100}%;height:${height * 100}%`
  return box
}

// The whole page, its text as wide as the pane, and larger.
function sizes(data) {
  const left = Math.min(...data.lines.map((line) => line[0]))
  const right = Math.max(...data.lines.map((line) => line[0] + line[2]))
  const fitted = data.lines.length ? Math.max(1, Math.min(MOST_FITTED, 0.96 / (right - left))) : 1
  return { left: data.lines.length ? left : 0, steps: [...new Set([1, fitted, 2, 3])] }
}

function find(data, asked) {
  const wanted = flat(asked).toLowerCase()
  if (!wanted) return []
  let text = ""
  const starts = data.words.map(([, , , , word]) => {
    text += (text && " ") + word.toLowerCase()
    return text.length - word.length
  })
  const hits = []
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1))
    hits.push(data.words.filter((word, i) => starts[i] < at + wanted.length && starts[i] + word[4].length > at))
  return hits
}

function ask(text) {
  const area = document.querySelector('[data-testid="stChatInputTextArea"]')
  Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(area, `“${text}” `)
  area.dispatchEvent(new Event("input", { bubbles: true }))
  area.focus()
  area.setSelectionRange(area.value.length, area.value.length)
}

function offer(data, words, pinned) {
  words.parentElement.querySelector(".pincite-offer")?.remove()
  const chosen = getSelection()
  const text = flat(chosen.toString())
  if (!text || !words.contains(chosen.anchorNode)) return
  const bar = make("div", "pincite-offer", { role: "toolbar", ariaLabel: "Selected words" })
  const cited = `“${text}” (${data.cited})`
  const copy = make("button", "", { type: "button", textContent: "Copy with citation" })
  copy.onclick = async () => {
    await navigator.clipboard.writeText(cited)
    copy.textContent = "Copied"
  }
  bar.append(copy)
  if (document.querySelector('[data-testid="stChatInputTextArea"]')) {
    const question = make("button", "", { type: "button", textContent: "Ask about this" })
    question.onclick = () => (ask(text), bar.remove())
    const pin = make("button", "", { type: "button", textContent: "Pin to notes" })
    pin.onclick = () => (pinned(text), bar.remove())
    bar.append(question, pin)
  }
  const place = chosen.getRangeAt(0).getBoundingClientRect()
  const own = words.getBoundingClientRect()
  bar.style.left = `${Math.max(0, Math.min(place.left - own.left, own.width - 250))}px`
  bar.style.top = `${place.bottom - own.top + 4}px`
  words.after(bar)
}

// By itself only what scrolls the page's own picture moves: in the window stand the question and the buttons.
function bring(mark, pane, window_too) {
  const moves = (part) =>
    part.scrollHeight > part.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(part).overflowY)
  let scrolls = mark?.parentElement
  while (scrolls && !moves(scrolls)) scrolls = scrolls.parentElement
  if (!scrolls || scrolls.matches("[data-testid=stMain], body, html"))
    return window_too && mark?.scrollIntoView({ block: "nearest", inline: "nearest" })
  const own = mark.getBoundingClientRect(), box = scrolls.getBoundingClientRect()
  scrolls.scrollTop += own.top - box.top - (box.height - own.height) / 2
  if (own.width && pane.scrollWidth > pane.clientWidth)
    pane.scrollLeft += own.left - pane.getBoundingClientRect().left - (pane.clientWidth - own.width) / 2
}

function draw(data, tools, image, setStateValue, pinned) {
  const [asked, count, before, after, out, size, larger] = tools.children
  const holder = image.parentElement
  const pane = image.closest(`.st-key-${data.picture}`)
  for (const old of holder.querySelectorAll(".pincite-words, .pincite-offer")) old.remove()
  holder.classList.add("pincite-page")
  const words = layer(data, image)
  image.after(words)
  const base = pane.clientWidth
  const { left, steps } = sizes(data)
  let hits = [], at = 0
  const show = (step) => {
    for (const old of words.querySelectorAll(".pincite-hit")) old.remove()
    at = hits.length ? (at + step + hits.length) % hits.length : 0
    hits.forEach((hit, i) => hit.forEach((box) =>
      words.append(frame(box, i === at ? "pincite-hit pincite-here" : "pincite-hit"))))
    bring(words.querySelector(".pincite-here"), pane, true)
    count.textContent = asked.value.trim() ? (hits.length ? `${at + 1} of ${hits.length}` : "none") : ""
    before.disabled = after.disabled = hits.length < 2
  }
  const search = () => {
    hits = find(data, asked.value)
    at = 0
    show(0)
  }
  const zoom = (step) => {
    const now = Math.max(0, Math.min(steps.length - 1, Number(document.body.dataset.zoom ?? steps.length - 3) + step))
    if (step) document.body.dataset.zoom = now
    pane.style.overflowX = now ? "auto" : ""
    for (let part = holder; part !== pane; part = part.parentElement)
      part.style.cssText = now ? `width:${steps[now] * base}px;max-width:none;flex:none` : ""
    if (now) pane.scrollLeft = (left - 0.02) * steps[now] * base
    size.textContent = `${Math.round(steps[now] * 100)} %`
    out.disabled = !now
    larger.disabled = now === steps.length - 1
    if (step) setStateValue("sharp", steps[now] >= 2)
  }
  asked.oninput = search
  asked.onkeydown = (event) => event.key === "Enter" && (event.preventDefault(), show(event.shiftKey ? -1 : 1))
  before.onclick = () => show(-1)
  after.onclick = () => show(1)
  out.onclick = () => zoom(-1)
  larger.onclick = () => zoom(1)
  zoom(0)
  search()
  if (pane.dataset.shown !== data.key && data.first !== null) {
    const mark = frame([0, data.first, 0, 0], "pincite-first")
    words.append(mark)
    setTimeout(() => bring(mark, pane, false), 50)
  }
  pane.dataset.shown = data.key
  const selected = () => setTimeout(() => offer(data, words, pinned), 10)
  words.onmouseup = words.onkeyup = selected
  words.oncopy = (event) => {
    event.clipboardData.setData("text/plain", flat(getSelection().toString()))
    event.preventDefault()
  }
}

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const pinned = (text) => setTriggerValue("pin", text)
  let tools = parentElement.querySelector(".pincite-tools")
  if (!tools) {
    tools = make("div", "pincite-tools", { role: "toolbar", ariaLabel: "Page tools" })
    const sign = (name, text) => make("button", "", { type: "button", ariaLabel: name, title: name, textContent: text })
    tools.append(
      make("input", "", { type: "search", placeholder: NAMES[0], ariaLabel: NAMES[0] }),
      make("span", "pincite-count", { ariaLive: "polite" }),
      sign(NAMES[1], "‹"), sign(NAMES[2], "›"), sign(NAMES[3], "−"), make("span", "pincite-size"), sign(NAMES[4], "+"),
    )
    parentElement.append(tools)
  }
  let tries = 50, waiting
  const attach = () => {
    const image = document.querySelector(`.st-key-${data.picture} [data-testid="stImage"] img`)
    const ready = image?.complete && image.naturalWidth
    if (ready) draw(data, tools, image, setStateValue, pinned)
    else if (tries--) waiting = setTimeout(attach, 100)
  }
  attach()
  return () => clearTimeout(waiting)
}
"""
_STYLE = """
.pincite-tools { display: flex; flex-wrap: wrap; gap: 0.35rem; align-items: center; font-family: inherit; }
.pincite-tools input {
  flex: 1 1 3.5rem; min-width: 3rem; max-width: 16rem; font: inherit; font-size: 0.875rem; padding: 0.25rem 0.5rem;
  color: light-dark(#16191a, #eef2f2); background: transparent; border: 1px solid #8888886b; border-radius: 0.375rem;
}
.pincite-tools span { font-size: 0.8rem; min-width: 2.2rem; text-align: center; color: light-dark(#16191a, #eef2f2); }
.pincite-tools button, .pincite-offer button {
  font: inherit; font-size: 0.875rem; min-width: 1.9rem; padding: 0.15rem 0.5rem; cursor: pointer;
  color: light-dark(#16191a, #eef2f2); background: transparent; border: 1px solid #8888886b; border-radius: 0.375rem;
}
.pincite-tools button:disabled { opacity: 0.4; cursor: default; }
.pincite-page { position: relative; }
.pincite-words { position: absolute; inset: 0; container-type: size; overflow: hidden; }
.pincite-words > * { position: absolute; }
.pincite-words > span {
  white-space: pre; line-height: 1.25; color: transparent; transform-origin: 0 0; font-family: sans-serif; cursor: text;
}
.pincite-words > span::selection { color: transparent; background: #2b8a8966; }
.pincite-words > div { pointer-events: none; }
.pincite-found { border: 1.5px dotted #6b7374; border-radius: 2px; }
.pincite-hit { background: #f08c0040; }
.pincite-here { background: #f08c0073; outline: 2px solid #b35c00; }
.pincite-offer {
  position: absolute; z-index: 5; display: flex; gap: 0.25rem; padding: 0.25rem; border-radius: 0.5rem;
  background: light-dark(#ffffff, #1b2022); border: 1px solid #8888886b; box-shadow: 0 2px 8px #00000055;
}
.stElementContainer:has(.pincite-tools) {
  position: sticky; top: var(--head, 0); z-index: 4; padding: 0.25rem 0; background: light-dark(#ffffff, #161a1b);
}
"""
_words = st.components.v2.component("pincite_page_words", css=_STYLE, js=_SCRIPT, isolate_styles=False)

Shape = list[float | str]


def draw_page_tools(
    page: Page,
    name: str,
    *,
    key: str,
    cited: Sequence[tuple[int, int]],
    found: Sequence[tuple[int, int]],
    pin: Callable[[str], None],
) -> bool:
    """Draw the tools above the picture. Returns whether the picture should be drawn for a large size.

    ``cited``: spans that are marked on the picture; the first is scrolled to. ``found``: spans to frame.
    ``pin`` is given the words that are to be kept in the notes.
    """
    told = _words(
        key="page_words",
        data={
            "key": key,
            "picture": PICTURE,
            "cited": f"{name}, {page_name(page.page_label, page.page_index)}",
            "words": [_shape(word.box, page.text[word.start : word.end]) for word in page.words],
            "lines": _lines(page),
            "found": [_shape(box) for span in found if (box := _around(page, span))],
            "first": next((box.top for span in cited if (box := _around(page, span))), None),
        },
        default={"sharp": False},
        on_sharp_change=lambda: None,
        on_pin_change=lambda: pin(st.session_state["page_words"].pin or ""),
    )
    return bool(told.sharp)


def _shape(box: Box, text: str | None = None) -> Shape:
    """Left, top, width and height as fractions of the page, and what stands there."""
    edges: Shape = [
        round(box.left, 4),
        round(box.top, 4),
        round(box.right - box.left, 4),
        round(box.bottom - box.top, 4),
    ]
    return edges if text is None else [*edges, text]


def _around(page: Page, span: tuple[int, int]) -> Box | None:
    boxes = [word.box for word in page.words if word.start < span[1] and word.end > span[0]]
    return _joined(boxes) if boxes else None


def _joined(boxes: Sequence[Box]) -> Box:
    lefts, tops, rights, bottoms = zip(*((box.left, box.top, box.right, box.bottom) for box in boxes), strict=True)
    return Box(min(lefts), min(tops), max(rights), max(bottoms))


def _lines(page: Page) -> list[Shape]:
    """Words that follow each other on a line, as one stretch to select."""
    lines: list[list[Word]] = []
    for word in page.words:
        if lines and _goes_on(lines[-1][-1].box, word.box):
            lines[-1].append(word)
        else:
            lines.append([word])
    return [
        _shape(_joined([word.box for word in line]), " ".join(page.text[word.start : word.end] for word in line))
        for line in lines
    ]


def _goes_on(last: Box, word: Box) -> bool:
    height = min(last.bottom - last.top, word.bottom - word.top)
    level = min(last.bottom, word.bottom) - max(last.top, word.top) > _SAME_LINE * height
    return level and 0 <= word.left - last.right + 0.2 * height <= _GAP * height
