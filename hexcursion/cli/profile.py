"""Fills in the columns of a table as its agency names them, where no option of the command line
does."""

from __future__ import annotations

import os
import shlex
from typing import Any

from data_loaders import DataError, Recognised, named_profile, profile_of
from data_loaders.columns.specification import Written
from data_loaders.files.blocks import DELIMITERS
from data_loaders.files.codings import ENCODINGS
from hexcursion.errors import WorkflowError

NO_PROFILE = "none"
WITHOUT = "--profile none reads it without"


def fill_from_profile(values: dict[str, Any], wanted: str | None) -> str:
    """Fill settings (by key, what is there stays) in from the profile of the private table.

    Print the choices it made. `wanted` names a profile; "none" is none at all, None the one that
    the columns fit. Raise `WorkflowError` or `DataError` for a profile that does not exist or fit,
    and where a person must choose a value, a quantity or a coordinate system. All depends on the
    names of the columns alone.
    """
    data = values.get("data")
    if wanted == NO_PROFILE or not isinstance(data, dict) or not _is_table(data):
        return ""
    found = _profile(data, wanted)
    if found is None or found.profile.rows != "readings":
        return ""
    title = found.profile.title
    taken = [*_places(data, found), *_counted(values, data, found)]
    counted = values.get("values") == "count"
    taken += _columns(data, found, counted=counted)
    if data.get("value") is None and not counted:
        raise WorkflowError(_which_value(found))
    if not counted and (measured := found.measured(data["value"])) is not None:
        for key, known in (("value_name", measured.name), ("value_unit", measured.unit)):
            if known and not values.get(key):
                values[key] = known
                taken.append((f"--{key.replace('_', '-')}", known))
    taken += _one_quantity(values, data, found)
    options = " ".join(f"{flag} {shlex.quote(word)}" for flag, word in taken)
    sentences = [f"The table is read as {title} ({WITHOUT}){f': {options}' if options else ''}."]
    sentences += _offers(values, data, found)
    return " ".join((*sentences, found.profile.note)).strip()


def _offers(values: dict[str, Any], data: dict[str, Any], found: Recognised) -> list[str]:
    """Say which options the table has further columns for; take its owner where rows of one count."""
    sentences = []
    if found.owner is not None and "owner" not in values:
        if "records_per_owner" in values:
            values["owner"] = found.owner
            sentences.append(f"Its rows belong to {found.owner!r}, which is taken as --owner.")
        else:
            sentences.append(
                f"Each reading is protected on its own; --owner {shlex.quote(found.owner)} "
                "--records-per-owner 1 protects all that belong together."
            )
    if found.kind is not None and not any(_same(name, found.kind[0]) for name in _filters(data)):
        column, entry = found.kind
        sentences.append(
            f"Its column {column!r} says of which kind a row is: --where {shlex.quote(f'{column}={entry}')} "
            "keeps those of one."
        )
    if found.place_sd is not None and data.get("place_sd") is None:
        sentences.append(
            f"--place-sd {shlex.quote(found.place_sd)} takes how sure each place is, where that is a "
            "standard deviation in metres."
        )
    if found.limit is not None and data.get("limit_column") is None:
        sentences.append(
            f"--limit-column {shlex.quote(found.limit)} takes the limits of what was not detected, if they "
            "have the values' unit."
        )
    return sentences


def _is_table(data: dict[str, Any]) -> bool:
    path, loader = data.get("path"), data.get("loader")
    if loader not in (None, "sensor-table") or data.get("postcodes") is not None:
        return False
    # A pipe is read once only
    return isinstance(path, str) and "\0" not in path and os.path.isfile(path)


def _profile(data: dict[str, Any], wanted: str | None) -> Recognised | None:
    layer = data.get("layer")
    if wanted is not None:
        profile = named_profile(wanted)
        if profile.rows != "readings":
            raise WorkflowError(f"{profile.title} is no table of readings: leave --profile out.")
    try:
        found = profile_of(
            data["path"],
            layer=layer if isinstance(layer, str) else None,
            said=_written(data),
            named=wanted,
        )
    except DataError:
        if wanted is not None:
            raise
        # Whoever reads the file says the same of it, after the settings are found right
        return None
    if wanted is not None and (found is None or not (found.place or found.values)):
        raise WorkflowError(
            f"The table has no columns of the profile {wanted!r}: leave --profile out, or name its columns."
        )
    return found


def _written(data: dict[str, Any]) -> Written:
    """The options on how the table is written, unchecked: the settings check them later."""
    row = data.get("header_row")
    words = {
        name: word
        for name, known in (
            ("encoding", ENCODINGS),
            ("delimiter", DELIMITERS),
            ("quoting", ("line", "lines")),
        )
        if (word := data.get(name)) in known
    }
    return Written(row if isinstance(row, int) and row >= 1 else None, **words)


