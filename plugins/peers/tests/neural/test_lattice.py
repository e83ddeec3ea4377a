"""From cells to the lattice and back: the window is public, fixed and the same for all records."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core.errors import InvalidValue
from hexcursion_peers.neural.lattice import AXIS, SIDE, Window
from tests.dpgp_core.hexmap import disk, line


def test_a_window_holds_the_domain_with_a_margin() -> None:
    lattice = disk(9, spacing=400.0)
    window = Window.of(lattice.domain_centres, lattice.spacing)
    assert window.half == pytest.approx(9 * 400.0 / 0.9)
    np.testing.assert_allclose(window.centre, 0.0, atol=1e-9)
    assert np.abs(window.places).max() == pytest.approx(0.9)
    assert window.spacing == pytest.approx(0.1)


def test_shifting_the_domain_changes_nothing_but_the_middle() -> None:
    lattice = disk(6)
    one = Window.of(lattice.domain_centres, 400.0)
    other = Window.of(lattice.domain_centres + np.array([5e5, -2e5]), 400.0)
    np.testing.assert_allclose(one.places, other.places, atol=1e-9)
    np.testing.assert_allclose(other.centre - one.centre, [5e5, -2e5], atol=1e-6)


def test_pixels_come_back_at_cells_as_a_plane_is_a_plane() -> None:
    """Bilinear weights: linear functions are carried exactly, and every row of weights sums to 1."""
    lattice = disk(9)
    window = Window.of(lattice.domain_centres, 400.0)
    plane = 0.3 + 2.0 * AXIS[:, None] - 0.7 * AXIS[None, :]
    expected = 0.3 + 2.0 * window.places[:, 0] - 0.7 * window.places[:, 1]
    np.testing.assert_allclose(window.reading @ plane.ravel(), expected, atol=1e-12)
    np.testing.assert_allclose(window.reading.sum(axis=1), 1.0, atol=1e-12)
    assert window.reading.shape == (lattice.size, SIDE * SIDE)
    assert window.reading.data.min() >= 0.0


def test_the_mask_is_where_cells_are() -> None:
    lattice = disk(20)
    mask = Window.of(lattice.domain_centres, 400.0).mask
    assert not mask[0, 0]
    assert mask[SIDE // 2, SIDE // 2]
    reach = 0.9 + 0.75 * 2.0 / SIDE  # a hexagon of cells, and three quarters of a pixel around it
    assert mask.mean() == pytest.approx(3.0 * np.sqrt(3.0) / 8.0 * reach**2, abs=0.01)


def test_a_row_of_cells_has_a_window_too() -> None:
    lattice = line(5)
    window = Window.of(lattice.domain_centres, 400.0)
    assert np.abs(window.places[:, 1]).max() == 0.0
    assert window.half == pytest.approx(800.0 / 0.9)
    assert Window.of(np.zeros((1, 2)), 400.0).half == pytest.approx(400.0 / 0.9)


def test_places_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidValue, match="finite cell centres"):
        Window.of(np.array([[0.0, np.nan]]), 400.0)
