"""The guarantee of a design: what it costs, which bound backs it, and what it refuses."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from dpgp_core import (
    BOUNDS,
    ORDERS,
    BoundRefused,
    Guarantee,
    RdpCurve,
    epsilon_from_rdp,
    gaussian_epsilon,
    path_rdp,
    sensitivity_sharp,
    variance_bound,
)
from dpgp_core.accounting.composition import Cost, Neighbours
from dpgp_core.accounting.composition import epsilon as composed_epsilon
from dpgp_core.accounting.gaussian import gaussian_mu
from dpgp_core.accounting.rdp import covariance_rdp
from dpgp_core.bounds.registry import smallest_scale_for
from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatisticsDesign
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign as Design
from dpgp_core.mechanisms.paths import path_guarantee
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.releasing import PublicFacts
from tests.dpgp_core.hexmap import disk


@dataclass(frozen=True)
class Facts:
    name: str = "exponential"
    kappa: float = 0.1
    bounds: tuple[str, ...] = ("sharp", "separate", "triangle")


DESIGN = Design("exponential", 1000.0, 5.0, 0.27)
LATTICE = Facts("car", 0.0, ("maximum-principle", "sharp", "separate", "triangle"))


def test_it_is_the_curve_of_path_rdp() -> None:
    designs = (DESIGN, replace(DESIGN, paths=4), replace(DESIGN, noise_scale=0.3, paths=2))
    for design in (one.rounded_up() for one in designs):
        found = path_guarantee(design, 600, Facts())
        variance = variance_bound(600, 5.0, 0.1)
        rdp = path_rdp(
            ORDERS,
            ridge=5.0,
            scale=design.scale,
            variance=variance,
            sensitivity=sensitivity_sharp(600, 5.0, variance),
            noise_scale=design.noise_scale,
            paths=design.paths,
        )
        inside = np.isfinite(rdp)
        assert np.array_equal(inside, np.isfinite(found.curve.values))
        assert found.curve.values[inside] == pytest.approx(rdp[inside], rel=1e-10)
        by_curve = epsilon_from_rdp(ORDERS, rdp, 1e-5).epsilon
        assert found.curve.epsilon(1e-5).epsilon == pytest.approx(by_curve, rel=1e-10)
        assert 0.85 * by_curve < found.epsilon(1e-5).epsilon < 0.96 * by_curve
        assert found.proved
        assert found.bound == "sharp"
        assert "section 6" in found.source


def test_the_papers_example_gets_its_known_price() -> None:
    """(600, 5), lengthscale 0.18 of the unit square, sigma 0.27: docs/mathematics.md, section 6."""
    delta, kappa = 600**-1.1, math.exp(-math.sqrt(2.0) / 0.18)
    facts = Facts("made up", kappa, ("maximum-principle", "sharp", "separate"))
    for bound, epsilon in (("separate", 3.00), ("sharp", 2.13), ("maximum-principle", 1.48)):
        found = path_guarantee(replace(DESIGN, bound=bound), 600, facts)
        assert found.curve.epsilon(delta).epsilon == pytest.approx(epsilon, abs=0.01)
        assert 0.85 * epsilon < found.epsilon(delta).epsilon < 0.92 * epsilon
    # Theorem 3.1 as printed, with the unproved sqrt(2) and the looser conversion of the author's code: 5.65.
    assert path_guarantee(replace(DESIGN, bound="sharp"), 600, facts).epsilon(delta).epsilon < 0.45 * 5.65


def test_what_was_solved_is_what_is_charged() -> None:
    """The two routes to one number: the least scale for a budget, and the guarantee of the design with it."""
    for bound, share, paths in (("sharp", 0.0, 1), ("sharp", 0.3, 5), ("maximum-principle", 0.9, 2)):
        scales = smallest_scale_for(
            bound, 1.0, 1e-6, n=2000, ridge=15.0, kappa=0.0, noise_share=share, paths=paths
        )
        design = Design(
            "car", 1e3, 15.0, scales.scale, noise_scale=scales.noise_scale, paths=paths, bound=bound
        )
        epsilon = path_guarantee(design, 2000, LATTICE).curve.epsilon(1e-6).epsilon
        assert 1.0 - 1e-8 < epsilon <= 1.0


def test_a_bound_that_does_not_hold_for_the_prior_is_refused() -> None:
    """Theorem B must not price the two-dimensional exponential prior."""
    with pytest.raises(BoundRefused, match="'maximum-principle' does not hold for the prior 'exponential'"):
        path_guarantee(replace(DESIGN, bound="maximum-principle"), 600, Facts())


def test_an_unproved_bound_never_backs_a_release() -> None:
    """Not even if a prior claims it."""
    facts = Facts(bounds=("paper-code", "sharp"))
    with pytest.raises(BoundRefused, match="not proved"):
        path_guarantee(replace(DESIGN, bound="paper-code"), 600, facts)
    with pytest.raises(BoundRefused, match="not proved"):
        Guarantee(RdpCurve.zero(), "paper-code", "nowhere", False)
    assert not BOUNDS["paper-code"].proved


def test_an_unknown_bound_is_refused() -> None:
    with pytest.raises(BoundRefused, match="no bound named 'best'"):
        path_guarantee(replace(DESIGN, bound="best"), 600, Facts())


def test_posterior_mean_with_prior_noise_is_an_exact_gaussian_mechanism() -> None:
    variance = variance_bound(600, 5.0, 0.1)
    delta = float(sensitivity_sharp(600, 5.0, variance))
    noise = delta * math.sqrt(2.0) / gaussian_mu(1.0, 1e-6) * (1.0 + 2.0**-50)
    found = path_guarantee(replace(DESIGN, scale=0.0, noise_scale=noise, paths=2), 600, Facts())
    assert found.exact_gaussian_mu == pytest.approx(delta * math.sqrt(2.0) / noise, rel=1e-9)
    exact = found.epsilon(1e-6)
    assert exact.epsilon == pytest.approx(1.0, rel=1e-7)
    assert exact.order is None
    assert exact.epsilon < found.curve.epsilon(1e-6).epsilon
    assert np.all(np.isfinite(found.curve.values))


def test_an_exact_gaussian_mu_is_rounded_up_by_one_unit_of_2_to_the_minus_50() -> None:
    """mpmath, 40 digits, of the same shift and deviation: 0.29125964071046609."""
    found = path_guarantee(replace(DESIGN, scale=0.0, noise_scale=0.75, paths=2), 600, Facts())
    assert found.exact_gaussian_mu is not None
    assert 0.5 * 2.0**-50 < found.exact_gaussian_mu / 0.29125964071046609 - 1.0 < 1.6 * 2.0**-50


def test_noisy_cell_statistics_cost_one_gaussian_mechanism_whatever_comes_after() -> None:
    """Sensitivity 2 (docs/mathematics.md, section 11); paths, scale, ridge and prior are post-processing."""
    base = NoisyCellStatisticsDesign("car", 1e3, 4.0, 0.5, 8.0)
    found = MECHANISMS["noisy-cell-statistics"].guarantee(base, PublicFacts(disk(1), 5000))
    assert found.epsilon(1e-5).epsilon == pytest.approx(gaussian_epsilon(0.25, 1e-5), rel=1e-9)
    for other in (
        replace(base, paths=500),
        replace(base, scale=0.01, ridge=0.1),
        replace(base, prior="matern"),
    ):
        assert (
            MECHANISMS["noisy-cell-statistics"].guarantee(other, PublicFacts(disk(1), 5000)).curve
            == found.curve
        )


def test_a_design_that_releases_the_mean_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="add noise"):
        path_guarantee(replace(DESIGN, scale=0.0), 600, Facts())


def test_a_hopeless_design_costs_inf_not_an_error() -> None:
    """At ridge 0.01 no public order is admissible."""
    found = path_guarantee(replace(DESIGN, ridge=0.01), 600, Facts())
    assert found.epsilon(1e-5).epsilon == math.inf
    assert found.group(1e-5, 3).epsilon == math.inf


def test_a_group_is_protected_at_the_same_delta() -> None:
    """Never above q equal steps of the chain theorem, never below q records that each cost as much."""
    found = path_guarantee(DESIGN, 600, Facts())
    assert found.epsilon(1e-5).epsilon == pytest.approx(2.76136, rel=1e-4)
    assert found.group(1e-5, 1).epsilon == pytest.approx(2.76136, rel=1e-4)
    assert [found.group(1e-5, q).epsilon for q in (2, 5)] == pytest.approx([6.24379, 20.41098], rel=1e-4)


def test_a_gaussian_group_is_exact() -> None:
    found = Guarantee(RdpCurve.gaussian(0.3), "gaussian-mechanism", "textbook", True, 0.3)
    assert found.group(1e-5, 5).epsilon == pytest.approx(gaussian_epsilon(1.5, 1e-5), rel=1e-9)


def test_an_epsilon_is_never_above_what_the_curve_proves() -> None:
    costs = [Guarantee(RdpCurve.gaussian(0.3), "gaussian-mechanism", "textbook", True, 0.3)]
    for design in (DESIGN, replace(DESIGN, paths=20), replace(DESIGN, ridge=1.5), replace(DESIGN, scale=9.0)):
        costs.append(path_guarantee(design, 600, Facts()))
        costs.append(replace(costs[-1], pairs=None))
    for found in costs:
        for delta in (1e-9, 1e-5, 1e-2, 0.3):
            bound = found.epsilon(delta)
            assert bound.epsilon <= found.curve.epsilon(delta).epsilon
            assert composed_epsilon(found.cost, delta).epsilon <= bound.epsilon * (1 + 1e-12) + 1e-15
            if found.pairs is None and found.exact_gaussian_mu is None:
                assert bound == found.curve.epsilon(delta)


def test_a_distance_to_the_ideal_is_taken_off_delta() -> None:
    """(1 + e^epsilon) t: at mu .3 and delta 1e-5, a distance of 1e-6 costs about .04 of epsilon."""
    exact = Guarantee(RdpCurve.gaussian(0.3), "gaussian-mechanism", "textbook", True, 0.3)
    assert exact.epsilon(1e-5).epsilon == pytest.approx(1.13177489664, rel=1e-9)
    near = replace(exact, distance=1e-6)
    assert near.epsilon(1e-5).epsilon == pytest.approx(1.17163082776, rel=1e-9)
    assert replace(exact, distance=2.0**-150).epsilon(1e-5).epsilon == pytest.approx(1.13177489664, rel=1e-9)
    assert replace(exact, distance=1e-5).epsilon(1e-5).epsilon == math.inf


@pytest.mark.parametrize("n", [0, -5, 2.5, math.nan])
def test_n_must_be_a_number_of_records(n: float) -> None:
    with pytest.raises(ValueError, match="n must be a whole number"):
        path_guarantee(DESIGN, n, Facts())


def test_one_record_and_ten_million() -> None:
    for n in (1, 10_000_000):
        found = path_guarantee(replace(DESIGN, ridge=50.0), n, Facts())
        assert 0.0 < found.epsilon(1e-8).epsilon < math.inf


def test_the_proved_price_stays_above_the_covariance_floor() -> None:
    """No scale makes the covariance term vanish: only the ridge does."""
    huge = path_guarantee(replace(DESIGN, scale=1e15), 600, Facts(kappa=0.0))
    covariance = covariance_rdp(ORDERS, 5.0, 1.0)
    inside = np.isfinite(covariance)
    assert np.all(huge.curve.values[inside] >= covariance[inside])
    assert huge.curve.values[inside] == pytest.approx(covariance[inside], rel=1e-9)


def test_what_is_solved_is_never_charged_above_the_budget() -> None:
    """Exactly, not up to rounding: a budget line that equals the price must hold it. 300 random splits."""
    rng = np.random.default_rng(8)
    solved = 0
    for _ in range(300):
        epsilon, delta = 10.0 ** rng.uniform(-2.0, 1.2), 10.0 ** rng.uniform(-9.0, -3.0)
        n, ridge = int(10.0 ** rng.uniform(1.0, 5.0)), float(10.0 ** rng.uniform(-0.5, 2.0))
        share, paths = float(rng.choice([0.0, 0.5, rng.uniform(0.0, 0.99)])), int(rng.integers(1, 10))
        found = smallest_scale_for(
            "maximum-principle", epsilon, delta, n=n, ridge=ridge, paths=paths, noise_share=share
        )
        if not math.isfinite(found.scale):
            continue
        solved += 1
        design = replace(
            DESIGN,
            ridge=ridge,
            scale=found.scale,
            noise_scale=found.noise_scale,
            paths=paths,
            prior="car",
            bound="maximum-principle",
        )
        assert path_guarantee(design, n, LATTICE).curve.epsilon(delta).epsilon <= epsilon
    assert solved > 100


def test_the_cost_of_a_release_converts_more_sharply_than_its_curve() -> None:
    """For posterior paths, by their leverage 1/26 at ridge 5; a plain Gaussian mechanism has its mu."""
    found = path_guarantee(replace(DESIGN, ridge=5.0, paths=3), 600, Facts())
    assert found.pairs is not None
    assert found.pairs.paths == 3
    assert 0.0 < found.pairs.leverage <= 1.0 / 26.0 * (1.0 + 1e-12)
    sharper = composed_epsilon(found.cost, 1e-5)
    assert sharper.method == "gaussian-pairs"
    by_curve = found.curve.epsilon(1e-5).epsilon
    assert 0.85 * by_curve < sharper.epsilon < 0.97 * by_curve
    assert found.epsilon(1e-5).epsilon == sharper.epsilon
    plain = path_guarantee(replace(DESIGN, scale=0.0, noise_scale=1.0), 600, Facts())
    assert plain.pairs is None
    assert composed_epsilon(plain.cost, 1e-5).method == "gaussian"
    hopeless = path_guarantee(replace(DESIGN, ridge=1e-6), 600, Facts())
    assert composed_epsilon(hopeless.cost, 1e-5).method == "unproved"


def test_a_pure_mechanism_keeps_its_epsilon_alone_in_groups_and_composed() -> None:
    """Randomised response dominates it: epsilon' = ln(e - delta (1 + e)) = 0.99863116841 at delta 1e-3."""
    found = Guarantee.pure(1.0, "laplace-mechanism", "a test")
    assert found.proved
    assert found.cost.pure_epsilon == 1.0
    assert 0.99863116 < found.epsilon(1e-3).epsilon < 0.9986312  # the curve alone proves 0.99863122
    assert found.curve.epsilon(1e-3).epsilon > 0.9986312
    assert found.epsilon(1e-12).epsilon <= 1.0
    assert 4.99 < found.group(1e-9, 5).epsilon <= 5.0
    # Thirty of epsilon 0.1 at delta 1e-5, by the binomial law of thirty responses; their curves reach 2.2295.
    small = Guarantee.pure(0.1, "laplace-mechanism", "a test")
    assert 2.11014 < composed_epsilon([small.cost] * 30, 1e-5).epsilon < 2.1103


