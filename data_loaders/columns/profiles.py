"""Recognise the tables of agencies by their column names; a TOML file describes each agency."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from data_loaders.errors import DataError, closest
from data_loaders.repeats import EqualRows

Rows: TypeAlias = Literal["readings", "sales", "postcodes"]
TOGETHER = " + "
"""Stands between the columns that name an owner together: a state, a county and a site."""


@dataclass(frozen=True)
class Place:
    """Columns of longitude or easting and of latitude or northing; `crs` is None where it must be stated."""

    x: str
    y: str
    crs: str | None = None
    zone: str | None = None  # column of the UTM zone of each row's easting and northing


@dataclass(frozen=True)
class Measured:
    """A column of measured values; its name in words and its unit, "" where the table alone knows them."""

    column: str
    name: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Profile:
    """What is known of one agency's tables. Of several names for one thing, the first that is there
    counts."""

    name: str  # on the command line
    title: str  # in words
    about: str  # where such tables come from
    rows: Rows = "readings"  # what a row is
    # sets of column names: a table that has all of one set is recognised
    recognised_by: tuple[tuple[str, ...], ...] = ()
    places: tuple[Place, ...] = ()
    values: tuple[Measured, ...] = ()
    count: str = ""  # what one row is where rows without a value are counted: case, sighting
    unit: tuple[str, ...] = ()  # columns with the unit of each row's value
    quantity: tuple[str, ...] = ()  # columns that say which quantity a row measures, in mixed tables
    quantity_example: str = ""
    # columns that say of which kind a row is, with an entry: "nature_mutation=Vente"
    kind: tuple[str, ...] = ()
    identifier: tuple[str, ...] = ()  # columns that name each row for good
    equal_rows: EqualRows | None = None  # of rows without an identifier, where that is certain
    # columns that say how sure a place is, in metres; or a number of metres that holds for every row
    place_sd: tuple[str, ...] = ()
    # columns naming the station or device; `TOGETHER` joins those that only together do
    owner: tuple[str, ...] = ()
    time: tuple[str, ...] = ()
    condition: tuple[str, ...] = ()  # what is below or above a limit
    limit: tuple[str, ...] = ()  # limits of detection
    missing: tuple[str, ...] = ()  # numbers for a missing value beside the usual ones
    note: str = ""  # what else a person should know
    first: str = ""  # how the first entry of a table without a header begins
    order: tuple[str, ...] = ()  # what stands in which column of a table without a header
    fields: Mapping[str, tuple[str, ...]] | None = None  # names of the columns of sales and postcodes


@dataclass(frozen=True)
class Recognised:
    """A profile held against one table: columns as spelled there, None where the table has no such column."""

    profile: Profile
    place: Place | None = None
    values: tuple[Measured, ...] = ()  # the columns of values that the table has; a person chooses
    quantity: str | None = None
    owner: str | None = None
    time: str | None = None
    condition: str | None = None
    limit: str | None = None
    unit: str | None = None
    kind: tuple[str, str] | None = None  # the column, and an entry that it usually has
    identifier: str | None = None
    place_sd: str | None = None

    @property
    def metres(self) -> str | None:
        """How sure every place is, in metres, where that is the same for all of an agency's rows."""
        return next((one for one in self.profile.place_sd if one.isdecimal()), None)

    def measured(self, column: str | None) -> Measured | None:
        """What is known of a column of values; of the only one where None is asked for."""
        if column is None:
            return self.values[0] if len(self.values) == 1 else None
        return next((one for one in self.values if _same(one.column) == _same(column)), None)


@lru_cache(maxsize=1)
def profiles() -> dict[str, Profile]:
    """Return all profiles of the folder `data_loaders/profiles` by name; raise `DataError` naming a bad
    file."""
    folder = files("data_loaders") / "profiles"
    names = sorted(one.name.removesuffix(".toml") for one in folder.iterdir() if one.name.endswith(".toml"))
    return {name: profile_from(name, (folder / f"{name}.toml").read_text("utf-8")) for name in names}


