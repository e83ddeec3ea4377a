"""The stop before a poor map: the reasons, remedies of one click each, and the way on all the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from dpgp_core.mechanisms.registry import MECHANISMS
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.serving import that_can_serve
from pages.privacy.designs.designs import BUDGETS
from pages.privacy.search import search_panel
from pages.shared.plain_text import plain
from pages.shared.session.areas import COARSEST, domain_of_choices
from pages.shared.session.workspace import Found, Workspace
from pages.shared.steps import PRIVACY


@dataclass(frozen=True)
class Remedy:
    """Another choice that may give a better map, and what its button says."""

    name: Literal["mean", "coarser", "mechanisms", "epsilon"]
    label: str
    changes: dict[str, Any]


def stopped(work: Workspace, found: Found) -> bool:
    """Say why this release is stopped, where it is; whether it is."""
    reasons = found.against
    if not reasons:
        return False
    accepted = found.project.settings.accept_low_agreement
    st.warning(
        f"**This map is expected to be poor**: {plain('; '.join(reasons))}."
        + ("" if accepted else " Nothing has been drawn or charged."),
        icon=":material/front_hand:",
    )
    expected = found.choice.expected
    if not accepted and expected is not None and expected.agreement is not None:
        st.markdown("**What helps.** Each button changes one choice and searches again.")
        with st.container(horizontal=True):
            for remedy in remedies(found.project.settings):
                if st.button(plain(remedy.label), key=f"remedy_{remedy.name}_{work.mark}"):
                    _take(work, remedy)
    agreed = st.checkbox(
        "Release this map all the same: its statement will say that it is expected to be poor",
        value=accepted,
        key=f"accept_low_{work.mark}",
    )
    if agreed != accepted:
        work.accept_low_agreement(bool(agreed))
        st.rerun()
    return not agreed


def remedies(settings: ReleaseSettings) -> tuple[Remedy, ...]:
    """What could be chosen otherwise, the cheapest first."""
    found = []
    if settings.prior_mean is False and settings.reference_public and settings.reference is not None:
        found.append(Remedy("mean", "Start from the public map", {"prior_mean": True}))
    if settings.resolution > COARSEST:
        found.append(Remedy("coarser", "Coarser hexagons", {"resolution": settings.resolution - 1}))
    others = that_can_serve(MECHANISMS, settings.unit, settings.relation)
    if set(others) - set(settings.mechanisms):
        found.append(Remedy("mechanisms", "Try every mechanism", {"mechanisms": others}))
    larger = [epsilon for epsilon in BUDGETS if epsilon > settings.epsilon]
    if larger:
        found.append(Remedy("epsilon", f"Larger budget, ε {larger[0]:g}", {"epsilon": larger[0]}))
    return tuple(found)


def _take(work: Workspace, remedy: Remedy) -> None:
    """Make the choice, show it in its widget, and search again."""
    work.choose(**remedy.changes)
    for name, value in remedy.changes.items():
        if name == "resolution":
            work.asked_domain = (work.choices.get("region"), work.choices.get("bbox"), value)
            work.domain = domain_of_choices(work.asked_domain, work.choices)
            st.session_state.pop("resolution_of", None)  # the slider is to show it, too
        else:
            st.session_state[f"{name}_{work.mark}"] = list(value) if isinstance(value, tuple) else value
    search_panel.begin(work)
    st.switch_page(PRIVACY.path)
