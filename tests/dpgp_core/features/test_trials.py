"""Simulated releases and the search: the same posterior as a release, repeatable, and better plans first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from dpgp_core.excursion import cutoff_for_map
from dpgp_core.noise import SimulationEntropy
from dpgp_core.spectral.counts import read_counts
from dpgp_core.spectral.model import PublicCounts, SpectralModel
from dpgp_core.spectral.prior import PublicPrior
from dpgp_core.spectral.reading import FieldPosterior
from dpgp_core.spectral.shared import SharedReadings, drawn_anew
from dpgp_core.spectral.sums import GridRecords, SpectralSums, exact_sums
from tests.dpgp_core.features.worlds import model_on, plan_for
from tests.dpgp_core.hexmap import ZeroEntropy
from tests.oracles.readings import exceedance, read
from tests.oracles.trials import Trial, simulated_probabilities

RADIUS, CELLS, N = 5, 91, 1_500


def records() -> tuple[GridRecords, np.ndarray]:
    generator = np.random.default_rng(12)
    centres = model_on(RADIUS).nodes.lattice.domain_centres
    field = np.where(np.linalg.norm(centres, axis=1) < 1_000.0, 0.5, -0.5)
    cells = generator.integers(0, CELLS, N)
    return GridRecords.of(cells, field[cells] + 0.5 * generator.normal(size=N)), field > 0


def trial(kind: str = "unknown", mu: float = 1.0, *, same: bool = False, **options: object) -> Trial:
    data, _ = records()
    counts = np.zeros(CELLS)
    counts[data.cell] = data.count
    relation = "values-only" if kind == "known" else "replace-one"
    made = model_on(RADIUS).prepare(
        plan_for(mu=mu, density=N / CELLS, relation=relation, field=PublicPrior(-0.3, 0.6, 0.9), **options)  # type: ignore[arg-type]
    )
    return Trial(
        made, data, PublicCounts(kind, float(N), None if kind == "unknown" else counts), 0.0, 1.0, same
    )


@pytest.mark.parametrize("kind", ["unknown", "reference", "known"])
def test_without_noise_a_trial_reads_the_exact_sums(kind: str) -> None:
    one = trial(kind)
    made = one.prepared
    found = simulated_probabilities(one, 2, ZeroEntropy(), 2)
    sums, counts = exact_sums(made.features, made.nodes, one.records)
    plain = None if made.noise.counts is None else counts / 2.0**20
    posterior = FieldPosterior(made.reader(made.counts(one.known, plain)), sums / 2.0**30)
    assert np.allclose(found, exceedance(posterior, 0.0), atol=1e-9)
    below = Trial(made, one.records, one.known, 0.0, -1.0, False)
    assert np.allclose(simulated_probabilities(below, 1, ZeroEntropy(), 1), 1.0 - found[:1], atol=1e-9)


def test_trials_are_repeatable_and_differ_between_releases() -> None:
    one = simulated_probabilities(trial(), 5, SimulationEntropy(1), 2)
    assert one.shape == (6, CELLS)
    assert np.array_equal(one, simulated_probabilities(trial(), 5, SimulationEntropy(1), 2))
    assert float(np.abs(np.diff(one, axis=0)).max(axis=1).min()) > 0.01


def test_public_counts_of_the_same_records_are_drawn_anew() -> None:
    same = trial("reference", same=True)
    drawn = [simulated_probabilities(t, 1, SimulationEntropy(1), 1) for t in (same, trial("reference"))]
    assert not np.allclose(drawn[0], drawn[1], atol=1e-6)


def test_nine_in_ten_occupied_cells_are_occupied_in_another_period() -> None:
    cells = np.where(np.arange(20_000) % 2 == 0, 1.0, 0.0)
    drawn = drawn_anew(PublicCounts("reference", 10_000.0, cells, True), 1.0, True, SimulationEntropy(3))
    assert drawn.cells is not None
    assert set(drawn.cells[1::2]) == {0.0}
    assert drawn.cells[::2].mean() == pytest.approx(0.9, abs=0.015)  # five standard deviations


@pytest.mark.parametrize(("kind", "same"), [("unknown", False), ("reference", False), ("reference", True)])
def test_shared_readings_are_the_trials_own_for_every_prior_of_the_field(kind: str, same: bool) -> None:
    """One set of features and counts, read under three priors and clips, against one trial each."""
    data, _ = records()
    counts, totals = np.zeros(CELLS), np.zeros(CELLS)
    counts[data.cell] = data.count
    known = PublicCounts(kind, float(N), None if kind == "unknown" else counts)
    model = model_on(RADIUS)
    base = replace(plan_for(mu=1.0, density=N / CELLS), signal=0.5)
    shared = SharedReadings(model.prepare(base), counts, known, 4, SimulationEntropy(4), draws=2, same=same)
    thinned = SharedReadings(
        model.prepare(base), counts, known, 4, SimulationEntropy(4), draws=2, same=same, thin=3
    )
    for field, scale, sign in (((-0.3, 0.6, 0.9), 1.0, 1.0), ((0.2, 0.3, 2.0), 0.5, -1.0)):
        made = model.prepare(replace(base, field=PublicPrior(*field)))
        assert made.features is model.prepare(base).features
        shrunk = GridRecords(data.cell, data.count, (data.total * scale).astype(np.int64))
        slow = simulated_probabilities(
            Trial(made, shrunk, known, 0.1, sign, same), 4, SimulationEntropy(4), 2
        )
        totals[data.cell] = shrunk.total * 2.0**-10
        fast = shared.probabilities(totals, made.prior, 0.1, sign)
        assert np.allclose(fast, slow, atol=1e-6)
        assert float(np.ptp(fast)) > 0.5
        rough = thinned.probabilities(totals, made.prior, 0.1, sign)
        assert float(np.mean((rough > 0.5) != (slow > 0.5))) < 0.02
        assert float(np.abs(rough - slow).mean()) < 0.02


@pytest.mark.parametrize("unseen", [0.0, 1.0])
def test_shared_readings_cut_where_the_release_itself_would(unseen: float) -> None:
    """The same draws, read once with products shared and once as a release is read."""
    data, _ = records()
    counts, totals = np.zeros(CELLS), np.zeros(CELLS)
    counts[data.cell], totals[data.cell] = data.count, data.total * 2.0**-10
    known = PublicCounts("unknown", float(N), None)
    few = SpectralModel(model_on(RADIUS).nodes.lattice, pairs=8)  # they leave a good part out
    made = few.prepare(plan_for(mu=0.1, density=N / CELLS))
    assert float(made.basis.rest.mean()) > 0.2
    shared = SharedReadings(made, counts, known, 5, SimulationEntropy(4), draws=5)
    probability, shown, _ = shared.stated(totals, made.prior, 0.1, 1.0, unseen)
    own = np.array([cutoff_for_map(*row) for row in zip(probability, shown, strict=True)])
    assert own.shape == (5,)
    entropy, features, slow = SimulationEntropy(4), made.features, []
    assert made.noise.counts is not None
    for number in range(5):
        plain = features.values.T @ counts + made.noise.counts * entropy.normal(features.size)
        noise = made.noise.sums * entropy.normal((features.size, 1))[:, 0]
        released = SpectralSums(features.values.T @ totals + noise, plain, made.noise)
        read_counts = made.counts(known, released.counts)
        posterior = read(made, released, known)
        stated = exceedance(posterior, 0.1)
        assert np.allclose(stated, probability[number], atol=1e-6)
        surer = posterior.deviation() / posterior.map_deviation(read_counts, unseen)
        slow.append(cutoff_for_map(stated, norm.cdf(surer * norm.ppf(stated))))
    assert np.abs(own - slow).max() < 0.03
    assert float(np.ptp(own)) > 0.0


@pytest.mark.parametrize("kind", ["unknown", "reference"])
def test_counts_in_single_precision_are_those_in_double(kind: str) -> None:
    data, _ = records()
    counts = np.zeros(CELLS)
    counts[data.cell] = data.count
    known = PublicCounts(kind, float(N), None if kind == "unknown" else counts)
    made = model_on(RADIUS).prepare(plan_for(mu=1.0, density=N / CELLS))
    assert made.noise.counts is not None
    released = made.features.values.T @ counts + made.noise.counts * SimulationEntropy(2).normal(
        made.features.size
    )
    prior = made.count_prior(known, released)
    exact, rough = (
        read_counts(prior, made.features.values, released, made.noise.counts, made.nodes, rough=rough)
        for rough in (False, True)
    )
    assert float(np.abs(rough.mean - exact.mean).max()) < 1e-3 * float(exact.mean.mean())
    assert float(np.abs(rough.error - exact.error).max()) < 1e-3 * float(np.abs(exact.error).max())
    assert not np.array_equal(rough.mean, exact.mean)


def test_impossible_public_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown kind"):
        PublicCounts("guessed", 3.0)
    with pytest.raises(ValueError, match="given exactly for the kinds"):
        PublicCounts("known", 3.0)
    with pytest.raises(ValueError, match="given exactly for the kinds"):
        PublicCounts("unknown", 3.0, np.ones(3))
    made = trial().prepared
    with pytest.raises(ValueError, match="counts were not released"):
        made.counts(PublicCounts("unknown", 3.0), None)
