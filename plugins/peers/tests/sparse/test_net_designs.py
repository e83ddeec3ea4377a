"""Safety net: the sparse process that a curator gives by hand."""

from __future__ import annotations

from dpgp_core.mechanisms.registry import MECHANISMS
from tests.dpgp_core.mechanisms.net.test_net_designs import ASK, PRIVATE


def test_a_given_sparse_process_has_points_one_range_apart() -> None:
    design = MECHANISMS["sparse-gp"].search.given(PRIVATE, ASK, 1500.0, 2.0)
    assert design is not None
    assert design.paths == 100
    model = (design.prior, design.lengthscale, design.ridge, design.scale)  # type: ignore[attr-defined]
    assert model == ("car", 1500.0, 2.0, 0.6)
    assert (design.spacing, design.mu) == (1500.0, 1.0)  # type: ignore[attr-defined]
