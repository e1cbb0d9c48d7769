"""Start Streamlit's server on the frame, with the arguments of ``streamlit run``."""

from streamlit.runtime.pages_manager import PagesManager
from streamlit.web.cli import main

# Until st.navigation has run once in a process, Streamlit takes the folder pages/ beside the main script for its older
# kind of multipage app, and an address such as /documents would open without the frame.
PagesManager.uses_pages_directory = False

if __name__ == "__main__":
    main(prog_name="streamlit")
