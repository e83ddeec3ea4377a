"""Loading an atlas: the columns of one table, joined row by row into records with several values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_loaders import DataError, LoadReport, Observations
from data_loaders.observations import COLUMNS
from data_loaders.repeats import clashes_dropped
from dpgp_core.errors import CoreError
from hexcursion.errors import Report, WorkflowError
from hexcursion.project.load import (
    Compared,
    choose_response,
    load_project,
    load_source,
    unit_as_read,
    with_reference,
)
from hexcursion.project.logarithms import refuse_without_logarithm, with_logarithm
from hexcursion.project.model import HeldTable, Loaded, Project, answers_of, refuse_long_words
from hexcursion.project.records import PlacedObservations, located
from hexcursion.project.simulated import stand_in
from hexcursion.settings.atlas import AtlasSettings
from hexcursion.settings.model import ReleaseSettings
from hexcursion.words import plural

Floats = NDArray[np.float64]

LEAST_NUMBERED = 20
"""Distinct consecutive whole numbers from which a column is taken for a numbering of its rows."""


@dataclass(frozen=True, eq=False, repr=False)
class AtlasProject:
    """All that planning and releasing an atlas need; values and cells never leave the curator."""

    settings: AtlasSettings
    # one for each column, of the same records: all but response, level and values are alike
    layers: tuple[Project, ...]
    cell: NDArray[np.int64]  # (n,) cell of each record: PRIVATE
    value: Floats  # (n, k) values in each column's own unit, NaN where one is missing: PRIVATE

    def restated(self, **changes: Any) -> AtlasProject:
        """The same with other words or answers in its settings; `title` is that of the whole."""
        title = changes.pop("title", self.settings.title)
        settings = replace(self.settings.with_changes(**changes), title=title)
        layers = zip(self.layers, settings.layers, strict=True)
        return replace(
            self,
            settings=settings,
            layers=tuple(replace(layer, settings=layer_settings) for layer, layer_settings in layers),
        )

    @property
    def first(self) -> Project:
        """The project of the first column, for what all columns share."""
        return self.layers[0]


def load_atlas(
    settings: AtlasSettings, progress: Report | None = None, tables: Mapping[str, HeldTable] | None = None
) -> AtlasProject:
    """Load the domain and all columns.

    Rows are joined by the source's identifier where it names them, else by their place in the file, so that
    one record has one vector of values. Raise as `load_project`, and `WorkflowError` for a column that cannot
    be released with the others.
    """
    _refuse_without_scale(settings)
    base = load_project(settings.first, progress, tables)
    parts, reports = [base.private.observations], [base.private.report]
    for layer in settings.layers[1:]:
        observations, report = _read(layer, tables or {})
        parts.append(observations)
        reports.append(report)
    records, value, again = _once_each(settings, *joined(parts))
    report = _report(settings, reports, parts, again)
    if settings.first.records_about is not None:
        records, value = _without_telling(settings, records, value)
    cell, sure = located(records, base.domain)
    inside = cell >= 0
    if not inside.any():
        raise WorkflowError("All records lie outside the domain: check the area and the coordinate system.")
    for name, layer, column in zip(settings.names, settings.layers, value.T, strict=True):
        _check_column(name, layer, column, inside)
    if not settings.choices.gaps:
        _refuse_gaps(settings, value[inside])
    likelihood = None if sure is None else float(sure[inside].mean())
    outside = int((~inside).sum())
    private = replace(base.private, report=report, observations=records)
    loaded_columns = []
    for layer, part, column in zip(settings.layers, parts, value[inside].T, strict=True):
        of_column = PlacedObservations(cell[inside], column, records.size, outside, None, likelihood)
        own_data = replace(private, placed=of_column)
        loaded_columns.append((layer, own_data, _compared(base, layer, part, own_data, tables or {})))
    warnings = tuple(
        f"{name}: {note}"
        for name, (_, _, compared) in zip(settings.names, loaded_columns, strict=True)
        for note in compared.private.report.notes
        if note not in report.notes
    )
    report = replace(report, notes=(*report.notes, *warnings))
    projects = tuple(
        _project_of(base, layer, replace(own_data, report=report), compared)
        for layer, own_data, compared in loaded_columns
    )
    return AtlasProject(settings, projects, cell[inside], value[inside])


def _refuse_without_scale(settings: AtlasSettings) -> None:
    for name, layer in zip(settings.names, settings.layers, strict=True):
        scaled = layer.centre is not None and layer.clip is not None
        if layer.reference is None and layer.values == "amount" and not scaled:
            raise WorkflowError(
                f"The column {name!r} lacks its public centre or clip bound: set `centre` and `clip` for it, "
                f"as in --centre {name}=10 --clip {name}=5, or name a published `reference`."
            )


def _once_each(
    settings: AtlasSettings, records: Observations, value: NDArray[np.float64]
) -> tuple[Observations, NDArray[np.float64], int]:
    """Return the records and values without equal rows, and the number of those left out."""
    if settings.equal_rows == "each":
        return records, value, 0
    first_rows = _first_of_equal(records, value)
    again = records.size - first_rows.size
    _refuse_to_guess(settings, again)
    return records.take(first_rows), value[first_rows], again


def _refuse_to_guess(settings: AtlasSettings, again: int) -> None:
    """Raise `WorkflowError` for equal rows of answers alone, which may be one record or several."""
    guessed = settings.equal_rows is None and len(settings.answers) == len(settings.layers)
    if guessed and again and all(layer.yes_above is None for layer in settings.layers):
        raise WorkflowError(
            f"{plural(again, 'row')} of these answers may repeat an earlier one or be another record: name "
            "the column of an identifier, or say with `equal_rows` (--equal-rows each, or once) whether each "
            "of them is a record."
        )


def _check_column(name: str, settings: ReleaseSettings, column: Floats, inside: NDArray[np.bool_]) -> None:
    """Convert answers in a column (n,), and raise `WorkflowError` for one that cannot be released; rows
    not `inside` (n,) the area do not count for what an amount must be."""
    refuse_numbering(name, column)
    _answer(name, settings, column)
    if settings.uses_log and settings.values == "amount":
        refuse_without_logarithm(column[inside], settings.data.measured_zeros, f"The column {name!r}")
    refuse_idle(name, column[inside])


def _answer(name: str, settings: ReleaseSettings, column: Floats) -> None:
    """Put 100 for yes and 0 for no into a column (n,) of answers. Raise `WorkflowError` for other values."""
    answers, present = answers_of(settings), ~np.isnan(column)
    if answers is None:
        return
    refuse_long_words(settings, answers)
    try:
        column[present] = answers.of(column[present])
    except CoreError as error:
        raise WorkflowError(f"The column {name!r}: {error}") from error


def _report(
    settings: AtlasSettings, reports: Sequence[LoadReport], parts: Sequence[Observations], again: int
) -> LoadReport:
    """What was read of the whole table: a row is left out where it is read of no column, or listed again."""
    first = reports[0]
    read = np.unique(np.concatenate([part.row for part in parts if part.row is not None])).size
    lost = first.rows_read - first.filtered - read
    dropped = (
        ("left out by filters", first.filtered),
        ("no place, or no value of any column", lost),
        ("equal to an earlier row in place, time and all values", again),
    )
    notes = tuple(
        f"{name}: {plural(lacking, 'row')} without a value."
        for name, part in zip(settings.names, parts, strict=True)
        if (lacking := read - part.size) > 0
    )
    rows_kept = first.rows_read - sum(count for _, count in dropped)
    notes_of_all = [note for note in first.notes if not _idle_of(settings, note)]
    for name, report in zip(settings.names[1:], reports[1:], strict=True):
        own_notes = [
            note for note in report.notes if note not in first.notes and not _idle_of(settings, note)
        ]
        of_values = [note for note in own_notes if repr(name) in note or note.startswith("Values ")]
        notes_of_all += [note if repr(name) in note else f"{name}: {note}" for note in of_values]
    return replace(first, kept=rows_kept, dropped=dropped, notes=(*notes_of_all, *notes))


def _idle_of(settings: AtlasSettings, note: str) -> bool:
    """Whether a note of one column says nothing of all: rows that are equal in it are counted in all columns,
    and none of these names an owner."""
    names_column = any(note.startswith(f"Column {name!r} has ") for name in settings.names)
    return names_column or note.endswith("is a record, as was said.")


def _without_telling(
    settings: AtlasSettings, records: Observations, value: Floats
) -> tuple[Observations, Floats]:
    """The records without values that would be refused: where the number of records is hidden, a
    refusal would tell of one. Values without a logarithm, and answers other than 1 and 0, count as
    missing, and records with gaps are left out unless values may be missing.
    """
    for column, layer in enumerate(settings.layers):
        if layer.values == "yes-no":
            if layer.yes_above is None:
                value[~np.isin(value[:, column], (0.0, 1.0)), column] = np.nan
        elif layer.uses_log:
            value[~with_logarithm(value[:, column], layer.data.measured_zeros), column] = np.nan
    missing = np.isnan(value)
    complete = ~(missing.all(axis=1) if settings.choices.gaps else missing.any(axis=1))
    if not complete.any():
        raise WorkflowError("No record has the values that are asked for: say that they may be missing.")
    return records.take(complete), value[complete]


def _read(settings: ReleaseSettings, tables: Mapping[str, HeldTable]) -> tuple[Observations, LoadReport]:
    """Read one more column of the same source; the error of a column that cannot be read names it."""
    try:
        with clashes_dropped(settings.records_about is not None):
            return load_source(
                settings.data, unit_as_read(settings), settings.owner, tables.get(settings.data.path)
            )
    except DataError as error:
        kinds = (
            "if it names kinds, give each kind that matters a column of 1 and 0, released as answers "
            "(--values COLUMN=yes-no), or "
            if "is not a number" in str(error)
            else ""
        )
        raise WorkflowError(
            f"The column {settings.data.value!r} cannot be read: {str(error).rstrip('.')}. Leave it out, "
            f"{kinds or 'or '}mend the table."
        ) from error


def _compared(
    base: Project,
    settings: ReleaseSettings,
    own_records: Observations,
    private: Loaded,
    tables: Mapping[str, HeldTable],
) -> Compared:
    """The reference of one column: its own in the published table, or as many simulated records as the atlas
    has. Raise `WorkflowError`, naming the column, where the reference holds its `own_records`."""
    if settings.reference is None:
        response = choose_response(settings, None)
        simulated = stand_in(settings, base.lattice, response, private)
        return Compared(private, response, None, simulated, "simulated")
    if settings == base.settings:
        return Compared(private, base.response, None, base.reference, base.reference_kind)
    alone = replace(private, observations=own_records)
    table = tables.get(settings.reference.path)
    try:
        return with_reference(settings, table, base.domain, base.lattice, alone)
    except (DataError, WorkflowError) as error:
        raise WorkflowError(f"The reference of the column {settings.data.value!r}: {error}") from error


def _project_of(base: Project, settings: ReleaseSettings, private: Loaded, compared: Compared) -> Project:
    """The project of one column with its reference."""
    return replace(
        base,
        settings=settings,
        response=compared.response,
        private=private,
        reference=compared.reference,
        reference_kind=compared.kind,
    )


def joined(parts: Sequence[Observations]) -> tuple[Observations, Floats]:
    """All rows of k columns, m of them, and their values (m, k), NaN where a column has none.

    The observations' own value is the first that a row has. Raise `WorkflowError` where rows are not
    numbered.
    """
    if any(part.row is None for part in parts):
        raise WorkflowError(
            "The rows of this source are not numbered, so its columns cannot be put together: give the "
            "records as one table."
        )
    keys = [_keys(part) for part in parts]
    distinct_keys, first, back = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
    value = np.full((distinct_keys.size, len(parts)), np.nan)
    start = 0
    for column, part in enumerate(parts):
        value[back[start : start + part.size], column] = part.value
        start += part.size
    columns_joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in COLUMNS
        if all(getattr(part, name) is not None for part in parts)
    }
    columns_joined |= {name: None for name in COLUMNS if name not in columns_joined} | {"owner_word": None}
    every = replace(parts[0], **columns_joined)
    assert every.row is not None
    order = np.argsort(every.row[first], kind="stable")
    records, value = every.take(first[order]), value[order]
    first_values = value[np.arange(len(value)), np.argmax(~np.isnan(value), axis=1)]
    return replace(records, value=first_values), value


def _keys(part: Observations) -> NDArray[np.bytes_]:
    """(m,) what tells the records of a column: their identifier, or else their row in the file."""
    assert part.row is not None
    rows = np.char.add(b"row ", part.row.astype("S20"))
    if part.identifier is None:
        return rows
    by_identifier = np.char.add(b"id ", part.identifier)
    return np.where(part.identifier != b"", by_identifier, rows)


def _first_of_equal(records: Observations, value: Floats) -> NDArray[np.int64]:
    """Positions of all rows but those without an identifier that equal an earlier one in all columns."""
    columns = [records.x, records.y, *value.T]
    if records.time is not None:
        columns.append(records.time.astype("i8").astype(np.float64))
    if records.place_sd is not None:
        columns.append(records.place_sd)
    table = np.column_stack(columns)
    table = np.where(np.isnan(table), -np.inf, table + 0.0)  # values are finite: nothing else is infinite
    has_identifier = (
        np.zeros(records.size, dtype=bool) if records.identifier is None else records.identifier != b""
    )
    _, first = np.unique(table[~has_identifier], axis=0, return_index=True)
    unnamed = np.flatnonzero(~has_identifier)[first]
    return np.sort(np.concatenate([np.flatnonzero(has_identifier), unnamed]))


def refuse_idle(name: str, value: Floats) -> None:
    """Raise `WorkflowError` for a column (n,) that has no value in the area, or one value only."""
    present = value[~np.isnan(value)]
    if present.size == 0:
        raise WorkflowError(f"The column {name!r} has no value in the area: leave it out.")
    if present.min() == present.max():
        raise WorkflowError(
            f"The column {name!r} has the same value in every row, so its map needs no release: leave it out."
        )


def refuse_numbering(name: str, value: Floats) -> None:
    """Raise `WorkflowError` for a column (m,) that numbers the rows, in the area and outside."""
    present = value[~np.isnan(value)]
    distinct = np.unique(present)
    are_whole = bool(np.all(distinct == np.rint(distinct)))
    if are_whole and LEAST_NUMBERED <= present.size == distinct.size == distinct[-1] - distinct[0] + 1:
        raise WorkflowError(
            f"The column {name!r} numbers the rows, so it is an identifier and no measurement: leave it out, "
            "or name it with `identifier`."
        )


def _refuse_gaps(settings: AtlasSettings, value: Floats) -> None:
    """Raise `WorkflowError` where columns have different numbers of values without `gaps`."""
    missing = np.isnan(value).sum(axis=0)
    if not missing.any():
        return
    worst = int(np.argmax(missing))
    raise WorkflowError(
        f"The columns have different numbers of values: {settings.names[worst]!r} lacks {missing[worst]:,} "
        f"of {plural(len(value), 'record')}. Say that values may be missing with `gaps` (--gaps), or leave "
        "that column out."
    )
