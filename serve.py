"""Start Streamlit's server on the frame, with the arguments of ``streamlit run``, and the library beside it."""

import threading
from contextlib import suppress

from streamlit.runtime.pages_manager import PagesManager
from streamlit.web.cli import main

from pincite.core.errors import PinciteError

# Until st.navigation has run once in a process, Streamlit takes the folder pages/ beside the main script for its older
# kind of multipage app, and an address such as /documents would open without the frame.
PagesManager.uses_pages_directory = False


def open_library() -> None:
    """Open what all pages share before anyone asks for a page: ingest goes on where an earlier run was ended."""
    from pincite.pages.components.facade import pincite

    with suppress(PinciteError):  # the first page will tell
        pincite()


if __name__ == "__main__":
    threading.Thread(target=open_library, name="open-library", daemon=True).start()
    main(prog_name="streamlit")
