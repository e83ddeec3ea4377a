"""Finds secrets in a trace: spans of time that a person names, and stops longer than some minutes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgp_core.traces.secret import Moves, Secret
from workflow.errors import WorkflowError
from workflow.traces.settings import Window


@dataclass(frozen=True)
class Stop:
    """A stay at one place: first and last record, and the seconds between them."""

    first: int
    last: int
    seconds: float


def find_stops(
    time: NDArray[np.float64], places: NDArray[np.float64], minutes: float, within: float
) -> tuple[Stop, ...]:
    """Find the stays of at least some minutes.

    Parameters
    ----------
    time : (n,)
        Seconds, ascending.
    places : (n, 2)
        Metres.
    minutes : float
    within : float
        Metres: a stay lasts while no record is further from its first one.

    Returns
    -------
    tuple of Stop
        In order; they do not overlap. A receiver that is switched off at a place stays there.
    """
    found, first = [], 0
    while first < len(time):
        away = np.hypot(*(places[first:] - places[first]).T) > within
        last = first + (int(np.argmax(away)) - 1 if away.any() else len(away) - 1)
        seconds = float(time[last] - time[first])
        if seconds >= 60.0 * minutes and last > first:
            found.append(Stop(first, last, seconds))
            first = last + 1
        else:
            first += 1
    return tuple(found)


def stay_around(places: NDArray[np.float64], record: int, within: float) -> tuple[int, int]:
    """The stay that a record belongs to.

    Parameters
    ----------
    places : (n, 2)
        Metres.
    record : int
    within : float
        Metres: the stay lasts before and after the record while nothing is further from it.

    Returns
    -------
    first, last : int
        Records; both are `record` where one only passed by.
    """
    away = np.flatnonzero(np.hypot(*(places - places[record]).T) > within)
    at = int(np.searchsorted(away, record))
    first = int(away[at - 1]) + 1 if at else 0
    last = int(away[at]) - 1 if at < away.size else len(places) - 1
    return first, last


def chosen_secrets(
    time: NDArray[np.float64],
    places: NDArray[np.float64],
    windows: Sequence[Window],
    stops: float,
    within: float,
    moves: Moves,
) -> tuple[Secret, ...]:
    """Make windows and stops into secrets; spans that overlap are one.

    Parameters
    ----------
    time : (n,)
        Seconds since 1970, ascending.
    places : (n, 2)
        Metres.
    windows : sequence of Window
    stops : float
        Minutes, 0 for none.
    within : float
        Metres.
    moves : {"together", "separately"}

    Returns
    -------
    tuple of Secret
        In order.

    Raises
    ------
    WorkflowError
        Where nothing is secret: no window holds a record and there is no such stop.
    """
    spans = []
    for window in windows:
        inside = np.flatnonzero((time >= window.start) & (time <= window.end))
        if not inside.size:
            raise WorkflowError(
                "A secret's window holds no record of the trace: compare its times, which are in UTC, with "
                "the trace's."
            )
        spans.append((int(inside[0]), int(inside[-1])))
    if stops > 0.0:
        spans += [(stop.first, stop.last) for stop in find_stops(time, places, stops, within)]
    if not spans:
        what = f"there is no stop of {stops:g} minutes or more" if stops > 0.0 else "no secret was named"
        raise WorkflowError(
            f"Nothing would be hidden, since {what}: give a window of time, or a shorter stop."
        )
    joined: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(Secret(tuple(range(first, last + 1)), moves) for first, last in joined)
