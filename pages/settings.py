"""The settings, each with what it does; what is stored; and the health of every part."""

import streamlit as st

from pincite.core.domain.errors import ModelUnavailableError
from pincite.core.domain.models import KeptModel
from pincite.core.domain.settings import Settings
from pincite.core.services.bootstrap import Pincite
from pincite.core.services.exports import citation_styles
from pincite.core.services.registry import engine_names
from pincite.core.services.reviews import measured_confidence
from pincite.pages.components.agreement import draw_agreement
from pincite.pages.components.controls import button, confirm_deletion, quiet, row
from pincite.pages.components.facade import errors_shown, show
from pincite.pages.components.reranker import about_reranker, draw_download
from pincite.pages.components.setting import draw_setting
from pincite.pages.components.tokens import draw_tokens
from pincite.pages.components.words import escape, size

ENGINES = {
    "auto": "Automatic: a connected model if one is available, otherwise quoting",
    "ollama": "Ollama: a local model writes the answers",
    "openai": "Another server: any that offers the OpenAI API",
    "quoting": "Quoting: no model; answers quote the documents word for word",
}

STYLES = {
    "plain": "Plain: file name and page",
    "apa": "APA",
    "chicago-author-date": "Chicago, author and date",
    "chicago-notes-bibliography": "Chicago, notes",
    "modern-language-association": "MLA",
    "harvard-cite-them-right": "Harvard (Cite Them Right)",
    "ieee": "IEEE",
    "american-medical-association": "AMA",
    "oscola": "OSCOLA",
    "bluebook-law-review": "Bluebook",
    "australian-guide-to-legal-citation": "Australian Guide to Legal Citation",
}  # at the top of the list
EMBEDDERS = {
    "minilm": "For documents in English: all-MiniLM-L6-v2, built in",
    "e5": "For documents in any language: multilingual-e5-small, built in",
}


def draw(app: Pincite) -> None:
    st.header("Settings", anchor=False)
    with st.container(width=900):
        if not app.is_admins:
            draw_own(app)
            return
        answers, search, checks, pdfs, programs, state = st.tabs(
            ["Answers", "Search", "Checking", "Documents", "Other programs", "Health and storage"]
        )
        with answers:
            draw_answers(app)
        with search:
            draw_embeddings(app)
            draw_reranker(app)
            with st.expander("Advanced"):
                draw_form(app, "search", ["score_floor"], ["candidates", "kept"])
        with pdfs:
            draw_form(app, "reading", ["ocr", "web_pages"], ["describe_figures", "picture_model"])
            with st.expander("Advanced"):
                draw_form(app, "limits", ["max_file_mib", "max_pages"], ["page_seconds", "reader_memory_mib"])
        with programs:
            draw_tokens(app)
        with state:
            draw_state(app)
        with checks:  # last: it may have many answers to judge again
            draw_checking(app)


def draw_own(app: Pincite) -> None:
    """What a user of a server chooses; the rest is the admins'."""
    answers, search, programs = st.tabs(["Answers", "Search", "Other programs"])
    with answers, st.form("own_answers"):
        st.markdown(escape(app.engines.state().message))
        chosen, style = draw_engine(app), draw_style(app.settings.current)
        if st.form_submit_button("Save", type="primary"):
            save(app, {"engine": chosen, "citation_style": style})
    with search:
        draw_form(app, "search", ["score_floor"], ["candidates", "kept"])
    with programs:
        draw_tokens(app)


def save(app: Pincite, values: dict[str, object]) -> None:
    with errors_shown():
        app.settings.change(**values)
        st.toast("Saved. Changes apply from your next question.", icon=":material/check:")
        st.rerun()


def draw_form(app: Pincite, key: str, *rows: list[str]) -> None:
    """Settings that are saved together, in rows."""
    with st.form(key):
        values = {}
        for names in rows:
            for name, column in zip(names, st.columns(len(names)), strict=True):
                with column:
                    values[name] = draw_setting(app.settings.current, name)
        if st.form_submit_button("Save", type="primary"):
            save(app, values)


def draw_style(settings: Settings) -> str:
    options = list(dict.fromkeys([*STYLES, settings.citation_style, *citation_styles()]))
    style: str = draw_setting(
        settings, "citation_style", options=options, format_func=lambda name: STYLES.get(name, name),
        accept_new_options=True,
    )  # fmt: skip
    return style


def draw_engine(app: Pincite) -> str:
    settings = app.settings.current
    names = list(dict.fromkeys([*engine_names(), settings.engine]))
    chosen: str = draw_setting(
        settings, "engine", few=names, format_func=lambda name: ENGINES.get(name) or app.engines.label(name)
    )
    return chosen


