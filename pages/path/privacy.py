"""Privacy and utility: the question, who is protected, how strongly, and the search for the best design."""

from __future__ import annotations

import streamlit as st

from pages.parts import search_panel, workspace
from pages.parts.ask import ask_privacy
from workflow.errors import WorkflowError

work = workspace.current()

left, right = st.columns([2, 3], gap="large")
with left:
    ask_privacy(work)
with right:
    try:
        settings = work.settings()
    except WorkflowError as error:
        st.info(str(error), icon=":material/info:")
    else:
        search_panel.show(work, settings)
