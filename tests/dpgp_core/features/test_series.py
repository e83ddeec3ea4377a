"""Releases read together: the chain against dense algebra, what several periods tell, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from dpgp_core.errors import InvalidValue
from dpgp_core.noise import SimulationEntropy
from dpgp_core.spectral.model import PublicCounts, SpectralModel, SpectralPlan
from dpgp_core.spectral.prior import PublicPrior, clipped_moments
from dpgp_core.spectral.series import Period, SeriesPrior, linearised, read_series
from dpgp_core.spectral.series_states import Seen, chain_evidence, joint_counts, smoothed
from dpgp_core.spectral.sums import ExactNoise, GridRecords, release_sums
from tests.dpgp_core.hexmap import disk

MODEL = SpectralModel(disk(5, padding=1))
CELLS = MODEL.nodes.cells
PLAN = SpectralPlan(
    "water-filled", "exponential", 2500.0, PublicPrior(0.0, 0.5, 1.0), 1.0, 2000 / CELLS, signal=0.5
)
PRIOR = SeriesPrior("exponential", 2500.0, 10.0, 1.0, 1.0, memory=0.9, level=0.5, shift=0.2)
EAST = MODEL.nodes.lattice.domain_centres[:, 0] / 2000.0


def period(time: float, field: np.ndarray, seed: int, plan: SpectralPlan = PLAN, n: int = 2000) -> Period:
    """A simulated release of n records: values around `field` (N,), centre 10, clip 2."""
    made, generator = MODEL.prepare(plan), np.random.default_rng(seed)
    cells = generator.integers(0, CELLS, n)
    response = (field[cells] + generator.normal(size=n) - 10.0) / 2.0
    released = release_sums(
        made.features,
        made.nodes,
        GridRecords.of(cells, response),
        made.noise,
        ExactNoise(SimulationEntropy(seed)),
    )
    return Period(time, made, released, PublicCounts("unknown", float(n)), 10.0, 2.0)


def test_a_chain_is_exact() -> None:
    """Means, covariances, those of neighbouring periods and the evidence against one dense normal law."""
    generator = np.random.default_rng(1)
    size, decays = 3, [np.array([0.9, 0.5, 1.0])] * 4
    seen: list[Seen | None] = []
    for period_ in range(4):
        link, root = generator.normal(size=(2, size)), generator.normal(size=(2, 2))
        seen.append(None if period_ == 2 else Seen(generator.normal(size=2), link, root @ root.T + np.eye(2)))
    lag = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    prior = np.zeros((12, 12))
    for one in range(4):
        for other in range(4):
            prior[3 * one : 3 * one + 3, 3 * other : 3 * other + 3] = np.diag(decays[0] ** lag[one, other])
    known = [place for place, each in enumerate(seen) if each is not None]
    link, noise, values = np.zeros((6, 12)), np.zeros((6, 6)), np.zeros(6)
    for row, place in enumerate(known):
        each = seen[place]
        assert each is not None
        link[2 * row : 2 * row + 2, 3 * place : 3 * place + 3] = each.link
        noise[2 * row : 2 * row + 2, 2 * row : 2 * row + 2] = each.noise
        values[2 * row : 2 * row + 2] = each.values
    covariance = link @ prior @ link.T + noise
    gain = prior @ link.T @ np.linalg.inv(covariance)
    mean, left = gain @ values, prior - gain @ link @ prior
    found = smoothed(seen, decays)
    np.testing.assert_allclose(np.concatenate(found.means), mean, atol=1e-9)
    for place in range(4):
        own = slice(3 * place, 3 * place + 3)
        np.testing.assert_allclose(found.covariances[place], left[own, own], atol=1e-9)
        if place:
            before = slice(3 * place - 3, 3 * place)
            np.testing.assert_allclose(found.shared[place - 1], left[own, before], atol=1e-9)
    np.testing.assert_allclose(found.ends, left[9:, :3], atol=1e-9)
    expected = multivariate_normal(np.zeros(6), covariance).logpdf(values)
    assert found.log_evidence == pytest.approx(expected, abs=1e-9)
    assert chain_evidence(seen, decays) == found.log_evidence


def test_linearised_responses_have_the_moments_of_clipped_ones() -> None:
    """Against a million draws: mean, slope by regression, and the variance that is left, in two parts."""
    generator = np.random.default_rng(4)
    at, variance = np.array([10.5]), np.array([0.6])
    given = replace(period(0.0, np.full(CELLS, 10.0), 1), public_mean=np.array([0.1]))
    line = linearised(at, variance, 0.8, given)
    field = at + np.sqrt(variance) * generator.normal(size=1_000_000)
    response = np.clip((field + 0.8 * generator.normal(size=field.size) - 10.0) / 2.0 - 0.1, -1.0, 1.0)
    slope = np.cov(field, response)[0, 1] / np.var(field)
    shared = clipped_moments((field - 10.0) / 2.0 - 0.1, 0.4)[0]
    assert line.first[0] == pytest.approx(response.mean(), abs=2e-3)
    assert line.slope[0] == pytest.approx(slope, rel=5e-3)
    assert line.noise[0] == pytest.approx(np.var(response - shared), rel=5e-3)
    assert line.rest[0] == pytest.approx(np.var(shared) - slope**2 * 0.6, abs=3e-4)


def test_counts_of_one_period_are_those_of_its_own_reading() -> None:
    one = period(0.0, 10.0 + EAST, 3)
    (joint,) = joint_counts(MODEL, [one], np.array([0.0]))
    alone = one.made.counts(one.known, one.released.counts)
    assert joint is not None
    np.testing.assert_allclose(joint.mean, alone.mean, rtol=1e-9)
    np.testing.assert_allclose(joint.error, alone.error, atol=1e-8 * np.abs(alone.error).max())


def test_more_periods_tell_more_and_a_missing_one_less() -> None:
    """The truth is the same in all four; the time between is known least of those that are asked for."""
    periods = [period(time, 10.0 + EAST, seed) for seed, time in enumerate((0.0, 1.0, 3.0, 4.0))]
    one = read_series(MODEL, periods[-1:], PRIOR, choose=False)
    four = read_series(MODEL, periods, PRIOR, also=(2.0,), choose=False)
    assert four.times.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert four.mean.shape == (5, CELLS)
    assert four.change.shape == (5, CELLS)
    np.testing.assert_allclose(four.change[0], four.mean[4] - four.mean[0])
    np.testing.assert_allclose(four.change[2], four.mean[2] - four.mean[1])
    errors = [float(np.sqrt(np.mean(np.square(each - 10.0 - EAST)))) for each in (one.mean[0], four.mean[4])]
    assert errors[1] < 0.9 * errors[0]
    spread = four.deviation.mean(axis=1)
    assert spread[2] > spread[1] > 0
    assert spread[4] < one.deviation.mean()
    assert np.isnan(four.records[2]).all()
    assert four.records[4].sum() == pytest.approx(2000.0)


def test_a_rise_of_one_half_is_seen_there_and_a_shift_everywhere() -> None:
    west = EAST < 0
    raised = 10.0 + EAST + 1.2 * west
    found = read_series(MODEL, [period(0.0, 10.0 + EAST, 1), period(1.0, raised, 2)], PRIOR, choose=False)
    risen = found.risen(0.4)[1]
    np.testing.assert_allclose(found.change_deviation[0], found.change_deviation[1], rtol=1e-9)
    assert risen[west].mean() > 0.85
    assert risen[EAST > 0.5].mean() < 0.35
    np.testing.assert_allclose(found.risen(0.4), 1.0 - replace(found, change=-found.change).risen(-0.4))
    assert found.no_change[0] < -5.0
    still = read_series(MODEL, [period(0.0, raised, 3), period(1.0, raised, 4)], PRIOR, choose=False)
    assert still.no_change[0] == pytest.approx(-0.94, abs=0.03)
    assert (found.explained.tolist(), still.explained.tolist()) == ([False], [True])


def test_other_clips_public_means_and_strategies_are_read_together() -> None:
    """A period with another plan and a public mean agrees with one without: both see the same field."""
    other = MODEL.prepare(replace(PLAN, strategy="coloured", mu=2.0))
    generator = np.random.default_rng(8)
    cells = generator.integers(0, CELLS, 2000)
    mean = 0.5 * EAST
    response = (10.0 + EAST[cells] + generator.normal(size=2000) - 9.0) / 2.5 - mean[cells]
    released = release_sums(
        other.features,
        other.nodes,
        GridRecords.of(cells, response),
        other.noise,
        ExactNoise(SimulationEntropy(9)),
    )
    moved = Period(1.0, other, released, PublicCounts("unknown", 2000.0), 9.0, 2.5, mean)
    found = read_series(MODEL, [period(0.0, 10.0 + EAST, 1), moved], PRIOR, choose=False)
    for each in (0, 1):
        away = (found.mean[each] - 10.0 - EAST) / found.deviation[each]
        assert np.sqrt(np.mean(np.square(away))) < 1.5


def test_the_releases_choose_a_long_memory_where_nothing_changes() -> None:
    same = [period(float(time), 10.0 + EAST, 10 + time) for time in range(3)]
    fresh = [period(float(time), 10.0 + (-1.0) ** time * 1.5 * EAST, time) for time in range(3)]
    assert read_series(MODEL, same, PRIOR).prior.memory >= 0.98
    assert read_series(MODEL, fresh, PRIOR).prior.memory <= 0.75


def test_range_and_deviation_stay_as_stated_where_the_sums_tell_little() -> None:
    """Some noise lets a deviation grow that is half of what it should be; much noise leaves both."""
    small = replace(PRIOR, deviation=0.25, level=0.1, shift=0.0)
    clear, blind = (
        read_series(MODEL, [period(0.0, 10.0 + EAST, 1, replace(PLAN, mu=mu))], small).prior
        for mu in (1.0, 0.01)
    )
    assert clear.deviation >= 0.35
    assert (blind.deviation, blind.lengthscale) == (0.25, 2500.0)


def test_a_public_map_is_the_field_beforehand_and_areas_have_their_means() -> None:
    """At an epsilon of nothing the map is the public one; all cells in one area, and one cell alone."""
    blind = period(0.0, 10.0 + EAST, 1, replace(PLAN, mu=1e-6))
    areas = np.vstack([np.full(CELLS, 1.0 / CELLS), np.eye(CELLS)[7]])
    prior = replace(PRIOR, middle=0.5, level=0.0, shift=0.0)
    found = read_series(MODEL, [blind], prior, choose=False, around=9.5 + EAST, areas=areas)
    np.testing.assert_allclose(found.mean[0], 10.0 + EAST, atol=2e-3)
    np.testing.assert_allclose(found.areas[0], [found.mean[0].mean(), found.mean[0, 7]], atol=1e-9)
    np.testing.assert_allclose(found.area_deviation[0, 1], found.deviation[0, 7], rtol=1e-6)
    assert 0.0 < found.area_deviation[0, 0] < found.deviation[0].min()


def test_what_is_no_series_is_refused() -> None:
    one = period(0.0, 10.0 + EAST, 1)
    with pytest.raises(InvalidValue, match="at least one release"):
        read_series(MODEL, [], PRIOR)
    with pytest.raises(InvalidValue, match="same time"):
        read_series(MODEL, [one, one], PRIOR)
    with pytest.raises(InvalidValue, match="same hexagons"):
        read_series(SpectralModel(disk(3, padding=1)), [one], PRIOR)
    with pytest.raises(InvalidValue, match="memory of a series"):
        replace(PRIOR, memory=1.5)
