"""RDP curves: an additive monoid on the public orders that survives storage exactly."""

from __future__ import annotations

import hashlib
import pickle

import numpy as np
import pytest

from dpgp_core import ORDERS, RdpCurve, path_rdp


def a_path(scale: float = 0.3) -> RdpCurve:
    return RdpCurve(path_rdp(ORDERS, ridge=4.0, scale=scale, variance=0.9, sensitivity=0.2))


def test_the_orders_are_a_fixed_increasing_read_only_grid() -> None:
    assert ORDERS.size == 601
    assert float(ORDERS[0]) == pytest.approx(1.0 + 1e-3)
    assert ORDERS[-1] == pytest.approx(1.0 + 1e5)
    assert np.all(np.diff(ORDERS) > 0.0)
    with pytest.raises(ValueError, match="read-only"):
        ORDERS[0] = 2.0


def test_composition_is_addition_with_zero_as_neutral_element() -> None:
    one, two, three = a_path(), RdpCurve.gaussian(0.4), a_path(2.0)
    assert one + RdpCurve.zero() == one
    assert one + two == two + one
    assert ((one + two) + three).values == pytest.approx((one + (two + three)).values, rel=1e-15)
    assert one.times(3).values == pytest.approx((one + one + one).values, rel=1e-15)
    assert np.array_equal((one + two).values, one.values + two.values)


def test_gaussian_curves_compose_like_gaussian_mechanisms() -> None:
    together = RdpCurve.gaussian(0.3) + RdpCurve.gaussian(0.4)
    assert together.values == pytest.approx(RdpCurve.gaussian(0.5).values, rel=1e-14)


def test_composing_never_makes_epsilon_smaller_and_curves_beat_added_epsilons() -> None:
    for delta in (1e-9, 1e-5, 1e-2):
        one, both = a_path().epsilon(delta).epsilon, (a_path() + a_path(0.5)).epsilon(delta).epsilon
        assert both > one
        assert a_path().times(20).epsilon(delta).epsilon < 20 * a_path().epsilon(delta / 20).epsilon


def test_a_curve_can_be_sent_to_another_process() -> None:
    again = pickle.loads(pickle.dumps(a_path()))
    assert again == a_path()
    assert not again.values.flags.writeable


@pytest.mark.parametrize("bad", [-1e-300, np.nan, -np.inf])
def test_an_impossible_curve_does_not_exist(bad: float) -> None:
    values = np.ones(ORDERS.shape)
    values[100] = bad
    with pytest.raises(ValueError, match="never negative"):
        RdpCurve(values)
    with pytest.raises(ValueError, match="orders"):
        RdpCurve(np.ones(3))


def test_a_curve_cannot_be_changed_from_outside() -> None:
    values = np.ones(ORDERS.shape)
    curve = RdpCurve(values)
    values[:] = 0.0
    assert np.all(curve.values == 1.0)
    with pytest.raises(ValueError, match="read-only"):
        curve.values[0] = 0.0


@pytest.mark.parametrize("count", [0, -1, 1.5, True, np.nan])
def test_only_whole_positive_multiples(count: float) -> None:
    with pytest.raises(ValueError, match="whole"):
        a_path().times(count)


def test_infinite_cost_stays_infinite() -> None:
    endless = RdpCurve(np.full(ORDERS.shape, np.inf))
    assert (endless + a_path()).epsilon(1e-5).epsilon == np.inf
    assert endless.times(3) == endless


def test_only_curves_can_be_added() -> None:
    with pytest.raises(TypeError):
        a_path() + 1.0
    assert a_path() != 1.0


def test_the_orders_are_the_same_to_the_last_bit_on_every_processor() -> None:
    """Powers of numpy differ by processor in the last bit: a ledger would begin a new grid when it moves."""
    digest = "e2a44970b43a46be585a1fa1282e1a94fed1831ee8ccf288986f81cb17d61a00"
    assert hashlib.sha256(ORDERS.astype("<f8").tobytes()).hexdigest() == digest
