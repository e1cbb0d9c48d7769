"""The frame of the pages: configuration and navigation. For a server that imports it, the app behind its door."""

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from streamlit import runtime

from core.domain.errors import PinciteError
from pages.components.facade import pincite, tell
from pages.components.layout import apply_layout
from serve import serving, the_door
from web.door import Doorkeeper

DRAWINGS = Path(__file__).parent / "pages" / "components"
ICON = (DRAWINGS / "icon.svg").read_text(encoding="utf-8")
LOGO = (DRAWINGS / "logo.svg").read_text(encoding="utf-8")


def draw() -> None:
    # A Material symbol as the window's icon would be fetched from the network.
    st.set_page_config(page_title="Pincite", page_icon=ICON, layout="wide")
    st.logo(LOGO, size="large", icon_image=ICON)
    apply_layout()

    try:
        waiting = pincite().turns.count_flagged()
    except PinciteError as error:
        tell(error)
        st.stop()
    page = st.navigation(
        [
            st.Page("pages/chat.py", title="Chat", icon=":material/forum:", default=True),
            st.Page("pages/documents.py", title="Documents", icon=":material/description:"),
            st.Page("pages/traces.py", title="Traces", icon=":material/account_tree:"),
            st.Page(
                "pages/review.py", title=f"Review ({waiting})" if waiting else "Review", icon=":material/rate_review:"
            ),
            st.Page("pages/settings.py", title="Settings", icon=":material/settings:"),
        ],
        expanded=True,
    )
    try:
        page.run()
    except PinciteError as error:
        tell(error)


if runtime.exists():
    draw()
else:
    # `streamlit run app.py` and uvicorn look for this name; the server then runs the file again, for each page.
    app = st.App(__file__, middleware=[Middleware(Doorkeeper, the_door)], lifespan=serving)
