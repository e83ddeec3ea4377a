"""Exact paths: every premise of docs/exact-paths.md attacked."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpgp_core.accounting.composition import Cost
from dpgp_core.errors import DesignError, InvalidValue
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.posterior_sampling import PosteriorSampling
from dpgp_core.mechanisms.questions import priced
from dpgp_core.noise import Deviates, SimulationEntropy, SystemEntropy
from dpgp_core.posterior.exact_paths import (
    DensePaths,
    ExactPaths,
    GraphPaths,
    PathDeviates,
    exact_paths,
    limb_product,
)
from dpgp_core.posterior.fitting import fit
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.held import HeldDense, HeldGraph, held, refuse_unsolvable, solve_slack
from dpgp_core.priors.lattice import Lattice
from dpgp_core.priors.registry import make_prior
from dpgp_core.releasing import GRID, PublicFacts, draw_release
from tests.dpgp_core.hexmap import disk

PRIORS = ("car", "exponential", "matern32", "squared-exponential")
TOWN = Lattice.grid(rows=9, columns=9, spacing=400.0)


def records(lattice: Lattice = TOWN, n: int = 200) -> CollapsedRecords:
    rng = np.random.default_rng(5)
    return CollapsedRecords.from_records(rng.integers(0, lattice.size - 9, n), rng.uniform(-1, 1, n))


LARGE = Lattice.grid(rows=20, columns=20, spacing=400.0)
BOTH = [TOWN, pytest.param(LARGE, marks=pytest.mark.slow)]  # 81 cells every day, 400 with the long tests


def paths(name: str, noise: float = 0.0, ridge: float = 2.0, town: Lattice = TOWN) -> ExactPaths:
    return exact_paths(
        make_prior(name, town, 1500.0), records(town, 200 * town.size // 81), ridge, 0.1, noise
    )


def deviates(ready: ExactPaths, seed: int = 1) -> PathDeviates:
    source = SimulationEntropy(seed)
    return PathDeviates(source, ready.white, ready.index.size, ready.noise > 0)


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("name", PRIORS)
def test_few_and_many_digits_of_the_same_deviates_round_alike(name: str, noise: float) -> None:
    """Theorem (exact path) of docs/exact-paths.md, (b): 24 digits leave two integers, 128 leave one."""
    ready = paths(name, noise)
    drawn, asked = deviates(ready), []
    enclosed = ready.enclosed
    ready.enclosed = lambda digits: asked.append(digits.places) or enclosed(digits)  # type: ignore
    many = ready.rounded(drawn)
    assert asked == [128]
    assert np.array_equal(ready.rounded(drawn, 24), many)
    assert asked[1:3] == [24, 88]
    ready.enclosed = lambda digits: enclosed(digits)._replace(error=np.zeros_like(many))  # type: ignore
    assert not np.array_equal(ready.rounded(drawn, 24), many), "without its bound 24 digits are believed"


@pytest.mark.parametrize("name", PRIORS)
def test_bad_proposals_change_no_integer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The residual proves the path, whatever floats proposed: each cell's number is off by up to 20 %.

    Theorem (exact path) of docs/report.
    """
    ready, steps = paths(name, 0.05), []
    solves = 2 if name == "car" else 1  # the graph's prior noise is a second solution
    rng = np.random.default_rng(2)
    from dpgp_core.posterior import exact_paths as module

    scaled, off = module._scaled, 0.0

    def proposal(rest: Any, bits: int, solve: Any) -> Any:
        steps.append(off)
        return scaled(rest, bits, lambda x: solve(x) * rng.uniform(1.0 - off, 1.0 + off, x.shape))

    monkeypatch.setattr(module, "_scaled", proposal)
    right = ready.rounded(deviates(ready))
    off = 0.2
    assert np.array_equal(ready.rounded(deviates(ready)), right)
    assert steps.count(0.0) == 2 * solves
    assert 28 * solves <= steps.count(0.2) <= 32 * solves, "each bad proposal gains less than a digit"


def solved(matrix: list[dict[int, mpmath.mpf]], right: list[mpmath.mpf]) -> list[mpmath.mpf]:
    """Eliminate without pivots, which a symmetric positive matrix does not need, on sparse rows."""
    for i, row in enumerate(matrix):
        for j in [j for j in row if j > i]:
            share = matrix[j].pop(i) / row[i]
            for k, value in row.items():
                if k > i:
                    matrix[j][k] = matrix[j].get(k, mpmath.mpf(0)) - share * value
            right[j] -= share * right[i]
    for i in reversed(range(len(right))):
        above = mpmath.fsum(value * right[k] for k, value in matrix[i].items() if k > i)
        right[i] = (right[i] - above) / matrix[i][i]
    return right


