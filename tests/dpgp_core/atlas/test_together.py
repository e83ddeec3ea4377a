"""Columns read together: against dense algebra, chosen by the released sums, and nothing where unrelated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpgp_core.atlas.design import AtlasDesign, atlas_design
from dpgp_core.atlas.release import Atlas, calibrated, prepare_atlas, read_atlas_again
from dpgp_core.atlas.together import WhiteSums, _beside, likeliest, together
from dpgp_core.errors import CoreError
from dpgp_core.mechanisms.beliefs import GivenSums, each_belief
from dpgp_core.mechanisms.design import Budget
from dpgp_core.noise import SimulationEntropy
from dpgp_core.priors.lattice import Lattice
from dpgp_core.priors.registry import make_prior
from dpgp_core.releasing import PublicFacts
from dpgp_core.spectral.sums import ExactNoise
from tests.dpgp_core.features.worlds import dense_posterior

LATTICE = Lattice.grid(14, 14, 500.0)
N, RIDGE = 600, 1.28
ROOT = np.linalg.cholesky(
    make_prior("exponential", LATTICE, 4_000.0).correlation() + 1e-9 * np.eye(LATTICE.size)
)
FACTS = PublicFacts(LATTICE, n=N)


def world(correlation: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fields (N, k), and the cells and responses of records that scatter about them."""
    generator, count = np.random.default_rng(seed), len(correlation)
    fields = ROOT @ generator.normal(size=(LATTICE.size, count)) @ np.linalg.cholesky(correlation).T
    cells = generator.integers(0, LATTICE.size, N)
    values = fields[cells] + RIDGE * generator.normal(size=(N, count))
    return fields, cells, values / np.hypot(1.0, RIDGE) / 1.6


def alike(count: int, share: float) -> np.ndarray:
    return np.full((count, count), share) + (1.0 - share) * np.eye(count)


def read(correlation: np.ndarray, seed: int, reading: str, epsilon: float = 3.0) -> tuple[Atlas, AtlasDesign]:
    _, cells, values = world(correlation, seed)
    design = replace(atlas_design(LATTICE.spacing, len(correlation), N), paths=20, reading=reading)  # type: ignore[arg-type]
    design = calibrated(design, FACTS, Budget(epsilon, 1e-5))
    return prepare_atlas(design, FACTS, cells, values).draw(SimulationEntropy(seed)), design


def agreement(atlas: Atlas, fields: np.ndarray) -> float:
    return float(
        np.mean(
            [
                np.corrcoef(layer.mean, field)[0, 1]
                for layer, field in zip(atlas.layers, fields.T, strict=True)
            ]
        )  # type: ignore[arg-type]
    )


def test_related_columns_gain_and_unrelated_ones_lose_nothing() -> None:
    for share, least, most in ((0.9, 0.03, 1.0), (0.0, -0.005, 0.02)):
        gains = []
        for seed in range(2):
            fields = world(alike(4, share), seed)[0]
            one, other = (
                agreement(read(alike(4, share), seed, how)[0], fields) for how in ("apart", "likelier")
            )
            gains.append(other - one)
        assert least < np.mean(gains) < most


def test_opposite_columns_are_found_to_be_opposite() -> None:
    """Two columns of correlation -.9: the start at 0 finds it, those at .5 and .9 are less likely."""
    white = _white(np.array([[1.0, -0.9], [-0.9, 1.0]]), 3)[0]
    found, gain = likeliest(white)
    assert found[0, 1] < -0.6
    assert gain > 3.0
    assert np.allclose(found.diagonal(), 1.0)
    unrelated = _white(np.eye(2), 4)[0]
    assert likeliest(unrelated)[1] <= 0.0


