"""The frame of the pages: configuration and navigation. For a server that imports it, the app behind its door."""

import os
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from streamlit import runtime

from pincite.core import __version__
from pincite.core.domain.errors import AccessError, PinciteError
from pincite.core.domain.settings import load_settings
from pincite.pages import PAGES, PageEntry
from pincite.pages.components.controls import quiet, row
from pincite.pages.components.facade import library, pincite, seen_by, tell
from pincite.pages.components.layout import apply_layout
from pincite.pages.components.words import escape
from pincite.serve import serving, the_door
from pincite.web.door import Doorkeeper
from pincite.web.gate import Gate
from pincite.web.health import HealthChecks
from pincite.web.pictures import picture_routes
from pincite.web.sign_in import prepare

DRAWINGS = Path(__file__).parent / "pages" / "components"
ICON = (DRAWINGS / "icon.svg").read_text(encoding="utf-8")
LOGO = (DRAWINGS / "logo.svg").read_text(encoding="utf-8")


def draw() -> None:
    # A Material symbol as the window's icon would be fetched from the network.
    st.set_page_config(page_title="Pincite", page_icon=ICON, layout="wide")
    st.logo(LOGO, size="large", icon_image=ICON)
    apply_layout()
    problem, waiting, user = None, dict.fromkeys(PAGES, 0), None
    try:
        app = pincite()
        user = app.user
        waiting = {page: page.waiting(app) for page in PAGES if not page.of_admins or (user and user.is_admin)}
    except PinciteError as error:
        problem = error
        waiting = {page: 0 for page in PAGES if not page.of_admins}
    nobody = isinstance(problem, AccessError)
    entries = [_entry(page, number) for page, number in waiting.items()]
    chosen = st.navigation(entries, expanded=True, position="hidden" if nobody else "sidebar")
    if user or nobody:
        draw_user(user.shown if user else str(st.user.get("email") or ""))
    if problem:
        tell(problem)
    else:
        chosen.run()


def draw_user(name: str) -> None:
    """Say who has signed in, and offer to sign out."""
    with st.sidebar, row(key="signed_in"):
        st.caption(f":material/person: {escape(name)}", width="stretch")
        quiet("Sign out", "logout", st.logout, key="sign_out")


def _entry(page: PageEntry, waiting: int) -> st.Page:
    title = f"{page.title} ({waiting})" if waiting else page.title
    return st.Page(page.path, title=title, icon=f":material/{page.icon}:", default=page is PAGES[0])


if runtime.exists():
    draw()
else:
    # `streamlit run app.py` and uvicorn look for this name; the server then runs the file again, for each page.
    routes = picture_routes(lambda claims: seen_by(library(), claims))
    secrets = prepare() if load_settings().admins else None
    monitored = [Middleware(HealthChecks, library)] if os.environ.get("PINCITE_DATABASE_URL") else []
    middleware = [*monitored, Middleware(Gate, the_door, library, __version__), Middleware(Doorkeeper, the_door)]
    app = st.App(__file__, routes=routes, middleware=middleware, lifespan=serving, secrets=secrets)
