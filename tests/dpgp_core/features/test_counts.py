"""Counts: priors from public knowledge, and posteriors against dense algebra."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpgp_core.spectral.counts import (
    ALONE,
    CountPrior,
    NodeCounts,
    estimated_number,
    prior_from_reference,
    prior_of_unknown,
    read_counts,
)
from dpgp_core.spectral.model import PublicCounts
from dpgp_core.yardstick import judged_domain
from tests.dpgp_core.features.worlds import dense_posterior, prepared


def test_one_round_is_the_textbook_posterior() -> None:
    made = prepared(radius=3)
    a = made.features.values
    generator = np.random.default_rng(2)
    mean = generator.uniform(3.0, 9.0, 37)
    shared = 0.6 * made.basis.rows[:, :10]
    prior = CountPrior(mean, 0.5 * mean, shared)
    true = generator.poisson(mean)
    released = a.T @ true + 1.5 * generator.standard_normal(made.features.size)
    found = read_counts(prior, made.features.values, released, 1.5, made.nodes)
    covariance = np.diag(0.5 * mean) + np.outer(mean, mean) * (shared @ shared.T)
    expected, left = dense_posterior(mean, covariance, a.T, 2.25 * np.eye(made.features.size), released)
    assert np.allclose(found.mean, expected * (mean.sum() / expected.sum()), atol=1e-9)
    assert np.allclose(found.error, a.T @ left @ a, atol=1e-8)


def test_counts_stay_positive_and_keep_their_sum() -> None:
    made = prepared(radius=3)
    prior = prior_of_unknown(made.nodes, 100.0, made.basis.rows)
    released = -50.0 * np.ones(made.features.size)
    found = read_counts(prior, made.features.values, released, 0.5, made.nodes)
    assert float(found.mean.min()) > 0.0
    assert float(found.mean.sum()) == pytest.approx(100.0)


def test_a_public_total_leaves_what_moves_records() -> None:
    """A quarter of the records in the first node: what it has in excess of the second, it takes from it."""
    mean = np.array([1.0, 3.0])
    found = CountPrior(mean, mean, np.array([[1.0, 0.5], [0.0, 0.5]])).with_total_known()
    assert found.relative is not None
    assert found.relative.tolist() == [[0.75, 0.0], [-0.25, 0.0]]
    assert CountPrior(mean, mean).with_total_known().relative is None


def test_rounds_find_where_nobody_is() -> None:
    """All records in one half of the disk: the other half's estimate shrinks with every round."""
    made = prepared(radius=8, density=20.0, mu=1.0)
    centres = made.nodes.lattice.domain_centres
    empty = centres[:, 0] > 200.0
    true = np.where(empty, 0.0, 40.0)
    noise = made.noise.counts
    assert noise is not None
    released = made.features.values.T @ true
    released = released + noise * np.random.default_rng(4).standard_normal(made.features.size)
    again = prior_of_unknown(made.nodes, float(true.sum()), made.basis.rows)
    once = CountPrior(again.mean, again.white, again.relative, 0)
    rows = made.features.values
    found = [read_counts(prior, rows, released, noise, made.nodes).mean for prior in (once, again)]
    errors = [float(np.abs(mean - true).mean()) for mean in found]
    assert errors[1] < 0.85 * errors[0]


def test_reference_counts_are_scaled_to_n() -> None:
    made = prepared(radius=3)
    reference = np.zeros(37)
    reference[[0, 5, 6]] = [10.0, 20.0, 30.0]
    prior = prior_from_reference(made.nodes, reference, 120.0)
    assert float(prior.mean.sum()) == pytest.approx(120.0)
    assert float(prior.mean.min()) > 0.0
    assert int(prior.mean.argmax()) == 6
    assert 40.0 < prior.mean[6] < 60.0
    assert np.allclose(prior.white, 0.1 * prior.mean**2 + 2.0 * prior.mean)
    far = np.abs(made.nodes.lattice.domain_centres - made.nodes.lattice.domain_centres[6]).sum(axis=1)
    assert prior.mean[int(far.argmax())] < 0.02


