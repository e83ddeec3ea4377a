"""Safety net: the designs that the sparse process offers a search."""

from __future__ import annotations

from itertools import product

from dpgp_core.mechanisms.registry import MECHANISMS
from hexcursion_peers.sparse.mechanism import SparseGpDesign, inducing_cells
from tests.dpgp_core.mechanisms.net.test_net_grids import ASK, HIDDEN, RANGES, same


def test_sparse_processes_are_offered_with_points_1_or_one_and_a_half_ranges_apart() -> None:
    """As long as more than three points are left."""
    model = product(RANGES, (1.0, 1.5), (0.7, 1.5), (0.3, 0.6))
    same(
        MECHANISMS["sparse-gp"].search.grid(HIDDEN, ASK),
        [
            SparseGpDesign("car", each, ridge, scale, spacing * each, 1.0, paths=100)
            for each, spacing, ridge, scale in model
            if inducing_cells(HIDDEN, spacing * each).size > 3
        ],
    )
