"""The settings, each with what it does; what is stored; and the health of every part."""

from collections.abc import Mapping, Sequence
from dataclasses import fields

import altair as alt
import streamlit as st

from core.domain.errors import PinciteError
from core.domain.settings import Settings
from core.services.bootstrap import ConfidenceMeasured, OwnReviews, Pincite, ReliabilityBin
from pages.components.facade import errors_told, pincite, tell
from pages.components.words import count, escape, size

ENGINES = {
    "auto": "Automatic: Ollama when it answers, else quoting",
    "ollama": "Ollama: a local model writes the answers",
    "quoting": "Quoting: no model, sentences from the documents word for word",
}
EXPLANATIONS = {
    "score_floor": "Passages below it are not used. In documents that the built-in scorer had never seen, 19 of 20 "
    "passages that held the answer scored 0.60 or more, 49 of 50 scored 0.55 or more. Higher: fewer, surer passages, "
    "and more questions go unanswered.",
    "retry_score_floor": "A second attempt looks wider; keep it below the first floor.",
    "candidates": "Passages that each ranking hands on. More is slower.",
    "kept": "At most this many go into an answer.",
    "retry_kept": "A retry looks wider.",
    "review_threshold": "Answers with less confidence go to review. Higher: more wait, fewer wrong ones pass.",
    "max_retries": "How often a draft that failed its checks is tried anew.",
    "turn_seconds": "After that the best draft so far goes to review.",
    "ocr": "Pages without usable text are recognised on this machine.",
    "max_file_mib": "Larger files are refused.",
    "max_pages": "Longer files are refused.",
    "page_seconds": "A page that takes longer is marked as failed; the rest goes on.",
    "reader_memory_mib": "A file that needs more fails alone.",
}
SERIES = ["Shipped", "Corrected"]
DEFAULTS = {field.name: field.default for field in fields(Settings)}


def explained(name: str) -> str:
    return f"{EXPLANATIONS[name]} Default: {DEFAULTS[name]}."


def main() -> None:
    app = pincite()
    st.header("Settings", anchor=False)
    with st.container(width=900):
        answers, search, checking, reading, state = st.tabs(
            ["Answers", "Search", "Checking", "Reading PDFs", "Health and storage"]
        )
        with answers:
            draw_answers(app)
        with search:
            draw_search(app)
            draw_embeddings(app)
            draw_reranker(app)
        with reading:
            draw_reading(app)
        with state:
            draw_state(app)
        with checking:  # last: it may have many answers to judge again
            draw_checking(app)


def save(app: Pincite, **values: object) -> None:
    try:
        app.change_settings(**values)
    except PinciteError as error:
        tell(error)
        return
    st.toast("Saved. It holds from the next question on.", icon=":material/check:")
    st.rerun()


def draw_answers(app: Pincite) -> None:
    engine = app.engines()
    if engine.available:
        st.success(escape(engine.message), icon=":material/check_circle:")
    else:
        st.info(f"{escape(engine.message)} To have answers written in prose, install Ollama, then run "
                "`ollama pull qwen3:4b` or any other model.", icon=":material/info:")  # fmt: skip
    settings = app.settings
    with st.form("answers"):
        chosen = st.radio("Who writes the answers", list(ENGINES), index=list(ENGINES).index(settings.engine),
                          format_func=lambda name: ENGINES[name])  # fmt: skip
        models = ["", *dict.fromkeys([*engine.models, *([settings.ollama_model] if settings.ollama_model else [])])]
        model = st.selectbox("Model", models, index=models.index(settings.ollama_model),
                             format_func=lambda name: name or "The first chat model that the server has")  # fmt: skip
        host = st.text_input("Ollama's address", value=settings.ollama_host, placeholder="http://127.0.0.1:11434",
                             help="Empty: OLLAMA_HOST, else this machine.")  # fmt: skip
        if st.form_submit_button("Save", type="primary"):
            save(app, engine=chosen, ollama_model=model or "", ollama_host=(host or "").strip())


def draw_search(app: Pincite) -> None:
    settings = app.settings
    with st.form("search"):
        floor = st.slider(
            "Score floor", 0.0, 1.0, settings.score_floor, 0.01,
            help=explained("score_floor"),
        )  # fmt: skip
        retry = st.slider("Score floor of a retry", 0.0, 1.0, settings.retry_score_floor, 0.01,
                          help=explained("retry_score_floor"))  # fmt: skip
        left, middle, right = st.columns(3)
        candidates = left.number_input("Candidates", 5, 200, settings.candidates,
                                       help=explained("candidates"))  # fmt: skip
        kept = middle.number_input("Passages kept", 1, 50, settings.kept, help=explained("kept"))
        retry_kept = right.number_input("Kept in a retry", 1, 100, settings.retry_kept,
                                         help=explained("retry_kept"))  # fmt: skip
        if st.form_submit_button("Save", type="primary"):
            save(
                app, score_floor=floor, retry_score_floor=retry, candidates=candidates, kept=kept, retry_kept=retry_kept
            )


