"""While a large file is read a person sees how far it is; then how it was read, and how exactly."""

from __future__ import annotations

from pathlib import Path

import pytest

from data_loaders.files import blocks, codings
from hexcursion.errors import Cancelled
from hexcursion.project.load import _read_words, load_project, load_source
from hexcursion.project.model import HeldTable
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReleaseSettings:
    monkeypatch.setattr(blocks, "BLOCK", 1 << 13)
    monkeypatch.setattr(codings, "_CHUNK", 1 << 13)
    path = tmp_path / "readings.csv"
    with path.open("w") as file:
        file.write("lon,lat,value\n")
        file.writelines(f"-0.1{i % 7},51.5{i % 5},{i % 50:09d}\n" for i in range(100_000))
    return ReleaseSettings(
        data=SourceSettings(str(path), value="value", x="lon", y="lat"),
        value_unit="m",
        bbox=(-0.3, 51.4, 0.0, 51.7),
        resolution=6,
        threshold=20.0,
        centre=20.0,
        clip=25.0,
    )


def test_the_share_that_is_read_grows_to_the_whole(settings: ReleaseSettings) -> None:
    said: list[tuple[float, str]] = []
    load_project(settings, lambda fraction, text: said.append((fraction, text)))
    read = [(fraction, text) for fraction, text in said if " MB of 2 MB" in text]
    assert len(read) > 10
    assert read == sorted(read, key=lambda item: item[0])
    assert 0.2 < read[0][0] < 0.4  # Arrow reads some blocks ahead
    assert read[-1] == (pytest.approx(0.59), "Reading the private data, 2 MB of 2 MB")


def test_of_a_small_file_no_megabytes_are_said(tmp_path: Path) -> None:
    path, said = tmp_path / "few.csv", list[tuple[float, str]]()
    path.write_bytes(b"x" * 1_000)
    source = SourceSettings(str(path), value="value", x="lon", y="lat")
    _read_words(source, lambda share, text: said.append((share, text)))(250)
    assert said == [(0.25, "Reading the private data")]


def test_reading_can_be_cancelled(settings: ReleaseSettings) -> None:
    def cancelling(fraction: float, text: str) -> None:
        if " MB of " in text:
            raise Cancelled("cancelled")

    with pytest.raises(Cancelled):
        load_project(settings, cancelling)


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
    assert load_source(source, "m", table=held)[1].notes[0] == "Read with decimal point."
