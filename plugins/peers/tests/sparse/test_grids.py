"""Sparse processes that a search is offered or a curator gives; what an attack sees of one."""

from __future__ import annotations

from itertools import product

import numpy as np

from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.noise import SimulationEntropy
from dpgp_core.releasing import draw_release
from hexcursion_peers.sparse.mechanism import SparseGpDesign, inducing_cells
from tests.dpgp_core.mechanisms.designs.test_grids import ASK, HIDDEN, RANGES, same
from tests.dpgp_core.mechanisms.designs.test_impossible_designs import ASK as GIVEN
from tests.dpgp_core.mechanisms.designs.test_impossible_designs import PRIVATE
from tests.dpgp_core.mechanisms.designs.test_simulation import world
from tests.dpgp_core.mechanisms.designs.test_stated import DESIGNS


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


def test_a_given_sparse_process_has_points_one_range_apart() -> None:
    design = MECHANISMS["sparse-gp"].search.given(PRIVATE, GIVEN, 1500.0, 2.0)
    assert design is not None
    assert design.paths == 100
    model = (design.prior, design.lengthscale, design.ridge, design.scale)  # type: ignore[attr-defined]
    assert model == ("car", 1500.0, 2.0, 0.6)
    assert (design.spacing, design.mu) == (1500.0, 1.0)  # type: ignore[attr-defined]


def test_an_attack_on_a_sparse_process_sees_its_paths_at_the_cells() -> None:
    mechanism, design, made = MECHANISMS["sparse-gp"], DESIGNS["sparse-gp"], world("sparse-gp")
    prepared, entropy = mechanism.prepare(design, made.facts, made.records), SimulationEntropy(1)
    drawn = [draw_release(prepared, entropy, simulation=True).paths[:, [5, 2]] for _ in range(2)]
    found = questions.seen(design, made.facts, made.records, [5, 2], questions.Draws(2, SimulationEntropy(1)))
    np.testing.assert_array_equal(found, drawn)