@pytest.mark.parametrize(("q", "relation"), [(1, "replace-one"), (3, "replace-one"), (2, "add-or-remove")])
def test_what_an_owner_costs_is_rounded_up_and_no_further(q: int, relation: Neighbours) -> None:
    """Exactly mu for one exchange; else q mu, or q times an exchange, and at most 2e-12 of it more."""
    mu, exchange = 0.1, 0.17
    hidden = relation == "add-or-remove"
    cost = Cost.gaussian(mu, 1e-40).among(relation, exchange if hidden else None)
    owned = Guarantee.gaussian(cost, "a test").of_owner(q)
    exact = q * Fraction(exchange if hidden else mu)
    found = owned.exact_gaussian_mu
    assert found is not None
    if q == 1:
        assert found == mu
    else:
        assert exact < Fraction(found) < exact * (1 + Fraction(2, 10**12))
    assert owned.exchange_mu == (found if hidden else None)
    assert (owned.distance, owned.neighbours) == (1e-40, relation)
    assert owned.curve.values[0] == RdpCurve.gaussian(found).values[0]


def test_an_owner_of_records_in_different_cells_costs_the_lesser() -> None:
    guarantee = Guarantee.gaussian(Cost.gaussian(0.1), "a test")
    for apart, least in ((0.25, 0.25), (0.45, 0.4)):
        found = guarantee.of_owner(4, apart).exact_gaussian_mu
        assert found == pytest.approx(least, rel=1e-11)
        assert found is not None
        assert found > least


