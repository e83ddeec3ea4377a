"""Options of the `release` command and how they become settings."""

from __future__ import annotations

import argparse
from typing import Any

from workflow.errors import WorkflowError
from workflow.settings import ReleaseSettings, read_settings_mapping, settings_from_mapping

SOURCE_OPTIONS = ("postcodes", "segment", "value", "lat", "lon", "crs")


def add_release_options(parser: argparse.ArgumentParser) -> None:
    """Every option with its unit; names follow the settings file."""
    add = parser.add_argument
    add("--config", metavar="FILE.toml", help="settings file; options given here override it")
    data = parser.add_argument_group("private data")
    data.add_argument("--data", metavar="FILE", help="Price Paid file (.csv, .csv.gz) or sensor table (.csv)")
    data.add_argument(
        "--postcodes", metavar="FILE", help="postcode lookup for Price Paid rows (NSPL, ONSPD, Code-Point)"
    )
    data.add_argument("--segment", help="which sales: 'all' or 'existing-leasehold-flats' (default: all)")
    data.add_argument("--years", type=int, nargs="+", metavar="YEAR", help="years of transfer to keep")
    data.add_argument("--value", metavar="COLUMN", help="measured column of a sensor table")
    data.add_argument("--lat", metavar="COLUMN", help="latitude (or northing) column of a sensor table")
    data.add_argument("--lon", metavar="COLUMN", help="longitude (or easting) column of a sensor table")
    data.add_argument(
        "--crs", metavar="EPSG:n", help="coordinate reference system of the columns (default EPSG:4326)"
    )
    data.add_argument("--where", nargs="+", metavar="COLUMN=VALUE", help="keep sensor rows with this value")
    data.add_argument("--value-name", help="what is measured, for example 'price' or 'NO2'")
    data.add_argument("--value-unit", help="its unit, for example 'GBP' or 'ug/m3'")
    ref = parser.add_argument_group("reference data (public or set aside; the design is tuned on them)")
    ref.add_argument("--reference", metavar="FILE", help="last year's file, in the same form as --data")
    ref.add_argument(
        "--reference-public", action="store_true", default=None, help="the reference data are published"
    )
    ref.add_argument(
        "--reference-years", type=int, nargs="+", metavar="YEAR", help="years of transfer to keep"
    )
    ref.add_argument(
        "--reference-where", nargs="+", metavar="COLUMN=VALUE", help="keep reference rows with this value"
    )
    for name in SOURCE_OPTIONS:
        ref.add_argument(
            f"--reference-{name}", metavar="TEXT", help=f"--{name} of the reference, where it differs"
        )
    ref.add_argument("--prior-mean", action="store_true", default=None,
                     help="use the public reference map as prior mean")  # fmt: skip
    place = parser.add_argument_group("public geography")
    place.add_argument("--region", metavar="FILE", help="GeoJSON polygon of the region, longitude/latitude")
    place.add_argument(
        "--bbox", type=float, nargs=4, metavar=("W", "S", "E", "N"), help="bounding box in degrees"
    )
    place.add_argument(
        "--resolution", type=int, help="H3 resolution, 0 to 15 (default 8, about 0.7 km2 a cell)"
    )
    privacy = parser.add_argument_group("privacy")
    privacy.add_argument("--unit", choices=("point", "cell"), help="unit of protection (default point)")
    privacy.add_argument("--epsilon", type=float, help="privacy budget of this release (default 1)")
    privacy.add_argument("--delta", type=float, help="failure probability of the guarantee (default 1e-5)")
    privacy.add_argument("--paths", type=int, help="number of released paths (default 1)")
    privacy.add_argument(
        "--looked",
        action="store_true",
        default=None,
        help="design or threshold were chosen by looking at the private data: mark tuning as not accounted",
    )
    privacy.add_argument("--pilot", type=float, help="without reference data: share of epsilon for tuning")
    privacy.add_argument(
        "--wanted-iou",
        type=float,
        metavar="IOU",
        help="release at the smallest epsilon, at most --epsilon, that reaches this IoU on reference data",
    )
    privacy.add_argument(
        "--budget",
        type=float,
        help="total epsilon of this dataset, kept in the ledger (default: this release)",
    )
    privacy.add_argument(
        "--ledger", metavar="URL|FILE", help="ledger database (default: .hexcursion/ledger.sqlite)"
    )
    sets = parser.add_argument_group("excursion set")
    sets.add_argument("--threshold", type=float, help="threshold in the data's own unit, for example 442413")
    sets.add_argument("--direction", choices=("above", "below"), help="side of the threshold (default above)")
    design = parser.add_argument_group("design")
    design.add_argument(
        "--transform", choices=("log", "identity"), help="default: log for sales, identity otherwise"
    )
    design.add_argument(
        "--centre", type=float, help="public centre in transformed units (default: reference median)"
    )
    design.add_argument(
        "--clip", type=float, help="public clip bound in transformed units (default: from the reference)"
    )
    design.add_argument(
        "--priors", nargs="+", metavar="NAME", help="prior families of the search: car exponential ..."
    )
    design.add_argument(
        "--mechanisms", nargs="+", metavar="NAME", help="posterior-sampling noisy-cell-statistics"
    )
    design.add_argument("--bound", help="name of the proved bound (default: the sharpest that holds)")
    design.add_argument("--objective", choices=("iou", "bce"), help="what the search optimises (default iou)")
    design.add_argument("--lengthscale", type=float, help="metres; with --ridge this replaces the search")
    design.add_argument(
        "--ridge", type=float, help="noise-to-signal ratio r; with --lengthscale this replaces the search"
    )
    design.add_argument("--quick", action="store_true", default=None, help="a coarser and faster search")
    add("--title", help="title of the release")