def _white(correlation: np.ndarray, seed: int, epsilon: float = 6.0):  # type: ignore[no-untyped-def]
    _, cells, values = world(correlation, seed)
    design = calibrated(atlas_design(LATTICE.spacing, len(correlation), N), FACTS, Budget(epsilon, 1e-5))
    ready = prepare_atlas(design, FACTS, cells, values)
    released = ready.released(ExactNoise(SimulationEntropy(seed)))
    alone = each_belief(GivenSums(ready.plan, released.layer(0), ready.known))
    return WhiteSums.of(alone[0].reader, list(released.sums)), ready, released, alone


def test_one_column_given_the_others_is_what_dense_algebra_says() -> None:
    """z of three columns as one long vector, all their sums at once: mean and deviation of each field."""
    correlation = np.array([[1.0, 0.7, -0.4], [0.7, 1.0, 0.1], [-0.4, 0.1, 1.0]])
    white, ready, released, alone = _white(correlation, 1)
    reader, sums = alone[0].reader, list(released.sums)
    link = reader.root @ reader.half
    error = reader.root @ reader.root.T - link @ link.T
    size = link.shape[1]
    mean, covariance = dense_posterior(
        np.zeros(3 * size),
        np.kron(correlation, np.eye(size)),
        np.kron(np.eye(3), link),
        np.kron(np.eye(3), error),
        np.concatenate([each - reader.offset for each in sums]),
    )
    rows, deviation = reader.basis.rows, reader.prior.deviation
    for column in range(3):
        part = slice(column * size, (column + 1) * size)
        one = _beside(ready.plan, alone[0], sums[column], white.given_others(column, correlation))
        found = one.reader.mean(one.seen) + one.shift
        expected = reader.prior.mean + deviation * rows @ mean[part]
        spread = np.einsum("ij,jk,ik->i", rows, covariance[part, part], rows) + reader.basis.rest
        assert np.abs(found - expected).max() < 0.03 * deviation  # faint directions are left out
        assert np.abs(one.reader.deviation() / (deviation * np.sqrt(spread)) - 1.0).max() < 0.01
        assert np.abs(expected - (reader.mean(sums[column]))).max() > 0.1 * deviation  # and it matters


def test_the_map_of_own_records_is_what_dense_algebra_says() -> None:
    """That map is linear in a column's own records: others tell of its field, and nothing of their scatter.

    With D = 1 - P^-1 the coefficients of the map of column c have the covariances
    `D C_cd G'` with the sums of a column d, and `P^-1 G'` more with its own.
    """
    correlation = np.array([[1.0, 0.7, -0.4], [0.7, 1.0, 0.1], [-0.4, 0.1, 1.0]])
    white, ready, released, alone = _white(correlation, 1)
    reader, sums = alone[0].reader, list(released.sums)
    link = reader.root @ reader.half
    error = reader.root @ reader.root.T - link @ link.T
    root = reader.given_records(alone[0].counts)[0]
    left = np.linalg.inv(root @ root.T)
    covariance = np.kron(correlation, link @ link.T) + np.kron(np.eye(3), error)
    seen = np.concatenate([each - reader.offset for each in sums])
    rows, deviation = reader.basis.rows, reader.prior.deviation
    for column in range(3):
        met = np.kron(correlation[column], (np.eye(len(left)) - left) @ link.T)
        met += np.kron(np.eye(3)[column], left @ link.T)
        expected = reader.prior.mean + deviation * rows @ (met @ np.linalg.solve(covariance, seen))
        one = _beside(ready.plan, alone[0], sums[column], white.given_others(column, correlation))
        assert one.of_map is not None
        assert np.abs(one.of_map - expected).max() < 0.03 * deviation  # faint directions are left out
        assert np.abs(expected - (one.reader.mean(one.seen) + one.shift)).max() > 0.1 * deviation


def test_with_no_correlation_nothing_changes() -> None:
    white, ready, released, alone = _white(alike(3, 0.5), 2)
    for column in range(3):
        given = white.given_others(column, np.eye(3))
        assert np.all(given.mean == 0.0)
        assert np.all(given.variance == 1.0)
        one = _beside(ready.plan, alone[0], released.sums[column], given)
        assert np.allclose(one.seen, released.sums[column])
        assert np.allclose(one.reader.mean(one.seen), alone[0].reader.mean(released.sums[column]))
        assert np.allclose(one.of_map, one.reader.mean(one.seen))  # type: ignore[arg-type]


