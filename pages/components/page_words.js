const NAMES = ["Find in this document", "Previous match", "Next match", "Zoom out", "Zoom in"]
const MOST_FITTED = 1.7
const MOST_PAGES = 60
// Of the wheel: pixels past the end of a page that turn it, and milliseconds after which it moves anew.
const PAST_END = 150
const REST = 200
// Milliseconds for which the first mark is kept in sight while a page opens and the panes take their width.
const SETTLES = 800
const make = (tag, name, more) => Object.assign(document.createElement(tag), { className: name, ...more })
const flat = (text) => text.replace(/\s+/g, " ").trim()

// In heights of a line: words further apart are selected apart, as in the columns of a table.
const GAP = 1.2
const SAME_LINE = 0.5

function goesOn([left, top, width, height], [next, nextTop, , nextHeight]) {
  const least = Math.min(height, nextHeight)
  const shared = Math.min(top + height, nextTop + nextHeight) - Math.max(top, nextTop)
  const gap = next - left - width + 0.2 * least
  return shared > SAME_LINE * least && gap >= 0 && gap <= GAP * least
}

// Words that follow each other on a line, as one stretch to select.
function stretches(words) {
  const lines = []
  for (const word of words) {
    const line = lines.at(-1)
    if (line && goesOn(line.at(-1), word)) line.push(word)
    else lines.push([word])
  }
  return lines.map((line) => {
    const left = Math.min(...line.map((word) => word[0])), top = Math.min(...line.map((word) => word[1]))
    const right = Math.max(...line.map((word) => word[0] + word[2]))
    const bottom = Math.max(...line.map((word) => word[1] + word[3]))
    return [left, top, right - left, bottom - top, line.map((word) => word[4]).join(" ")]
  })
}

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

// What scrolls the page's own picture; undefined where that is the window.
function scroller(part) {
  const moves = (one) =>
    one.scrollHeight > one.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(one).overflowY)
  let scrolls = part?.parentElement
  while (scrolls && !moves(scrolls)) scrolls = scrolls.parentElement
  return scrolls?.matches("[data-testid=stMain], body, html") ? undefined : scrolls ?? undefined
}

// By itself only the page's own picture moves: in the window stand the question and the buttons.
function bring(mark, pane, window_too) {
  const scrolls = scroller(mark)
  if (!scrolls) return window_too && mark?.scrollIntoView({ block: "nearest", inline: "nearest" })
  const own = mark.getBoundingClientRect(), box = scrolls.getBoundingClientRect()
  scrolls.scrollTop += own.top - box.top - (box.height - own.height) / 2
  const across = pane.getBoundingClientRect()
  if (own.width && (own.left < across.left || own.right > across.right))
    pane.scrollLeft += own.left - across.left - (pane.clientWidth - own.width) / 2
}

// Scrolling that begins at the end of a page, and goes on, turns to the next one; at its beginning, to the one before.
function turnAtEnds(data, pane, words, trigger, zoom) {
  let last = 0, past = 0
  pane.onwheel = (event) => {
    if (event.ctrlKey) {
      event.preventDefault()
      if (event.timeStamp - last > REST) zoom(-Math.sign(event.deltaY))
      last = event.timeStamp
      return
    }
    const scrolls = scroller(words), step = Math.sign(event.deltaY), target = data.page + step
    const fresh = event.timeStamp - last > REST
    last = event.timeStamp
    const left = !scrolls || !step ? Infinity
      : step < 0 ? scrolls.scrollTop : scrolls.scrollHeight - scrolls.clientHeight - scrolls.scrollTop
    past = left < 2 && (fresh || past * step > 0) ? past + event.deltaY : 0
    if (Math.abs(past) < PAST_END || target < 0 || target >= data.count) return
    pane.onwheel = null
    pane.dataset.turned = step
    trigger("go", target)
  }
}

