"""Questions that vary over the map: limits by zone, and change against a public map."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dpgp_core.priors.lattice import Lattice
from geo import Domain, DomainError
from geo.context.covariates import public_values
from hexcursion.bundle import BundleError
from hexcursion.bundle.layout import SUMS, sums_text
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.read import bundle_from_contents
from hexcursion.bundle.tables import field_of
from hexcursion.bundle.write import bundle_contents
from hexcursion.errors import WorkflowError
from hexcursion.project.public_numbers import BaselineField, relative_field, smooth_map
from hexcursion.project.records import PlacedObservations
from hexcursion.settings import ReleaseSettings, SourceSettings
from tests.hexcursion.bundle.bundle_samples import make_release, retold

SENSORS = SourceSettings("s.csv", value="no2", x="lon", y="lat")


def settings(**changes: object) -> ReleaseSettings:
    base: dict[str, object] = {"data": SENSORS, "threshold": 1.05, "bbox": (-0.12, 51.49, -0.05, 51.53)}
    return ReleaseSettings(**{**base, **changes})  # type: ignore[arg-type]


def zone(west: float, east: float, value: object) -> dict[str, object]:
    ring = [[west, 51.4], [east, 51.4], [east, 51.6], [west, 51.6], [west, 51.4]]
    return {
        "type": "Feature",
        "properties": {"value": value},
        "geometry": {"type": "Polygon", "coordinates": [ring]},
    }


def zones(path: Path, *features: dict[str, object]) -> Path:
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
    return path


def test_a_hexagon_has_the_limit_of_the_zone_of_its_centre(domain: Domain, tmp_path: Path) -> None:
    found = public_values(zones(tmp_path / "z.geojson", zone(-0.3, -0.08, 30), zone(-0.1, 0.1, 40)), domain)
    west = domain.centres_lonlat[:, 0] < -0.08
    assert west.any()
    assert not west.all()
    assert np.array_equal(found, np.where(west, 30.0, 40.0))


def test_a_table_of_hexagons_gives_the_same(domain: Domain, tmp_path: Path) -> None:
    table = tmp_path / "limits.csv"
    rows = [f"{cell},{index + 1}" for index, cell in enumerate(domain.cells)]
    table.write_text("\n".join(["h3,value", *reversed(rows)]), encoding="utf-8")
    assert public_values(table, domain).tolist() == [float(k + 1) for k in range(domain.size)]


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ([zone(-0.3, -0.08, 30)], "hexagons have no value in"),
        ([zone(-0.3, 0.1, "x")], "has no number 'value'"),
        ([zone(-0.3, 0.1, True)], "has no number 'value'"),
        ([], "holds no zones"),
    ],
)
def test_limits_that_leave_something_open_are_refused(
    domain: Domain, tmp_path: Path, features: list[dict[str, object]], said: str
) -> None:
    with pytest.raises(DomainError, match=said):
        public_values(zones(tmp_path / "z.geojson", *features), domain)


def test_values_are_taken_by_factor_or_by_difference() -> None:
    placed = PlacedObservations(np.array([0, 0, 1]), np.array([10.0, 30.0, 30.0]), 3, 0)
    field = np.array([20.0, 60.0])
    assert BaselineField(field, True, "limits", "x").of(placed).value.tolist() == [0.5, 1.5, 0.5]
    assert BaselineField(field, False, "limits", "x").of(placed).value.tolist() == [-10.0, 10.0, -30.0]
    assert BaselineField(field, True, "public map", "x").unit("pounds") == "times the public map"
    assert BaselineField(field, False, "limits", "x").unit("ug/m3") == "ug/m3 more than the limit there"
    with pytest.raises(WorkflowError, match="must be positive"):
        BaselineField(np.array([1.0, 0.0]), True, "limits", "x")


def test_a_public_map_is_smoothed_and_stands_for_last_year(domain: Domain, lattice: Lattice) -> None:
    """Noisy public values on a plane: the map is nearer to the plane than the values are."""
    generator = np.random.default_rng(5)
    cells = np.arange(domain.size)
    plane = 5.0 + domain.centres[:, 0] / np.abs(domain.centres[:, 0]).max()
    noisy = plane + 0.3 * generator.normal(size=domain.size)
    found = smooth_map(lattice, cells, noisy)
    assert np.sqrt(np.mean(np.square(found - plane))) < 0.25  # the values themselves are .3 off
    placed = PlacedObservations(np.repeat(cells, 3), np.repeat(np.exp(noisy), 3), 3 * domain.size, 0)
    asked = settings(
        change=True,
        reference=SENSORS,
        reference_public=True,
        transform="log",
        mechanisms=("posterior-sampling",),
    )
    relative = relative_field(asked, domain, lattice, placed)
    assert relative is not None
    assert relative.ratio
    around = np.repeat(np.abs(noisy - found), 3)
    assert relative.clip == pytest.approx(float(np.quantile(around, 0.9)), rel=1e-6)
    assert np.allclose(np.log(relative.field), found)
    assert np.allclose(np.log(relative.of(placed).value), np.repeat(noisy - found, 3))


def test_change_needs_a_public_map_and_nothing_else() -> None:
    with pytest.raises(WorkflowError, match="A change starts from a public map"):
        settings(change=True, reference=SENSORS)
    with pytest.raises(WorkflowError, match="leave `limits` and `prior_mean` out"):
        settings(change=True, reference=SENSORS, reference_public=True, limits="z.geojson")


def test_the_public_field_travels_in_the_bundle(domain: Domain) -> None:
    field = np.linspace(20.0, 40.0, domain.size)
    relative = BaselineField(field, True, "limits", "limits given by the curator as public")
    release = make_release(domain, paths=2)
    release = retold(release, relative=relative, value_unit="times the limit there")
    contents = bundle_contents(release)
    bundle = bundle_from_contents(contents)
    assert np.array_equal(field_of(contents, bundle.statement, bundle.domain.cells), field)
    assert bundle.statement["subject"]["relative"] == {
        "file": "public_field.csv",
        "kind": "limits",
        "ratio": True,
        "origin": "limits given by the curator as public",
    }
    viewer = Viewer(bundle)
    assert "Relative to a public field: limits given by the curator as public." in viewer.sentences(
        viewer.at()
    )
    for broken in (None, contents["public_field.csv"].replace(b"20.0", b"-20.0", 1)):
        other = {
            name: content for name, content in contents.items() if name not in (SUMS, "public_field.csv")
        }
        if broken is not None:
            other["public_field.csv"] = broken
        other[SUMS] = sums_text(other).encode()
        with pytest.raises(BundleError, match=r"public_field\.csv"):
            bundle_from_contents(other)


def test_a_public_map_reaches_as_far_as_the_best_range_in_spacings(domain: Domain, lattice: Lattice) -> None:
    """Values at every other hexagon of a slope: between them the map follows the slope, not the centre."""
    slope = domain.centres[:, 0] / np.abs(domain.centres[:, 0]).max()
    known = np.arange(0, domain.size, 2)
    found = smooth_map(lattice, known, slope[known])
    between = np.setdiff1d(np.arange(domain.size), known)
    error = np.sqrt(np.mean(np.square(found[between] - slope[between])))
    assert error < 0.5  # the centre everywhere is .66 off, a range of no length .71
