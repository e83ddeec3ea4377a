"""The released integers: exact, independent of the order of rows, and noised on their own grid."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.spectral.cost import SpectralNoise
from dpgp_core.spectral.sums import GridRecords, SpectralSums, exact_sums, release_sums
from tests.dpgp_core.features.worlds import FakeNoise, prepared, some_records


def test_records_are_rounded_one_by_one() -> None:
    records = GridRecords.of([3, 0, 3, 3], [0.5, -2.0, 0.0005, 1.0])
    assert records.cell.tolist() == [0, 3]
    assert records.count.tolist() == [1, 3]
    assert records.total.tolist() == [-1024, 512 + 1 + 1024]
    assert records.n == 4


def test_sums_do_not_depend_on_the_order_of_rows() -> None:
    """Neighbouring datasets with equal ideal sums and different floating-point histories."""
    made = prepared()
    generator = np.random.default_rng(1)
    cells = generator.integers(0, made.nodes.cells, 500)
    responses = generator.uniform(-1.0, 1.0, 500)
    first = exact_sums(made.features, made.nodes, GridRecords.of(cells, responses))
    for _ in range(5):
        order = generator.permutation(500)
        again = exact_sums(made.features, made.nodes, GridRecords.of(cells[order], responses[order]))
        assert np.array_equal(first[0], again[0])
        assert np.array_equal(first[1], again[1])


def test_means_do_not_depend_on_the_order_of_rows() -> None:
    """Their last bits did: 0.1 + 0.2 + 0.3 is another double than 0.3 + 0.2 + 0.1."""
    responses = np.random.default_rng(3).uniform(-1.0, 1.0, 999)
    means = {
        CollapsedRecords.from_records(np.zeros(999), responses[order]).mean[0]
        for order in (np.arange(999), np.argsort(responses), np.argsort(-responses))
    }
    assert len(means) == 1
    assert means.pop() == pytest.approx(responses.mean(), abs=1e-9)


def test_huge_values_cannot_swallow_small_ones() -> None:
    """1e16 + 1 - 1e16 is 0 in doubles; here every record is clipped and rounded by itself."""
    one = GridRecords.of([0, 0, 0], [1e16, 0.25, -1e16])
    other = GridRecords.of([0, 0, 0], [0.25, 1e16, -1e16])
    assert one.total.tolist() == other.total.tolist() == [256]


def test_sums_agree_with_big_integers() -> None:
    made = prepared(radius=2)
    records = some_records(made.nodes.cells, 60, 2)
    sums, counts = exact_sums(made.features, made.nodes, records)
    whole = made.features.whole
    for k in range(made.features.size):
        assert int(sums[k]) == sum(
            int(t) * int(whole[made.nodes.place[c], k])
            for c, t in zip(records.cell, records.total, strict=True)
        )
        assert int(counts[k]) == sum(
            int(m) * int(whole[made.nodes.place[c], k])
            for c, m in zip(records.cell, records.count, strict=True)
        )


def test_noise_is_added_to_integers_in_their_own_units() -> None:
    """Proposition (rounded noise is the ideal mechanism, rounded) of docs/report."""
    made = prepared(mu=0.5)
    records = some_records(made.nodes.cells, 200, 4)
    sums, counts = exact_sums(made.features, made.nodes, records)
    source = FakeNoise()
    released = release_sums(made.features, made.nodes, records, made.noise, source)
    assert source.scales == [made.noise.sums * 2.0**30, made.noise.counts * 2.0**20]  # type: ignore[operator]
    assert np.array_equal(released.sums, sums / 2.0**30)
    assert released.counts is not None
    assert np.array_equal(released.counts, counts / 2.0**20)
    noisy = release_sums(made.features, made.nodes, records, made.noise, FakeNoise(1))
    ideal = (noisy.sums - released.sums) / made.noise.sums
    assert np.array_equal(noisy.sums * 2.0**30, np.rint(noisy.sums * 2.0**30))
    assert 0.5 < float(np.std(ideal)) < 1.5


def test_where_places_are_public_counts_are_not_released() -> None:
    made = prepared(relation="values-only")
    source = FakeNoise(2)
    released = release_sums(made.features, made.nodes, some_records(91, 50, 1), made.noise, source)
    assert released.counts is None
    assert len(source.scales) == 1


def test_bad_records_are_refused() -> None:
    made = prepared(radius=2)
    with pytest.raises(ValueError, match="outside the domain"):
        exact_sums(made.features, made.nodes, GridRecords.of([19], [0.0]))
    with pytest.raises(ValueError, match="finite"):
        GridRecords.of([0], [math.nan])
    with pytest.raises(ValueError, match="one cell and one response"):
        GridRecords.of([0, 1], [0.5])
    with pytest.raises(ValueError, match="no records"):
        GridRecords.of([], [])
    with pytest.raises(ValueError, match="clipped"):
        GridRecords(np.array([0]), np.array([1]), np.array([1025]))
    with pytest.raises(ValueError, match="increase strictly"):
        GridRecords(np.array([1, 0]), np.array([1, 1]), np.array([0, 0]))
    with pytest.raises(ValueError, match="too many records"):
        GridRecords(np.array([0]), np.array([1 << 31]), np.array([0]))
    with pytest.raises(ValueError, match="same domain"):
        exact_sums(made.features, prepared(radius=3).nodes, some_records(19, 5, 0))


def test_released_sums_and_counts_come_together() -> None:
    made = prepared()
    released = release_sums(made.features, made.nodes, some_records(91, 50, 1), made.noise, FakeNoise(2))
    with pytest.raises(ValueError, match="come together"):
        SpectralSums(released.sums, None, made.noise)
    with pytest.raises(ValueError, match="finite vector"):
        SpectralSums(np.array([math.inf]), None, SpectralNoise(1.0, None))
