"""Spends at the edges of floating point: the right answer each time, and sums that never round down."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpgp_core.accounting.composition import Cost, compose
from dpgp_core.accounting.composition import epsilon as composed_epsilon
from dpgp_core.accounting.gaussian import gaussian_epsilon
from dpgp_core.accounting.rdp import ORDERS, RdpCurve, epsilon_from_rdp
from hexcursion.ledger import ROUNDING, Budget, BudgetExceeded, Charge, Ledger, LedgerError
from hexcursion.ledger import ledger as ledger_module
from hexcursion.ledger.account import decode, encode, on_current_grid
from tests.hexcursion.ledger.places import Place, charge_for, release

DELTA = 1e-5
COSTS = st.floats(min_value=5e-324, max_value=1e300, allow_nan=False)


def flat(dataset: str, value: float) -> Charge:
    """A charge of the same RDP at every order."""
    return Charge(dataset, "point", Cost.renyi(RdpCurve(np.full(ORDERS.shape, value))))


def composed(charge: Charge, count: int) -> float:
    """Oracle: epsilon of `count` equal charges, by exact rational sums rounded to the nearest float."""
    total = [float(Fraction(value) * count) for value in charge.cost.curve.values]
    return epsilon_from_rdp(ORDERS, total, DELTA).epsilon


# The rule


def test_the_last_float_within_the_declared_rounding_fits_and_the_next_does_not() -> None:
    for epsilon in (1e-300, 0.1, 1.0, 1.0000000000000002, math.pi, 1e300):
        budget, limit = Budget(epsilon, DELTA), epsilon * (1 + ROUNDING)
        assert budget.covers(epsilon)
        assert budget.covers(math.nextafter(epsilon, math.inf)), "a last digit never blocks a spend"
        assert budget.covers(limit)
        assert not budget.covers(math.nextafter(limit, math.inf))
        assert not budget.covers(math.inf)
        assert not budget.covers(math.nan)


def test_exactly_what_is_left_is_accepted_and_one_ulp_more_refused(ledger: Ledger) -> None:
    """The budget is set so that the second release meets it exactly, then one ulp below that."""
    charge = charge_for(ledger.fingerprint([1.0]), 0.1)
    exact = composed_epsilon((charge.cost, charge.cost), DELTA).epsilon
    smallest = exact / (1 + ROUNDING)  # the least budget that still covers `exact`
    while smallest * (1 + ROUNDING) >= exact:
        smallest = math.nextafter(smallest, 0)
    smallest = math.nextafter(smallest, math.inf)
    cases = {exact: True, smallest: True, math.nextafter(smallest, 0): False}
    for number, (epsilon, fits) in enumerate(cases.items()):
        dataset = ledger.fingerprint([2.0 + number])
        spend = charge_for(dataset, 0.1)
        ledger.set_budget(dataset, "point", epsilon, DELTA)
        release(ledger, spend, f"first {number}")
        assert ledger.preview(spend).fits is fits
        if fits:
            release(ledger, spend, f"second {number}")
            assert ledger.account(dataset, "point").spent == exact
            assert ledger.account(dataset, "point").left == max(0.0, epsilon - exact)
        else:
            with pytest.raises(BudgetExceeded) as refused:
                ledger.reserve(spend)
            assert refused.value.after == exact


def test_ten_tenths_are_one(ledger: Ledger, dataset: str) -> None:
    """The classic: ten equal spends of a budget made of ten of them, whatever their last digits say."""
    charge = flat(dataset, 0.1)
    ledger.set_budget(dataset, "point", composed(charge, 10), DELTA)
    for number in range(10):
        release(ledger, charge, f"{number}")
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge)


def test_a_tiny_spend_is_accepted_recorded_and_counted(ledger: Ledger, dataset: str) -> None:
    for value in (1e-300, 5e-324):
        with pytest.raises(LedgerError, match="No budget"):
            ledger.reserve(flat(dataset, value))
    ledger.set_budget(dataset, "point", 1.0, DELTA)
    release(ledger, flat(dataset, 0.01), "large")
    before = ledger.account(dataset, "point")
    release(ledger, flat(dataset, 1e-300), "tiny")
    release(ledger, flat(dataset, 5e-324), "subnormal")
    after = ledger.account(dataset, "point")
    assert len(after.charged) == 3
    assert np.all(after.cost.curve.values > before.cost.curve.values), "no spend is too small to count"
    assert after.spent >= before.spent
    assert decode(ledger.entries()[5].curve)[0] == 1e-300, "stored to the last bit"


def test_a_full_budget_takes_no_tiny_spend_beyond_the_rounding(ledger: Ledger, dataset: str) -> None:
    """At the limit itself the smallest positive cost is refused, so nothing slips through for ever."""
    charge = flat(dataset, 2.0)
    ledger.set_budget(dataset, "point", composed_epsilon(charge.cost, DELTA).epsilon / (1 + ROUNDING), DELTA)
    release(ledger, charge, "all of it")
    refused = 0
    for number in range(20):
        try:
            release(ledger, flat(dataset, 5e-324), f"tiny {number}")
        except BudgetExceeded:
            refused += 1
    assert refused > 0
    account = ledger.account(dataset, "point")
    assert account.budget is not None
    assert account.budget.covers(account.spent)


def test_infinite_nan_negative_and_zero_costs_never_pass(ledger: Ledger, dataset: str) -> None:
    ledger.set_budget(dataset, "point", 1e308, DELTA)
    with pytest.raises(BudgetExceeded, match="asked inf"):
        ledger.reserve(flat(dataset, math.inf))
    for value in (math.nan, -1e-300, -math.inf):
        with pytest.raises(ValueError, match=r"\w"):
            flat(dataset, value)

    class Careless:
        """A curve that did not check itself."""

        def __init__(self, value: float) -> None:
            self.values = np.full(ORDERS.shape, value)

    for value in (math.nan, -1e-300, -math.inf, 0.0):
        with pytest.raises(LedgerError):
            Charge(dataset, "point", Cost.renyi(Careless(value)))  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="underflow"):
        Charge(dataset, "point", Cost.renyi(RdpCurve.zero()))
    curve = RdpCurve.gaussian(1.0)
    with pytest.raises(LedgerError, match="mu"):
        Charge(dataset, "point", Cost(curve, 0.0))
    with pytest.raises(LedgerError, match="pure epsilon"):
        Charge(dataset, "point", Cost(curve, None, 0.0))
    with pytest.raises(LedgerError, match="one by one"):
        Charge(dataset, "point", compose([Cost.renyi(curve)] * 2))
    assert [entry.kind for entry in ledger.entries()] == ["genesis", "budget"]


def test_a_cost_that_is_finite_at_some_orders_only_is_priced_there(ledger: Ledger, dataset: str) -> None:
    values = np.where(ORDERS < 2, 0.01, math.inf)
    ledger.set_budget(dataset, "point", 20.0, DELTA)
    release(ledger, Charge(dataset, "point", Cost.renyi(RdpCurve(values))), "below order 2")
    assert math.isfinite(ledger.account(dataset, "point").spent)
    assert ledger.verify() == []


def test_two_huge_spends_overflow_to_a_refusal(ledger: Ledger, dataset: str) -> None:
    ledger.set_budget(dataset, "point", 1.7e308, DELTA)
    release(ledger, flat(dataset, 1e308), "huge")
    with pytest.raises(BudgetExceeded):
        ledger.reserve(flat(dataset, 1e308))


# Sums


@given(st.lists(COSTS, min_size=1, max_size=20))
def test_sums_are_upper_bounds_within_one_ulp_a_step(spends: list[float]) -> None:
    total = Cost.nothing()
    for value in spends:
        total = compose((total, Cost.renyi(RdpCurve(np.full(ORDERS.shape, value)))))
    exact, result = sum(map(Fraction, spends)), float(total.curve.values[0])
    assert Fraction(result) >= exact
    assert Fraction(result) <= exact * (1 + Fraction(len(spends), 2**49)) + len(spends) * Fraction(5e-324)


@given(st.lists(st.floats(1e-12, 10.0), min_size=1, max_size=8), st.floats(1e-12, 0.5))
def test_gaussian_releases_compose_exactly_and_never_below_the_truth(mus: list[float], delta: float) -> None:
    total = Cost.nothing()
    for mu in mus:
        total = compose((total, Cost.gaussian(mu)))
    squares = sum(Fraction(mu) ** 2 for mu in mus)
    assert total.gaussian_mu is not None
    assert Fraction(total.gaussian_mu) ** 2 >= squares
    exact = gaussian_epsilon(math.sqrt(float(squares)), delta)
    from_curve = epsilon_from_rdp(ORDERS, total.curve.values, delta).epsilon
    found = composed_epsilon(total, delta).epsilon
    assert exact * (1 - 1e-9) <= found <= min(from_curve, exact * (1 + 1e-9) + 1e-12)


def test_beside_a_gaussian_release_another_costs_what_its_losses_prove(ledger: Ledger, dataset: str) -> None:
    ledger.set_budget(dataset, "point", 5.0, DELTA)
    gaussian = Charge(dataset, "point", Cost.gaussian(0.2))
    first = release(ledger, gaussian, "gaussian")
    exact = ledger.account(dataset, "point").spent
    assert exact == pytest.approx(gaussian_epsilon(0.2, DELTA), rel=1e-9)
    assert exact < gaussian.cost.curve.epsilon(DELTA).epsilon
    release(ledger, charge_for(dataset, 0.2), "by its curve")
    mixed, by_curve = ledger.account(dataset, "point").spent, RdpCurve.gaussian(0.2 * math.sqrt(2))
    assert gaussian_epsilon(0.2 * math.sqrt(2), DELTA) < mixed < by_curve.epsilon(DELTA).epsilon
    assert mixed == pytest.approx(1.1362696, rel=1e-6)
    assert ledger.account(dataset, "point").charged[0] == first


def test_giving_back_leaves_exactly_what_was_there(ledger: Ledger, dataset: str) -> None:
    ledger.set_budget(dataset, "point", 5.0, DELTA)
    release(ledger, charge_for(dataset, 0.1), "kept")
    before = ledger.account(dataset, "point").cost.curve.values
    ledger.reserve(charge_for(dataset, 0.3)).release_unused()
    assert np.array_equal(ledger.account(dataset, "point").cost.curve.values, before)


# The stored form


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=10))
def test_curves_are_stored_to_the_last_bit(values: list[float]) -> None:
    array = np.array(values)
    assert decode(encode(array)).tobytes() == array.tobytes()


@given(st.floats(1e-3, 10.0), st.integers(3, 60))
def test_a_curve_from_another_grid_is_read_as_an_upper_bound(mu: float, size: int) -> None:
    grid = 1 + np.geomspace(1e-2, 1e3, size)
    moved = on_current_grid(grid, mu * mu / 2 * grid)
    truth = mu * mu / 2 * ORDERS
    assert np.all(moved >= truth)
    assert np.all(np.isinf(moved[grid[-1] < ORDERS]))
    assert np.array_equal(on_current_grid(ORDERS, truth), truth)
    assert np.array_equal(on_current_grid(ORDERS[::5], truth[::5])[::5], truth[::5]), "no looser than needed"


def test_a_new_grid_of_orders_is_an_entry_and_old_charges_still_count(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger begun by a program with a coarser grid goes on under this one."""
    from hexcursion.ledger import opening

    coarse = ORDERS[::5].copy()
    with monkeypatch.context() as earlier:
        earlier.setattr(opening, "GRID", coarse)
        earlier.setattr(ledger_module, "GRID", coarse)
        ledger = place.open()
        dataset = ledger.fingerprint([1.0])
        ledger.set_budget(dataset, "point", 1.0, DELTA)
        old = charge_for(dataset, 0.1)
        earlier.setattr(ledger_module, "encode", lambda values: encode(values[::5]))
        release(ledger, old, "old")
    ledger = place.open()
    release(ledger, charge_for(dataset, 0.1), "new")
    assert [entry.kind for entry in ledger.entries()][-4:] == ["orders", "reserve", "draw", "commit"]
    both = RdpCurve.gaussian(0.1 * math.sqrt(2)).epsilon(DELTA).epsilon
    assert both <= ledger.account(dataset, "point").spent <= both * 1.3
    assert ledger.verify() == []
