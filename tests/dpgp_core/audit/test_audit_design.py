"""The audit of a design: true neighbours, no false alarm, and both deliberate mistakes caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from dpgp_core import BOUNDS, ORDERS, CollapsedRecords, RdpCurve, SimulationEntropy, make_prior
from dpgp_core.accounting.guarantee import Guarantee
from dpgp_core.accounting.rdp import EpsilonBound, covariance_rdp
from dpgp_core.audit.design import audit_design, own_sampler, worst_pair
from dpgp_core.bounds.registry import smallest_scale_for, variance_bound
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.cell_sums import statistic_noise_for
from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatisticsDesign
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign as Design
from dpgp_core.priors.lattice import Prior
from tests.dpgp_core.drawing import guarantee
from tests.dpgp_core.hexmap import disk
from tests.oracles.divergence import posterior, renyi, white_basis

N, RIDGE, EPSILON, DELTA = 200, 12.0, 4.0, 1e-5
LENGTHSCALE = 600.0


def town(name: str = "car") -> Prior:
    return make_prior(name, disk(3, padding=2), LENGTHSCALE)


def solved(prior: Prior, bound: str, n: int = N, ridge: float = RIDGE, paths: int = 1) -> Design:
    scales = smallest_scale_for(bound, EPSILON, DELTA, n=n, ridge=ridge, kappa=prior.kappa, paths=paths)
    return Design(prior.name, LENGTHSCALE, ridge, float(scales.scale), paths=paths, bound=bound)


@pytest.mark.parametrize("name", ["car", "exponential", "matern32", "squared-exponential"])
@pytest.mark.parametrize("ridge", [0.5, 4.0, 12.0])
def test_the_worst_pair_is_a_pair_of_neighbours_under_its_bounds(name: str, ridge: float) -> None:
    """n records each, one of them replaced; and the exact divergence never exceeds a proved curve."""
    prior = town(name)
    design = Design(name, LENGTHSCALE, ridge, 0.4)
    place = int(np.searchsorted(ORDERS, 1.0 + 0.3 * ridge**2))
    pair = worst_pair(design, prior, N, float(ORDERS[place]))  # whatever bound the design names
    change = dense(pair.first, prior.size) - dense(pair.second, prior.size)
    assert pair.first.n == pair.second.n == N
    assert np.abs(change[0]).sum() in (0.0, 2.0)
    assert np.abs(change[1]).sum() <= 2.0 + 1e-9
    proved = [bound for bound in prior.bounds if bound in BOUNDS and BOUNDS[bound].proved]
    curves = [guarantee(replace(design, bound=bound), N, prior).curve.values[place] for bound in proved]
    assert 0.0 < pair.divergence <= min(curves) * (1.0 + 1e-9), dict(zip(proved, curves, strict=True))


def test_the_law_of_a_path_counts_its_prior_noise() -> None:
    """No records and prior covariance 1: variance .4^2 + .3^2."""
    design = Design("car", LENGTHSCALE, 2.0, 0.4, noise_scale=0.3)
    mean, law = questions.law(design, np.eye(2), np.zeros(2), np.zeros(2), [1])
    assert mean.tolist() == [0.0]
    np.testing.assert_allclose(law, [[0.25]], rtol=1e-12)


def test_the_two_cells_tell_all_that_the_path_tells() -> None:
    """Without prior noise the divergence of the watched values is that of the whole path, by the oracle."""
    prior = town("exponential")
    design = Design("exponential", LENGTHSCALE, 3.0, 0.4)
    pair = worst_pair(design, prior, 40, 3.0)
    basis = white_basis(prior.correlation()[None])
    laws = [posterior(basis, *spread(records, prior.size), 3.0) for records in (pair.first, pair.second)]
    (a, cov_a), (b, cov_b) = laws
    both = [
        renyi(x, 0.16 * cx, y, 0.16 * cy, np.array([3.0]))[0, 0]
        for x, cx, y, cy in ((a, cov_a, b, cov_b), (b, cov_b, a, cov_a))
    ]
    assert pair.divergence == pytest.approx(max(both), rel=1e-6)


def dense(records: CollapsedRecords, size: int) -> np.ndarray:
    """(2, size) counts and sums per cell."""
    table = np.zeros((2, size))
    table[0, records.index] = records.count
    table[1, records.index] = records.count * records.mean
    return table


def spread(records: CollapsedRecords, size: int) -> tuple[np.ndarray, np.ndarray]:
    counts, sums = dense(records, size)
    return counts[None], np.where(counts > 0, sums / np.maximum(counts, 1.0), 0.0)[None]


@pytest.mark.parametrize("mechanism", ["car", "exponential", "statistics", "three paths"])
def test_an_honest_program_raises_no_alarm(mechanism: str) -> None:
    """Would fail with probability at most 1e-4 for an honest program, whatever the seed."""
    prior = town("exponential" if mechanism == "exponential" else "car")
    if mechanism == "statistics":
        design = NoisyCellStatisticsDesign("car", LENGTHSCALE, 1.0, 1.0, statistic_noise_for(EPSILON, DELTA))
    else:
        bound = "sharp" if mechanism == "exponential" else "maximum-principle"
        design = solved(prior, bound, paths=3 if mechanism == "three paths" else 1)
    audit = audit_design(
        design,
        prior,
        N,
        guarantee(design, N, prior).epsilon,
        DELTA,
        entropy=SimulationEntropy(11),
        trials=5_000,
        confidence=0.9999,
    )
    assert not audit.alarm
    assert max(row.lower for row in audit.rows) > 0.0  # and the attack is not asleep
    assert [row.proved for row in audit.rows] == sorted((row.proved for row in audit.rows), reverse=True)


def mutant(design: Design, runs: Design, prior: Prior, claim: Callable[[float], EpsilonBound]) -> bool:
    """Whether an audit at 99 % confidence notices that `runs` is what the sampler really does."""
    pair, entropy = worst_pair(design, prior, N), SimulationEntropy(12)
    audit = audit_design(
        design, prior, N, claim, DELTA, entropy=entropy, trials=100_000, confidence=0.99, pair=pair,
        sampler=own_sampler(runs, prior, pair.watched, entropy),
    )  # fmt: skip
    return audit.alarm


def halved(honest: Guarantee, n: int, design: Design, prior: Prior) -> RdpCurve:
    """The curve of an accountant that takes half the sensitivity: a quarter of the mean term."""
    covariance = covariance_rdp(ORDERS, design.ridge, variance_bound(n, design.ridge, prior.kappa))
    known = np.isfinite(honest.curve.values)
    values = np.full(ORDERS.shape, np.inf)
    values[known] = covariance[known] + (honest.curve.values[known] - covariance[known]) / 4.0
    return RdpCurve(values)


def test_a_broken_sampler_is_caught() -> None:
    """Half the scale. With other seeds the lower bound passes the proved one by 0.22 +- 0.03 at delta 0.1
    (and by 0.34 +- 0.10 at 0.01): another seed would miss it with probability below 1e-6."""
    prior = town()
    design = solved(prior, "maximum-principle")
    runs = replace(design, scale=design.scale / 2.0)
    assert mutant(design, runs, prior, guarantee(design, N, prior).epsilon)


def test_a_broken_accountant_is_caught() -> None:
    """Half the sensitivity. The margin at delta 0.01 is 0.106 +- 0.037 over other seeds: a miss has
    probability below 1e-2."""
    prior = town()
    design = solved(prior, "maximum-principle")
    assert mutant(design, design, prior, halved(guarantee(design, N, prior), N, design, prior).epsilon)


def test_an_audit_can_be_cancelled_and_says_what_it_needs() -> None:
    prior = town()
    design = solved(prior, "maximum-principle")
    claim = guarantee(design, N, prior).epsilon

    class Stop(RuntimeError):
        pass

    def stop(fraction: float, text: str) -> None:
        if fraction > 0.3:
            raise Stop

    with pytest.raises(Stop):
        audit_design(design, prior, N, claim, DELTA, entropy=SimulationEntropy(1), trials=800, report=stop)
    with pytest.raises(ValueError, match="at least 100"):
        audit_design(design, prior, N, claim, DELTA, entropy=SimulationEntropy(1), trials=99)
    with pytest.raises(ValueError, match="two records"):
        worst_pair(design, prior, 1)
