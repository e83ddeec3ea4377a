"""Where the accountant turns from one way of reckoning to another, and how far it looks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

from dpgp_core import ORDERS, RdpCurve
from dpgp_core.accounting import composition, tails
from dpgp_core.accounting.composition import Composed, Cost, _composed, _odds, compose, epsilon, pure_curve
from dpgp_core.accounting.guarantee import Guarantee, group_epsilon
from dpgp_core.accounting.pld import NEGLIGIBLE, gaussian_loss, gaussian_reach, response_loss
from dpgp_core.accounting.rdp import covariance_term
from dpgp_core.accounting.tails import GaussianPairs, Tails, least_total, renyi_tails

PATHS = Cost.renyi(RdpCurve.gaussian(0.25), GaussianPairs(0.01))


@pytest.mark.parametrize(("releases", "method"), [(2, "privacy-loss"), (8, "privacy-loss"), (9, "renyi")])
def test_up_to_eight_releases_of_paths_are_composed_one_by_one(releases: int, method: str) -> None:
    found = epsilon([PATHS] * releases, 1e-5)
    assert found.method == method
    together = renyi_tails(compose([PATHS] * releases).curve).epsilon(1e-5)[0]
    assert found.epsilon <= together * (1.0 + 1e-12)
    assert (found.order is None) == (method == "privacy-loss")


def test_curves_without_pairs_are_added_up_and_not_composed_one_by_one() -> None:
    assert epsilon([Cost.renyi(RdpCurve.gaussian(0.25))] * 2, 1e-5).method == "renyi"


def test_what_is_free_does_not_count_as_a_release() -> None:
    free = Cost(RdpCurve.zero(), 0.0), Cost(RdpCurve.zero(), None, 0.0), Cost.nothing()
    assert all(each.releases == () for each in free)
    assert compose([*free, PATHS]).releases == (PATHS,)
    assert epsilon(free, 1e-5) == Composed(0.0, "nothing")
    assert Cost.pure(0.1).releases == (Cost.pure(0.1),)
    two = compose([PATHS, Cost.gaussian(0.3)])
    assert (two.gaussian_mu, two.pure_epsilon, two.pairs) == (None, None, None)
    assert compose([Cost.pure(0.1), Cost.gaussian(0.3)]).pure_epsilon is None


@pytest.mark.parametrize(
    ("mu", "pures", "step"),
    [
        (0.0, [0.5, 0.5], 2.0**-13),  # the wider of .5/4096 and 1/16384
        (0.0, [0.5], 2.0**-13),
        (0.0, [0.5] * 100, 2.0**-8),  # 7 sqrt(100) .5 = 35 over 16384
        (0.0, [1.0] * 81, 2.0**-8),  # 7 sqrt(81) = 63 over 16384, and no more
        (0.0, [0.51], 2.0**-12),
        (1.0, [0.1], 2.0**-8),  # .5 + 9.8 over 4096
    ],
)
def test_the_grid_of_losses_has_some_4096_points_for_the_widest(
    mu: float, pures: list[float], step: float
) -> None:
    found = _composed(mu, pures, [])
    assert found is not None
    assert found.step == step


def test_losses_beyond_250_are_left_to_the_curve() -> None:
    assert _composed(0.0, [250.0], []) is not None
    assert _composed(0.0, [250.1], []) is None
    assert _composed(0.0, [math.inf], []) is None


def test_where_a_gaussian_loss_ends() -> None:
    """At mu^2/2 + 9.8 mu, which is exceeded with chance Phi(-9.8) = 5.6e-23: less than is negligible."""
    assert float(ndtr(-9.8)) < NEGLIGIBLE == 1e-22
    assert gaussian_reach(2.0) == pytest.approx(21.6)
    assert gaussian_loss(2.0, 0.125).reach == 21.625
    assert response_loss(0.7, 0.125).reach == 0.75


def test_odds_end_where_doubles_do() -> None:
    assert _odds(0.0) == 2.0
    assert _odds(1.0) == 1.0 + math.e
    assert math.isfinite(_odds(math.nextafter(700.0, 0.0)))
    assert math.isinf(_odds(700.0))


def test_sixty_rounds_are_spent_on_a_distance_to_the_ideal(monkeypatch: pytest.MonkeyPatch) -> None:
    """An epsilon that grows with every round is never proved."""
    asked: list[float] = []

    def ideal(_: Cost, spared: float) -> Composed:
        asked.append(spared)
        return Composed(1.0 + 0.001 * len(asked), "gaussian")

    monkeypatch.setattr(composition, "_ideal_epsilon", ideal)
    found = epsilon(Cost.gaussian(0.5, distance=1e-7), 1e-5)
    assert (found.epsilon, found.method) == (math.inf, "unproved")
    assert len(asked) == 60
    assert asked[0] == 1e-5
    assert all(1e-5 > later > 0.0 for later in asked[1:])


def test_randomised_response_by_hand() -> None:
    """log(cosh(1.5 e)/cosh(e/2)) at order 2, and at most e at every order."""
    place = int(np.argmin(np.abs(ORDERS - 2.0)))
    assert float(ORDERS[place]) == pytest.approx(2.0, rel=1e-12)
    for value in (0.01, 0.4, 0.6, 3.0):
        exact = math.log(math.cosh(1.5 * value) / math.cosh(0.5 * value))
        assert float(pure_curve(value).values[place]) == pytest.approx(exact, rel=1e-11)
        assert float(pure_curve(value).values[-1]) <= value


@pytest.mark.parametrize(
    ("least", "most", "edge"),
    [(0.0, math.inf, False), (0.0, 10.0, True), (100.0, math.inf, True), (10.0, 50.0, False)],
)
def test_a_guarantee_tells_whether_other_orders_might_do_better(
    least: float, most: float, edge: bool
) -> None:
    """The best order of mu .2 at delta 1e-5 is about 23; a distance to the ideal is charged in between."""
    values = np.where((least < ORDERS) & (most > ORDERS), RdpCurve.gaussian(0.2).values, np.inf)
    found = Guarantee(RdpCurve(values), "made up", "nowhere", True, distance=1e-30).epsilon(1e-5)
    assert found.at_edge == edge
    assert found.order is not None
    assert least < found.order < most
    assert not Guarantee(RdpCurve(values), "made up", "nowhere", True).group(1e-5, 2).at_edge


def test_a_group_says_by_what_it_is_proved_or_that_it_is_not() -> None:
    nothing = RdpCurve(np.full(601, np.inf))
    for pairs_ in (None, GaussianPairs(0.1)):
        assert group_epsilon(Cost.renyi(nothing, pairs_), 3, 1e-5) == Composed(math.inf, "unproved")
    assert group_epsilon(PATHS, 2, 1e-5).method == "gaussian-pairs"
    assert group_epsilon(Cost.gaussian(0.3), 2, 1e-5).method == "gaussian"
    assert group_epsilon(Cost.nothing(), 2, 1e-5).method == "nothing"
    for number in (0, 1.5, -1):
        with pytest.raises(ValueError, match="q must be a whole number >= 1"):
            group_epsilon(PATHS, number, 1e-5)  # type: ignore[arg-type]


def test_a_pure_guarantee_has_no_order_and_no_edge() -> None:
    found = Guarantee.pure(0.5, "laplace-mechanism", "textbook")
    assert (found.bound, found.source, found.pure_epsilon) == ("laplace-mechanism", "textbook", 0.5)
    price = found.epsilon(1e-9)
    assert (price.epsilon <= 0.5, price.order, price.at_edge) == (True, None, False)
    mechanism = Guarantee.gaussian(Cost.gaussian(0.3, 1e-12), "textbook")
    assert (mechanism.bound, mechanism.exact_gaussian_mu) == ("gaussian-mechanism", 0.3)
    assert (mechanism.distance, mechanism.proved) == (1e-12, True)


def budget(monkeypatch: pytest.MonkeyPatch, log: float) -> tuple[float, list[np.ndarray]]:
    """`least_total` from total 2 where every profile has this logarithm, and the orders that were asked."""
    seen: list[np.ndarray] = []

    def logs(orders: np.ndarray, *_: object) -> np.ndarray:
        seen.append(orders)
        return np.full(orders.shape, log)

    monkeypatch.setattr(tails, "pair_logs", logs)
    found = least_total(
        1.0,
        1e-5,
        shift=np.full(601, 0.16),
        covariance=covariance_term(ORDERS, np.array(0.001)),
        pairs=GaussianPairs(0.001),
        start=2.0,
    )
    return found, seen


def test_the_least_total_is_sought_between_a_half_and_the_whole_of_what_is_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At 61 orders around the one that serves best, to a part in ten million."""
    found, seen = budget(monkeypatch, -1e3)
    assert 1.0 <= found <= 1.0 + 1e-7
    assert budget(monkeypatch, 1e3)[0] == 2.0
    assert {orders.size for orders in seen} == {61}
    assert 15.0 < float(seen[0][30]) < 35.0


