"""The layout of the printed map in inches and points, what is usual for it, and what decides its parts."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import shapely
from PIL import Image

from geo import domain_from_bbox
from geo.colours import colour, steps
from geo.context.own_layers import Feature, OwnLayer
from geo.context.surroundings import NAMES_SOURCE, Place, Surroundings, around
from geo.maps import static_map
from geo.maps.painting import paint_set
from geo.maps.static_map import _MapSheet, _Sheet, draw_map

DOMAIN = domain_from_bbox(-0.06, 51.49, -0.04, 51.505, 8)
SET = paint_set(
    np.arange(DOMAIN.size) > 0,
    inside="at least 5 and a label that is so long that it needs two lines in a narrow picture",
    outside="below",
    title="Where it is at least five, which is a long heading for a picture",
)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Every line of text: inches from the left and the top, words, points, whether bold, anchor."""
    found: list[tuple[Any, ...]] = []

    def write(self: _Sheet, x: float, y: float, text: str, ink: str, size: float, **kind: Any) -> None:
        assert ink == colour("line")
        found.append(
            (round(x, 2), round(y, 2), text, size, kind.get("bold", False), kind.get("anchor", "la"))
        )

    monkeypatch.setattr(_Sheet, "write", write)
    return found


def test_every_line_of_text_has_its_place(written: list[tuple[Any, ...]]) -> None:
    picture = draw_map(
        DOMAIN,
        SET,
        subtitle="one record of a person is protected with epsilon one\ntwo",
        attribution=["Contains data of somebody"],
        width=4.0,
        dpi=40,
    )
    assert Image.open(io.BytesIO(picture)).size == (160, 263)
    expected = [
        (0.25, 0.2, "Where it is at least five, which", 13, True, "la"),
        (0.25, 0.46, "is a long heading for a picture", 13, True, "la"),
        (0.25, 0.76, "one record of a person is protected with epsilon", 9, False, "la"),
        (0.25, 0.94, "one", 9, False, "la"),
        (0.25, 1.12, "two", 9, False, "la"),
        (0.6, 5.56, "at least 5 and a label that is so long that it", 9, False, "lm"),
        (0.6, 5.77, "needs two lines in a narrow picture: 2", 9, False, "lm"),
        (0.6, 5.98, "below: 1", 9, False, "lm"),
        (3.56, 5.29, "200 m", 8, False, "ma"),
        (3.11, 5.24, "↑", 12, False, "mm"),
        (3.11, 5.35, "N", 8, False, "ma"),
        (0.25, 6.42, "Contains data of somebody", 7, False, "la"),
    ]
    assert sorted(written, key=str) == sorted(expected, key=str)  # in whatever order they are drawn


@pytest.mark.parametrize(("width", "below"), [(7.9, -0.15), (7.8, 0.27)])
def test_the_legend_of_a_narrow_picture_stands_below_the_scale_bar(
    written: list[tuple[Any, ...]], width: float, below: float
) -> None:
    """Beside it, a long line would run into the arrow of a long bar; inches from the bar's words down."""
    draw_map(DOMAIN, SET, width=width, dpi=20)
    first, scale = (next(y for _, y, text, *_ in written if text.startswith(each)) for each in ("at", "200"))
    assert first - scale == pytest.approx(below, abs=0.001)


def test_the_source_of_what_lies_around_is_the_last_line(written: list[tuple[Any, ...]]) -> None:
    town = Surroundings(places=(Place("Town", -0.05, 51.5, 9),))
    draw_map(DOMAIN, SET, around=town, attribution=["Mine"], dpi=20)
    assert [line[2] for line in written[-2:]] == ["Mine", NAMES_SOURCE]


def test_a_picture_is_a4_of_150_dots_an_inch_unless_asked() -> None:
    assert Image.open(io.BytesIO(draw_map(DOMAIN, SET))).width == 1240


