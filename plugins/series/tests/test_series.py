"""Bundles of several periods: what fits together, what is said of change and promise, and the files."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import hexcursion
from dpgp_core.accounting.composition import Cost
from dpgp_core.numbers import upper
from geo import Domain
from hexcursion.bundle import BundleError
from hexcursion.bundle.layout import zip_bytes_to
from hexcursion.bundle.published.site import write_site
from hexcursion.bundle.write import bundle_contents
from hexcursion.cli.main import main
from hexcursion.errors import WorkflowError
from hexcursion.ledger.overlap import PeriodsShared
from hexcursion.project.response import ResponseScale
from hexcursion.settings.privacy_settings import Scope
from hexcursion_series.files import series_files, write_series
from hexcursion_series.report import (
    EXPLAINED,
    SHARED,
    _one_record,
    notes_of,
    promise_of,
    steps_of,
)
from hexcursion_series.series_page import _end, _lead
from hexcursion_series.together import Series, classes_of, read_together, time_of
from tests.hexcursion.bundle.bundle_samples import make_release, small_domain
from tests.hexcursion.bundle.spectral_samples import spectral_release

PLAIN = ResponseScale("identity", 400_000.0, 200_000.0, "given by the curator as public")


def packed(contents: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    zip_bytes_to(stream, "bundle", contents)
    return stream.getvalue()


def made(domain: Domain, year: str, seed: int, **changes: Any) -> bytes:
    changes = {"scope": Scope(period=year), "release_id": f"hx-{year}-{seed}", **changes}
    return packed(bundle_contents(spectral_release(domain, seed, ranged=True, **changes)))


@pytest.fixture(scope="module")
def bundles() -> list[bytes]:
    """2017, 2018 and 2019; what lies in the west rises by .5 response units (82 %) in 2019."""
    domain = small_domain()
    return [made(domain, "2017", 1), made(domain, "2018", 2), made(domain, "2019", 3, rise=0.5)]


@pytest.fixture(scope="module")
def series(bundles: list[bytes]) -> Series:
    return read_together([bundles[2], bundles[0], bundles[1]], by=0.2)


def test_periods_come_in_order_of_time_and_the_newest_leads(series: Series) -> None:
    assert series.labels == ("2017", "2018", "2019")
    assert series.times.tolist() == [2017.0, 2018.0, 2019.0]
    assert (series.dated, series.threshold, series.direction) == (True, 442_413.0, "above")
    assert series.last.statement["release"]["id"] == "hx-2019-3"
    east = series.domain.centres[:, 0] > 0
    assert series.chance[0, east].mean() > 0.7
    assert series.chance[0, ~east].mean() < 0.6


def test_the_west_rose_in_the_last_year_and_nothing_in_the_one_before(series: Series) -> None:
    west = series.domain.centres[:, 0] < 0
    over_all, first, last = steps_of(series)
    assert (over_all.before, over_all.after, over_all.explained) == ("2017", "2019", None)
    assert over_all.risen > 20
    assert (first.before, first.after, last.before, last.after) == ("2017", "2018", "2018", "2019")
    assert first.explained
    assert first.sentence.endswith(f"{EXPLAINED}.")
    any_change = steps_of(replace(series, by=0.0))[1]
    assert any_change.risen + any_change.fallen > 0
    assert any_change.sentence.endswith(f"{EXPLAINED}: these changes may be noise alone.")
    assert not last.explained
    assert EXPLAINED not in last.sentence
    assert "likely rose by more than 20 % in" in last.sentence
    assert first.risen <= 3
    assert series.risen[2, west].mean() > series.risen[2, ~west].mean() + 0.3
    assert last.risen > 20
    assert last.fallen == 0
    np.testing.assert_allclose(replace(series, by=0.0).fallen, 1.0 - replace(series, by=0.0).risen)


def test_months_may_change_as_much_as_years(bundles: list[bytes], series: Series) -> None:
    """Memories of years would let next to nothing change in a month, and be sure of it."""
    months = read_together(bundles, times=[2018.0, 2018.0 + 1 / 12, 2018.0 + 2 / 12], checked=False)
    np.testing.assert_allclose(months.reading.change, series.reading.change, atol=1e-6)
    assert months.times[1] == pytest.approx(2018.0833, abs=1e-4)


def test_classes_are_those_of_single_maps() -> None:
    chance = np.array([0.8, 0.79, 0.21, 0.2, 0.9])
    empty = np.array([False, False, False, False, True])
    assert classes_of(chance, empty).tolist() == [0, 1, 1, 2, 3]


@pytest.mark.parametrize(
    ("label", "time"),
    [("2018", 2018.0), ("2018 Q3", 2018.5), ("Q1 2019", 2019.0), ("2018-04", 2018.25), ("year 1999", 1999.0),
     ("2026-11-21", 2026.0 + 10 / 12), ("winter", None), ("April 2018", 2018.25),
     ("dec. 2018", 2018 + 11 / 12), ("spring 2018", None), ("first half of 2019", None),
     ("2017 to 2018", None), ("12018", None)],
)  # fmt: skip
def test_a_period_tells_its_time(label: str, time: float | None) -> None:
    assert time_of(label) == (None if time is None else pytest.approx(time))


def test_without_a_ledger_both_cases_are_stated(series: Series) -> None:
    """Each costs mu 2; all three sqrt(3) as much: epsilon 20.13 at 1e-5, where one has 10.00."""
    promise = promise_of(series)
    assert promise.one_record is None
    assert promise.every_period == pytest.approx(20.1250, abs=1e-3)
    said = " ".join(promise.sentences)
    assert "no ledger was asked, so it is not known whether one is in several" in said
    assert "Somebody with one sale in each of the 3 periods: epsilon 20.13 at" in said
    assert "all releases together, and a 50:50 guess becomes at most 96:4." in said


def test_of_owners_the_owner_is_spoken_of(series: Series) -> None:
    """One reading of a sensor in every period was promised what is proved of the whole sensor alone."""
    owned = deepcopy([dict(bundle.statement) for bundle in series.bundles])
    for statement in owned:
        statement["guarantee"]["owner"] = {"word": "sensor", "records": 2, "apart": False}
    bundles = [replace(bundle, statement=each) for bundle, each in zip(series.bundles, owned, strict=True)]
    said = " ".join(promise_of(replace(series, bundles=tuple(bundles))).sentences)
    assert "Somebody with one sensor in each of the 3 periods" in said
    assert "sale" not in said


@pytest.mark.parametrize(
    ("pairs", "known", "one", "said"),
    [
        (("none", "none", "none"), True, 1, "recognises none in two of these releases (by the hashes of all"),
        (
            ("none", "none in a sample", "none"),
            True,
            1,
            "a few may be missed, and one that is in all costs 20.13",
        ),
        (("kept apart", "none", "none"), True, 1, "is, for some of them, the word of a person alone"),
        (("shared", "none", "none"), True, 2, "hold, or may hold, the same records"),
        (("same", "shared", "none"), True, 3, "their costs are added"),
        (("unknown", "unknown", "unknown"), False, None, "does not know the records of 2017, 2018, 2019"),
    ],
)
def test_costs_add_where_records_may_be_shared(
    series: Series, pairs: tuple[Any, ...], known: bool, one: int | None, said: str
) -> None:
    """A record that k releases may hold costs sqrt(k) times mu 2."""
    shared = PeriodsShared((known,) * 3, dict(zip(((0, 1), (0, 2), (1, 2)), pairs, strict=True)))
    promise = promise_of(series, shared)
    expected = {1: 9.9973, 2: 15.4562, 3: 20.1250}
    assert promise.one_record == (None if one is None else pytest.approx(expected[one], abs=1e-3))
    assert said in " ".join(promise.sentences)
    assert (SHARED in promise.sentences) == bool({"same", "shared"} & set(pairs))
    lead = f"for one record, {upper(promise.every_period)} for one in every period"
    assert (lead in _lead(promise)) == (one is not None)


def test_one_record_is_priced_for_what_all_releases_hide() -> None:
    """An exchange in the second, which is priced for one record more or less, costs mu 3.5: epsilon 20.40."""
    costs = [Cost.gaussian(2.0), Cost.gaussian(2.0).among("add-or-remove", 3.5)]
    apart = PeriodsShared((True, True), {(0, 1): "none"})
    assert _one_record(costs, apart, 1e-5) == pytest.approx(20.4010, abs=1e-3)


def test_of_hexagons_and_of_simulations_no_parallel_promise_is_made(series: Series) -> None:
    """A hexagon is there in every period, whatever the ledger says of records."""
    apart = PeriodsShared((True,) * 3, dict.fromkeys(((0, 1), (0, 2), (1, 2)), "none"))
    assert "simulation" not in " ".join(promise_of(series, apart).sentences)
    changed = deepcopy(series.last.statement)
    changed["guarantee"]["unit"], changed["release"]["simulation"] = "cell", True
    promise = promise_of(
        replace(series, bundles=(*series.bundles[:2], replace(series.last, statement=changed))), apart
    )
    assert (promise.one_record, promise.every_period) == (None, pytest.approx(20.1250, abs=1e-3))
    assert promise.sentences[0].startswith("At least one release is a simulation, which protects nobody")
    assert promise.sentences[2].startswith("A hexagon may have a record in every period")


def test_files_say_what_the_series_says(series: Series, tmp_path: Path) -> None:
    files = series_files(series, promise_of(series))
    statement = json.loads(files["series.json"])
    assert [each["label"] for each in statement["periods"]] == ["2017", "2018", "2019"]
    assert [each["explained_by_noise"] for each in statement["changes"]] == [None, True, False]
    assert statement["promise"]["epsilon_of_one_record"] is None
    cells = json.loads(files["cells.geojson"])["features"]
    assert len(cells) == series.domain.size
    assert {"class 2018", "probability 2019", "change 2018 to 2019"} <= set(cells[0]["properties"])
    table = pq.read_table(io.BytesIO(files["cells.parquet"])).to_pydict()
    assert len(table["h3"]) == 3 * series.domain.size
    assert table["probability_of_rise"][0] is None
    assert table["probability_of_rise"][-1] == pytest.approx(series.risen[2, -1], abs=1e-4)
    rows = list(csv.reader(io.StringIO(files["areas.csv"].decode())))
    assert rows[0] == ["area", "period", "value", "low", "high"]
    assert [row[:2] for row in rows[1:]] == [["all hexagons", year] for year in ("2017", "2018", "2019")]
    assert all(float(row[3]) < float(row[2]) < float(row[4]) for row in rows[1:])
    folder = write_series(series, promise_of(series), tmp_path / "series")
    assert sorted(each.name for each in folder.iterdir()) == sorted(files)
    with pytest.raises(WorkflowError, match="exists already"):
        write_series(series, promise_of(series), folder)


def test_an_epsilon_without_a_bound_is_nothing_in_json_and_said_in_words(series: Series) -> None:
    promise = replace(promise_of(series), one_record=math.inf, every_period=math.inf)
    files = series_files(series, promise)
    told = json.loads(files["series.json"])["promise"]
    assert (told["epsilon_of_one_record"], told["epsilon_in_every_period"]) == (None, None)
    assert b"Infinity" not in files["cells.geojson"]
    assert "inf" in _lead(promise)


def test_the_page_holds_every_period_and_change_and_loads_nothing(series: Series) -> None:
    page = series_files(series, promise_of(series))["series.html"].decode()
    data = json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])
    assert data["stops"] == [
        "above £442,413 in 2017",
        "above £442,413 in 2018",
        "above £442,413 in 2019",
        "risen by more than 20 % from 2017 to 2019",
        "risen by more than 20 % from 2017 to 2018",
        "risen by more than 20 % from 2018 to 2019",
    ]
    assert (data["start"], data["periods"]) == (2, 3)
    assert page.count('<canvas width="240"') == 3
    assert "default-src 'none'" in page
    assert not re.search(r"(?:src|href)=\"?http", page)


def test_texts_of_a_bundle_are_escaped_on_the_page(bundles: list[bytes]) -> None:
    hostile = made(small_domain(), "2020", 4, title="<script>alert(1)</script>")
    found = read_together([bundles[0], hostile], checked=False)
    page = series_files(found, promise_of(found))["series.html"].decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (make_release, "its mechanism, posterior-sampling, releases none"),
        (lambda domain: replace(spectral_release(domain, 5), sums=None), "earlier version"),
        (lambda domain: spectral_release(domain, 5, response=PLAIN), "values plainly or as logarithms"),
        (lambda domain: spectral_release(domain, 5, value_unit="euros"), "a series has one unit"),
        (lambda domain: spectral_release(domain, 5, scope=Scope(period="2017")), "Two bundles are of '2017'"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(
    bundles: list[bytes], make: Callable[[Domain], Any], said: str
) -> None:
    other = packed(bundle_contents(replace(make(small_domain()), release_id="hx-other")))
    with pytest.raises(BundleError, match=re.escape(said)):
        read_together([other, bundles[0]], checked=False)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"by": -0.1}, "A rise must be at least 0, and below 1"),
        ({"by": 1.0}, "A rise must be at least 0, and below 1"),
        ({"threshold": 0.0}, "finite number above 0"),
        ({"times": [1.0]}, "one finite time for each of the 2 bundles"),
        ({"times": [1.0, 1.0]}, "the same time"),
    ],
)
def test_impossible_questions_are_refused(bundles: list[bytes], given: dict[str, Any], said: str) -> None:
    with pytest.raises(BundleError, match=said):
        read_together(bundles[:2], checked=False, **given)


def test_one_bundle_or_one_twice_is_no_series(bundles: list[bytes], tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="at least two bundles"):
        read_together(bundles[:1])
    path = tmp_path / "cut.zip"
    path.write_bytes(bundles[0][:99])
    with pytest.raises(BundleError, match=r"^cut\.zip: This file is no zip of a bundle"):
        read_together([path, bundles[0]], checked=False)
    with pytest.raises(BundleError, match="named twice"):
        read_together([bundles[0], bundles[0]])


def test_periods_that_tell_no_dates_keep_their_order(bundles: list[bytes]) -> None:
    winter = made(small_domain(), "winter", 6)
    found = read_together([winter, bundles[0]], checked=False)
    assert (found.labels, found.times.tolist(), found.dated) == (("winter", "2017"), [0.0, 1.0], False)
    given = read_together([winter, bundles[0]], times=[2018.5, 2017.0], checked=False)
    assert (given.labels, given.times.tolist(), given.dated) == (("2017", "winter"), [2017.0, 2018.5], True)


def test_releases_that_state_no_period_are_told_apart_and_their_days_are_no_times() -> None:
    domain = small_domain()
    first, second = (
        packed(
            bundle_contents(
                spectral_release(domain, seed, ranged=True, release_id=f"hx-{seed}", created=made_at)
            )
        )
        for seed, made_at in ((1, "2026-10-31T09:30:00Z"), (2, "2026-11-01T09:30:00Z"))
    )
    found = read_together([second, first], checked=False)
    assert (found.labels, found.dated) == (("2026-11-01", "2026-10-31"), False)
    assert found.times.tolist() == [0.0, 1.0]


def test_equal_labels_bear_their_releases_ids(bundles: list[bytes]) -> None:
    """Without, one period's columns would be lost."""
    again = made(small_domain(), "2018", 8)
    found = read_together([bundles[1], again], times=[0.0, 1.0], checked=False)
    assert found.labels == ("2018 (hx-2018-2)", "2018 (hx-2018-8)")
    page = series_files(found, promise_of(found))["series.html"].decode()
    assert re.findall(r"<text[^>]*>(2018[^<]*)<", page)[:2] == ["2018 (hx-2018-2)", "2018 (hx-2018-8)"]
    assert _end("2018 (hx-2018-12)") == "2018 (hx-2018-1…"
    assert "tbody th { overflow-wrap: anywhere; }" in page, (
        "a row of two long labels is wider than a telephone"
    )


