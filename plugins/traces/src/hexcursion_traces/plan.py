"""The plan of a trace's release, before any charge or draw."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgp_core.errors import CoreError
from geo.crs import local_crs, project, to_lonlat
from geo.errors import CrsError
from hexcursion.errors import WorkflowError
from hexcursion_traces.loading import Trace
from hexcursion_traces.mathematics.posterior import concentrated_noise, interval, uniform_noise
from hexcursion_traces.mathematics.secret import Secret
from hexcursion_traces.mathematics.windows import Standing, TraceNoise, design_noise, standing
from hexcursion_traces.settings import TraceSettings
from hexcursion_traces.stops import chosen_secrets, left_open, stays

Report = Callable[[float, str], None]
WIDEST = 500_000.0
"""Metres from the projection's middle within which distances on the plane err by less than 0.1
%."""

_STRETCH = 1.002  # factor on the radius for this error
_WATCHED = 100_000  # records up to which the search for stays reads the unthinned trace
_ROUNDS = 6  # of scaling a budget to an interval
_COMPARED = 700  # records up to which uniform and concentrated noise are compared


@dataclass(frozen=True, eq=False)
class TracePlan:
    """A trace ready for its release: all steps that can fail have run.

    `recorded`: as read; the ledger marks its records. `trace`: thinned; its records are released with
    noise. `crs`: the local projection in metres. `places` (n, 2): metres; private. `noise`: per axis.
    `standings`: the certificates of this noise, one per secret. `left`: sentences on stays that are
    nearly secret; private, for the curator alone."""

    recorded: Trace
    trace: Trace
    settings: TraceSettings
    crs: str
    places: NDArray[np.float64]
    secrets: tuple[Secret, ...]
    noise: TraceNoise
    standings: tuple[Standing, ...]
    left: tuple[str, ...] = ()

    @property
    def times(self) -> NDArray[np.float64]:
        """(n,): seconds since the first record."""
        return np.asarray(self.trace.time - self.trace.time[0])

    @property
    def root_mean_square(self) -> float:
        """Metres per axis that the noise moves a record, over the whole trace."""
        return math.sqrt(float(self.noise.variance.mean()))

    @property
    def worst(self) -> Standing:
        """The secret with the weakest protection."""
        return max(self.standings, key=lambda standing: standing.certificate.mu)

    def span(self, secret: Secret) -> tuple[float, float]:
        """Seconds since 1970 of a secret's first and last record."""
        return float(self.trace.time[secret.records[0]]), float(self.trace.time[secret.records[-1]])


@dataclass(frozen=True)
class Compared:
    """The adversary's 68 % interval at a secret, metres per axis, for noises of the same total variance:
    `before` under the prior alone, the others after the release, the smallest over the candidates."""

    before: float
    designed: float
    uniform: float
    concentrated: float


def plan_trace(recorded: Trace, settings: TraceSettings, report: Report | None = None) -> TracePlan:
    """Choose the secrets, shape the noise, and certify it.

    `report` is called with the finished share and a word; it may raise to stop. Raise `WorkflowError`
    for a trace of fewer than two records or wider than `WIDEST`, for a trace without secrets, and if no
    noise reaches the goal."""
    trace = recorded.thinned(settings.every)
    if trace.size < 2:
        raise WorkflowError("A trace needs at least two records: choose another one, or thin it less.")
    crs, places = on_a_plane(trace)
    secrets, left = _hidden(recorded, trace, settings)
    times = trace.time - trace.time[0]
    try:
        noise, standings = _shaped(times, secrets, settings, report)
    except CoreError as error:
        raise WorkflowError(f"{str(error)[:1].upper()}{str(error)[1:]}") from None
    return TracePlan(recorded, trace, settings, crs, places, secrets, noise, standings, left)


def secret_spans(recorded: Trace, trace: Trace, settings: TraceSettings) -> list[tuple[float, float]]:
    """First and last second of every secret that `plan_trace` would choose; errors as there."""
    secrets = _hidden(recorded, trace, settings)[0]
    ends = ((secret.records[0], secret.records[-1]) for secret in secrets)
    return [(float(trace.time[first]), float(trace.time[last])) for first, last in ends]


def _hidden(
    recorded: Trace, trace: Trace, settings: TraceSettings
) -> tuple[tuple[Secret, ...], tuple[str, ...]]:
    """The secrets among the thinned records, and sentences on stays that are nearly secret.

    The search for stays reads all records.
    """
    watched = recorded if recorded.size <= _WATCHED else trace
    places = on_a_plane(watched)[1]
    stay_spans = stays(watched.time, places, settings.stops, settings.stop_radius)
    if watched is not trace:  # stays that only the released records show count as well
        stay_spans += stays(trace.time, on_a_plane(trace)[1], settings.stops, settings.stop_radius)
    secrets = chosen_secrets(trace.time, settings.windows, stay_spans, settings.moves)
    hidden = [*settings.windows, *stay_spans]
    left = left_open(watched.time, places, settings.stops, settings.stop_radius, hidden)
    if not secrets:
        stops = settings.stops
        why = f"there is no stop of {stops:g} minutes or more" if stops > 0.0 else "no secret was named"
        sentence = f"Nothing would be hidden, since {why}: give a window of time, or a shorter stop."
        raise WorkflowError(" ".join((sentence, *left)))
    return secrets, left


