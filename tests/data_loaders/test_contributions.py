"""Bounded contributions: a public rule, a function of each owner's own rows alone, never of the values."""

from __future__ import annotations

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


def test_scattered_positions_are_fixed_for_good() -> None:
    """Literal positions: another program, or another version, must keep the same rows."""
    assert kept(made([0] * 10), 3) == [1.0, 5.0, 8.0]
    assert kept(made([0] * 5), 3) == [0.0, 2.0, 4.0]
    assert kept(made([7, 7, 7, 7, 7, 2]), 3) == [0.0, 2.0, 4.0, 5.0]


def test_scattered_positions_lean_to_neither_end() -> None:
    places = np.array([k / (m - 1) for m in range(20, 120) for k in kept(made([0] * m), 5)])
    assert abs(places.mean() - 0.5) < 0.05


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
    """Lemma 1 of docs/units-of-protection.md: with any other owners around, in any order of arrival."""
    alone = made([9] * len(mine), time=days(*(t for _, t in mine)))
    both = made(
        [o for o, _ in others] + [9] * len(mine), time=days(*(t for _, t in others), *(t for _, t in mine))
    )
    found = bound_contributions(both, most).observations
    assert found.owner is not None
    of_mine = found.x[found.owner == 9] - len(others)
    assert of_mine.tolist() == kept(alone, most)


def test_values_are_not_looked_at() -> None:
    owner, time = [0, 0, 0, 1, 1, 1, 1], days(*range(7))
    first = made(owner, value=[1, 2, 3, 4, 5, 6, 7], time=time)
    second = made(owner, value=[7, 1, 9, -3, 0, 2, 2], time=time)
    assert kept(first, 2) == kept(second, 2)


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
