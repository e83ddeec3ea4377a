"""What any reader of the paper's signal channel can reach at best in one dimension: a closed form."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core import gaussian_mu

CLIP, WEIGHT, WIDTH, SCATTER = 2.0, 0.5, 0.2, 0.2
TASKS, TARGETS = 24, 128


def signal_noise(epsilon: float, delta: float) -> float:
    """Spec, 3.4: `2C/(sqrt(t) mu)`."""
    return 2.0 * CLIP / (np.sqrt(WEIGHT) * float(gaussian_mu(epsilon, delta)))


def kernel(first: np.ndarray, second: np.ndarray, width: float) -> np.ndarray:
    return np.asarray(np.exp(-np.square((first[:, None] - second[None, :]) / width) / 2.0))


def lower_bound(lengthscale: float, number: int, noise: float) -> float:
    """Mean NLL of targets given the signal channel at the records' known places, field and scatter known.

    Seen is `G y + noise e`, e of covariance G: the channel without clipping or density noise (spec, 5.4).
    """
    generator, found = np.random.default_rng(4), []
    for _ in range(TASKS):
        x, target = generator.uniform(-2, 2, number), generator.uniform(-2, 2, TARGETS)
        both = np.concatenate([x, target])
        prior = kernel(both, both, lengthscale)
        root = np.linalg.cholesky(prior + 1e-8 * np.eye(both.size))
        y = root @ generator.standard_normal(both.size) + SCATTER * generator.standard_normal(both.size)
        gram = kernel(x, x, WIDTH)
        value, vector = np.linalg.eigh(gram)
        kept = value > 1e-6 * value[-1]
        # in the eigenbasis of G, divided by the root of its eigenvalues, the noise is white
        white = vector[:, kept] * np.sqrt(value[kept])
        loading = white.T
        observed = loading @ y[:number] + noise * generator.standard_normal(int(kept.sum()))
        covariance = loading @ (prior[:number, :number] + SCATTER**2 * np.eye(number)) @ loading.T
        covariance += noise**2 * np.eye(covariance.shape[0])
        gain = np.linalg.solve(covariance, loading @ prior[:number, number:]).T
        mean = gain @ observed
        variance = 1.0 + SCATTER**2 - np.einsum("ij,ji->i", gain, loading @ prior[:number, number:])
        apart = np.square(y[number:] - mean) / variance
        found.append(0.5 * float(np.mean(apart + np.log(2.0 * np.pi * variance))))
    return float(np.mean(found))


def test_noise_of_the_papers_settings() -> None:
    found = [signal_noise(e, d) for e, d in ((1.0, 1e-3), (3.0, 1e-3), (1.0, 1e-5))]
    np.testing.assert_allclose(found, [14.56446, 5.867582, 21.10364], rtol=1e-6)
    density = np.sqrt(2.0) / (np.sqrt(0.5) * np.array([gaussian_mu(e, 1e-3) for e in (1.0, 3.0)]))
    np.testing.assert_allclose(density, [5.149314, 2.074503], rtol=1e-6)


@pytest.mark.parametrize(
    ("lengthscale", "number", "epsilon", "anchor"),
    [
        (0.71, 64, 1.0, 1.194),
        (0.71, 64, 3.0, 0.777),
        (0.71, 256, 3.0, 0.098),
        (2.0, 128, 1.0, 0.644),
        (0.25, 128, 3.0, 0.786),
    ],
)
def test_lower_bounds_of_the_spec(lengthscale: float, number: int, epsilon: float, anchor: float) -> None:
    """Spec, section 8: 128 tasks there, 24 here, so within .12."""
    found = lower_bound(lengthscale, number, signal_noise(epsilon, 1e-3))
    assert found == pytest.approx(anchor, abs=0.12)
    assert found < 0.5 * np.log(2.0 * np.pi * 1.04) + 0.5  # the prior alone: 1.43855