def on_a_plane(trace: Trace) -> tuple[str, NDArray[np.float64]]:
    """Project a trace to metres around the whole degree nearest to its middle: the projection's name and
    the places (n, 2). Raise `WorkflowError` for a trace wider than `WIDEST`."""
    turned = (trace.longitude - trace.longitude[0] + 180.0) % 360.0 - 180.0
    middle = (round(float(trace.longitude[0] + np.median(turned))) + 180.0) % 360.0 - 180.0
    crs = local_crs(middle, round(float(np.median(trace.latitude))))
    try:
        places = project(np.column_stack([trace.longitude, trace.latitude]), crs)
    except CrsError:
        places = np.full((1, 2), np.inf)
    if float(np.max(np.hypot(*places.T))) > WIDEST:
        raise WorkflowError("The trace is wider than 1,000 km: cut it into trips and release one of them.")
    return crs, places


def _shaped(
    times: NDArray[np.float64], secrets: tuple[Secret, ...], settings: TraceSettings, report: Report | None
) -> tuple[TraceNoise, tuple[Standing, ...]]:
    def standings(noise: TraceNoise) -> tuple[Standing, ...]:
        return tuple(
            standing(
                times, noise, secret, settings.prior, settings.radius * _STRETCH, factors=settings.factors
            )
            for secret in secrets
        )

    square = settings.metres**2
    if settings.goal == "interval":
        widest = 2.0 * math.hypot(settings.amplitude, settings.error)
        if settings.metres >= 0.95 * widest:
            raise WorkflowError(
                f"An interval of {settings.metres:g} m is not less than the {widest:,.0f} m of the "
                "adversary's prior before the release: ask for less, or state a larger amplitude."
            )
        square = settings.metres**2 / 4.0
    noise = design_noise(times, secrets, settings.prior, square, mode=settings.mode, report=report)
    certified = standings(noise)
    if settings.goal == "error":
        return noise, certified
    for _ in range(_ROUNDS):
        narrowest = min(part.interval for part in certified)
        if settings.metres <= narrowest <= 1.02 * settings.metres:
            break
        # The interval grows more slowly than the noise: the width of the prior is its limit.
        goal, prior = settings.metres * 1.005, 2.0 * math.hypot(settings.amplitude, settings.error)
        factor = (goal**2 / (prior**2 - goal**2)) / (
            narrowest**2 / (prior**2 - min(narrowest, 0.999 * prior) ** 2)
        )
        square *= min(max(factor, 0.01), 100.0)
        noise = design_noise(times, secrets, settings.prior, square, mode=settings.mode, report=report)
        certified = standings(noise)
    if min(part.interval for part in certified) < settings.metres:
        raise WorkflowError(
            f"No noise was found that leaves the adversary {settings.metres:g} m: ask for a narrower "
            f"interval."
        )
    return noise, certified


def compare(plan: TracePlan) -> tuple[Compared, ...]:
    """Compare the designed noise with uniform and concentrated noise of the same total variance, for each
    secret.

    In a trace of more than 700 records they cover the stretch around the secret, where all three noises
    are those of the whole trace but for far records."""
    return tuple(_compared(plan, number) for number in range(len(plan.secrets)))


def _compared(plan: TracePlan, number: int) -> Compared:
    secret, n = plan.secrets[number], plan.trace.size
    first, last = 0, n
    if n > _COMPARED:
        room = (_COMPARED - len(secret.records)) // 2
        first, last = max(0, secret.records[0] - room), min(n, secret.records[-1] + 1 + room)
    inside = Secret(tuple(record - first for record in secret.records), secret.moves)
    shaped = plan.noise.within(first, last)
    budget = float(np.trace(shaped))
    candidates = plan.settings.prior.candidates(plan.settings.factors)
    covariances = [candidate.covariance(plan.times[first:last]) for candidate in candidates]
    even, dense = uniform_noise(last - first, budget), concentrated_noise(last - first, budget, (inside,))

    def width(noise: NDArray[np.float64]) -> float:
        return min(interval(covariance, noise, inside) for covariance in covariances)

    index = np.array(inside.records)
    prior_width = min(2.0 * math.sqrt(float(c[np.ix_(index, index)].mean())) for c in covariances)
    if inside.moves == "separately":
        prior_width = min(
            2.0 * math.sqrt(max(float(np.linalg.eigvalsh(c[np.ix_(index, index)])[0]), 0.0))
            for c in covariances
        )
    return Compared(prior_width, width(shaped), width(even), width(dense))


def degrees(plan: TracePlan, places: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Longitude and latitude (n,) of places (n, 2), metres on the plan's projection, rounded to 1e-6
    degrees (a decimetre)."""
    lon, lat = to_lonlat(places[:, 0], places[:, 1], plan.crs)
    return np.round(lon, 6), np.round(lat, 6)
