"""Bounded contributions: a public rule, a function of the set of each owner's own rows and nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_loaders import DataError, Observations, bound_contributions


def made(owner: list[int], value: list[float] | None = None, time: list[str] | None = None) -> Observations:
    n = len(owner)
    return Observations(
        x=np.arange(n, dtype=float),
        y=np.zeros(n),
        crs="EPSG:27700",
        value=np.arange(n, dtype=float) if value is None else value,
        unit="u",
        kind="reading",
        title="t",
        time=None if time is None else np.array(time, dtype="M8[s]"),
        owner=owner,
        owner_word="sensor",
    )


def days(*numbers: int) -> list[str]:
    return [str(np.datetime64("2023-01-01") + number) for number in numbers]


def kept(observations: Observations, most: int, **more: Any) -> list[float]:
    return bound_contributions(observations, most, **more).observations.x.tolist()


def test_rows_are_kept_by_their_content_for_good() -> None:
    """Literal rows: another program, or another version, must keep the same."""
    assert kept(made([0] * 10), 3) == [0.0, 2.0, 6.0]
    assert kept(made([0] * 10, time=days(*range(10))), 3) == [0.0, 1.0, 3.0]
    assert kept(made([7, 7, 7, 7, 7, 2]), 3) == [0.0, 1.0, 2.0, 5.0]


def test_rows_that_are_kept_lean_to_neither_end() -> None:
    """Neither of the file, in which places go from 0 to m - 1, nor of the values, drawn from 0 to 1."""
    rng, places, values = np.random.default_rng(1), [], []
    for m in range(20, 220):
        found = bound_contributions(made([0] * m, value=rng.random(m).tolist()), 5).observations
        places += (found.x / (m - 1)).tolist()
        values += found.value.tolist()
    assert np.mean(places) == pytest.approx(0.5, abs=0.03)
    assert np.mean(values) == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("most", [1, 2, 5, 10])
@pytest.mark.parametrize("relation", ["exchanged", "one more"])
def test_one_row_of_an_owner_exchanges_one_kept_row_at_most(most: int, relation: str) -> None:
    """Lemma 3 of docs/proofs/owners.md: positions in the file exchanged up to 2q of them."""
    rng = np.random.default_rng(most)
    for _ in range(60):
        value = rng.integers(0, 40, 14).astype(float)
        other = value.copy()
        other[rng.integers(14)] = 99.0
        one = made([0] * 14, value=value.tolist())
        if relation == "one more":
            other = np.append(value, 99.0)
        two = made([0] * other.size, value=other.tolist())
        first, second = (
            Counter(zip(found.x.tolist(), found.value.tolist(), strict=True))
            for found in (bound_contributions(each, most).observations for each in (one, two))
        )
        assert (first - second).total() <= 1
        assert (second - first).total() <= 1
        assert first.total() == min(most, 14)


@pytest.mark.parametrize("by_cell", [False, True])
def test_the_order_of_the_rows_and_the_numbers_of_owners_change_nothing(by_cell: bool) -> None:
    rng = np.random.default_rng(2)
    rows = made(rng.integers(0, 6, 80).tolist(), value=rng.integers(0, 3, 80).astype(float).tolist())
    rows = replace(rows, x=rng.integers(0, 5, 80), time=np.full(80, "2023-01-01", "M8[s]"))
    order = rng.permutation(80)
    renamed = rows.take(order)
    renamed = replace(renamed, owner=5 - renamed.owner)
    found = [
        bound_contributions(each, 3, cells=each.x.astype(np.int64) if by_cell else None).observations
        for each in (rows, renamed)
    ]
    one, other = (
        sorted(zip(owner.tolist(), each.x.tolist(), each.value.tolist(), strict=True))
        for each, owner in zip(found, (found[0].owner, 5 - found[1].owner), strict=True)
    )
    assert one == other


def test_numbers_kept_and_dropped_are_said() -> None:
    bounded = bound_contributions(made([0, 0, 0, 1, 2, 2]), 1)
    assert (bounded.kept, bounded.dropped, bounded.owners, bounded.shortened) == (3, 3, 3, 2)
    assert bounded.lines() == (
        "At most one reading of each sensor: 3 rows kept, 3 dropped.",
        "2 of 3 sensors had more.",
    )
    assert bound_contributions(made([0, 1]), 4).lines() == (
        "At most 4 readings of each sensor: 2 rows kept, 0 dropped.",
    )


ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=40)


@given(ROWS, st.integers(1, 6), st.booleans())
@settings(max_examples=3 * settings.default.max_examples // 2)
def test_no_owner_keeps_more_and_none_keeps_fewer_than_possible(
    rows: list[tuple[int, int]], most: int, by_cell: bool
) -> None:
    owner = [o for o, _ in rows]
    observations = made(owner, time=days(*(t for _, t in rows)))
    cells = np.array([t % 3 for _, t in rows]) if by_cell else None
    found = bound_contributions(observations, most, cells=cells).observations
    assert found.owner is not None
    for one in set(owner):
        mine = [c for (o, _), c in zip(rows, range(len(rows)), strict=True) if o == one]
        places = {rows[k][1] % 3 for k in mine} if by_cell else mine
        assert np.count_nonzero(found.owner == one) == min(most, len(places))
    if by_cell:
        pairs = [
            (o, rows[int(x)][1] % 3) for o, x in zip(found.owner.tolist(), found.x.tolist(), strict=True)
        ]
        assert len(set(pairs)) == len(pairs)


@given(ROWS, ROWS, st.integers(1, 4))
@settings(max_examples=3 * settings.default.max_examples // 2)
def test_what_an_owner_keeps_depends_on_its_own_rows_alone(
    mine: list[tuple[int, int]], others: list[tuple[int, int]], most: int
) -> None:
    """Lemma 1 of docs/proofs/owners.md: with any other owners around, in any order of arrival."""
    alone = made([9] * len(mine), time=days(*(t for _, t in mine)))
    both = made(
        [9] * len(mine) + [o for o, _ in others], time=days(*(t for _, t in mine), *(t for _, t in others))
    )
    found = bound_contributions(both, most).observations
    assert found.owner is not None
    of_mine = found.x[found.owner == 9]
    assert of_mine.tolist() == kept(alone, most)


def test_one_row_of_an_owner_in_each_cell() -> None:
    rows = made([0, 0, 0, 0, 1], time=days(4, 3, 2, 1, 0))
    cells = np.array([7, 7, 8, 8, 7])
    assert kept(rows, 5, cells=cells) == [0.0, 2.0, 4.0]
    assert kept(rows, 1, cells=cells) == [0.0, 4.0]
    with pytest.raises(DataError, match="one for each of the 5 rows"):
        kept(rows, 5, cells=cells[:3])


@pytest.mark.parametrize("most", [0, -1, 1.5, True])
def test_the_number_is_whole_and_positive(most: Any) -> None:
    with pytest.raises(DataError, match="whole number"):
        bound_contributions(made([0]), most)


def test_missing_owners_are_refused() -> None:
    nobody = Observations([0.0], [0.0], "EPSG:4326", [1.0], "u", "reading", "t")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="only where a column names"):
        bound_contributions(nobody, 1)
