"""The files of a series: statement, maps, areas and page, written whole or not at all."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from geo import decimals_for
from geo.geojson import cells_collection, collection_bytes
from hexcursion.bundle import layout
from hexcursion.bundle.products import SHARE_DECIMALS
from hexcursion.bundle.series.gather import Series, classes_of
from hexcursion.bundle.series.page import REACH, series_html
from hexcursion.bundle.series.said import Promise, notes_of, question_of, steps_of
from hexcursion.bundle.untrusted import neutral_cell
from hexcursion.errors import WorkflowError
from hexcursion.new_place import made_whole, new_place
from hexcursion.version import NAME, VERSION

SCHEMA = "hexcursion-series-1"
PAGE, STATEMENT, CELLS, TABLE, AREAS = (
    "series.html", "series.json", "cells.geojson", "cells.parquet", "areas.csv",
)  # fmt: skip


def write_series(series: Series, promise: Promise, place: str | Path) -> Path:
    """Write the files of a series into a new folder. Return the folder. Raise `WorkflowError` if the path
    exists already, or cannot be written."""
    folder = new_place(place)
    contents = series_files(series, promise)
    try:
        with made_whole(folder) as made:
            made.mkdir()
            for name, content in contents.items():
                (made / name).write_bytes(content)
    except OSError as error:
        raise WorkflowError(f"{folder} cannot be written ({error.strerror}): name another place.") from error
    return folder


def series_files(series: Series, promise: Promise) -> dict[str, bytes]:
    """All files by name, with their checksums."""
    statement = series_statement(series, promise)
    facts = {
        "title": question_of(series), "periods": len(series.labels), "threshold": series.threshold,
        "threshold_unit": series.last.statement["subject"]["unit"], "direction": series.direction,
        "epsilon_in_every_period": promise.every_period, "delta": promise.delta,
    }  # fmt: skip
    shared = {name: neutral_cell(value) if isinstance(value, str) else value for name, value in facts.items()}
    cells = cells_collection(series.domain, _wide(series), shared, decimals_for(series.domain.resolution))
    made = {
        STATEMENT: (json.dumps(statement, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode(),
        CELLS: collection_bytes(cells), TABLE: _long(series), AREAS: _areas(series),
        PAGE: series_html(series, promise),
    }  # fmt: skip
    return {**made, layout.SUMS: layout.sums_text(made).encode()}


def series_statement(series: Series, promise: Promise) -> dict[str, Any]:
    """Everything a reader must know of a series, as plain JSON values."""
    prior, subject = series.reading.prior, series.last.statement["subject"]
    classes = classes_of(series.chance, series.empty)
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
        "periods": [
            {
                "label": label,
                "time": float(time),
                "release_id": bundle.statement["release"]["id"],
                "created": bundle.statement["release"]["created"],
                "title": bundle.statement["release"]["title"],
                "sha256sums": digest,
                "epsilon": bundle.statement["guarantee"]["epsilon"],
                "delta": bundle.statement["guarantee"]["delta"],
                "likely": int(np.sum(row == 0)),
                "open": int(np.sum(row == 1)),
                "likely_not": int(np.sum(row == 2)),
                "no_record_expected": int(np.sum(row == 3)),
            }
            for label, time, bundle, digest, row in zip(
                series.labels, series.times, series.bundles, series.digests, classes, strict=True
            )
        ],
        "times_are_dates": series.dated,
        "changes": [
            {
                "from": step.before,
                "to": step.after,
                "likely_risen": step.risen,
                "likely_fallen": step.fallen,
                "explained_by_noise": step.explained,
                "log_evidence_of_no_change": step.log_evidence,
                "in_words": step.sentence,
            }
            for step in steps_of(series)
        ],
        "reading": {
            "prior": prior.name,
            "range_metres": prior.lengthscale,
            "middle": prior.middle,
            "deviation": prior.deviation,
            "scatter": prior.scatter,
            "memory": prior.memory,
            "level": prior.level,
            "shift": prior.shift,
            "notes": list(notes_of(series)),
        },
        "promise": {
            "delta": promise.delta,
            "epsilon_of_one_record": promise.one_record,
            "epsilon_in_every_period": promise.every_period,
            "in_words": list(promise.sentences),
        },
        "attribution": list(
            dict.fromkeys(text for bundle in series.bundles for text in bundle.statement["attribution"])
        ),
    }


def _names(series: Series) -> tuple[str, str, str, str]:
    side = series.direction
    return (side, "open", f"not {side}", "no record expected")


CHANGES = ("risen", "open", "not risen", "no record expected")


def _wide(series: Series) -> dict[str, list[Any]]:
    """A column for each period and each change."""
    columns: dict[str, list[Any]] = {}
    named = _names(series)
    classes = classes_of(series.chance, series.empty)
    for label, kinds, chance in zip(series.labels, classes, series.chance, strict=True):
        columns[neutral_cell(f"class {label}")] = [named[kind] for kind in kinds.tolist()]
        columns[neutral_cell(f"probability {label}")] = np.round(chance, SHARE_DECIMALS).tolist()
    changed = classes_of(series.risen, series.unseen)
    for step in steps_of(series):
        span = f"{step.before} to {step.after}"
        columns[neutral_cell(f"change {span}")] = [CHANGES[kind] for kind in changed[step.row].tolist()]
        chances = np.round(series.risen[step.row], SHARE_DECIMALS).tolist()
        columns[neutral_cell(f"probability of rise {span}")] = chances
    return columns


def _long(series: Series) -> bytes:
    """Parquet: one row for each period and hexagon; the columns of change are null in the first period."""
    count, cells = len(series.labels), list(series.domain.cells)
    none = [None] * len(cells)
    named, read = _names(series), series.reading
    classes = classes_of(series.chance, series.empty)
    changed = classes_of(series.risen, series.unseen)[1:]
    value = "value_median" if series.logarithms else "value_mean"
    columns = {
        "h3": cells * count,
        "period": [label for label in series.labels for _ in cells],
        "class": [named[kind] for kind in classes.ravel().tolist()],
        "probability": np.round(series.chance, SHARE_DECIMALS).ravel().tolist(),
        value: series.values(read.mean).ravel().tolist(),
        "field_mean": read.mean.ravel().tolist(),
        "field_sd": read.deviation.ravel().tolist(),
        "expected_records": np.round(read.records, SHARE_DECIMALS).ravel().tolist(),
        "change": none + [CHANGES[kind] for kind in changed.ravel().tolist()],
        "probability_of_rise": none + np.round(series.risen[1:], SHARE_DECIMALS).ravel().tolist(),
        "probability_of_fall": none + np.round(series.fallen[1:], SHARE_DECIMALS).ravel().tolist(),
    }
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, compression="zstd", store_schema=False)
    return sink.getvalue()


def _areas(series: Series) -> bytes:
    """CSV: area, period, its mean value, and the ends of the interval that holds it with 90 %."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["area", "period", "value", "low", "high"])
    mean, spread = series.reading.areas, REACH * series.reading.area_deviation
    for place, name in enumerate(series.areas):
        for row, label in enumerate(series.labels):
            middle, reach = mean[row, place], spread[row, place]
            values = series.values(np.array([middle, middle - reach, middle + reach])).tolist()
            said = [f"{value:.6g}" for value in values]
            writer.writerow([neutral_cell(name), neutral_cell(label), *said])
    return text.getvalue().encode()
