"""An earlier release as public knowledge: what it tells of the field now stands in for reference
data."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from data_loaders import DataError
from data_loaders.files.guarded import LIMITS, open_zip
from dpgp_core.errors import CoreError
from dpgp_core.linalg import Floats
from dpgp_core.noise import SimulationEntropy
from dpgp_core.spectral.series import SeriesReading, read_series
from hexcursion.bundle import layout
from hexcursion.bundle.again import check_again, stored_sums, sums_facts
from hexcursion.bundle.layout import contents_of
from hexcursion.bundle.published.series import periods_of, prior_of, refuse_unreadable
from hexcursion.bundle.read import Bundle, bundle_from_contents
from hexcursion.bundle.untrusted import BundleError
from hexcursion.errors import Report
from hexcursion.project.area import build_domain
from hexcursion.project.atlas import AtlasProject, load_atlas
from hexcursion.project.load import load_project
from hexcursion.project.model import HeldTable, Project
from hexcursion.settings.atlas import AtlasSettings
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.privacy_settings import MOST_RECORDS

SEED = 314159  # draws from published facts alone
# The usual distance of two periods; what of its pattern the field keeps over it
AHEAD, MEMORY = 1.0, 0.95
BEFORE = 2000
"""Year that stand-ins about the mean bear; those about draws of the field bear the years after
it."""

PAIRS = 4
"""Draws of the field that play the private records, each one way about the mean and the other."""


def is_bundle(path: str) -> bool:
    """Whether a path names a bundle: a folder, or a zip that holds a privacy statement."""
    if os.path.isdir(path):
        return (Path(path) / layout.STATEMENT).is_file()
    if not path.lower().endswith(".zip"):
        return False
    try:
        with Path(path).open("rb") as stream, open_zip(path, stream, LIMITS) as archive:
            return any(Path(name).name == layout.STATEMENT for name in archive.namelist())
    except (DataError, OSError):  # the reader of the file reports the fault
        return False


def earlier_transform(path: str) -> str:
    """How an earlier release reads values, plainly or as logarithms: a release that starts from it
    does too. Raise `BundleError`, one sentence, where it cannot be read, or does not stand in for
    reference data."""
    bundle = bundle_from_contents(contents_of(path))
    refuse_unreadable(bundle, reference=True)
    stored_sums(bundle)
    return bundle.response.transform


def load_with_earlier(
    settings: ReleaseSettings, progress: Report | None = None, tables: Mapping[str, HeldTable] | None = None
) -> Project:
    """As `load_project`, for settings whose reference may be the bundle of an earlier release.
    Raise `BundleError` as `with_earlier`. Raise `WorkflowError` or `DataError` or `GeoError` as
    `load_project`."""
    changed_settings, held_tables = with_earlier(settings, tables)
    project = load_project(changed_settings, progress, held_tables)
    if not project.reference_origin:
        return project
    # As a person named it
    return replace(project, settings=settings.with_changes(reference_public=True))


def load_columns(
    settings: AtlasSettings, progress: Report | None = None, tables: Mapping[str, HeldTable] | None = None
) -> AtlasProject:
    """As `load_atlas`; raise `BundleError` too for a reference that is a bundle."""
    reference = settings.first.reference
    if reference is not None and is_bundle(reference.path):
        raise BundleError("An atlas starts from a table and not from a bundle: name a published table.")
    return load_atlas(settings, progress, tables)


def with_earlier(
    settings: ReleaseSettings, tables: Mapping[str, HeldTable] | None = None
) -> tuple[ReleaseSettings, dict[str, HeldTable]]:
    """Settings whose reference is a bundle, with a table of records that stand in for what it
    tells; others are given back as they are. The release is public, so this costs nothing. Its
    field is moved on by the prior in time, to the usual distance of two periods. Some stand-ins lie
    about the mean, where records are expected: a release starts from them. Others lie about `PAIRS`
    pairs of joint draws: a release is judged on them as private records. Raise `BundleError` where
    it cannot be read, holds no sums, or is of another area or question."""
    held_tables, source = dict(tables or {}), settings.reference
    if source is None or source.path in held_tables or not is_bundle(source.path):
        return settings, held_tables
    contents = contents_of(source.path)
    bundle = bundle_from_contents(contents)
    _refuse_other(bundle, settings)
    facts = sums_facts(bundle)
    check_again(bundle, facts)
    try:
        periods, model = periods_of((bundle,), (facts,), (0.0,))
        prior, around = prior_of((bundle,), model)
        reading = read_series(model, periods, replace(prior, memory=MEMORY), (AHEAD,), around=around)
    except (CoreError, ArithmeticError) as error:
        raise BundleError(f"This bundle cannot be read: {str(error).rstrip('.')}.") from error
    digest = hashlib.sha256(contents[layout.SUMS]).hexdigest()
    origin = f"release {bundle.statement['release']['id']} (SHA-256 of {layout.SUMS}: {digest})"
    held_tables[source.path] = HeldTable(_stand_ins(bundle, reading), digest, origin)
    reference = SourceSettings(source.path, value="value", x="lon", y="lat", time="time", decimal=".")
    return replace(settings, reference=reference, reference_public=True), held_tables


def _refuse_other(bundle: Bundle, settings: ReleaseSettings) -> None:
    """One sentence where the earlier release is of another question or place than the settings."""
    refuse_unreadable(bundle, reference=True)
    stored_sums(bundle)
    statement, subject = bundle.statement, bundle.statement["subject"]
    title = f"The earlier release {statement['release']['title']!r}"
    if statement["release"]["simulation"]:
        raise BundleError(f"{title} is a simulation, which protects nobody: name a release.")
    source = settings.reference
    if source is not None and (source.where or source.years):
        raise BundleError("An earlier release has no rows to choose among: leave `where` and `years` out.")
    if settings.limits is not None or settings.change or settings.values != "amount":
        raise BundleError("An earlier release stands in for amounts alone: leave limits and change out.")
    question = {
        "value": settings.called,
        "unit": settings.value_unit or subject["unit"],
        "direction": settings.direction,
    }
    for name, value in question.items():
        if subject[name] != value:
            raise BundleError(
                f"{title} is of the {name} {subject[name]!r}, these settings of {value!r}: give the same, or "
                "name another reference."
            )
    if statement["guarantee"]["unit"] != settings.unit:
        raise BundleError(
            f"{title} has the unit {statement['guarantee']['unit']!r}, these settings {settings.unit!r}: "
            "give the same, or name another reference."
        )
    if (bundle.response.transform == "log") != settings.uses_log:
        transform = bundle.response.transform
        raise BundleError(
            f"{title} has the transform {transform!r}: set the same, or name another reference."
        )
    domain = build_domain(settings)
    if bundle.domain.cells != domain.cells:
        raise BundleError(
            f"{title} covers other hexagons than these settings: name the same area and resolution "
            f"{bundle.domain.resolution}."
        )


def _stand_ins(bundle: Bundle, reading: SeriesReading) -> bytes:
    """Records as CSV, as many as the release had about the mean, and about each draw of the
    field."""
    entropy, mean, parts = SimulationEntropy(SEED), reading.mean[-1], []
    fields = [mean]
    for _ in range(PAIRS):
        field_draw = reading.drawn(entropy)
        fields += [field_draw, 2.0 * mean - field_draw]
    # All draws at the same ones
    places = [_places(bundle, reading.records[0], entropy) for _ in range(2)]
    for number, field in enumerate(fields):
        cell = places[min(number, 1)]
        value = field[cell] + reading.prior.scatter * entropy.normal(cell.size)
        if bundle.response.transform == "log":
            value = np.exp(np.minimum(value, 700.0))
        lon, lat = bundle.domain.centres_lonlat[cell].T
        time = f"{BEFORE + number}-07-01"
        parts.append(pd.DataFrame({"lon": lon, "lat": lat, "value": value, "time": time}))
    text = io.StringIO()
    pd.concat(parts).to_csv(text, index=False)
    return text.getvalue().encode()


def _places(bundle: Bundle, expected: Floats, entropy: SimulationEntropy) -> NDArray[np.int64]:
    """Cells of as many records as the release had, likelier where many are expected; `BundleError`
    for more than can be drawn, which whoever made it may have stated."""
    number = int(bundle.statement["guarantee"]["n"])
    if number > MOST_RECORDS:
        raise BundleError(f"This bundle states {number:,} records, too many to draw: name another reference.")
    if bundle.statement["guarantee"]["unit"] == "cell":  # one record a hexagon
        wait = -np.log(entropy.uniform(expected.size)) / np.maximum(expected, 1e-9)
        return np.sort(np.argsort(wait)[:number])
    ends = np.cumsum(expected)
    indices = np.searchsorted(ends, ends[-1] * entropy.uniform(number))
    return np.asarray(np.minimum(indices, expected.size - 1))
