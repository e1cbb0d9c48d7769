// Begin in the area, and press Ctrl+Enter after a pause: it is what makes Streamlit take the text.
export default function ({ data }) {
  const attach = (tries) => {
    const area = document.querySelector(`.st-key-${data.key} textarea`)
    if (!area) return tries && setTimeout(() => attach(tries - 1), 100)
    if (area.dataset.live) return
    area.dataset.live = "yes"
    area.focus({ preventScroll: true })
    let pause
    const sendAfterAPause = (event) => {
      clearTimeout(pause)
      if (event?.isComposing) return  // half a word of Chinese or Korean is no text yet
      pause = setTimeout(() => {
        area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }))
      }, 600)
    }
    area.addEventListener("input", sendAfterAPause)
    area.addEventListener("compositionend", () => sendAfterAPause())
    if (area.value !== data.text) sendAfterAPause()
  }
  attach(20)
}
