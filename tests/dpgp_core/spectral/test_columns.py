"""Public columns in features and reading: their price is attacked, their algebra checked densely."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpgp_core.errors import InvalidValue
from dpgp_core.features.nodes import Nodes
from dpgp_core.mechanisms.beliefs import belief_weights, simulated, under_beliefs
from dpgp_core.noise import SimulationEntropy
from dpgp_core.spectral.cost import release_mu
from dpgp_core.spectral.counts import NodeCounts
from dpgp_core.spectral.model import PublicCounts, SpectralModel
from dpgp_core.spectral.prior import standardised
from dpgp_core.spectral.shared import SharedReadings
from dpgp_core.spectral.sums import GridRecords, exact_sums
from tests.dpgp_core.features.test_attack import exact_mu, largest_of_all_pairs
from tests.dpgp_core.features.worlds import dense_posterior, plan_for, some_records
from tests.dpgp_core.hexmap import disk

LATTICE = disk(5, 3)
CENTRES = LATTICE.domain_centres
EAST = CENTRES[:, 0]


def extreme() -> np.ndarray:
    """One cell beyond all numbers, a step, and a ramp of tiny numbers."""
    odd = np.zeros(LATTICE.size)
    odd[7] = 1e300
    return np.column_stack([odd, np.where(EAST > 0, 1e9, -1e9), 1e-12 * CENTRES[:, 1]])


def test_columns_are_made_comparable_and_held_within_bounds() -> None:
    found = standardised(np.column_stack([extreme(), 5.0 + 1e6 * EAST]))
    assert np.allclose(found.mean(axis=0)[1:], 0.0, atol=1e-9)
    assert np.allclose(np.square(found).mean(axis=0)[1:], 1.0)
    assert np.corrcoef(found[:, 3], EAST)[0, 1] == pytest.approx(1.0)
    one = standardised(extreme()[:, :1])[:, 0]
    assert np.abs(np.delete(one, 7)).max() < 0.2 * one[7]
    assert one[7] == 3.0  # the odd cell alone, not without bound


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (np.full(LATTICE.size, 4.0), "same everywhere"),
        (np.where(EAST > 0, np.nan, 1.0), "finite"),
        (np.where(EAST > 0, np.inf, 1.0), "finite"),
        (np.zeros((LATTICE.size, 0)), "between 1 and 8"),
        (np.ones((LATTICE.size, 9)) * EAST[:, None], "between 1 and 8"),
    ],
)
def test_columns_that_say_nothing_are_refused(column: np.ndarray, said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        standardised(column if column.ndim == 2 else column[:, None])


def test_pairs_with_columns_are_those_of_the_dense_covariance() -> None:
    model = SpectralModel(LATTICE)
    plain, columns = model.smooth_pairs("exponential", 1_500.0), standardised(extreme()[:, 1:])
    found = plain.with_columns(columns, 0.4)
    covariance = 0.6 * (plain.vectors * plain.values) @ plain.vectors.T
    covariance += 0.2 * float(plain.variance.mean()) * columns @ columns.T
    assert np.allclose((found.vectors * found.values) @ found.vectors.T, covariance, atol=1e-9)
    assert np.allclose(found.vectors.T @ found.vectors, np.eye(found.values.size), atol=1e-7)
    assert np.allclose(found.variance, np.diag(covariance), atol=1e-9)


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove", "values-only"])
@pytest.mark.parametrize("mu", [0.02, 0.5, 5.0])
def test_no_pair_of_records_costs_more_than_declared_whatever_the_columns(relation: str, mu: float) -> None:
    model = SpectralModel(LATTICE, columns=extreme())
    for covariates in (0.25, 0.95):
        plan = replace(plan_for(mu=mu, relation=relation), covariates=covariates)  # type: ignore[arg-type]
        made = model.prepare(plan)
        phi = made.features.values
        declared = release_mu(made.products, made.noise, relation)  # type: ignore[arg-type]
        assert declared <= mu
        assert np.square(phi).sum(axis=1).max() <= 1.0
        if relation == "replace-one":
            attained = largest_of_all_pairs(phi, made.noise)
        elif relation == "values-only":
            attained = max(exact_mu(phi, made.noise, (k, 1.0), (k, -1.0)) for k in range(len(phi)))
        else:  # one record more, at the worst place
            both = np.sqrt(1.0 / made.noise.sums**2 + 1.0 / float(made.noise.counts or 0.0) ** 2)
            attained = float(np.sqrt(np.square(phi).sum(axis=1).max()) * both)
        assert attained <= declared * (1.0 + 1e-9)
        assert attained >= declared * (1.0 - 1e-5)


def test_a_column_that_leaves_one_direction_alone_keeps_its_counts() -> None:
    """Features on both sides of a step are then opposite: their counts are weighted by .3 and paid for."""
    made = SpectralModel(LATTICE, columns=extreme()[:, 1:2]).prepare(
        replace(plan_for(mu=0.01), covariates=0.98)
    )
    assert made.features.size == 1
    assert made.products.kappa == pytest.approx(1.0, abs=1e-5)
    assert made.noise.weight == pytest.approx(0.3)
    assert made.noise.sums == pytest.approx(np.sqrt(4.36) / 0.01, rel=1e-5)
    assert largest_of_all_pairs(made.features.values, made.noise) <= 0.01


def test_sums_with_columns_are_exact_whole_numbers_in_any_order() -> None:
    model = SpectralModel(LATTICE, columns=extreme())
    made = model.prepare(replace(plan_for(), covariates=0.25))
    rng = np.random.default_rng(3)
    cell, value = rng.integers(0, LATTICE.size, 300), rng.normal(0.0, 0.7, 300)
    sums, counts = exact_sums(made.features, made.nodes, GridRecords.of(cell, value))
    turned = exact_sums(made.features, made.nodes, GridRecords.of(cell[::-1], value[::-1]))
    whole = made.features.whole
    responses = [round(1024 * min(1.0, max(-1.0, y))) for y in value]
    for k in (0, made.features.size - 1):
        by_hand = sum(y * int(whole[i, k]) for i, y in zip(cell, responses, strict=True))
        assert int(sums[k]) == by_hand == int(turned[0][k])
        assert int(counts[k]) == sum(int(whole[i, k]) for i in cell)


def test_the_reading_with_columns_is_the_textbook_posterior() -> None:
    model = SpectralModel(LATTICE, columns=EAST[:, None])
    made = model.prepare(replace(plan_for(), covariates=0.4, common=0.2))
    m = np.bincount(some_records(LATTICE.size, 200, 5).cell, minlength=LATTICE.size).astype(float) + 1.0
    reader = made.readers(NodeCounts.known(m, made.features.size))[0]
    (basis, prior), plain = made.beliefs[0], made.beliefs[4][1]
    assert prior.before.deviation == pytest.approx(0.5 / np.sqrt(0.6))
    assert prior.before.scatter == pytest.approx(plain.before.scatter)
    covariance = prior.deviation**2 * (basis.rows @ basis.rows.T + np.diag(basis.rest))
    east = standardised(EAST[:, None])[:, 0]
    smooth = made.basis.rows @ made.basis.rows.T + np.diag(made.basis.rest)
    assert np.allclose(covariance / prior.deviation**2, 0.6 * smooth + 0.4 * np.outer(east, east))
    a = made.features.values.T
    noise = a * (m * prior.record_noise**2) @ a.T + made.noise.sums**2 * np.eye(len(a))
    seen = np.random.default_rng(2).normal(0.0, 40.0, len(a))
    mean, left = dense_posterior(np.full(m.size, prior.mean), covariance, a * m, noise, seen)
    assert np.allclose(reader.mean(seen), mean)
    assert np.allclose(reader.deviation(), np.sqrt(np.diag(left)))


@pytest.mark.parametrize(("slope", "least", "most"), [(0.5, 0.9, 1.0), (0.0, 0.05, 0.6)])
def test_the_evidence_says_whether_a_column_matters(slope: float, least: float, most: float) -> None:
    model = SpectralModel(LATTICE, columns=EAST[:, None])
    made = model.prepare(replace(plan_for(mu=3.0), covariates=0.25))
    m = np.full(LATTICE.size, 4.0)
    readers = made.readers(NodeCounts.known(m, made.features.size))
    field = slope * standardised(EAST[:, None])[:, 0]
    weights = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        noise = 0.4 / np.sqrt(m) * rng.normal(size=m.size)
        seen = made.features.values.T @ (m * (field + noise)) + made.noise.sums * rng.normal(
            size=made.features.size
        )
        weights.append(belief_weights(np.array([each.log_evidence(seen) for each in readers]), made.odds)[0])
    assert least < np.mean(weights) <= most


def test_simulated_releases_share_their_draws_between_beliefs() -> None:
    model = SpectralModel(LATTICE, columns=EAST[:, None])
    made = model.prepare(replace(plan_for(mu=2.0), covariates=0.25, common=0.3))
    rng = np.random.default_rng(1)
    counts = rng.poisson(3.0, LATTICE.size).astype(float)
    totals = counts * 0.3 * standardised(EAST[:, None])[:, 0]
    known = PublicCounts("unknown", float(counts.sum()))
    readings = under_beliefs(made, SharedReadings(made, counts, known, 4, SimulationEntropy(8), same=False))
    basis, prior = made.beliefs[0]
    anew = SharedReadings(
        replace(made, basis=basis), counts, known, 4, SimulationEntropy(8), same=False
    ).stated(totals, prior, 0.1)
    shared = readings[0].stated(totals, prior, 0.1)
    for one, other in zip(anew, shared, strict=True):
        assert np.allclose(one, other)
    assert readings[4]._made.basis is made.basis
    assert len({id(each) for each in readings}) == 4, "a range with columns or without is multiplied once"
    probability, own = simulated(readings, made, totals, np.full(LATTICE.size, 0.1), 1.0, lambda _: 0.0)
    parts = [each.stated(totals, law, 0.1) for each, (_, law) in zip(readings, made.beliefs, strict=True)]
    likely = np.exp([density - parts[0][2] for _, _, density in parts])
    weight = np.array([0.05] * 4 + [0.2] * 4)[:, None] * likely
    weight /= weight.sum(axis=0)
    assert np.allclose(probability, np.einsum("br,brn->rn", weight, [each for each, _, _ in parts]))
    assert own is not None
    assert own.shape == (4,)


def test_nodes_of_many_cells_have_the_mean_of_their_columns() -> None:
    lattice = disk(8)
    model = SpectralModel(lattice, columns=lattice.domain_centres[:, :1], most_nodes=40)
    nodes = Nodes.of(lattice, 40)
    means = nodes.gather(lattice.domain_centres[:, 0]) / nodes.cells_per_node
    assert model.columns is not None
    assert np.corrcoef(model.columns[:, 0], means)[0, 1] == pytest.approx(1.0)
    with pytest.raises(InvalidValue, match="one number for each cell"):
        SpectralModel(lattice, columns=np.ones((3, 1)))
