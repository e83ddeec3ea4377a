"""Converts tables and areas in memory to the settings of a release."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import geopandas
import numpy as np
import pandas
from pandas.api.types import is_numeric_dtype

from data_loaders.columns.qualifiers import NO_UNIT, telling
from data_loaders.errors import closest
from data_loaders.wanted import is_metres
from hexcursion.errors import WorkflowError
from hexcursion.project.model import HeldTable
from hexcursion.settings import SourceSettings
from hexcursion.settings.field import fields_of

PRIVATE, REFERENCE = "a table in memory", "a reference table in memory"
POINT_X, POINT_Y = "longitude or easting of the point", "latitude or northing of the point"
COLUMNS = (
    "value",
    "x",
    "y",
    "place_column",
    "zone_column",
    "identifier",
    "time",
    "condition",
    "limit_column",
    "unit_column",
    "place_sd",
)
"""The settings that name a column of a table, apart from the owner and row filters."""


def as_source(
    data: Any,
    name: str,
    source_settings: Mapping[str, Any],
    owner: str | None = None,
    *,
    counted: bool = False,
) -> tuple[dict[str, Any], dict[str, HeldTable]]:
    """Return a source's key-value pairs, and its rows, under `name`, for a table in memory.

    `data` is a table or the name of a file; `source_settings` has the names of `SourceSettings`;
    `counted` rows need no measured column. Raise `WorkflowError` for other data, a missing column,
    and points without a coordinate system.
    """
    settings = {key: value for key, value in source_settings.items() if value is not None}
    if isinstance(data, str | Path):
        return {**settings, "path": str(data)}, {}
    _check_frame(data, name)
    for key in ("path", "layer", "header_row", "encoding", "delimiter", "quoting"):
        if key in settings:
            raise WorkflowError(f"`{key}` is for files alone: leave it out for a table in memory.")
    table = data
    if has_points(data) and "x" not in settings and "y" not in settings:
        table, settings = _with_points(data, settings)
    if "value" not in settings and not counted:
        raise WorkflowError(
            "Name the measured column of the table with `value`, or count its rows with values='count'."
        )
    labels = [str(label) for label in table.columns]
    if isinstance(settings.get("place_sd"), int | float):
        settings["place_sd"] = f"{settings['place_sd']:.6f}".rstrip("0").rstrip(".")
    filters, owners = _filtered(settings.get("where", ())), [] if owner is None else _owners(owner, labels)
    values = list(settings["value"]) if isinstance(settings.get("value"), list | tuple) else []
    measured = values or [settings["value"]] if "value" in settings else []
    single = (settings[key] for key in COLUMNS if key != "value" and _names_column(key, settings))
    names = [*measured, *single, *filters, *owners]
    if unnamed := [column for column in names if not isinstance(column, str)]:
        raise WorkflowError(f"Columns are named by texts, not {unnamed[0]!r}: rename that column.")
    columns = list(dict.fromkeys(names))
    _check_labels(columns, labels)
    further = [labels[at] for at in telling(labels) if labels.count(labels[at]) == 1]
    columns = list(dict.fromkeys((*columns, *further)))
    selection = table.iloc[:, [labels.index(column) for column in columns]].set_axis(columns, axis=1)
    if all(is_numeric_dtype(selection[column].dtype) for column in measured):
        settings.setdefault("decimal", ".")
    digest = hashlib.sha256(table.to_csv(index=False).encode()).hexdigest()
    memory_table = HeldTable(selection.to_csv(index=False).encode(), digest)
    text_format = {"header_row": 1, "encoding": "utf-8", "delimiter": ",", "quoting": "lines"}
    return {**settings, "path": name, **text_format}, {name: memory_table}


def _check_frame(data: Any, name: str) -> None:
    """Raise `WorkflowError` unless the data are a table of pandas with rows."""
    if not isinstance(data, pandas.DataFrame):
        advice = (
            "call its to_pandas()" if hasattr(data, "to_pandas") else "make one with pandas.DataFrame(...)"
        )
        raise WorkflowError(
            f"Give {name.removesuffix(' in memory')} of pandas or GeoPandas, or the name of a file, not "
            f"{type(data).__name__}: {advice}."
        )
    if not len(data):
        raise WorkflowError("The table holds no rows: give one with a row for each record.")


def _check_labels(columns: Sequence[str], labels: Sequence[str]) -> None:
    """Raise `WorkflowError` unless each column is the label of one column of the table."""
    for column in columns:
        if labels.count(column) != 1:
            many = "several columns" if column in labels else "no column"
            # Quote only a near miss: labels of a table that was read without a header are private.
            near = closest(column, labels) if column not in labels else ""
            end = near or ": name one of its columns."
            raise WorkflowError(f"The table has {many} named {column!r}{end}")


def _names_column(key: str, settings: Mapping[str, Any]) -> bool:
    """Whether a setting names a column, and is not a word or a number of metres."""
    value = settings.get(key, NO_UNIT)
    return value != NO_UNIT and not (key == "place_sd" and isinstance(value, str) and is_metres(value))


def _with_points(
    data: geopandas.GeoDataFrame, settings: dict[str, Any]
) -> tuple[pandas.DataFrame, dict[str, Any]]:
    """Return the table with its points in two columns, and its settings."""
    points = data.geometry
    kinds = set(points.dropna().geom_type)
    if kinds - {"Point"}:
        raise WorkflowError(
            f"The table holds {' and '.join(sorted(kinds))}: records need points. An earlier release is "
            "given as what `release` or `open_bundle` returned, not as its map."
        )
    code = None if data.crs is None else data.crs.to_epsg()
    if "crs" in settings:
        if code is not None and str(settings["crs"]).upper() not in (f"EPSG:{code}", str(code)):
            raise WorkflowError(f"The points are in EPSG:{code}: leave `crs` out, or convert them.")
    elif code is None:
        raise WorkflowError("The table states no EPSG code for its points: name one with `crs`.")
    missing = points.is_empty | points.isna()
    x, y = (np.where(missing, np.nan, part) for part in (points.x, points.y))
    plain = pandas.DataFrame(data.drop(columns=points.name)).assign(**{POINT_X: x, POINT_Y: y})
    return plain, {**settings, "crs": settings.get("crs", f"EPSG:{code}"), "x": POINT_X, "y": POINT_Y}


def has_points(data: Any) -> bool:
    """Whether a table is a GeoDataFrame with an active geometry."""
    return isinstance(data, geopandas.GeoDataFrame) and data.active_geometry_name is not None


def _filtered(where: Any) -> list[Any]:
    """Return the columns that row filters name."""
    pairs = list(where.items()) if isinstance(where, Mapping) else where
    try:
        if not isinstance(pairs, str):
            return [column for column, _ in pairs]
    except (TypeError, ValueError):
        pass
    raise WorkflowError("Write row filters as {column: entry}, such as where={'species': 'no2'}.")


def _owners(owner: Any, labels: Sequence[str]) -> list[Any]:
    """Return the columns that identify the owner of a row: one, or several joined by a plus
    sign."""
    if not isinstance(owner, str) or owner in labels:
        return [owner]
    parts = [part.strip() for part in owner.split("+")]
    return [owner] if "" in parts else parts


@contextmanager
def as_area(area: Any) -> Iterator[dict[str, Any]]:
    """Yield an area's `bbox` or `region`.

    Polygons are written to a temporary file, since an area is public. An area is west, south, east
    and north in degrees, a file, polygons (of a table in its coordinate system, others in degrees),
    or None if other settings state it. Raise `WorkflowError` for anything else.
    """
    if area is None:
        yield {}
        return
    if isinstance(area, str | Path):
        yield {"region": str(area)}
        return
    if isinstance(area, geopandas.GeoDataFrame | geopandas.GeoSeries):
        if area.crs is None:
            raise WorkflowError("The area's table states no coordinate system: set its `crs`.")
        area = area.geometry.to_crs("EPSG:4326").union_all()
    shape = area if isinstance(area, Mapping) else getattr(area, "__geo_interface__", None)
    if shape is None:
        try:
            box = [float(edge) for edge in area]
        except (TypeError, ValueError):
            raise WorkflowError(
                "Give the area as west, south, east and north in degrees, as polygons, or as a file of them."
            ) from None
        yield {"bbox": box}
        return
    with TemporaryDirectory() as folder:
        place = Path(folder) / "area.geojson"
        if shape.get("type") not in ("Feature", "FeatureCollection"):
            shape = {"type": "Feature", "properties": {}, "geometry": shape}
        place.write_text(json.dumps(shape), encoding="utf-8")
        yield {"region": str(place)}


def split_settings(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split settings into those of the source and all others."""
    ours = set(fields_of(SourceSettings))
    return (
        {name: value for name, value in settings.items() if name in ours},
        {name: value for name, value in settings.items() if name not in ours},
    )
