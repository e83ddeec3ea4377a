"""The door: what a program gets from `import hexcursion`, and that it charges once or refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_type_hints

import geopandas
import numpy as np
import pandas
import pytest
from shapely.geometry import Polygon, box
from threadpoolctl import threadpool_info, threadpool_limits

import hexcursion
from data_loaders import DataError
from dpgp_core.errors import InvalidValue
from hexcursion.bundle import read_bundle
from hexcursion.bundle.published.site import write_site
from hexcursion.bundle.statement.guarantee import together_text
from hexcursion.cli.main import build_parser
from hexcursion.cli.options import settings_from_options
from hexcursion.door import library, pipeline
from hexcursion.door.frames import POINT_X, as_source
from hexcursion.door.library import _settings
from hexcursion.errors import WorkflowError
from hexcursion.ledger import Ledger, open_ledger
from hexcursion.ledger.places import home
from hexcursion.settings import ReleaseSettings, settings_to_toml
from hexcursion.settings.atlas import AtlasSettings
from hexcursion.settings.catalogue import catalogue, flags_of
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import fields_of, settings_from_mapping, settings_from_toml
from tests.hexcursion.atlas.village import PLAN, village
from tests.town import BOX, THRESHOLD, Town

BY_HAND: dict[str, Any] = {
    "value": "no2", "lon": "lon", "lat": "lat", "area": BOX, "resolution": 7, "threshold": THRESHOLD,
    "epsilon": 2.0, "centre": 28.0, "clip": 15.0, "mechanisms": ("posterior-sampling",), "priors": ("car",),
    "lengthscale": 3000.0, "ridge": 20.0, "value_unit": "ug/m3",
}  # fmt: skip
"""A design given by hand on 16 hexagons: nothing is searched."""


@pytest.fixture(scope="module")
def rows(town: Town) -> pandas.DataFrame:
    return pandas.read_csv(town.private)


def charges(ledger: Ledger) -> list[str]:
    return [entry.kind for entry in ledger.entries()]


def test_rows_that_cannot_be_read_are_told_to_the_curator(rows: pandas.DataFrame) -> None:
    holed = rows.assign(no2=rows["no2"].where(np.arange(len(rows)) % 10 > 0))
    with pytest.warns(hexcursion.CuratorWarning, match=r"300 .*dropped: .*value"):
        hexcursion.plan(holed, **BY_HAND)


def test_linear_algebra_has_one_thread_inside_and_gets_its_own_back() -> None:
    def threads() -> set[int]:
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()
        with library._inside():
            assert threads() == {1}
        assert threads() == before
    for error in (DataError("No column named pb."), InvalidValue("No column named pb.")):
        with pytest.raises(WorkflowError, match="No column named pb"), library._inside():
            raise error


def test_what_the_documents_say_to_catch_and_hold_has_a_name_at_the_door(rows: pandas.DataFrame) -> None:
    with pytest.raises(hexcursion.WorkflowError, match="values below 0 have no logarithm"):
        hexcursion.plan(
            rows.assign(no2=-rows["no2"]), **{**BY_HAND, "transform": "log", "centre": 3.4, "clip": 1.0}
        )
    assert issubclass(hexcursion.Unreleased, hexcursion.WorkflowError)
    assert issubclass(hexcursion.BundleError, hexcursion.WorkflowError)
    assert isinstance(hexcursion.plan(rows, **BY_HAND), hexcursion.Planned)
    assert get_type_hints(hexcursion.compare)["return"] is hexcursion.Comparison


def test_importing_the_package_imports_no_library() -> None:
    script = (
        "import sys, hexcursion; assert not {'numpy', 'pandas', 'geopandas'} & set(sys.modules); "
        "assert 'release' in dir(hexcursion); print(hexcursion.__version__)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (run.stdout.strip(), run.stderr) == ("1.0.0", "")
    for name in hexcursion.__all__:
        assert getattr(hexcursion, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'releases'"):
        _ = hexcursion.releases  # type: ignore[attr-defined]


def test_who_stops_while_a_release_is_read_is_told_that_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(folder: Path) -> None:
        raise KeyboardInterrupt

    made = SimpleNamespace(release=SimpleNamespace(release_id="0123"), folder=Path("/o/new"))
    monkeypatch.setattr(library, "publish_planned", lambda plan, out, aged: made)
    monkeypatch.setattr(library, "Released", stop)
    with pytest.raises(KeyboardInterrupt) as stopped:
        library._published(SimpleNamespace(), None)  # type: ignore[arg-type]
    assert stopped.value.__notes__ == ["The release 0123 is charged; its bundle is in /o/new."]


def test_a_table_is_released_and_charged_once(rows: pandas.DataFrame, tmp_path: Path) -> None:
    made = hexcursion.release(rows, out=tmp_path / "bundle", **BY_HAND)
    assert charges(open_ledger(create=False)).count("reserve") == 1
    assert 1.9 < made.statement["guarantee"]["epsilon"] <= 2.0
    assert list(made.map.columns) == ["h3", "class", "in_set", "probability", "mean", "geometry"]
    assert (len(made.map), made.map.crs, made.map.attrs) == (
        16,
        "EPSG:4326",
        {"unit": "ug/m3", "threshold": 30.0},
    )
    assert set(made.map["class"]) <= {"above", "open", "not above"}
    assert made.map["in_set"].tolist() == read_bundle(tmp_path / "bundle").published.in_set.tolist()
    assert made.map["mean"].between(5, 55).all(), "in the value's unit, not in response units"
    assert "<img alt=" in made._repr_html_()
    assert "ε 2 at δ 1 in " in made._repr_html_()
    assert ", for each reading.<br>" in made._repr_html_()
    assert next(layer.id for layer in made.deck.layers) == "cells"
    for name in ("copy.zip", "copy"):
        again = hexcursion.open_bundle(made.save(tmp_path / name))
        assert again.map["probability"].tolist() == made.map["probability"].tolist()
    with pytest.raises(WorkflowError, match="exists already"):
        made.save(tmp_path / "copy")
    before = charges(open_ledger(create=False))
    with pytest.raises(WorkflowError, match="does not fit the point budget of epsilon"):
        hexcursion.release(rows, out=tmp_path / "second", **BY_HAND)
    assert charges(open_ledger(create=False)) == before
    assert not (tmp_path / "second").exists()


def test_rows_that_are_counted_need_no_measured_column(rows: pandas.DataFrame) -> None:
    found, tables = as_source(rows, "t", {"x": "lon", "y": "lat"}, counted=True)
    assert "value" not in found
    assert tables["t"].content.startswith(b"lon,lat\n")
    with pytest.raises(WorkflowError, match="or count its rows with values='count'"):
        as_source(rows, "t", {"x": "lon", "y": "lat"})


def test_a_table_and_its_file_are_the_same_records(rows: pandas.DataFrame, town: Town) -> None:
    open_ledger()
    points = geopandas.GeoDataFrame(
        rows[["no2"]], geometry=geopandas.points_from_xy(rows.lon, rows.lat), crs="EPSG:4326"
    )
    pointed = {name: value for name, value in BY_HAND.items() if name not in ("lon", "lat")}
    plans = [
        hexcursion.plan(rows, **BY_HAND),
        hexcursion.plan(town.private, **BY_HAND),
        hexcursion.plan(points, **pointed),
        hexcursion.plan(rows, **{**BY_HAND, "area": geopandas.GeoSeries([box(*BOX)], crs="EPSG:4326")}),
    ]
    assert len({each.plan.charge.dataset for each in plans}) == 1
    assert len({each.epsilon for each in plans}) == 1
    assert plans[0].receipt == plans[1].receipt == plans[2].receipt
    projected = hexcursion.plan(points.to_crs("EPSG:32632"), **pointed).plan.records
    assert projected.count.tolist() == plans[0].plan.records.count.tolist()
    assert charges(open_ledger(create=False)) == ["genesis"]


def test_a_plan_charges_nothing_and_is_published_once(rows: pandas.DataFrame, tmp_path: Path) -> None:
    planned = hexcursion.plan(rows, budget=9.0, **BY_HAND)
    assert list(home().iterdir()) == []
    assert 1.9 < planned.epsilon <= 2.0
    assert repr(planned) == "<Planned release by posterior-sampling on 16 hexagons, epsilon 2>"
    plan = planned.plan
    for private in (plan, plan.records, plan.prepared, plan.project.private):
        assert "array(" not in repr(private), "a notebook is passed on"
    hexcursion.publish(planned, tmp_path / "bundle")
    before = charges(open_ledger(create=False))
    with pytest.raises(WorkflowError, match="This very request was charged already"):
        hexcursion.publish(planned, tmp_path / "again")
    assert charges(open_ledger(create=False)) == before
    assert not (tmp_path / "again").exists()


def test_a_plan_that_waited_says_what_the_ledger_says_now(rows: pandas.DataFrame, tmp_path: Path) -> None:
    first, second, third = (hexcursion.plan(rows, budget=9.0, **BY_HAND) for _ in range(3))
    hexcursion.publish(first, tmp_path / "first")
    made = hexcursion.publish(second, tmp_path / "second")
    (line,) = (line["text"] for line in made.statement["receipt"] if line["topic"] == "Budget")
    (old,) = (line.text for line in second.receipt if line.topic == "Budget")
    assert line != old
    pipeline.publish_planned(third, tmp_path / "third")  # the first began the ledger that it was planned with
    receipt = read_bundle(tmp_path / "third").statement["receipt"]
    assert old not in [line["text"] for line in receipt if line["topic"] == "Budget"]
    assert charges(open_ledger()).count("reserve") == 3
    before, late = (hexcursion.plan(rows, **BY_HAND) for _ in range(2))  # of a ledger that is there
    hexcursion.publish(before, tmp_path / "before")
    made = hexcursion.publish(late, tmp_path / "late")
    (old,) = (line.text for line in late.receipt if line.topic == "Ledger")
    (line,) = (line["text"] for line in made.statement["receipt"] if line["topic"] == "Ledger")
    assert line != old


def test_settings_and_files_go_through_the_same_door(town: Town, tmp_path: Path) -> None:
    settings = town.settings(resolution=7, priors=("car",))
    assert isinstance(settings, ReleaseSettings)
    told: list[float] = []
    planned = hexcursion.plan(settings, progress=lambda fraction, text: told.append(fraction))
    assert planned.remarks
    assert told
    rows, last = (pandas.read_csv(each) for each in (town.private, town.reference))
    same = {
        name: getattr(settings, name)
        for name in ("resolution", "priors", "threshold", "epsilon", "quick", "mechanisms", "prior_mean",
                     "reference_public", "value_name", "value_unit", "accept_low_agreement")
    }  # fmt: skip
    for reference in (last, town.reference, {"path": str(town.reference)}):
        again = hexcursion.plan(
            rows, reference=reference, area=BOX, value="no2", lon="lon", lat="lat", **same
        )
        assert again.plan.choice.design == planned.plan.choice.design
    with pytest.raises(WorkflowError, match="`area` changes no settings that are made already"):
        hexcursion.plan(settings, area=BOX)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"value": "pm25"}, "no column named 'pm25': name one of its columns"),
        ({"value": "no3"}, "no column named 'no3'; did you mean 'no2'"),
        ({"value": None}, "Name the measured column of the table with `value`, or count its rows"),
        ({"area": None}, "Name the public area: `area` is west, south, east and north in degrees"),
        ({"area": "nowhere.geojson"}, "nowhere.geojson"),
        ({"area": 7}, "Give the area as west, south, east and north"),
        ({"resolution": 99}, "resolution"),
        ({"threshhold": 3}, "threshhold"),
        ({"crs": "EPSG:27700"}, "degrees"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"delta": 0.5}, "accept_large_delta"),
        ({"layer": "sheet"}, "`layer` is for files alone"),
        ({"budget": 0.5}, "does not fit the point budget of epsilon 0.5"),
        ({"threshold": 900.0}, "This release is stopped, and nothing was charged"),
        ({"area": Polygon()}, ""),
    ],
)
def test_what_does_not_do_is_one_sentence_and_nothing_is_begun(
    rows: pandas.DataFrame, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(WorkflowError) as refused:
        hexcursion.release(rows, out=tmp_path / "bundle", **{**BY_HAND, **changes})
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert list(home().iterdir()) == []
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_table_is_refused(rows: pandas.DataFrame) -> None:
    with pytest.raises(WorkflowError, match="The table holds no rows: give one with a row for each record"):
        hexcursion.plan(rows.iloc[:0], **BY_HAND)
    made = r"Give a table of pandas or GeoPandas, .* not ndarray: make one with pandas\.DataFrame\(\.\.\.\)\."
    with pytest.raises(WorkflowError, match=made):
        hexcursion.plan(rows.to_numpy(), **BY_HAND)
    with pytest.raises(WorkflowError, match=r"Give a reference table of .* not Series: make one with"):
        hexcursion.plan(rows, reference=rows["no2"], **BY_HAND)
    other: Any = SimpleNamespace(to_pandas=lambda: rows)  # as tables of polars and Arrow have it
    with pytest.raises(WorkflowError, match=r"not SimpleNamespace: call its to_pandas\(\)\."):
        hexcursion.plan(other, **BY_HAND)
    pointed = {name: value for name, value in BY_HAND.items() if name not in ("lon", "lat")}
    points = geopandas.GeoDataFrame(rows[["no2"]], geometry=geopandas.points_from_xy(rows.lon, rows.lat))
    with pytest.raises(WorkflowError, match="name one with `crs`"):
        hexcursion.plan(points, **pointed)
    with pytest.raises(WorkflowError, match="in EPSG:4326: leave `crs` out"):
        hexcursion.plan(points.set_crs(4326), crs="EPSG:27700", **pointed)
    lines = points.set_crs(4326).set_geometry(points.buffer(1.0))
    with pytest.raises(WorkflowError, match="holds Polygon: records need points"):
        hexcursion.plan(lines, **pointed)
    twice = pandas.DataFrame(np.zeros((2, 4)), columns=["lon", "lat", "no2", "no2"])
    with pytest.raises(WorkflowError, match="several columns named 'no2'"):
        hexcursion.plan(twice, **BY_HAND)


def test_a_plan_pays_for_no_look(rows: pandas.DataFrame) -> None:
    searched = {name: each for name, each in BY_HAND.items() if name not in ("lengthscale", "ridge")}
    with pytest.raises(WorkflowError, match="A pilot spends budget, so it is part of a release alone"):
        hexcursion.plan(rows, pilot=0.3, **searched)
    assert list(home().iterdir()) == []


def test_data_that_were_released_under_another_name_are_said_to_the_curator(
    rows: pandas.DataFrame, tmp_path: Path
) -> None:
    hexcursion.release(rows, out=tmp_path / "bundle", **BY_HAND)
    other = rows.assign(no2=rows.no2 * 1.01)
    with pytest.warns(hexcursion.CuratorWarning, match=r"same_records_as=\[\d\]"):
        hexcursion.plan(other, **BY_HAND)


def test_mechanisms_are_compared_and_nothing_is_charged(rows: pandas.DataFrame) -> None:
    searched = {name: each for name, each in BY_HAND.items() if name not in ("lengthscale", "ridge")}
    found = hexcursion.compare(rows, epsilons=(2.0,), quick=True, **searched)
    with pytest.raises(WorkflowError, match="leave `lengthscale` and `ridge` out"):
        hexcursion.compare(rows, **BY_HAND)
    for epsilons, said in (((), "Give at least one epsilon"), ((2.0, -1.0), "epsilon must be a positive")):
        with pytest.raises(WorkflowError, match=said):
            hexcursion.compare(rows, epsilons=epsilons, **searched)
    with pytest.raises(WorkflowError, match="epsilon must be a positive"):
        hexcursion.compare(rows, epsilons=-1.0, **searched)
    assert [(row.mechanism, row.epsilon) for row in found.rows] == [("posterior-sampling", 2.0)]
    assert list(home().iterdir()) == []


def test_another_column_of_one_table_is_of_the_same_records(rows: pandas.DataFrame, tmp_path: Path) -> None:
    """As with a file: the rows of a table are known again, so both releases are one account."""
    table = rows.assign(o3=np.random.default_rng(3).uniform(20, 40, len(rows)))
    hexcursion.release(table, out=tmp_path / "bundle", **BY_HAND)
    other = hexcursion.plan(table, **{**BY_HAND, "value": "o3"})
    standing = other.plan.preview.standing
    assert standing is not None
    assert standing.shared == len(rows)
    assert standing.other_numbers == (), "another column of the same rows is no other area or filter"
    with pytest.raises(WorkflowError, match="does not fit"):
        hexcursion.publish(other, tmp_path / "other")
    with pytest.raises(WorkflowError, match="exists already"):
        hexcursion.publish(other, tmp_path / "bundle")
    assert charges(open_ledger(create=False)).count("reserve") == 1


def test_arguments_of_another_kind_are_refused_in_a_sentence(rows: pandas.DataFrame) -> None:
    with pytest.raises(WorkflowError, match=r"Publish what `hexcursion\.plan` returned"):
        hexcursion.publish("x")  # type: ignore[arg-type]
    with pytest.raises(WorkflowError, match="Name the new folder as a text or a path with `out`, not 5"):
        hexcursion.release(rows, out=5, **BY_HAND)
    with pytest.raises(WorkflowError, match="`lon` and `x` name one column"):
        hexcursion.plan(rows, **BY_HAND, x="lat")
    with pytest.raises(WorkflowError, match="folder or zip as a text or a path, not None"):
        hexcursion.open_bundle(None)  # type: ignore[arg-type]
    with pytest.raises(WorkflowError, match="folder or zip as a text or a path, not ''"):
        hexcursion.open_bundle("")
    with pytest.raises(WorkflowError, match="a function of a fraction and a text as `progress`"):
        hexcursion.plan(rows, progress=5, **BY_HAND)  # type: ignore[arg-type]


def test_a_reference_file_may_name_its_degrees_as_the_private_table_does(
    rows: pandas.DataFrame, town: Town
) -> None:
    reference = {"path": str(town.reference), "value": "no2", "lon": "lon", "lat": "lat"}
    with _settings(rows, {**BY_HAND, "reference": reference}) as (made, _):
        assert made.reference is not None
        assert (made.reference.x, made.reference.y) == ("lon", "lat")


def test_an_earlier_release_is_a_reference_as_it_is_or_by_its_file(rows: pandas.DataFrame) -> None:
    shipped = Path(library.__file__).parents[2] / "static" / "tour" / "bundle.zip"
    for reference in (hexcursion.open_bundle(shipped), str(shipped)):
        with _settings(rows, {**BY_HAND, "reference": reference}) as (made, tables):
            assert made.reference is not None
            assert made.reference.path == str(shipped)
            assert list(tables) == ["a table in memory"]


def test_columns_are_named_by_texts(rows: pandas.DataFrame) -> None:
    with pytest.raises(WorkflowError, match="Columns are named by texts, not 2"):
        hexcursion.plan(rows.set_axis([0, 1, 2], axis=1), **{**BY_HAND, "value": 2})


def test_every_column_that_is_named_is_read_from_a_table_in_memory() -> None:
    names = ["lon", "lat", "no2", "limit", "state", "site", "a + b"]
    table = pandas.DataFrame(np.full((2, 7), 123456.5), columns=names)
    said = {"value": "no2", "x": "lon", "y": "lat", "limit_column": "limit"}
    for owner, columns in (("state + site", b"state,site"), ("a + b", b"a + b,site")):
        _, tables = as_source(table, "rows", said, owner)
        assert tables["rows"].content.splitlines()[0] == b"no2,lon,lat,limit," + columns
        assert "123456.5" not in repr(tables)
    with pytest.raises(WorkflowError, match="no column named 'sit'"):
        as_source(table, "rows", said, "state + sit")
    for where in ("state=1", ["state"], 3):
        with pytest.raises(WorkflowError, match=r"Write row filters as \{column: entry\}"):
            as_source(table, "rows", {**said, "where": where})
    unplaced = geopandas.GeoDataFrame(table)
    assert as_source(unplaced, "rows", {"value": "no2"})[1]["rows"].content.splitlines()[0] == b"no2,site"


def test_reference_points_and_columns_stand_beside_each_other(rows: pandas.DataFrame) -> None:
    points = geopandas.GeoDataFrame(
        rows[["no2"]], geometry=geopandas.points_from_xy(rows.lon, rows.lat), crs="EPSG:4326"
    ).to_crs("EPSG:32632")
    with _settings(rows, {**BY_HAND, "reference": points}) as (made, _):
        assert made.reference is not None
        assert (made.data.x, made.data.crs) == ("lon", "EPSG:4326")
        assert (made.reference.x, made.reference.crs) == (POINT_X, "EPSG:32632")
    pointed = {name: value for name, value in BY_HAND.items() if name not in ("lon", "lat")}
    with (
        pytest.raises(WorkflowError, match="The reference table has no points: make them with"),
        _settings(points, {**pointed, "reference": rows}),
    ):
        pass


PERIODS = {"budget": 2.155, "delta": 1e-5, "periods": 4, "period_number": 2}


def test_a_period_takes_its_part_of_the_budget_by_every_way_in(town: Town) -> None:
    """The door wrote an epsilon of 1 as if a person had said it: the first of two periods took all."""
    given = {name: value for name, value in BY_HAND.items() if name != "epsilon"}
    with _settings(town.private, given | PERIODS) as (made, _):
        assert made.epsilon == pytest.approx(1.0, abs=1e-3)
    with _settings(town.private, given | PERIODS | {"budget": 3.0, "period_shares": "front-loaded"}) as found:
        assert found[0].epsilon == pytest.approx(0.80 * 1.36, abs=0.05)
        with _settings(found[0], {"period_number": 1}) as (first, _):
            assert first.epsilon > 1.5 * found[0].epsilon
        with _settings(found[0], {"period_number": 1, "epsilon": 0.5}) as (own, _):
            assert own.epsilon == 0.5


def test_an_atlas_takes_the_part_of_its_period_when_its_settings_change() -> None:
    """It kept the epsilon of the first of four front-loaded periods, 1.465, whatever changed."""
    given = {name: value for name, value in PLAN.items() if name != "epsilon"}
    front = PERIODS | {"period_shares": "front-loaded", "period_number": 1}
    changes = {1.465: {}, 0.801: {"period_number": 2}, 5.938: {"budget": 9.0}, 0.5: {"epsilon": 0.5}}
    with _settings(village(), given | front) as (made, _):
        assert isinstance(made, AtlasSettings)
    for part, change in changes.items():
        with _settings(made, change) as (changed, _):
            assert isinstance(changed, AtlasSettings)
            assert [layer.epsilon for layer in changed.layers] == pytest.approx([part] * 3, abs=1e-3)
    with (
        pytest.raises(WorkflowError, match="`colour` changes no settings that are made already"),
        _settings(made, {"colour": "blue"}),
    ):
        pass


COUNTED = {"value": None, "values": "count", "centre": None, "clip": None}
ANSWERED = {"values": "yes-no", "centre": None, "clip": None}
SAID: list[dict[str, Any]] = [
    {}, {"epsilon": 2.5}, PERIODS, PERIODS | {"epsilon": 0.5}, {"delta": 1e-7, "budget": 9.0},
    PERIODS | {"period_shares": "front-loaded"}, ANSWERED | {"yes_above": 30.0, "threshold": 40.0},
    {"owner": "station", "records_per_owner": 3, "owner_once_per_hexagon": True}, {"unit": "cell"},
    {"relation": "add-or-remove", "records_about": 700, "resolution": 7}, {"places_public": True},
    {"centre": 28.0, "clip": 15.0, "lengthscale": 3000.0, "ridge": 20.0}, {"quick": True},
    {"paths": 3, "mechanisms": ("posterior-sampling",), "bound": "joint-sharp"}, {"direction": "below"},
    {"mechanisms": ("noisy-cell-statistics",), "priors": ("car",)}, {"looks": 2}, {"resolution": 6},
    {"cutoff": 0.6}, {"value_name": "NO2", "value_unit": "ug/m3", "title": "Air"},
    {"accept_large_delta": True, "accept_low_agreement": True, "accept_weaker_promise": True},
    {"accept_dropped": True},
    COUNTED | {"population_file": "people.csv", "population_column": "people", "record_word": "case",
               "threshold": 1.5},
    {"population": "all roads", "period": "2018", "source": "the city", "notes": ("One.", "Two.")},
    {"reference": {"path": "r.csv"}, "reference_public": True, "prior_mean": True, "public_counts": True},
    {"limits": "limits.geojson", "transform": "log"}, {"pilot": 0.3, "pilot_by": "choice"}, {"looked": True},
    {"reference": {"path": "r.csv"}, "objective": "bce", "focus": "threshold"},
    {"reference": {"path": "r.csv"}, "reference_public": True, "change": True},
    {"covariates": ("roads.csv",), "covariate_columns": ("traffic",)}, {"land_only": False},
    {"bbox": None, "region": "r.geojson", "features": ("A", "B"), "feature_column": "name"},
    {"bbox": (170.0, -20.0, -170.0, -10.0), "crosses_date_line": True}, {"executor": "processes"},
    {"layers": ("a.geojson",), "label_columns": ("name",), "layer_colours": ("blue",), "layer_widths": (2,)},
    {"basemap": "tiles.pmtiles"}, {"shared_design": "d.json"}, {"stated": {"contact": "the office"}},
    {"identifier": "id", "time": "when", "day_first": True, "equal_rows": "each", "layer": "Sheet 1"},
    {"header_row": 3, "decimal": ",", "missing": ("9999",), "censored": "half", "detection_limit": 0.5},
    {"condition": "flag", "limit_column": "limit", "unit_column": "unit", "place_sd": "30", "behind": ("J",)},
    {"encoding": "windows-1252", "delimiter": ";", "quoting": "lines", "sides": ("ew", "ns")},
    {"where": {"kind": "background"}, "crs": "EPSG:32632"}, {"loader": "sensor-table"},
    {"x": None, "y": None, "place_column": "point"}, {"zone_column": "zone", "crs": "EPSG:32632"},
    {"value": None, "x": None, "y": None, "postcodes": "codes.csv", "segment": "new-homes", "years": (2018,)},
]  # fmt: skip
OF_A_PLACE = {"data", "path", "ledger", "dask", "trip"}
"""What the two ways name by other means: files, addresses that no file states, and a trip's own command."""


