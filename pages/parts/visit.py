"""The visit: a word before a page that holds private work is left, and one after it was reloaded."""

from __future__ import annotations

import streamlit as st

from pages.parts.steps import DATA, MAIN_PATH, Screen
from pages.parts.workspace import Workspace

# The mark lives in the browser's tab, says only that there was something, and names nothing of it. The
# question before leaving is the browser's own: https://html.spec.whatwg.org, "beforeunload".
_SCRIPT = """
const MARK = "hexcursion-visit";
const ask = (event) => { event.preventDefault(); event.returnValue = true; };

export default function ({ data, setStateValue }) {
  if (data.unsaved) window.addEventListener("beforeunload", ask);
  else window.removeEventListener("beforeunload", ask);
  if (data.loaded) {
    sessionStorage.setItem(MARK, "data");
  } else if (sessionStorage.getItem(MARK)) {
    sessionStorage.removeItem(MARK);
    setStateValue("lost", true);
  }
  return () => window.removeEventListener("beforeunload", ask);
}
"""
_watch = st.components.v2.component("hexcursion_visit", js=_SCRIPT)


def watch(work: Workspace) -> None:
    """Tell the browser whether there is something to lose, and hear from it whether something was lost."""
    with st.container(key="visit"):
        seen = _watch(
            key="visit_watch",
            data={"loaded": work.private is not None, "unsaved": work.at_risk},
            on_lost_change=lambda: None,
        )
    if seen.lost and not work.lost:
        work.lost = True
        st.rerun()


def say_what_was_lost(work: Workspace, screen: Screen) -> None:
    """After a reload: what is gone and how to go on; nothing where nothing was lost."""
    if not work.lost or work.private is not None or screen not in MAIN_PATH or st.query_params.get("release"):
        return
    st.info(
        "This page was loaded anew, and private data are kept for one visit only, so the data and choices "
        f"of before are gone: read the data again{'' if screen == DATA else ' on the Data screen'}, or "
        "import the settings file (TOML) if you saved one.",
        icon=":material/history:",
    )