def draw_embeddings(app: Pincite) -> None:
    st.subheader("Embedding model", anchor=False)
    st.caption(
        "It finds passages by meaning. A change builds a new index beside the old one, which serves until the new one "
        "is whole; you can go back."
    )
    if app.indexes.progress() is not None:
        st.fragment(draw_build, run_every=1.0)(app)
        return
    current = app.settings.embedding_model
    with st.container(horizontal=True, vertical_alignment="bottom"):
        options = list(dict.fromkeys(["minilm", current]))
        wanted = st.selectbox(
            "Model", options, index=options.index(current), format_func=_embedder_name, key="embedder",
            accept_new_options=True, help="Choose, or type the name of an embedding model that Ollama has.",
        )  # fmt: skip
        name = wanted if wanted in options else f"ollama:{wanted.removeprefix('ollama:')}"
        if st.button("Switch", disabled=name == current):
            save(app, embedding_model=name)
        if st.button("Go back to the index before", type="tertiary", icon=":material/undo:"):
            with errors_told():
                if app.roll_back_embedding():
                    st.rerun()
                st.toast("There is no earlier index.", icon=":material/info:")


def _embedder_name(name: str) -> str:
    return "all-MiniLM-L6-v2, built in" if name == "minilm" else name.replace("ollama:", "Ollama: ")


def draw_build(app: Pincite) -> None:
    build = app.indexes.progress()
    if build is None:
        st.rerun()
    share = build.done / build.total if build.total else 1.0
    st.progress(
        min(share, 1.0), text=f"Building the index for {escape(build.embedder)}: {build.done:,} of {build.total:,}"
    )
    if build.message:
        st.error(escape(build.message), icon=":material/error:")
    if st.button("Stop and keep the old index", icon=":material/cancel:"):
        with errors_told():
            app.roll_back_embedding()
            st.rerun()


def draw_reranker(app: Pincite) -> None:
    st.subheader("Reranker", anchor=False)
    state = app.reranker_state()
    if state.installed:
        st.markdown(f":material/check_circle: {escape(state.name)} puts the passages in order.")
        return
    st.markdown(
        f"The built-in scorer puts the passages in order. FlashRank ({escape(state.name)}) is better and slower. Its "
        f"weights are a download of {state.size_mb} MB, licence: {escape(state.licence)}; nothing is fetched unasked."
    )
    if st.button("Download FlashRank", icon=":material/download:"):
        bar = st.progress(0.0, text="Downloading…")

        def tell_progress(share: float) -> None:
            bar.progress(min(share, 1.0), text="Downloading…")

        with errors_told():
            app.fetch_reranker(tell_progress)
            st.rerun()


def draw_checking(app: Pincite) -> None:
    settings, measured = app.settings, app.confidence_measured()
    threshold = st.slider(
        "Review threshold", 0.0, 1.0, settings.review_threshold, 0.05, help=explained("review_threshold")
    )
    with st.spinner("Judging your reviewed answers again…"):
        own = app.own_reviews()
    decided = own.right + own.wrong
    effects, basis = measured.effects, f"{measured.answers:,} labelled answers of mixed quality"
    if app.confidence_is_learned and own.effects:
        effects, basis = own.effects, f"your own {decided:,} decisions"
    if effect := effects.get(round(threshold, 2)):
        st.markdown(f"At {threshold:.2f} it {effect}: measured on {basis}.")
    left, right = st.columns(2)
    retries = left.number_input("Retries", 0, 5, settings.max_retries, help=explained("max_retries"))
    seconds = right.number_input(
        "Time for one answer, in seconds",
        5.0,
        3600.0,
        settings.turn_seconds,
        10.0,
        "%.0f",
        help=explained("turn_seconds"),
    )
    if st.button("Save", type="primary", key="save_checking"):
        save(app, review_threshold=round(threshold, 2), max_retries=retries, turn_seconds=seconds)
    draw_reliability(measured)
    draw_own_reviews(app, own)


def draw_reliability(measured: ConfidenceMeasured) -> None:
    st.subheader("How far the confidence can be trusted", anchor=False)
    st.caption("Each dot is a tenth of the labelled answers: what was said of them, how many were faithful to their "
               "sources. On the line, both agree.")  # fmt: skip
    draw_agreement({"Shipped": measured.reliability})


