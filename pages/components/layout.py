"""What Streamlit's elements cannot say: panes that fill the window, a list flush left, no second Stop button."""

import streamlit as st

CONVERSATION = "conversation"
BESIDE = "page_panel"
HEAD = "page_head"
SESSION_LIST = "session_list"
CASE = "review_case"
FILES = "dropped_files"

_STYLE = f"""<style>
.stApp {{ --pane: calc(100dvh - 16.5rem); --page: var(--pane); }}
.st-key-{CONVERSATION}, :has(> .st-key-{CONVERSATION}) {{
  height: var(--pane) !important; flex: 0 0 var(--pane) !important;
}}
.st-key-{CONVERSATION} {{ overflow-x: hidden; padding-right: 0.35rem; }}
.st-key-{BESIDE}, :has(> .st-key-{BESIDE}) {{ height: var(--page) !important; flex: 0 0 var(--page) !important; }}
.st-key-{BESIDE} {{ --head: 2.6rem; }}
:has(> .st-key-{HEAD}) {{
  position: sticky; top: 0; z-index: 5; min-height: 2.6rem; background: light-dark(#ffffff, #161a1b);
}}
.st-key-{HEAD} {{ flex-wrap: nowrap; }}
.st-key-{HEAD} > * {{ flex-shrink: 0; }}
.st-key-{HEAD} > :first-child {{ flex-shrink: 1; min-width: 0; }}
@media (max-width: 1000px) {{
  .stApp:has(.st-key-{BESIDE}) {{ --pane: calc(42dvh - 8.5rem); --page: calc(58dvh - 8.5rem); }}
  .stHorizontalBlock:has(> .stColumn .st-key-{BESIDE}) {{ flex-direction: column-reverse; flex-wrap: nowrap; }}
  .stHorizontalBlock:has(> .stColumn .st-key-{BESIDE}) > .stColumn {{ width: 100%; flex: none; }}
  .st-key-{CASE} .stHorizontalBlock:has(> .stColumn) {{ flex-direction: column; flex-wrap: nowrap; }}
  .st-key-{CASE} .stHorizontalBlock > .stColumn {{ width: 100%; flex: none; }}
}}
.stApp:has(.st-key-{FILES}) {{ --pane: calc(100dvh - 26.5rem); }}
.st-key-{FILES} {{ max-height: 9.5rem; overflow-y: auto; }}
.st-key-earlier_draft {{ opacity: 0.6; }}
.stMarkdownBadge[role=button] {{ cursor: pointer; }}
.stMarkdownBadge[role=button]:is(:hover, :focus-visible) {{ outline: 2px solid currentColor; }}
.st-key-{SESSION_LIST} button, .st-key-{SESSION_LIST} button > div {{ justify-content: flex-start; }}
[data-testid="stBaseButton-primary"], [data-testid="stBaseButton-primaryFormSubmit"] {{
  color: light-dark(#ffffff, #0d1314);
}}
[data-testid="stWidgetLabel"][disabled] {{ color: light-dark(#5c6566, #98a2a3); }}
.st-key-{BESIDE} [data-testid="stElementToolbar"] {{ top: 0.4rem !important; transform: none !important; }}
[data-testid="stPopoverButton"][aria-expanded=true] {{ color: inherit; }}
[data-testid="stStatusWidget"] {{ display: none; }}
[data-testid="stImage"] img {{ border: 1px solid #8888886b; }}
</style>"""


def apply_layout() -> None:
    """Narrow windows show the page above the conversation, or below the case to review, instead of beside it."""
    st.html(_STYLE)
