"""Settings for a later visit: uploads under their bare names, and matched by name when they come back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexcursion.errors import WorkflowError
from hexcursion.settings import ReleaseSettings, SourceSettings, settings_from_toml
from pages.shared.session.saving import portable_settings, settings_with_files, source_words
from pages.shared.uploads import PrivateFolder

BOX = (0.0, 51.0, 1.0, 52.0)


def sensors(path: str) -> SourceSettings:
    return SourceSettings(path, value="no2", x="lon", y="lat", where=(("year", "2023"),))


@given(name=st.text(min_size=1, max_size=30), data=st.binary(max_size=20))
def test_uploads_come_back_by_name_and_no_folder_of_the_session_is_written(name: str, data: bytes) -> None:
    before, after = PrivateFolder(), PrivateFolder()
    settings = ReleaseSettings(data=sensors(str(before.keep(name, data))), threshold=1.0, bbox=BOX)
    text = portable_settings(settings, before)
    assert str(before.path) not in text
    kept = after.keep(name, data)
    back = settings_with_files(text, {kept.name: str(kept)})
    assert back.data.path == str(kept)
    assert back.with_changes(data=settings.data) == settings


def test_every_uploaded_file_is_renamed_and_a_server_path_stays(tmp_path: Path) -> None:
    folder = PrivateFolder()
    lookup, region = folder.keep("codes.csv", b"1"), folder.keep("area.geojson", b"2")
    settings = ReleaseSettings(
        data=SourceSettings(str(tmp_path / "pp-2018.csv"), str(lookup)),
        reference=SourceSettings(str(folder.keep("pp-2017.csv", b"3")), str(lookup)),
        region=str(region),
        threshold=1.0,
    )
    written = settings_from_toml(portable_settings(settings, folder))
    assert written.data == SourceSettings(str(tmp_path / "pp-2018.csv"), "codes.csv")
    assert written.reference == SourceSettings("pp-2017.csv", "codes.csv")
    assert written.region == "area.geojson"


def test_an_uploaded_population_is_renamed_too() -> None:
    """The saved file named a folder of the server, and came back without the population."""
    before, after = PrivateFolder(), PrivateFolder()
    settings = ReleaseSettings(
        data=SourceSettings(str(before.keep("cases.csv", b"1")), x="lon", y="lat"),
        values="count",
        population_file=str(before.keep("people.csv", b"2")),
        record_word="case",
        threshold=1.2,
        bbox=BOX,
    )
    text = portable_settings(settings, before)
    assert str(before.path) not in text
    uploads = {name: str(after.keep(name, b"1")) for name in ("cases.csv", "people.csv")}
    assert settings_with_files(text, uploads).population_file == uploads["people.csv"]


def test_two_uploads_of_one_name_are_refused_rather_than_mixed_up() -> None:
    folder = PrivateFolder()
    settings = ReleaseSettings(
        data=sensors(str(folder.keep("table.csv", b"private"))),
        reference=sensors(str(folder.keep("table.csv", b"public"))),
        threshold=1.0,
        bbox=BOX,
    )
    with pytest.raises(WorkflowError, match="rename one"):
        portable_settings(settings, folder)
    same = settings.with_changes(reference=settings.data)
    assert settings_from_toml(portable_settings(same, folder)).data.path == "table.csv"


def test_a_file_that_is_missing_is_asked_for_by_name() -> None:
    folder = PrivateFolder()
    settings = ReleaseSettings(data=sensors(str(folder.keep("t.csv", b"1"))), threshold=1.0, bbox=BOX)
    text = portable_settings(settings, folder)
    with pytest.raises(WorkflowError, match=r"'t\.csv': upload it"):
        settings_with_files(text, {"other.csv": "/nowhere/other.csv"})


def test_the_words_name_the_file_and_how_it_is_read(tmp_path: Path) -> None:
    folder = PrivateFolder()
    counted = SourceSettings("t.csv", x="lon", y="lat")
    assert (
        source_words(counted, folder) == "t.csv (on this machine); each row a record at lon, lat (EPSG:4326)"
    )
    points = SourceSettings("t.gpkg", value="pm")
    assert "; value pm at the file's points (EPSG:4326)" in source_words(points, folder)
    words = source_words(sensors(str(folder.keep("t.csv", b"1"))), folder)
    assert words == "t.csv (uploaded); value no2 at lon, lat (EPSG:4326); rows where year is 2023"
    sales = SourceSettings(str(tmp_path / "pp.csv"), str(tmp_path / "codes.csv"), years=(2017, 2018))
    assert source_words(sales, folder) == (
        "pp.csv (on this machine); postcodes from codes.csv; years 2017, 2018"
    )
