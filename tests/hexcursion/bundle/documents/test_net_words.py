"""Costs in words are rounded up, down to the smallest number there is."""

from __future__ import annotations

import pytest

from dpgp_core.numbers import upper


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (0.0, "0"),
        (5e-324, "1e-300"),
        (1e-310, "1e-300"),
        (0.333312, "0.3334"),
        (2.0, "2"),
        (1.00001, "1.001"),
    ],
)
def test_a_cost_is_rounded_up(cost: float, said: str) -> None:
    assert upper(cost) == said
