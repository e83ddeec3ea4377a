"""The gain by public columns: lead along the Meuse with distance to the river and elevation.

Command: `python -m studies.agreement.covariates [FOLDER] [--releases N]`.

FOLDER is ../shared/data of the checkout unless named; where the file is absent one sentence says so. Both
columns are interpolated from the samples, since the public layers are not at hand; a real release must take
public ones. The agreement is that of the released map, over all hexagons, with two maps of the same records
without privacy: a smooth one, and one that follows both columns as well. A useless column is a smooth field
that is independent of lead; its figure is the mean over several. Last, a random half of the samples is
published and the release of the other half starts from it: the agreement of its mean, and of the map of the
published half alone, with the map without privacy of all samples that follows both columns.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.spatial import cKDTree

from dpgp_core.excursion import agreed, iou
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Bools, Floats
from dpgp_core.mechanisms.design import Budget, SearchSpec
from dpgp_core.mechanisms.registry import mechanism_named
from dpgp_core.mechanisms.spectral_design import FIXED_RANGE, FIXED_RIDGE, fixed_design
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.registry import make_prior
from dpgp_core.releasing import PublicFacts, Released, draw_release
from dpgp_core.spectral.prior import standardised
from dpgp_core.spectral.public_field import MapModel, PublicField
from geo import project as projected
from hexcursion.errors import WorkflowError
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.records import bin_records
from hexcursion.search.scenes import public_facts
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from studies.material.real_files import is_here, real_files_parser
from studies.reporting.measures import standard_error

FILE = "sensors/meuse_topsoil_metals.csv"
BOX, RESOLUTION, CRS = (5.72, 50.955, 5.765, 50.995), 9, "EPSG:28992"
EPSILONS, DELTA, SEED, USELESS = (0.5, 1.0, 3.0, 10.0), 1e-5, 155, 8
SPLITS = 12  # random halves that are published
NEAREST = 6  # samples from which a column is interpolated
SCATTER, FIELD, COLUMN = 0.4, 0.6, 0.4  # log units, of the maps without privacy
CLIP = 1.5  # deviations of the values


def main() -> None:
    options = real_files_parser(__doc__, 40).parse_args()
    if not is_here(options.folder / FILE):
        return
    with TemporaryDirectory() as folder:
        plain = load_project(settings_of(options.folder))
        columns = sample_columns(options.folder, plain)
        rows = {"none": plain} | {
            name: with_columns(plain, Path(folder), {each: columns[each] for each in names})
            for name, names in (("distance", ("distance",)), ("distance and elevation", (*columns,)))
        }
        useless = [
            with_columns(plain, Path(folder), {f"useless_{k}": useless_column(plain, k)})
            for k in range(USELESS)
        ]
    smooth, drift = (
        map_without_privacy(plain, each) for each in (None, np.column_stack([*columns.values()]))
    )
    print(
        f"Meuse lead, {plain.domain.size} hexagons; everything painted "
        f"{iou(np.ones_like(smooth), smooth):.3f}"
    )
    print(f"the two maps without privacy agree by {iou(smooth, drift):.3f}")
    print("epsilon  columns                 smooth map (s.e.)  map with columns")
    for epsilon in EPSILONS:
        for name, project in rows.items():
            smooth_ious, drift_ious = (
                agreements(project, epsilon, truth, options.releases) for truth in (smooth, drift)
            )
            error = standard_error(smooth_ious)
            print(
                f"{epsilon:7g}  {name:22}  {smooth_ious.mean():.3f} ({error:.3f})      "
                f"{drift_ious.mean():.3f}",
                flush=True,
            )
        useless_ious = [
            agreements(project, epsilon, smooth, options.releases // 2).mean() for project in useless
        ]
        print(
            f"{epsilon:7g}  {'a useless one':22}  {np.mean(useless_ious):.3f} (worst {min(useless_ious):.3f})"
        )
    print("epsilon  beside a published half   its map alone  release (s.e.)")
    both = np.column_stack([*columns.values()])
    for epsilon in EPSILONS[1:]:
        for name, several in (
            ("none", [None]),
            ("distance and elevation", [both]),
            ("a useless one", [useless_column(plain, k)[:, None] for k in range(USELESS // 2)]),
        ):
            pairs = np.concatenate([beside_published(plain, each, epsilon, drift) for each in several])
            error = standard_error(pairs[:, 1])
            free, own = pairs.mean(axis=0)
            print(
                f"{epsilon:7g}  {name:22}    {free:.3f}          {own:.3f} ({error:.3f})",
                flush=True,
            )
    print(f"Seed {SEED}; {options.releases} releases of each row, delta {DELTA:g}.")


def settings_of(folder: Path) -> ReleaseSettings:
    """Lead above its 60 % quantile, on logarithms, clipped at CLIP deviations: the fixed design."""
    value = samples(folder)["lead"]
    threshold = float(np.quantile(value, 0.6))
    return ReleaseSettings(
        data=SourceSettings(str(folder / FILE), value="lead", x="x", y="y", crs=CRS),
        value_unit="mg/kg",
        bbox=BOX,
        resolution=RESOLUTION,
        threshold=threshold,
        transform="log",
        centre=float(np.log(threshold)),
        clip=float(CLIP * np.std(np.log(value))),
        mechanisms=("spectral-statistics",),
    )


def samples(folder: Path) -> dict[str, Floats]:
    """The samples' numbers by column."""
    with (folder / FILE).open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    return {name: np.array([float(row[name]) for row in rows]) for name in ("x", "y", "lead", "dist", "elev")}


