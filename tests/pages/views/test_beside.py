"""Releases side by side, in time order, each at the same threshold; and periods that are read together."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import replace

import pytest

from hexcursion.bundle import BundleError
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.write import bundle_contents
from pages.shared.server.middleware import security_policy
from pages.viewer import others
from pages.viewer.others import series_of
from tests.hexcursion.bundle.bundle_samples import make_release, small_domain
from tests.hexcursion.bundle.exports.test_series import made


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


def test_one_that_cannot_be_read_at_the_threshold_says_at_which_it_stands(
    released: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.shared.maps.theme", lambda: "light")
    beyond = released.thresholds[1] + 1.0
    panes, _ = others.in_time_order([released], "vote-set", beyond, 1)
    assert ", at " in panes[0].title
    panes, _ = others.in_time_order([released], "vote-set", released.thresholds[1], 1)
    assert ", at " not in panes[0].title


def test_two_periods_make_one_page_and_one_zip() -> None:
    domain = small_domain()
    bundles = [made(domain, "2017", 1), made(domain, "2018", 2)]
    page, packed = series_of([*bundles, bundles[0]])
    assert b"2017" in page
    assert b"2018" in page
    (own,) = re.findall(r"script-src '(sha256-[^']+)'", page.decode())
    assert f"'{own}'" in security_policy(b"")  # the frame of a page inherits the app's policy
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert archive.read("series/series.html") == page
        assert "series/SHA256SUMS" in archive.namelist()
    with pytest.raises(BundleError, match="at least two bundles"):
        series_of([bundles[0], bundles[0]])
