"""The workspace: what one browser session has decided and computed so far; nothing of it is shared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from pages.parts.steps import DATA, HEXAGONS, PRIVACY, PUBLISH, RELEASE, Screen

KEY = "workspace"


@dataclass
class Workspace:
    """Mutable state of one session, filled from left to right along the main path.

    choices   settings made so far, under the names of `workflow.ReleaseSettings`
    decided_texts  one line per finished step, for the side bar
    """

    choices: dict[str, Any] = field(default_factory=dict)
    generated: bool = False
    decided_texts: dict[str, str] = field(default_factory=dict)
    budget_text: str | None = None

    def decided(self, step: Screen) -> str | None:
        """What was decided on a step, in one line; None while it is open."""
        return self.decided_texts.get(step.address)

    def missing_for(self, step: Screen) -> str | None:
        """Why a step cannot be opened yet, or None."""
        needs = {HEXAGONS: DATA, PRIVACY: HEXAGONS, RELEASE: PRIVACY, PUBLISH: RELEASE}
        earlier = needs.get(step)
        if earlier is None or self.decided(earlier) is not None:
            return None
        return f"First finish the step {earlier.title}."

    def budget_line(self) -> str | None:
        """What the ledger says about the data at hand, in one line."""
        return self.budget_text


def current() -> Workspace:
    """The workspace of this browser session."""
    if KEY not in st.session_state:
        st.session_state[KEY] = Workspace()
    return st.session_state[KEY]


def start_over() -> Workspace:
    """Forget everything this session holds."""
    st.session_state[KEY] = Workspace()
    return st.session_state[KEY]
