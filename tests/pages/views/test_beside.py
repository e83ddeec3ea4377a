"""Releases side by side, in time order, each at the same threshold."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hexcursion.bundle.layout import STATEMENT, zip_bytes_to
from hexcursion.bundle.published.bundle_store import StoredBundle
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.write import bundle_contents
from pages.viewer import others
from tests.hexcursion.bundle.bundle_samples import make_release, small_domain


@pytest.fixture(scope="module")
def released() -> Viewer:
    return Viewer(bundle_from_contents(bundle_contents(make_release(small_domain()))))


def of_another_day(viewer: Viewer, created: str) -> Viewer:
    statement = dict(viewer.bundle.statement)
    statement["release"] = {**statement["release"], "created": created}
    return Viewer(replace(viewer.bundle, statement=statement))


def test_the_earliest_stands_first_and_all_share_one_legend(
    released: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.shared.maps.theme", lambda: "light")
    later, earlier = (of_another_day(released, f"{year}-05-01T10:00:00Z") for year in (2031, 2019))
    at = released.bundle.threshold
    panes, entries = others.in_time_order([released, later, earlier], "vote-set", at, 1)
    assert panes[0].title == "2019-05-01"
    assert panes[2].title == "2031-05-01"
    assert [pane.private for pane in panes] == [False, False, False]
    assert len(entries) == 2


def test_what_several_releases_promise_together_is_said(
    released: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each promises epsilon 2.398: whoever is in both has more, whichever id the other states."""
    said: list[str] = []
    shelf = [StoredBundle("other", "Other", Path("other.zip"))]
    monkeypatch.setattr(others, "stored_bundles", lambda: shelf)
    statement = dict(released.bundle.statement)
    statement["release"] = {**statement["release"], "id": "told anew"}
    again = Viewer(replace(released.bundle, statement=statement))
    reversed_paths = replace(released.bundle.values, paths=released.bundle.paths[::-1])
    second = Viewer(replace(released.bundle, values=reversed_paths))
    monkeypatch.setattr(others.maps, "show", lambda *given, **named: None)
    monkeypatch.setattr(others.maps, "theme", lambda: "light")
    monkeypatch.setattr(others.st, "caption", said.append)
    for chosen, other in ((shelf, second), (shelf, again), ([], second)):
        monkeypatch.setattr(others, "_opened", lambda bundle, other=other: other)
        monkeypatch.setattr(others.st, "multiselect", lambda *given, chosen=chosen, **named: chosen)
        others.others_beside(released, "vote-set", released.bundle.threshold, 1)
    (text,) = said
    assert text.startswith("Releases of the same records promise less together: one sale that is in all 2 is")
    assert "is protected at epsilon 3.535 at delta 1e-5" in text


def test_another_release_of_the_same_stated_id_is_in_the_list(
    released: Viewer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file bears that id too. The opened release is none beside itself, whatever its file is called."""
    own = str(released.bundle.statement["release"]["id"])
    contents = bundle_contents(make_release(small_domain()))
    statement = json.loads(contents[STATEMENT])
    statement["release"]["created"] = "2031-05-01T10:00:00Z"
    other = {**contents, STATEMENT: json.dumps(statement).encode()}
    shelf = []
    for name, files in (("copy", contents), (own, other)):
        path = tmp_path / f"{name}.zip"
        with path.open("wb") as stream:
            zip_bytes_to(stream, name, files)
        shelf.append(StoredBundle(name, name.title(), path))
    listed: list[StoredBundle] = []
    monkeypatch.setattr(others, "stored_bundles", lambda: shelf)
    monkeypatch.setattr(others.st, "multiselect", lambda _, known, **named: listed.extend(known) or [])
    others.others_beside(released, "vote-set", released.bundle.threshold, 1)
    assert listed == shelf[1:]


def test_releases_of_one_day_are_told_apart_by_the_time(
    released: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.shared.maps.theme", lambda: "light")
    times = ("2031-05-01T10:00:09Z", "2031-05-01T09:59:00Z", "2031-05-02T08:00:00Z")
    same_day = [of_another_day(released, time) for time in times]
    panes, _ = others.in_time_order(same_day, "vote-set", released.bundle.threshold, 1)
    earlier, later, other_day = (pane.title for pane in panes)
    assert (earlier, later) == ("2031-05-01 09:59:00 UTC", "2031-05-01 10:00:09 UTC")
    assert other_day == "2031-05-02"


def test_one_that_cannot_be_read_at_the_threshold_says_at_which_it_stands(
    released: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.shared.maps.theme", lambda: "light")
    beyond = released.thresholds[1] + 1.0
    panes, _ = others.in_time_order([released], "vote-set", beyond, 1)
    assert ", at " in panes[0].title
    panes, _ = others.in_time_order([released], "vote-set", released.thresholds[1], 1)
    assert ", at " not in panes[0].title
