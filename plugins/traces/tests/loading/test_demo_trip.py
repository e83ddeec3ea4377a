"""The generated trip: real format, nobody's, a stay to hide, and another one for every seed."""

from __future__ import annotations

import numpy as np
import pytest

from data_loaders.demo_data import inside, to_km
from hexcursion_traces.loading import load_traces
from hexcursion_traces.loading.demo_trip import generated_trip


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_a_trip_is_an_hour_in_the_invented_city_with_one_stay_to_hide(seed: int) -> None:
    (trip,), report = load_traces(generated_trip(seed))
    assert trip.name == "Generated, nobody's trip"
    assert "dropped" not in " ".join(report.lines())
    assert 100 <= trip.size <= 150
    assert set(np.diff(trip.time)) == {30.0}
    assert trip.time[0] == 1_714_564_800.0  # 2024-05-01 12:00 UTC
    east, north = to_km(trip.longitude, trip.latitude)
    assert np.all(inside(east, north))
    step = 1000.0 * np.hypot(np.diff(east), np.diff(north))
    still = step < 30.0
    begins = np.flatnonzero(np.diff(still, prepend=False, append=False))
    stays = np.diff(begins)[::2].tolist()
    assert sorted(one for one in stays if one > 3) == [7, 7, 29]  # steps within 8, 8 and 30 records
    assert 80.0 < np.median(step[~still]) < 160.0  # 30 s at 4 metres a second, and bends


def test_another_seed_is_another_trip_and_the_same_seed_the_same() -> None:
    assert generated_trip(3) == generated_trip(3)
    (one,), _ = load_traces(generated_trip(3))
    (other,), _ = load_traces(generated_trip(4))
    same = set(zip(one.longitude, one.latitude, strict=True)) & set(
        zip(other.longitude, other.latitude, strict=True)
    )
    assert same == set()