def draw_own_reviews(app: Pincite, own: OwnReviews) -> None:
    st.subheader("Corrected by your own reviews", anchor=False)
    decided = f"{own.right:,} approved as they stood, {own.wrong:,} edited or rejected"
    if own.learned is None:
        st.caption(f"Once {own.needed} answers are decided, with at least {own.needed_of_each} of each kind, the "
                   f"confidence can be corrected by them. So far: {decided}.")  # fmt: skip
    else:
        st.markdown(f"On your decisions ({decided}) the shipped confidence is off by {own.shipped_error:.0%} on "
                    f"average, the corrected one by {own.refitted_error:.0%}. Each dot is a fifth of them; the "
                    "correction was measured on decisions that it was not learned from.")  # fmt: skip
        draw_agreement({"Shipped": own.shipped, "Corrected": own.refitted})
    better = own.learned is not None and own.refitted_error < own.shipped_error
    if own.learned is not None and not better:
        st.caption("The shipped confidence does as well; there is nothing to correct.")
    with st.container(horizontal=True):
        if better:
            label = "Learn from them again" if app.confidence_is_learned else "Use the corrected confidence"
            if st.button(label, icon=":material/model_training:"):
                app.learn_confidence(own)
                st.rerun()
        if app.confidence_is_learned and st.button("Return to the shipped confidence", icon=":material/undo:"):
            app.learn_confidence(None)
            st.rerun()
    if app.confidence_is_learned:
        st.caption("The corrected confidence is in use.")


def draw_agreement(series: Mapping[str, Sequence[ReliabilityBin]]) -> None:
    """Plot what was said against what was right; series differ in shape as well as in colour."""
    rows = [
        {"Confidence": name, "Said": part.confidence, "Right": part.faithful, "Answers": part.count}
        for name, parts in series.items()
        for part in parts
    ]
    share = alt.Axis(format="%", grid=True)
    scale = alt.Scale(domain=[0, 1])
    several = alt.Legend(orient="top", title=None) if len(series) > 1 else None
    dots = alt.Chart(alt.Data(values=rows)).mark_point(size=80, filled=True, opacity=0.9).encode(
        x=alt.X("Said:Q", title="Confidence", axis=share, scale=scale),
        y=alt.Y("Right:Q", title="Faithful", axis=share, scale=scale),
        color=alt.Color("Confidence:N", legend=several, scale=alt.Scale(domain=SERIES, range=["#2b8a89", "#c8553d"])),
        shape=alt.Shape("Confidence:N", legend=several, scale=alt.Scale(domain=SERIES, range=["circle", "triangle"])),
        tooltip=[alt.Tooltip("Said:Q", format=".0%"), alt.Tooltip("Right:Q", format=".0%"), "Answers:Q"],
    )  # fmt: skip
    ends = [{"Said": 0, "Right": 0}, {"Said": 1, "Right": 1}]
    line = (
        alt.Chart(alt.Data(values=ends)).mark_line(color="#808a8d", strokeDash=[4, 4]).encode(x="Said:Q", y="Right:Q")
    )
    st.altair_chart((line + dots).properties(height=300, width=420), width="content")


def draw_reading(app: Pincite) -> None:
    settings = app.settings
    with st.form("reading"):
        ocr = st.toggle("Recognise scanned pages (OCR)", settings.ocr,
                        help=explained("ocr"))  # fmt: skip
        left, right = st.columns(2)
        file_mib = left.number_input("Largest file, MiB", 1, 4096, settings.max_file_mib,
                                     help=explained("max_file_mib"))  # fmt: skip
        pages = right.number_input("Most pages in a file", 1, 1_000_000, settings.max_pages,
                                   help=explained("max_pages"))  # fmt: skip
        seconds = left.number_input("Seconds for one page", 1.0, 600.0, settings.page_seconds, step=5.0, format="%.0f",
                                    help=explained("page_seconds"))  # fmt: skip
        memory = right.number_input("Memory for the reader, MiB", 256, 65_536, settings.reader_memory_mib, step=256,
                                    help=explained("reader_memory_mib"))  # fmt: skip
        if st.form_submit_button("Save", type="primary"):
            save(app, ocr=ocr, max_file_mib=file_mib, max_pages=pages, page_seconds=seconds, reader_memory_mib=memory)


def draw_state(app: Pincite) -> None:
    checks = app.health()
    failed = sum(not check.ok for check in checks)
    st.markdown(f"**{count(failed, 'part')} of {len(checks)} need attention**" if failed else "**Everything works**")
    rows = [f"| {'✓ works' if check.ok else '✗ does not'} | {escape(check.part)} | {escape(check.detail)} "
            f"{'' if check.ok else f'**{escape(check.hint)}**'} |" for check in checks]  # fmt: skip
    st.markdown("\n".join(["| | Part | State |", "|:--|:--|:--|", *rows]))
    storage = app.storage()
    parts = " · ".join(f"{escape(name)} {size(amount)}" for name, amount in storage.items())
    st.markdown(f"**{size(sum(storage.values()))} stored** in `{app.settings.data_dir}`")
    st.caption(parts)


main()
