"""Public columns from files: what each hexagon gets, what is refused, and what a bundle tells of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from data_loaders import Observations
from geo import Domain, DomainError, domain_from_bbox, project
from hexcursion.bundle import BundleError
from hexcursion.bundle.layout import SUMS, sums_text
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.write import bundle_contents
from hexcursion.errors import WorkflowError
from hexcursion.project.load import build_lattice
from hexcursion.project.public_numbers import Covariates, _apart, load_covariates
from hexcursion.project.records import PlacedObservations
from hexcursion.project.response import ResponseScale
from hexcursion.project.simulated import StandIns
from hexcursion.settings import ReleaseSettings, SourceSettings
from tests.hexcursion.bundle.bundle_samples import retold
from tests.hexcursion.bundle.statement.test_formats import SPECTRAL, spectral_release
from tests.hexcursion.project.conftest import BOX

SENSORS = SourceSettings("s.csv", value="no2", x="lon", y="lat")


def settings(**changes: object) -> ReleaseSettings:
    base: dict[str, object] = {
        "data": SENSORS,
        "threshold": 40.0,
        "bbox": BOX,
        "centre": 40.0,
        "clip": 10.0,
        "mechanisms": ("spectral-statistics",),
    }
    return ReleaseSettings(**{**base, **changes})  # type: ignore[arg-type]


def table(path: Path, domain: Domain, *columns: str, skip: int = 0, value: str = "") -> str:
    rows = [
        ",".join([cell, *(value or str(10 * k + number) for k in range(len(columns)))])
        for number, cell in enumerate(domain.cells)
    ]
    path.write_text("\n".join([",".join(["h3", *columns]), *rows[skip:]]), encoding="utf-8")
    return str(path)


def layer(path: Path, kind: str, *parts: tuple[object, object]) -> str:
    """A layer of one kind of shape: coordinates and the number `height` of each."""
    features = [
        {
            "type": "Feature",
            "properties": {} if height is None else {"height": height},
            "geometry": {"type": kind, "coordinates": coordinates},
        }
        for coordinates, height in parts
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
    return str(path)


def finer(domain: Domain) -> Domain:
    return domain_from_bbox(-0.12, 51.49, -0.1, 51.5, domain.resolution + 1)


def twice(path: Path, domain: Domain) -> str:
    rows = ("h3,a", f"{domain.cells[0]},1", f"{domain.cells[0]},2")
    path.write_text("\n".join(rows), encoding="utf-8")
    return str(path)


RIVER = [[-0.13, 51.50], [-0.04, 51.50]]


def test_a_table_gives_a_column_and_a_layer_the_distance_to_it(domain: Domain, tmp_path: Path) -> None:
    files = (
        table(tmp_path / "soil.csv", domain, "clay"),
        layer(tmp_path / "big_river.geojson", "LineString", (RIVER, None)),
    )
    found = load_covariates(files, (), domain)
    assert found is not None
    assert found.names == ("clay", "distance to big river")
    assert found.origins == (
        "clay, a column of soil.csv",
        "the square root of the distance to big river in metres",
    )
    assert np.array_equal(found.values[:, 0], np.arange(domain.size))
    metres = np.abs(project([[-0.08, 51.50]], domain.crs)[0, 1] - domain.centres[:, 1])
    assert np.allclose(np.square(found.values[:, 1]), metres, atol=5.0)
    assert found.sentence.startswith("Public numbers of each hexagon, which the bundle holds: clay, a column")


def test_areas_and_points_give_their_numbers(domain: Domain, tmp_path: Path) -> None:
    ring = [[[-0.2, 51.4], [-0.08, 51.4], [-0.08, 51.6], [-0.2, 51.6], [-0.2, 51.4]]]
    other = [[[-0.1, 51.4], [0.1, 51.4], [0.1, 51.6], [-0.1, 51.6], [-0.1, 51.4]]]
    areas = layer(tmp_path / "a.geojson", "Polygon", (ring, 3), (other, 7.5))
    found = load_covariates((areas,), ("height",), domain)
    assert found is not None
    assert np.array_equal(found.values[:, 0], np.where(domain.centres_lonlat[:, 0] < -0.08, 3.0, 7.5))
    spots = [(list(map(float, spot)), float(k)) for k, spot in enumerate(domain.centres_lonlat)]
    again = [(spots[0][0], 10.0)]  # a hexagon has the mean of its points
    found = load_covariates((layer(tmp_path / "p.geojson", "Point", *spots, *again),), ("height",), domain)
    assert found is not None
    assert np.allclose(found.values[:, 0], [5.0, *range(1, domain.size)])


@pytest.mark.parametrize(
    ("make", "column", "said"),
    [
        (lambda at, d: table(at / "t.csv", d, "a", skip=2), "a", "2 of .* hexagons have no value in t.csv"),
        (lambda at, d: str(at / "none.csv"), "", "there is no file none.csv"),
        (lambda at, d: str(at / "none.csv"), "a", "there is no file none.csv"),
        (lambda at, d: table(at / "t.csv", d), "", "t.csv must have a column h3 and one of numbers"),
        (lambda at, d: table(at / "t.csv", finer(d), "a"), "a", "no h3 of t.csv .* they have resolution 8"),
        (lambda at, d: twice(at / "t.csv", d), "a", "row 2 of t.csv gives a hexagon a second value"),
        (lambda at, d: table(at / "t.csv", d, "a", "b"), "", "2 columns beside h3: name the one"),
        (lambda at, d: table(at / "t.csv", d, "a"), "b", "must have the columns h3 and b"),
        (lambda at, d: table(at / "t.csv", d, "a", value="nan"), "a", "has no number 'a'"),
        (lambda at, d: table(at / "t.csv", d, "a", value="4"), "a", "'a' is the same in every hexagon"),
        (
            lambda at, d: layer(at / "t.geojson", "LineString", (RIVER, 4)),
            "height",
            "lines, which belong to no",
        ),
        (lambda at, d: layer(at / "t.geojson", "Point", (RIVER[0], 4)), "height", "have no number in the"),
        (lambda at, d: layer(at / "t.geojson", "Point", (RIVER[0], "x")), "height", "without a number"),
    ],
)
def test_what_gives_no_number_for_each_hexagon_is_refused(
    domain: Domain, tmp_path: Path, make: object, column: str, said: str
) -> None:
    with pytest.raises((WorkflowError, DomainError), match=said):
        load_covariates((make(tmp_path, domain),), (column,), domain)  # type: ignore[operator]


def test_two_columns_of_one_name_are_refused(domain: Domain, tmp_path: Path) -> None:
    both = (table(tmp_path / "s.csv", domain, "clay"), table(tmp_path / "t.csv", domain, "clay"))
    with pytest.raises(WorkflowError, match="Two covariates are called 'clay'"):
        load_covariates(both, ("clay",), domain)


def placed_on(cells: np.ndarray, values: np.ndarray) -> PlacedObservations:
    return PlacedObservations(cells.astype(np.int64), values, cells.size, 0)


def test_columns_that_repeat_places_or_values_are_refused(domain: Domain) -> None:
    rng = np.random.default_rng(4)
    cells = rng.permutation(domain.size)[: domain.size // 2].repeat(3)
    placed = placed_on(cells, 40.0 + rng.normal(0.0, 5.0, cells.size))
    counts = np.bincount(cells, minlength=domain.size).astype(float)
    spots = domain.centres[np.unique(cells)]
    far = np.linalg.norm(domain.centres[:, None] - spots[None], axis=2).min(axis=1)
    medians = np.array(
        [np.median(placed.value[cells == k]) if counts[k] else 0.0 for k in range(domain.size)]
    )
    spoiled = np.where(counts > 0, medians, rng.normal(40.0, 5.0, domain.size))

    def refuse(column: np.ndarray, *, public: bool = False) -> None:
        Covariates(("c",), ("c",), column[:, None]).refuse_private(placed, places_public=public)

    for column in (counts, 7.0 - 2.0 * (counts > 0), far + rng.uniform(0.0, 1.0, domain.size)):
        with pytest.raises(WorkflowError, match="'c' shows where the private records lie"):
            refuse(column)
        refuse(column, public=True)
    with pytest.raises(WorkflowError, match="'c' repeats the private values"):
        refuse(spoiled, public=True)
    with pytest.raises(WorkflowError, match="'c' repeats the private values"):
        refuse(np.where(counts > 0, 3.0 - 0.01 * medians, 2.5), public=True)  # the same in other words
    means = np.bincount(cells, weights=placed.value, minlength=domain.size) / np.maximum(counts, 1.0)
    with pytest.raises(WorkflowError, match="'c' repeats the private values"):
        refuse(means, public=True)
    with pytest.raises(WorkflowError, match="'c' repeats the private values"):
        refuse(np.exp(-0.2 * means), public=True)  # in the same order
    refuse(domain.centres[:, 0])
    refuse(
        counts + 3.0 * rng.normal(size=domain.size)
    )  # more people live where records are: public all the same


def test_eight_hexagons_are_enough_to_see_that_a_column_repeats_values(domain: Domain) -> None:
    values = np.arange(domain.size, dtype=float) ** 2
    column = Covariates(("copy",), ("a file",), values[:, None])
    with pytest.raises(WorkflowError, match="repeats the private values"):
        column.refuse_private(placed_on(np.arange(8), values[:8]), places_public=True)
    column.refuse_private(placed_on(np.arange(7), values[:7]), places_public=True)


def test_places_are_apart_from_199_of_200_pairs_on() -> None:
    column, occupied = np.arange(30.0), np.arange(30) >= 20  # 10 hexagons with records, 20 without
    assert _apart(column, occupied)
    column[[19, 20]] = column[[20, 19]]
    assert _apart(column, occupied)  # one pair the other way round
    assert _apart(-column, occupied)
    column[[19, 21]] = column[[21, 19]]
    assert not _apart(column, occupied)  # two pairs


def test_a_column_is_refused_for_either_sign_of_private_places(domain: Domain) -> None:
    """Records in every hexagon leave only their numbers to repeat; a few crowded ones only where they are."""
    rng = np.random.default_rng(5)
    everywhere = np.arange(domain.size) % 7 + 1
    crowded = np.where(np.arange(domain.size) % 2 == 0, 2, 0)
    crowded[:4] = 300
    for counts, column in (
        (everywhere, everywhere + 0.0),
        (crowded, rng.uniform(0.0, 1.0, domain.size) + 5.0 * (crowded > 0)),
    ):
        cells = np.repeat(np.arange(domain.size), counts)
        placed = placed_on(cells, rng.normal(40.0, 5.0, cells.size))
        with pytest.raises(WorkflowError, match="'c' shows where the private records lie"):
            Covariates(("c",), ("c",), column[:, None]).refuse_private(placed, places_public=False)


def test_common_numbers_repeat_answers_by_chance_and_shares_do_not(domain: Domain) -> None:
    rng = np.random.default_rng(3)
    cells = rng.integers(0, domain.size, 6 * domain.size)
    said = placed_on(cells, np.where(rng.random(cells.size) < 0.2, 100.0, 0.0))
    share = np.bincount(cells, weights=said.value, minlength=domain.size) / np.maximum(
        np.bincount(cells, minlength=domain.size), 1.0
    )
    woods = np.where(rng.random(domain.size) < 0.5, 0.0, rng.uniform(0.0, 100.0, domain.size))
    town = np.where(share > 10.0, 100.0, 0.0)
    for public in (woods, town):
        Covariates(("c",), ("c",), public[:, None]).refuse_private(said, places_public=False)
    for private in (share, share / 100.0):
        with pytest.raises(WorkflowError, match="'c' repeats the private values"):
            Covariates(("c",), ("c",), private[:, None]).refuse_private(said, places_public=True)


def test_the_distance_to_private_places_is_refused(domain: Domain, tmp_path: Path) -> None:
    spots = domain.centres_lonlat[:6]
    rows = Observations(
        x=spots[:, 0],
        y=spots[:, 1],
        value=np.arange(6.0),
        crs="EPSG:4326",
        kind="reading",
        unit="m",
        title="wells",
    )
    wells = layer(tmp_path / "wells.geojson", "Point", *((list(map(float, spot)), None) for spot in spots))
    with pytest.raises(WorkflowError, match="'wells' marks the places of private records"):
        load_covariates((wells,), (), domain, rows)
    assert load_covariates((wells,), (), domain, rows, places_public=True) is not None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"covariates": ("s.csv",)}, "cannot be the file of the records"),
        ({"covariate_columns": ("a",)}, "1 columns are given for 0 covariates"),
        ({"covariates": ("a.csv",) * 2, "covariate_columns": ("a", "b", "c")}, "3 columns are given for 2"),
        ({"covariates": ("a.csv",), "mechanisms": ("posterior-sampling",)}, "done with `covariates`"),
        (
            {"covariates": ("a.csv",), "reference": SENSORS, "reference_public": True, "change": True},
            "relative to the public map alone",
        ),
        ({"covariates": tuple(f"{k}.csv" for k in range(9))}, "covariates"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(WorkflowError, match=said):
        settings(**changes)


def test_covariates_beside_private_reference_data_are_allowed() -> None:
    made = settings(covariates=("a.csv",), reference=replace(SENSORS, path="r.csv"))
    assert made.covariates == ("a.csv",)
    with_map = settings(covariates=("a.csv",), reference=SENSORS, reference_public=True, prior_mean=False)
    assert not with_map.tries_public_map
    assert settings(covariates=("a.csv",), reference=SENSORS, reference_public=True).tries_public_map


def test_two_simulated_fields_of_three_follow_public_columns(domain: Domain) -> None:
    lattice, scale = build_lattice(domain), ResponseScale("identity", 0.0, 1.0, "")
    column = 1e6 + domain.centres[:, :1]
    drawn = [
        [StandIns(settings(), lattice, scale, 4_000, columns=each).draw(k).value for k in range(3)]
        for each in (None, column)
    ]
    same = [np.array_equal(one, other) for one, other in zip(*drawn, strict=True)]
    assert same == [True, False, False]


def covered(domain: Domain) -> Covariates:
    values = np.column_stack([domain.centres[:, 0], np.arange(domain.size) ** 2.0])
    return Covariates(("clay", "height"), ("clay, a column of soil.csv", "height, a column of t.csv"), values)


def test_the_bundle_holds_the_covariates_and_its_reader_checks_them(domain: Domain) -> None:
    release = retold(
        spectral_release(domain), covariates=covered(domain), design=replace(SPECTRAL, covariates=0.25)
    )
    contents = bundle_contents(release)
    bundle = bundle_from_contents(contents)
    assert bundle.statement["covariates"] == {
        "file": "covariates.csv",
        "columns": [
            {"name": "clay", "origin": "clay, a column of soil.csv"},
            {"name": "height", "origin": "height, a column of t.csv"},
        ],
    }
    said = [line["text"] for line in bundle.statement["receipt"] if line["topic"] == "Covariates"]
    assert said == [
        "Public numbers of each hexagon, which the bundle holds: clay, a column of soil.csv; height, a "
        "column of t.csv."
    ]
    whole = contents["covariates.csv"]
    first = whole.splitlines()[1]
    row = first.split(b",")
    forged = {
        "disagree": None,
        "one number of each": whole.replace(row[0], b"9" + row[0][1:], 1),
        "damaged": whole.replace(row[1], b"much", 1),
        "finite": whole.replace(row[1], b"nan", 1),
        "same everywhere": b"\n".join(
            b",".join([*line.split(b",")[:2], b"4.0" if number else line.split(b",")[2]])
            for number, line in enumerate(whole.splitlines())
        ),
    }
    for said_of, broken in forged.items():
        other = {name: content for name, content in contents.items() if name not in (SUMS, "covariates.csv")}
        if broken is not None:
            other["covariates.csv"] = broken
        other[SUMS] = sums_text(other).encode()
        with pytest.raises(BundleError, match=said_of):
            bundle_from_contents(other)


@pytest.mark.parametrize("change", ["design", "statement", "receipt"])
def test_a_statement_that_hides_or_invents_its_covariates_is_refused(domain: Domain, change: str) -> None:
    release = retold(
        spectral_release(domain), covariates=covered(domain), design=replace(SPECTRAL, covariates=0.25)
    )
    contents = bundle_contents(release)
    statement = json.loads(contents["statement.json"])
    if change == "design":
        statement["design"]["covariates"] = 0.0
    elif change == "statement":
        del statement["covariates"]
    else:
        for line in statement["receipt"]:
            if line["topic"] == "Covariates":
                line["text"] = line["text"].replace("clay", "loam")
    other = {name: content for name, content in contents.items() if name != SUMS}
    other["statement.json"] = json.dumps(statement).encode()
    other[SUMS] = sums_text(other).encode()
    with pytest.raises(BundleError):
        bundle_from_contents(other)
