"""Places with known noise in a map: of a mobile sensor, with both protections in their own words; known to a
number of metres; rounded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from data_loaders import DataError
from data_loaders.columns.coordinates import rounded_to
from hexcursion.bundle.read import read_bundle
from hexcursion.bundle.statement.schema_check import check_statement
from hexcursion.bundle.untrusted import BundleError
from hexcursion.errors import WorkflowError
from hexcursion.ledger import open_ledger
from hexcursion.project.load import load_project
from hexcursion.project.records import finest_sensible
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


SAID = (
    "Places are known to 300 metres (standard deviation per axis); each row counts in its likeliest hexagon. "
    "Hexagons at least four times as wide, of resolution 7 or coarser, show what is known; these, of "
    "resolution 8, are finer than that."
)


def known(folder: Path, decimals: int = 6, **said: object) -> ReleaseSettings:
    """Two hundred readings whose places have so many decimals."""
    rng = np.random.default_rng(3)
    lon = rng.uniform(BOX[0] + 0.02, BOX[2] - 0.02, 200)
    lat = rng.uniform(BOX[1] + 0.02, BOX[3] - 0.02, 200)
    rows = [f"{lon[k]:.{decimals}f},{lat[k]:.{decimals}f},{20 + k % 20 + k / 1000}" for k in range(200)]
    path = folder / "readings.csv"
    path.write_text("\n".join(["lon,lat,no2", *rows]) + "\n", encoding="utf-8")
    source = SourceSettings(str(path), value="no2", x="lon", y="lat", **said)  # type: ignore[arg-type]
    return ReleaseSettings(
        data=source, threshold=THRESHOLD, bbox=BOX, resolution=8, value_unit="ug/m3", centre=30.0, clip=15.0,
        lengthscale=3000.0, ridge=5.0,
    )  # fmt: skip


def test_a_number_of_metres_holds_for_every_row_and_is_published(tmp_path: Path) -> None:
    project = load_project(known(tmp_path, place_sd="300"))
    placed = project.private.placed
    assert np.asarray(project.private.observations.place_sd).tolist() == [300.0] * 200
    assert placed.sure is not None
    assert 0.4 < placed.sure < 0.8
    assert SAID in project.private.sentences()
    ledger = open_ledger(tmp_path / "ledger.sqlite")
    folder = publish(plan_release(project, given_choice(project), ledger), ledger, tmp_path / "map").folder
    assert json.loads((folder / "statement.json").read_text(encoding="utf-8"))["release"]["notes"] == [SAID]
    assert "Places are known to 300 metres" in (folder / "map.html").read_text(encoding="utf-8")


def test_metres_that_hexagons_can_show_are_said_without_a_warning(tmp_path: Path) -> None:
    (note,) = load_project(known(tmp_path, place_sd="40.5")).notes
    assert note == (
        "Places are known to 40 metres (standard deviation per axis); each row counts in its likeliest "
        "hexagon."
    )


@pytest.mark.parametrize(("metres", "finest"), [(2072, 5), (300, 7), (230, 8), (233, 7), (0.1, 15), (1e6, 0)])
def test_the_finest_sensible_hexagons_are_four_deviations_wide(metres: float, finest: int) -> None:
    assert finest_sensible(metres) == finest


def test_places_rounded_to_more_than_a_hexagon_are_said_with_the_number(tmp_path: Path) -> None:
    said = " ".join(load_project(known(tmp_path, decimals=2)).private.sentences())
    assert (
        "Places are rounded to about 1,113 metres, more than hexagons of resolution 8 are wide (894)" in said
    )
    assert "`place_sd` (--place-sd 321), or take resolution 7 or coarser." in said
    rounded = known(tmp_path, decimals=2)
    stated = replace(rounded, data=replace(rounded.data, place_sd="321"))
    for fine in (replace(rounded, resolution=7), stated):
        assert "are rounded" not in " ".join(load_project(fine).private.sentences())
    assert "are rounded" not in " ".join(load_project(known(tmp_path, decimals=3)).private.sentences())


@pytest.mark.parametrize("said", ["0", "0.0", "1000001"])
def test_impossible_metres_are_refused(tmp_path: Path, said: str) -> None:
    with pytest.raises((WorkflowError, DataError), match="Places are known to metres above 0"):
        load_project(known(tmp_path, place_sd=said))


def test_rounding_is_told_by_nearly_all_of_twenty_rows() -> None:
    x = np.arange(40) % 7 * 0.01 + 10.0
    y = np.arange(40) % 5 * 0.01 + 50.0
    assert rounded_to(x, y, degrees=True) == pytest.approx(1113.2)
    assert rounded_to(x + 0.005, y + 0.005, degrees=True) == pytest.approx(1113.2), "centres of squares"
    assert rounded_to(x[:19], y[:19], degrees=True) is None
    assert rounded_to(x + np.eye(1, 40)[0] * 0.0013, y, degrees=True) is None, "39 of 40 are not nearly all"
    assert rounded_to(x, np.full(40, 50.0), degrees=True) is None, "one sensor's row of places"
    assert rounded_to(x * 1e5, y * 1e5, degrees=False) == 1000.0
    assert rounded_to(x * 1e4, y * 1e4, degrees=False) is None
