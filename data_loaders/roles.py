"""The columns of a table by their role: named by a person, or found by their names and entries.

A column that one row alone brings must not decide which columns are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from data_loaders.columns.coordinates import hemisphere_column, names_hemisphere
from data_loaders.columns.qualifiers import NO_UNIT, ValueColumn, units_beside
from data_loaders.columns.sensortable import Shape
from data_loaders.errors import DataError
from data_loaders.files.layers import POINT_X, POINT_Y
from data_loaders.files.sources import Table
from data_loaders.observations import OwnerWord
from data_loaders.wanted import Wanted

ONE_EACH = "\0one each"  # the column of values where rows are counted; every value is 1


@dataclass(frozen=True)
class Columns:
    """The role of each column; None for a role without a column."""

    value: str
    x: str
    y: str
    identifier: str | None
    time: str | None
    owner: str | None
    owner_word: OwnerWord | None
    place_sd: str | None
    conditions: Mapping[str, tuple[str, ...]]
    degrees: bool = False
    unit: str = ""  # of the values, as stated
    place: str | None = None  # column of whole places
    zone: str | None = None

    @property
    def numeric(self) -> tuple[str, ...]:
        return self.value, self.x, self.y, *(() if self.place_sd is None else (self.place_sd,))

    @property
    def named(self) -> tuple[str, ...]:
        """Columns kept as text, except those of the owner."""
        return tuple(name for name in (self.identifier, self.time) if name is not None)


def positions_of(table: Table, shape: Shape, roles: Columns, request: Wanted) -> dict[str, int]:
    """Return the positions of the columns that are read, by role: "n:" numbers, "w:" words, "o:"
    parts of the owner, "p:place", "h:" hemisphere letters, "u:value" and "u:limit" units. Raise
    `DataError` if a column is missing, or if a single row decides which one is read."""
    positions = _found(table.name, shape, roles, request)
    _check_merged(table, shape, positions)
    if shape.lonely:
        others = shape.without(shape.lonely)
        try:
            again = _named(others, _found(table.name, others, roles, request))
        except DataError:  # the file without that row is refused
            return positions
        if again != _named(shape, positions):
            raise DataError(
                f"{table.name} has properties in one row alone, {', '.join(map(repr, shape.lonely[:3]))}, "
                "and they change which columns of the others are read: take them out of that row, or name "
                "the columns as they are written (--value, --unit-column, --sides)."
            )
    return positions


def _check_merged(table: Table, shape: Shape, positions: Mapping[str, int]) -> None:
    """Raise `DataError` if a column that is read has cells merged over several rows, so that one row
    would hold the entry of others, unless the rows belong to one owner by merged cells too."""
    owners = [at for role, at in positions.items() if role.startswith("o:")]
    for first, last, at in table.merged:
        if first < shape.header.number or at not in positions.values():
            continue
        of_one_owner = all(
            any(owner == of and begin <= first and last <= end for begin, end, of in table.merged)
            for owner in owners
        )
        if not owners or not of_one_owner:
            raise DataError(
                f"{table.name} has cells merged over several rows in {shape.names[at]!r}, so that one row "
                "would hold the entry of others: write it in each row; where such rows belong to one sensor "
                "or person, merge the cells that name it as well, and name their column with `owner` "
                "(--owner)."
            )


def _named(shape: Shape, positions: Mapping[str, int]) -> dict[str, str]:
    """Return the names of the columns by role."""
    names = {role: shape.names[at] for role, at in positions.items() if not role.startswith("o:")}
    return names | {"o:": "\0".join(shape.names[at] for role, at in positions.items() if role[0] == "o")}


def _found(where: str, shape: Shape, roles: Columns, request: Wanted) -> dict[str, int]:
    positions = {
        f"n:{column}": shape.position(column, where)
        for column in dict.fromkeys(roles.numeric)
        if column != ONE_EACH and not (roles.place and column in (POINT_X, POINT_Y))
    }
    limits = (column for column in (request.condition, request.limit_column) if column)
    text_columns = (*roles.conditions, *roles.named, *limits)
    positions |= {f"w:{column}": shape.position(column, where) for column in text_columns}
    parts = () if roles.owner is None else shape.owner_parts(roles.owner, where)
    positions |= {f"o:{at}": at for at in parts}
    placed = roles.place if roles.place is not None else roles.zone
    if placed is not None:
        positions["p:place"] = shape.position(placed, where)
    if roles.degrees:
        sides = _hemispheres(where, shape, roles, positions, request)
        positions |= {f"h:{column}": position for column, position in sides.items()}
    if roles.value != ONE_EACH and request.unit_column != NO_UNIT:
        name = request.unit_column
        value = ValueColumn(roles.value, roles.unit, request.limit_column)
        stated = None if name is None else shape.position(name, where)
        of_value, of_limit = units_beside(where, shape, value, positions.values(), stated)
        units = {"u:value": of_value, "u:limit": of_limit}
        positions |= {role: at for role, at in units.items() if at is not None}
    return positions


def _hemispheres(
    where: str, shape: Shape, roles: Columns, positions: Mapping[str, int], request: Wanted
) -> dict[str, int]:
    """Return the position of the column of hemisphere letters for each coordinate that has one."""
    used = [at for key, at in positions.items() if key.startswith("n:")]
    coordinates = ((roles.x, False), (roles.y, True))
    if request.sides == ("none",):
        return {}
    if request.sides:
        at = [shape.position(column, where) for column in request.sides]
        by_coordinate = {
            column: [index for index in at if names_hemisphere(shape.names[index], of_latitude=of_latitude)]
            for column, of_latitude in coordinates
        }
        if len(at) == 2:  # in the order of the coordinates
            return {roles.x: at[0], roles.y: at[1]}
        firsts = {column: indices[0] for column, indices in by_coordinate.items() if indices}
        return firsts or {roles.x: at[0]}
    letter_columns = {
        column: hemisphere_column(where, shape, used, of_latitude=of_latitude)
        for column, of_latitude in coordinates
    }
    return {column: at for column, at in letter_columns.items() if at is not None}
