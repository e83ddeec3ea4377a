"""Places with known noise are shared among hexagons by probability, and located in the likeliest."""

from __future__ import annotations

import math

import numpy as np
import pytest

from geo import domain_from_bbox
from geo.domains.domain import cell_shares, likeliest
from geo.errors import DomainError


def test_an_uncertain_place_is_shared_among_hexagons() -> None:
    sure, unsure = cell_shares(np.array([13.4, 13.4]), np.array([52.5, 52.5]), np.array([1.0, 2000.0]), 8)
    assert list(sure.values()) == [1.0]
    assert len(unsure) > 10
    assert sum(unsure.values()) == pytest.approx(1.0)
    assert likeliest([sure])[0][0] == next(iter(sure))
    # A hexagon of resolution 8 has 0.66 km2 here: a normal density of 2 km puts 3 % into the middle one.
    area, density = 0.66e6, 1.0 / (2.0 * math.pi * 2000.0**2)
    assert unsure.get(next(iter(sure)), 0.0) == pytest.approx(area * density, abs=0.02)


def test_a_place_beside_a_pole_stays_on_the_globe() -> None:
    """Half of its 192 places would lie beyond the pole: they lie in the pole's own hexagon."""
    (share,) = cell_shares(np.array([20.0]), np.array([90.0]), np.array([300_000.0]), 2)
    pole = likeliest(cell_shares(np.array([0.0]), np.array([90.0]), np.array([0.0]), 2))[0][0]
    assert share[pole] >= 0.5
    assert sum(share.values()) == pytest.approx(1.0)


@pytest.mark.slow
def test_shares_against_simulated_places() -> None:
    """300 m of noise at a place near an edge: probabilities are those of simulated places."""
    rng = np.random.default_rng(8)
    lon, lat, sd = 13.4043, 52.5031, 300.0
    (share,) = cell_shares(np.array([lon]), np.array([lat]), np.array([sd]), 8)
    metres = math.radians(1.0) * 6_371_007.0
    places = np.column_stack([lon, lat]) + sd * rng.normal(size=(20_000, 2)) / metres / np.array(
        [math.cos(math.radians(lat)), 1.0]
    )
    drawn = cell_shares(places[:, 0], places[:, 1], np.zeros(20_000), 8)
    counts: dict[str, float] = {}
    for one in drawn:
        for cell in one:
            counts[cell] = counts.get(cell, 0.0) + 1.0 / len(drawn)
    for cell, probability in share.items():
        assert counts.get(cell, 0.0) == pytest.approx(probability, abs=0.03)


def test_places_near_the_date_line_and_the_poles_have_hexagons() -> None:
    shares = cell_shares(np.array([180.0, 0.0]), np.array([0.0, 90.0]), np.array([5000.0, 5000.0]), 5)
    assert all(sum(share.values()) == pytest.approx(1.0) for share in shares)


def test_a_domain_takes_what_is_likeliest_inside_of_it() -> None:
    domain = domain_from_bbox(13.3, 52.45, 13.5, 52.55, 8)
    lon, lat = np.array([13.4, 13.4, 14.4]), np.array([52.5, 52.5, 52.5])
    index, probability = domain.locate_uncertain(lon, lat, np.array([0.0, 400.0, 10.0]))
    assert index[0] == domain.locate(lon[:1], lat[:1])[0]
    assert index[2] == -1
    assert probability[0] == 1.0
    assert 0.2 < probability[1] < 0.9


def test_deviations_are_metres() -> None:
    one = np.array([1.0])
    for bad in (np.array([-1.0]), np.array([np.nan])):
        with pytest.raises(DomainError, match="metres"):
            cell_shares(one, one, bad, 8)
    with pytest.raises(DomainError, match="one longitude"):
        cell_shares(one, one, np.zeros(2), 8)
