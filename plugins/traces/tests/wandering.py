"""Seeded trips with known stays (strays, indoor scatter, gaps), and a second, plain detector of stays."""

from __future__ import annotations

import numpy as np

from hexcursion_traces.loading import Trace

NEAR = 100.0
"""Metres from the median within which one stays."""

_MOSTLY = 0.75  # share of a stay's records that are near its median


def wandering_trip(seed: int) -> tuple[Trace, list[tuple[float, float]]]:
    """A trip on foot with two to five stays of 3 to 40 minutes, a record every 10 to 40 seconds.

    Of the records of a stay up to a tenth are strays 150 to 900 m off, all scatter by up to 45 m on each axis
    (indoors), and half of the stays have a gap of most of their length.

    Returns
    -------
    trace : Trace
    stays : list of (float, float)
        First and last second of each.
    """
    rng = np.random.default_rng(seed)
    step, clock, place = float(rng.uniform(10.0, 40.0)), 1.7e9, np.zeros(2)
    rows: list[tuple[float, float, float]] = []
    stays = []
    for _ in range(int(rng.integers(2, 6))):
        towards = rng.normal(size=2)
        towards *= rng.uniform(1.2, 8.0) / np.hypot(*towards)  # metres a second
        for _ in range(int(rng.integers(15, 60))):
            place = place + towards * step
            rows.append((clock, *(place + rng.normal(0.0, 4.0, 2))))
            clock += step
        seconds, scatter = float(rng.uniform(180.0, 2400.0)), float(rng.uniform(3.0, 45.0))
        times = np.arange(clock, clock + seconds, step)
        if rng.random() < 0.5:  # switched off in between
            times = times[(times < clock + 0.2 * seconds) | (times > clock + 0.8 * seconds)]
        spots = place + rng.normal(0.0, scatter, (times.size, 2))
        strays = np.flatnonzero(rng.random(times.size) < 0.1)
        angles, far = rng.uniform(0.0, 2 * np.pi, strays.size), rng.uniform(150.0, 900.0, strays.size)
        spots[strays] += (far * np.array([np.cos(angles), np.sin(angles)])).T
        rows += [(float(when), *spot) for when, spot in zip(times, spots, strict=True)]
        stays.append((float(times[0]), float(times[-1])))
        clock += seconds
    time, x, y = np.array(rows).T
    return Trace("wandering", time, 13.4 + x / 67_900.0, 52.5 + y / 111_270.0), stays


def median_stays(
    time: np.ndarray, places: np.ndarray, minutes: float, near: float = NEAR
) -> list[tuple[float, float]]:
    """Stays by brute force: spans of records three quarters of which lie near the median of all of them."""
    found, first = [], 0
    while first < len(time):
        last = 0
        for end in range(int(np.searchsorted(time, time[first] + 60.0 * minutes)), len(time)):
            away = np.hypot(*(places[first : end + 1] - np.median(places[first : end + 1], axis=0)).T)
            if np.mean(away <= near) < _MOSTLY:
                break
            if away[0] <= near and away[-1] <= near:
                last = end
        if last:
            found.append((float(time[first]), float(time[last])))
        first = max(first + 1, last + 1)
    return found


def share_hidden(span: tuple[float, float], secrets: list[tuple[float, float]]) -> float:
    """The largest share of a span of time that one secret covers."""
    low, high = span
    return max((min(high, b) - max(low, a)) / (high - low) for a, b in [*secrets, (low, low)])
