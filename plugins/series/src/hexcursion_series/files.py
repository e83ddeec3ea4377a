"""The files of a series: statement, maps, areas and page, written whole or not at all."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from geo import decimals_for
from geo.geojson import cells_collection, collection_bytes
from hexcursion.bundle import layout
from hexcursion.bundle.products import (
    SHARE_DECIMALS,
)
from hexcursion.bundle.tables import parquet_bytes
from hexcursion.bundle.untrusted import csv_text, neutral_cell
from hexcursion.new_place import made_whole, new_place, write_files
from hexcursion.version import NAME, VERSION
from hexcursion_series.report import (
    Promise,
    Step,
    notes_of,
    question_of,
    steps_of,
)
from hexcursion_series.series_page import REACH, series_html
from hexcursion_series.together import Series, classes_of, credits_of

SCHEMA = "hexcursion-series-1"
PAGE, STATEMENT, CELLS, TABLE, AREAS = (
    "series.html",
    "series.json",
    "cells.geojson",
    "cells.parquet",
    "areas.csv",
)


def write_series(series: Series, promise: Promise, place: str | Path) -> Path:
    """Write the files of a series into a new folder and return the folder.

    Raise `WorkflowError` if the path exists already, or cannot be written.
    """
    return write_new(place, series_files(series, promise))


def write_new(place: str | Path, files: Mapping[str, bytes]) -> Path:
    """Write files into a new folder, all or none. Raise `WorkflowError` as `new_place`."""
    folder = new_place(place)
    with made_whole(folder) as work:
        write_files(work, files)
    return folder


def sealed(statement: Mapping[str, Any], files: Mapping[str, bytes], name: str) -> dict[str, bytes]:
    """The statement, as `name`, then the files, then the checksums of all."""
    text = json.dumps(statement, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    sealed_files = {name: text.encode(), **files}
    return {**sealed_files, layout.SUMS: layout.sums_text(sealed_files).encode()}


def series_files(series: Series, promise: Promise) -> dict[str, bytes]:
    """All files by name, with their checksums."""
    statement = series_statement(series, promise)
    facts = {
        "title": question_of(series),
        "periods": len(series.labels),
        "threshold": series.threshold,
        "threshold_unit": series.last.statement["subject"]["unit"],
        "direction": series.direction,
        "epsilon_in_every_period": _bounded(promise.every_period),
        "delta": promise.delta,
    }
    shared = {name: neutral_cell(value) if isinstance(value, str) else value for name, value in facts.items()}
    cells = cells_collection(series.domain, _wide(series), shared, decimals_for(series.domain.resolution))
    files = {
        CELLS: collection_bytes(cells),
        TABLE: _long(series),
        AREAS: _areas(series),
        PAGE: series_html(series, promise),
    }
    return sealed(statement, files, STATEMENT)


def _bounded(epsilon: float | None) -> float | None:
    """An epsilon for JSON: null without a finite bound, as the sentences explain."""
    return None if epsilon is None or math.isinf(epsilon) else epsilon


def series_statement(series: Series, promise: Promise) -> dict[str, Any]:
    """Everything that a reader must know of a series, as plain JSON values."""
    subject = series.last.statement["subject"]
    return {
        "schema": SCHEMA,
        "software": {"name": NAME, "version": VERSION},
        "question": question_of(series),
        "value": subject["value"],
        "unit": subject["unit"],
        "threshold": series.threshold,
        "direction": series.direction,
        "rise": series.by,
        "logarithms": series.logarithms,
        "periods": _period_blocks(series),
        "times_are_dates": series.dated,
        "changes": [_change_block(step) for step in steps_of(series)],
        "reading": _reading_block(series),
        "promise": {
            "delta": promise.delta,
            "epsilon_of_one_record": _bounded(promise.one_record),
            "epsilon_in_every_period": _bounded(promise.every_period),
            "in_words": list(promise.sentences),
        },
        "attribution": credits_of(series.bundles),
    }


def _period_blocks(series: Series) -> list[dict[str, Any]]:
    classes = classes_of(series.chance, series.empty)
    blocks = []
    for label, time, bundle, digest, row in zip(
        series.labels, series.times, series.bundles, series.digests, classes, strict=True
    ):
        release, guarantee = bundle.statement["release"], bundle.statement["guarantee"]
        likely, undecided, unlikely, empty = np.bincount(row, minlength=4).tolist()
        blocks.append(
            {
                "label": label,
                "time": float(time),
                "release_id": release["id"],
                "created": release["created"],
                "title": release["title"],
                "sha256sums": digest,
                "epsilon": guarantee["epsilon"],
                "delta": guarantee["delta"],
                "likely": likely,
                "open": undecided,
                "likely_not": unlikely,
                "no_record_expected": empty,
            }
        )
    return blocks


def _change_block(step: Step) -> dict[str, Any]:
    return {
        "from": step.before,
        "to": step.after,
        "likely_risen": step.risen,
        "likely_fallen": step.fallen,
        "explained_by_noise": step.explained,
        "log_evidence_of_no_change": step.log_evidence,
        "in_words": step.sentence,
    }


def _reading_block(series: Series) -> dict[str, Any]:
    prior = series.reading.prior
    return {
        "prior": prior.name,
        "range_metres": prior.lengthscale,
        "middle": prior.middle,
        "deviation": prior.deviation,
        "scatter": prior.scatter,
        "memory": prior.memory,
        "level": prior.level,
        "shift": prior.shift,
        "notes": list(notes_of(series)),
    }


def _names(series: Series) -> tuple[str, str, str, str]:
    side = series.direction
    return (side, "open", f"not {side}", "no record expected")


CHANGES = ("risen", "open", "not risen", "no record expected")


def _wide(series: Series) -> dict[str, list[Any]]:
    """A column for each period and each change."""
    columns: dict[str, list[Any]] = {}
    names = _names(series)
    classes = classes_of(series.chance, series.empty)
    for label, kinds, chance in zip(series.labels, classes, series.chance, strict=True):
        columns[neutral_cell(f"class {label}")] = [names[kind] for kind in kinds.tolist()]
        columns[neutral_cell(f"probability {label}")] = np.round(chance, SHARE_DECIMALS).tolist()
    changed = classes_of(series.risen, series.unseen)
    for step in steps_of(series):
        span = f"{step.before} to {step.after}"
        columns[neutral_cell(f"change {span}")] = [CHANGES[kind] for kind in changed[step.row].tolist()]
        chances = np.round(series.risen[step.row], SHARE_DECIMALS).tolist()
        columns[neutral_cell(f"probability of rise {span}")] = chances
    return columns


def _long(series: Series) -> bytes:
    """Parquet: one row for each period and hexagon; the columns of change are null in the first
    period."""
    count, cells = len(series.labels), list(series.domain.cells)
    empty = [None] * len(cells)
    names, read = _names(series), series.reading
    classes = classes_of(series.chance, series.empty)
    changed = classes_of(series.risen, series.unseen)[1:]
    value = "value_median" if series.logarithms else "value_mean"
    columns = {
        "h3": cells * count,
        "period": [label for label in series.labels for _ in cells],
        "class": [names[kind] for kind in classes.ravel().tolist()],
        "probability": np.round(series.chance, SHARE_DECIMALS).ravel().tolist(),
        value: series.values(read.mean).ravel().tolist(),
        "field_mean": read.mean.ravel().tolist(),
        "field_sd": read.deviation.ravel().tolist(),
        "expected_records": np.round(read.records, SHARE_DECIMALS).ravel().tolist(),
        "change": empty + [CHANGES[kind] for kind in changed.ravel().tolist()],
        "probability_of_rise": empty + np.round(series.risen[1:], SHARE_DECIMALS).ravel().tolist(),
        "probability_of_fall": empty + np.round(series.fallen[1:], SHARE_DECIMALS).ravel().tolist(),
    }
    return parquet_bytes(columns)


def _areas(series: Series) -> bytes:
    """CSV: area, period, its mean value, and the ends of its 90 % interval."""
    rows = [["area", "period", "value", "low", "high"]]
    mean, spread = series.reading.areas, REACH * series.reading.area_deviation
    for place, name in enumerate(series.areas):
        for row, label in enumerate(series.labels):
            middle, reach = mean[row, place], spread[row, place]
            values = series.values(np.array([middle, middle - reach, middle + reach])).tolist()
            rows.append([neutral_cell(name), neutral_cell(label), *(f"{value:.6g}" for value in values)])
    return csv_text(rows).encode()
