"""Every stroke of a printed map, as it was found right: shapes, lines, texts and marks with their colours.

After a change that is meant: `RECORD=1 python -m pytest tests/geo/maps/test_recorded.py -n 0`, then read the
difference.
"""

from __future__ import annotations

import io
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from shapely import LineString, Point

from geo import domain_from_bbox
from geo.context.own_layers import Feature, OwnLayer
from geo.context.surroundings import Place, Surroundings
from geo.maps import static_map
from geo.maps.painting import Painting, paint_set, paint_three_way
from tests.records import agrees, hash_of, recorded_lines

PLACE = Path(__file__).with_name("recorded.txt")
DOMAIN = domain_from_bbox(-0.06, 51.49, -0.03, 51.51, 8)
EAST = np.linspace(0.0, 1.0, DOMAIN.size)
SET = paint_set(EAST > 0.5, inside="at least 5", outside="below", title="Where it is at least five")
AROUND = Surroundings(
    (-0.2, 51.4, 0.1, 51.6),
    land=(np.array([[-0.2, 51.4], [0.1, 51.4], [0.1, 51.5], [-0.045, 51.5], [-0.2, 51.49]]),),
    borders=(np.array([[-0.05, 51.4], [-0.04, 51.6]]),),
    places=(
        Place("Great", -0.05, 51.502, 500_000),
        Place("Upon it", -0.0501, 51.502, 499_999),
        Place("Little", -0.038, 51.495, 50_000),
        Place("Hamlet", -0.052, 51.494, 49_999),
        Place("Москва", -0.045, 51.498, 9_000_000),
        Place("Beyond", -0.06, 51.6, 1_000),
    ),
    own=(
        OwnLayer("Roads", (Feature("Way", LineString([(-0.06, 51.49), (-0.03, 51.51)])),), "#1f78b4", 3.0),
        OwnLayer("Stations", (Feature("Central", Point(-0.04, 51.505)),)),
    ),
    middle=-0.045,
)
DRAWN: dict[str, tuple[Painting, dict[str, Any]]] = {
    "a set": (SET, {"subtitle": "one record", "attribution": ["Contains data"]}),
    "a narrow one with its surroundings": (SET, {"around": AROUND, "width": 4.0}),
    "three classes with marks": (
        paint_three_way(np.sign(EAST.round(1) - 0.5), threshold="5", title="Where", empty=EAST < 0.2),
        {"around": AROUND, "dpi": 72, "colours": 16},
    ),
}


class Pen:
    """A pen that writes down what it draws."""

    def __init__(self, image: Image.Image, held: list[str]) -> None:
        self._pen, self._held, self._size = ImageDraw.ImageDraw(image), held, image.size

    def __getattr__(self, name: str) -> Any:
        def drawn(where: Any, *given: Any, **named: Any) -> None:
            at = np.asarray(where, dtype=float).ravel().round(1).tolist()
            rest = [said(one) for one in given]
            self._held.append(f"{self._size} {name} {rest} {named} @ {at}")
            getattr(self._pen, name)(where, *given, **named)

        return drawn


def said(one: Any) -> str:
    return f"{one.getname()[1]} {one.size:.1f}" if isinstance(one, ImageFont.FreeTypeFont) else str(one)


def strokes(held: list[str]) -> list[str]:
    """Neighbours of the same kind in one line: how many, the first, and all of them in a hash."""
    shown = []
    for kind, group in groupby(held, key=lambda line: line.split(" @ ")[0]):
        own = [line.split(" @ ")[1] for line in group]
        first = own[0] if len(own[0]) <= 60 else f"{own[0][:60]} …"
        shown.append(f"{len(own)} {kind} @ {first} {hash_of(' '.join(own))}")
    return shown


@pytest.mark.parametrize("name", DRAWN)
def test_a_map_is_drawn_as_it_was(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[str] = []
    monkeypatch.setattr(static_map.ImageDraw, "Draw", lambda image: Pen(image, held))
    painting, asked = DRAWN[name]
    picture = Image.open(io.BytesIO(static_map.draw_map(DOMAIN, painting, **asked)))
    agrees(PLACE, DRAWN, name, [*strokes(held), f"{picture.format} {picture.size} {picture.info.get('dpi')}"])


def test_nothing_is_kept_that_no_test_shows() -> None:
    assert set(recorded_lines(PLACE)) == set(DRAWN)
