"""The reader recomputes epsilon from the RDP curve, and takes nothing below it."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from dpgp_core.accounting.conversion import group_privacy
from hexcursion.bundle import BundleError
from hexcursion.bundle.statement.evaluation import following as evaluated
from hexcursion.bundle.statement.format1 import _checked_mu
from hexcursion.bundle.statement.guarantee import with_words
from hexcursion.bundle.statement.schema_check import check_statement
from tests.hexcursion.bundle.bundle_samples import following


def claiming(contents: dict[str, bytes], epsilon: float) -> dict[str, Any]:
    """The statement with another epsilon and all texts that follow from it, as a careful forger does."""
    statement: dict[str, Any] = json.loads(contents["statement.json"])
    statement["guarantee"] = with_words({**statement["guarantee"], "epsilon": epsilon})
    statement["evaluation"].update(evaluated(statement))
    return following(statement)


def proved(contents: dict[str, bytes]) -> float:
    return float(json.loads(contents["statement.json"])["guarantee"]["epsilon"])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.51, 0.9, 0.99, 0.999999])
def test_less_than_the_curve_proves_is_refused(contents: dict[str, bytes], share: float) -> None:
    with pytest.raises(BundleError, match="smaller than what its own cost proves"):
        check_statement(claiming(contents, share * proved(contents)))


@pytest.mark.parametrize("share", [1.0, 1.000001, 2.0])
def test_what_it_proves_or_more_is_accepted(contents: dict[str, bytes], share: float) -> None:
    statement = claiming(contents, share * proved(contents))
    assert check_statement(statement) == statement


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


def format1(epsilon: float, values: list[float], group: list[dict[str, float]]) -> dict[str, Any]:
    """The protection of a statement of format 1 at delta 1e-5, with a curve at the orders 2 and 4."""
    curve = {"orders": [2.0, 4.0], "values": values}
    return {"rdp": curve, "delta": 1e-5, "order": None, "epsilon": epsilon, "group": group}


def test_a_curve_of_nothing_is_one_of_no_mu() -> None:
    assert _checked_mu(format1(0.0, [0.0, 0.0], []), True) == 0.0
    assert _checked_mu(format1(2.0, [0.25, 0.5], []), True) == pytest.approx(0.5, rel=1e-12)
    assert _checked_mu(format1(4.0, [0.25, 0.5], []), False) is None, "no Gaussian mechanism"


@pytest.mark.parametrize(
    ("epsilon", "delta", "follows"),
    [
        (1.0, 1.0, True), (2.0, 1.0, True), (1.0, 3.0, True),
        (1.0 - 1e-12, 1.0, False), (1.0, 1.0 - 1e-12, False), (0.5, 2.0, False),
    ],
)  # fmt: skip
def test_a_group_line_of_format_1_says_what_follows_or_more(
    epsilon: float, delta: float, follows: bool
) -> None:
    """Two records at epsilon 3 and delta 1e-5: epsilon 6 and delta 2e-5 e^3, up to one part in 10^9."""
    least, most = group_privacy(3.0, 1e-5, 2)
    assert (least, most) == pytest.approx((6.0, 4.0171074e-4))
    line = {
        "records": 2, "epsilon": epsilon * (least * (1.0 - 1e-9)), "delta": delta * (most * (1.0 - 1e-9)),
    }  # fmt: skip
    if follows:
        assert _checked_mu(format1(3.0, [0.25, 0.5], [line]), True) == pytest.approx(0.5)
        return
    with pytest.raises(BundleError, match="promises more than follows from epsilon"):
        _checked_mu(format1(3.0, [0.25, 0.5], [line]), True)
