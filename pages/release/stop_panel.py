"""The stop before a poor map: the reasons, remedies of one click each, and the way on all the same."""

from __future__ import annotations

import streamlit as st

from hexcursion.door.remedies import REFERENCE, Remedy, Tried, lacks_reference, remedies, weak
from pages.privacy.search import search_panel
from pages.privacy.trials.trials import remedies_job
from pages.shared.plain_text import plain
from pages.shared.session import side_jobs
from pages.shared.session.previews import domain_of_choices
from pages.shared.session.workspace import Found, Workspace
from pages.shared.steps import PRIVACY


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
    if not accepted and _searched(found):
        st.markdown("**What helps.** Each button changes one choice and searches again.")
        _offer(work, found, at_once=True)
    agreed = st.checkbox(
        "Release this map all the same: its statement will say that it is expected to be poor",
        value=accepted,
        key=f"accept_low_{work.mark}",
    )
    if agreed != accepted:
        work.accept_low_agreement(bool(agreed))
        st.rerun()
    return not agreed


def what_helps(work: Workspace, found: Found) -> None:
    """Of a map that is not stopped, but of which little can be told: the same remedies, tried when asked."""
    if weak(found.choice.expected) and _searched(found):
        with st.expander("Little can be told of this map beforehand: what helps", icon=":material/healing:"):
            _offer(work, found, at_once=False)


def _searched(found: Found) -> bool:
    expected = found.choice.expected
    return expected is not None and expected.agreement is not None


def _offer(work: Workspace, found: Found, at_once: bool) -> None:
    """A button for each remedy, and beside it what it reaches, once that was tried in the background."""
    project = found.project
    tried = {} if project.pilot is not None else _tried(work, found, at_once)
    for remedy in remedies(project.settings, project):
        with st.container(horizontal=True, vertical_alignment="center"):
            if st.button(plain(remedy.label), key=f"remedy_{remedy.name}_{work.mark}"):
                _take(work, remedy)
            if remedy.name in tried:
                st.markdown(plain(tried[remedy.name].says))
    if lacks_reference(project.settings):
        st.caption(f"{plain(REFERENCE)}.")


def _tried(work: Workspace, found: Found, at_once: bool) -> dict[str, Tried]:
    """What was tried for this plan; where nothing was, it begins by itself or when asked."""
    about = (found.tuned, found.project.settings.epsilon)
    known = side_jobs.planning(work).jobs.get("remedies")
    if at_once and (known is None or not side_jobs.same(known.about, about)):
        side_jobs.start(work, "remedies", about, remedies_job(found.project, found.tuned))
    answer = side_jobs.follow(
        work, "remedies", about, "Try them in simulation", "Stop trying",
        lambda: remedies_job(found.project, found.tuned),
    )  # fmt: skip
    if answer is None:
        st.caption("What each reaches is told by simulated releases: nothing is drawn or charged.")
        return {}
    return {each.remedy.name: each for each in answer.result}


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
