"""The encoder on a line, its price, and the laws of the paper's synthetic studies."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core import gaussian_mu
from dpgp_core.spectral.cost import SpectralNoise
from hexcursion_peers.neural.line import (
    CELLS,
    CLIP,
    INSIDE,
    LINE,
    PIXELS,
    PLACES,
    LineEncoder,
    at_pixels,
    at_places,
)
from hexcursion_peers.neural.simulated.line_tasks import Law, LineSimulator
from hexcursion_peers.neural.weights import STORED_LINE, line_network

ENCODER = LineEncoder.shared()


def test_the_released_numbers_are_the_kernel_sums() -> None:
    """A record of 1 at -1.607 and one of -3, clipped to -2, at .502: sums of exp(-d^2/.08) by hand."""
    at, said = np.array([100, 640]), np.array([1.0, -3.0])
    np.testing.assert_allclose(PLACES[at], [-1.60742188, 0.50195312], atol=1e-8)
    sums, counts = ENCODER.released(at, said, SpectralNoise(1.0, 1.0), np.zeros)
    signal, density = CLIP * sums @ ENCODER.colour, counts @ ENCODER.colour
    pixels = [10, 40, 64, 80]
    np.testing.assert_allclose(PIXELS[pixels], [-2.0898438, -0.9179688, 0.0195312, 0.6445312], atol=1e-7)
    np.testing.assert_allclose(signal[pixels], [0.05452, 0.00263, -0.10905, -1.55122], atol=6e-4)
    np.testing.assert_allclose(density[pixels], [0.05452, 0.00263, 0.05452, 0.77561], atol=6e-4)


def test_no_pair_of_records_costs_more_than_the_price() -> None:
    """Budget (1, 1e-3): mu .3884012. Every pair of places, with equal and with opposite responses."""
    mu = float(gaussian_mu(1.0, 1e-3))
    noise = ENCODER.noise(mu)
    assert noise.counts is not None
    assert (noise.sums, noise.counts) == pytest.approx((5.149309, 5.150234), abs=1e-5)
    inner = ENCODER.features.values @ ENCODER.features.values.T
    square = np.diag(inner)[:, None] + np.diag(inner)
    moved = (square - 2.0 * inner) / noise.counts**2
    for sign in (-1.0, 1.0):
        costs = np.sqrt(moved + (square - 2.0 * sign * inner) / noise.sums**2)
        assert costs.max() <= mu
        assert costs.max() > (0.9999 if sign < 0 else 0.98) * mu
    # In units of the response the signal's noise is 10.3; one channel at a time, split evenly, takes 14.56.
    assert CLIP * noise.sums == pytest.approx(14.56446 / np.sqrt(2.0), rel=1e-4)


def test_values_between_pixels_and_places() -> None:
    np.testing.assert_allclose(at_places(PIXELS), PLACES, atol=1e-12)
    np.testing.assert_allclose(at_pixels(PLACES)[INSIDE], PIXELS[INSIDE], atol=1e-12)
    assert at_pixels(PLACES)[0] == PLACES[0]
    assert (CELLS, INSIDE.sum()) == (1_024, 102)


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (Law("eq", 0.71), 0.7804),
        (Law("matern", 0.71), 0.6555),
        (Law("periodic", 0.8), 0.1716),
        (Law("sawtooth", 0.5), 0.0),
        (Law("people", 2.0, 0.4), 0.9294),
    ],
)
def test_correlations_of_the_laws(law: Law, expected: float) -> None:
    """At a distance of .5, by formula; the sawtooth's is .2026 cos(pi/2) + .0507 cos(pi) = -.0507."""
    variance, found = law.covariance(np.array([0.0, 0.5]))
    if law.family == "sawtooth":
        assert (variance, found) == pytest.approx((0.2533, -0.0507), abs=1e-4)
    else:
        assert (variance, found) == pytest.approx((1.0, expected), abs=1e-4)


@pytest.mark.parametrize("family", ["eq", "matern", "periodic", "sawtooth"])
def test_fields_have_the_covariance_of_their_law(family: str) -> None:
    """2,000 fields; six standard errors of a product of two of them."""
    law, rng = Law(family, 0.6), np.random.default_rng(3)
    fields = np.array([law.field(rng)[[0, 100]] for _ in range(2_000)])
    variance, product = law.covariance(np.array([0.0, 100 * 4.0 / 1_024]))
    assert np.mean(np.square(fields)) == pytest.approx(variance, abs=6.0 * np.sqrt(2.0 / 2_000))
    assert np.mean(fields[:, 0] * fields[:, 1]) == pytest.approx(product, abs=6.0 * np.sqrt(1.0 / 2_000))


def test_a_sawtooth_by_hand() -> None:
    """Half a wave per unit, phase 1/8, at 0 and .25: (2/pi)(sin(pi/4) + 1/2) and (2/pi) sin(pi/2)."""
    found = Law("sawtooth", 0.5).sawtooth(np.array(0.125), np.array(1.0), np.array([0.0, 0.25]))
    np.testing.assert_allclose(found, [0.7684686, 0.6366198], atol=1e-6)


def test_the_shipped_line_network_was_trained() -> None:
    """64 tasks of another seed, all laws: with nothing released about 1.3, without privacy about -.1."""
    assert STORED_LINE.stat().st_size < 2_000_000
    assert sum(value.size for value in line_network().weights.values()) == 202_440
    assert (LINE.channels, LINE.context) == (11, 8)
    tasks = LineSimulator(99).tasks(64)
    mean, sd = (at_places(each.astype(float)) for each in line_network()(tasks.channels, tasks.context))
    apart = np.square(tasks.field - mean) + np.square(tasks.scatter)[:, None]
    nll = 0.5 * apart / np.square(sd) + np.log(sd) + 0.5 * np.log(2.0 * np.pi)
    assert float(nll.mean()) < 0.8
    within = np.abs(tasks.field - mean) < 1.6449 * sd
    assert float(within.mean()) > 0.86  # the stated deviation is that of a response, scatter and all
