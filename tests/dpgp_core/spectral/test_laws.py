"""Amounts without reference data are read under several ranges and ridges, weighed by the released sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpgp_core.mechanisms.beliefs import GivenSums, Output, belief_weights, read_sums
from dpgp_core.noise import SimulationEntropy
from dpgp_core.priors.registry import make_prior
from dpgp_core.spectral.counts import NodeCounts
from dpgp_core.spectral.model import Prepared, PublicCounts, SpectralModel, SpectralPlan
from dpgp_core.spectral.prior import FieldBasis, PublicPrior
from dpgp_core.spectral.sums import ExactNoise, GridRecords, release_sums
from tests.dpgp_core.features.worlds import plan_for
from tests.dpgp_core.hexmap import disk

LATTICE = disk(5, 3)
WITHOUT = replace(plan_for(mu=6.0), common=0.3)


def correlation(basis: FieldBasis) -> float:
    """Of the field in the middle and at its nearest neighbour."""
    centres = LATTICE.domain_centres
    far = np.linalg.norm(centres - centres[0], axis=1)
    covariance = basis.rows @ basis.rows.T + np.diag(basis.rest)
    return float(covariance[0, np.argsort(far)[1]])


def test_range_and_ridge_of_amounts_are_believed_to_be_the_designs_or_half_of_it() -> None:
    made = SpectralModel(LATTICE).prepare(WITHOUT)
    bases, laws = zip(*made.beliefs, strict=True)
    assert [law.before.ridge for law in laws] == [1.0, 0.5, 1.0, 0.5]
    assert [law.before.deviation for law in laws] == [0.5] * 4
    assert list(made.odds) == [0.25] * 4
    assert bases[0] is bases[1] is made.basis
    assert bases[2] is bases[3]
    halved = SpectralModel(LATTICE).prepare(replace(WITHOUT, lengthscale=750.0))
    assert np.allclose(bases[2].rows, halved.basis.rows)
    assert correlation(bases[2]) < correlation(bases[0]) - 0.05


@pytest.mark.parametrize(
    "plan",
    [
        replace(WITHOUT, common=0.0),
        replace(WITHOUT, whole=True),
        replace(WITHOUT, field=PublicPrior(0.0, 1.2, 1.0 / 1.2, "yes-no")),
    ],
)
def test_one_law_is_read_beside_reference_data_of_answers_and_of_two_looks(plan: SpectralPlan) -> None:
    made = SpectralModel(LATTICE).prepare(plan)
    assert len(made.beliefs) == 1
    assert list(made.odds) == [1.0]


def world(made: Prepared, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A field of half the range and ridge, what is read of sums of six records a cell, and weights."""
    rng = np.random.default_rng(seed)
    prior = make_prior("exponential", LATTICE, 750.0)
    field = 0.4 * prior.colour(rng.standard_normal((prior.white_size, 1)))[:, 0]
    cell = np.repeat(np.arange(LATTICE.size), 6)
    records = GridRecords.of(cell, field[cell] + 0.2 * rng.standard_normal(cell.size))
    source = ExactNoise(SimulationEntropy(seed))
    released = release_sums(made.features, made.nodes, records, made.noise, source)
    each = np.full(LATTICE.size, 6.0)
    known = PublicCounts("known", float(cell.size), each)
    given, output = GivenSums(made, released, known), Output(0, SimulationEntropy(0))
    mean = read_sums(given, lambda _: 0.0, output).mean
    assert mean is not None
    readers = made.readers(NodeCounts.known(each, made.features.size))
    evidence = np.array([reader.log_evidence(released.sums) for reader in readers])
    return field, mean, belief_weights(evidence, made.odds)


def test_the_released_sums_weigh_the_ridge_and_the_map_gains() -> None:
    made = SpectralModel(LATTICE).prepare(replace(WITHOUT, field=PublicPrior(0.0, 0.5, 1.28)))
    alone = replace(made, further=(), plan=replace(made.plan, common=0.0))
    found = [(*world(made, seed), world(alone, seed)[1]) for seed in range(3)]
    weight = np.mean([likely for _, _, likely, _ in found], axis=0)
    assert np.allclose(weight, [0.300, 0.083, 0.099, 0.518], atol=0.002)
    gains = [np.square(one - field).mean() - np.square(mean - field).mean() for field, mean, _, one in found]
    assert gains == pytest.approx([0.0109, 0.0047, 0.0116], abs=1e-4)
