"""Owners: what one may contribute is bounded inside the domain, and the words follow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from data_loaders import DataError
from geo import domain_from_bbox
from hexcursion.errors import WorkflowError
from hexcursion.ledger import open_ledger
from hexcursion.project.area import build_domain
from hexcursion.project.load import load_project, load_source
from hexcursion.releasing.transaction import plan_release
from hexcursion.search.choice import given_choice
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from tests.data_loaders.workbooks import geopackage
from tests.town import BOX, THRESHOLD, Town


def stations(folder: Path, readings: int = 20, sensors: int = 50) -> SourceSettings:
    """A table of 50 stations with 20 readings each; every tenth row lies outside the town."""
    rng = np.random.default_rng(4)
    lon = rng.uniform(BOX[0] + 0.01, BOX[2] - 0.01, sensors)  # a cell of the rim may have its middle outside
    lat = rng.uniform(BOX[1] + 0.01, BOX[3] - 0.01, sensors)
    rows = ["station,lon,lat,no2,when"]
    for k in range(readings):
        for s in range(sensors):
            east = 5.0 if k % 10 == 0 else 0.0
            rows.append(f"S{s},{lon[s] + east:.6f},{lat[s]:.6f},{20 + k},2023-01-{k + 1:02d}")
    path = folder / "stations.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return SourceSettings(str(path), value="no2", x="lon", y="lat", time="when")


def settings(source: SourceSettings, **changes: object) -> ReleaseSettings:
    given: dict[str, object] = {
        "data": source,
        "threshold": THRESHOLD,
        "bbox": BOX,
        "resolution": 8,
        "value_unit": "ug/m3",
        "centre": 30.0,
        "clip": 15.0,
    }
    return ReleaseSettings(**{**given, **changes})  # type: ignore[arg-type]


def test_each_row_is_a_reading_where_nothing_names_sensors(tmp_path: Path) -> None:
    """The finding: 50 stations of 20 readings were called 1,000 sensors."""
    project = load_project(settings(stations(tmp_path)))
    assert project.settings.unit_word == "reading"
    assert project.private.observations.kind == "reading"
    assert project.private.placed.index.size == 900


@pytest.mark.parametrize(
    ("most", "kept", "word"), [(1, 50, "sensor"), (3, 150, "reading"), (18, 900, "reading")]
)
def test_an_owner_keeps_at_most_so_many_rows_inside(tmp_path: Path, most: int, kept: int, word: str) -> None:
    chosen = settings(stations(tmp_path), owner="station", records_per_owner=most)
    project = load_project(chosen)
    assert project.private.placed.index.size == kept
    assert project.private.placed.outside == 100
    assert project.settings.unit_word == word
    assert project.private.observations.size == 1_000, "the ledger knows all rows, kept or not"
    said = project.private.sentences()
    assert any(line.startswith("At most ") and f"{kept:,} rows kept" in line for line in said)
    assert "The readings belong to 50 sensors." in said


ONE_WHOLE = "by a public rule that prefers no value. Epsilon is about one whole sensor."


@pytest.mark.parametrize(
    ("most", "protected", "owner"),
    [
        (1, "One sensor: its value and its place, among 50 sensors.", f"at most 1 row, {ONE_WHOLE}"),
        (
            3,
            "One sensor: the values and the places of all its readings, at most 3, among 150 readings.",
            f"at most 3 rows, {ONE_WHOLE}",
        ),
    ],
)
def test_the_receipt_promises_what_holds_for_a_whole_owner(
    tmp_path: Path, most: int, protected: str, owner: str
) -> None:
    chosen = settings(
        stations(tmp_path), owner="station", records_per_owner=most, lengthscale=3000.0, ridge=50.0
    )
    project = load_project(chosen)
    plan = plan_release(project, given_choice(project), open_ledger())
    said = {line.topic: line.text for line in plan.receipt}
    assert said["Unit of protection"] == protected
    assert said["Owner"] == f"Used of each sensor: {owner}"
    assert plan.privacy.n == 50 * most
    assert "sensor" not in said["Records"] or most == 1
    one = "one sensor" if most == 1 else "all readings of one sensor"
    assert said["In words"].startswith(f"Exchanging {one} can make any published result up to 2.72 times")
    assert "A 50:50 guess about one sensor becomes at most " in said["In words"]
    assert [line.text[:30] for line in plan.receipt if line.topic == "Group"] == [
        "Someone with up to 2 sensors: ", "Someone with up to 5 sensors: ", "Someone with up to 10 sensors:"
    ]  # fmt: skip


def test_persons_are_called_persons(tmp_path: Path) -> None:
    source = stations(tmp_path)
    path = Path(source.path)
    path.write_text(path.read_text().replace("station,", "participant,", 1))
    project = load_project(settings(source, owner="participant", records_per_owner=1))
    assert project.private.observations.owner_word == "person"
    assert project.settings.unit_word == "person"


def test_points_and_names_of_systems_reach_the_loader(tmp_path: Path) -> None:
    path = geopackage(tmp_path / "soil.gpkg", ((181072.0, 333611.0),), (299.0,), ("a",))
    made, _ = load_source(SourceSettings(str(path), value="value", layer="soil"), "mg/kg", owner="site")
    assert (made.crs, made.owner_word) == ("EPSG:28992", "sensor")
    table = tmp_path / "soil.csv"
    table.write_text("x,y,lead\n181072,333611,299\n", encoding="utf-8")
    source = SourceSettings(str(table), value="lead", x="x", y="y", crs="Dutch grid")
    assert load_source(source, "mg/kg")[0].crs == "EPSG:28992"
    # without both columns a file may have points, so only its reader can tell
    with pytest.raises(DataError, match="holds no points of its own: name its columns"):
        load_source(replace(source, x=None, y=None), "mg/kg")
    with pytest.raises(WorkflowError, match="coordinate columns"):
        replace(source, x=None)
    with pytest.raises(WorkflowError, match="coordinate columns"):
        SourceSettings(str(path), value="value", x="site")


def test_a_box_across_the_date_line_needs_the_word(tmp_path: Path, town: Town) -> None:
    across = town.settings(bbox=(179.2, -17.5, -179.6, -16.2), resolution=5, land_only=False)
    with pytest.raises(ValueError, match="exchange the two, or state that it crosses"):
        build_domain(across)
    domain = build_domain(across.with_changes(crosses_date_line=True))
    assert domain.cells == domain_from_bbox(*across.bbox, 5, crosses_date_line=True).cells  # type: ignore[misc]


def test_filling_tells_its_progress(town: Town) -> None:
    said: list[float] = []
    load_project(town.settings(), lambda share, text: said.append(share))
    assert said == sorted(said)
    assert sum(0.0 < share <= 0.2 for share in said) >= 2


def test_epsilon_is_that_of_a_whole_owner(tmp_path: Path) -> None:
    """3 readings of one sensor cost 3 mu: epsilon 2 was promised to one reading, and 7.08 to the sensor."""
    chosen = settings(
        stations(tmp_path),
        owner="station",
        records_per_owner=3,
        lengthscale=3000.0,
        ridge=5.0,
        epsilon=2.0,
        mechanisms=("noisy-cell-statistics",),
    )
    project = load_project(chosen)
    plan = plan_release(project, given_choice(project), open_ledger())
    privacy, noise = plan.privacy, plan.choice.design.statistic_noise  # type: ignore[attr-defined]
    assert (privacy.epsilon, privacy.delta) == pytest.approx((2.0, 1e-5), rel=1e-6)
    assert privacy.gaussian_mu == pytest.approx(0.501552, abs=1e-5)
    assert noise == pytest.approx(3 * 2.0 / 0.501552, rel=1e-5)
    assert plan.charge.cost.gaussian_mu == privacy.gaussian_mu, "the ledger is charged what is promised"
    assert [q for q, _, _ in privacy.group] == [2, 5, 10]


def walkers(folder: Path) -> SourceSettings:
    """40 persons with 30 readings each along a street: many hexagons, some of them twice."""
    rng = np.random.default_rng(6)
    rows = ["person,lon,lat,no2"]
    for person in range(40):
        lon, lat = rng.uniform(10.01, 10.02), rng.uniform(50.005, 50.015)
        rows += [
            f"p{person},{lon + step * 0.003:.5f},{lat + step * 0.002:.5f},{rng.normal(25.0, 4.0):.2f}"
            for step in range(30)
        ]
    path = folder / "walkers.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return SourceSettings(str(path), value="no2", x="lon", y="lat")


@pytest.mark.parametrize(
    ("once", "mechanism", "noise"),
    [
        (True, "noisy-cell-statistics", 23.5946),
        (False, "noisy-cell-statistics", 74.6126),
        (True, "posterior-sampling", None),
    ],
)
def test_ten_readings_in_different_hexagons_cost_the_square_root(
    tmp_path: Path, once: bool, mechanism: str, noise: float | None
) -> None:
    """Noise for epsilon 1 of a person: 2 sqrt(10) / .268 where no two readings lie in one hexagon."""
    chosen = settings(
        walkers(tmp_path),
        owner="person",
        records_per_owner=10,
        owner_once_per_hexagon=once,
        lengthscale=3000.0,
        ridge=50.0,
        epsilon=1.0,
        mechanisms=(mechanism,),
    )
    project = load_project(chosen)
    plan = plan_release(project, given_choice(project), open_ledger())
    said = {line.topic: line.text for line in plan.receipt}
    assert plan.privacy.epsilon == pytest.approx(1.0, rel=1e-6)
    assert said["This release"] == "epsilon 1 at delta 1e-5."
    if noise is not None:
        assert plan.choice.design.statistic_noise == pytest.approx(noise, rel=1e-5)  # type: ignore[attr-defined]
    for topic in ("Unit of protection", "Owner"):
        assert ("no two of them in one hexagon" in said[topic]) == once
    most = bound_rows(project.private.placed.index, once)
    assert (most == 1) == once


def bound_rows(index: np.ndarray, once: bool) -> int:
    """The most rows of one person in one hexagon; persons follow each other, ten rows each."""
    owner = np.arange(index.size) // 10
    _, count = np.unique(np.column_stack([owner, index]), axis=0, return_counts=True)
    return int(count.max())


def test_one_row_in_each_hexagon_needs_an_owner(tmp_path: Path) -> None:
    with pytest.raises(WorkflowError, match="needs an owner: name its column with `owner`"):
        settings(stations(tmp_path), owner_once_per_hexagon=True)
