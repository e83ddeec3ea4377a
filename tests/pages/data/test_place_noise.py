"""The Data screen takes tables whose places carry known noise, and the statement of the trip behind them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from hexcursion.errors import WorkflowError
from hexcursion.releasing.allowed_paths import AllowedPaths, paths_in
from tests.pages.conftest import press
from tests.pages.data.test_owners import of, with_table, work_of

TRIP = {"format": "hexcursion-trace", "release_id": "0" * 16, "mu": 1.2, "radius_m": 200.0, "secrets": 1}
ROWS = [["lon", "lat", "sd_m", "no2"], *([10 + k / 100, 50.02, 60, 20.5 + k] for k in range(12))]
TABLE = "\n".join(",".join(map(str, row)) for row in ROWS).encode()


def test_noise_is_proposed_and_the_trip_is_taken(open_app: Callable[..., AppTest]) -> None:
    app = with_table(open_app, data=TABLE)
    assert of(app, "sensors_place_sd_").value == "sd_m"  # type: ignore[attr-defined]
    told = json.dumps(TRIP).encode()
    app.file_uploader(key="sensors_trip_upload").set_value(("statement.json", told, "application/json")).run()
    of(app, "sensors_unit_", "text_input").set_value("ug/m3").run()  # type: ignore[attr-defined]
    press(app, "Read the data")
    source = work_of(app).choices["data"]
    assert source.place_sd == "sd_m"
    assert Path(source.trip).name == "statement.json"
    assert "places uncertain by sd_m" in "".join(each.value for each in app.text)


def test_exact_places_name_no_trip(open_app: Callable[..., AppTest]) -> None:
    app = with_table(open_app, data=TABLE)
    of(app, "sensors_place_sd_").set_value(None).run()  # type: ignore[attr-defined]
    assert not [each for each in app.file_uploader if each.key == "sensors_trip_upload"]
    of(app, "sensors_unit_", "text_input").set_value("ug/m3").run()  # type: ignore[attr-defined]
    press(app, "Read the data")
    source = work_of(app).choices["data"]
    assert (source.place_sd, source.trip) == (None, None)


def test_a_settings_file_reaches_no_trip_outside_of_the_allowed_folders(tmp_path: Path) -> None:
    """Nor learns whether such a file is there."""
    table, elsewhere = tmp_path / "in" / "t.csv", tmp_path / "out" / "statement.json"
    table.parent.mkdir()
    given = {"data": {"path": str(table), "place_sd": "sd_m", "trip": str(elsewhere)}, "reference": None}
    assert paths_in(given) == (str(table), str(elsewhere))
    allowed = AllowedPaths((table.parent,), (), False)
    allowed.check(str(table))
    with pytest.raises(WorkflowError, match="reads files of its machine only below"):
        allowed.check(paths_in(given)[1])
