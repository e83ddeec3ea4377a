"""The network behind spectral statistics: its way to the lattice and back, and its simulated releases."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtri

from dpgp_core.errors import InvalidValue
from dpgp_core.spectral.model import PublicCounts, SpectralModel, SpectralPlan
from dpgp_core.spectral.prior import PublicPrior, unclipped
from dpgp_core.spectral.reading import FieldPosterior
from dpgp_core.spectral.sums import GridRecords, release_sums
from hexcursion_peers.neural.corrected import CORRECTION, NEUTRAL, Correction, Reading, context_of, read_twice
from hexcursion_peers.neural.lattice import AXIS, SIDE, Window
from hexcursion_peers.neural.network import LEAST_SD, Network
from hexcursion_peers.neural.simulated import train
from hexcursion_peers.neural.simulated.corrected_tasks import SimulatedNoise, make_pool, pixel_lattice
from hexcursion_peers.neural.simulated.tasks import finer
from hexcursion_peers.neural.weights import STORED_CORRECTION, network
from plugins.peers.studies.convcnp import round_lattice

LATTICE = round_lattice(721)
WAY = Correction(Window.of(LATTICE.centres, LATTICE.spacing))
FLAT = {name: np.zeros(shape, np.float32) for name, shape in CORRECTION.shapes().items()}


def reading_of(mean: np.ndarray, sd: float) -> Reading:
    same = np.full(mean.size, sd)
    return Reading(mean, same, mean / 2.0, 2.0 * same, np.full(mean.size, 4.0))


def with_head(shift: float, log_odds: float) -> Network:
    """A network that says the same everywhere."""
    return Network({**FLAT, "head.bias": np.array([shift, log_odds], np.float32)}, CORRECTION)


def test_a_network_of_zeros_leaves_the_reading_as_it_is() -> None:
    mean = np.sin(np.arange(LATTICE.size))
    found = WAY.apply(with_head(0.0, 0.0), [reading_of(mean, 0.3)] * 2, np.zeros(7, np.float32), 0.1, 0.4)
    np.testing.assert_allclose(found[0], [mean, mean], atol=1e-12)
    np.testing.assert_allclose(found[1], 0.3, rtol=1e-6)


def test_what_the_network_says_is_in_units_of_the_spread_and_of_the_deviation() -> None:
    """.5 at spread .4 is .2; a head of 2 states log(1 + e^2) + .02 = 2.1469 where one of 0 states .7131."""
    mean = np.zeros(LATTICE.size)
    found = WAY.apply(with_head(0.5, 2.0), [reading_of(mean, 0.3)], np.zeros(7, np.float32), 0.1, 0.4)
    np.testing.assert_allclose(found[0], 0.2, rtol=1e-6)
    np.testing.assert_allclose(found[1], 0.3 * 2.146928 / 0.7131472, rtol=1e-5)
    narrow = WAY.apply(with_head(0.0, -9.0), [reading_of(mean, 0.3)], np.zeros(7, np.float32), 0.1, 0.4)
    np.testing.assert_allclose(narrow[1], 0.3 * (LEAST_SD + 1.2340e-4) / NEUTRAL, rtol=1e-3)


def test_pixels_hold_the_means_of_their_cells() -> None:
    weights = WAY.gather
    np.testing.assert_allclose(np.asarray(weights.sum(axis=1)).ravel(), 1.0)
    plane = 2.0 * WAY.window.places[:, 0] - WAY.window.places[:, 1]
    pixels = (weights @ plane).reshape(SIDE, SIDE)
    wanted = 2.0 * AXIS[:, None] - AXIS[None, :]
    assert np.abs(pixels - wanted)[WAY.mask].max() < 0.13  # two pixels' worth, at the edge
    assert np.abs(pixels - wanted)[8:24, 8:24].max() < 0.03


def test_the_channels_are_in_units_of_the_belief() -> None:
    found = WAY.channels(reading_of(np.full(LATTICE.size, 0.5), 0.3), 0.1, 0.4)
    assert found.shape == (6, 32, 32)
    inside = found[:, WAY.mask]
    expected = [1.0, 0.75, 0.375, 1.5, 2.0, 1.0]
    np.testing.assert_allclose(inside, np.repeat(np.array(expected)[:, None], inside.shape[1], 1), rtol=1e-6)
    assert not found[-1][~WAY.mask].any()


def test_the_first_reading_is_that_of_spectral_statistics() -> None:
    model, rng = SpectralModel(LATTICE), np.random.default_rng(3)
    plan = SpectralPlan(
        "water-filled", "exponential", 3000.0, PublicPrior(0.1, 0.4, 1.0), 1.0, 2.0, signal=0.5, rough=True
    )
    prepared = model.prepare(plan)
    records = GridRecords.of(rng.integers(0, LATTICE.size, 1_500), rng.uniform(-1.0, 1.0, 1_500))
    released = release_sums(prepared.features, prepared.nodes, records, prepared.noise, SimulatedNoise(rng))
    known = PublicCounts("unknown", 1_500.0)
    found = read_twice(model, prepared, released, known)
    reader = prepared.reader(prepared.counts(known, released.counts))
    posterior = FieldPosterior(reader, released.sums)
    _, mean, sd = unclipped(
        posterior.mean(), posterior.deviation(), prepared.prior, np.empty((0, LATTICE.size))
    )
    np.testing.assert_allclose(found.mean, mean, atol=1e-9)
    np.testing.assert_allclose(found.sd, sd, atol=1e-9)
    assert found.other_sd.mean() > found.sd.mean()  # a rougher prior is less sure
    assert found.density.mean() == pytest.approx(1.0)
    told = context_of(prepared, 1_500.0, WAY.window.half)
    assert told[0] == pytest.approx(np.log(1.0 / 0.3), abs=1e-6)
    assert told[2] == pytest.approx(np.log(3000.0 / WAY.window.half / 0.4), abs=1e-6)
    assert told[6] == pytest.approx(0.2, abs=1e-6)


def test_pixels_as_a_lattice_touch_their_four_neighbours() -> None:
    domain = np.zeros((SIDE, SIDE), dtype=bool)
    domain[3:5, 7:10] = True
    found = pixel_lattice(domain)
    assert found.size == 6
    degrees = np.asarray(found.adjacency.sum(axis=1)).ravel()
    np.testing.assert_array_equal(degrees, [2, 3, 2, 2, 3, 2])
    np.testing.assert_allclose(found.centres[1], [AXIS[3], AXIS[8]])


def test_stored_releases_train_a_correction(tmp_path: Path) -> None:
    """The same seed, the same releases; channels turn together with the fields that they are judged by."""
    pool = make_pool(5, 1, 3)
    again = make_pool(5, 1, 3)
    for name, values in pool.items():
        np.testing.assert_array_equal(values, again[name])
    assert [pool[name].shape for name in ("channels", "context", "truth")] == [
        (3, 6, 32, 32),
        (3, 7),
        (3, 64, 64),
    ]
    np.savez(tmp_path / "pool.npz", **pool)
    course = train.course_of("correction", None, 4, tmp_path / "pool.npz")
    channels, context, truth, inside, level, same = course.batch(3)
    assert channels.shape == (3, 6, 32, 32)
    assert (context.shape, truth.shape, inside.shape, level.shape) == ((3, 7), (3, 64, 64), (3, 64, 64), (3,))
    np.testing.assert_array_equal(inside[:, ::2, ::2], channels[:, -1])
    np.testing.assert_array_equal(same, channels)
    for fields, at in ((truth, "truth"), (channels[:, 0], "channels")):  # every release once, turned only
        stored = pool[at] if at == "truth" else pool[at][:, 0]
        np.testing.assert_allclose(
            np.sort(fields.sum(axis=(1, 2))), np.sort(stored.astype(float).sum(axis=(1, 2))), rtol=1e-3
        )
    agree = [np.corrcoef(truth[k, ::2, ::2].ravel(), channels[k, 0].ravel())[0, 1] for k in range(3)]
    assert max(agree) > 0.3


def test_without_stored_releases_one_sentence_says_how_to_make_them() -> None:
    with pytest.raises(InvalidValue, match="simulate releases first"):
        train.course_of("correction", None, 4)


def test_the_shipped_correction_was_trained() -> None:
    """40 releases of another seed: .1 nats better than the reading that it corrects, and calibrated."""
    pool = {name: part.astype(np.float32) for name, part in make_pool(99, 2, 20).items()}
    channels, truth = pool["channels"], pool["truth"].astype(float)
    shift, factor = network(STORED_CORRECTION, CORRECTION)(channels, pool["context"])
    inside = np.repeat(np.repeat(channels[:, -1], 2, axis=1), 2, axis=2) > 0

    def scored(mean: np.ndarray, sd: np.ndarray) -> tuple[float, float]:
        apart, deviation = (truth - finer(mean)) / finer(sd), finer(sd)
        nll = 0.5 * np.square(apart) + np.log(deviation) + 0.5 * np.log(2.0 * np.pi)
        within = np.abs(apart) < ndtri(0.95)
        both = [
            (one[at].mean(), other[at].mean()) for one, other, at in zip(nll, within, inside, strict=True)
        ]
        return tuple(np.mean(both, axis=0).tolist())

    before = scored(channels[:, 0], channels[:, 1])
    after = scored(channels[:, 0] + shift, np.maximum(channels[:, 1] * factor / NEUTRAL, LEAST_SD))
    assert after[0] < before[0] - 0.1
    assert 0.84 < after[1] < 0.96


def test_its_file_is_small_and_has_its_log() -> None:
    assert STORED_CORRECTION.stat().st_size < 1_000_000
    log = json.loads(STORED_CORRECTION.with_suffix(".json").read_text(encoding="utf-8"))
    assert log["log"][-1]["nll"] < log["log"][0]["nll"] - 0.2  # what it began as, the reading alone
    assert log["steps"] == log["log"][-1]["step"] > 2_000
