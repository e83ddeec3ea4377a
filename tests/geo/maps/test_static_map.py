"""The printed map: the legend's colours in the right places and amounts, and the same bytes every time."""

from __future__ import annotations

import io
import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from geo import domain_from_bbox, domain_from_cells
from geo.colours import colour
from geo.context.surroundings import Place, Surroundings
from geo.maps.painting import paint_set
from geo.maps.static_map import _MapSheet, draw_map, round_length

DOMAIN = domain_from_bbox(-0.3, 51.4, 0.1, 51.6, 8)
EAST = DOMAIN.centres[:, 0] > 0
SET = paint_set(EAST, inside="at least $5 and $6", outside="below", title="Where it is at least $5")


def pixels(picture: bytes) -> NDArray[np.int64]:
    return np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")).astype(np.int64)


def places(picture: bytes, role: str) -> NDArray[np.int64]:
    text = colour(role, "light")
    wanted = np.array([int(text[k : k + 2], 16) for k in (1, 3, 5)])
    return np.argwhere((np.abs(pixels(picture) - wanted) <= 2).all(axis=2))


def test_classes_are_where_they_belong_and_as_large() -> None:
    picture = draw_map(DOMAIN, SET)
    inside, outside = places(picture, "inside"), places(picture, "outside")
    middle = pixels(picture).shape[1] / 2
    upper = pixels(picture).shape[0] * 0.7  # above the legend
    assert (inside[inside[:, 0] < upper][:, 1] > 0.95 * middle).all()
    assert (outside[outside[:, 0] < upper][:, 1] < 1.05 * middle).all()
    assert len(inside) / len(outside) == pytest.approx(EAST.sum() / (~EAST).sum(), rel=0.1)


def test_the_picture_is_a_png_of_the_asked_width_without_metadata() -> None:
    picture = draw_map(DOMAIN, SET, width=6.0, dpi=100)
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">I", picture[16:20])[0] == 600
    assert b"tEXt" not in picture
    assert b"tIME" not in picture


def test_the_same_map_has_the_same_bytes() -> None:
    arguments = {"subtitle": "ε = 1", "attribution": ["Contains data"]}
    assert draw_map(DOMAIN, SET, **arguments) == draw_map(DOMAIN, SET, **arguments)  # type: ignore[arg-type]


def test_text_makes_the_picture_taller_not_the_map_smaller() -> None:
    plain = draw_map(DOMAIN, SET)
    told = draw_map(DOMAIN, SET, subtitle="word " * 60, attribution=["a source " * 40, "another"])
    assert pixels(told).shape[1] == pixels(plain).shape[1]
    assert pixels(told).shape[0] > pixels(plain).shape[0]
    assert len(places(told, "inside")) == pytest.approx(len(places(plain, "inside")), rel=0.02)


def test_a_domain_across_the_antimeridian_is_one_piece() -> None:
    domain = domain_from_bbox(179.0, -18.0, -179.0, -16.0, 5, crosses_date_line=True)
    picture = draw_map(domain, paint_set(np.ones(domain.size, dtype=bool), inside="a", outside="b", title=""))
    columns = np.unique(places(picture, "inside")[:, 1])
    width = pixels(picture).shape[1]
    assert np.diff(columns).max() < 0.05 * width
    assert columns.max() - columns.min() > 0.7 * width


def test_one_cell_can_be_printed() -> None:
    domain = domain_from_cells(["88194ad001fffff"])
    mask = np.ones(1, dtype=bool)
    assert len(places(draw_map(domain, paint_set(mask, inside="a", outside="b", title="t")), "inside")) > 1000


def test_another_domain_is_refused() -> None:
    with pytest.raises(ValueError, match="the domain"):
        draw_map(domain_from_bbox(-0.3, 51.4, 0.1, 51.6, 6), SET)


@pytest.mark.parametrize(
    ("longest", "expected"),
    [(1.0, 1.0), (1.9, 1.0), (2.0, 2.0), (14_300, 10_000), (0.7, 0.5), (99_999, 50_000)],
)
def test_the_scale_bar_is_a_round_length(longest: float, expected: float) -> None:
    assert round_length(longest) == pytest.approx(expected)


def test_the_ground_and_names_are_drawn_around_the_cells_and_their_source_is_named() -> None:
    west, south, east, north = -1.0, 51.0, 0.7, 52.0
    land = np.array([(west, south), (0.0, south), (0.0, north), (west, north), (west, south)])
    known_places = (
        Place("Largest", -0.1, 51.5, 900_000),
        Place("Hidden", -0.1, 51.5, 10),
        Place("東京", 0.0, 51.45, 9),
    )
    known = Surroundings(box=(west, south, east, north), land=(land,), places=known_places)
    plain, named = draw_map(DOMAIN, SET), draw_map(DOMAIN, SET, around=known)
    assert named == draw_map(DOMAIN, SET, around=known)
    assert pixels(named).shape[0] > pixels(plain).shape[0]  # a line for the source
    assert len(places(named, "water")) > 1000 > len(places(plain, "water"))
    metres = np.array([20_000.0, 15_000.0])
    sheet = _MapSheet.showing(-metres, metres, (600, 400), 100, "#ffffff").reduced()
    assert sheet.names(known, DOMAIN.crs) == ("Largest",)


def test_metres_lie_in_the_middle_of_the_sheet_with_north_up() -> None:
    sheet = _MapSheet.showing(np.array([0.0, 0.0]), np.array([100.0, 50.0]), (200, 200), 100, "#ffffff")
    assert sheet.image.size == (400, 400)
    corners = np.array([(0.0, 0.0), (100.0, 50.0)])
    assert sheet.placed(corners).tolist() == [[0.0, 300.0], [400.0, 100.0]]
    assert sheet.reduced().placed(corners).tolist() == [[0.0, 150.0], [200.0, 50.0]]
    assert sheet.metres_per_inch == sheet.reduced().metres_per_inch == 50.0


def test_a_page_to_print_has_the_width_of_the_picture_and_the_same_bytes_every_time() -> None:
    page = draw_map(DOMAIN, SET, width=4.0, kind="pdf")
    assert page.startswith(b"%PDF-")
    assert b"/MediaBox [ 0 0 288.0 " in page  # points: 72 an inch
    assert b"Date" not in page
    assert page == draw_map(DOMAIN, SET, width=4.0, kind="pdf")


def test_a_point_of_an_own_layer_is_a_dot_on_a_wider_halo(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = SimpleNamespace(lines=(), points=np.array([[0.0, 51.5]]), dot=4.0, stroke=2.0, colour="#1f78b4")
    drawn: list[tuple[object, ...]] = []
    sheet: Any = SimpleNamespace(
        lines=lambda *given: drawn.append(given),
        placed=lambda metres: np.array([[30.0, 40.0]]),
        points=lambda size: size,
        dot=lambda *given: drawn.append(given),
    )
    around: Any = SimpleNamespace(own=(layer,))
    _MapSheet.own(sheet, around, "EPSG:3857")
    assert drawn == [
        ([], colour("halo", "light"), pytest.approx(1.92)),
        ([], "#1f78b4", pytest.approx(0.92)),
        (30.0, 40.0, pytest.approx(2.32), colour("halo", "light")),
        (30.0, 40.0, pytest.approx(1.32), "#1f78b4"),
    ]
