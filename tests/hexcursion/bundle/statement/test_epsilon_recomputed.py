"""The reader recomputes epsilon from the RDP curve, and takes nothing below it."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from dpgp_core.accounting.rdp import ORDERS
from hexcursion.bundle import BundleError
from hexcursion.bundle.statement.guarantee import _read_curve
from hexcursion.bundle.statement.schema_check import check_statement


def proved(contents: dict[str, bytes]) -> float:
    return float(json.loads(contents["statement.json"])["guarantee"]["epsilon"])


def test_the_sample_proves_what_a_hand_computation_proves(contents: dict[str, bytes]) -> None:
    """Literal: the least over the orders of rdp + log((a-1)/a) - (log delta + log a)/(a-1) is 2.3965."""
    guarantee = json.loads(contents["statement.json"])["guarantee"]
    order = np.array(guarantee["curve"]["orders"], dtype=float)
    value = np.array([np.inf if v is None else v for v in guarantee["curve"]["values"]], dtype=float)
    epsilon = value + np.log1p(-1 / order) - (np.log(1e-5) + np.log(order)) / (order - 1)
    assert proved(contents) == pytest.approx(float(epsilon.min()), rel=1e-6)
    assert proved(contents) == pytest.approx(2.3965, abs=5e-5)


@pytest.mark.parametrize(("off", "fits"), [(5e-9, True), (2e-8, False), (-5e-9, True), (-2e-8, False)])
def test_a_large_threshold_is_compared_relatively(contents: dict[str, bytes], off: float, fits: bool) -> None:
    """A threshold of ten response units may differ by one part in 10^9 of them, and not by two."""
    statement: dict[str, Any] = json.loads(contents["statement.json"])
    statement["subject"]["threshold"] = math.exp(12.9 + 1.2 * 10.0)
    statement["subject"]["threshold_response"] = 10.0 + off
    if fits:
        assert check_statement(statement) == statement
        return
    with pytest.raises(BundleError, match="two different thresholds"):
        check_statement(statement)


@pytest.mark.parametrize(
    ("orders", "values", "said"),
    [
        ([2.0, 3.0], [0.3], "is damaged"),
        ([], [], "is damaged"),
        ([3.0, 2.0], [0.3, 0.2], "is damaged"),
        ([2.0, 2.0], [0.3, 0.3], "is damaged"),
        ([0.5, 2.0], [0.1, 0.3], "is not on the public orders"),
        ([2.0, 1e9], [0.3, 0.9], "is not on the public orders"),
        ([float(ORDERS[7]) * (1 + 1e-9)], [0.3], "is not on the public orders"),
    ],
)
def test_a_curve_is_stated_on_the_public_orders_from_the_least_to_the_largest(
    orders: list[float], values: list[float], said: str
) -> None:
    with pytest.raises(BundleError, match=f"^The privacy statement's RDP curve {said}"):
        _read_curve({"orders": orders, "values": values})


def test_where_no_order_is_stated_nothing_is_proved() -> None:
    """Its last digits may be those of another machine."""
    last = float(ORDERS[-1]) * (1 - 1e-13)
    read = _read_curve({"orders": [float(ORDERS[0]), last], "values": [0.1, 0.9]})
    assert read is not None
    assert (read.values[0], read.values[-1]) == (0.1, 0.9)
    assert np.isinf(read.values[1:-1]).all()
    assert _read_curve(None) is None