def test_other_populations_are_refused_and_other_rows_are_told() -> None:
    domain = small_domain()
    flats, houses, some = (
        made(domain, year, 1, scope=Scope(period=year, population=population, filters=filters))
        for year, population, filters in (
            ("2017", "flats", ()),
            ("2018", "houses", ()),
            ("2018", "", ("county = LANARK",)),
        )
    )
    with pytest.raises(BundleError, match="a series has one population"):
        read_together([flats, houses], checked=False)
    told = notes_of(read_together([flats, some], checked=False))
    assert "The releases name other populations or filters: a change may be one of who is in them." in told
    rest = {"17": ("county = LANARK", "year = 2017"), "18": ("county = LANARK", "year = 2018")}
    years = [
        made(domain, f"20{year}", 1, scope=Scope(period=f"20{year}", filters=kept))
        for year, kept in rest.items()
    ]
    by_year = read_together(years, checked=False)
    assert not [note for note in notes_of(by_year) if "populations or filters" in note]


def test_the_memory_of_unequal_periods_is_told_over_their_usual_distance(series: Series) -> None:
    told = "% of its pattern from one period to the next, and values"
    assert told in notes_of(series)[1]
    months = replace(series, times=2018.0 + np.arange(3) / 12)
    assert told in notes_of(months)[1]
    uneven = replace(series, times=np.array([2010.0, 2011.0, 2019.0]))
    assert "% of its pattern over the usual distance between two periods, and values" in notes_of(uneven)[1]


