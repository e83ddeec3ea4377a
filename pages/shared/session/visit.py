"""The visit: a word before private work is left, one after a reload, one where two tabs are open."""

from __future__ import annotations

import streamlit as st

from pages.shared.plain_text import plain
from pages.shared.session import kept
from pages.shared.session.workspace import Workspace
from pages.shared.steps import DATA, MAIN_PATH, Screen

# What lives in the browser's tab says that there was something, and the public choices made for it. The
# question before leaving is the browser's own: https://html.spec.whatwg.org, "beforeunload".
_SCRIPT = """
const MARK = "hexcursion-visit";
const ask = (event) => { event.preventDefault(); event.returnValue = true; };

// Tabs of one browser hear of each other: who comes says so, who is there answers, who goes says so.
const tabs = (globalThis.hexcursionTabs ??= (() => {
  const self = Math.random().toString(36).slice(2), others = new Set();
  const known = { others, changed: () => {} };
  if (!("BroadcastChannel" in globalThis)) return known;
  const channel = new BroadcastChannel("hexcursion-tabs");
  const say = (what) => channel.postMessage({ what, self });
  channel.onmessage = ({ data }) => {
    if (data.what === "gone") others.delete(data.self); else others.add(data.self);
    if (data.what === "here?") say("here");
    known.changed();
  };
  window.addEventListener("pagehide", () => say("gone"));
  window.addEventListener("pageshow", (event) => { if (event.persisted) say("here?"); });
  say("here?");
  return known;
})());

export default function ({ data, setStateValue }) {
  tabs.changed = () => {
    const others = tabs.others.size > 0;
    if (others !== data.others) setStateValue("others", others);
  };
  tabs.changed();
  if (data.unsaved) window.addEventListener("beforeunload", ask);
  else window.removeEventListener("beforeunload", ask);
  if (data.loaded) {
    sessionStorage.setItem(MARK, data.kept || "data");
  } else if (sessionStorage.getItem(MARK) && !data.lost) {  // it stays there: a page may be reloaded twice
    setStateValue("lost", sessionStorage.getItem(MARK));
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
            data={
                "loaded": work.private is not None,
                "unsaved": work.at_risk,
                "kept": kept.text_of(work),
                "others": work.other_tab,
                "lost": work.lost,
            },
            on_lost_change=lambda: None,
            on_others_change=lambda: None,
        )
    if seen.others is not None and bool(seen.others) != work.other_tab:
        work.other_tab = bool(seen.others)
        st.rerun()
    if seen.lost and not work.lost:
        work.lost, work.kept = True, kept.read(str(seen.lost))
        st.rerun()


def say_other_tab(work: Workspace) -> None:
    """That the app is open in another tab too, and what that means."""
    if work.other_tab:
        st.caption(
            ":material/tab: This app is open in another tab as well. Each tab has its own data and choices; "
            "releases of both are charged to the same account."
        )


def say_what_was_lost(work: Workspace, screen: Screen) -> None:
    """After a reload: what is gone and how to go on; nothing where nothing was lost."""
    if not work.lost or work.private is not None or screen not in MAIN_PATH or st.query_params.get("release"):
        return
    said = kept.words_of(work.kept)
    area = "" if "bbox" in work.kept else " Name an area file again."
    st.info(
        "This page was loaded anew, and private data are kept for one visit only, so the data "
        f"of before are gone: read them again{'' if screen == DATA else ' on the Data screen'}, or "
        "import the settings file (TOML) if you saved one."
        + " A release that had begun is finished all the same: the step Publish lists it."
        + (f" Kept for data of the same kind: {plain(said)}.{area}" if said else ""),
        icon=":material/history:",
    )
