"""Secrets of a trace: spans of time that the curator names, and stays longer than some minutes."""

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
"""Minutes from which a stay is mentioned if the settings have no length of a stop."""

_TURNS = 20  # largest number of moves of a stay's centre to the median of its records
_CLOSER = (1.0, 0.25)  # lengths of excursions within a stay, as shares of its least length
_STEPS = 40  # places in each least length at which a stay may begin
_WITHIN_A_STAY = 4  # the same within a known stay
_PACE = 0.7  # metres a second; a gap below this pace contains a stop
_NAMED = 6  # stays with their length in a sentence
_CLICKED = 300.0  # seconds of an excursion within the stay around a clicked record


@dataclass(frozen=True)
class Stop:
    """A stay at one place: first and last record, and the seconds between them."""

    first: int
    last: int
    seconds: float


def find_stops(time: Floats, places: Floats, minutes: float, within: float) -> tuple[Stop, ...]:
    """Find the stays of at least some minutes, above 0, in order and without overlap.

    `time` (n,) in seconds, ascending; `places` (n, 2) in metres; `within`: metres from a stay's centre,
    the median of its records. A stay begins and ends with a record near its centre, and half of its
    time, or of its records, is there: a minority of strays does not end it. It continues across gaps (a
    receiver that is switched off at a place stays there) and across excursions observed for less than
    `minutes`."""
    spans: list[tuple[int, int]] = []
    for first, last in sorted(
        (stop.first, stop.last)
        for even in (False, True)
        for stop in _candidates(time, places, minutes, within, even)
    ):
        if spans and first <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(last, spans[-1][1]))
        else:
            spans.append((first, last))
    return tuple(Stop(first, last, float(time[last] - time[first])) for first, last in spans)


def _candidates(time: Floats, places: Floats, minutes: float, within: float, even: bool) -> list[Stop]:
    stay_list: list[Stop] = []
    first, shortest = 0, 60.0 * minutes
    while first < len(time) - 1:
        stop = _stay_from(time, places, first, shortest, within, even)
        if stop is not None:
            stay_list.append(stop)
        # The next stay may begin within this one, near strays that belong to both.
        step = shortest / (_WITHIN_A_STAY if stop is not None else _STEPS)
        first = max(first + 1, int(np.searchsorted(time, time[first] + step)))
    return stay_list


def _stay_from(
    time: Floats, places: Floats, first: int, least: float, within: float, even: bool
) -> Stop | None:
    """The stay of the `least` seconds after a record; None for a way."""
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
    """First and last record of the longest run around a record near a centre.

    The centre moves to the median of the run.
    """
    longest = record, record
    for _ in range(_TURNS):
        near = np.flatnonzero(_near(places, centre, within))
        # A run continues across records elsewhere if they are observed for less than an excursion.
        apart = time[np.maximum(near[1:] - 1, 0)] - time[np.minimum(near[:-1] + 1, len(time) - 1)]
        ends = np.flatnonzero((np.diff(near) > 1) & (apart >= excursion))
        starts, stops = np.concatenate([[0], ends + 1]), np.concatenate([ends, [len(near) - 1]])
        runs = np.flatnonzero((near[starts] <= record) & (near[stops] >= record)) if near.size else near
        if not runs.size:
            break
        members = near[starts[runs[0]] : stops[runs[0]] + 1]
        if time[members[-1]] - time[members[0]] >= time[longest[1]] - time[longest[0]]:
            longest = int(members[0]), int(members[-1])
        if members.size < 2:
            break
        spent = np.ones(members.size - 1) if even else np.diff(time[members])
        median = _median(places[members], spent)
        if np.array_equal(median, centre):
            break
        centre = median
    return longest


def _median(places: Floats, spent: Floats) -> Floats:
    """(2,) median place, where each record weighs half the seconds to its neighbours."""
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


def _share(near: NDArray[np.bool_], spent: Floats, total: float) -> float:
    """Share of the time between records spent near; an interval with one near end counts half."""
    return float(np.sum(spent * (near[:-1] * 0.5 + near[1:] * 0.5))) / total


def stay_around(time: Floats, places: Floats, record: int, within: float) -> tuple[int, int]:
    """First and last record of the stay around a `record`; both are that record if the mover only passed
    by.

    `time` (n,), `places` (n, 2) and `within` as for `find_stops`; the stay includes excursions below
    five minutes."""
    low, high = _grown(time, places, record, places[record], _CLICKED, within, False)
    return min(low, record), max(high, record)


