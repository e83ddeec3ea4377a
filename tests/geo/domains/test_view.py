"""What of the earth is drawn around a region: how far, and where the earth ends."""

from __future__ import annotations

import pytest

from geo.domains.view import Box, wide_box


@pytest.mark.parametrize(
    ("region", "box", "side", "stretch"),
    [
        ((0, 0, 1, 2), (-5.500914, -2, 6.500914, 4), 2, 1.000152),
        ((-10, 50, 10, 52), (-60, 32.120388, 60, 69.879612), 12.586408, 1.589016),
        ((10, 60, 10.01, 60.01), (9.704955, 59.93, 10.305045, 60.08), 0.05, 2.000302),
        ((-29, -1, 29, 1), (-174, -85, 174, 85), 58, 1.0),
        ((-29.9, -1, 29.9, 1), (-179, -85, 179, 85), 59.8, 1.0),
        ((-170, -20, 100, 20), (-214, -85, 144, 85), 270, 1.0),
        ((0, 80, 30, 89), (-164, 71, 194, 85), 9, 10.433431),
        ((0, 84, 30, 88), (-122.684559, 80, 152.684559, 85), 4, 11.473713),
        ((0, -89.5, 30, -60), (-164, -85, 194, -30.5), 29.5, 3.80183),
    ],
)
def test_three_sides_are_drawn_left_and_right_and_one_and_a_half_above_and_below(
    region: Box, box: Box, side: float, stretch: float
) -> None:
    """A side is at least .05 degrees; nothing is drawn twice around the earth or beyond 85 degrees."""
    found = wide_box(region)
    assert found[0] == pytest.approx(box, abs=1e-5)
    assert found[1:] == pytest.approx((side, stretch), abs=1e-5)