@pytest.mark.parametrize(("moved", "growth"), [(0.02, 0.1), (6.0, 6.0)])
def test_released_counts_choose_how_much_the_records_moved(moved: float, growth: float) -> None:
    """Counts of which each is its reference but for chance, and counts that differ by factors."""
    made = prepared(radius=6)
    generator = np.random.default_rng(6)
    reference = generator.uniform(20.0, 60.0, made.nodes.size)
    true = reference * generator.gamma(1.0 / moved, moved, made.nodes.size)
    released = made.features.values.T @ true + 0.5 * generator.standard_normal(made.features.size)
    prior = prior_from_reference(made.nodes, reference, float(true.sum()))
    chosen = prior.likeliest(made.features.values, released, 0.5)
    assert chosen.growths == (growth,)
    assert np.allclose(chosen.white, growth * prior.mean**2 + 2.0 * prior.mean)
    found = read_counts(prior, made.features.values, released, 0.5, made.nodes)
    assert found.growth == growth
    again = read_counts(chosen, made.features.values, released, 0.5, made.nodes)
    assert np.array_equal(found.mean, again.mean)


@pytest.mark.parametrize(("moved", "size"), [(True, 50.0), (True, 100.0), (False, 50.0)])
def test_where_records_moved_the_released_counts_say_which_hexagons_are_judged(
    moved: bool, size: float
) -> None:
    """Crowds at a fifth of all cells: half of them stand elsewhere than in the reference, or none does."""
    made, generator = prepared(radius=6), np.random.default_rng(1)
    order = generator.permutation(made.nodes.cells)
    reference, true = np.zeros(made.nodes.cells), np.zeros(made.nodes.cells)
    reference[order[:25]], true[order[12:37] if moved else order[:25]] = size, size
    noise = made.noise.counts
    assert noise is not None
    released = made.features.values.T @ true
    released = released + noise * np.random.default_rng(4).standard_normal(made.features.size)
    known = PublicCounts("reference", float(true.sum()), reference)
    read = made.counts(known, released)
    before, places = read.at_cells(made.nodes), made.places(known, released, read)
    held = [true[judged_domain(each)].sum() / true.sum() for each in (before, places)]
    if moved:
        assert held[0] < 0.7
        assert held[1] > 0.9
    else:
        assert np.array_equal(places, before)
        assert held[1] > 0.9


def test_cells_of_at_most_one_record() -> None:
    made = prepared(radius=3)
    reference = np.zeros(37)
    reference[:20] = 1.0
    prior = prior_from_reference(made.nodes, reference, 22.0, single=True)
    assert float(prior.mean.max()) <= 0.98
    assert np.allclose(prior.white, prior.mean * (1.0 - prior.mean))


def test_the_number_of_records_is_estimated_where_it_is_not_public() -> None:
    made = prepared(radius=5, relation="add-or-remove")
    shape = np.ones(made.nodes.size)
    exact = made.features.values.T @ (7.0 * shape)
    assert estimated_number(made.features, shape, exact) == pytest.approx(7.0 * 91, rel=1e-9)
    assert estimated_number(made.features, shape, -exact) == 1.0


def test_public_counts_have_no_error() -> None:
    counts = NodeCounts.known(np.array([1.0, 0.0, 3.0]), 2)
    assert counts.error.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_impossible_priors_are_refused() -> None:
    made = prepared(radius=2)
    with pytest.raises(ValueError, match="some must be positive"):
        prior_from_reference(made.nodes, np.zeros(19), 10.0)
    with pytest.raises(ValueError, match="not be negative"):
        prior_from_reference(made.nodes, -np.ones(19), 10.0)
    with pytest.raises(ValueError, match="positive and finite"):
        CountPrior(np.zeros(3), np.ones(3))
    with pytest.raises(ValueError, match="must not be negative"):
        CountPrior(np.ones(3), -np.ones(3))


@pytest.mark.parametrize(("growths", "least", "most"), [(ALONE, 0.0, 1.0), ((0.0,), 4.0, 8.0)])
def test_a_hexagon_may_hold_a_crowd_that_none_beside_it_has(
    growths: tuple[float, ...], least: float, most: float
) -> None:
    """Three of 217 hexagons hold 1,200 of 2,000 records: counts err by no more than is stated."""
    made, crowded = prepared(radius=8, density=20.0, mu=1.0), [3, 80, 150]
    true = np.full(made.nodes.lattice.size, 800 / 217)
    true[crowded] += 400.0
    noise, a = made.noise.counts, made.features.values
    assert noise is not None
    prior = prior_of_unknown(made.nodes, float(true.sum()), made.basis.rows)
    assert prior.growths == ALONE
    found = read_counts(replace(prior, growths=growths), a, a.T @ true, noise, made.nodes, with_sd=True)
    assert found.sd is not None
    wrong = np.abs(found.mean - true)[crowded] / found.sd[crowded]
    assert np.all((least <= wrong) & (wrong < most))