def test_the_density_of_all_sums_is_that_of_dense_algebra() -> None:
    correlation = alike(2, 0.6)
    white = _white(correlation, 5)[0]
    dense = 0.0
    for d in range(white.size.size):
        covariance = white.size[d] ** 2 * correlation + np.eye(2)
        dense -= 0.5 * (
            white.sums[d] @ np.linalg.inv(covariance) @ white.sums[d] + np.log(np.linalg.det(covariance))
        )
    assert white.log_density(correlation) == pytest.approx(dense, rel=1e-10)


def test_a_correlation_is_found_from_many_directions() -> None:
    generator = np.random.default_rng(7)
    truth = np.array([[1.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 1.0]])
    size = np.full(4_000, 1.5)
    q = generator.normal(size=(4_000, 3)) @ np.linalg.cholesky(truth).T
    white = WhiteSums(size, size[:, None] * q + generator.normal(size=q.shape), np.eye(4_000))
    assert np.abs(white.correlation(0.0) - truth).max() < 0.06
    assert np.abs(likeliest(white)[0] - truth).max() < 0.06


def test_unrelated_sums_are_read_apart_and_a_reader_finds_the_same() -> None:
    _, ready, released, alone = _white(np.eye(3), 11)
    assert together(ready.plan, alone, list(released.sums)) is None
    for share in (0.9, 0.0):
        atlas, design = read(alike(3, share), 6, "likelier")
        again = read_atlas_again(design, FACTS, [layer.sums for layer in atlas.layers])  # type: ignore[misc]
        apart = read_atlas_again(
            replace(design, reading="apart"), FACTS, [layer.sums for layer in atlas.layers]
        )  # type: ignore[misc]
        for layer, one, other in zip(atlas.layers, again, apart, strict=True):
            assert np.array_equal(one.on_grid().mean, layer.on_grid().mean)  # type: ignore[arg-type]
            assert np.array_equal(one.sd, layer.sd)  # type: ignore[arg-type]
            assert np.array_equal(one.mean, other.mean) == (share == 0.0)  # type: ignore[arg-type]
            assert (layer.map_mean is None) == (one.map_mean is None) == (share == 0.0)
            assert other.map_mean is None
            assert layer.paths.shape == (20, LATTICE.size)
            assert np.abs(layer.paths.mean(axis=0) - layer.mean).mean() < 0.5 * np.mean(layer.sd)  # type: ignore[arg-type, operator]


def test_a_reader_refuses_layers_that_are_not_of_one_atlas() -> None:
    atlas, design = read(alike(3, 0.5), 8, "apart")
    kept = [layer.sums for layer in atlas.layers]
    with pytest.raises(CoreError, match="has 3 layers, and the sums of 2 are here"):
        read_atlas_again(design, FACTS, kept[:2])  # type: ignore[arg-type]
    other = replace(kept[1], counts=kept[1].counts + 1)  # type: ignore[union-attr, operator, type-var]
    with pytest.raises(CoreError, match="share their counts"):
        read_atlas_again(design, FACTS, [kept[0], other, kept[2]])  # type: ignore[list-item]
    quieter = replace(kept[1], noise=replace(kept[1].noise, sums=1.0))  # type: ignore[union-attr, type-var]
    with pytest.raises(CoreError, match="noise of these sums"):
        read_atlas_again(design, FACTS, [kept[0], quieter, kept[2]])  # type: ignore[list-item]
    with pytest.raises(CoreError, match="are read apart"):
        replace(design, presence=True, reading="likelier")
    with pytest.raises(CoreError, match="unknown reading"):
        replace(design, reading="beside")
