"""What is public, and what was released: refused where it cannot be, and put on the grid whole."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg.numerics import Floats
from dpgp_core.release.facts import PublicFacts
from dpgp_core.release.released import GRID, Released
from tests.dpgp_core.hexmap import line

PATHS = np.array([[0.25, -0.5]])


@pytest.mark.parametrize("n", [True, 2.5, 0, -3])
def test_the_number_of_records_is_a_whole_positive_one(n: float) -> None:
    with pytest.raises(InvalidValue, match=f"^n must be a whole number of records >= 1, got {n!r}.$"):
        PublicFacts(line(3), n)  # type: ignore[arg-type]


def test_public_counts_are_one_per_cell() -> None:
    lattice = line(3)
    with pytest.raises(InvalidValue, match=r"^the public counts need one number per cell of the domain.$"):
        PublicFacts(lattice, 1, counts=np.ones(lattice.size + 1))
    assert PublicFacts(lattice, 1, counts=np.ones(lattice.size)).n == 1


@pytest.mark.parametrize(
    "paths", [np.array([0.25, -0.5]), np.array([[0.25, np.nan]]), np.array([[np.inf, 0.0]])]
)
def test_paths_are_finite_rows(paths: Floats) -> None:
    with pytest.raises(InvalidValue, match=r"^released paths must be finite, one row per path.$"):
        Released(paths)


def test_mean_and_deviation_come_together_and_for_every_cell() -> None:
    with pytest.raises(InvalidValue, match=r"^a released mean and its standard deviation come together.$"):
        Released(PATHS, mean=np.zeros(2))
    with pytest.raises(InvalidValue, match=r"^a released mean and its standard deviation come together.$"):
        Released(PATHS, sd=np.zeros(2))
    for mean, sd in ((np.zeros(3), np.ones(2)), (np.zeros(2), np.ones(3))):
        with pytest.raises(
            InvalidValue, match=r"^the released mean and deviation need one number per cell.$"
        ):
            Released(PATHS, mean, sd)


@pytest.mark.parametrize(
    ("mean", "sd"), [([0.0, np.nan], [1.0, 1.0]), ([0.0, 0.0], [1.0, np.inf]), ([0.0, 0.0], [1.0, -0.001])]
)
def test_mean_and_deviation_are_finite_and_no_deviation_is_negative(
    mean: list[float], sd: list[float]
) -> None:
    with pytest.raises(InvalidValue, match="must be finite, the deviation not negative"):
        Released(PATHS, np.array(mean), np.array(sd))


def test_a_deviation_may_be_zero() -> None:
    assert Released(PATHS, np.zeros(2), np.array([0.0, 1.0])).sd is not None


def test_all_of_a_release_goes_onto_the_grid_and_deviations_upwards() -> None:
    made = Released(PATHS + 0.4 * GRID, np.array([0.6 * GRID, 0.0]), np.array([0.1 * GRID, 0.0])).on_grid()
    assert made.paths.tolist() == [[0.25, -0.5]]
    assert made.mean is not None
    assert made.mean.tolist() == [GRID, 0.0]
    assert made.sd is not None
    assert made.sd.tolist() == [GRID, 0.0]


def test_a_public_mean_is_added_to_paths_and_mean_and_widens_nothing() -> None:
    released, prior = Released(PATHS, np.array([1.0, 2.0]), np.array([0.5, 0.25])), np.array([0.125, -4.0])
    made = released.shifted(prior)
    assert made.paths.tolist() == [[0.375, -4.5]]
    assert made.mean is not None
    assert made.mean.tolist() == [1.125, -2.0]
    assert made.sd is not None
    assert made.sd.tolist() == [0.5, 0.25]
    assert released.shifted(None) is released
    bare = Released(PATHS).shifted(prior)
    assert bare.mean is None
    assert bare.paths.tolist() == [[0.375, -4.5]]


def test_releases_are_compared_as_objects() -> None:
    """Arrays in a field would make `==` an array: two releases are the same where they are one object."""
    one, other = Released(PATHS), Released(PATHS)
    assert one == one
    assert one != other
    assert len({one, other}) == 2
    lattice = line(3)
    assert PublicFacts(lattice, 2) != PublicFacts(lattice, 2)
