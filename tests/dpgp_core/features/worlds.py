"""Small domains, public facts and noise sources for the tests of features and of spectral statistics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpgp_core.features.nodes import Nodes
from dpgp_core.noise import SimulationEntropy
from dpgp_core.spectral.cost import Relation
from dpgp_core.spectral.model import Prepared, SpectralModel, SpectralPlan
from dpgp_core.spectral.prior import PublicPrior
from dpgp_core.spectral.sums import GridRecords
from tests.dpgp_core.hexmap import disk

Ints = NDArray[np.int64]


class FakeNoise:
    """Rounded normal numbers from a seed, zero without one; remembers the scales it was asked for."""

    def __init__(self, seed: int | None = None) -> None:
        self.scales: list[float] = []
        self._entropy = None if seed is None else SimulationEntropy(seed)

    def rounded_normal(self, scale: float, size: int) -> Ints:
        self.scales.append(scale)
        if self._entropy is None:
            return np.zeros(size, dtype=np.int64)
        return np.rint(scale * self._entropy.normal(size)).astype(np.int64)


def hierarchy_of(radius: int, padding: int = 3) -> list[Ints]:
    """Two levels of parents of a disk's cells."""
    lattice = disk(radius, padding)
    return [Nodes.of(lattice, most).place for most in (8, 24)]


def model_on(radius: int = 5, **options: object) -> SpectralModel:
    """A model on a disk, with a hierarchy for the parent tree."""
    return SpectralModel(disk(radius, 3), hierarchy=hierarchy_of(radius), **options)  # type: ignore[arg-type]


def plan_for(
    strategy: str = "water-filled",
    *,
    mu: float = 0.5,
    density: float = 4.0,
    relation: Relation = "replace-one",
    field: PublicPrior | None = None,
    lengthscale: float = 1_500.0,
) -> SpectralPlan:
    """A plan with an exponential prior whose range is about four cells."""
    return SpectralPlan(
        strategy, "exponential", lengthscale, field or PublicPrior(0.0, 0.5, 1.0), mu, density, relation
    )


def prepared(strategy: str = "water-filled", radius: int = 5, **options: object) -> Prepared:
    """A prepared plan on a disk."""
    return model_on(radius).prepare(plan_for(strategy, **options))  # type: ignore[arg-type]


def some_records(cells: int, n: int, seed: int) -> GridRecords:
    """n records at random cells with random responses."""
    generator = np.random.default_rng(seed)
    return GridRecords.of(generator.integers(0, cells, n), generator.normal(0.1, 0.6, n))


def dense_posterior(
    prior_mean: Sequence[float] | np.ndarray,
    prior_covariance: np.ndarray,
    link: np.ndarray,
    noise: np.ndarray,
    seen: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of x ~ N(mean, covariance) given `seen = link x + N(0, noise)`, by the textbook."""
    gain = prior_covariance @ link.T @ np.linalg.inv(link @ prior_covariance @ link.T + noise)
    mean = np.asarray(prior_mean)
    return mean + gain @ (seen - link @ mean), prior_covariance - gain @ link @ prior_covariance
