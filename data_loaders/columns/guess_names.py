"""Guesses the columns of owner, identifier, time and whole places, and the unit of the value."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from data_loaders.columns.place_forms import place_columns
from data_loaders.columns.sensortable import Shape
from data_loaders.columns.times import read_times
from data_loaders.columns.units import split_unit
from data_loaders.observations import OwnerWord

LONGEST_NAME = 120  # characters of a column's name that are searched for meaning
# Names in English, German, French, Spanish, Italian, Dutch and Portuguese, without accents.
_PERSONS = """
    person participant respondent patient subject user household individual owner customer client observer
    recordedby teilnehmer haushalt kunde personne menage utilisateur persona participante paciente hogar
    cliente usuario paziente utente persoon deelnemer huishouden klant pessoa"""
_SENSORS = """
    sensor station site device logger monitor probe instrument node location place well borehole messstelle
    messpunkt messstation standort brunnen capteur puits forage estacion sitio pozo stazione sito pozzo
    meetpunt meetstation locatie estacao poco"""
_TIMES = """
    time date datetime timestamp when day sampled measured year datum zeit zeitpunkt zeitstempel jahr jour
    heure annee fecha hora ano data ora giorno anno tijd tijdstip jaar"""
_OWNERS: dict[OwnerWord, tuple[str, ...]] = {
    "person": tuple(_PERSONS.split()),
    "sensor": tuple(_SENSORS.split()),
}
_NAMING = ("", "id", "code", "name", "number", "no", "nr", "key", "uuid", "ref")
_RECORD = ("id", "uuid", "guid", "fid", "objectid", "key", "index")
_RECORD_OF = ("record", "reading", "sample", "measurement", "observation", "row", "transaction", "unique")
_TIME = frozenset(_TIMES.split())


def guess_owner(shape: Shape, used: tuple[str | None, ...]) -> tuple[str | None, OwnerWord | None]:
    """Guess the column of sensors or persons, and which of the two, outside `used`: the first
    column with such a name (participant, station, site code, device id), persons before sensors."""
    for word in _OWNERS:
        for name in shape.called:
            if name not in used and _bare(name) in _spelled(word):
                return name, word
    return None, None


def names_owner(name: str) -> bool:
    """Whether a column's name means a sensor or a person, and therefore not a measurement."""
    return any(_bare(name) in _spelled(word) for word in _OWNERS)


def owner_word_of(column: str) -> OwnerWord:
    """Return "person" if the name of a column of owners means persons, otherwise "sensor"."""
    words = re.findall(r"[a-z]+", _without_accents(column))
    people = any(word.rstrip("s") in _OWNERS["person"] for word in words) or _bare(column) in _spelled(
        "person"
    )
    return "person" if people else "sensor"


def owner_question(shape: Shape, owner: str | None, word: OwnerWord | None) -> str:
    """Write the question about owners for a person, with the consequence of the answer."""
    if owner is None:
        return (
            "Does a column name the sensor or the person that a row belongs to? Without one each reading is "
            "protected on its own, and somebody with several is protected less."
        )
    count = len({entry for entry in shape.column(shape.called.index(owner)) if entry})
    return (
        f"Does column {owner!r} name the {word} that a row belongs to ({count:,} different in the first "
        f"{len(shape.sample):,} rows)? Then a {word} with several readings can be protected as a whole; "
        "without it each reading is protected on its own."
    )


def guess_identifier(shape: Shape, used: tuple[str | None, ...]) -> str | None:
    """Guess the column of permanent identifiers, outside `used`: its name is id, sample number or
    similar, and its sampled entries are all different and not blank."""
    spellings = {*_RECORD, *(f"{noun}{naming}" for noun in _RECORD_OF for naming in _NAMING[1:])}
    for position, name in enumerate(shape.called):
        if name not in used and _bare(name) in spellings:
            entries = shape.column(position)
            if all(entries) and len(set(entries)) == len(entries):
                return name
    return None


def guess_time(shape: Shape, used: tuple[str | None, ...]) -> str | None:
    """Guess the column of times, outside `used`: its name is date, timestamp or similar, and at
    least 4 in 5 of its sampled entries are readable."""
    for position, name in enumerate(shape.called):
        words = re.split(r"[^a-z]+", _without_accents(name))
        if name in used or _TIME.isdisjoint(words):
            continue
        read = read_times(pa.array(shape.column(position), pa.string()))
        if np.mean(np.isnat(read.as_day_first) & np.isnat(read.as_month_first)) <= 0.2:
            return name
    return None


def _spelled(word: OwnerWord) -> set[str]:
    return {f"{noun}{naming}" for noun in _OWNERS[word] for naming in _NAMING}


def _bare(name: str) -> str:
    return re.sub(r"[^a-z]", "", _without_accents(name))


def _without_accents(name: str) -> str:
    """Return the start of a name in small letters, é as e."""
    letters = unicodedata.normalize("NFD", name[:LONGEST_NAME].lower())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def whole_places(shape: Shape, reasons: list[str]) -> str | None:
    """Return the column of whole places, such as grid references; None without one."""
    entries = [shape.column(at) for at in range(len(shape.called))]
    for place, form in place_columns(shape.called, entries)[:1]:
        reasons.append(f"Column {place!r} holds places, written as {form.words}.")
        return place
    return None


def guess_unit(
    value: str | None,
    numbers: Mapping[str, NDArray[np.float64]],
    signed: Collection[str],
    reasons: list[str],
) -> tuple[str | None, bool]:
    """Return the unit of the value's column and whether it holds answers of yes and no.

    `numbers` are the (n,) sampled numbers of each column; `signed` are columns with a percent sign.
    """
    if not value:
        reasons.append(
            "No column looks like measured numbers: leave empty, in the file, what was not measured, and "
            "write answers as 1 for yes and 0 for no; rows without values can be counted."
        )
        return None, False
    unit = split_unit(value)[1]
    reasons.append(f"Column {value!r} is numeric and no coordinate.")
    if value in signed and unit is None:
        unit = "%"
        reasons.append("Its numbers have a percent sign, so they are per cent.")
    answers = unit is None and bool(np.isin(numbers[value], (0.0, 1.0)).all())
    if answers:
        unit = "%"
        reasons.append("It holds 1 and 0, so the map asks for a share of yes unless you ask otherwise.")
    if unit is None:
        reasons.append("The unit of the value is not in its name: state it.")
    return unit, answers
