"""Three maps of the same records: whatever shows several of them says what all three promise together."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas
import pytest
from streamlit.testing.v1 import AppTest

import hexcursion
from hexcursion.bundle import layout
from hexcursion.bundle.published.bundle_store import stored_bundles
from hexcursion.bundle.published.site import write_site
from hexcursion_series.page.panel import series_of
from hexcursion_series.read import read_series_of
from pages.shared.steps import VIEWER
from tests.pages.conftest import ROOT, texts
from tests.patience import HANG
from tests.town import BOX, write_town

# By bisection in 30 digits with mpmath: epsilon .5 at delta 1e-5 is mu .142210558669. Three such
# releases have mu .246315912988: epsilon .911381 at that delta, and the best guess is right with
# chance Phi(mu/2) = .549009. Two have mu .201116100783: epsilon .729950, and .540049.
SINGLE, PAIR, ALL_THREE = "0.5", "0.73", "0.9114"


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[hexcursion.Released]]:
    """Three thresholds of one column, one after the other, each at epsilon .5, on one ledger."""
    folder = tmp_path_factory.mktemp("same")
    with pytest.MonkeyPatch.context() as changes:
        changes.setenv("HEXCURSION_BUNDLES", str(folder / "maps"))
        table = pandas.read_csv(write_town(folder, n=1500).private)
        yield [
            hexcursion.release(
                table, value="no2", lon="lon", lat="lat", area=BOX, resolution=7, threshold=threshold,
                epsilon=0.5, delta=1e-5, centre=28.0, clip=15.0, value_unit="ug/m3", quick=True,
                mechanisms=("spectral-statistics",), accept_low_agreement=True,
                budget=3.0, ledger=str(folder / "ledger.db"), out=folder / "maps" / f"{threshold:g}",
            )
            for threshold in (25.0, 30.0, 35.0)
        ]  # fmt: skip


def promised(text: str) -> str:
    """The text in one line, of which no figure is the sum 1.5 of the three or the sum 1 of two."""
    line = " ".join(text.split())
    assert not re.search(r"epsilon (1|1\.0|1\.5)(?![.\d])", line)
    return line


@pytest.mark.parametrize("name", [layout.README, layout.STATEMENT, layout.LABEL])
def test_receipts_of_later_releases_add_the_earlier_ones(
    releases: list[hexcursion.Released], name: str
) -> None:
    first, second, third = (promised((release.place / name).read_text("utf-8")) for release in releases)
    assert "were part of releases" not in first
    assert f"part of releases that cost epsilon {SINGLE} before; together {PAIR}." in second
    assert f"part of releases that cost epsilon {PAIR} before; together {ALL_THREE}." in third


def test_the_site_says_it_in_its_list_and_on_the_page_of_the_series(
    releases: list[hexcursion.Released], tmp_path: Path
) -> None:
    folder = releases[0].place.parent
    again = shutil.copytree(folder / "25", tmp_path / "again")  # one release in two files is one release
    write_site([folder, again], tmp_path / "site")
    write_site([folder], tmp_path / "read", readings=("series",))
    index = promised((tmp_path / "site" / "index.html").read_text("utf-8"))
    assert (
        f"one reading that is in all 3 is protected at epsilon {ALL_THREE} at delta 1e-5, and a 50:50 guess "
        "becomes at most 55:45." in index
    )
    (page,) = (tmp_path / "read").rglob("series.html")
    assert ALL_THREE in promised(page.read_text("utf-8"))


def test_the_viewers_list_says_it_of_the_maps_side_by_side(
    releases: list[hexcursion.Released], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["app.py"])
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=HANG)
    app.run()
    app.switch_page(VIEWER.path).run()
    assert "Releases of the same records" not in texts(app)
    newest, *earlier = stored_bundles()
    listed = app.multiselect(key="viewer_beside").options
    assert len(listed) == 2, "the newest is the opened one"
    assert not any(f"above {newest.name} " in title for title in listed)
    chosen = {PAIR: earlier[:1], ALL_THREE: earlier}
    for number, (epsilon, others) in enumerate(chosen.items(), start=2):
        app.multiselect(key="viewer_beside").set_value(others).run()
        assert not app.exception
        said = promised(texts(app).replace("\\", ""))
        assert f"that is in all {number} is protected at epsilon {epsilon} at delta 1e-5, and" in said
    assert "guess becomes at most 55:45" in said


@pytest.mark.parametrize("known", [False, True], ids=["without-ledger", "with-ledger"])
def test_the_series_says_it_with_and_without_a_ledger(
    releases: list[hexcursion.Released], known: bool
) -> None:
    places = [release.place for release in releases]
    ledger = str(places[0].parent.parent / "ledger.db") if known else None
    _, promise = read_series_of(places, threshold=None, by=0.0, times=None, ledger=ledger)
    assert promise.every_period == pytest.approx(0.911381312329, abs=1e-6)
    assert promise.one_record == (pytest.approx(0.911381312329, abs=1e-6) if known else None)
    said = promised(" ".join(promise.sentences))
    assert f"Somebody with one reading in each of the 3 periods: epsilon {ALL_THREE} at delta 1e-5" in said
    assert "guess becomes at most 55:45" in said
    page, _ = series_of([place.with_suffix(".zip").read_bytes() for place in places])
    assert f"epsilon {ALL_THREE} at delta 1e-5" in promised(page.decode("utf-8"))
