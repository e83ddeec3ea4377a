"""Finds secrets in a trace: spans of time that a person names, and stays longer than some minutes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hexcursion.errors import WorkflowError
from hexcursion.words import plural
from hexcursion_traces.mathematics.secret import Moves, Secret
from hexcursion_traces.settings import Window

Floats = NDArray[np.float64]

LIKELY = 5.0
"""Minutes from which on a stay is mentioned where no length of a stop was asked for."""

_TURNS = 20  # of moving a stay's centre to the median of its records, at most
_CLOSER = (1.0, 0.25)  # excursions that a stay is joined across, as shares of its least length
_STEPS = 40  # places in each least length at which a stay may be seen first
_WITHIN_A_STAY = 4  # the same within a stay that was seen
_PACE = 0.7  # metres a second, below which a gap was no way from place to place
_NAMED = 6  # stays whose length is said
_CLICKED = 300.0  # seconds of an excursion that the stay around a clicked record is joined across


@dataclass(frozen=True)
class Stop:
    """A stay at one place: first and last record, and the seconds between them."""

    first: int
    last: int
    seconds: float


def find_stops(time: Floats, places: Floats, minutes: float, within: float) -> tuple[Stop, ...]:
    """Find the stays of at least some minutes.

    Parameters
    ----------
    time : (n,)
        Seconds, ascending.
    places : (n, 2)
        Metres.
    minutes : float
        Above 0.
    within : float
        Metres from a stay's centre, the median of its records.

    Returns
    -------
    tuple of Stop
        In order; they do not overlap.

    Notes
    -----
    A stay begins and ends with a record near its centre, and half of its time, or of its records, is there:
    a minority of strays does not end it. It is joined across gaps (a receiver that is switched off at a
    place stays there) and across excursions that are observed for less than `minutes`.
    """
    spans: list[tuple[int, int]] = []
    for first, last in sorted(
        (stop.first, stop.last)
        for even in (False, True)
        for stop in _found(time, places, minutes, within, even)
    ):
        if spans and first <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(last, spans[-1][1]))
        else:
            spans.append((first, last))
    return tuple(Stop(first, last, float(time[last] - time[first])) for first, last in spans)


def _found(time: Floats, places: Floats, minutes: float, within: float, even: bool) -> list[Stop]:
    found: list[Stop] = []
    first, least = 0, 60.0 * minutes
    while first < len(time) - 1:
        stop = _stay_from(time, places, first, least, within, even)
        if stop is not None:
            found.append(stop)
        # A stay is not leapt over: the next one may begin within it, beside strays that both claim.
        step = least / (_WITHIN_A_STAY if stop is not None else _STEPS)
        first = max(first + 1, int(np.searchsorted(time, time[first] + step)))
    return found


def _stay_from(
    time: Floats, places: Floats, first: int, least: float, within: float, even: bool
) -> Stop | None:
    """The stay that the `least` seconds after a record belong to; None for a way."""
    end = min(int(np.searchsorted(time, time[first] + least)) + 1, len(time))
    spent = np.minimum(np.diff(time[first:end]), time[first] + least - time[first : end - 1])
    spent = np.ones(end - first - 1) if even else spent
    near = _near(places[first:end], _median(places[first:end], spent), within)
    if not near.any() or _share(near, spent, float(spent.sum()) if even else least) < 0.5:
        return None
    middle = first + int(np.median(np.flatnonzero(near)))
    centre = _median(places[first:end], spent)
    for share in _CLOSER:
        low, high = _grown(time, places, middle, centre, share * least, within, even)
        inside, seconds = slice(low, high + 1), float(time[high] - time[low])
        if seconds < least:
            continue
        spent = np.ones(high - low) if even else np.diff(time[inside])
        near = _near(places[inside], _median(places[inside], spent), within)
        if _share(near, spent, float(spent.sum())) >= 0.5:
            return Stop(low, high, seconds)
    return None


def _grown(
    time: Floats,
    places: Floats,
    record: int,
    centre: Floats,
    excursion: float,
    within: float,
    even: bool,
) -> tuple[int, int]:
    """First and last record of the longest run around a record near a centre, which moves to their median."""
    found = record, record
    for _ in range(_TURNS):
        near = np.flatnonzero(_near(places, centre, within))
        # A run goes on across records elsewhere that are observed for less than an excursion.
        apart = time[np.maximum(near[1:] - 1, 0)] - time[np.minimum(near[:-1] + 1, len(time) - 1)]
        ends = np.flatnonzero((np.diff(near) > 1) & (apart >= excursion))
        starts, stops = np.concatenate([[0], ends + 1]), np.concatenate([ends, [len(near) - 1]])
        held = np.flatnonzero((near[starts] <= record) & (near[stops] >= record)) if near.size else near
        if not held.size:
            break
        members = near[starts[held[0]] : stops[held[0]] + 1]
        if time[members[-1]] - time[members[0]] >= time[found[1]] - time[found[0]]:
            found = int(members[0]), int(members[-1])
        if members.size < 2:
            break
        moved = _median(places[members], np.ones(members.size - 1) if even else np.diff(time[members]))
        if np.array_equal(moved, centre):
            break
        centre = moved
    return found


def _median(places: Floats, spent: Floats) -> Floats:
    """(2,): the median place, each record counting for half the seconds to its neighbours."""
    weights = np.convolve(spent, [0.5, 0.5])
    middle = []
    for axis in places.T:
        order = np.argsort(axis, kind="stable")
        reached = np.cumsum(weights[order])
        ends = np.searchsorted(reached, reached[-1] * np.array([0.5 - 1e-9, 0.5 + 1e-9]))
        middle.append(float(axis[order[np.minimum(ends, len(order) - 1)]].mean()))
    return np.array(middle)


def _near(places: Floats, centre: Floats, within: float) -> NDArray[np.bool_]:
    return np.asarray(np.hypot(*(places - centre).T) <= within)


def _share(near: NDArray[np.bool_], spent: Floats, whole: float) -> float:
    """Share of the time between records that is spent near: half of it where one end is."""
    return float(np.sum(spent * (near[:-1] * 0.5 + near[1:] * 0.5))) / whole


def stay_around(time: Floats, places: Floats, record: int, within: float) -> tuple[int, int]:
    """The stay that a record belongs to.

    Parameters
    ----------
    time : (n,)
        Seconds, ascending.
    places : (n, 2)
        Metres.
    record : int
    within : float
        Metres from the stay's centre, as for `find_stops`; it is joined across excursions below five minutes.

    Returns
    -------
    first, last : int
        Records; both are `record` where one only passed by.
    """
    low, high = _grown(time, places, record, places[record], _CLICKED, within, False)
    return min(low, record), max(high, record)


def stays(time: Floats, places: Floats, minutes: float, within: float) -> tuple[Window, ...]:
    """Find the stays as spans of time.

    Parameters
    ----------
    time : (n,)
        Seconds since 1970, ascending.
    places : (n, 2)
        Metres.
    minutes, within : float
        As for `find_stops`; 0 minutes for no stays.
    """
    found = find_stops(time, places, minutes, within) if minutes > 0.0 else ()
    return tuple(Window(float(time[stop.first]), float(time[stop.last])) for stop in found)


def chosen_secrets(
    time: Floats, windows: Sequence[Window], found: Sequence[Window], moves: Moves
) -> tuple[Secret, ...]:
    """Make windows and stays into secrets; spans that overlap are one.

    Parameters
    ----------
    time : (n,)
        Seconds since 1970, ascending: of the records that are released.
    windows : sequence of Window
        That a person named; each holds a record.
    found : sequence of Window
        Stays that were found; those between two records are no secrets, since nothing of them is released.
    moves : {"together", "separately"}

    Returns
    -------
    tuple of Secret
        In order; none where nothing is secret.

    Raises
    ------
    WorkflowError
        Where a named window holds no record.
    """
    spans = []
    for window in (*windows, *found):
        inside = np.flatnonzero((time >= window.start) & (time <= window.end))
        if inside.size:
            spans.append((int(inside[0]), int(inside[-1])))
        elif window in windows:
            raise WorkflowError(
                "A secret's window holds no record of the trace: compare its times, which are in UTC, with "
                "the trace's."
            )
    joined: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(Secret(tuple(range(first, last + 1)), moves) for first, last in joined)


def left_open(
    time: Floats, places: Floats, minutes: float, within: float, secret: Sequence[Window]
) -> tuple[str, ...]:
    """Say which stays are nearly long or narrow enough to be secret and are not: for the curator alone.

    Parameters
    ----------
    time : (n,)
        Seconds since 1970, ascending.
    places : (n, 2)
        Metres.
    minutes, within : float
        As for `find_stops`; 0 minutes where no stops are asked for.
    secret : sequence of Window
        What is hidden. A stay is left open where less than half of its time is.

    Returns
    -------
    tuple of str
        A sentence for shorter stays, one for wider ones, one for gaps between two places.
    """
    least = minutes or 2.0 * LIKELY

    def opened(some: Sequence[Window]) -> list[Window]:
        return [one for one in some if 2.0 * _hidden(one, secret) <= one.end - one.start]

    shorter = opened(stays(time, places, 0.5 * least, within))
    secret = (*secret, *shorter)
    wider = opened(stays(time, places, least, 2.0 * within))
    far, spent = np.hypot(*np.diff(places, axis=0).T), np.diff(time)
    still = np.flatnonzero((spent >= 60.0 * least) & (far > within) & (far < _PACE * spent))
    gaps = opened([Window(float(time[at]), float(time[at + 1])) for at in still])
    said = []
    if shorter:
        said.append(
            f"{_lasting(shorter, 'stay')} not protected: lower the least length of a stop, or name the span."
        )
    if wider:
        said.append(
            f"{_lasting(wider, 'stay')} not protected, since the places scatter over more than {within:g} m: "
            "widen the radius of a stop, or name the span."
        )
    if gaps:
        said.append(
            f"{_lasting(gaps, 'gap')} not protected: the trip goes on elsewhere, slower than one walks, so "
            "there was a stop at an end of it. Name the span if it is private."
        )
    return tuple(said)


def _hidden(one: Window, secret: Sequence[Window]) -> float:
    """Seconds of a span that lie in secrets."""
    spent, seen = 0.0, one.start
    for each in sorted(secret, key=lambda window: window.start):
        spent += max(0.0, min(one.end, each.end) - max(seen, each.start))
        seen = max(seen, min(one.end, each.end))
    return spent


def _lasting(some: Sequence[Window], word: str) -> str:
    """So many stays and how long they last: "2 stays of 8 and 9 minutes are"."""
    minutes = [f"{(one.end - one.start) / 60.0:,.0f}" for one in some[:_NAMED]]
    if len(some) > _NAMED:
        minutes.append("more")
    listed = " and ".join([", ".join(minutes[:-1]), minutes[-1]] if len(minutes) > 1 else minutes)
    listed = listed.replace("and more", "minutes and more") if len(some) > _NAMED else f"{listed} minutes"
    return f"{plural(len(some), word)} of {listed} {'is' if len(some) == 1 else 'are'}"
