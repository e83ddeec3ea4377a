"""Many points are found in the cells in which H3 finds each."""

from __future__ import annotations

import h3
import numpy as np
import pytest

from geo import domain_from_bbox
from geo.domains import hexagons
from geo.domains.finding import CellFinder


@pytest.mark.parametrize("resolution", [0, 1, 2, 3, 6, 9, 15])
def test_every_point_of_the_world_lies_in_the_cell_that_h3_says(resolution: int) -> None:
    rng = np.random.default_rng(resolution)
    lat, lon = np.degrees(np.arcsin(rng.uniform(-1, 1, 3_000))), rng.uniform(-180, 180, 3_000)
    corners = [h3.cell_to_latlng(cell) for cell in h3.get_pentagons(0)]  # where five faces meet
    spread = 3.0 / 7.0 ** (resolution / 2)
    for at, around in corners:
        lat = np.append(lat, np.clip(at + spread * rng.normal(size=100), -90, 90))
        lon = np.append(lon, around + spread * rng.normal(size=100))
    numbers = hexagons.numbers_at(lon, lat, resolution)
    cells = np.unique(numbers)
    cells = cells[rng.random(cells.size) < 0.8]
    centres = np.array([h3.cell_to_latlng(h3.int_to_str(int(cell)))[::-1] for cell in cells])
    at = np.minimum(np.searchsorted(cells, numbers), cells.size - 1)
    found = CellFinder(cells, centres, resolution).find(lon, lat)
    np.testing.assert_array_equal(found, np.where(cells[at] == numbers, at, -1))
    assert (found < 0).any()


def test_h3_is_asked_about_few_of_many_points(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = domain_from_bbox(-0.3, 51.4, 0.1, 51.6, 8)
    rng = np.random.default_rng(2)
    lon, lat = rng.uniform(-0.5, 0.3, 6_000), rng.uniform(51.3, 51.7, 6_000)
    asked = []
    ask = hexagons.numbers_at
    monkeypatch.setattr(hexagons, "numbers_at", lambda x, y, r: asked.append(x.size) or ask(x, y, r))
    many = domain.locate(lon, lat)
    assert sum(asked) < 100
    parts = [domain.locate(lon[rows], lat[rows]) for rows in (slice(0, 3_000), slice(3_000, None))]
    assert sum(asked) > 6_000
    np.testing.assert_array_equal(many, np.concatenate(parts))
