"""Many points are found in the cells in which H3 finds each."""

from __future__ import annotations

import h3
import numpy as np
import pytest

from geo.domains import lookup


@pytest.mark.parametrize("resolution", [0, 1, 9, 15])
def test_every_point_of_the_world_lies_in_the_cell_that_h3_says(resolution: int) -> None:
    rng = np.random.default_rng(resolution)
    lat, lon = np.degrees(np.arcsin(rng.uniform(-1, 1, 300))), rng.uniform(-180, 180, 300)
    want = [int(h3.latlng_to_cell(y, x, resolution), 16) for y, x in zip(lat, lon, strict=True)]
    assert lookup.numbers_at(lon, lat, resolution).tolist() == want