def profile_from(name: str, text: str) -> Profile:
    """Read a profile from TOML; raise `DataError` where it is not TOML, lacks a title, or has an unknown
    key."""
    try:
        raw: dict[str, Any] = tomllib.loads(text)
        lists: dict[str, Any] = {
            "recognised_by": tuple(map(tuple, raw.pop("recognised_by", ()))),
            "places": tuple(Place(**one) for one in raw.pop("places", ())),
            "values": tuple(Measured(**one) for one in raw.pop("values", ())),
            "fields": {key: tuple(names) for key, names in raw.pop("fields", {}).items()},
        }
        rest: dict[str, Any] = {key: tuple(one) if isinstance(one, list) else one for key, one in raw.items()}
        return Profile(name=name, **lists, **rest)
    except (tomllib.TOMLDecodeError, TypeError, AttributeError) as error:
        raise DataError(f"The profile {name!r} cannot be read: {error}.") from error


def named_profile(name: str) -> Profile:
    """Return the profile of a name; raise `DataError` where there is none."""
    if name not in profiles():
        raise DataError(
            f"There is no profile {name!r}{closest(name, profiles()) or ':'} choose one of "
            f"{', '.join(one.name for one in profiles().values() if one.rows == 'readings')}, or none."
        )
    return profiles()[name]


def recognise(names: Sequence[str]) -> Recognised | None:
    """Find the profile of which a table has most columns; None where none fits, or two fit equally well.
    `names` are the columns, or the first row of a table without a header."""
    there = {_same(name) for name in names}
    fits: list[tuple[int, Profile]] = []
    for profile in profiles().values():
        if profile.first and len(names) == len(profile.order) and names[0].startswith(profile.first):
            return Recognised(profile)
        whole = [len(known) for known in profile.recognised_by if all(_same(one) in there for one in known)]
        if whole:
            fits.append((max(whole), profile))
    fits.sort(key=lambda one: -one[0])
    if not fits or (len(fits) > 1 and fits[0][0] == fits[1][0]):
        return None
    return held_against(fits[0][1], names)


def held_against(profile: Profile, names: Sequence[str]) -> Recognised:
    """Say which of a table's columns a profile means. Capitals do not count; a name that occurs twice is
    ambiguous and counts as absent."""
    spelled: dict[str, str | None] = {}
    for name in names:
        spelled[_same(name)] = None if _same(name) in spelled else name

    def first(known: Sequence[str]) -> str | None:
        for one in known:
            parts = [spelled.get(_same(part)) for part in one.split(TOGETHER)]
            if None not in parts:
                return TOGETHER.join(part for part in parts if part is not None)
        return None

    place = None
    for one in profile.places:
        x, y = first([one.x]), first([one.y])
        if x is not None and y is not None:
            place = Place(x, y, one.crs, first([one.zone]) if one.zone else None)
            break
    values = [(first([one.column]), one) for one in profile.values]
    kinds = [tuple(one.split("=", 1)) for one in profile.kind]
    return Recognised(
        profile,
        place,
        tuple(Measured(column, one.name, one.unit) for column, one in values if column is not None),
        first(profile.quantity),
        first(profile.owner),
        first(profile.time),
        first(profile.condition),
        first(profile.limit),
        first(profile.unit),
        next(((column, entry) for name, entry in kinds if (column := first([name])) is not None), None),
        first(profile.identifier),
        first(profile.place_sd),
    )


def field_names(name: str) -> Mapping[str, tuple[str, ...]]:
    """The names that columns of sales or postcodes have, by what they hold."""
    return named_profile(name).fields or {}


def positions_of(name: str, header: Sequence[str]) -> dict[str, int]:
    """Where these columns stand in a header of small letters, those that are there."""
    found = {
        field: next((header.index(spelling) for spelling in spellings if spelling in header), None)
        for field, spellings in field_names(name).items()
    }
    return {field: at for field, at in found.items() if at is not None}


def _same(name: str) -> str:
    return name.strip().lower()
