"""The study of three stays: its secrets, noises of one size, an adversary as right as he believes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hexcursion_traces.loading import load_traces
from hexcursion_traces.loading.demo_trip import generated_trip
from hexcursion_traces.mathematics.posterior import interval
from hexcursion_traces.mathematics.secret import Secret
from plugins.traces.studies import three_places
from plugins.traces.studies.three_places import INDEPENDENT, ROBUST, Trip, held, noises_for, part_of


@pytest.fixture(scope="module")
def trip() -> Trip:
    part = part_of(load_traces(generated_trip(3))[0][0])
    assert part is not None
    return part


def test_the_three_stays_of_the_generated_trip_are_the_secrets(trip: Trip) -> None:
    first, middle, last = trip.secrets
    assert [len(secret.records) for secret in trip.secrets] == [9, 32, 9], "8, 30, 8, and the way close by"
    assert trip.hidden.sum() == 50
    assert first.records[0] == trip.times[0] == 0
    assert middle.records[0] > first.records[-1] + 1
    assert last.records[-1] == trip.times.size - 1
    for secret in trip.secrets:
        places = trip.places[list(secret.records)]
        assert np.median(np.abs(places - np.median(places, axis=0))) < 6.0, "twice the receiver's error"


def test_noises_have_one_size_and_the_shaped_one_hides_the_stays() -> None:
    times, secrets = np.arange(0.0, 1440.0, 60.0), tuple(Secret((first, first + 1)) for first in (2, 11, 20))
    places = np.column_stack([np.linspace(0.0, 3000.0, 24), np.linspace(0.0, 1000.0, 24)])
    trip = Trip(times, places, secrets)
    widths = {}
    for name, noise in noises_for(trip).items():
        assert np.trace(noise) / 24 == pytest.approx(40_000.0)
        widths[name] = min(interval(prior, noise, secret) for prior in trip.covariances for secret in secrets)
    assert widths[ROBUST] > 1.5 * widths[INDEPENDENT]


def test_the_interval_holds_the_places_of_trips_that_follow_the_prior(
    trip: Trip, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(three_places, "DRAWS", 40)
    rng = np.random.default_rng(1)
    root, noise = np.linalg.cholesky(trip.prior.covariance(trip.times)), np.eye(trip.times.size) * 40_000.0
    drawn = [replace(trip, places=root @ rng.standard_normal((trip.times.size, 2))) for _ in range(6)]
    shares = [held(one, noise, rng) for one in drawn]
    assert np.mean(shares) == pytest.approx(0.683, abs=0.03), "one deviation of a normal law"
