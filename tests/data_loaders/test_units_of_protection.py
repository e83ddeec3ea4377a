"""The propositions of docs/proofs/owners.md, attacked, and its table, computed from another formula."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest

from data_loaders import Observations, bound_contributions

RNG = np.random.default_rng(8)


def statistics(cells: np.ndarray, responses: np.ndarray, size: int) -> np.ndarray:
    """Sums and counts by hexagon, the statistic of propositions 2 and 3."""
    found = np.zeros(2 * size)
    np.add.at(found, cells, responses)
    np.add.at(found, size + cells, 1.0)
    return found


def shift(
    before: tuple[list[int], list[float]], after: tuple[list[int], list[float]], size: int = 6
) -> float:
    first, second = (statistics(np.array(c), np.array(y), size) for c, y in (before, after))
    return float(np.linalg.norm(first - second))


@pytest.mark.parametrize("q", [1, 2, 3])
def test_q_rows_move_the_statistics_by_at_most_q_times_as_much(q: int) -> None:
    """Proposition 2, over all corners: every choice of cells and of responses -1 and 1.

    Proposition 2 of docs/proofs/owners.md.
    """
    corners = list(itertools.product(range(2), [-1.0, 1.0]))
    worst = max(
        shift(([c for c, _ in a], [y for _, y in a]), ([c for c, _ in b], [y for _, y in b]))
        for a in itertools.combinations_with_replacement(corners, q)
        for b in itertools.combinations_with_replacement(corners, q)
    )
    assert worst == pytest.approx(2.0 * q)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_one_row_in_each_cell_costs_the_square_root(q: int) -> None:
    """Proposition 3, over all corners; attained where all cells stay and all responses turn.

    Proposition 3 of docs/proofs/owners.md.
    """
    choices = [
        (list(cells), list(responses))
        for cells in itertools.combinations(range(4), q)
        for responses in itertools.product([-1.0, 1.0], repeat=q)
    ]
    worst = max(shift(a, b) for a in choices for b in choices)
    assert worst == pytest.approx(2.0 * math.sqrt(q))
    for _ in range(200):  # inside the corners, and with fewer rows on one side than q
        a, b = (
            (RNG.permutation(6)[:k].tolist(), RNG.uniform(-1, 1, k).tolist())
            for k in (q, int(RNG.integers(1, q + 1)))
        )
        assert shift(a, b) <= 2.0 * math.sqrt(q) + 1e-12


def test_with_features_the_largest_eigenvalue_enters() -> None:
    """Proposition 3's remark: v'Kv for the same v, at most the largest eigenvalue times 4q."""
    features = RNG.standard_normal((6, 4))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    largest = np.linalg.eigvalsh(features @ features.T)[-1]
    for _ in range(300):
        q = int(RNG.integers(1, 5))
        rows = [(RNG.permutation(6)[:q], RNG.choice([-1.0, 1.0], q)) for _ in range(2)]
        sums = [features[c].T @ y for c, y in rows]
        counts = [features[c].sum(axis=0) for c, _ in rows]
        moved = np.concatenate([sums[0] - sums[1], counts[0] - counts[1]])
        assert moved @ moved <= largest * 4 * q + 1e-9


def owned(owner: list[int], cells: list[int], value: list[float]) -> Observations:
    return Observations(
        x=np.array(cells, dtype=float),
        y=np.zeros(len(cells)),
        crs="EPSG:27700",
        value=value,
        unit="u",
        kind="reading",
        title="t",
        owner=owner,
        owner_word="person",
    )


def test_bounded_data_of_two_neighbours_differ_by_no_more() -> None:
    """Lemma 1 and the propositions together: another owner's rows, bounded, binned and compared.

    Proposition 4 of docs/proofs/owners.md: one record of each owner.
    """
    for _ in range(200):
        others = RNG.integers(0, 3, 12)
        k, q = 7, int(RNG.integers(1, 6))
        tables = []
        for _ in range(2):
            cells = np.concatenate([np.arange(12) % 6, RNG.integers(0, 6, k)])
            value = np.concatenate([np.linspace(-1, 1, 12), RNG.choice([-1.0, 1.0], k)])
            tables.append((owned([*others.tolist(), *[9] * k], cells.tolist(), value.tolist()), cells))
        plain, distinct, single = [], [], []
        for rows, cells in tables:
            kept = bound_contributions(rows, q).observations
            plain.append(statistics(kept.x.astype(int), kept.value, 6))
            kept = bound_contributions(rows, q, cells=cells).observations
            distinct.append(statistics(kept.x.astype(int), kept.value, 6))
            kept = bound_contributions(rows, 1).observations
            single.append(statistics(kept.x.astype(int), kept.value, 6))
        assert np.linalg.norm(plain[0] - plain[1]) <= 2.0 * q + 1e-12
        assert np.linalg.norm(distinct[0] - distinct[1]) <= 2.0 * math.sqrt(q) + 1e-12
        assert np.linalg.norm(single[0] - single[1]) <= 2.0 + 1e-12


def delta_of(epsilon: mp.mpf, mu: mp.mpf) -> mp.mpf:
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def rising_root(below: object, low: float, high: float) -> mp.mpf:
    """Where a rising function of one number passes 0, from above."""
    a, b = mp.mpf(low), mp.mpf(high)
    for _ in range(150):
        middle = (a + b) / 2
        a, b = (middle, b) if below(middle) < 0 else (a, middle)  # type: ignore[operator]
    return b


def epsilon_of(mu: mp.mpf, delta: mp.mpf) -> mp.mpf:
    return rising_root(lambda epsilon: delta - delta_of(epsilon, mu), 0, 300)


def test_the_table_of_the_page(root: Path) -> None:
    mp.mp.dps = 30
    page = (root / "docs" / "proofs" / "owners.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (\S+) \| (\S+) \| (\S+) \| (\S+) \| (\S+) \|$", page, re.MULTILINE)
    assert [row[0] for row in rows] == ["2", "5", "10", "20"]
    delta = mp.mpf("1e-5")
    mu = rising_root(lambda value: delta_of(mp.mpf(1), value) - delta, 0.01, 5)
    assert mp.nstr(mu, 4) == "0.2681"
    for row in rows:
        q = int(row[0])
        generic = min(delta * (mp.exp(q) - 1) / (mp.e - 1), mp.mpf(1))
        for written, exact in (
            (row[1], mp.mpf(q)),
            (row[2], generic),
            (row[3], epsilon_of(q * mu, delta)),
            (row[4], epsilon_of(mp.sqrt(q) * mu, delta)),
            (row[5], mp.mpf(1)),
        ):
            said = mp.mpf(written)
            assert exact - mp.mpf("1e-20") <= said <= exact * mp.mpf("1.03"), (q, written, exact)
