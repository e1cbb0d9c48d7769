"""The frame of the pages: configuration and navigation. For a server that imports it, the app behind its door."""

import os
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from streamlit import runtime

from pincite.core import __version__
from pincite.core.domain.errors import PinciteError
from pincite.pages import PAGES, PageEntry
from pincite.pages.components.facade import pincite, tell
from pincite.pages.components.layout import apply_layout
from pincite.serve import serving, the_door
from pincite.web.door import Doorkeeper
from pincite.web.gate import Gate
from pincite.web.health import HealthChecks
from pincite.web.pictures import picture_routes

DRAWINGS = Path(__file__).parent / "pages" / "components"
ICON = (DRAWINGS / "icon.svg").read_text(encoding="utf-8")
LOGO = (DRAWINGS / "logo.svg").read_text(encoding="utf-8")


def draw() -> None:
    # A Material symbol as the window's icon would be fetched from the network.
    st.set_page_config(page_title="Pincite", page_icon=ICON, layout="wide")
    st.logo(LOGO, size="large", icon_image=ICON)
    apply_layout()
    problem, waiting = None, dict.fromkeys(PAGES, 0)
    try:
        app = pincite()
        waiting = {page: page.waiting(app) for page in PAGES}
    except PinciteError as error:
        problem = error
    chosen = st.navigation([_entry(page, waiting[page]) for page in PAGES], expanded=True)
    if problem:
        tell(problem)
    else:
        chosen.run()


def _entry(page: PageEntry, waiting: int) -> st.Page:
    title = f"{page.title} ({waiting})" if waiting else page.title
    return st.Page(page.path, title=title, icon=f":material/{page.icon}:", default=page is PAGES[0])


if runtime.exists():
    draw()
else:
    # `streamlit run app.py` and uvicorn look for this name; the server then runs the file again, for each page.
    routes = picture_routes(pincite)
    monitored = [Middleware(HealthChecks, pincite)] if os.environ.get("PINCITE_DATABASE_URL") else []
    middleware = [*monitored, Middleware(Gate, the_door, pincite, __version__), Middleware(Doorkeeper, the_door)]
    app = st.App(__file__, routes=routes, middleware=middleware, lifespan=serving)
