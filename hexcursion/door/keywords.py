"""Keywords of `release`, `plan` and `compare` with their types, for editors and type checkers.

docs/settings.md describes them and their values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar

from pandas import DataFrame

from data_loaders.files.blocks import Delimiter
from data_loaders.files.codings import Encoding
from dpgp_core.atlas.design import Columns
from hexcursion.door.released import Released
from hexcursion.settings import StatedFacts
from hexcursion.settings.names import Values

T = TypeVar("T")
ByColumn: TypeAlias = T | Mapping[str, T]
"""A value for all columns, or a mapping by column if several are released together."""


class TableKeywords(TypedDict, total=False):
    """How the private table is read: the names of columns, and ambiguities of a file."""

    lon: str | None
    lat: str | None
    postcodes: str | None
    segment: str
    years: Sequence[int]
    x: str | None
    y: str | None
    place_column: str | None
    zone_column: str | None
    crs: str
    where: Mapping[str, str | Sequence[str]] | Sequence[Sequence[str]]
    identifier: str | None
    time: str | None
    layer: str | None
    header_row: int | None
    decimal: Literal[".", ","] | None
    missing: Sequence[str]
    censored: Literal["limit", "half", "drop"]
    detection_limit: float | None
    condition: str | None
    limit_column: str | None
    day_first: bool | None
    equal_rows: Literal["once", "each"] | None
    unit_column: str | None
    place_sd: str | float | None
    trip: str | None
    encoding: Encoding | None
    delimiter: Delimiter | None
    quoting: Literal["line", "lines"] | None
    sides: Sequence[str]
    behind: Sequence[str]
    loader: str | None


class Keywords(TableKeywords, total=False):
    """All choices of a release."""

    area: Any  # west, south, east and north in degrees, polygons, or a file of them
    reference: DataFrame | str | Path | Released | Mapping[str, Any] | None
    value_name: ByColumn[str]
    value_unit: ByColumn[str]
    values: ByColumn[Values]
    yes_above: ByColumn[float | None]
    population_file: str | None
    population_column: str
    record_word: str
    population: str
    period: str
    source: str
    owner: str | None
    records_per_owner: int | None
    owner_once_per_hexagon: bool
    reference_public: bool
    prior_mean: bool | None
    public_counts: bool | None
    limits: str | None
    change: bool
    covariates: Sequence[str]
    covariate_columns: Sequence[str]
    region: str | None
    features: Sequence[str]
    feature_column: str | None
    bbox: Sequence[float] | None
    crosses_date_line: bool | None
    land_only: bool
    resolution: int
    layers: Sequence[str]
    label_columns: Sequence[str]
    layer_colours: Sequence[str]
    layer_widths: Sequence[float]
    basemap: str | None
    unit: Literal["point", "cell"]
    epsilon: float
    delta: float | None
    periods: int | None
    period_number: int
    period_shares: Literal["equal", "front-loaded"]
    relation: Literal["replace-one", "add-or-remove"]
    records_about: int | None
    places_public: bool
    paths: int
    pilot: float | None
    pilot_by: Literal["sums", "choice"]
    looked: bool
    accept_large_delta: bool
    accept_weaker_promise: bool
    threshold: ByColumn[float]
    direction: ByColumn[Literal["above", "below"]]
    focus: Literal["threshold", "all"]
    cutoff: float | None
    looks: int
    accept_low_agreement: bool
    accept_dropped: bool
    transform: ByColumn[Literal["log", "identity"] | None]
    centre: ByColumn[float | None]
    clip: ByColumn[float | None]
    priors: Sequence[str] | None
    mechanisms: Sequence[str]
    bound: str | None
    objective: Literal["iou", "bce"]
    lengthscale: float | None
    ridge: float | None
    shared_design: str | None
    quick: bool
    budget: float | None
    ledger: str | None
    executor: Literal["serial", "processes", "dask"]
    dask: str | None
    title: str
    notes: Sequence[str]
    stated: StatedFacts | Mapping[str, Any]
    columns: Mapping[str, Mapping[str, Any]]
    gaps: bool
    reading: Columns
    weight: ByColumn[float]
    derived: Sequence[Sequence[str | float]]