def draw_answers(app: Pincite) -> None:
    engine, settings = app.engines.state(), app.settings.current
    if engine.available and engine.hint:
        st.warning(f"{escape(engine.message)} {escape(engine.hint)}", icon=":material/model_training:")
    elif engine.available:
        st.success(escape(engine.message), icon=":material/check_circle:")
    elif engine.asks_to_send_to:
        st.warning(f"{escape(engine.message)} Nothing has been sent so far.", icon=":material/cloud_upload:")
        button("Allow", "check", app.engines.allow, engine.asks_to_send_to, key="allow")
    else:
        st.info(f"{escape(engine.message)} For answers written in prose, install Ollama, then run "
                "`ollama pull qwen3:4b` or pull another model.", icon=":material/info:")  # fmt: skip
    with st.form("answers"):
        chosen = draw_engine(app)
        model = draw_model(app, "ollama")
        host = draw_setting(settings, "ollama_host", placeholder="http://127.0.0.1:11434")
        style = draw_style(settings)
        if st.form_submit_button("Save", type="primary"):
            save(app, {"engine": chosen, "ollama_model": model, "ollama_host": host, "citation_style": style})
    draw_openai(app)
    fetching = _is_fetching(app)
    st.fragment(draw_models, run_every=1.0 if fetching else None)(app, fetching)
    for address in app.engines.allowed:
        with row():
            st.markdown(f"Questions and passages may be sent to `{escape(address)}`.", width="content")
            quiet("Revoke", "undo", app.engines.withdraw, address, key=f"withdraw_{address}")


def draw_model(app: Pincite, provider: str) -> str:
    """Draw the choice among the provider's models and return it."""
    engine, settings, name = app.engines.state(), app.settings.current, f"{provider}_model"
    found = engine.models if engine.provider == provider else ()
    models = list(dict.fromkeys(["", *found, getattr(settings, name)]))
    first = "First available chat model"
    chosen: str = draw_setting(settings, name, options=models, format_func=lambda model: model or first)
    return chosen


def _is_fetching(app: Pincite) -> bool:
    fetch = app.models.fetching()
    return fetch is not None and fetch.running


def draw_models(app: Pincite, fetching: bool) -> None:
    """The models on Ollama's disk, and the way to another; ``fetching``: one was on its way as the page was drawn."""
    if fetching and not _is_fetching(app):
        st.rerun()
    try:
        kept = app.models.list()
    except ModelUnavailableError:
        return  # the text above already reports this
    if not app.models.host:
        return
    st.subheader("Models in Ollama", anchor=False)
    for model in kept:
        with row():
            st.markdown(f"**{escape(model.name)}**  \n{escape(model_in_words(model))}", width="stretch")
            if model.loaded:
                st.badge("Loaded", color="green")
            quiet("Remove", "delete", confirm_deletion, f"Remove {escape(model.name)}?",
                  f"This frees {size(model.size)} on the machine where Ollama runs. You can download it again.",
                  app.models.remove, model.name, key=f"remove_{model.name}")  # fmt: skip
    fetch = app.models.fetching()
    if fetch and fetch.running:
        share = min(fetch.now.done / fetch.now.total, 1.0) if fetch.now.total else 0.0
        progress = f"{size(fetch.now.done)} of {size(fetch.now.total)}" if fetch.now.total else escape(fetch.now.doing)
        st.progress(share, text=f"Downloading {escape(fetch.name)}: {progress}")
        quiet("Stop", "cancel", app.models.stop)
        return
    if fetch and fetch.error:
        st.error(escape(fetch.error), icon=":material/error:")
    with st.form("fetch", border=False), row(vertical_alignment="bottom"):
        name = st.text_input("Another model", app.models.recommended, help="A name from ollama.com/library. Ollama "
                             "downloads it. The suggested model suits this machine's memory.")  # fmt: skip
        if st.form_submit_button("Download", icon=":material/download:"):
            with errors_shown():
                app.models.fetch(name.strip())
                st.rerun()


def model_in_words(model: KeptModel) -> str:
    """For example "1.1 GB · 1.8B parameters, Q4_K_M · reads up to 32,768 tokens"."""
    built = f"{model.parameters} parameters, {model.quantisation}".strip(" ,") if model.parameters else ""
    reads = f"reads up to {model.context_tokens:,} tokens" if model.context_tokens else ""
    return " · ".join(filter(None, [size(model.size), built, reads, "" if model.chats else "embeddings only"]))


def draw_openai(app: Pincite) -> None:
    settings = app.settings.current
    with st.expander("Server with an OpenAI-compatible API", icon=":material/dns:"), st.form("openai", border=False):
        address = draw_setting(settings, "openai_address", placeholder="http://127.0.0.1:8000/v1")
        model = draw_model(app, "openai")
        key = st.text_input(
            "API key", type="password", autocomplete="off", placeholder="Leave empty to keep the current key",
            help="Stored in this machine's keyring, never in a file. To delete it, type a single minus sign.",
        ).strip()  # fmt: skip
        embedding = draw_setting(settings, "embedding_address")
        if st.form_submit_button("Save", type="primary", key="save_openai"):
            with errors_shown():
                if key:
                    app.engines.keep_key(address, "" if key == "-" else key)
                save(app, {"openai_address": address, "openai_model": model, "embedding_address": embedding})


