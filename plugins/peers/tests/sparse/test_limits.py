"""Limits of the sparse process, and what it tries before a draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hexcursion_peers.sparse.mechanism as sparse_gp
from dpgp_core.errors import InvalidValue
from dpgp_core.mechanisms.design import SearchSpec
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.releasing import PublicFacts
from tests.dpgp_core.hexmap import line
from tests.dpgp_core.mechanisms.designs.test_parts import FEW, HIDDEN, LATTICE
from tests.dpgp_core.mechanisms.designs.test_stated import DESIGNS


def test_the_reading_of_moments_is_tried_on_nothing_before_a_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(sparse_gp.InducingPlan, "field", lambda _, *given: seen.append(given))
    prepared: Any = MECHANISMS["sparse-gp"].prepare(DESIGNS["sparse-gp"], HIDDEN, FEW)
    ((moments, design),) = seen
    size = prepared.plan.chosen.size
    assert (moments.first.tolist(), moments.second.tolist()) == ([0.0] * size, [[0.0] * size] * size)
    assert (moments.first_noise, moments.second_noise) == prepared.plan.noises(design)


def test_a_sparse_process_keeps_to_its_cells_and_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """37 cells are refused where 36 are the most; so are points beyond the most, and all but four are few."""
    mechanism, design = MECHANISMS["sparse-gp"], DESIGNS["sparse-gp"]
    points = sparse_gp.inducing_cells(HIDDEN, 900.0).size
    for cells, most, said in (
        (36, points, "takes at most 36 cells, got 37: choose a coarser"),
        (37, points - 1, f"{points} inducing points are too many, at most {points - 1}: space"),
    ):
        monkeypatch.setattr(sparse_gp, "MOST_CELLS", cells)
        monkeypatch.setattr(sparse_gp, "MOST_POINTS", most)
        with pytest.raises(InvalidValue, match=said):
            mechanism.prepare(design, PublicFacts(LATTICE, 150), FEW)
    monkeypatch.setattr(sparse_gp, "MOST_POINTS", points)
    assert mechanism.prepare(design, PublicFacts(LATTICE, 150), FEW)
    sizes = {800.0: 3, 1200.0: 4}
    monkeypatch.setattr(
        sparse_gp, "inducing_cells", lambda _, spacing: np.zeros(sizes.get(spacing, points + 1))
    )
    found: Any = mechanism.search.grid(HIDDEN, SearchSpec(("car",)))
    assert {each.spacing for each in found} == {1200.0}
    monkeypatch.setattr(sparse_gp, "MOST_CELLS", 36)
    assert mechanism.search.grid(HIDDEN, SearchSpec(("car",))) == ()


def test_the_middle_cell_of_each_square_is_an_inducing_point() -> None:
    """Seven cells 400 m apart in a row, squares of 1,200 m: cells 1, 4 and 6."""
    assert sparse_gp.inducing_cells(PublicFacts(line(7), 10), 1200.0).tolist() == [1, 4, 6]
