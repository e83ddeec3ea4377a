"""What the conversion of coordinates may lose is said with what was read, and how that was written."""

from __future__ import annotations

from pathlib import Path

from hexcursion.project.load import load_source
from hexcursion.project.model import HeldTable
from hexcursion.settings.data_settings import SourceSettings

NOTE = "Coordinates in EPSG:27700 are converted to longitude and latitude to about 2 m"


def test_the_british_grid_is_placed_to_about_two_metres(tmp_path: Path) -> None:
    table = tmp_path / "readings.csv"
    table.write_text("easting,northing,value\n530000,180000,20\n531000,181000,30\n")
    source = SourceSettings(str(table), value="value", x="easting", y="northing", crs="EPSG:27700")
    for _ in range(2):  # the second is remembered
        _, report = load_source(source, "m")
        assert [note for note in report.notes if note.startswith(NOTE)] == [report.notes[-1]]


def test_longitude_and_latitude_lose_nothing(tmp_path: Path) -> None:
    table = tmp_path / "readings.csv"
    table.write_text("lon,lat,value\n-0.1,51.5,20\n-0.2,51.6,30\n")
    _, report = load_source(SourceSettings(str(table), value="value", x="lon", y="lat"), "m")
    assert not any("converted" in note for note in report.notes)


def test_a_table_in_memory_has_no_delimiter(tmp_path: Path) -> None:
    rows = "lon,lat,value\n-0.1,51.5,20.5\n-0.2,51.6,30.5\n"
    (tmp_path / "readings.csv").write_text(rows)
    source = SourceSettings(str(tmp_path / "readings.csv"), value="value", x="lon", y="lat")
    said = "Read with delimiter comma, decimal point, encoding utf-8."
    assert load_source(source, "m")[1].notes[0] == said
    held = HeldTable(rows.encode(), "0" * 64)
    assert load_source(source, "m", held=held)[1].notes[0] == "Read with decimal point."
