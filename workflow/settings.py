"""Settings: every public choice of one release, valid or not existing, with one name everywhere.

The same field names stand in the TOML file, on the command line (`--value-unit` for `value_unit`) and in
the app's pages.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from workflow.errors import WorkflowError

UNITS = ("point", "cell")
MECHANISM_CHOICES = ("posterior-sampling", "noisy-cell-statistics")
OBJECTIVES = ("iou", "bce")


@dataclass(frozen=True)
class SourceSettings:
    """Where one set of observations comes from: Price Paid sales, or a sensor table.

    A source with `value` is a sensor table; without it, a Price Paid file that needs `postcodes`.
    """

    path: str
    postcodes: str | None = None
    segment: str = "all"
    years: tuple[int, ...] = ()
    value: str | None = None
    x: str | None = None
    y: str | None = None
    crs: str = "EPSG:4326"
    where: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        _refuse_other_than_text(self, "path", "postcodes", "segment", "value", "x", "y", "crs")
        if not self.path:
            raise WorkflowError("No data file is named: set `data` to a Price Paid file or a sensor table.")
        if self.value is None and self.postcodes is None:
            raise WorkflowError(
                "Price Paid rows carry postcodes, not coordinates: name a lookup with `postcodes`, "
                "or set `value` to the measured column of a sensor table."
            )
        if self.value is not None and (self.x is None or self.y is None):
            raise WorkflowError(
                "A sensor table needs its coordinate columns: set `lon` and `lat` (or easting and northing "
                "with `crs`)."
            )

    @property
    def is_sales(self) -> bool:
        return self.value is None


@dataclass(frozen=True)
class ReleaseSettings:
    """Everything fixed before the private records are touched.

    data, reference     the private source, and the public or set-aside one on which a design is tuned
    reference_public    the reference data are published (so they may serve as prior mean and be shown)
    region | bbox       public geography: a GeoJSON file, or west, south, east, north in degrees
    resolution          H3 resolution, 0 to 15
    unit                unit of protection: "point" (each sale or sensor) or "cell" (one hexagon's median)
    epsilon, delta      privacy budget of this release at `delta`
    paths               number L of released paths
    threshold           in the data's own unit; `direction` "above" or "below" it
    centre, clip        public centre and clip bound in transformed units (None: from the reference data)
    transform           "log" or "identity" (None: log for sales, identity for sensors)
    priors, mechanisms  families the search may use
    prior_mean          use the public reference data's posterior mean as prior mean
    objective           "iou" (expected agreement of the released set) or "bce" (the paper's)
    pilot               share of epsilon for an accounted pilot that stands in for reference data
    looked              the design or threshold was chosen after looking at the private data: the release is
                        then marked "tuning not accounted"
    lengthscale, ridge  given by hand (metres; noise-to-signal ratio): the search is then skipped
    """

    data: SourceSettings
    threshold: float
    reference: SourceSettings | None = None
    reference_public: bool = False
    region: str | None = None
    bbox: tuple[float, float, float, float] | None = None
    resolution: int = 8
    unit: str = "point"
    epsilon: float = 1.0
    delta: float = 1e-5
    paths: int = 1
    direction: str = "above"
    value_name: str = ""
    value_unit: str = ""
    title: str = ""
    transform: str | None = None
    centre: float | None = None
    clip: float | None = None
    priors: tuple[str, ...] = ("car", "exponential")
    mechanisms: tuple[str, ...] = ("posterior-sampling",)
    bound: str | None = None
    prior_mean: bool = False
    objective: str = "iou"
    lengthscale: float | None = None
    ridge: float | None = None
    pilot: float | None = None
    looked: bool = False
    budget: float | None = None
    ledger: str | None = None
    quick: bool = False
    notes: tuple[str, ...] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        _refuse_other_than_text(self, "region", "title", "value_name", "value_unit", "ledger")
        if (self.region is None) == (self.bbox is None):
            raise WorkflowError("Name the public geography once: either `region` (GeoJSON) or `bbox`.")
        if self.unit not in UNITS:
            raise WorkflowError(f"unit must be 'point' or 'cell', not {self.unit!r}.")
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise WorkflowError(f"epsilon must be a positive finite number, not {self.epsilon!r}: try 1.")
        if not 0 < self.delta < 1:
            raise WorkflowError(f"delta must lie strictly between 0 and 1, not {self.delta!r}: try 1e-5.")
        if isinstance(self.paths, bool) or self.paths != int(self.paths) or not 1 <= self.paths <= 1000:
            raise WorkflowError(f"paths must be a whole number from 1 to 1000, not {self.paths!r}.")
        if not math.isfinite(self.threshold):
            raise WorkflowError("threshold must be a finite number in the data's own unit.")
        if self.direction not in ("above", "below"):
            raise WorkflowError(f"direction must be 'above' or 'below', not {self.direction!r}.")
        if self.transform not in (None, "log", "identity"):
            raise WorkflowError(f"transform must be 'log' or 'identity', not {self.transform!r}.")
        if self.uses_log and not self.threshold > 0:
            raise WorkflowError("The log transform needs a positive threshold in the data's own unit.")
        if not 0 <= self.resolution <= 15:
            raise WorkflowError(f"resolution must be an H3 resolution from 0 to 15, not {self.resolution!r}.")
        if self.clip is not None and not (math.isfinite(self.clip) and self.clip > 0):
            raise WorkflowError("clip must be a positive number in transformed units.")
        if self.objective not in OBJECTIVES:
            raise WorkflowError(f"objective must be one of {', '.join(OBJECTIVES)}, not {self.objective!r}.")
        unknown = [name for name in self.mechanisms if name not in MECHANISM_CHOICES]
        if unknown or not self.mechanisms:
            raise WorkflowError(f"mechanisms must be among {', '.join(MECHANISM_CHOICES)}.")
        if "noisy-cell-statistics" in self.mechanisms and self.unit == "cell":
            if self.mechanisms == ("noisy-cell-statistics",):
                raise WorkflowError(
                    "Noisy cell statistics protect point records: choose unit 'point', or posterior sampling."
                )
            kept = tuple(name for name in self.mechanisms if name != "noisy-cell-statistics")
            object.__setattr__(self, "mechanisms", kept)
        if not self.priors:
            raise WorkflowError("Name at least one prior, for instance 'car' or 'exponential'.")
        if self.prior_mean and not (self.reference is not None and self.reference_public):
            raise WorkflowError(
                "A prior mean must be public: name `reference` data and declare them public "
                "with `reference_public`."
            )
        if self.pilot is not None and not 0 < self.pilot < 1:
            raise WorkflowError(f"pilot is a share of epsilon between 0 and 1, not {self.pilot!r}: try 0.3.")
        if self.pilot is not None and (self.reference is not None or self.lengthscale is not None):
            raise WorkflowError("A pilot is for tuning without reference data: leave one of the two out.")
        if (self.lengthscale is None) != (self.ridge is None):
            raise WorkflowError("Give lengthscale and ridge together, or neither and let the search choose.")

    @property
    def uses_log(self) -> bool:
        """Prices are modelled on the log scale unless the settings say otherwise."""
        return (self.transform or ("log" if self.data.is_sales else "identity")) == "log"

    @property
    def unit_word(self) -> str:
        """What one record is, in the data's own word."""
        if self.unit == "cell":
            return "cell"
        return "sale" if self.data.is_sales else "sensor"

    def with_changes(self, **changes: Any) -> ReleaseSettings:
        """A valid copy with some fields changed."""
        return replace(self, **changes)


def settings_to_toml(settings: ReleaseSettings) -> str:
    """The settings as a TOML text that `settings_from_toml` reads back to an equal value."""
    document = tomlkit.document()
    document.add(tomlkit.comment("Hexcursion settings. Public choices only: no data, no seed, no result."))
    for name, value in asdict(settings).items():
        if value is None or value == ():
            continue
        document[name] = _plain_table(value) if isinstance(value, dict) else _plain(value)
    return tomlkit.dumps(document)


def settings_from_toml(text: str) -> ReleaseSettings:
    """Read settings; unknown or missing keys and wrong types are one sentence (`WorkflowError`)."""
    try:
        raw = tomlkit.parse(text).unwrap()
    except TOMLKitError as error:
        raise WorkflowError(f"The settings file is not valid TOML: {error}.") from error
    return settings_from_mapping(raw)


def read_settings_mapping(path: str | Path) -> dict[str, Any]:
    """The raw key-value pairs of a TOML settings file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        return dict(tomlkit.parse(text).unwrap())
    except (OSError, UnicodeDecodeError) as error:
        raise WorkflowError(
            f"The settings file {Path(path).name!r} cannot be read: name a TOML file."
        ) from error
    except TOMLKitError as error:
        raise WorkflowError(f"The settings file is not valid TOML: {error}.") from error


def settings_from_mapping(raw: dict[str, Any]) -> ReleaseSettings:
    """Build settings from plain key-value pairs, as a TOML file or the command line give them."""
    values = dict(raw)
    _refuse_unknown(values, ReleaseSettings, "settings")
    if isinstance(values.get("data"), dict) and isinstance(values.get("reference"), dict):
        values["reference"] = {**_inherited(values["data"]), **values["reference"]}
    for name in ("data", "reference"):
        if isinstance(values.get(name), dict):
            _refuse_unknown(values[name], SourceSettings, name)
            if "path" not in values[name]:
                raise WorkflowError(f"The [{name}] table lacks `path`: name its file.")
            values[name] = SourceSettings(**_tuples(values[name]))
        elif values.get(name) is not None and not isinstance(values[name], SourceSettings):
            raise WorkflowError(f"[{name}] must be a table with at least a `path`.")
    for name in ("data", "threshold"):
        if name not in values:
            raise WorkflowError(f"The settings lack `{name}`.")
    try:
        return ReleaseSettings(**_tuples(values))
    except TypeError as error:
        raise WorkflowError(f"A setting has the wrong type ({error}); compare `--help`.") from error


def _inherited(data: dict[str, Any]) -> dict[str, Any]:
    """What reference data share with the private data unless they say otherwise: all but file and filter."""
    return {name: value for name, value in data.items() if name not in ("path", "years", "where")}


def _refuse_unknown(values: dict[str, Any], kind: type, where: str) -> None:
    known = {item.name for item in fields(kind)}
    unknown = sorted(set(values) - known)
    if unknown:
        raise WorkflowError(f"Unknown {where} key {unknown[0]!r}; known keys are {', '.join(sorted(known))}.")


def _refuse_other_than_text(settings: object, *names: str) -> None:
    for name in names:
        value = getattr(settings, name)
        if value is not None and not isinstance(value, str):
            raise WorkflowError(f"{name} must be a text in quotation marks, not {value!r}.")


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    def convert(name: str, value: Any) -> Any:
        if name == "where" and isinstance(value, dict):
            return tuple(sorted((str(key), str(item)) for key, item in value.items()))
        if isinstance(value, list | tuple):
            return tuple(convert("", item) for item in value)
        return value

    return {name: convert(name, value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _plain_table(values: dict[str, Any]) -> Any:
    table = tomlkit.table()
    for name, value in values.items():
        if value is None or value == ():
            continue
        table[name] = dict(value) if name == "where" else _plain(value)
    return table
