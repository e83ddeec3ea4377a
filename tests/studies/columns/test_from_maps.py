"""The study of atlases that start from published maps: its tables, and what it compares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from studies.columns.atlas import Judge, Score
from studies.columns.from_maps import Published, beside, parted, two_years


def test_two_years_share_their_fields_but_for_a_drift_and_no_record() -> None:
    now, then = two_years(0.0, 3, 2)
    maps = Judge.of(now).maps, Judge.of(then).maps
    for column in range(2):
        assert np.corrcoef(maps[0][column], maps[1][column])[0, 1] > 0.6
    assert not set(map(tuple, now.values)) & set(map(tuple, then.values))
    third, others = parted(now)
    assert third.cells.size + others.cells.size == 600
    assert 150 < third.cells.size < 250


def test_hardly_any_noise_shows_the_map_of_the_private_records() -> None:
    now, then = two_years(0.0, 3, 2)
    public, judge = Published.of(then), Judge.of(now)
    right, wrong = Score(judge), Score(judge)
    layers = public.released(now, 500.0, 5)
    right.add(layers, public.bounds.tolist(), 1.0)
    wrong.add(layers[::-1], public.bounds.tolist(), 1.0)
    assert right.mean > 0.7
    assert wrong.mean < 0.45


def test_an_atlas_is_compared_with_what_also_starts_from_the_maps() -> None:
    now, then = (replace(each, values=each.values[:, :1]) for each in two_years(0.0, 3, 2))
    found = beside(now, then, 20.0, 1)
    assert list(found) == ["alone", "k releases", "atlas", "shuffled", "map"]
    assert found["alone"] == found["k releases"] == found["atlas"] > found["shuffled"]