def draw_embeddings(app: Pincite) -> None:
    st.subheader("Embedding model", anchor=False)
    st.caption(
        "It finds passages by meaning. Changing it builds a new index; the old one stays in use until the new one is "
        "complete, and you can go back. The model for any language takes twice as long and 400 MB more memory, and is "
        "no better in English."
    )
    if app.indexes.progress() is not None:
        st.fragment(draw_build, run_every=1.0)(app)
        return
    current = app.settings.current.embedding_model
    with row(vertical_alignment="bottom"):
        options = list(dict.fromkeys([*app.search.built_in_embedders, current]))
        wanted = st.selectbox(
            "Model", options, index=options.index(current), format_func=_embedder_name, key="embedder",
            accept_new_options=True, help="Choose a model, or type the name of an embedding model in Ollama. "
            "Type openai:NAME for a model on the other server.",
        )  # fmt: skip
        named = wanted in options or wanted.startswith(("ollama:", "openai:"))
        name = wanted if named else f"ollama:{wanted}"
        if st.button("Switch", disabled=name == current):
            save(app, {"embedding_model": name})
        if app.settings.can_roll_back_embedding() and quiet("Go back to the previous index", "undo"):
            with errors_shown():
                app.settings.roll_back_embedding()
                st.rerun()


def _embedder_name(name: str) -> str:
    return EMBEDDERS.get(name, name.replace("ollama:", "Ollama: ").replace("openai:", "The other server: "))


def draw_build(app: Pincite) -> None:
    build = app.indexes.progress()
    if build is None:
        st.rerun()
    share = min(build.done / build.total, 1.0) if build.total else 1.0
    st.progress(share, text=f"Building the index for {escape(build.embedder)}: {build.done:,} of {build.total:,}")
    if build.message:
        st.error(escape(build.message), icon=":material/error:")
    if button("Stop and keep the old index", "cancel"):
        with errors_shown():
            app.settings.roll_back_embedding()
            st.rerun()


def draw_reranker(app: Pincite) -> None:
    st.subheader("Reranker", anchor=False)
    state = app.search.reranker_state()
    if state.installed:
        st.markdown(f":material/check_circle: {escape(state.name)} ranks the passages.")
        return
    st.markdown(about_reranker(state))
    draw_download(app)


def draw_checking(app: Pincite) -> None:
    measured, settings = measured_confidence(), app.settings.current
    threshold = draw_setting(settings, "review_threshold", step=0.05)
    if effect := measured.effects.get(threshold):
        basis = f"{measured.answers:,} labelled answers of language models"
        st.markdown(f"A threshold of {threshold:.2f} {effect}, measured on {basis}.")
    with row(vertical_alignment="bottom"):
        retries = draw_setting(settings, "max_retries")
        seconds = draw_setting(settings, "turn_seconds", step=10.0, format="%.0f")
    if st.button("Save", type="primary", key="save_checking"):
        save(app, {"review_threshold": threshold, "max_retries": retries, "turn_seconds": seconds})
    st.subheader("How reliable the confidence is", anchor=False)
    count = sum(part.count for part in measured.reliability)
    st.caption(f"Each dot is a tenth of the quoted answers to {count:,} hard questions: their confidence, and how many "
               "were right. On the dashed line, the two agree. Below 0.6 the most relevant passages are listed "
               "instead of an answer.")  # fmt: skip
    draw_agreement(measured.reliability)


def draw_state(app: Pincite) -> None:
    checks = app.health.checks()
    failed = sum(not check.ok for check in checks)
    st.markdown(f"**Needs attention: {failed} of {len(checks)} parts**" if failed else "**Everything works**")
    rows = [f"| {'✓&nbsp;Works' if check.ok else '✗&nbsp;Problem'} | {escape(check.part)} | {escape(check.detail)} "
            f"{'' if check.ok else f'**{escape(check.hint)}**'} |" for check in checks]  # fmt: skip
    st.markdown("\n".join(["| | Part | State |", "|:--|:--|:--|", *rows]))
    if app.settings.current.database_url:
        st.caption(
            "The library is in PostgreSQL: back up the database with its own tools, and the folder of the files."
        )
    else:
        draw_form(app, "backups", ["automatic_backups"])
    storage = app.health.storage()
    st.markdown(f"**{size(sum(storage.values()))} stored** in `{app.settings.current.data_dir}`")
    st.caption(" · ".join(f"{escape(name)} {size(amount)}" for name, amount in storage.items()))


show(draw)
