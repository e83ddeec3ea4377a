"""The visit: a word before private work is left, one after a reload, one where two tabs are open."""

from __future__ import annotations

import time

import streamlit as st

from pages.shared.plain_text import plain
from pages.shared.session import kept, ongoing
from pages.shared.session.workspace import Workspace
from pages.shared.steps import DATA, MAIN_PATH, PUBLISH, Screen

EVERY = 1.0  # seconds between two looks at a release that is under way
LATE = 10.0  # seconds after which a click of before the page was loaded anew comes no more

# What lives in the browser's tab says that there was something, and the public choices made for it. The
# question before leaving is the browser's own: https://html.spec.whatwg.org, "beforeunload".
_SCRIPT = """
const MARK = "hexcursion-visit", TOKEN = "hexcursion-token";
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
    sessionStorage.setItem(TOKEN, data.token);
  } else if (sessionStorage.getItem(MARK) && !data.lost) {  // it stays there: a page may be reloaded twice
    setStateValue("before", sessionStorage.getItem(TOKEN));
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
                "token": work.session,
                "others": work.other_tab,
                "lost": work.lost,
            },
            on_lost_change=lambda: None,
            on_before_change=lambda: None,
            on_others_change=lambda: None,
        )
    if seen.others is not None and bool(seen.others) != work.other_tab:
        work.other_tab = bool(seen.others)
        st.rerun()
    if seen.lost and not work.lost:
        work.lost, work.kept, work.before = True, kept.read(str(seen.lost)), str(seen.before or "")
        work.lost_since = time.monotonic()
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
    _say_what_was_asked(work)
    st.info(
        "This page was loaded anew, and private data are kept for one visit only, so the data "
        f"of before are gone: read them again{'' if screen == DATA else ' on the Data screen'}, or "
        "import the settings file (TOML) if you saved one."
        + " A release that had begun is finished all the same: the step Publish lists it."
        + (f" Kept for data of the same kind: {plain(said)}.{area}" if said else ""),
        icon=":material/history:",
    )


def _say_what_was_asked(work: Workspace) -> None:
    """What becomes of the release that was asked for before the page was loaded anew."""
    asked = ongoing.of(work.before)
    follows = asked.running if asked is not None else _may_begin(work)
    st.fragment(_follow, run_every=EVERY if follows else None)(work, follows)


def _may_begin(work: Workspace) -> bool:
    """Whether the page was loaded anew so lately that the click before it may still be on its way."""
    return bool(work.before) and time.monotonic() - work.lost_since < LATE


def _follow(work: Workspace, follows: bool) -> None:
    """Say how far it is; once there is nothing more to follow the screen is drawn again."""
    asked = ongoing.of(work.before)
    if follows and not (asked.running if asked is not None else _may_begin(work)):
        st.rerun()
    if asked is None:
        return
    if asked.running:
        st.info(
            "**The release that you asked for is under way**: it is charged once, drawn once, and written. "
            "Nothing has to be asked for again.",
            icon=":material/hourglass_top:",
        )
    elif asked.release_id is None:
        st.error(plain(asked.text), icon=":material/error:")
    else:
        st.success("**The release that you asked for is done.**", icon=":material/check_circle:")
        st.page_link(
            PUBLISH.path, label="Open it", icon=PUBLISH.icon, query_params={"release": asked.release_id}
        )