@pytest.mark.parametrize("town", BOTH)
def test_the_path_is_that_of_50_digits(town: Lattice) -> None:
    """(a) and (b) against another program's arithmetic, from the matrices of the theorem: every integer."""
    ready = paths("car", town=town)
    assert isinstance(ready, GraphPaths)
    digits = deviates(ready).digits(160)
    mpmath.mp.dps = 60
    holding, size = ready.prior, town.size
    rows: list[dict[int, mpmath.mpf]] = [{} for _ in range(holding.edges + size)]  # those of B
    for i in range(size):
        rows[holding.edges + i][i] = mpmath.mpf(holding.loss[i]) / 2**32
        for slot in range(holding.weight.shape[1]):
            if holding.weight[i, slot]:
                step = holding.sign[i, slot] * mpmath.mpf(holding.weight[i, slot]) / 2**32
                rows[holding.edge[i, slot]][i] = step
    r, sigma = mpmath.mpf(ready.ridge) / 2**20, mpmath.mpf(ready.scale) / 2**30
    matrix: list[dict[int, mpmath.mpf]] = [{} for _ in range(size)]
    right = [mpmath.mpf(0)] * size
    for row, xi in zip(rows, digits.prior, strict=True):
        for i, one in row.items():
            right[i] += sigma * r * r * one * mpmath.mpf(int(xi)) / 2**160
            for j, other in row.items():
                matrix[i][j] = matrix[i].get(j, mpmath.mpf(0)) + r * r * one * other
    for place, cell in enumerate(ready.index.tolist()):
        m, zeta = int(ready.count[place]), mpmath.mpf(int(digits.records[place])) / 2**160
        matrix[cell][cell] += m
        right[cell] += mpmath.mpf(int(ready.total[place])) / 2**10 + sigma * r * mpmath.sqrt(m) * zeta
    f = solved(matrix, right)
    found = ready.enclosed(digits)
    apart = [abs(mpmath.mpf(int(found.centre[i])) / 2**found.bits - f[i]) for i in range(size)]
    assert max(apart) <= mpmath.mpf(int(max(found.error))) / 2**found.bits < mpmath.mpf(2) ** -120
    assert [int(mpmath.nint(f[i] * 2**20)) for i in range(size)] == ready.rounded(deviates(ready)).tolist()


