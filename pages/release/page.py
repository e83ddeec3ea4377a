"""Release: the receipt, the one draw, and the released map with the curator's baseline."""

from __future__ import annotations

import streamlit as st

from pages.release import release_panel, result_panel
from pages.shared import panels
from pages.shared.plain_text import plain
from pages.shared.session import workspace
from pages.shared.steps import RELEASE

work = workspace.current()
asked = st.query_params.get("release")

if work.release_id is not None and work.outcome is not None:
    result_panel.for_curator(work, work.outcome, work.release_id)
elif work.outcome is not None and work.fits():
    st.query_params.pop("release", None)  # of one before: opened anew, the address would show that one alone
    release_panel.show(work, work.outcome)
elif asked:
    result_panel.reopened(asked)
else:
    st.info(plain(work.missing_for(RELEASE) or "Choose a design first."), icon=":material/arrow_back:")
    panels.list_finished()
