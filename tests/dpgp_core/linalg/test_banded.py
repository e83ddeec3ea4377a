"""Banded Cholesky: solve, colour, variance and determinant against dense algebra, on any graph."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from dpgp_core.errors import NumericalFailure
from dpgp_core.linalg import SMALLEST_BLOCK, BandedCholesky, Ordering
from tests.dpgp_core.hexmap import disk, islands, line


def graph_precision(size: int, edges: list[tuple[int, int]], seed: int) -> sparse.csr_matrix:
    """A diagonally dominant matrix with entries on `edges`."""
    generator = np.random.default_rng(seed)
    matrix = np.zeros((size, size))
    for i, j in edges:
        if i != j:
            matrix[i, j] = matrix[j, i] = generator.normal()
    np.fill_diagonal(matrix, np.abs(matrix).sum(axis=1) + generator.uniform(0.1, 1.0, size))
    return sparse.csr_matrix(matrix)


def check(precision: sparse.csr_matrix, ordering: Ordering, extra: np.ndarray) -> None:
    factor = BandedCholesky.factor(precision, ordering, extra)
    dense = precision.toarray() + np.diag(extra)
    inverse = np.linalg.inv(dense)
    size = dense.shape[0]
    tolerance = 1e-12 * np.abs(inverse).max()
    np.testing.assert_allclose(factor.solve(np.eye(size)), inverse, atol=tolerance)
    np.testing.assert_allclose(factor.solve(np.ones(size)), inverse.sum(axis=1), atol=size * tolerance)
    root = factor.colour(np.eye(size))
    np.testing.assert_allclose(root @ root.T, inverse, atol=tolerance)
    np.testing.assert_allclose(factor.variance(), inverse.diagonal(), atol=tolerance)
    assert factor.log_determinant() == pytest.approx(np.linalg.slogdet(dense)[1], abs=1e-10 * size)


@given(st.data(), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_any_graph(data: st.DataObject, size: int, seed: int) -> None:
    node = st.integers(0, size - 1)
    edges = data.draw(st.lists(st.tuples(node, node), max_size=60))
    precision = graph_precision(size, edges, seed)
    extra = np.random.default_rng(seed).uniform(0.0, 5.0, size)
    check(precision, Ordering.of(precision), extra)


@pytest.mark.parametrize("lattice", [disk(12), line(3 * SMALLEST_BLOCK + 5), islands(), disk(0)], ids=str)
def test_lattices_longer_than_one_block(lattice: object) -> None:
    adjacency = lattice.adjacency  # type: ignore[attr-defined]
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    precision = sparse.csr_matrix(sparse.diags_array(degree + 0.01) - adjacency)
    check(precision, lattice.ordering, np.linspace(0.0, 3.0, degree.size))  # type: ignore[attr-defined]


def test_the_order_narrows_the_band_of_a_shuffled_map() -> None:
    adjacency = disk(20).adjacency
    shuffle = np.random.default_rng(0).permutation(adjacency.shape[0])
    ordering = Ordering.of(sparse.csr_matrix(adjacency[shuffle][:, shuffle]))
    np.testing.assert_array_equal(ordering.order[ordering.position], np.arange(adjacency.shape[0]))
    assert ordering.bandwidth <= 2 * 20 + 1


def test_an_indefinite_matrix_raises_and_is_not_repaired() -> None:
    lattice = disk(2)
    with pytest.raises(NumericalFailure, match="not positive definite to working precision; use a shorter"):
        BandedCholesky.factor(sparse.csr_matrix(-lattice.adjacency), lattice.ordering)


def test_a_matrix_with_nan_raises() -> None:
    lattice = disk(1)
    precision = sparse.csr_matrix(np.full((7, 7), np.nan))
    with pytest.raises(NumericalFailure):
        BandedCholesky.factor(precision, Ordering.of(lattice.adjacency + sparse.csr_matrix(np.ones((7, 7)))))
