"""A secret span picked with the mouse: records on the map, or a stretch of the chart over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from hexcursion_traces.loading import Trace
from hexcursion_traces.page.view import clock
from hexcursion_traces.plan import on_a_plane
from hexcursion_traces.settings import TraceSettings
from hexcursion_traces.stops import stay_around
from pages.shared.charts import alt

Span = tuple[datetime, datetime]
RECORDS, BRUSH = "records", "stretch"
_MOST = 1000  # places of the chart


def span_of_records(trace: Trace, records: Sequence[int]) -> Span:
    """The span of clicked records: a single record gives its stay, several that from the first to the last.

    Start and end are in UTC without a zone, whole seconds that include the records, within the trip."""
    first, last = min(records), max(records)
    if first == last:
        first, last = stay_around(trace.time, on_a_plane(trace)[1], first, TraceSettings().stop_radius)
    return _whole(trace, float(trace.time[first]), float(trace.time[last]))


def span_of_stretch(trace: Trace, start: float, end: float) -> Span:
    """The span of a stretch of the chart: milliseconds since 1970, in either order."""
    low, high = sorted((start / 1000.0, end / 1000.0))
    return _whole(trace, low, high)


def _whole(trace: Trace, start: float, end: float) -> Span:
    ends = np.clip([np.floor(start), np.ceil(end)], trace.time[0], trace.time[-1])
    return clock(float(ends[0])), clock(float(ends[1]))


def picked_records(event: Any, size: int) -> list[int]:
    """The records in a map's selection; indices outside of the trip, from any browser, are
    dropped."""
    objects = _mapping(_mapping(event).get("selection")).get("objects")
    circles = _mapping(objects).get(RECORDS) or []
    indices = [_mapping(circle).get("i") for circle in circles]
    return sorted({index for index in indices if isinstance(index, int) and 0 <= index < size})


def picked_stretch(event: Any) -> tuple[float, float] | None:
    """The ends of a chart's selection in milliseconds since 1970, or None."""
    ends = _mapping(_mapping(_mapping(event).get("selection")).get(BRUSH)).get("time")
    if not isinstance(ends, (list, tuple)) or len(ends) != 2:
        return None
    if not all(isinstance(end, (int, float)) and np.isfinite(end) for end in ends):
        return None
    return float(ends[0]), float(ends[1])


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def distance_chart(trace: Trace) -> alt.Chart:
    """Distance from the first record over time, which is level at a stop: private, for the curator. It
    has a selection of a stretch of time, named `BRUSH`."""
    step = max(1, -(-trace.size // _MOST))
    places = on_a_plane(trace)[1]
    away = np.hypot(*(places - places[0]).T)[::step]
    points = [
        {"time": int(1000 * seconds), "metres": round(float(metres), 1)}
        for seconds, metres in zip(trace.time[::step], away, strict=True)
    ]
    chart: alt.Chart = (
        alt.Chart(alt.Data(values=points), height=200)
        .mark_line()
        .encode(
            x=alt.X("time:T", title="Time (UTC)", scale=alt.Scale(type="utc")),
            y=alt.Y("metres:Q", title="From the start (m)"),
        )
        .add_params(alt.selection_interval(name=BRUSH, encodings=["x"]))
    )
    return chart


def slider_limits(trace: Trace) -> Span:
    """First and last time of a trip for a slider."""
    return clock(float(trace.time[0])), clock(float(trace.time[-1]))