def test_every_setting_is_said_by_the_law() -> None:
    known = {*fields_of(ReleaseSettings), *fields_of(SourceSettings)}
    assert known - OF_A_PLACE - {"bbox", "threshold", "value"} <= {name for said in SAID for name in said}


@pytest.mark.parametrize("said", SAID, ids=lambda said: "-".join(said) or "nothing")
def test_door_command_line_and_settings_file_understand_the_same(
    said: dict[str, Any], town: Town, tmp_path: Path
) -> None:
    """What nobody said has one default, and what somebody said one meaning, whichever way it comes in."""
    usual = {
        "value": "no2",
        "x": "lon",
        "y": "lat",
        "bbox": BOX,
        "threshold": THRESHOLD,
        "centre": 28.0,
        "clip": 15.0,
    }
    all_said = {name: value for name, value in (usual | said).items() if value is not None}
    own = {name: value for name, value in all_said.items() if name in fields_of(SourceSettings)}
    base = {name: value for name, value in all_said.items() if name not in own}
    given = {"area": base["region"], **base} if "region" in base else base
    given = {name: value for name, value in given.items() if name != "region"}
    with _settings(str(town.private), {**own, **given}) as (door, _):
        made = settings_from_mapping({"data": {"path": str(town.private), **own}, **base})
        assert door == made
    assert settings_from_toml(settings_to_toml(made)) == made
    if "stated" in said:  # which a settings file states alone
        return
    words = ["release", "--data", str(town.private)]
    for name, value in {**base, **{f"data.{name}": value for name, value in own.items()}}.items():
        item = catalogue()[f"{name}.path" if name == "reference" else name]
        shown = value["path"] if name == "reference" else value
        if isinstance(shown, dict):
            shown = tuple(f"{key}={entry}" for key, entry in shown.items())
        listed = [str(each) for each in shown] if isinstance(shown, tuple) else [str(shown)]
        flag = flags_of(item)[0]
        words += [flag if value else f"--no-{flag[2:]}"] if isinstance(value, bool) else [flag, *listed]
    found = settings_from_options(build_parser().parse_args([*words, "--out", str(tmp_path / "o")]))
    assert found == made