@pytest.mark.parametrize(
    ("metres", "text"), [(4_000.0, "1 km"), (3_900.0, "500 m"), (40_000.0, "10 km"), (4.1, "1 m")]
)
def test_the_scale_bar_is_at_most_a_quarter_of_the_map(
    written: list[tuple[Any, ...]], metres: float, text: str
) -> None:
    """A map two inches wide of so many metres."""
    page = _Sheet.of(3.0, 1.0, 50, "#ffffff")
    static_map._scale_and_north(page, metres / 2.0, 2.0, 2.5, 0.5, colour("line"))
    assert written[0][2] == text


def test_metres_are_scaled_to_the_narrower_side_and_drawn_twice_as_fine() -> None:
    sheet = _MapSheet.showing(np.array([0.0, 0.0]), np.array([100.0, 50.0]), (200, 200), 50, "#ffffff")
    assert (sheet.image.size, sheet.dpi, sheet.scale) == ((400, 400), 100, 4.0)
    assert sheet.corner.tolist() == [0.0, 75.0]
    assert sheet.metres_per_inch == 25.0
    assert sheet.placed(np.array([[100.0, 0.0]])).tolist() == [[400.0, 300.0]]
    half = sheet.reduced()
    assert (half.image.size, half.dpi, half.scale, half.metres_per_inch) == ((200, 200), 50, 2.0, 25.0)
    assert half.points(72.0) == 50.0


def test_names_are_larger_for_larger_places_and_none_goes_over_another_or_the_edge() -> None:
    def written_of(*places: Place) -> tuple[str, ...]:
        sheet = _MapSheet.showing(np.array([-5e3, -5e3]), np.array([5e3, 5e3]), (300, 300), 100, "#ffffff")
        return sheet.names(Surroundings(places=places), "+proj=laea +lat_0=51.5 +lon_0=0")

    town, near, far = (
        Place("Town", 0.0, 51.5, 9),
        Place("Village", 0.0, 51.5005, 9),
        Place("Far", 0.0, 51.53, 9),
    )
    assert written_of(town, near, far) == ("Town", "Far")
    assert written_of(near, town) == ("Village",)
    assert written_of(Place("Edge", 0.0719, 51.5, 9), town) == ("Town",)
    assert written_of(Place("\u540d", 0.0, 51.5, 9)) == ()
    many = [Place(f"T{k}", -0.06 + 0.012 * (k % 10), 51.47 + 0.008 * (k // 10), 9) for k in range(40)]
    assert len(written_of(*many)) == 30


def test_steps_of_colour_are_spread_evenly_with_both_ends() -> None:
    assert steps("field", 1) == ("field6",)
    assert steps("field", 2) == ("field0", "field6")
    assert steps("field", 4) == ("field0", "field2", "field4", "field6")
    assert steps("field", 7) == tuple(f"field{k}" for k in range(7))
    for count in (0, 8):
        with pytest.raises(ValueError, match=f"the field colours have 1 to 7 steps, got {count}"):
            steps("field", count)


def test_own_layers_lie_around_the_longitude_of_the_region() -> None:
    layer = OwnLayer("a", (Feature("Over there", shapely.Point(179.0, 51.5)),))
    found = around(DOMAIN, [layer], world=False)
    assert found.middle == pytest.approx(-0.05, abs=0.01)
    assert found.own_names == (Place("Over there", 179.0, 51.5, 60_000),)
    assert Surroundings(own=(layer,), middle=-170.0).own_names[0].longitude == -181.0
    assert around(DOMAIN, world=False) == Surroundings()
    assert found.source == "", "nothing of the world is drawn"


def test_a_name_of_an_own_layer_stands_once() -> None:
    layer = OwnLayer("a", (Feature("TOWN", shapely.Point(0.0, 51.5)),))
    both = Surroundings(own=(layer,), places=(Place("Town", 0.1, 51.5, 9), Place("Other", 0.2, 51.5, 9)))
    assert [one.name for one in both.named] == ["TOWN", "Other"]
    assert [one.name for one in both.other_names] == ["Other"]
