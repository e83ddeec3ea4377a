"""The trip on a map: as recorded, its secrets, the released line with its noise, the moment played."""

from __future__ import annotations

from typing import Any

import numpy as np

from geo.colours import Theme
from hexcursion_traces.loading import Trace
from hexcursion_traces.page.decks import Rings, TripLine, trip_deck
from hexcursion_traces.page.picking import RECORDS
from hexcursion_traces.page.view import Moment
from hexcursion_traces.plan import TracePlan
from hexcursion_traces.release import PublishedTrace


def recorded_deck(trace: Trace, plan: TracePlan | None, theme: Theme) -> Any:
    """The private trip, its records to be clicked, and its secrets once they are chosen."""
    lines = [TripLine("recorded", "line", trace.longitude, trace.latitude)]
    dots = Rings(
        RECORDS, "line", trace.longitude, trace.latitude, np.ones(trace.size), filled=True, pick=True
    )
    return trip_deck(lines, [*_secrets(plan), dots], theme=theme)


def released_deck(
    plan: TracePlan, published: PublishedTrace, now: Moment | None, theme: Theme, *, private: bool
) -> Any:
    """The released trip, a circle of one standard deviation per record; the private one on request."""
    released = published.released
    lines = [TripLine("released", "path1", released.longitude, released.latitude)]
    rings = [Rings("noise", "path1", released.longitude, released.latitude, released.deviation)]
    if private:
        lines.insert(0, TripLine("recorded", "line", plan.trace.longitude, plan.trace.latitude, 2.0))
        rings += _secrets(plan)
    if now is not None:
        place = np.array([now.longitude]), np.array([now.latitude])
        rings.append(Rings("now", "path0", *place, np.array([1.0]), filled=True))
    return trip_deck(lines, rings, theme=theme)


def _secrets(plan: TracePlan | None) -> list[Rings]:
    if plan is None:
        return []
    records = [record for secret in plan.secrets for record in secret.records]
    lon, lat = plan.trace.longitude[records], plan.trace.latitude[records]
    return [Rings("secrets", "path0", lon, lat, np.full(len(records), 1.0), filled=True)]
