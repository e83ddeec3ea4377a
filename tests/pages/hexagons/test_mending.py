"""Mending an area: a stop where no row lies inside, axes exchanged, one named part of a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from hexcursion.project import model
from hexcursion.project.area import NamedArea
from hexcursion.project.example import EXAMPLE_DISTRICTS
from hexcursion.settings import ReleaseSettings
from hexcursion.settings.data_settings import SourceSettings
from pages.shared.session.previews import columns_of, domain_of, facts_of, look_at, stray
from pages.shared.steps import DATA, HEXAGONS, PRIVACY
from tests.pages.conftest import OpenApp, press
from tests.pages.data_steps import work_of

BOX, TURNED = (2.0, 54.6, 2.4, 55.0), (54.6, 2.0, 55.0, 2.4)
ROWS = [(2.0 + 0.01 * (i % 40), 54.6 + 0.01 * (i // 40), 20 + i % 40) for i in range(1600)]


def at_hexagons(open_app: OpenApp, box: tuple[float, float, float, float], *, swapped: bool) -> AppTest:
    """Sensors read, with the two columns exchanged or not, and a box asked for."""
    app = open_app(DATA.path)
    work = work_of(app)
    table = "a,b,no2\n" + "".join(f"{x},{y},{value}\n" for x, y, value in ROWS)
    path = str(work.folder.keep("town.csv", table.encode()))
    x, y = ("b", "a") if swapped else ("a", "b")
    work.choose(data=SourceSettings(path, value="no2", x=x, y=y, crs="EPSG:4326"), value_unit="ug/m3")
    work.choose(bbox=box, region=None, resolution=6)
    work.private = look_at(work.choices["data"], "ug/m3")
    work.asked_domain, work.domain = (None, box, 6), domain_of(NamedArea(None, box), 6)
    app.switch_page(HEXAGONS.path).run()
    assert not app.exception
    return app


def errors(app: AppTest) -> str:
    return " ".join(str(error.value) for error in app.error)


@pytest.mark.parametrize(
    ("swapped", "box", "button"),
    [
        (True, BOX, "Exchange the two columns of the data"),
        (False, TURNED, "Exchange longitude and latitude of the area"),
    ],
)
def test_exchanged_axes_stop_the_way_on_until_a_click_mends_them(
    open_app: OpenApp, swapped: bool, box: tuple[float, float, float, float], button: str
) -> None:
    app = at_hexagons(open_app, box, swapped=swapped)
    assert "No row lies inside this area." in errors(app)
    assert "look swapped" in errors(app)
    assert work_of(app).missing_for(PRIVACY) is not None
    press(app, button)
    assert errors(app) == ""
    work = work_of(app)
    assert work.missing_for(PRIVACY) is None
    assert work.asked_domain == (None, BOX, 6)
    assert (work.choices["data"].x, work.choices["data"].y) == ("a", "b")


def test_rows_somewhere_else_are_no_exchange(open_app: OpenApp) -> None:
    app = at_hexagons(open_app, (12.0, 54.6, 12.4, 55.0), swapped=False)
    assert "The points are around longitude 2.2" in errors(app).replace("\\", "")
    assert not [button for button in app.button if button.label.startswith("Exchange")]


def test_counts_of_a_sample_say_so(open_app: OpenApp) -> None:
    work = work_of(at_hexagons(open_app, BOX, swapped=False))
    facts = facts_of(work.domain, work.private)
    assert facts.inside.startswith("about ")
    assert facts.basis == (
        "Of a sample of 803 of the 1,600 rows; the search and the release count all of them."
    )
    assert stray(work.domain, work.private) is None


@pytest.mark.parametrize(("most", "asked"), [(0.5, False), (0.01, True)])
def test_rows_at_the_rim_of_a_box_are_a_question(
    most: float, asked: bool, open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "MOST_DROPPED", most)
    app = at_hexagons(open_app, BOX, swapped=False)
    assert any("Many rows lie outside" in warning.value for warning in app.warning) is asked


def test_a_named_part_of_a_file_becomes_the_area(open_app: OpenApp, example: ReleaseSettings) -> None:
    app = press(open_app(DATA.path), "Use the generated example")
    app.switch_page(HEXAGONS.path).run()
    districts = Path(work_of(app).choices["data"].path).with_name(EXAMPLE_DISTRICTS)
    app.radio(key=f"region_way_{work_of(app).mark}").set_value("path").run()
    app.text_input(key=f"region_path_{work_of(app).mark}").set_value(str(districts)).run()
    [part] = [box for box in app.multiselect if box.label == "Parts of the file"]
    assert len(part.options) == 12
    whole = work_of(app).domain.size
    part.set_value(["North Deep"]).run()
    assert not app.exception
    one = work_of(app).domain.size
    assert 0 < one < whole / 4
    assert work_of(app).choices["features"] == ("North Deep",)
    assert work_of(app).choices["region"] == str(districts)
    [part] = [box for box in app.multiselect if box.label == "Parts of the file"]
    part.set_value(["North Deep", part.options[0]]).run()
    assert one < work_of(app).domain.size < whole / 2
    assert "North Deep" in next(iter(columns_of(str(districts)).values()))