def test_a_simulation_is_flagged_at_the_top_of_the_page(series: Series) -> None:
    changed = deepcopy(series.last.statement)
    changed["release"]["simulation"] = True
    found = replace(series, bundles=(*series.bundles[:2], replace(series.last, statement=changed)))
    flag = b'<p class="flag">Simulation: not a private release</p>\n</header>'
    assert flag in series_files(found, promise_of(found))["series.html"]
    assert b'class="flag"' not in series_files(series, promise_of(series))["series.html"]


def test_the_command_and_the_door_say_the_same(
    bundles: list[bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = [tmp_path / f"{number}.zip" for number in range(2)]
    for place, content in zip(places, bundles[1:], strict=True):
        place.write_bytes(content)
    out = tmp_path / "series"
    assert main(["series", *map(str, places), "--out", str(out), "--by", "0.2"]) == 0
    told = capsys.readouterr().out
    assert "From 2018 to 2019 the value likely rose by more than 20 % in" in told
    assert "no ledger was asked" in told
    assert (out / "series.html").exists()
    read = hexcursion.series(places, by=0.2)
    assert repr(read) == "<ReadSeries of 2 periods, 2018 to 2019>"
    assert read.changes[0] in told
    assert dict(read.statement) == json.loads((out / "series.json").read_text())
    assert len(read.table) == 2 * read.read.domain.size
    assert (read.save(tmp_path / "saved") / "areas.csv").exists()
    with pytest.raises(BundleError, match="in a list"):
        hexcursion.series(places[0])
    assert main(["series", *map(str, places), "--out", str(tmp_path / "x"), "--ledger", "none.sqlite"]) == 2
    assert "There is no ledger" in capsys.readouterr().err


@pytest.mark.slow
def test_a_site_lists_a_series_of_what_fits_together(bundles: list[bytes], tmp_path: Path) -> None:
    """Two years of one area, and with only one of them no series."""
    sources = [tmp_path / "a.zip", tmp_path / "b.zip"]
    for path, bundle in zip(sources, bundles, strict=False):
        path.write_bytes(bundle)
    assert len(write_site(sources, tmp_path / "site", readings=["series"])) == 2
    index = (tmp_path / "site" / "index.html").read_text()
    (folder,) = re.findall(r'href="(series-[^"/]+)/series.html"', index)
    assert "from 2017 to 2018?" in index
    assert b"2017" in (tmp_path / "site" / folder / "series.html").read_bytes()
    told: list[str] = []
    assert len(write_site(sources[:1], tmp_path / "one", "", left_out=told.append, readings=["series"])) == 1
    assert told == [
        "No two releases of one area and value hold their sums, so none are read together: name bundles of "
        "several periods, or leave out the series."
    ]
    with pytest.raises(BundleError, match="none are read together"):
        write_site(sources[:1], tmp_path / "none", readings=["series"])
    assert not (tmp_path / "none").exists()
    told.clear()
    write_site([*sources, sources[0]], tmp_path / "twice", "", left_out=told.append, readings=["series"])
    assert len(told) == 1
    assert "are not read together. " in told[0]
    assert "series.html" not in (tmp_path / "one" / "index.html").read_text()
    write_site(sources, tmp_path / "plain")
    assert "series.html" not in (tmp_path / "plain" / "index.html").read_text()