def stays(time: Floats, places: Floats, minutes: float, within: float) -> tuple[Window, ...]:
    """Find the stays as spans of time, of `time` (n,) in seconds since 1970, ascending, and `places` (n,
    2) in metres; `minutes` and `within` as for `find_stops`, 0 minutes for no stays."""
    stops = find_stops(time, places, minutes, within) if minutes > 0.0 else ()
    return tuple(Window(float(time[stop.first]), float(time[stop.last])) for stop in stops)


def chosen_secrets(
    time: Floats, windows: Sequence[Window], stay_spans: Sequence[Window], moves: Moves
) -> tuple[Secret, ...]:
    """Make windows and stays into secrets, in order, possibly none; overlapping spans become one secret.

    `time` (n,) is that of the released records, seconds since 1970, ascending. The curator names the
    windows, each with a record: raise `WorkflowError` for one without. A stay between two released
    records is no secret, since nothing of it is released."""
    spans = []
    for window in (*windows, *stay_spans):
        inside = np.flatnonzero((time >= window.start) & (time <= window.end))
        if inside.size:
            spans.append((int(inside[0]), int(inside[-1])))
        elif window in windows:
            raise WorkflowError(
                "A secret's window holds no record of the trace: compare its times, which are in UTC, with "
                "the trace's."
            )
    merged: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(Secret(tuple(range(first, last + 1)), moves) for first, last in merged)


def left_open(
    time: Floats, places: Floats, minutes: float, within: float, secret: Sequence[Window]
) -> tuple[str, ...]:
    """Describe stays that are nearly long or narrow enough to be secret; for the curator alone.

    `time` (n,), `places` (n, 2), `minutes` and `within` as for `stays`; `secret` are the hidden spans. A
    stay is open if less than half of its time is hidden. There is a sentence for shorter stays, one for
    wider ones, one for gaps between two places."""
    shortest = minutes or 2.0 * LIKELY

    def opened(spans: Sequence[Window]) -> list[Window]:
        return [span for span in spans if 2.0 * _hidden(span, secret) <= span.end - span.start]

    shorter = opened(stays(time, places, 0.5 * shortest, within))
    secret = (*secret, *shorter)
    wider = opened(stays(time, places, shortest, 2.0 * within))
    far, spent = np.hypot(*np.diff(places, axis=0).T), np.diff(time)
    still = np.flatnonzero((spent >= 60.0 * shortest) & (far > within) & (far < _PACE * spent))
    gaps = opened([Window(float(time[at]), float(time[at + 1])) for at in still])
    notes = []
    if shorter:
        notes.append(
            f"{_lasting(shorter, 'stay')} not protected: lower the least length of a stop, or name the span."
        )
    if wider:
        notes.append(
            f"{_lasting(wider, 'stay')} not protected, since the places scatter over more than {within:g} m: "
            "widen the radius of a stop, or name the span."
        )
    if gaps:
        notes.append(
            f"{_lasting(gaps, 'gap')} not protected: the trip goes on elsewhere, slower than one walks, so "
            "there was a stop at an end of it. Name the span if it is private."
        )
    return tuple(notes)


def _hidden(span: Window, secret: Sequence[Window]) -> float:
    """Seconds of a span that are in secrets."""
    spent, reached = 0.0, span.start
    for other in sorted(secret, key=lambda window: window.start):
        spent += max(0.0, min(span.end, other.end) - max(reached, other.start))
        reached = max(reached, min(span.end, other.end))
    return spent


def _lasting(spans: Sequence[Window], word: str) -> str:
    """The number and lengths of stays: "2 stays of 8 and 9 minutes are"."""
    minutes = [f"{(span.end - span.start) / 60.0:,.0f}" for span in spans[:_NAMED]]
    if len(spans) > _NAMED:
        minutes.append("more")
    listed = " and ".join([", ".join(minutes[:-1]), minutes[-1]] if len(minutes) > 1 else minutes)
    listed = listed.replace("and more", "minutes and more") if len(spans) > _NAMED else f"{listed} minutes"
    return f"{plural(len(spans), word)} of {listed} {'is' if len(spans) == 1 else 'are'}"
