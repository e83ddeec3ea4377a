"""What a release of a trace would say and cost, before anything is charged or drawn."""

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
"""Metres from the projection's middle: up to there a distance on the plane is wrong by less than 0.1 %."""

_STRETCH = 1.002  # taken on the radius for it
_WATCHED = 100_000  # records up to which stays are looked for in all that was recorded
_ROUNDS = 6  # of scaling a budget to a wanted interval
_COMPARED = 700  # records up to which uniform and concentrated noise are compared


@dataclass(frozen=True, eq=False)
class TracePlan:
    """A trace ready to be released; everything that can fail has been tried.

    Parameters
    ----------
    recorded : Trace
        As it was read: what the ledger marks.
    trace : Trace
        Thinned: what is released, with noise.
    settings : TraceSettings
    crs : str
        The local projection in metres.
    places : (n, 2) float64
        Metres; private.
    secrets : tuple of Secret
    noise : TraceNoise
        Per axis.
    standings : tuple of Standing
        One per secret, of this noise.
    left : tuple of str
        Sentences on stays that nearly are secret, private: for the curator alone.
    """

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
        """The secret that is protected least."""
        return max(self.standings, key=lambda one: one.certificate.mu)

    def span(self, secret: Secret) -> tuple[float, float]:
        """Seconds since 1970 of a secret's first and last record."""
        return float(self.trace.time[secret.records[0]]), float(self.trace.time[secret.records[-1]])


@dataclass(frozen=True)
class Compared:
    """The adversary's 68 % interval at one secret, metres per axis, for noises of the same total variance.

    Parameters
    ----------
    before : float
        Knowing the prior alone.
    designed, uniform, concentrated : float
        After the release, the smallest over the candidates.
    """

    before: float
    designed: float
    uniform: float
    concentrated: float


def plan_trace(recorded: Trace, settings: TraceSettings, report: Report | None = None) -> TracePlan:
    """Choose the secrets, shape the noise, and certify it.

    Parameters
    ----------
    recorded : Trace
    settings : TraceSettings
    report : callable, optional
        Called with the share done and a word; may raise to stop.

    Raises
    ------
    WorkflowError
        For a trace of fewer than two records or wider than `WIDEST`, for nothing to hide, and where no noise
        can be shaped.
    """
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
    records = [secret.records for secret in _hidden(recorded, trace, settings)[0]]
    return [(float(trace.time[one[0]]), float(trace.time[one[-1]])) for one in records]


def _hidden(
    recorded: Trace, trace: Trace, settings: TraceSettings
) -> tuple[tuple[Secret, ...], tuple[str, ...]]:
    """The secrets among the thinned records, and what nearly is one; stays are looked for in all records."""
    watched = recorded if recorded.size <= _WATCHED else trace
    places = on_a_plane(watched)[1]
    found = stays(watched.time, places, settings.stops, settings.stop_radius)
    if watched is not trace:  # a stay that shows in what is released counts too
        found += stays(trace.time, on_a_plane(trace)[1], settings.stops, settings.stop_radius)
    secrets = chosen_secrets(trace.time, settings.windows, found, settings.moves)
    left = left_open(watched.time, places, settings.stops, settings.stop_radius, [*settings.windows, *found])
    if not secrets:
        stops = settings.stops
        what = f"there is no stop of {stops:g} minutes or more" if stops > 0.0 else "no secret was named"
        raise WorkflowError(
            " ".join(
                (f"Nothing would be hidden, since {what}: give a window of time, or a shorter stop.", *left)
            )
        )
    return secrets, left


def on_a_plane(trace: Trace) -> tuple[str, NDArray[np.float64]]:
    """Project a trace to metres around the whole degree nearest to its middle.

    Returns
    -------
    crs : str
    places : (n, 2) float64

    Raises
    ------
    WorkflowError
        For a trace wider than `WIDEST`.
    """
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
                f"An interval of {settings.metres:g} m is not less than the {widest:,.0f} m that the "
                f"adversary's prior "
                "has before anything is released: ask for less, or state a larger amplitude."
            )
        square = settings.metres**2 / 4.0
    noise = design_noise(times, secrets, settings.prior, square, mode=settings.mode, report=report)
    found = standings(noise)
    if settings.goal == "error":
        return noise, found
    for _ in range(_ROUNDS):
        got = min(one.interval for one in found)
        if settings.metres <= got <= 1.02 * settings.metres:
            break
        # The interval grows more slowly than the noise: the prior's own width is its limit.
        wanted, prior = settings.metres * 1.005, 2.0 * math.hypot(settings.amplitude, settings.error)
        factor = (wanted**2 / (prior**2 - wanted**2)) / (got**2 / (prior**2 - min(got, 0.999 * prior) ** 2))
        square *= min(max(factor, 0.01), 100.0)
        noise = design_noise(times, secrets, settings.prior, square, mode=settings.mode, report=report)
        found = standings(noise)
    if min(one.interval for one in found) < settings.metres:
        raise WorkflowError(
            f"No noise was found that leaves the adversary {settings.metres:g} m: ask for a narrower "
            f"interval."
        )
    return noise, found


def compare(plan: TracePlan) -> tuple[Compared, ...]:
    """Set the designed noise beside uniform and concentrated noise of the same total variance, per secret.

    Returns
    -------
    tuple of Compared
        Within the stretch around each secret where the trace has more than 700 records: there all three are
        as in the whole trace up to far records.
    """
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
    before = min(2.0 * math.sqrt(float(c[np.ix_(index, index)].mean())) for c in covariances)
    if inside.moves == "separately":
        before = min(
            2.0 * math.sqrt(max(float(np.linalg.eigvalsh(c[np.ix_(index, index)])[0]), 0.0))
            for c in covariances
        )
    return Compared(before, width(shaped), width(even), width(dense))


def degrees(plan: TracePlan, places: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Longitude and latitude of places on the plan's projection, rounded to 1e-6 degrees (a decimetre).

    Parameters
    ----------
    plan : TracePlan
    places : (n, 2)
        Metres.

    Returns
    -------
    longitude, latitude : (n,) float64
    """
    lon, lat = to_lonlat(places[:, 0], places[:, 1], plan.crs)
    return np.round(lon, 6), np.round(lat, 6)
