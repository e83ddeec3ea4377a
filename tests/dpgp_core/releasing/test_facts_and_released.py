"""What is public, and what was released: refused where it cannot be, and put on the grid whole."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats
from dpgp_core.noise import SimulationEntropy, SystemEntropy
from dpgp_core.releasing import GRID, PublicFacts, Released, draw_release
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


def test_facts_are_printed_without_the_work_that_they_share() -> None:
    """The cache may hold whole matrices, and posteriors of reference records."""
    lattice = line(3)
    facts = PublicFacts(lattice, 2)
    assert "cache" not in repr(facts)
    assert repr(facts).startswith("PublicFacts(lattice=")
    prior = facts.prior("car", 900.0)
    assert facts.prior("car", 900.0) is prior
    assert (prior.name, prior.lengthscale, prior.size) == ("car", 900.0, 3)
    assert PublicFacts(lattice, 2, cache=facts.cache).cache is facts.cache
    said = (facts.relation, facts.places_public, facts.counts, facts.single, facts.parents, facts.store)
    assert said == ("replace-one", False, None, False, (), None)


def test_what_a_release_says_of_the_map_stays_as_it_is() -> None:
    """Its raw numbers and the map's deviation are neither rounded nor moved by a public mean."""
    map_sd, raw = np.array([0.3, 0.2]), (np.array([1.0 / 3.0]),)
    released = Released(PATHS, np.zeros(2), np.ones(2), raw, map_sd)
    for made in (released.on_grid(), released.shifted(np.ones(2))):
        assert made.map_sd is map_sd
        assert made.raw is raw
    bare = Released(PATHS).on_grid()
    assert (bare.mean, bare.sd, bare.raw, bare.map_sd) == (None, None, (), None)
    assert GRID == 1.0 / 1048576.0


def test_a_release_lies_above_a_level_with_this_probability() -> None:
    """Phi(1) = .8413 one deviation above the level, 1/2 at it; one level for all cells or each its own."""
    released = Released(PATHS, np.array([1.0, 0.5]), np.array([0.5, 2.0]))
    assert released.probability(0.5).tolist() == pytest.approx([0.84134475, 0.5])  # type: ignore[union-attr]
    below = released.probability(0.5, "below")
    assert below is not None
    assert below.tolist() == pytest.approx([0.15865525, 0.5])
    each = released.probability(np.array([1.0, -1.5]))
    assert each is not None
    assert each.tolist() == pytest.approx([0.5, 0.84134475])
    assert Released(PATHS).probability(0.5) is None


def test_a_cutoff_of_its_own_asks_for_mean_and_both_deviations() -> None:
    sure = Released(PATHS, np.array([1.0, -1.0]), np.ones(2), (), np.full(2, 0.5))
    assert 0.0 < sure.own_cutoff(0.0) < 1.0
    assert sure.own_cutoff(np.zeros(2)) == sure.own_cutoff(0.0, "above")
    for without in (
        Released(PATHS),
        Released(PATHS, np.zeros(2), np.ones(2)),
        Released(PATHS, map_sd=np.ones(2)),
    ):
        with pytest.raises(InvalidValue, match="does not say how sure the map is: take the design's cutoff"):
            without.own_cutoff(0.0)


def test_a_release_is_drawn_once_and_put_on_the_grid() -> None:
    drawn: list[object] = []

    class Ready:
        def draw(self, entropy: object) -> Released:
            drawn.append(entropy)
            return Released(PATHS + 0.4 * GRID)

    source = SystemEntropy()
    assert draw_release(Ready(), source).paths.tolist() == [[0.25, -0.5]]
    seeded = SimulationEntropy(1)
    assert draw_release(Ready(), seeded, simulation=True).paths.tolist() == [[0.25, -0.5]]
    assert drawn == [source, seeded]
    with pytest.raises(
        InvalidValue, match="must draw from SystemEntropy; a seeded source is for simulations"
    ):
        draw_release(Ready(), seeded)
    assert len(drawn) == 2
