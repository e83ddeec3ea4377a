"""Many points are found in the cells in which H3 finds each."""

from __future__ import annotations

import h3
import numpy as np
import pytest

from geo.domains import lookup


@pytest.mark.parametrize("resolution", [0, 1, 2, 3, 6, 9, 15])
def test_every_point_of_the_world_lies_in_the_cell_that_h3_says(
    resolution: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(resolution)
    lat, lon = np.degrees(np.arcsin(rng.uniform(-1, 1, 3_000))), rng.uniform(-180, 180, 3_000)
    spread = 3.0 / 7.0 ** (resolution / 2)
    for at, around in [h3.cell_to_latlng(cell) for cell in h3.get_pentagons(0)]:  # where five faces meet
        lat = np.append(lat, np.clip(at + spread * rng.normal(size=400), -90, 90))
        lon = np.append(lon, around + spread * rng.normal(size=400))
    want = [int(h3.latlng_to_cell(y, x, resolution), 16) for y, x in zip(lat, lon, strict=True)]
    assert lat.size > lookup.FEW
    assert lookup.numbers_at(lon, lat, resolution).tolist() == want
    assert lookup.numbers_at(lon[:9], lat[:9], resolution).tolist() == want[:9]


def test_h3_is_asked_about_few_of_many_points(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    lon, lat = rng.uniform(-0.1, 0.1, 6_000), rng.uniform(51.4, 51.5, 6_000)
    asked: list[int] = []
    ask = lookup._asked
    monkeypatch.setattr(lookup, "_asked", lambda x, y, r: asked.append(x.size) or ask(x, y, r))
    cells = np.unique(lookup.numbers_at(lon, lat, 7)).size
    assert cells < 50
    assert cells <= asked[0] < 70  # a cell on the edge of a face has two lattice points
    assert 0 < asked[1] < 60
