"""Readings of a mobile sensor in a map: places with known noise, and both protections in their own words."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hexcursion.bundle.read import read_bundle
from hexcursion.bundle.statement.schema_check import check_statement
from hexcursion.bundle.untrusted import BundleError
from hexcursion.errors import WorkflowError
from hexcursion.ledger import open_ledger
from hexcursion.project.load import load_project
from hexcursion.project.trip import TripProtection, trip_protection
from hexcursion.releasing.transaction import plan_release, publish
from hexcursion.search.choice import given_choice
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from tests.town import BOX, THRESHOLD

TRIP = {
    "format": "hexcursion-trace",
    "release_id": "0123456789abcdef",
    "mu": 1.2345,
    "radius_m": 200.0,
    "secrets": 1,
}


def statement(folder: Path, **changes: object) -> Path:
    path = folder / "statement.json"
    path.write_text(json.dumps({**TRIP, **changes}), encoding="utf-8")
    return path


def table(folder: Path, sd: str = "150.0") -> Path:
    """Two hundred readings as the trace command writes them, the third of them without its noise."""
    rng = np.random.default_rng(3)
    lon = rng.uniform(BOX[0] + 0.02, BOX[2] - 0.02, 200)
    lat = rng.uniform(BOX[1] + 0.02, BOX[3] - 0.02, 200)
    rows = ["lon,lat,sd_m,no2,h3,probability"]
    for k in range(200):
        rows.append(f"{lon[k]:.6f},{lat[k]:.6f},{'' if k == 2 else sd},{20 + k % 20},-,0.5")
    path = folder / "readings.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def mobile(folder: Path, **changes: object) -> ReleaseSettings:
    source = SourceSettings(str(table(folder)), value="no2", x="lon", y="lat", place_sd="sd_m")
    return ReleaseSettings(
        data=replace(source, **changes),
        threshold=THRESHOLD,
        bbox=BOX,
        resolution=8,
        value_unit="ug/m3",
        centre=30.0,
        clip=15.0,
        lengthscale=3000.0,
        ridge=5.0,
    )


def test_readings_count_in_their_likeliest_hexagon(tmp_path: Path) -> None:
    project = load_project(mobile(tmp_path))
    placed = project.private.placed
    assert placed.read == 199  # a place whose noise is not known is left out
    assert placed.sure is not None
    assert 0.4 < placed.sure < 0.95
    assert "noise of the place is not a number of metres" in " ".join(project.private.sentences())
    assert f"is right with probability {placed.sure:.0%} on average" in project.private.sentences()[-1]
    exact = load_project(mobile(tmp_path, place_sd=None)).private
    assert exact.placed.sure is None
    assert "known noise" not in " ".join(exact.sentences())


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle whose places a sanitised trip tells."""
    folder = tmp_path_factory.mktemp("map")
    project = load_project(mobile(folder, trip=str(statement(folder))))
    ledger = open_ledger(folder / "ledger.sqlite")
    return publish(plan_release(project, given_choice(project), ledger), ledger, folder / "map").folder


def test_the_statement_carries_both_protections(published: Path) -> None:
    said = json.loads((published / "statement.json").read_text(encoding="utf-8"))
    (note,) = said["release"]["notes"]
    assert "0123456789abcdef tells; 1 secret moment of it is hidden" in note
    assert "mu at most 1.235), which is not differential privacy" in note
    assert said["trip"] == {
        "protection": "conditional inferential privacy of a location trace",
        "is_differential_privacy": False,
        "unit_of_protection": "a secret moment of one trace, not a person's records in a map",
        "release_id": "0123456789abcdef",
        "secret_moments": 1,
        "mu_at_most": 1.235,
        "radius_m": 200.0,
        "in_words": note,
    }
    assert said["guarantee"]["unit_word"] == "reading"
    assert read_bundle(published).statement["trip"] == said["trip"]
    assert "0123456789abcdef" in (published / "map.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("field", "value", "refused"),
    [
        ("mu_at_most", 0.5, "contradicts itself about the trip"),
        ("radius_m", 900.0, "contradicts itself about the trip"),
        ("secret_moments", 2, "contradicts itself about the trip"),
        ("release_id", "f" * 16, "contradicts itself about the trip"),
        ("mu_at_most", 0, "not valid at trip.mu_at_most"),
        ("is_differential_privacy", True, "not valid at trip.is_differential_privacy"),
        ("protection", "differential privacy", "not valid at trip.protection"),
    ],
)
def test_a_reader_refuses_a_trip_that_promises_otherwise(
    published: Path, field: str, value: object, refused: str
) -> None:
    said = json.loads((published / "statement.json").read_text(encoding="utf-8"))
    assert check_statement(said) == said
    said["trip"][field] = value
    with pytest.raises(BundleError, match=refused):
        check_statement(said)


def test_a_reader_refuses_a_trip_whose_words_are_told_nowhere(published: Path) -> None:
    said = json.loads((published / "statement.json").read_text(encoding="utf-8"))
    said["release"]["notes"] = []
    with pytest.raises(BundleError, match="contradicts itself about the trip"):
        check_statement(said)


def test_what_is_said_at_most_is_rounded_up(tmp_path: Path) -> None:
    for mu, least in ((1.23401, 1.235), (12345.6, 12350.0), (0.07, 0.07), (1.235, 1.235)):
        trip = trip_protection(statement(tmp_path, mu=mu))
        assert trip.mu == least
        assert TripProtection.of_block(trip.block()) == trip


@pytest.mark.parametrize(
    "changes",
    [{"format": "other"}, {"mu": "1"}, {"mu": -1.0}, {"release_id": "<b>"}, {"secrets": 0}, {"secrets": 1.5}],
)
def test_only_a_trips_statement_is_believed(tmp_path: Path, changes: dict[str, object]) -> None:
    with pytest.raises(WorkflowError, match="is no statement of a released trip"):
        trip_protection(statement(tmp_path, **changes))


def test_what_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(WorkflowError, match="cannot be opened"):
        trip_protection(tmp_path / "none.json")
    (tmp_path / "bad.json").write_bytes(b"\xff{")
    with pytest.raises(WorkflowError, match="no statement"):
        trip_protection(tmp_path / "bad.json")
    with pytest.raises(WorkflowError, match="`place_sd`"):
        mobile(tmp_path, place_sd=None, trip="statement.json")