def test_several_maps_of_one_table_say_what_they_promise_together(
    rows: pandas.DataFrame, tmp_path: Path
) -> None:
    """Three columns at epsilon .4686 each said 52.7 %; somebody who is in all of them is at 54.7 %."""
    table = rows.assign(o3=rows.no2 + 1.0, co=rows.no2 - 1.0)
    given = BY_HAND | {"mechanisms": ("noisy-cell-statistics",), "epsilon": 0.4686, "budget": 3.0}
    made = [
        hexcursion.release(table, out=tmp_path / "all" / value, **given | {"value": value})
        for value in ("no2", "o3", "co")
    ]
    texts = [(each.place / "README.txt").read_text("utf-8") for each in made]
    assert ["What earlier releases add" in text for text in texts] == [False, True, True]
    assert "before; together 0.8539." in " ".join(texts[2].split())
    assert not any("areas or filters stated" in text for text in texts), "another column is no other area"
    promised = together_text([each.statement["guarantee"] for each in made])
    assert promised.startswith(
        "Releases of the same records promise less together: one reading that is in all 3 "
    )
    assert "is protected at epsilon 0.8539 at delta 1e-5" in promised
    assert "guess becomes at most 55:45" in promised
    assert together_text([made[0].statement["guarantee"]]) == ""
    four = together_text([made[0].statement["guarantee"]] * 4)
    assert "guess becomes at most 56:44" in four, "and not 52.7 % four times"
    write_site([tmp_path / "all"], tmp_path / "site")
    assert promised in (tmp_path / "site" / "index.html").read_text("utf-8")
