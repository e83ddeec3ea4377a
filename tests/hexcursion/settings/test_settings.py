"""Settings are valid or do not exist, and survive the way through TOML and the command line."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from hexcursion.cli.main import build_parser
from hexcursion.cli.options import settings_from_options
from hexcursion.errors import WorkflowError
from hexcursion.settings import ReleaseSettings, SourceSettings, settings_from_toml, settings_to_toml

SALES = SourceSettings("pp.csv", "postcodes.csv", "existing-leasehold-flats", years=(2018,))
SENSORS = SourceSettings("s.csv", value="no2", x="lon", y="lat", where=(("species", "NO2"), ("year", "2023")))


def settings(**changes: object) -> ReleaseSettings:
    return ReleaseSettings(**{"data": SALES, "threshold": 442413.0, "region": "r.geojson", **changes})  # type: ignore[arg-type]


def test_reference_inherits_what_it_does_not_say() -> None:
    text = (
        'threshold = 20.0\nregion = "r"\n[data]\npath = "a.csv"\nvalue = "no2"\nx = "lon"\ny = "lat"\n'
        '[reference]\npath = "b.csv"\nvalue = "mean"\n'
    )
    found = settings_from_toml(text).reference
    assert found == SourceSettings("b.csv", value="mean", x="lon", y="lat")


def test_command_line_options_become_the_same_settings() -> None:
    line = (
        "release --data pp.csv --postcodes postcodes.csv --segment existing-leasehold-flats --years 2018 "
        "--region r.geojson --resolution 8 --unit point --reference pp17.csv --epsilon 1 --delta 1e-5 "
        "--paths 1 --threshold 442413 --out o"
    )
    words = shlex.split(line)
    found = settings_from_options(build_parser().parse_args(words))
    assert found == settings(
        reference=SourceSettings("pp17.csv", "postcodes.csv", "existing-leasehold-flats"),
        epsilon=1.0,
        delta=1e-5,
    )
    sensors = shlex.split(
        "release --data s.csv --value no2 --lat lat --lon lon --where species=NO2 year=2023 "
        "--bbox -0.5 51.3 0.3 51.7 --threshold 20 --out o"
    )
    assert settings_from_options(build_parser().parse_args(sensors)).data == SENSORS


def test_the_command_line_says_how_a_table_is_written() -> None:
    words = shlex.split(
        "release --data s.xlsx --value no2 --lat lat --lon lon --bbox -0.5 51.3 0.3 51.7 --threshold 20 "
        "--sheet June --header-row 3 --decimal , --missing -99 -99.9 9999 --censored half "
        "--detection-limit 0.25 --condition remark --limit-column mdl --no-day-first --reference t.xlsx "
        "--reference-sheet May --reference-missing none --out o"
    )
    found = settings_from_options(build_parser().parse_args(words))
    told = SourceSettings(
        "s.xlsx", value="no2", x="lon", y="lat", layer="June", header_row=3, decimal=",",
        missing=("-99", "-99.9", "9999"), censored="half", detection_limit=0.25, condition="remark",
        limit_column="mdl", day_first=False,
    )  # fmt: skip
    assert found.data == told
    assert found.reference == replace(told, path="t.xlsx", layer="May", missing=("none",))
    assert settings_from_toml(settings_to_toml(found)) == found
    assert told.rules_in_words == (
        "Readings below a limit of measurement count as half of their limit, 0.25 where they name none; "
        "those above one, as the limit.",
    )
    assert replace(told, censored="drop").rules_in_words == (
        "Readings below or above a limit of measurement were left out.",
    )
    assert SENSORS.rules_in_words == ()
    with pytest.raises(WorkflowError, match=r"written as -99 or 9999, or `none` alone\.$"):
        replace(told, missing=("none", "9999"))


HIDDEN = {"relation": "add-or-remove", "mechanisms": ("spectral-statistics",)}


def test_a_private_number_of_records_needs_a_public_guess() -> None:
    assert settings(**HIDDEN, records_about=5_000).records_about == 5_000
    with pytest.raises(WorkflowError, match=r"the number of records is private: .* \(--records-about\)\.$"):
        settings(**HIDDEN)
    with pytest.raises(
        WorkflowError, match=r"^Under the relation 'replace-one' the number .* is public: leave"
    ):
        settings(records_about=5_000)
    for bad in (0, -1, 2.5, 2_000_000_000):
        with pytest.raises(WorkflowError, match=r"^records_about must be a whole number from 1 to "):
            settings(**HIDDEN, records_about=bad)


def test_public_places_cannot_hide_how_many_there_are() -> None:
    """The number would be published exactly, in a statement that calls it not published."""
    with pytest.raises(
        WorkflowError, match=r"^Public places show how many records there are, which .* hide: "
    ):
        settings(**HIDDEN, records_about=5_000, places_public=True)
    with pytest.raises(WorkflowError, match=r"^Public places show how many records there are"):
        settings(**HIDDEN, places_public=True)
    assert settings(mechanisms=("spectral-statistics",), places_public=True).places_public


def test_two_looks_are_for_one_fixed_design_of_amounts() -> None:
    plain: dict[str, object] = {
        "data": SourceSettings("s.csv", value="v", x="lon", y="lat"),
        "threshold": 1.0,
        "transform": "identity",
        "centre": 0.0,
        "clip": 2.0,
        "bbox": (-0.12, 51.49, -0.05, 51.53),
        "looks": 2,
        "mechanisms": ("spectral-statistics",),
    }
    assert ReleaseSettings(**plain).looks == 2  # type: ignore[arg-type]
    for changes, said in (
        ({"mechanisms": ("noisy-cell-statistics",)}, "spectral statistics of amounts alone"),
        ({"reference": SourceSettings("r.csv", value="v", x="lon", y="lat")}, "without `reference`"),
        ({"lengthscale": 900.0}, "without `lengthscale`"),
        ({"looks": 3}, "looks"),
    ):
        with pytest.raises(WorkflowError, match=said):
            ReleaseSettings(**{**plain, **changes})  # type: ignore[arg-type]


def test_a_value_is_called_as_its_column_without_the_unit_as_the_screen_proposes() -> None:
    named = settings_from_toml(
        'threshold = 50\nepsilon = 1\nvalue_unit = "mg/kg"\nresolution = 8\nregion = "a.geojson"\n'
        '[data]\npath = "a.csv"\nvalue = "Pb [mg/kg]"\nx = "lon"\ny = "lat"\n'
    )
    assert named.called == "Pb"
    assert named.with_changes(value_name="lead").called == "lead"
