"""The field behind released paths: dense algebra, and calibrated probabilities for posterior sampling."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core.features import Nodes, leading_eigenpairs
from dpgp_core.noise.entropy import SimulationEntropy
from dpgp_core.posterior.fitting import fit
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.registry import Prior, make_prior
from dpgp_core.spectral import ClippedPrior, PublicPrior, read_paths
from tests.dpgp_core.features.worlds import dense_posterior
from tests.dpgp_core.hexmap import disk

RIDGE, SCALE, EXTRA = 2.0, 0.3, 0.1


def made(radius: int, name: str = "exponential") -> tuple[Nodes, Prior]:
    lattice = disk(radius, 3)
    return Nodes.of(lattice), make_prior(name, lattice, 1_500.0)


@pytest.mark.parametrize("extra", [0.0, EXTRA])
@pytest.mark.parametrize("count", [1, 3])
def test_the_posterior_given_paths_is_the_textbook_one(extra: float, count: int) -> None:
    nodes, prior = made(2)
    clipped = ClippedPrior.of(PublicPrior(-0.2, 0.6, 1.1))
    generator = np.random.default_rng(1)
    counts = generator.integers(1, 9, 19).astype(float)
    paths = generator.normal(0.0, 0.4, (count, 19))
    correlation = prior.correlation()
    weight = np.diag(counts / RIDGE**2)
    posterior = np.linalg.inv(np.linalg.inv(correlation) + weight)
    link = posterior @ weight
    noise = link @ np.diag(clipped.record_noise**2 / counts) @ link.T
    noise += (SCALE**2 * posterior + extra**2 * correlation) / count
    mean, covariance = dense_posterior(
        np.full(19, clipped.mean), clipped.deviation**2 * correlation, link, noise, paths.mean(axis=0)
    )
    found = read_paths(
        paths, nodes, leading_eigenpairs(prior, 19), clipped, counts,
        ridge=RIDGE, scale=SCALE, noise_scale=extra,
    )  # fmt: skip
    assert np.allclose(found.mean(), mean, atol=1e-7)
    assert np.allclose(found.deviation(), np.sqrt(np.diag(covariance)), atol=1e-6)


def exceedances(worlds: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Stated and true exceedances over worlds released by posterior sampling itself."""
    nodes, prior = made(6)
    pairs = leading_eigenpairs(prior, 127)
    field = PublicPrior(0.0, 0.7, 1.2)
    clipped = ClippedPrior.of(field)
    generator, entropy = np.random.default_rng(seed), SimulationEntropy(seed)
    density = np.exp(0.7 * prior.colour(generator.standard_normal((127, 1)))[:, 0])
    public = 600 * density / density.sum()
    stated, true = [], []
    for _ in range(worlds):
        truth = field.deviation * prior.colour(generator.standard_normal((127, 1)))[:, 0]
        cells = generator.choice(127, 600, p=density / density.sum())
        responses = np.clip(truth[cells] + field.scatter * generator.standard_normal(600), -1.0, 1.0)
        records = CollapsedRecords.from_records(cells, responses)
        path = fit(prior, records, RIDGE).draw(SCALE, 1, entropy, EXTRA)
        reading = read_paths(path, nodes, pairs, clipped, public, ridge=RIDGE, scale=SCALE, noise_scale=EXTRA)
        stated.append(reading.exceedance(0.2))
        true.append(truth > 0.2)
    return np.concatenate(stated), np.concatenate(true)


def gaps(stated: np.ndarray, true: np.ndarray) -> list[float]:
    tenth = np.minimum((10 * stated).astype(int), 9)
    return [float(true[tenth == k].mean() - stated[tenth == k].mean()) for k in range(10)]


def test_probabilities_from_one_path_are_nearly_calibrated() -> None:
    stated, true = exceedances(40, 5)
    assert float(stated.min()) < 0.05
    assert float(stated.max()) > 0.95
    assert max(map(abs, gaps(stated, true))) < 0.1


@pytest.mark.slow
def test_probabilities_from_one_path_are_calibrated_over_two_hundred_worlds() -> None:
    assert max(map(abs, gaps(*exceedances(200, 21)))) <= 0.03


def test_what_was_never_released_is_refused() -> None:
    nodes, prior = made(2)
    pairs, clipped = leading_eigenpairs(prior, 19), ClippedPrior.of(PublicPrior(0.0, 0.5, 1.0))
    ones = np.ones(19)
    with pytest.raises(ValueError, match="never released"):
        read_paths(ones, nodes, pairs, clipped, ones, ridge=1.0, scale=0.0)
    with pytest.raises(ValueError, match="one value per cell"):
        read_paths(np.ones(18), nodes, pairs, clipped, ones, ridge=1.0, scale=1.0)
    with pytest.raises(ValueError, match="some must be positive"):
        read_paths(ones, nodes, pairs, clipped, 0.0 * ones, ridge=1.0, scale=1.0)
