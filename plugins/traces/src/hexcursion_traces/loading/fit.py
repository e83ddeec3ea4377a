"""Reads FIT, the binary files of sports watches and bicycle computers."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import datetime

import fitdecode

from data_loaders.errors import DataError
from hexcursion_traces.loading.model import Fix

_DEGREES = 180.0 / 2.0**31  # FIT counts half circles in 31 bits
MOST_FRAMES = 1_000_000
"""Messages of a file; eleven days at one a second."""

_MARK = b".FIT"  # in every file's header, eight bytes from its beginning


def is_fit(data: bytes) -> bool:
    """Whether bytes begin as a FIT file does."""
    return data[8:12] == _MARK


def fit_fixes(name: str, data: bytes) -> Iterator[tuple[str, list[Fix]]]:
    """Yield the title "", as FIT names no tracks, and the records of a FIT file, or of each of several
    joined to one.

    Records without a place, such as a heart rate before the first fix, are among them. Raise
    `DataError`, with the `name` of the file, if it is cut short, does not match its checksum, or is no
    FIT."""
    files: list[list[Fix]] = []
    strict = fitdecode.ErrorHandling.RAISE
    try:
        with fitdecode.FitReader(data, check_crc=fitdecode.CrcCheck.RAISE, error_handling=strict) as frames:
            for number, frame in enumerate(frames):
                if number > MOST_FRAMES:
                    raise DataError(
                        f"{name} has more than {MOST_FRAMES:,} messages: split it into smaller files."
                    )
                if isinstance(frame, fitdecode.FitHeader):
                    files.append([])
                elif isinstance(frame, fitdecode.FitDataMessage) and frame.name == "record":
                    files[-1].append(_fix(frame))
    except DataError:
        raise
    except (
        fitdecode.FitError,
        struct.error,
        ValueError,
        LookupError,
        TypeError,
        ArithmeticError,
        AttributeError,
        AssertionError,  # the library's own checks of lengths
    ):
        raise DataError(
            f"{name} is a broken FIT file: copy it from the device again, or export it as GPX."
        ) from None
    for fixes in files:
        yield "", fixes


def _fix(record: fitdecode.FitDataMessage) -> Fix:
    time = record.get_value("timestamp", fallback=None)
    words = []
    for field in ("position_long", "position_lat"):
        place = record.get_value(field, fallback=None)
        words.append(repr(place * _DEGREES) if isinstance(place, int) else "")
    return Fix(time.isoformat() if isinstance(time, datetime) else "", *words)
