"""Tokens with which other programs use Pincite: make one, see when each was used, revoke it."""

import streamlit as st

from pincite.core.domain.tokens import MAX_TOKEN_NAME_LENGTH, Permission, Token
from pincite.core.services.bootstrap import Pincite
from pincite.pages.components.controls import button, confirm_deletion, danger, row
from pincite.pages.components.facade import errors_shown
from pincite.pages.components.words import escape, moment

PERMISSIONS = {
    Permission.READ: "Search and read documents, verify quotations",
    Permission.ASK: "Ask questions",
    Permission.ADD: "Add files",
}
_MADE = "new_token"


def draw_tokens(app: Pincite) -> None:
    origin = "/".join((st.context.url or "http://127.0.0.1:8501/").split("/")[:3])
    st.markdown("Other programs connect at these addresses, with a token. Assistants that start programs themselves "
                "need no token: they run `pincite mcp`.")  # fmt: skip
    st.markdown(
        "| For | Address |\n|---|---|\n"
        f"| Chat programs (OpenAI protocol) | `{origin}/v1` |\n"
        f"| Assistants (Model Context Protocol) | `{origin}/mcp` |\n"
        f"| Programs of your own (REST; [description]({origin}/api/docs)) | `{origin}/api/v1` |"
    )
    with st.form("new_token_form", clear_on_submit=True):
        name = st.text_input(
            "Name of the program", max_chars=MAX_TOKEN_NAME_LENGTH, placeholder="For example, Open WebUI"
        )
        chosen = st.pills("It may", list(PERMISSIONS), selection_mode="multi", format_func=PERMISSIONS.__getitem__,
                          default=[Permission.READ, Permission.ASK])  # fmt: skip
        if st.form_submit_button("Create a token", type="primary"):
            with errors_shown():
                st.session_state[_MADE] = app.tokens.create(name or "", chosen)
    if made := st.session_state.get(_MADE):
        draw_made(made[0], made[1])
    for token in app.tokens.list():
        draw_token(app, token)


def draw_made(token: Token, secret: str) -> None:
    st.success(
        f"This is the token of **{escape(token.name)}**. Copy it now: it is not shown again.", icon=":material/key:"
    )
    st.code(secret, language=None)
    button("Done", "check", st.session_state.pop, _MADE, None, key="token_copied")


def draw_token(app: Pincite, token: Token) -> None:
    used = f"last used {moment(token.used_at)}" if token.used_at else "never used"
    may = ", ".join(words.lower() for permission, words in PERMISSIONS.items() if permission in token.permissions)
    with row():
        st.markdown(f"**{escape(token.name)}**  \nMay {may} · {used}", width="stretch")
        if danger("Revoke…", f"token_{token.id}"):
            words = f"**{escape(token.name)}** can no longer use Pincite. This cannot be undone."
            confirm_deletion("Revoke this token?", words, _revoke, app, token.id)


def _revoke(app: Pincite, token_id: str) -> None:
    st.session_state.pop(_MADE, None)
    app.tokens.revoke(token_id)
