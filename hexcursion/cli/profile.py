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


def fill_from_profile(values: dict[str, Any], name: str | None) -> str:
    """Fill settings (by key, what is there stays) in from the profile of the private table.

    Print the choices it made. `name` names a profile; "none" is none at all, None the one that
    the columns fit. Raise `WorkflowError` or `DataError` for a profile that does not exist or fit,
    and where a person must choose a value, a quantity or a coordinate system. All depends on the
    names of the columns alone.
    """
    data = values.get("data")
    if name == NO_PROFILE or not isinstance(data, dict) or not _is_table(data):
        return ""
    agency = _profile(data, name)
    if agency is None or agency.profile.rows != "readings":
        return ""
    title = agency.profile.title
    options_taken = [*_places(data, agency), *_counted(values, data, agency)]
    is_count = values.get("values") == "count"
    options_taken += _columns(data, agency, is_count=is_count)
    if data.get("value") is None and not is_count:
        raise WorkflowError(_which_value(agency))
    if not is_count and (value := agency.measured(data["value"])) is not None:
        for key, word in (("value_name", value.name), ("value_unit", value.unit)):
            if word and not values.get(key):
                values[key] = word
                options_taken.append((f"--{key.replace('_', '-')}", word))
    options_taken += _one_quantity(values, data, agency)
    options = " ".join(f"{flag} {shlex.quote(word)}" for flag, word in options_taken)
    sentences = [f"The table is read as {title} ({WITHOUT}){f': {options}' if options else ''}."]
    sentences += _offers(values, data, agency)
    return " ".join((*sentences, agency.profile.note)).strip()


def _offers(values: dict[str, Any], data: dict[str, Any], agency: Recognised) -> list[str]:
    """Say which options the table has further columns for; take its owner where rows of one count."""
    sentences = []
    if agency.owner is not None and "owner" not in values:
        if "records_per_owner" in values:
            values["owner"] = agency.owner
            sentences.append(f"Its rows belong to {agency.owner!r}, which is taken as --owner.")
        else:
            sentences.append(
                f"Each reading is protected on its own; --owner {shlex.quote(agency.owner)} "
                "--records-per-owner 1 protects all that belong together."
            )
    if agency.kind is not None and not any(_same(name, agency.kind[0]) for name in _filters(data)):
        column, entry = agency.kind
        sentences.append(
            f"Its column {column!r} says of which kind a row is: --where {shlex.quote(f'{column}={entry}')} "
            "keeps those of one."
        )
    if agency.place_sd is not None and data.get("place_sd") is None:
        sentences.append(
            f"--place-sd {shlex.quote(agency.place_sd)} takes how sure each place is, where that is a "
            "standard deviation in metres."
        )
    if agency.limit is not None and data.get("limit_column") is None:
        sentences.append(
            f"--limit-column {shlex.quote(agency.limit)} takes the limits of what was not detected, if they "
            "have the values' unit."
        )
    return sentences


def _is_table(data: dict[str, Any]) -> bool:
    path, loader = data.get("path"), data.get("loader")
    if loader not in (None, "sensor-table") or data.get("postcodes") is not None:
        return False
    # A pipe is read once only
    return isinstance(path, str) and "\0" not in path and os.path.isfile(path)


def _profile(data: dict[str, Any], name: str | None) -> Recognised | None:
    layer = data.get("layer")
    if name is not None:
        profile = named_profile(name)
        if profile.rows != "readings":
            raise WorkflowError(f"{profile.title} is no table of readings: leave --profile out.")
    try:
        agency = profile_of(
            data["path"],
            layer=layer if isinstance(layer, str) else None,
            said=_written(data),
            named=name,
        )
    except DataError:
        if name is not None:
            raise
        # Whoever reads the file says the same of it, after the settings are found right
        return None
    if name is not None and (agency is None or not (agency.place or agency.values)):
        raise WorkflowError(
            f"The table has no columns of the profile {name!r}: leave --profile out, or name its columns."
        )
    return agency


def _written(data: dict[str, Any]) -> Written:
    """The options on how the table is written, unchecked: the settings check them later."""
    row = data.get("header_row")
    words = {
        name: word
        for name, possible in (
            ("encoding", ENCODINGS),
            ("delimiter", DELIMITERS),
            ("quoting", ("line", "lines")),
        )
        if (word := data.get(name)) in possible
    }
    return Written(row if isinstance(row, int) and row >= 1 else None, **words)


