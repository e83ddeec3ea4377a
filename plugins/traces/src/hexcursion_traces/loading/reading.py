"""Files of traces, recognised by content and read whole within limits."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from data_loaders.errors import DataError, unopened
from data_loaders.files.guarded import GEOJSON_TYPE, GuardedStream, Limits, Meter
from data_loaders.files.sources import Source, source_name
from data_loaders.observations import LoadReport, Tally
from hexcursion_traces.loading.fit import fit_fixes, is_fit
from hexcursion_traces.loading.formats import geojson_fixes, plt_fixes, table_fixes
from hexcursion_traces.loading.instants import read_instants, time_zone
from hexcursion_traces.loading.markup import markup_fixes
from hexcursion_traces.loading.model import Fix, Trace, trace_of

TRACE_LIMITS = Limits(max_bytes=128 << 20)
"""A day at one record a second has 10 MB as GPX; a file of traces is read whole."""

_MOST_RECORDS = 2_000_000
# Marks of lines, fields, tags and lists. In memory every one of these takes 100 to 200 bytes.
_MOST_MARKS = {
    b"\n": 6_000_000,
    b"\r": 6_000_000,
    b",": 20_000_000,
    b"<": 12_000_000,
    b"[": 6_000_000,
    b"{": 6_000_000,
    b";": 20_000_000,
    b"\t": 20_000_000,
}
_PLT = b"Geolife trajectory"


def load_traces(
    source: Source,
    limits: Limits = TRACE_LIMITS,
    *,
    zone: str | None = None,
    day_first: bool | None = None,
) -> tuple[tuple[Trace, ...], LoadReport]:
    """Read the traces of a file with at least one record, in its order, and report every record, kept or
    dropped.

    The file is recognised by content: GeoLife .plt, GPX, TCX, FIT, a table with times and places
    (several traces with a column of movers), or GeoJSON lines with times; plain or packed as .gz, within
    `limits` when unpacked. `zone` is that of times that name none, such as "Europe/London", by default
    UTC; `day_first` whether dates such as 3/4/2018 have the day first, by default all dates of the file
    decide. Raise `DataError` for any other file, in one sentence that names the remedy; `ZoneWanted` if
    a zone is needed, `OrderWanted` if the order of dates is needed."""
    clock = None if zone is None else time_zone(zone)
    name = source_name(source)
    data = _whole(source, name, limits)
    parts: list[tuple[str, list[Fix]]] = []
    time_texts: list[str] = []
    for title, fixes in _reader(name, data)(data):
        parts.append((title, fixes))
        time_texts.extend(fix.time for fix in fixes)
        if len(time_texts) > _MOST_RECORDS:
            raise DataError(f"{name} has more than {_MOST_RECORDS:,} records: split it into smaller files.")
    times = read_instants(time_texts, day_first)
    tally, traces = Tally(), []
    notes: dict[str, None] = {}
    if times.day_first is not None:
        first = "day" if times.day_first else "month"
        notes[f"Dates such as 3/4/2018 were read with the {first} first."] = None
    for title, fixes in parts:
        instants = times.part(tally.rows_read, tally.rows_read + len(fixes))
        trace, sentences = trace_of(title or name, fixes, instants, tally, clock)
        notes.update(dict.fromkeys(sentences))
        if trace.size:
            traces.append(trace)
    if not traces:
        because = f" ({tally.main_reason})" if tally.main_reason else ""
        raise DataError(
            f"{name} holds no record with a time and a place{because}: choose another file, or write times "
            "as 2024-05-01T08:00:00Z and places in degrees."
        )
    return tuple(traces), tally.report(name, sum(trace.size for trace in traces), tuple(notes))


def _whole(source: Source, name: str, limits: Limits) -> bytes:
    if isinstance(source, (str, os.PathLike)):
        try:
            with Path(source).open("rb") as handle:
                return _unpacked(name, handle, limits)
        except DataError:
            raise
        except (OSError, ValueError):
            raise unopened(name) from None
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _unpacked(name, io.BytesIO(source), limits)
    return _unpacked(name, source, limits)


def _unpacked(name: str, handle: object, limits: Limits) -> bytes:
    data = GuardedStream(name, handle, Meter(limits)).read()
    if data[:2] == b"\x1f\x8b":
        archive = io.BytesIO(data)
        with gzip.GzipFile(fileobj=archive, mode="rb") as inner:
            data = GuardedStream(name, inner, Meter(limits), archive.tell).read()
    if not data.strip(b"\xef\xbb\xbf \t\r\n"):
        raise DataError(f"{name} is empty: choose a file with records.")
    return data


def _reader(name: str, data: bytes) -> Callable[[bytes], Iterator[tuple[str, list[Fix]]]]:
    if not is_fit(data):  # the reader of FIT counts its frames
        for mark, limit in _MOST_MARKS.items():
            if data.count(mark) > limit:
                raise DataError(
                    f"{name} has more than {_MOST_RECORDS:,} records: split it into smaller files."
                )
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if is_fit(data):
        return lambda content: fit_fixes(name, content)
    if b"\0" in data[:65536]:
        raise DataError(f"{name} is binary but no FIT file: export it as GPX, TCX or CSV in UTF-8.")
    if start.startswith(_PLT):
        return plt_fixes
    if GEOJSON_TYPE.match(data[:65536]) or start.startswith(b"{"):
        return lambda text: geojson_fixes(name, text)
    if start.startswith(b"<"):
        return lambda text: markup_fixes(name, text)
    return lambda text: table_fixes(name, text)
