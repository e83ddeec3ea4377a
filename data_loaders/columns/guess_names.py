"""Guesses which columns of a table name the owner, the record and the time of a row."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from data_loaders.columns.sensortable import Shape
from data_loaders.columns.times import read_times
from data_loaders.observations import OwnerWord

LONGEST_NAME = 120  # characters of a column's name that are searched for meaning
_OWNERS: dict[OwnerWord, tuple[str, ...]] = {
    "person": ("person", "participant", "respondent", "patient", "subject", "user", "household", "individual",
               "owner", "customer", "client", "observer", "recordedby"),
    "sensor": ("sensor", "station", "site", "device", "logger", "monitor", "probe", "instrument", "node",
               "location", "place", "well", "borehole"),
}  # fmt: skip
_NAMING = ("", "id", "code", "name", "number", "no", "nr", "key", "uuid", "ref")
_RECORD = ("id", "uuid", "guid", "fid", "objectid", "key", "index")
_RECORD_OF = ("record", "reading", "sample", "measurement", "observation", "row", "transaction", "unique")
_TIME = ("time", "date", "datetime", "timestamp", "when", "day", "sampled", "measured", "year")


def guess_owner(shape: Shape, used: tuple[str | None, ...]) -> tuple[str | None, OwnerWord | None]:
    """Guess the column that names the sensor or person of a row, and which of the two; `used` columns are
    left out. The first column with such a name (station, site code, device id, participant) counts, persons
    first."""
    for word in _OWNERS:
        for name in shape.called:
            if name not in used and _bare(name) in _spelled(word):
                return name, word
    return None, None


def names_owner(name: str) -> bool:
    """Whether a column's name is that of a sensor, a person or the like, which is no measurement."""
    return any(_bare(name) in _spelled(word) for word in _OWNERS)


def owner_word_of(column: str) -> OwnerWord:
    """Return "person" where the name of a column of owners says so, "sensor" otherwise."""
    words = re.findall(r"[a-z]+", column[:LONGEST_NAME].lower())
    people = any(word.rstrip("s") in _OWNERS["person"] for word in words) or _bare(column) in _spelled(
        "person"
    )
    return "person" if people else "sensor"


def owner_question(shape: Shape, owner: str | None, word: OwnerWord | None) -> str:
    """Word the question about owners that a person must answer, and what follows from the answer."""
    if owner is None:
        return (
            "Does a column name the sensor or the person that a row belongs to? Without one each reading is "
            "protected on its own, and somebody with several is protected less."
        )
    named = len({entry for entry in shape.column(shape.called.index(owner)) if entry})
    return (
        f"Does column {owner!r} name the {word} that a row belongs to ({named:,} different in the first "
        f"{len(shape.sample):,} rows)? Then a {word} with several readings can be protected as a whole; "
        "without it each reading is protected on its own."
    )


def guess_identifier(shape: Shape, used: tuple[str | None, ...]) -> str | None:
    """Guess the column that names each row for good: one called id, sample number or the like whose sampled
    entries are all given and all different; `used` columns are left out."""
    spellings = {*_RECORD, *(f"{noun}{naming}" for noun in _RECORD_OF for naming in _NAMING[1:])}
    for position, name in enumerate(shape.called):
        if name not in used and _bare(name) in spellings:
            entries = shape.column(position)
            if all(entries) and len(set(entries)) == len(entries):
                return name
    return None


def guess_time(shape: Shape, used: tuple[str | None, ...]) -> str | None:
    """Guess the column that holds the time of a reading: one called date, timestamp or the like of which at
    least 4 in 5 sampled entries can be read; `used` columns are left out."""
    for position, name in enumerate(shape.called):
        words = re.split(r"[^a-z]+", name[:LONGEST_NAME].lower())
        if name in used or not set(words) & set(_TIME):
            continue
        read = read_times(pa.array(shape.column(position), pa.string()))
        if np.mean(np.isnat(read.as_day_first) & np.isnat(read.as_month_first)) <= 0.2:
            return name
    return None


def _spelled(word: OwnerWord) -> set[str]:
    return {f"{noun}{naming}" for noun in _OWNERS[word] for naming in _NAMING}


def _bare(name: str) -> str:
    return re.sub(r"[^a-z]", "", name[:LONGEST_NAME].lower())
