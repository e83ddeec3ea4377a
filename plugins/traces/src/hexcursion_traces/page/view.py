"""The texts of the traces screen: the trip in numbers, the playing moment, the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from hexcursion_traces.adversaries import Known
from hexcursion_traces.loading import Trace
from hexcursion_traces.plan import TracePlan, compare
from hexcursion_traces.release import PublishedTrace
from hexcursion_traces.settings import Window

_PLAYED = 60  # steps of a playing trip


def clock(seconds: float) -> datetime:
    """A time of a trace as UTC without a zone, as sliders need it."""
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def window_of(start: datetime, end: datetime) -> Window:
    """The span between two times of a slider."""
    return Window(start.replace(tzinfo=UTC).timestamp(), end.replace(tzinfo=UTC).timestamp())


def span_text(window: Window) -> str:
    """A span of time in words."""
    return f"{clock(window.start):%Y-%m-%d %H:%M:%S} to {clock(window.end):%H:%M:%S} UTC"


@dataclass(frozen=True)
class Trip:
    """A trip in numbers: its records, its minutes from the first to the last, and the median seconds
    between them."""

    records: int
    minutes: float
    step: float

    @property
    def sentence(self) -> str:
        """The numbers in a line."""
        return (
            f"{self.records:,} records over {self.minutes:,.0f} minutes, one every {self.step:,.0f} s "
            "(median). Times stay as they are: only places get noise."
        )


def trip_of(trace: Trace) -> Trip:
    """Describe a trace."""
    steps = np.diff(trace.time)
    return Trip(
        trace.size,
        float(trace.time[-1] - trace.time[0]) / 60.0,
        float(np.median(steps)) if steps.size else 0.0,
    )


def comparison_rows(plan: TracePlan) -> list[dict[str, str]]:
    """One row per secret: the adversary's interval before and after, at noise of the same size."""
    rows = []
    for secret, widths in zip(plan.secrets, compare(plan), strict=True):
        start, end = plan.span(secret)
        rows.append(
            {
                "Secret": span_text(Window(start, end)),
                "Before": f"{widths.before:,.0f} m",
                "This noise": f"{widths.designed:,.0f} m",
                "Uniform": f"{widths.uniform:,.0f} m",
                "Concentrated": f"{widths.concentrated:,.0f} m",
            }
        )
    return rows


def curve_points(widths: Sequence[Known]) -> list[dict[str, float | str]]:
    """Points of the chart: the adversary's lengthscale in seconds, the noise, the interval in
    metres."""
    return [
        {"lengthscale": round(width.lengthscale, 3), "noise": width.noise, "metres": round(width.metres, 1)}
        for width in widths
    ]


def next_record(record: int, size: int) -> int:
    """The record, from 1, after another in a playing trip of at most about sixty steps."""
    return min(record + max(1, -(-size // _PLAYED)), size)


@dataclass(frozen=True)
class Moment:
    """A moment of the playing trip: the released place, its noise, and whether it is secret."""

    time: str
    longitude: float
    latitude: float
    deviation: float
    secret: bool

    @property
    def sentence(self) -> str:
        """The moment in words."""
        kind = "a secret moment" if self.secret else "not a secret moment"
        return f"{self.time} UTC, {kind}: noise of {self.deviation:,.0f} m per axis (standard deviation)."


def moment(plan: TracePlan, published: PublishedTrace, record: int) -> Moment:
    """A moment of a released trip, from public facts only."""
    released = published.released
    return Moment(
        time=f"{clock(float(released.time[record])):%H:%M:%S}",
        longitude=float(released.longitude[record]),
        latitude=float(released.latitude[record]),
        deviation=float(released.deviation[record]),
        secret=any(record in secret.records for secret in plan.secrets),
    )
