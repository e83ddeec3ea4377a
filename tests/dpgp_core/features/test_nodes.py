"""Nodes: a partition of the cells, with weights that carry values back."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from dpgp_core.features.nodes import Nodes
from dpgp_core.priors.registry import make_prior
from tests.dpgp_core.hexmap import disk, islands, line


def test_a_small_domain_has_one_cell_per_node() -> None:
    nodes = Nodes.of(disk(3, 2))
    assert nodes.one_to_one
    assert nodes.place.tolist() == list(range(37))
    values = np.arange(37.0)
    assert nodes.spread(values).tolist() == values.tolist()
    assert nodes.gather(values).tolist() == values.tolist()


@pytest.mark.parametrize("most", [10, 60, 200])
def test_cells_are_gathered_into_neighbours(most: int) -> None:
    lattice = disk(10, 4)
    nodes = Nodes.of(lattice, most)
    assert 0.5 * most < nodes.size <= most
    assert float(nodes.cells_per_node.sum()) == 331.0
    centres = nodes.lattice.domain_centres[nodes.place]
    away = np.linalg.norm(lattice.domain_centres - centres, axis=1)
    assert float(away.max()) < 1.2 * nodes.lattice.spacing
    assert nodes.lattice.centres.shape[0] > nodes.size  # padding is kept for lattice priors
    graph = nodes.lattice.adjacency
    assert abs(graph - graph.T).nnz == 0
    assert np.all(graph.diagonal() == 0)
    assert np.all(graph.data == 1.0)
    make_prior("car", nodes.lattice, 3.0 * nodes.lattice.spacing)


def test_interpolation_is_an_average_and_keeps_planes() -> None:
    lattice = disk(10, 4)
    nodes = Nodes.of(lattice, 60)
    weights = nodes.interpolation
    assert np.all(weights.data >= 0)
    assert np.allclose(np.asarray(weights.sum(axis=1)).ravel(), 1.0)
    plane = 2.0 + nodes.lattice.domain_centres @ np.array([3e-4, -1e-4])
    exact = 2.0 + lattice.domain_centres @ np.array([3e-4, -1e-4])
    inner = np.linalg.norm(lattice.domain_centres, axis=1) < 2_500.0
    assert np.allclose(nodes.spread(plane)[inner], exact[inner], atol=1e-9)
    both = nodes.spread(np.stack([plane, 2.0 * plane]))
    assert np.allclose(both[1], 2.0 * both[0])


def test_lines_and_islands_have_nodes_too() -> None:
    nodes = Nodes.of(line(40), 8)
    assert 4 <= nodes.size <= 8
    assert np.allclose(nodes.spread(np.ones(nodes.size)), 1.0)
    assert Nodes.of(islands(), 4).size <= 4


def test_averaging_keeps_constants() -> None:
    nodes = Nodes.of(disk(4), 20)
    assert np.allclose(nodes.lattice.averaging @ np.ones(nodes.size), 1.0)


def test_impossible_nodes_are_refused() -> None:
    lattice = disk(1)
    weights = sparse.csr_matrix(np.eye(7))
    with pytest.raises(ValueError, match="at least one cell"):
        Nodes(lattice, np.zeros(7, dtype=np.int64), weights)
    with pytest.raises(ValueError, match="one node and one row"):
        Nodes(lattice, np.arange(6), weights)
    with pytest.raises(ValueError, match="most"):
        Nodes.of(lattice, 1)


@pytest.mark.parametrize("at_once", [1, 7, 37, 1024])
def test_the_variance_between_nodes_is_the_diagonal_of_the_whole_law(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In portions of any size: 331 cells are not a whole number of most of them."""
    monkeypatch.setattr("dpgp_core.features.nodes.AT_ONCE", at_once)
    nodes = Nodes.of(disk(10), most=60)
    root = np.random.default_rng(3).normal(size=(nodes.size, nodes.size))
    between = nodes.interpolation.toarray()
    expected = np.diag(between @ (root @ root.T) @ between.T)
    np.testing.assert_allclose(nodes.spread_variance(root @ root.T), expected, rtol=1e-9)
