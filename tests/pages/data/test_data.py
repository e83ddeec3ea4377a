"""The Data screen in the test harness: uploads, paths, broken files, reading again, going back."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import pytest

from hexcursion.settings import ReleaseSettings
from pages.shared.session.workspace import UNREAD
from pages.shared.steps import COMPARE, DATA, HEXAGONS, PRIVACY
from tests.pages.conftest import press, texts
from tests.pages.data_steps import (
    TABLE,
    OpenApp,
    errors,
    iter_keys,
    kind,
    named,
    texts_of_sources,
    upload,
    uploaded_sales,
    uploaded_sensors,
    with_area,
    work_of,
)


def test_price_paid_files_are_uploaded_and_read(open_app: OpenApp, example: ReleaseSettings) -> None:
    app = uploaded_sales(open_app, example)
    work = work_of(app)
    assert work.kind == "sales"
    assert work.private is not None
    assert work.reference is not None
    assert work.choices["reference_public"] is True
    assert work.choices["value_unit"] == "GBP"
    assert "generated-demo-pp-2024.csv.gz (uploaded); postcodes from generated-demo-postcodes.csv.gz" in (
        texts_of_sources(app)
    )


def test_price_paid_files_are_named_by_path(open_app: OpenApp, example: ReleaseSettings) -> None:
    app = kind(open_app(DATA.path), "sales")
    app.segmented_control(key="sales_where").set_value("path").run()
    named(app, "sales_private", example.data.path)
    assert "Name a postcode lookup to go on." in texts(app)
    named(app, "sales_postcodes", example.data.postcodes)
    press(app, "Read the data")
    assert "(on this machine)" in texts_of_sources(app)
    assert work_of(app).choices["data"].path == example.data.path


def test_a_large_file_is_announced_before_it_is_read(
    open_app: OpenApp, example: ReleaseSettings, tmp_path: Path
) -> None:
    large = tmp_path / "pp-complete.csv"
    with large.open("wb") as file:
        file.truncate(40_000_000_000)  # takes no room
    app = kind(open_app(DATA.path), "sales")
    app.segmented_control(key="sales_where").set_value("path").run()
    named(app, "sales_private", example.data.path)
    named(app, "sales_postcodes", example.data.postcodes)
    assert "Expected where nothing else runs" not in texts(app)
    named(app, "sales_private", large)
    assert "of memory for reading the data for the first time; a second look is quicker." in texts(app)
    assert work_of(app).private is None


def zipped(*tables: tuple[str, str]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, text in tables:
            archive.writestr(name, text)
    return held.getvalue()


BROKEN = {
    "empty": (b"", "empty"),
    "binary": (bytes(range(256)) * 40, "binary data"),
    "pdf": (b"%PDF-1.4 not a table", "PDF"),
    "html": (b"<!DOCTYPE html><html><body>Not found</body></html>", "web page"),
    "cut short": (gzip.compress(TABLE.encode() * 3000)[:-200], "cut short"),
    "no rows": (b"lon,lat,no2\n", "no rows"),
    "one column": (b"only\n1\n2\n", "column"),
    "two other tables": (zipped(("a.csv", TABLE), ("b.csv", "x;y\n1;2\n")), "b.csv"),
    "huge row": (b"lon,lat,no2\n" + b"1," * 3_000_000 + b"1\n", "row"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_table_is_one_sentence_and_what_was_read_stays(open_app: OpenApp, name: str) -> None:
    data, word = BROKEN[name]
    app = uploaded_sensors(open_app)
    before = work_of(app).choices["data"]
    upload(app, "sensors_private", "broken.csv", data)
    ready = [button for button in app.button if button.label == "Read the data" and not button.disabled]
    if not errors(app) and ready:
        press(app, "Read the data")
    said = errors(app) or [texts(app)]
    assert len(errors(app)) <= 1
    assert word in said[0]
    assert "Traceback" not in said[0]
    assert work_of(app).choices["data"] == before
    assert "12 rows read, 12 kept" in texts(app)


def test_a_table_in_latin_1_is_read(open_app: OpenApp) -> None:
    text = "lon,lat,niveau d'été (µg/m3)\n" + "".join(f"{2 + i / 10},54.{i},{i}\n" for i in range(1, 9))
    app = upload(kind(open_app(DATA.path), "sensors"), "sensors_private", "été.csv", text.encode("latin-1"))
    press(app, "Read the data")
    assert "8 rows read, 8 kept" in texts(app)
    assert work_of(app).choices["value_name"] == "niveau d'été"


@pytest.mark.parametrize(
    ("codes", "word"),
    [
        (b"pcd,oseast1m,osnrth1m\nSW1A 1AA,529090,179645\n", "postcode table"),  # of another city
        (b"a,b,c\n1,2,3\n", "codes.csv"),
        (b"", "empty"),
    ],
    ids=["elsewhere", "wrong columns", "empty"],
)
def test_postcodes_that_do_not_fit_are_one_sentence(
    open_app: OpenApp, example: ReleaseSettings, codes: bytes, word: str
) -> None:
    app = uploaded_sales(open_app, example)
    size = work_of(app).private.size  # type: ignore[union-attr]
    upload(app, "sales_postcodes", "codes.csv", codes)
    press(app, "Read the data")
    assert len(errors(app)) == 1
    assert word in errors(app)[0]
    assert errors(app)[0].endswith("What was read before is still in use.")
    assert work_of(app).private.size == size  # type: ignore[union-attr]


def test_sensors_in_the_place_of_sales_are_one_sentence(open_app: OpenApp, example: ReleaseSettings) -> None:
    app = kind(open_app(DATA.path), "sales")
    upload(app, "sales_private", "sensors.csv", TABLE.encode())
    upload(app, "sales_postcodes", "codes.csv.gz", Path(str(example.data.postcodes)).read_bytes())
    press(app, "Read the data")
    assert len(errors(app)) == 1
    assert "sensors.csv" in errors(app)[0]
    assert work_of(app).private is None


def test_going_back_shows_which_files_are_in_use_and_reads_them_again(
    open_app: OpenApp, example: ReleaseSettings
) -> None:
    app = uploaded_sales(open_app, example)
    work = work_of(app)
    files = dict(work.uploads)
    app.switch_page(HEXAGONS.path).run()
    app.switch_page(DATA.path).run()
    for path in files.values():
        assert f"In use: **{Path(path).name.replace('_', chr(92) + '_')}**" in texts(app)
    press(app, "Read the data")
    assert work_of(app) is not work
    assert work_of(app).choices["data"] == work.choices["data"]
    [removing] = [button for button in app.button if button.key == "sales_reference_remove"]
    removing.click().run()
    press(app, "Read the data")
    assert work_of(app).reference is None


def test_the_screen_shows_the_kind_in_use_however_it_was_chosen(
    open_app: OpenApp, example: ReleaseSettings
) -> None:
    app = uploaded_sensors(open_app)
    kind(app, "example")
    press(app, "Use the generated example")
    assert work_of(app).kind == "example"
    kind(app, "sales")
    app.switch_page(HEXAGONS.path).run()
    app.switch_page(DATA.path).run()
    assert "In use: **sensors.csv**" not in texts(app)
    kind(app, "sensors")
    assert "In use: **sensors.csv**" in texts(app)  # taking the example did not lose the upload
    press(app, "Read the data")
    assert work_of(app).kind == "sensors"


@pytest.mark.slow
def test_reading_again_keeps_the_public_choices_of_the_same_kind(open_app: OpenApp) -> None:
    app = with_area(uploaded_sensors(open_app))
    domain = work_of(app).domain
    app.switch_page(DATA.path).run()
    assert app.text_input(key=next(iter_keys(app, "sensors_unit_"))).value == "ug/m3"
    press(app, "Read the data")
    assert work_of(app).domain is domain
    assert work_of(app).choices["threshold"] == 25.0
    app.switch_page(PRIVACY.path).run()
    assert app.number_input[0].value == 25.0
    app.switch_page(DATA.path).run()
    app.text_input(key=next(iter_keys(app, "sensors_unit_"))).set_value("index").run()
    press(app, "Read the data")
    assert work_of(app).domain is domain
    assert "threshold" not in work_of(app).choices  # 25 ug/m3 are not 25 of an index
    kind(app, "example")
    press(app, "Use the generated example")
    assert work_of(app).domain is None  # an area does not pass between real and invented places


def test_the_resolution_stays_and_an_area_that_fails_leaves_the_one_before(open_app: OpenApp) -> None:
    app = with_area(uploaded_sensors(open_app))
    app.switch_page(HEXAGONS.path).run()
    app.slider(key="resolution").set_value(6).run()
    size = work_of(app).domain.size  # type: ignore[union-attr]
    app.switch_page(DATA.path).run()
    app.switch_page(HEXAGONS.path).run()
    assert app.slider(key="resolution").value == 6
    assert [number.value for number in app.number_input][:4] == [2.0, 54.6, 2.5, 54.9]
    app.number_input(key=f"box_South_{work_of(app).mark}").set_value(60.0).run()
    assert len(errors(app)) == 1
    assert errors(app)[0].endswith("The hexagons shown are those of before.")
    assert work_of(app).domain.size == size  # type: ignore[union-attr]


def test_an_uploaded_area_follows_the_resolution_after_coming_back(
    open_app: OpenApp, example: ReleaseSettings
) -> None:
    app = uploaded_sales(open_app, example)
    app.switch_page(HEXAGONS.path).run()
    assert "Region of the example" not in app.radio[0].options
    upload(app, "region", "area.geojson", Path(str(example.region)).read_bytes())
    app.switch_page(DATA.path).run()
    app.switch_page(HEXAGONS.path).run()
    assert "In use: **area.geojson**" in texts(app)
    before = work_of(app).domain.size  # type: ignore[union-attr]
    app.slider(key="resolution").set_value(7).run()
    after = work_of(app).domain.size  # type: ignore[union-attr]
    assert 1 < after < before
    [removing] = [button for button in app.button if button.key == "region_remove"]
    removing.click().run()
    assert "Until another area is named" in texts(app)
    assert work_of(app).domain.size == after  # type: ignore[union-attr]


def test_public_places_are_a_choice_of_their_own_and_every_screen_says_what_it_costs(
    open_app: OpenApp,
) -> None:
    app = uploaded_sensors(open_app)
    question = app.radio(key=f"places_{work_of(app).mark}")
    assert question.label == "Are the places public?"
    assert question.value == "hidden"
    assert "Places are not protected" not in texts(app)
    question.set_value("public").run()
    assert not app.exception
    assert work_of(app).choices["places_public"] is True
    for screen in (DATA, HEXAGONS, COMPARE):
        app.switch_page(screen.path).run()
        assert "Places are not protected" in texts(app), screen.title
    app.switch_page(DATA.path).run()
    app.radio(key=f"places_{work_of(app).mark}").set_value("hidden").run()
    assert work_of(app).choices["places_public"] is False
    app.switch_page(HEXAGONS.path).run()
    assert "Places are not protected" not in texts(app)


def test_what_is_chosen_after_reading_is_said_to_be_unread_and_holds_the_way_on(open_app: OpenApp) -> None:
    app = uploaded_sensors(open_app)
    assert not app.warning
    assert work_of(app).missing_for(HEXAGONS) is None
    unit = next(iter_keys(app, "sensors_unit_"))
    app.text_input(key=unit).set_value("index").run()
    assert [warning.value for warning in app.warning] == [
        "The files or choices above have changed since the data were read: press 'Read the data' to use "
        "them. What was read before is still in use, as it is described below."
    ]
    assert work_of(app).missing_for(HEXAGONS) == UNREAD
    app.text_input(key=unit).set_value("ug/m3").run()
    assert not app.warning
    assert work_of(app).missing_for(HEXAGONS) is None
    app.text_input(key=unit).set_value("index").run()
    press(app, "Read the data")
    assert not app.warning
    assert work_of(app).missing_for(HEXAGONS) is None
    assert work_of(app).choices["value_unit"] == "index"


def test_a_value_is_called_what_a_person_calls_it(open_app: OpenApp) -> None:
    app = upload(kind(open_app(DATA.path), "sensors"), "sensors_private", "a.csv", TABLE.encode())
    name = next(iter_keys(app, "sensors_name_"))
    assert app.text_input(key=name).value == "no2"
    app.text_input(key=name).set_value(" nitrogen dioxide ").run()
    press(app, "Read the data")
    work = work_of(app)
    assert (work.choices["value_name"], work.choices["data"].value) == ("nitrogen dioxide", "no2 (ug/m3)")
    app.switch_page(HEXAGONS.path).run()
    app.switch_page(DATA.path).run()
    assert app.segmented_control(key="data_kind").value == "sensors"
    assert app.text_input(key=name).value.strip() == "nitrogen dioxide"
    assert not app.warning
