"""The frame around the screens: steps and their marks, ways on, what was decided, and what a reload lost."""

from __future__ import annotations

import runpy
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from geo import domain_from_bbox
from pages.shared import frame, steps
from pages.shared.session import saving, side_jobs, workspace
from pages.shared.session.previews import Preview
from pages.shared.session.workspace import Workspace
from tests.pages.recorded import Recorded

ROWS = Preview((), 1_200, "ppb", "reading", False, (), (), (), ())


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    recorded = Recorded()
    monkeypatch.setattr(frame, "st", recorded)
    return recorded


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """The session's workspace: data read and hexagons filled, nothing more."""
    made = Workspace(private=ROWS, domain=domain_from_bbox(-0.06, 51.49, -0.04, 51.505, 8))
    monkeypatch.setattr(workspace, "current", lambda: made)
    monkeypatch.setattr(frame.access, "may_curate", lambda: True)
    return made


def calls(screen: Recorded, name: str) -> list[dict[str, Any]]:
    return [{**named, "_": given} for called, given, named in screen.calls if called == name]


def test_the_page_is_wide_and_has_its_name(screen: Recorded) -> None:
    frame.configure()
    (page,) = calls(screen, "set_page_config")
    assert (page["page_title"], page["layout"], page["initial_sidebar_state"]) == ("Hexcursion", "wide", 270)
    assert page["page_icon"] == frame.LOGO
    assert frame.LOGO.is_file()
    assert frame.STYLE.is_file()
    assert screen.said("html") == [frame.STYLE]


def test_the_browser_watches_for_reloads_and_other_tabs(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded()
    recorded.components = SimpleNamespace(v2=recorded)  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "streamlit", recorded)
    made = runpy.run_path(str(frame.__file__))
    ((_, given, named),) = [call for call in recorded.calls if call[0] == "component"]
    assert (given, named) == (("hexcursion_visit",), {"js": made["_SCRIPT"]})
    for heard in ("beforeunload", "BroadcastChannel", '"lost"', '"before"', '"others"'):
        assert heard in made["_SCRIPT"]


