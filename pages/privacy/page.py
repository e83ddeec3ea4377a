"""Privacy and utility: the question, who is protected, how strongly, and the search for the best design."""

from __future__ import annotations

import streamlit as st

from hexcursion.errors import WorkflowError
from hexcursion.settings.atlas import AtlasSettings
from pages.privacy import atlas_panel, design_panels, frontier, search_panel
from pages.privacy.ask import ask_privacy
from pages.shared.plain_text import plain
from pages.shared.session import workspace
from pages.shared.steps import PRIVACY

work = workspace.current()
scored = None

left, right = st.columns([2, 3], gap="large")
with left:
    if work.columns:
        atlas_panel.ask_together(work)
    else:
        ask_privacy(work)
with right:
    try:
        settings = work.asked(PRIVACY)
    except WorkflowError as error:
        st.info(plain(error), icon=":material/info:")
    else:
        if isinstance(settings, AtlasSettings):
            atlas_panel.show(work, settings)
        else:
            scored = search_panel.show(work, settings)

if scored is not None and work.outcome is not None:
    with st.expander("A closer look at this design", icon=":material/biotech:"):
        numbers, own, sure, least = st.tabs(
            ["What each number does", "Your own design", "How sure are the sets?", "Against the limit"]
        )
        with numbers:
            design_panels.show_variations(work, work.outcome, scored)
        with own:
            design_panels.show_own_design(work, work.outcome, scored)
        with sure:
            design_panels.show_coverage(work, work.outcome, scored)
        with least:
            frontier.show_limit(work, work.outcome)