def test_where_nothing_is_proved_the_total_stays() -> None:
    for start, total in ((3.0, 3.0), (math.inf, math.inf)):
        found = least_total(
            1.0,
            1e-5,
            shift=np.full(601, np.inf),
            covariance=np.zeros(601),
            pairs=GaussianPairs(0.1),
            start=start,
        )
        assert found == total


@pytest.mark.parametrize("wrong", [{"leverage": 1.0}, {"leverage": -0.001}, {"leverage": math.nan}])
def test_a_leverage_is_a_share_below_one(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="leverage"):
        GaussianPairs(**wrong)
    assert (GaussianPairs(0.0).leverage, GaussianPairs(0.0).paths) == (0.0, 1)
    with pytest.raises(ValueError, match="paths"):
        GaussianPairs(0.5, 0)


@pytest.mark.parametrize("distance", [-1e-9, 1.0, math.nan])
def test_a_total_variation_is_a_share_below_one(distance: float) -> None:
    with pytest.raises(ValueError, match="total variation"):
        Cost(RdpCurve.zero(), distance=distance)
    with pytest.raises(ValueError, match="gaussian_mu"):
        Cost(RdpCurve.zero(), -0.1)
    with pytest.raises(ValueError, match="pure_epsilon"):
        Cost(RdpCurve.zero(), None, -0.1)


def test_a_part_that_never_loses_needs_no_grid() -> None:
    """Its losses reach to 0: a grid would have no step."""
    silent = Tails(ORDERS - 1.0, np.full(ORDERS.shape, -1e6))
    assert silent.reach(1e-22) == 0.0
    assert _composed(0.0, [], [silent]) is None
    assert _composed(0.1, [], [silent]) is not None
