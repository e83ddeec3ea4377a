"""The finished example on the screens: opened by one click on its map, in nobody's account."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from hexcursion.bundle.published.bundle_store import stored_bundles
from pages.shared import maps
from pages.shared.session.saving import text_of
from pages.shared.session.workspace import KEY
from pages.shared.shipped import shelved
from pages.shared.steps import COMPARE, DATA, HEXAGONS, LEDGER, PRIVACY, PUBLISH, RELEASE, TOUR, VIEWER
from tests.pages.conftest import OpenApp, press, texts
from tests.pages.data_steps import work_of


@pytest.fixture
def opened(open_app: OpenApp) -> AppTest:
    """The app after the click."""
    return press(open_app(), "Open the finished example")


def go(app: AppTest, path: str) -> str:
    app.switch_page(path).run()
    assert not app.exception
    return texts(app)


def test_one_click_opens_release_search_and_files(opened: AppTest) -> None:
    said = texts(opened)
    assert opened.title[0].value.startswith("Where did houses in Lucas County sell for more than")
    assert "charged to no account here" in said.replace("\\", "")
    assert "The finished example" in go(opened, RELEASE.path)
    privacy = go(opened, PRIVACY.path)
    assert "Worth releasing for ε 1: of 100 records tried 84 lie on the side" in privacy.replace("\\", "")
    assert not [button for button in opened.button if button.label == "Search for the best design"]
    publish = go(opened, PUBLISH.path)
    assert "in no account of yours" in publish
    assert "There is no ledger yet" in go(opened, LEDGER.path)
    assert stored_bundles() == ()


def test_today_s_practice_stands_beside_it_for_the_curator(opened: AppTest) -> None:
    said = go(opened, COMPARE.path).replace("\\", "")
    assert "Only you see this" in said
    assert "A rule of at least 5 leaves" in said
    assert "names the right one more often than 58 % of the time" in said
    rows = opened.dataframe[0].value
    assert list(rows["published"]) == [
        "at least 5",
        "at least 5, class only",
        "smoothed, at least 10",
        "smoothed, class only",
        "this release, ε 1",
    ]
    assert rows["exact value"].iloc[[1, 3, 4]].tolist() == ["0 %"] * 3
    (made,) = work_of(opened).explored.practice.values()  # type: ignore[union-attr]
    press(opened, next(each.label for each in opened.button if each.label.endswith("at random")))
    assert work_of(opened).explored.practice[5] is made  # type: ignore[union-attr]  # not made again
    assert "The map of classes" in texts(opened)
    assert "times as wide as the whole range" in texts(opened)
    opened.segmented_control(key="practice_least").set_value(10).run()
    assert "A rule of at least 10 leaves" in texts(opened)


def test_the_map_without_privacy_shows_the_land_where_the_release_is_judged(
    opened: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the screens Compare and Release, in the release's colours; elsewhere few records or none."""
    drawn: list[tuple[Any, dict[str, Any]]] = []
    monkeypatch.setattr(maps, "show", lambda domain, panes, **named: drawn.append((panes, named)))
    explored = work_of(opened).explored
    assert explored is not None
    judged = explored.viewer.bundle.published.judged
    assert 0 < judged.sum() < judged.size
    for screen, place in ((COMPARE, -1), (RELEASE, 0)):
        drawn.clear()
        go(opened, screen.path)
        ((panes, named),) = drawn
        (free,) = (pane.painting for pane in panes if pane.painting.title == "Without privacy")
        released = panes[place].painting
        for painting in (free, released):
            empty = [entry.role for entry in painting.entries].index("empty")
            assert np.array_equal(painting.classes == empty, ~judged)
            assert [entry.role for entry in painting.entries].count("below") == 1
        count = int((explored.baseline.inside & judged).sum())
        assert count < explored.baseline.inside.sum()
        assert f"ithout privacy: {count:,} " in named["alt"]
    drawn.clear()
    opened.segmented_control(key="result_way").set_value("difference").run()
    ((panes, _),) = drawn
    roles = [panes[0].painting.entries[place].role for place in panes[0].painting.classes]
    assert [role == "empty" for role in roles] == (~judged).tolist()


def test_the_viewer_shows_it_and_says_in_words_where_how_sure_and_who_is_protected(opened: AppTest) -> None:
    said = go(opened, VIEWER.path).replace("\\", "")
    assert opened.title[0].value.replace("\\", "") == (
        "Where did houses in Lucas County sell for more than $80,000 in 1998?"
    )
    assert "House sales of Lucas County, Ohio: an example" in said
    assert "Price of houses in Lucas County in dollars, 1998; from 4,206 sales." in said
    assert "The largest regions lie around Ottawa Hills" in said
    assert "Orange is right about 94 times in 100" in said
    assert "A 50:50 guess about one sale becomes at most 56:44" in said
    assert "Not a map of single sales" in said


def test_its_address_opens_it_after_a_reload(open_app: OpenApp) -> None:
    app = open_app()
    app.query_params["release"] = shelved().name
    assert "This is the finished example as it ships" in go(app, RELEASE.path)
    assert "House sales of Lucas County, Ohio: an example" in go(app, VIEWER.path)


def test_an_empty_viewer_offers_it(open_app: OpenApp) -> None:
    app = open_app(VIEWER.path)
    assert "Open a bundle file: whoever published" in texts(app)
    app.query_params["release"] = shelved().name
    app.run()
    assert "Not a map of single sales" in texts(app)


def test_its_sales_lead_to_the_search_and_are_lost_by_nobody(open_app: OpenApp) -> None:
    app = press(open_app(DATA.path), "Use the sales of Lucas County")
    work = app.session_state[KEY]
    assert (work.kind, work.generated, work.at_risk, text_of(work)) == ("example", False, False, "")
    assert "4,378 sales" in go(app, HEXAGONS.path)
    assert work.domain.size == 888
    assert "region of the example" not in str(app.radio[0].options).lower()
    go(app, PRIVACY.path)
    assert [button.label for button in app.button] == ["Search for the best design"]


def test_one_click_shows_what_today_s_rule_would_have_shown_about_one_house(opened: AppTest) -> None:
    [fold] = [
        one for one in opened.expander if one.label == "What today's rule would have shown about one house"
    ]
    assert "89 of 100 sales" in fold.markdown[0].value
    press(opened, "See both maps")
    assert opened.title[0].value == TOUR.title
    assert "12 Maple Court" in texts(opened)


def test_every_screen_says_the_same_of_a_guess_about_one_record(opened: AppTest) -> None:
    """The design that was found, the reader's page and the tour: one number."""
    for path in (PRIVACY.path, VIEWER.path):
        said = go(opened, path).replace("\\", "")
        assert re.findall(r"A 50:50 guess about one \w+ becomes at most (\d+:\d+)", said)[:1] == ["56:44"]
