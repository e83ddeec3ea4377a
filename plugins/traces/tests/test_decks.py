"""The first view of a trip: its line and the circles around its records are seen whole."""

from __future__ import annotations

import numpy as np
import pytest

from hexcursion_traces.page.decks import Rings, TripLine, trip_deck

EAST, NORTH = np.array([5.0, 5.01]), np.array([52.0, 52.0])
LINE = TripLine("released", "path1", EAST, NORTH)


def view(*rings: Rings) -> tuple[float, float, float]:
    """Longitude and latitude of the middle, and the zoom."""
    state = trip_deck([LINE], rings, width=512, height=512).initial_view_state
    return state.longitude, state.latitude, state.zoom


def test_a_line_alone_fills_most_of_the_picture() -> None:
    assert view() == (5.005, 52.0, pytest.approx(14.901, abs=0.002))


def test_circles_are_seen_whole() -> None:
    """1,000 m around both ends, at 52 degrees: 0.0146 degrees of longitude on each side of 0.01."""
    rings = Rings("noise", "path1", EAST, NORTH, np.array([1000.0, 1000.0]))
    assert view(rings) == (5.005, 52.0, pytest.approx(12.931, abs=0.002))


def test_circles_at_a_pole_are_no_error() -> None:
    line = TripLine("released", "path1", EAST, np.array([89.9999, 90.0]))
    rings = Rings("noise", "path1", EAST, np.array([89.9999, 90.0]), np.array([1000.0, 1000.0]))
    assert trip_deck([line], [rings]).initial_view_state.zoom >= 0.0
