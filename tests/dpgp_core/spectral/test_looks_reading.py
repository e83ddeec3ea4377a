"""How two looks are read together, on six nodes: every sum by hand, with loops and dense matrices."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpgp_core.errors import InvalidValue
from dpgp_core.features.gridded import GRID_BITS, Features
from dpgp_core.features.nodes import Nodes
from dpgp_core.priors.lattice import Lattice
from dpgp_core.spectral import looks as looks_of
from dpgp_core.spectral.cost import SpectralNoise
from dpgp_core.spectral.counts import CountPrior, NodeCounts
from dpgp_core.spectral.looks import Look, counts_of_looks, expected, linear_laws, read_looks
from dpgp_core.spectral.model import PublicCounts
from dpgp_core.spectral.prior import FieldBasis, PublicPrior

RANDOM = np.random.default_rng(54)
M, SIZES = 6, (2, 3)
BEFORE = PublicPrior(0.1, 0.5, 0.8)
COUNTS = np.array([4.0, 0.0, 7.0, 2.0, 1.0, 5.0])


def features(size: int, nodes: int = M) -> Features:
    return Features.of("any", RANDOM.normal(size=(nodes, size)))


LOOKS = (
    Look(features(SIZES[0]), SpectralNoise(1.5, 2.0), np.zeros(M), 1.0),
    Look(features(SIZES[1]), SpectralNoise(0.8, 1.0), RANDOM.uniform(-0.3, 0.3, M), 0.6),
)


def basis(functions: int, nodes: int = M) -> FieldBasis:
    """Functions of falling size, each node with variance 1.189, of which .1 is its own."""
    rows = RANDOM.normal(size=(nodes, functions)) * 0.5 ** np.arange(functions)
    rows *= np.sqrt(0.9) / np.linalg.norm(rows, axis=1)[:, None]
    return FieldBasis(1.1 * rows, np.full(nodes, 0.1))


def plan(*beliefs: FieldBasis, cells_per_node: np.ndarray | None = None) -> Any:
    per = np.ones(beliefs[0].rest.size) if cells_per_node is None else cells_per_node
    nodes = SimpleNamespace(cells_per_node=per, cells=int(per.sum()))
    return SimpleNamespace(nodes=nodes, beliefs=[(each, SimpleNamespace(before=BEFORE)) for each in beliefs])


ERROR = RANDOM.normal(size=(sum(SIZES), sum(SIZES)))
ERROR = ERROR @ ERROR.T


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("belief", [0, 1])
def test_the_sums_of_two_looks_have_the_mean_and_covariance_of_a_linear_field(
    monkeypatch: pytest.MonkeyPatch, rounds: int, belief: int
) -> None:
    """Entry by entry: what the field moves, what records scatter, what counts and noise add."""
    monkeypatch.setattr(looks_of, "ROUNDS", rounds)
    monkeypatch.setattr(looks_of, "FUNCTIONS", 3)  # of five: the nodes keep a part of their own
    made = plan(basis(4), basis(5))
    sums = RANDOM.normal(size=sum(SIZES))
    found = read_looks(made, LOOKS, NodeCounts(COUNTS, ERROR), sums, belief)
    kept = made.beliefs[belief][0].following(expected(made, NodeCounts(COUNTS, ERROR)), 3)
    assert kept.rows.shape == found.basis.rows.shape == (M, 3)
    assert kept.rest.min() > 0.1
    field = kept.rows @ kept.rows.T + np.diag(kept.rest)  # correlation of the field before the release
    value, deviation = np.full(M, 0.1), 0.5 * np.sqrt(np.diag(field))
    for _ in range(rounds):
        law = linear_laws(BEFORE, LOOKS, value, deviation)
        offset, link, covariance = [], [], np.zeros((sum(SIZES), sum(SIZES)))
        of_look = [0, 0, 1, 1, 1]  # the look of every released sum
        phi = np.hstack([each.features.values for each in LOOKS]).T
        for a, i in enumerate(of_look):
            offset.append(sum(phi[a] * COUNTS * (law.start[i] + law.slope[i] * 0.1)))
            link.append((phi[a] * COUNTS * law.slope[i] * 0.5) @ kept.rows)
            for b, j in enumerate(of_look):
                moved = np.outer(phi[a] * COUNTS * law.slope[i], phi[b] * COUNTS * law.slope[j])
                covariance[a, b] = 0.25 * float(np.sum(moved * field))
                covariance[a, b] += float(np.sum(phi[a] * phi[b] * COUNTS * law.left[i, j]))
                covariance[a, b] += ERROR[a, b] * float(law.size[i, j] @ COUNTS) / 19.0
        covariance += np.diag([1.5**2] * 2 + [0.8**2] * 3)
        pull = np.array(link).T @ np.linalg.inv(covariance)
        value = 0.1 + 0.5 * kept.rows @ pull @ (sums - np.array(offset))
        left = np.eye(3) - pull @ np.array(link)
        deviation = 0.5 * np.sqrt(np.einsum("iq,qr,ir->i", kept.rows, left, kept.rows) + kept.rest)
    np.testing.assert_allclose(found.offset, offset, rtol=1e-9)
    np.testing.assert_allclose(found.root @ found.root.T, covariance, rtol=1e-9)
    np.testing.assert_allclose(found.mean(sums), value, rtol=1e-8)
    np.testing.assert_allclose(found.deviation(), deviation, rtol=1e-8)
    # paths take out of the covariance what the field moves; maps read one record as the first look does
    assert found.error_root is not None
    np.testing.assert_allclose(
        found.error_root @ found.error_root.T, covariance - np.array(link) @ np.array(link).T, rtol=1e-8
    )
    assert found.linear is not None
    np.testing.assert_allclose(found.linear.mean, law.start[0] + 0.1 * law.slope[0])
    np.testing.assert_allclose(found.linear.deviation, 0.5 * law.slope[0])
    np.testing.assert_allclose(found.linear.record_noise, np.sqrt(law.left[0, 0]))


def test_three_rounds_in_320_functions_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = 330
    given = [
        Look(features(size, nodes), SpectralNoise(0.3, 1.0), np.zeros(nodes), bound)
        for size, bound in ((2, 1.0), (3, 0.6))
    ]
    made = plan(basis(nodes, nodes))
    read = NodeCounts(np.full(nodes, 2.0), np.zeros((5, 5)))
    sums = np.array([30.0, -20.0, 25.0, 10.0, -15.0])
    found = read_looks(made, given, read, sums, 0)
    assert found.basis.rows.shape == (nodes, 320)
    calls: list[int] = []

    def counted(*given: Any) -> Any:
        calls.append(1)
        return linear_laws(*given)

    monkeypatch.setattr(looks_of, "linear_laws", counted)
    read_looks(made, given, read, sums, 0)
    assert len(calls) == 3


def test_where_every_value_is_clipped_the_least_is_left() -> None:
    """A field far beyond the clip: responses are all 1, without a slope, and with a millionth of scatter."""
    made = linear_laws(BEFORE, LOOKS, np.full(M, 40.0), np.full(M, 0.3))
    assert made.left[0, 0].tolist() == made.left[1, 1].tolist() == [1e-6] * M
    np.testing.assert_allclose(made.left[0, 1], 0.0, atol=1e-12)
    np.testing.assert_allclose(made.slope, 0.0, atol=1e-12)
    np.testing.assert_allclose(made.start, 1.0)
    far = FieldBasis(np.full((M, 1), 1.0), np.zeros(M))
    at = plan(far)
    at.beliefs[0][1].before = PublicPrior(40.0, 0.5, 0.8)
    found = read_looks(at, LOOKS, NodeCounts(COUNTS, ERROR), np.zeros(5), 0)
    assert found.linear is not None
    np.testing.assert_allclose(found.linear.deviation, 0.5e-6)
    np.testing.assert_allclose(found.linear.mean, 1.0)


def test_unclipped_values_keep_their_slope_and_their_scatter() -> None:
    """By hand: narrow laws amid [-1, 1]; the second look divides by its bound of .6."""
    narrow = PublicPrior(0.1, 0.02, 0.5)  # records scatter by .01
    made = linear_laws(narrow, LOOKS, np.full(M, 0.1), np.full(M, 0.02))
    np.testing.assert_allclose(made.slope, [[1.0] * M, [1 / 0.6] * M], rtol=1e-6)
    np.testing.assert_allclose(made.start[0], 0.0, atol=1e-7)
    np.testing.assert_allclose(made.start[1], -LOOKS[1].centre / 0.6, atol=1e-7)
    np.testing.assert_allclose(made.left[0, 1], 1e-4 / 0.6, rtol=1e-4)
    np.testing.assert_allclose(made.left[1, 1], 1e-4 / 0.36, rtol=1e-4)
    np.testing.assert_allclose(made.size[0, 0], 0.01 + 4e-4, rtol=1e-6)


def test_records_that_are_reckoned_with_everywhere() -> None:
    """By hand: 8 records of 4 cells on average, 15 % of it for each cell of a node."""
    made = plan(FieldBasis(np.ones((2, 1)), np.zeros(2)), cells_per_node=np.array([3.0, 1.0]))
    found = expected(made, NodeCounts(np.array([2.0, 6.0]), np.zeros((1, 1))))
    np.testing.assert_allclose(found, [2.9, 6.3])


def test_second_features_are_coarse_and_cut_towards_zero() -> None:
    rows = np.array([[0.6, 0.8], [-0.123456, 0.7]])
    found = looks_of.coarse_features(rows).values
    unit = rows / np.linalg.norm(rows, axis=1)[:, None]
    steps = found * 2.0**14
    assert np.array_equal(steps, np.rint(steps))
    assert np.any(steps % 2 == 1), "a coarser grid would do"
    assert np.all((np.abs(found) <= np.abs(unit)) & (np.abs(found) > np.abs(unit) - 2.0**-14))
    assert looks_of.COARSE == 1 << (GRID_BITS - 14)


class Counted:
    """A plan that says what its prior of the counts is asked with."""

    def __init__(self) -> None:
        lattice = Lattice.grid(2, 3, 500.0)
        self.nodes = Nodes.of(lattice)
        self.asked: list[np.ndarray] = []

    def count_prior(self, known: PublicCounts, released: np.ndarray) -> CountPrior:
        self.asked.append(released)
        return CountPrior(np.full(M, 3.0), np.arange(1.0, M + 1.0))


@pytest.mark.parametrize("kind", ["unknown", "reference"])
def test_counts_of_two_looks_are_read_as_one_release_with_two_noises(kind: Any) -> None:
    """mean + V A' (A V A' + C)^-1 (released - A mean), C with 2^2 twice and 1 three times."""
    made: Any = Counted()
    released = (np.array([4.0, -1.0]), np.array([2.0, 1.0, -0.5]))
    known = PublicCounts(kind, 18.0, None if kind == "unknown" else np.full(M, 3.0))
    found = counts_of_looks(made, LOOKS, known, released)
    assert [each.tolist() for each in made.asked] == [[4.0, -1.0]]
    a = np.hstack([each.features.values for each in LOOKS]).T
    white, noise = np.diag(np.arange(1.0, M + 1.0)), np.diag([4.0] * 2 + [1.0] * 3)
    inner = a @ white @ a.T
    pull = np.linalg.solve(inner + noise, np.concatenate(released) - a @ np.full(M, 3.0))
    mean = np.full(M, 3.0) + white @ a.T @ pull
    assert mean.min() > 0.03, "no count is raised"
    np.testing.assert_allclose(found.mean, mean * 18.0 / mean.sum(), rtol=1e-9)
    np.testing.assert_allclose(found.error, inner - inner @ np.linalg.solve(inner + noise, inner), rtol=1e-8)


def test_public_counts_are_taken_as_they_are_and_missing_ones_are_asked_for() -> None:
    made: Any = Counted()
    found = counts_of_looks(made, LOOKS, PublicCounts("known", 19.0, COUNTS), (None, None))
    assert found.mean.tolist() == COUNTS.tolist()
    assert found.error.shape == (5, 5)
    assert not found.error.any()
    assert made.asked == []
    unknown = PublicCounts("unknown", 19.0)
    silent = Look(LOOKS[1].features, SpectralNoise(0.8, None), LOOKS[1].centre, 0.6)
    counts = np.zeros(2), np.zeros(3)
    for looks, released in (
        (LOOKS, (counts[0], None)),
        (LOOKS, (None, counts[1])),
        ((LOOKS[0], silent), counts),
    ):
        with pytest.raises(InvalidValue, match="counts were not released: say what is known of them"):
            counts_of_looks(made, looks, unknown, released)


def test_looks_and_laws_are_compared_by_identity() -> None:
    """Their arrays have no order and no truth: comparing two by value would fail."""
    again = Look(LOOKS[0].features, LOOKS[0].noise, LOOKS[0].centre.copy(), 1.0)
    assert again != LOOKS[0]
    law = linear_laws(BEFORE, LOOKS, np.full(M, 0.1), np.full(M, 0.3))
    assert law != linear_laws(BEFORE, LOOKS, np.full(M, 0.1), np.full(M, 0.3))