def _places(data: dict[str, Any], found: Recognised) -> list[tuple[str, str]]:
    """Put the columns of the places, and their system where they are the agency's; the same as
    options."""
    place, taken = found.place, list[tuple[str, str]]()
    if place is None:
        return taken
    if data.get("x") is None and data.get("y") is None:
        data |= {"x": place.x, "y": place.y}
        taken += [("--lon", place.x), ("--lat", place.y)]
    if place.zone is not None and data.get("zone_column") is None and _same(data.get("x"), place.x):
        data["zone_column"] = place.zone
        return [*taken, ("--zone-column", place.zone)]
    if "crs" in data or not (_same(data.get("x"), place.x) and _same(data.get("y"), place.y)):
        return taken
    if place.crs is None:
        raise WorkflowError(
            f"The table is read as {found.profile.title}, whose tables have {place.x!r} and {place.y!r} in "
            f"several systems: state theirs with --crs ({WITHOUT})."
        )
    data["crs"] = place.crs
    return [*taken, ("--crs", place.crs)]


def _counted(values: dict[str, Any], data: dict[str, Any], found: Recognised) -> list[tuple[str, str]]:
    """Count the rows of a table that has no values, unless a person names one; the options that say
    so."""
    word = found.profile.count
    if not word or data.get("value") is not None or values.get("values") not in (None, "count"):
        return []
    taken = []
    for key, known in (("values", "count"), ("record_word", word)):
        if not values.get(key):
            values[key] = known
            taken.append((f"--{key.replace('_', '-')}", known))
    return taken


def _columns(data: dict[str, Any], found: Recognised, *, counted: bool) -> list[tuple[str, str]]:
    """Put columns where none are named; the options that say the same."""
    taken: list[tuple[str, str]] = []
    only = None if counted else found.measured(None)
    for key, known in (
        ("value", None if only is None else only.column),
        ("time", found.time),
        ("condition", None if counted else found.condition),
        ("identifier", found.identifier),
        ("equal_rows", found.profile.equal_rows),
        ("place_sd", found.metres),
    ):
        if known is not None and data.get(key) is None:
            data[key] = known
            taken.append((f"--{key.replace('_', '-')}", known))
    of_agency = not counted and found.measured(data.get("value") or "") is not None
    if found.unit is not None and data.get("unit_column") is None and of_agency:
        data["unit_column"] = found.unit
        taken.append(("--unit-column", found.unit))
    if found.profile.missing and not data.get("missing") and not counted:
        data["missing"] = list(found.profile.missing)
        taken += [("--missing", number) for number in found.profile.missing]
    return taken


def _which_value(found: Recognised) -> str:
    title = found.profile.title
    listed = [
        f"{one.column}{f' ({one.name}, {one.unit})' if one.name and one.unit else ''}" for one in found.values
    ]
    if not listed:
        return f"The table is read as {title}: name its measured column with --value."
    return (
        f"The table is read as {title}, with several measured columns: name one with --value, of "
        f"{'; '.join(listed)}."
    )


def _one_quantity(values: dict[str, Any], data: dict[str, Any], found: Recognised) -> list[tuple[str, str]]:
    """Refuse a mixture of quantities, and let reference data keep the one that the private data
    keep."""
    column = found.quantity
    if column is None:
        return []
    kept = {name: entry for name, entry in _filters(data).items() if _same(name, column)}
    if not kept:
        example = shlex.quote(f"{column}={found.profile.quantity_example}")
        raise WorkflowError(
            f"The table is read as {found.profile.title}, whose column {column!r} says what each row "
            f"measures: keep one quantity with --where, such as {example} ({WITHOUT})."
        )
    if any(isinstance(entry, list) and len(entry) > 1 for entry in kept.values()):
        raise WorkflowError(
            f"The column {column!r} says what each row measures: keep one entry of it, not several."
        )
    reference = values.get("reference")
    if not isinstance(reference, dict) or any(_same(name, column) for name in _filters(reference)):
        return []
    reference["where"] = {**_filters(reference), **kept}
    return [("--reference-where", f"{name}={entry}") for name, entry in filter_pairs(kept)]


def _filters(source: dict[str, Any]) -> dict[str, Any]:
    where = source.get("where")
    return where if isinstance(where, dict) else {}


def filter_pairs(where: dict[str, Any]) -> list[tuple[str, Any]]:
    """Row filters as pairs, one for each entry of a column."""
    listed = ((name, entry if isinstance(entry, list) else [entry]) for name, entry in where.items())
    return [(name, entry) for name, entries in listed for entry in entries]


def _same(one: object, other: str) -> bool:
    return isinstance(one, str) and one.strip().lower() == other.lower()