def sample_columns(folder: Path, project: Project) -> dict[str, Floats]:
    """The square root of the distance to the river, and elevation, interpolated to the hexagons (N,)."""
    table = samples(folder)
    places = projected(project.domain.centres_lonlat, CRS)
    far, nearest = cKDTree(np.column_stack([table["x"], table["y"]])).query(places, k=NEAREST)
    weight = 1.0 / (far + 1.0) ** 2
    weight /= weight.sum(axis=1, keepdims=True)
    return {
        name: np.asarray((column[nearest] * weight).sum(axis=1))
        for name, column in (("distance", np.sqrt(table["dist"])), ("elevation", table["elev"]))
    }


def useless_column(project: Project, number: int) -> Floats:
    """(N,) a smooth field that is independent of the values."""
    prior = make_prior("exponential", project.lattice, FIXED_RANGE * project.lattice.spacing)
    entropy = SimulationEntropy(SEED + number)
    return np.asarray(prior.colour(entropy.normal((prior.white_size, 1)))[:, 0])


def with_columns(project: Project, folder: Path, columns: dict[str, Floats]) -> Project:
    """The project with public columns, read from a table of hexagons as a curator would name it."""
    paths = []
    for name, column in columns.items():
        paths.append(str(folder / f"{name}.csv"))
        with Path(paths[-1]).open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([("h3", name), *zip(project.domain.cells, column, strict=True)])
    return load_project(project.settings.with_changes(covariates=tuple(paths)))


def map_without_privacy(project: Project, columns: Floats | None) -> Bools:
    """(N,) where kriging of the records is above the threshold; columns are its drift."""
    records, spacing = project.private.placed, project.lattice.spacing
    covariance = make_prior("exponential", project.lattice, FIXED_RANGE * spacing).correlation()
    if columns is None:
        covariance = FIELD**2 * covariance
    else:
        drift = standardised(columns)
        covariance = COLUMN**2 * (covariance + drift @ drift.T)
    covariance = covariance + 1.0  # the mean is not known
    value, index = np.log(records.value), records.index
    observed = covariance[np.ix_(index, index)] + SCATTER**2 * np.eye(index.size)
    middle = float(np.median(value))
    mean = middle + covariance[:, index] @ np.linalg.solve(observed, value - middle)
    return np.asarray(mean > np.log(project.settings.threshold))


def agreements(project: Project, epsilon: float, truth: Bools, releases: int) -> Floats:
    """(R,) agreement (IoU) of released sets with a map."""
    return np.array([iou(each, truth) for _, each in fixed_sets(project, epsilon, project.level, releases)])


def beside_published(project: Project, columns: Floats | None, epsilon: float, truth: Bools) -> Floats:
    """(SPLITS, 2) agreement of the published half's map alone, and of a release of the other half.

    Raise `WorkflowError` for an epsilon that is too small, and a release that states no field.
    """
    lattice, records, rows = project.lattice, project.private.placed, []
    mechanism, response = mechanism_named("spectral-statistics"), project.response.forward(records.value)
    for split in range(SPLITS):
        public = np.random.default_rng(SEED + split).uniform(size=response.size) < 0.5
        field = PublicField.of(Nodes.of(lattice), records.index[public], response[public], columns)
        unit, steps = field.bound, FIXED_RANGE * lattice.spacing
        field = field.rescaled(0.0, unit, MapModel("exponential", steps, FIXED_RIDGE, 0.0, 1.0 / unit))
        mean, cells = field.at_cells(lattice.domain_centres), records.index[~public]
        responses = np.clip(response[~public] / unit - mean[cells], -1.0, 1.0)
        counts = np.bincount(records.index[public], minlength=lattice.size).astype(np.float64)
        facts = PublicFacts(lattice, cells.size, counts=counts, covariates=columns, field=field)
        (start,) = mechanism.search.grid(facts, SearchSpec(("exponential",)))
        design = mechanism.calibrate(start, facts, Budget(epsilon, DELTA))
        if design is None:
            raise WorkflowError(f"Epsilon {epsilon:g} is too small for this design.")
        prepared = mechanism.prepare(design, facts, CollapsedRecords.from_records(cells, responses))
        released = draw_release(prepared, SimulationEntropy(SEED + split), simulation=True)
        if released.mean is None:
            raise WorkflowError("The release states no field.")
        rows.append((iou(mean > project.level, truth), iou(mean + released.mean > project.level, truth)))
    return np.array(rows)


def fixed_sets(
    project: Project,
    epsilon: float,
    level: float,
    releases: int,
    model: tuple[float, float] | None = None,
) -> Iterator[tuple[Released, Bools]]:
    """Draw releases of the fixed design, each with its set (N,) above a level, in response units.

    `model` is another range, metres, and ridge.

    Raises
    ------
    WorkflowError
        For an epsilon that is too small, and a release that states no probabilities.
    """
    mechanism, facts = mechanism_named("spectral-statistics"), public_facts(project)
    fixed = fixed_design(project.lattice.spacing)
    if model is not None:
        fixed = replace(fixed, lengthscale=model[0], ridge=model[1])
    design = mechanism.calibrate(fixed, facts, Budget(epsilon, DELTA))
    if design is None:
        raise WorkflowError(f"Epsilon {epsilon:g} is too small for the fixed design.")
    records = bin_records(project.private.placed, project.response, project.settings.unit)
    prepared, entropy = mechanism.prepare(design, facts, records), SimulationEntropy(SEED)
    for _ in range(releases):
        released = draw_release(prepared, entropy, simulation=True)
        chance = released.set_chance(level)
        if chance is None:
            raise WorkflowError("The release states no probabilities.")
        yield released, agreed(chance, design.settled(released, level, "above").cutoff)


if __name__ == "__main__":
    main()
