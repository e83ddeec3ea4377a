"""From the command line: limits by zone, change against a public map, and areas of one released path."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hexcursion.bundle import read_bundle
from hexcursion.cli import main
from tests.hexcursion.cli.test_cli import arguments
from tests.town import BOX, THRESHOLD, Town

WEST, SOUTH, EAST, NORTH = BOX


def zone(west: float, east: float, **properties: object) -> dict[str, object]:
    south, north = SOUTH - 1.0, NORTH + 1.0
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return {
        "type": "Feature",
        "properties": properties,
        "geometry": {"type": "Polygon", "coordinates": [ring]},
    }


@pytest.fixture
def halves(tmp_path: Path) -> Path:
    """Two zones whose limits differ by ten."""
    middle, place = (WEST + EAST) / 2.0, tmp_path / "halves.geojson"
    features = [
        zone(WEST - 1.0, middle, value=THRESHOLD, name="west"),
        zone(middle, EAST + 1.0, value=THRESHOLD + 10.0, name="east"),
    ]
    place.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
    return place


def test_limits_by_zone_and_areas_of_one_path(
    town: Town, out: Path, halves: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = {"--limits": str(halves), "--threshold": "0", "--resolution": "7", "--priors": "car"}
    assert main(arguments(town, out, **changes)) == 0
    assert "Every value is taken less a public field" in capsys.readouterr().out
    bundle = read_bundle(out)
    subject = bundle.statement["subject"]
    assert subject["unit"] == "ug/m3 more than the limit there"
    assert subject["threshold"] == 0.0
    limits = np.loadtxt(out / "public_field.csv", delimiter=",", skiprows=1, usecols=1)
    assert set(np.unique(limits)) == {THRESHOLD, THRESHOLD + 10.0}
    assert bundle.field is not None
    assert bundle.draws is not None
    assert bundle.draws.shape == (100, bundle.domain.size)
    assert bundle.published.surely is not None
    assert main(["areas", str(out), "--polygons", str(halves)]) == 0
    said = capsys.readouterr().out
    assert "Share of each area that lies above 0 ug/m3 more than the limit there" in said
    assert "west: " in said


def test_change_is_asked_against_the_public_map(
    town: Town, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = {"--threshold": "1", "--resolution": "7", "--priors": "car"}
    asked = [*arguments(town, out, **changes), "--reference-public", "--change"]
    assert main(asked) == 0
    printed = capsys.readouterr().out
    assert "the smoothed map of the published reference data's median values" in printed
    statement = read_bundle(out).statement
    assert statement["subject"]["relative"]["kind"] == "public map"
    assert statement["subject"]["unit"] == "ug/m3 more than the public map"
    assert statement["response"]["centre"] == 0.0
    assert statement["tuning"]["kind"] == "simulated"