def settings_from_options(options: argparse.Namespace) -> ReleaseSettings:
    """Settings from the file named by --config, overridden by the options that were given."""
    given = {name: value for name, value in vars(options).items() if value is not None}
    values: dict[str, Any] = read_settings_mapping(given["config"]) if "config" in given else {}
    plain = {
        name: _as_list(value)
        for name, value in given.items()
        if name in ReleaseSettings.__dataclass_fields__ and name not in ("data", "reference")
    }
    values.update(plain)
    if "region" in plain:
        values.pop("bbox", None)
    if "bbox" in plain:
        values.pop("region", None)
    for role in ("data", "reference"):
        source = dict(values.get(role) or {})
        source.update(_source(given, role))
        if source:
            if "path" not in source:
                raise WorkflowError(f"Name the file of the {role} with --{role}.")
            values[role] = source
    if "data" not in values:
        raise WorkflowError("Name the private data with --data FILE (or a settings file with --config).")
    if "threshold" not in values:
        raise WorkflowError("Give the threshold in the data's own unit with --threshold.")
    return settings_from_mapping(values)


def _source(given: dict[str, Any], role: str) -> dict[str, Any]:
    prefix = "" if role == "data" else "reference_"
    names = {
        "postcodes": "postcodes",
        "segment": "segment",
        "value": "value",
        "lat": "y",
        "lon": "x",
        "crs": "crs",
    }
    source: dict[str, Any] = {
        field: given[prefix + option] for option, field in names.items() if prefix + option in given
    }
    if role in given:
        source["path"] = given[role]
    if prefix + "years" in given:
        source["years"] = given[prefix + "years"]
    if prefix + "where" in given:
        source["where"] = dict(_pair(text) for text in given[prefix + "where"])
    return source


def _pair(text: str) -> tuple[str, str]:
    column, equals, value = text.partition("=")
    if not (column and equals):
        raise WorkflowError(f"Write row filters as COLUMN=VALUE, not {text!r}.")
    return column, value


def _as_list(value: Any) -> Any:
    return list(value) if isinstance(value, tuple | list) else value
