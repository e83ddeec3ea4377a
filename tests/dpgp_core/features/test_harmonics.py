"""The smoothest patterns of a domain, dense or by iteration, on symmetric and on parted domains."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpgp_core.features import harmonics
from dpgp_core.features.eigen import FolderStore
from dpgp_core.features.harmonics import Harmonics, domain_harmonics
from dpgp_core.priors.lattice import Lattice, domain_adjacency
from tests.dpgp_core.hexmap import disk, islands, line


def laplacian(lattice: Lattice) -> np.ndarray:
    """-Laplace with reflecting edges, 1/m^2, from the neighbour graph alone."""
    graph = domain_adjacency(lattice).toarray()
    return (np.diag(graph.sum(axis=1)) - graph) / (1.5 * lattice.spacing**2)


def test_a_row_of_cells_has_the_cosines_of_the_discrete_transform() -> None:
    made = domain_harmonics(line(8, spacing=1.0), 3)
    # 4 sin^2(pi k / 16) on a path of eight, divided by the factor 3/2 of hexagons.
    assert made.values == pytest.approx([0.0, 0.1522409 / 1.5, 0.5857864 / 1.5], abs=1e-7)
    assert made.vectors[:, 0] == pytest.approx(np.full(8, 8**-0.5))
    assert made.size == 8


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "by iteration"])
@pytest.mark.parametrize("place", [disk(6), disk(9, 2), islands()], ids=["disk", "padded", "islands"])
def test_patterns_are_the_smoothest_eigenvectors(
    place: Lattice, dense: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk has every other eigenvalue twice, islands have 0 once for each: none may be missed."""
    monkeypatch.setattr(harmonics, "DENSE_NODES", 10_000 if dense else 1)
    count = min(40, place.size // 2)
    made = domain_harmonics(place, count)
    whole = laplacian(place)
    assert np.allclose(
        made.values, np.linalg.eigvalsh(whole)[:count], rtol=0, atol=1e-9 * np.abs(whole).max()
    )
    assert np.allclose(whole @ made.vectors, made.vectors * made.values, atol=1e-9 * np.abs(whole).max())
    assert np.allclose(made.vectors.T @ made.vectors, np.eye(count), atol=1e-9)
    size = np.abs(made.vectors)
    leading = (size > 0.999 * size.max(axis=0)).argmax(axis=0)  # the first of those that are as large
    assert np.all(made.vectors[leading, np.arange(count)] > 0)


def test_kept_patterns_come_back_and_another_number_is_made_anew(tmp_path: Path) -> None:
    store, place = FolderStore(tmp_path), disk(4)
    made = domain_harmonics(place, 7, store)
    again = domain_harmonics(place, 7, store)
    assert np.array_equal(again.vectors, made.vectors)
    assert np.array_equal(again.values, made.values)
    assert domain_harmonics(place, 9, store).values.size == 9
    assert len(list(tmp_path.iterdir())) == 2


def test_variances_along_patterns_add_up_to_one_for_each_node() -> None:
    place = disk(4)
    spectrum = np.linspace(3.0, 1.0, 7)
    pairs = domain_harmonics(place, 7).pairs(spectrum)
    assert pairs.variance.sum() == pytest.approx(place.size)  # unit variance on average
    assert pairs.values == pytest.approx(spectrum)


@pytest.mark.parametrize(
    ("values", "vectors"),
    [
        (np.zeros(3), np.eye(4)[:, :2]),
        (np.zeros(0), np.zeros((4, 0))),
        (np.zeros(5), np.zeros((4, 5))),
        (np.array([1.0, 0.0]), np.eye(4)[:, :2]),
        (np.array([-1.0, 0.0]), np.eye(4)[:, :2]),
        (np.array([0.0, np.nan]), np.eye(4)[:, :2]),
    ],
)
def test_what_are_no_eigenpairs_is_refused(values: np.ndarray, vectors: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"eigenv|wave numbers"):
        Harmonics(values, vectors)