def test_the_browser_is_told_what_there_is_to_lose(
    screen: Recorded, work: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[dict[str, Any]] = []
    heard = SimpleNamespace(others=None, lost=None, before=None)

    def watch(**given: Any) -> Any:
        told.append(given["data"])
        return heard

    monkeypatch.setattr(frame, "_watch", watch)
    frame._tell_browser(work)
    assert (told[0]["loaded"], told[0]["others"], told[0]["lost"]) == (True, False, False)
    assert told[0]["token"] == work.session
    assert [name for name, _, _ in screen.calls] == ["container"], "nothing new is heard"
    heard.others = True
    frame._tell_browser(work)
    assert work.other_tab is True
    heard.others, heard.lost, heard.before = None, "data", "token"
    frame._tell_browser(work)
    assert (work.lost, work.before) == (True, "token")
    assert time.monotonic() - work.lost_since < 5.0
    assert [name for name, _, _ in screen.calls].count("rerun") == 2
    frame._tell_browser(work)
    assert [name for name, _, _ in screen.calls].count("rerun") == 2, "once for a loss"


def test_steps_are_numbered_marked_and_closed_until_they_can_be_taken(
    screen: Recorded, work: Workspace
) -> None:
    frame._stepper(steps.HEXAGONS)
    assert [
        (one["label"], one["icon"].split("_", 1)[-1], one["disabled"]) for one in calls(screen, "page_link")
    ] == [
        ("1 Data", "circle:", False),
        ("**2 Hexagons**", "circle:", False),
        ("3 Privacy and utility", "button_unchecked:", False),
        ("4 Release", "button_unchecked:", True),
        ("5 Publish", "button_unchecked:", True),
    ]
    screen.calls.clear()
    work.domain = None
    frame._stepper(steps.HEXAGONS)
    assert [one["icon"] for one in calls(screen, "page_link")][:3] == [
        ":material/check_circle:",
        ":material/radio_button_checked:",
        ":material/radio_button_unchecked:",
    ]


@pytest.mark.parametrize(
    ("at", "labels", "closed"),
    [
        (steps.DATA, ["Next: Hexagons"], [False]),
        (steps.HEXAGONS, ["Back to Data", "Next: Privacy and utility"], [None, False]),
        (steps.PRIVACY, ["Back to Hexagons", "Next: Release"], [None, True]),
        (steps.PUBLISH, ["Back to Release"], [None]),
        (steps.HELP, [], []),
    ],
)
def test_ways_back_and_on(
    screen: Recorded,
    work: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    at: steps.Screen,
    labels: Iterable[str],
    closed: list[bool | None],
) -> None:
    monkeypatch.setattr(saving, "offer_choices", lambda work: None)
    monkeypatch.setattr(frame, "_tell_browser", lambda work: None)
    frame.footer(at)
    made = calls(screen, "page_link")
    assert [one["label"] for one in made] == labels
    assert [one.get("disabled") for one in made] == closed
    helps = [one["help"] for one in made if one.get("disabled") is not None]
    shut = [one for one in closed if one is not None]
    assert helps == ["First finish the step Privacy and utility." if one else None for one in shut]


def test_what_was_decided_is_listed_and_what_the_ledger_said(screen: Recorded, work: Workspace) -> None:
    work.budget_text = "ε 1 of 2 left"
    frame._decided()
    assert screen.said("header") == ["Decided so far"]
    assert screen.said("caption") == []
    assert [text.split("  \n") for text in screen.said("markdown")][:2] == [
        ["**Data**", "1,200 readings"],
        ["**Hexagons**", "3 hexagons of resolution 8"],
    ]
    assert screen.said("markdown")[2] == ":material/receipt_long: ε 1 of 2 left"
    screen.calls.clear()
    work.private = work.domain = work.budget_text = None
    frame._decided()
    assert screen.said("caption", "markdown") == [
        "Nothing yet. Open the finished example, or begin with your data."
    ]


def test_another_tab_is_told_of(screen: Recorded, work: Workspace) -> None:
    frame.say_other_tab(work)
    assert screen.calls == []
    work.other_tab = True
    frame.say_other_tab(work)
    assert "open in another tab as well" in screen.said("caption")[0]


@pytest.mark.parametrize(
    ("lost", "read", "at", "asked", "told"),
    [
        (True, False, steps.DATA, None, True),
        (False, False, steps.DATA, None, False),
        (True, True, steps.DATA, None, False),
        (True, False, steps.COMPARE, None, False),
        (True, False, steps.DATA, "abc", False),
    ],
)
def test_a_reload_is_told_of_where_it_lost_something(
    screen: Recorded, work: Workspace, lost: bool, read: bool, at: steps.Screen, asked: str | None, told: bool
) -> None:
    work.lost, work.private = lost, ROWS if read else None
    screen.query_params = {} if asked is None else {"release": asked}
    screen.fragment = lambda follow, run_every: follow  # type: ignore[assignment]
    frame.say_what_was_lost(work, at)
    assert bool(screen.said("info")) is told


def test_where_the_data_are_read_again_and_what_was_kept_is_said(screen: Recorded, work: Workspace) -> None:
    screen.fragment = lambda follow, run_every: follow  # type: ignore[assignment]
    work.lost, work.private = True, None
    frame.say_what_was_lost(work, steps.DATA)
    frame.say_what_was_lost(work, steps.HEXAGONS)
    here, elsewhere = screen.said("info")
    assert "are gone: read them again, or import" in here
    assert "are gone: read them again on the Data screen, or import" in elsewhere
    assert "Kept for data" not in here


def test_a_click_of_before_is_waited_for_ten_seconds(work: Workspace) -> None:
    work.before, work.lost_since = "token", time.monotonic() - 8.0
    assert frame._may_begin(work)
    work.lost_since = time.monotonic() - 10.5
    assert not frame._may_begin(work)
    work.before, work.lost_since = "", time.monotonic()
    assert not frame._may_begin(work)


@pytest.mark.parametrize(
    ("asked", "follows", "said"),
    [
        (None, False, []),
        (None, True, ["rerun"]),
        (SimpleNamespace(running=True), True, ["info"]),
        (SimpleNamespace(running=False, release_id=None, text="No."), True, ["rerun", "error"]),
        (SimpleNamespace(running=False, release_id=None, text="No."), False, ["error"]),
        (SimpleNamespace(running=False, release_id="abc", text=""), False, ["success", "page_link"]),
    ],
)
def test_a_release_that_was_asked_for_is_followed(
    screen: Recorded,
    work: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    asked: Any,
    follows: bool,
    said: list[str],
) -> None:
    monkeypatch.setattr(side_jobs, "release_asked", lambda before: asked)
    frame._follow(work, follows)
    assert [name for name, _, _ in screen.calls] == said
    if "page_link" in said:
        assert calls(screen, "page_link")[0]["query_params"] == {"release": "abc"}


@pytest.mark.parametrize(("curator", "titles"), [(True, 12), (False, 3)])
def test_a_reader_has_three_screens_and_the_first_answers_at_two_addresses(
    screen: Recorded, work: Workspace, monkeypatch: pytest.MonkeyPatch, curator: bool, titles: int
) -> None:
    monkeypatch.setattr(frame.access, "may_curate", lambda: curator)
    screen.navigation = lambda pages, **kind: SimpleNamespace(title="Viewer", given=pages, kind=kind)  # type: ignore[assignment]
    page, shown = frame.navigate()
    assert shown == steps.VIEWER
    made = calls(screen, "Page")
    *visible, hidden = made
    own = {one.title for one in steps.SCREENS}  # others are of installed packages
    first = steps.START if curator else steps.VIEWER
    assert sum(one["title"] in own for one in visible) == titles
    assert [one["title"] for one in visible if one["default"]] == [first.title]
    assert [one["url_path"] for one in visible].count("home") == 1
    assert (hidden["url_path"], hidden["visibility"]) == (first.address, "hidden")
    assert page.kind == ({"expanded": True} if curator else {"position": "top"})


def test_a_screen_whose_file_is_left_out_takes_no_other_with_it(
    screen: Recorded, work: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder `studies` stands beside the house, with its page."""
    gone = replace(steps.STUDIES, path="gone.py")
    monkeypatch.setitem(steps.SECTIONS, "Look and check", (steps.VIEWER, steps.COMPARE, gone))
    monkeypatch.setattr(frame.access, "may_curate", lambda: True)
    screen.navigation = lambda pages, **kind: SimpleNamespace(title="Compare")  # type: ignore[assignment]
    assert frame.navigate()[1] == steps.COMPARE
    titles = [one["title"] for one in calls(screen, "Page")]
    assert {"Viewer", "Compare", "How this works"} < set(titles)
    assert "Studies" not in titles


def test_the_title_says_what_a_release_is_and_whose_data_they_are(screen: Recorded, work: Workspace) -> None:
    frame._titled(steps.RELEASE, badge=False)
    work.release_id = "abc"
    frame._titled(steps.RELEASE, badge=False)
    frame._titled(steps.DATA, badge=False)
    assert screen.said("title") == ["Release", "Release", "Data"]
    assert screen.said("caption") == [
        "Read what will be published and at what cost, then release once.",
        "The released map, free to explore, beside the map without privacy, which only you see.",
        "Choose the private values and the public data to compare them with.",
    ]