def _places(data: dict[str, Any], agency: Recognised) -> list[tuple[str, str]]:
    """Put the columns of the places, and their system where they are the agency's; the same as
    options."""
    place, options_taken = agency.place, list[tuple[str, str]]()
    if place is None:
        return options_taken
    if data.get("x") is None and data.get("y") is None:
        data |= {"x": place.x, "y": place.y}
        options_taken += [("--lon", place.x), ("--lat", place.y)]
    if place.zone is not None and data.get("zone_column") is None and _same(data.get("x"), place.x):
        data["zone_column"] = place.zone
        return [*options_taken, ("--zone-column", place.zone)]
    if "crs" in data or not (_same(data.get("x"), place.x) and _same(data.get("y"), place.y)):
        return options_taken
    if place.crs is None:
        raise WorkflowError(
            f"The table is read as {agency.profile.title}, whose tables have {place.x!r} and {place.y!r} in "
            f"several systems: state theirs with --crs ({WITHOUT})."
        )
    data["crs"] = place.crs
    return [*options_taken, ("--crs", place.crs)]


def _counted(values: dict[str, Any], data: dict[str, Any], agency: Recognised) -> list[tuple[str, str]]:
    """Count the rows of a table that has no values, unless a person names one; the options that say
    so."""
    word = agency.profile.count
    if not word or data.get("value") is not None or values.get("values") not in (None, "count"):
        return []
    options_taken = []
    for key, entry in (("values", "count"), ("record_word", word)):
        if not values.get(key):
            values[key] = entry
            options_taken.append((f"--{key.replace('_', '-')}", entry))
    return options_taken


def _columns(data: dict[str, Any], agency: Recognised, *, is_count: bool) -> list[tuple[str, str]]:
    """Put columns where none are named; the options that say the same."""
    options_taken: list[tuple[str, str]] = []
    only = None if is_count else agency.measured(None)
    for key, column in (
        ("value", None if only is None else only.column),
        ("time", agency.time),
        ("condition", None if is_count else agency.condition),
        ("identifier", agency.identifier),
        ("equal_rows", agency.profile.equal_rows),
        ("place_sd", agency.metres),
    ):
        if column is not None and data.get(key) is None:
            data[key] = column
            options_taken.append((f"--{key.replace('_', '-')}", column))
    of_agency = not is_count and agency.measured(data.get("value") or "") is not None
    if agency.unit is not None and data.get("unit_column") is None and of_agency:
        data["unit_column"] = agency.unit
        options_taken.append(("--unit-column", agency.unit))
    if agency.profile.missing and not data.get("missing") and not is_count:
        data["missing"] = list(agency.profile.missing)
        options_taken += [("--missing", number) for number in agency.profile.missing]
    return options_taken


def _which_value(agency: Recognised) -> str:
    title = agency.profile.title
    listed = [
        f"{value.column}{f' ({value.name}, {value.unit})' if value.name and value.unit else ''}"
        for value in agency.values
    ]
    if not listed:
        return f"The table is read as {title}: name its measured column with --value."
    return (
        f"The table is read as {title}, with several measured columns: name one with --value, of "
        f"{'; '.join(listed)}."
    )


def _one_quantity(values: dict[str, Any], data: dict[str, Any], agency: Recognised) -> list[tuple[str, str]]:
    """Refuse a mixture of quantities, and let reference data keep the one that the private data
    keep."""
    column = agency.quantity
    if column is None:
        return []
    quantity_filters = {name: entry for name, entry in _filters(data).items() if _same(name, column)}
    if not quantity_filters:
        example = shlex.quote(f"{column}={agency.profile.quantity_example}")
        raise WorkflowError(
            f"The table is read as {agency.profile.title}, whose column {column!r} says what each row "
            f"measures: keep one quantity with --where, such as {example} ({WITHOUT})."
        )
    if any(isinstance(entry, list) and len(entry) > 1 for entry in quantity_filters.values()):
        raise WorkflowError(
            f"The column {column!r} says what each row measures: keep one entry of it, not several."
        )
    reference = values.get("reference")
    if not isinstance(reference, dict) or any(_same(name, column) for name in _filters(reference)):
        return []
    reference["where"] = {**_filters(reference), **quantity_filters}
    return [("--reference-where", f"{name}={entry}") for name, entry in filter_pairs(quantity_filters)]


def _filters(source: dict[str, Any]) -> dict[str, Any]:
    where = source.get("where")
    return where if isinstance(where, dict) else {}


def filter_pairs(where: dict[str, Any]) -> list[tuple[str, Any]]:
    """Row filters as pairs, one for each entry of a column."""
    listed = ((name, entry if isinstance(entry, list) else [entry]) for name, entry in where.items())
    return [(name, entry) for name, entries in listed for entry in entries]


def _same(name: object, other: str) -> bool:
    return isinstance(name, str) and name.strip().lower() == other.lower()
