"""Recognise the tables of agencies by their column names; a TOML file describes each agency."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from data_loaders.errors import DataError, closest

Kind: TypeAlias = Literal["table", "sales", "postcodes"]
TOGETHER = " + "
"""Stands between the columns that name an owner together: a state, a county and a site."""


@dataclass(frozen=True)
class Place:
    """Columns of longitude or easting and of latitude or northing; `crs` is None where it must be stated."""

    x: str
    y: str
    crs: str | None = None


@dataclass(frozen=True)
class Measured:
    """A column of measured values; its name in words and its unit, "" where the table alone knows them."""

    column: str
    name: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Profile:
    """What is known of one agency's tables. Of several names for one thing, the first that is there counts.

    Parameters
    ----------
    name, title, about : str
        How it is called on the command line, what it is called in words, and where such tables come from.
    kind : {"table", "sales", "postcodes"}
    recognised_by : tuple of tuple of str
        Sets of column names; a table that has all names of one of them is recognised.
    places, values : tuple of Place, of Measured
    quantity : tuple of str
        Columns that say which quantity a row measures, where a table mixes several.
    quantity_example : str
        An entry of such a column.
    owner : tuple of str
        Columns that name the station or device of a row; `TOGETHER` joins those that do so together only.
    time, condition, limit : tuple of str
        Columns of the time, of what is below or above a limit, and of the limits of detection.
    missing : tuple of str
        Numbers that the agency writes for a missing value beside the usual ones.
    note : str
        What else a person should know.
    first : str
        How the first entry of a table without a header begins.
    order : tuple of str
        What stands in which column of a table without a header.
    fields : mapping of str to tuple of str
        Names of the columns of sales and postcodes.
    """

    name: str
    title: str
    about: str
    kind: Kind = "table"
    recognised_by: tuple[tuple[str, ...], ...] = ()
    places: tuple[Place, ...] = ()
    values: tuple[Measured, ...] = ()
    quantity: tuple[str, ...] = ()
    quantity_example: str = ""
    owner: tuple[str, ...] = ()
    time: tuple[str, ...] = ()
    condition: tuple[str, ...] = ()
    limit: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    note: str = ""
    first: str = ""
    order: tuple[str, ...] = ()
    fields: Mapping[str, tuple[str, ...]] | None = None


@dataclass(frozen=True)
class Recognised:
    """A profile held against the columns of one table, which are spelled here as they are there.

    Parameters
    ----------
    profile : Profile
    place : Place or None
    values : tuple of Measured
        The columns of values that the table has; a person chooses among several.
    quantity, owner, time, condition, limit : str or None
        As in the profile, None where the table has no such column.
    """

    profile: Profile
    place: Place | None = None
    values: tuple[Measured, ...] = ()
    quantity: str | None = None
    owner: str | None = None
    time: str | None = None
    condition: str | None = None
    limit: str | None = None

    def measured(self, column: str | None) -> Measured | None:
        """What is known of a column of values; of the only one where None is asked for."""
        if column is None:
            return self.values[0] if len(self.values) == 1 else None
        return next((one for one in self.values if _same(one.column) == _same(column)), None)


@lru_cache(maxsize=1)
def profiles() -> dict[str, Profile]:
    """All profiles by name, as the folder `data_loaders/profiles` has them.

    Raises
    ------
    DataError
        For a file that is no profile, naming it.
    """
    folder = files("data_loaders") / "profiles"
    names = sorted(one.name.removesuffix(".toml") for one in folder.iterdir() if one.name.endswith(".toml"))
    return {name: profile_from(name, (folder / f"{name}.toml").read_text("utf-8")) for name in names}


def profile_from(name: str, text: str) -> Profile:
    """Read a profile from the text of its TOML file.

    Raises
    ------
    DataError
        Where it is not TOML, lacks a title, or has a key that no profile has.
    """
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
    """The profile of a name.

    Raises
    ------
    DataError
        Where there is none.
    """
    if name not in profiles():
        raise DataError(
            f"There is no profile {name!r}{closest(name, profiles()) or ':'} choose one of "
            f"{', '.join(one.name for one in profiles().values() if one.kind == 'table')}, or none."
        )
    return profiles()[name]


def recognise(names: Sequence[str]) -> Recognised | None:
    """Find the profile of a table.

    Parameters
    ----------
    names : sequence of str
        Its columns, or the first row of a table without a header.

    Returns
    -------
    Recognised or None
        That of which most columns are there; None where no profile fits, or two fit equally well.
    """
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
    """Say which columns of a table a profile means.

    Parameters
    ----------
    profile : Profile
    names : sequence of str
        The table's columns. Capitals do not count. A name that occurs twice is ambiguous, so it counts as
        absent.

    Returns
    -------
    Recognised
    """
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
            place = Place(x, y, one.crs)
            break
    values = [(first([one.column]), one) for one in profile.values]
    return Recognised(
        profile,
        place,
        tuple(Measured(column, one.name, one.unit) for column, one in values if column is not None),
        first(profile.quantity),
        first(profile.owner),
        first(profile.time),
        first(profile.condition),
        first(profile.limit),
    )


def field_names(name: str) -> Mapping[str, tuple[str, ...]]:
    """The names that columns of sales or postcodes have, by what they hold."""
    return named_profile(name).fields or {}


def _same(name: str) -> str:
    return name.strip().lower()
