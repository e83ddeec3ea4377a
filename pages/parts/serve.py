"""Serving: start the Streamlit server on the app's script, as `python app.py` does."""

from __future__ import annotations

import sys
from pathlib import Path

from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.web import cli


def running() -> bool:
    """Whether the script is being run by a Streamlit server (or by its test harness) already."""
    return get_script_run_ctx(suppress_warning=True) is not None


def serve(script: str, arguments: list[str]) -> None:
    """Start the server and do not return; `--viewer` is passed on to the script, the rest to Streamlit.

    Until a script first calls `st.navigation`, Streamlit takes a folder `pages/` beside it for its older
    page discovery and answers the first deep link after a start with "Page not found". Switching that off
    before the server starts is all that this adds to `streamlit run app.py`.
    """
    PagesManager.uses_pages_directory = False
    ours = [argument for argument in arguments if argument == "--viewer"]
    theirs = [argument for argument in arguments if argument != "--viewer"]
    sys.argv = ["streamlit", "run", str(Path(script).resolve()), *theirs, "--", *ours]
    cli.main()