function draw(data, tools, image, setStateValue, trigger) {
  const [asked, count, before, after, out, size, larger, places] = tools.children
  const holder = image.parentElement
  const pane = image.closest(`.st-key-${data.picture}`)
  // Where the page is the same, its layer stays, with what is selected on it and what is offered for that.
  const made = JSON.stringify([data.key, data.lines, data.found])
  let words = holder.querySelector(".pincite-words")
  if (words?.made !== made) {
    for (const old of holder.querySelectorAll(".pincite-words, .pincite-offer")) old.remove()
    holder.classList.add("pincite-page")
    words = Object.assign(layer(data, image), { made })
    image.after(words)
  }
  const { left, steps } = sizes(data)
  let hits = [], at = 0
  const show = (step) => {
    for (const old of words.querySelectorAll(".pincite-hit")) old.remove()
    at = hits.length ? (at + step + hits.length) % hits.length : 0
    tools.dataset.at = at
    hits.forEach((hit, i) => hit.forEach((box) =>
      words.append(frame(box, i === at ? "pincite-hit pincite-here" : "pincite-hit"))))
    bring(words.querySelector(".pincite-here"), pane, true)
    const other = pages.some((page) => page !== data.page)
    const none = other ? "Not on this page" : "No matches"
    count.textContent = asked.value.trim() ? (hits.length ? `${at + 1} of ${hits.length}` : none) : ""
    before.disabled = after.disabled = hits.length < 2 && !other
  }
  // Past the last place on this page the next page begins that has the words.
  const next = (step) => {
    const edge = !hits.length || (step > 0 ? at === hits.length - 1 : at === 0)
    const target = step > 0 ? pages.find((page) => page > data.page) ?? pages[0]
      : pages.findLast((page) => page < data.page) ?? pages.at(-1)
    if (edge && target !== undefined && target !== data.page) {
      tools.dataset.from = step > 0 ? "start" : "end"
      trigger("go", target)
    } else show(step)
  }
  let pages = [], soon
  const search = () => {
    hits = find(data, asked.value)
    const place = `${data.key} ${flat(asked.value)}`
    at = tools.dataset.place === place ? Number(tools.dataset.at) : tools.dataset.from === "end" ? hits.length - 1 : 0
    Object.assign(tools.dataset, { place, from: "" })
    pages = data.asked === flat(asked.value) ? data.pages : []
    places.replaceChildren(...(pages.length > 1 ? ["On pages "] : []), ...(pages.length > 1 ? pages.slice(0, MOST_PAGES) : []).map((page) =>
      make("button", "", { type: "button", textContent: page + 1, disabled: page === data.page,
        onclick: () => trigger("go", page) })))
    show(0)
  }
  const typed = () => {
    search()
    clearTimeout(soon)
    soon = setTimeout(() => data.asked !== flat(asked.value) && trigger("find", flat(asked.value)), 400)
  }
  // Kept for as long as the window is open, for each document on each screen.
  const zooms = (window.pinciteZooms ??= {}), place = `${location.pathname} ${data.key.split(" ")[0]}`
  const zoom = (step) => {
    const now = Math.max(0, Math.min(steps.length - 1, (zooms[place] ?? steps.length - 3) + step))
    const base = pane.clientWidth
    if (step) zooms[place] = now
    pane.style.overflowX = now ? "auto" : ""
    for (let part = holder; part !== pane; part = part.parentElement)
      part.style.cssText = now ? `width:${steps[now] * base}px;max-width:none;flex:none` : ""
    if (now) pane.scrollLeft = (left - 0.02) * steps[now] * base
    size.textContent = `${Math.round(steps[now] * 100)}%`
    out.disabled = !now
    larger.disabled = now === steps.length - 1
    if (step) setStateValue("sharp", steps[now] >= 2)
  }
  asked.oninput = typed
  asked.onkeydown = (event) => {
    if (event.key !== "Enter") return // a handler that gives false back would swallow the key
    event.preventDefault()
    next(event.shiftKey ? -1 : 1)
  }
  before.onclick = () => next(-1)
  after.onclick = () => next(1)
  out.onclick = () => zoom(-1)
  larger.onclick = () => zoom(1)
  typed()
  const mark = frame([0, data.first ?? (Number(pane.dataset.turned) < 0 ? 1 : 0), 0, 0], "pincite-first")
  words.querySelector(".pincite-first")?.remove()
  words.append(mark)
  if (pane.dataset.shown !== data.key) pane.pinciteUntil = performance.now() + SETTLES
  pane.pinciteResized?.disconnect()
  pane.pinciteResized = new ResizeObserver(() => { // called at once, and when the pane is wider or narrower
    zoom(0)
    if (performance.now() < pane.pinciteUntil) setTimeout(() => bring(mark, pane, false), 50)
  })
  pane.pinciteResized.observe(pane)
  Object.assign(pane.dataset, { shown: data.key, turned: "" })
  turnAtEnds(data, pane, words, trigger, zoom)
  const selected = () => setTimeout(() => offer(data, words, (text) => trigger("pin", text)), 10)
  words.onmouseup = words.onkeyup = selected
  words.oncopy = (event) => {
    event.clipboardData.setData("text/plain", flat(getSelection().toString()))
    event.preventDefault()
  }
}

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  data = { ...data, lines: stretches(data.words) }
  let tools = parentElement.querySelector(".pincite-tools")
  if (!tools) {
    tools = make("div", "pincite-tools", { role: "toolbar", ariaLabel: "Page tools" })
    const sign = (name, text) => make("button", "", { type: "button", ariaLabel: name, title: name, textContent: text })
    tools.append(
      make("input", "", { type: "search", placeholder: "Find…", ariaLabel: NAMES[0] }),
      make("span", "pincite-count", { ariaLive: "polite" }),
      sign(NAMES[1], "‹"), sign(NAMES[2], "›"), sign(NAMES[3], "−"), make("span", "pincite-size"), sign(NAMES[4], "+"),
      make("span", "pincite-places", { ariaLabel: "Pages with these words" }),
    )
    parentElement.append(tools)
  }
  let tries = 50, waiting
  const attach = () => {
    const image = document.querySelector(`.st-key-${data.picture} [data-testid="stImage"] img`)
    const ready = image?.complete && image.naturalWidth
    // Streamlit removes a picture when a rerun is stopped before it draws it, and then has it at the same address again.
    if (image?.complete && !ready && tries % 10 === 0) image.src = image.src
    if (ready) draw(data, tools, image, setStateValue, setTriggerValue)
    else if (tries--) waiting = setTimeout(attach, 100)
  }
  attach()
  return () => clearTimeout(waiting)
}
