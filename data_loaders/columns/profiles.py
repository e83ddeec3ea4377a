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
"""Separates the columns that identify an owner together, such as a state, a county and a site."""


@dataclass(frozen=True)
class Place:
    """Columns of longitude or easting and of latitude or northing; `crs` None must be stated."""

    x: str
    y: str
    crs: str | None = None
    zone: str | None = None  # column of the UTM zone of each row's easting and northing


@dataclass(frozen=True)
class Measured:
    """A column of measured values, its name in words and its unit; "" if only the table states
    them."""

    column: str
    name: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Profile:
    """A description of one agency's tables. Of several names for a column, the first in the table
    counts."""

    name: str  # on the command line
    title: str  # in words
    about: str  # the source of such tables
    rows: Rows = "readings"  # the meaning of a row
    # sets of column names: a table with all names of one set is recognised
    recognised_by: tuple[tuple[str, ...], ...] = ()
    places: tuple[Place, ...] = ()
    values: tuple[Measured, ...] = ()
    count: str = ""  # the noun for a row if rows without a value are counted: case, sighting
    unit: tuple[str, ...] = ()  # columns with the unit of each row's value
    quantity: tuple[str, ...] = ()  # columns with the quantity that a row measures, in mixed tables
    quantity_example: str = ""
    # columns with the kind of a row, and an entry: "nature_mutation=Vente"
    kind: tuple[str, ...] = ()
    identifier: tuple[str, ...] = ()  # columns of permanent identifiers of rows
    equal_rows: EqualRows | None = None  # of rows without an identifier, if certain
    # columns with the uncertainty of a place in metres, or a number of metres for every row
    place_sd: tuple[str, ...] = ()
    # columns of the station or device; `TOGETHER` joins columns that identify it only together
    owner: tuple[str, ...] = ()
    time: tuple[str, ...] = ()
    condition: tuple[str, ...] = ()  # columns that mark values below or above a limit
    limit: tuple[str, ...] = ()  # limits of detection
    missing: tuple[str, ...] = ()  # further numbers for a missing value
    note: str = ""  # further advice for a person
    first: str = ""  # the start of the first entry of a table without a header
    order: tuple[str, ...] = ()  # the columns of a table without a header, in order
    # names of the columns of sales and postcodes
    fields: Mapping[str, tuple[str, ...]] | None = None


@dataclass(frozen=True)
class Recognised:
    """A profile matched to one table: columns as the table spells them, None for absent columns."""

    profile: Profile
    place: Place | None = None
    values: tuple[Measured, ...] = ()  # the columns of values that the table has; a person chooses
    quantity: str | None = None
    owner: str | None = None
    time: str | None = None
    condition: str | None = None
    limit: str | None = None
    unit: str | None = None
    kind: tuple[str, str] | None = None  # the column, and a usual entry
    identifier: str | None = None
    place_sd: str | None = None

    @property
    def metres(self) -> str | None:
        """The uncertainty of all places in metres, if it is the same for all rows of an agency."""
        return next((entry for entry in self.profile.place_sd if entry.isdecimal()), None)

    def measured(self, column: str | None) -> Measured | None:
        """Return the description of a column of values; of the only column for None."""
        if column is None:
            return self.values[0] if len(self.values) == 1 else None
        return next((value for value in self.values if _same(value.column) == _same(column)), None)


@lru_cache(maxsize=1)
def profiles() -> dict[str, Profile]:
    """Return all profiles of the folder `data_loaders/profiles` by name; raise `DataError` with the
    name of an unreadable file."""
    folder = files("data_loaders") / "profiles"
    names = sorted(
        path.name.removesuffix(".toml") for path in folder.iterdir() if path.name.endswith(".toml")
    )
    return {name: profile_from(name, (folder / f"{name}.toml").read_text("utf-8")) for name in names}


def profile_from(name: str, text: str) -> Profile:
    """Read a profile from TOML; raise `DataError` if it is not TOML, lacks a title, or has an
    unknown key."""
    try:
        raw: dict[str, Any] = tomllib.loads(text)
        lists: dict[str, Any] = {
            "recognised_by": tuple(map(tuple, raw.pop("recognised_by", ()))),
            "places": tuple(Place(**item) for item in raw.pop("places", ())),
            "values": tuple(Measured(**item) for item in raw.pop("values", ())),
            "fields": {key: tuple(names) for key, names in raw.pop("fields", {}).items()},
        }
        remaining: dict[str, Any] = {
            key: tuple(item) if isinstance(item, list) else item for key, item in raw.items()
        }
        return Profile(name=name, **lists, **remaining)
    except (tomllib.TOMLDecodeError, TypeError, AttributeError) as error:
        raise DataError(f"The profile {name!r} cannot be read: {error}.") from error


def named_profile(name: str) -> Profile:
    """Return the profile of a name; raise `DataError` for an unknown name."""
    if name not in profiles():
        raise DataError(
            f"There is no profile {name!r}{closest(name, profiles()) or ':'} choose one of "
            f"{', '.join(item.name for item in profiles().values() if item.rows == 'readings')}, "
            "or none."
        )
    return profiles()[name]


def recognise(names: Sequence[str]) -> Recognised | None:
    """Find the profile with the most columns in a table; None if no profile fits, or two fit
    equally well. `names` are the columns, or the first row of a table without a header."""
    spellings = {_same(name) for name in names}
    fits: list[tuple[int, Profile]] = []
    for profile in profiles().values():
        if profile.first and len(names) == len(profile.order) and names[0].startswith(profile.first):
            return Recognised(profile)
        set_sizes = [
            len(columns)
            for columns in profile.recognised_by
            if all(_same(item) in spellings for item in columns)
        ]
        if set_sizes:
            fits.append((max(set_sizes), profile))
    fits.sort(key=lambda item: -item[0])
    if not fits or (len(fits) > 1 and fits[0][0] == fits[1][0]):
        return None
    return held_against(fits[0][1], names)


def held_against(profile: Profile, names: Sequence[str]) -> Recognised:
    """Match a profile to the columns of a table, ignoring capitals. A name that occurs twice is
    ambiguous and counts as absent."""
    spelled: dict[str, str | None] = {}
    for name in names:
        spelled[_same(name)] = None if _same(name) in spelled else name

    def first(candidates: Sequence[str]) -> str | None:
        for candidate in candidates:
            parts = [spelled.get(_same(part)) for part in candidate.split(TOGETHER)]
            if None not in parts:
                return TOGETHER.join(part for part in parts if part is not None)
        return None

    place = None
    for pair in profile.places:
        x, y = first([pair.x]), first([pair.y])
        if x is not None and y is not None:
            place = Place(x, y, pair.crs, first([pair.zone]) if pair.zone else None)
            break
    values = [(first([value.column]), value) for value in profile.values]
    kinds = [tuple(kind.split("=", 1)) for kind in profile.kind]
    return Recognised(
        profile,
        place,
        tuple(Measured(column, value.name, value.unit) for column, value in values if column is not None),
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
    """Return the possible names of each column of sales or postcodes."""
    return named_profile(name).fields or {}


def positions_of(name: str, header: Sequence[str]) -> dict[str, int]:
    """Return the positions of a profile's columns in a header of small letters; absent ones are
    left out."""
    positions = {
        field: next((header.index(spelling) for spelling in spellings if spelling in header), None)
        for field, spellings in field_names(name).items()
    }
    return {field: at for field, at in positions.items() if at is not None}


def _same(name: str) -> str:
    return name.strip().lower()