@pytest.mark.parametrize("hidden", [False, True])
def test_an_owner_without_mu_costs_a_group(hidden: bool) -> None:
    """Two steps a record where one may be there or not; one record of an exchange stays what it is."""
    relation: Neighbours = "add-or-remove" if hidden else "replace-one"
    guarantee = Guarantee.pure(0.2, "laplace", "a test", relation)
    for q in (1, 3):
        found = guarantee.of_owner(q)
        assert found.pure_epsilon == pytest.approx(0.2 * q * (2 if hidden else 1), rel=1e-11)
        assert found.exchange_mu is None
        assert found.epsilon(1e-9).epsilon == pytest.approx(0.2 * q * (2 if hidden else 1), rel=1e-6)


@pytest.mark.parametrize("best", [0, 1, 2])
def test_the_order_that_gave_epsilon_is_said_and_whether_more_orders_would_help(best: int) -> None:
    """Three orders with finite values: only the middle one is no edge."""
    places = (299, 300, 301)
    values = np.full(ORDERS.shape, np.inf)
    values[list(places)] = 50.0
    values[places[best]] = 1e-3
    for distance in (0.0, 1e-40):
        guarantee = Guarantee(RdpCurve(values), "a bound", "a test", True, distance=distance)
        found = guarantee.epsilon(1e-5)
        assert found.order == ORDERS[places[best]]
        assert found.at_edge == (best != 1)
    exact = Guarantee.gaussian(Cost.gaussian(0.3), "a test").epsilon(1e-5)
    assert (exact.order, exact.at_edge) == (None, False)