@pytest.mark.parametrize(("name", "noise"), [("car", 0.0), ("exponential", 0.0), ("car", 0.1)])
@pytest.mark.parametrize("town", BOTH)
def test_paths_have_the_posteriors_law(town: Lattice, name: str, noise: float) -> None:
    """Theorem (exact path) of docs/exact-paths.md, (a): 300 whitened paths are white noise."""
    ready = paths(name, noise, town=town)
    drawn = ready.draw(300, SimulationEntropy(7)) * GRID
    assert np.unique(drawn, axis=0).shape == (300, town.size)
    prior, seen = make_prior(name, town, 1500.0), records(town, 200 * town.size // 81)
    covariance, r = prior.correlation(), 2.0
    exact = fit(prior, seen, r)
    weight = np.zeros(town.size)
    weight[seen.index] = seen.count / r**2
    left = np.linalg.solve(np.eye(town.size) + covariance * weight, covariance)
    law = 0.1**2 * left + noise**2 * covariance
    mean = left @ np.bincount(seen.index, seen.units / 1024 / r**2, town.size)
    assert np.abs(mean - exact.mean).max() < 1e-3
    white = np.linalg.solve(np.linalg.cholesky(0.5 * (law + law.T)), (drawn - mean).T)
    # four standard errors of 120,000 squares, the note's .017; of 24,300 squares
    assert abs(white.var() - 1.0) < (0.017 if town is LARGE else 0.037)
    assert stats.kstest(white.ravel(), "norm").pvalue > 0.001


def test_paths_drawn_at_once_read_deviates_of_their_own() -> None:
    together = PathDeviates(SimulationEntropy(3), 5, 3, True, paths=4)
    read: list[int] = []
    for path in range(4):
        prior, seen, noise, _ = together.digits(128, path)
        assert noise is not None
        assert (prior.size, seen.size, noise.size) == (5, 3, 5)
        read += [*prior, *seen, *noise]
    assert read == Deviates(SimulationEntropy(3), 52).digits(128).tolist()
    assert len(set(read)) == 52
    assert [abs(x) >> 64 for x in together.digits(192, 3).prior] == [abs(x) for x in read[39:44]]


def test_a_held_prior_is_what_its_bounds_ask_for() -> None:
    """B's losses are above 0 and B^T B is at least the precision; no row of Lambda is longer than 1."""
    graph, dense = (held(make_prior(name, TOWN, 1500.0)) for name in ("car", "exponential"))
    assert isinstance(graph, HeldGraph)
    assert isinstance(dense, HeldDense)
    assert min(graph.loss) > 0
    precision = make_prior("car", TOWN, 1500.0).graph.precision.toarray()  # type: ignore[union-attr]
    grown = np.zeros(precision.shape)
    for i in range(TOWN.size):
        for slot in range(graph.weight.shape[1]):
            t, j = int(graph.weight[i, slot]), graph.neighbour[i, slot]
            if t:
                assert t * t >= -precision[i, j] * 2.0**64 > (t - 1) ** 2
        grown[i, i] = 1.0
        assert int(graph.loss[i]) ** 2 >= math.fsum(precision[i]) * 2.0**64
    rows = [sum(int(one) ** 2 for one in row) for row in dense.root]
    assert max(rows) <= 2**52
    assert np.array_equal(dense.root, np.trunc(dense.root))
    real = np.linalg.cholesky(make_prior("exponential", TOWN, 1500.0).correlation()) * 2.0**26
    assert np.all(np.abs(dense.root) <= np.abs(real) + 1e-6), "rounded towards 0"
    assert graph.times(np.array([1] * TOWN.size, dtype=object)).tolist() == (graph.loss**2).tolist()


def test_limbs_multiply_exactly_up_to_16384_columns() -> None:
    matrix = np.full((1, 16_384), 2.0**26)
    value = (1 << 130) - 1
    assert limb_product(matrix, np.full(16_384, value, dtype=object))[0] == value << 40
    mixed = np.array([value, -value, -1] + [0] * 16_381, dtype=object)
    assert limb_product(matrix, mixed)[0] == -(1 << 26)
    with pytest.raises(InvalidValue, match="16,384 columns"):
        limb_product(np.full((1, 16_385), 1.0), np.zeros(16_385, dtype=object))


@pytest.mark.parametrize("width", [64, 5])
def test_further_digits_leave_the_first_ones(width: int) -> None:
    drawn = Deviates(SimulationEntropy(3), 400, width)
    first, more = drawn.digits(128), drawn.digits(192)
    assert np.array_equal(abs(more) >> 64, abs(first))
    assert 0.85 < float(np.std(first.astype(np.float64) * 2.0**-128)) < 1.15


@pytest.mark.parametrize(("town", "trials"), [(TOWN, 60), pytest.param(LARGE, 200, marks=pytest.mark.slow)])
def test_last_bits_of_floats_tell_a_record_and_those_of_exact_paths_do_not(
    town: Lattice, trials: int
) -> None:
    """All records say 0, or one says 1/1024: was a mean added? The release alone is looked at.

    Only some doubles are .09 times another double. A path without a mean holds nothing else, in any cell.
    """
    place, value = np.arange(town.size), np.zeros(town.size)
    other = value.copy()
    other[town.size // 2] = 1 / 1024
    sides = [CollapsedRecords.from_records(place, y) for y in (value, other)]
    prior = make_prior("car", town, 1500.0)
    floats, exact = (
        [fit(prior, side, 2.0) for side in sides],
        [exact_paths(prior, s, 2.0, 0.09) for s in sides],
    )

    def bare(path: np.ndarray) -> bool:
        near = [path / 0.09, *(np.nextafter(path / 0.09, way) for way in (-9.0, 9.0))]
        return bool(np.any([0.09 * number == path for number in near], axis=0).all())

    rng, right, fair, wrong = np.random.default_rng(4), 0, 0, 0
    for trial in range(trials):
        truth = int(rng.integers(2))
        told = bare(floats[truth].draw(0.09, 1, SimulationEntropy(trial))[0])
        right += told == (truth == 0)
        wrong += not told and truth == 0
        fair += bare(exact[truth].draw(1, SimulationEntropy(trial))[0] * GRID) == (truth == 0)
    assert wrong == 0
    assert right >= 0.95 * trials, "190 of 200"
    assert abs(fair - 0.5 * trials) <= 2.0 * np.sqrt(trials), "a fair coin, within four deviations"


def test_refusals_come_from_public_facts_alone() -> None:
    """Lemma (no failure depends on records) of docs/exact-paths.md: public facts decide."""
    town = disk(28)
    long = make_prior("car", town, 2_500 * town.spacing)
    assert town.size > 2_400
    assert solve_slack(long, 12_000, 5.0).solving < 2.0**-10
    refuse_unsolvable(long, 12_000, 5.0)
    dense = make_prior("exponential", TOWN, 1500.0)
    refuse_unsolvable(dense, 200, 2.0)
    with pytest.raises(DesignError, match="solved surely enough"):
        refuse_unsolvable(dense, 10**9, 0.01)
    facts = PublicFacts(TOWN, 10**9)
    design = PosteriorSamplingDesign("exponential", 1500.0, 0.01, 0.1)
    assert PosteriorSampling().calibrate(design, facts, Budget(1.0, 1e-5)) is None


@pytest.mark.parametrize("name", PRIORS)
def test_the_order_of_records_reaches_no_integer(name: str) -> None:
    rng = np.random.default_rng(6)
    place, value = rng.integers(0, 60, 150), rng.uniform(-1, 1, 150)
    prior, found = make_prior(name, TOWN, 1500.0), []
    for order in (np.arange(150), rng.permutation(150)):
        seen = CollapsedRecords.from_records(place[order], value[order])
        ready = exact_paths(prior, seen, 2.0, 0.1)
        found.append(ready.rounded(deviates(ready)))
    assert np.array_equal(*found)


def test_a_release_draws_no_float_and_is_priced_as_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object, shape: object) -> np.ndarray:
        raise AssertionError("a floating-point deviate was asked for")

    monkeypatch.setattr(SystemEntropy, "normal", refuse)
    facts, mechanism = PublicFacts(TOWN, 200), PosteriorSampling()
    design = mechanism.calibrate(
        PosteriorSamplingDesign("car", 1500.0, 10.1, 0.1, paths=2), facts, Budget(1.0, 1e-5)
    )
    assert design is not None
    assert design.rounded_up() == design
    assert (design.ridge * 2**20, design.scale * 2**30) == (10590618, round(design.scale * 2**30))
    released = draw_release(mechanism.prepare(design, facts, records()), SystemEntropy())
    assert released.paths.shape == (2, 81)
    assert np.array_equal(released.paths * 2**20, np.round(released.paths * 2**20))
    found = mechanism.guarantee(replace(design, scale=design.scale - 1e-12), facts)
    assert found.distance == 2.0**-150
    assert found.epsilon(1e-5).epsilon == mechanism.guarantee(design, facts).epsilon(1e-5).epsilon <= 1.0


def test_paths_at_public_places_are_a_gaussian_mechanism() -> None:
    """Theorem (public places) of docs/exact-paths.md: nothing moves means more."""
    facts = replace(PublicFacts(TOWN, 200), places_public=True)
    design = PosteriorSamplingDesign("car", 1500.0, 10.0, 0.1, noise_scale=0.05, paths=2)
    found = PosteriorSampling().guarantee(design, facts)
    assert found.neighbours == "values-only"
    assert found.exact_gaussian_mu == pytest.approx(
        2 * math.sqrt(2 / 101) / (10 * math.sqrt(0.0125)), rel=1e-6
    )
    seen, covariance = records(), make_prior("car", TOWN, 1500.0).correlation()
    weight = np.zeros(TOWN.size)
    weight[seen.index] = seen.count / 100.0
    left = np.linalg.solve(np.eye(TOWN.size) + covariance * weight, covariance)
    law = 0.01 * left + 0.0025 * covariance
    moved = 2.0 * left[:, seen.index] / 100.0
    mu = np.sqrt(2 * np.einsum("ij,ij->j", moved, np.linalg.solve(law, moved)))
    assert 0.5 * found.exact_gaussian_mu < mu.max() <= found.exact_gaussian_mu
    ready = PosteriorSampling().calibrate(design, facts, Budget(1.0, 1e-5))
    hidden = PosteriorSampling().calibrate(design, replace(facts, places_public=False), Budget(1.0, 1e-5))
    assert ready is not None
    assert hidden is not None
    assert ready.scale < 0.8 * hidden.scale
    assert ready.noise_share == pytest.approx(0.2, rel=1e-6)
    assert 0.999 < PosteriorSampling().guarantee(ready, facts).epsilon(1e-5).epsilon <= 1.0
    assert priced(ready, facts, 1e-5)[1] <= 1.0


def test_a_group_pays_for_the_distance_to_the_ideal() -> None:
    facts = PublicFacts(TOWN, 200)
    found = PosteriorSampling().guarantee(PosteriorSamplingDesign("car", 1500.0, 10.0, 0.2), facts)
    ideal = replace(found, distance=0.0)
    assert (
        ideal.group(1e-5, 3).epsilon <= found.group(1e-5, 3).epsilon < 1.0001 * ideal.group(1e-5, 3).epsilon
    )
    assert isinstance(found.cost, Cost)
    assert isinstance(exact_paths(make_prior("matern32", TOWN, 900.0), records(), 1.0, 0.1), DensePaths)
