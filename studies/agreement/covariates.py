"""What public columns add to a release: lead along the Meuse with distance to the river and elevation.

Command: `python -m studies.agreement.covariates [FOLDER] [--releases N]`.

FOLDER is ../shared/data beside the checkout unless named; where the file is absent one sentence says so. Both
columns are interpolated from the entries of the samples themselves, for want of the layers: in truth they are
public, and must be. The agreement is that of the released map, over all hexagons, with two maps of the same
records without privacy: a smooth one, and one that follows both columns as well. A useless column is a smooth
field that has nothing to do with lead; its figure is the mean over several of them. Last, a random half of
the samples is published and the release of the other half starts from it: agreement of its mean, and of the
map of the published half alone, with the map without privacy of all samples that follows both columns.
"""

from __future__ import annotations

import os

from dpgp_core.linalg import Bools

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.spatial import cKDTree

from dpgp_core.excursion import agreed, iou
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Floats
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

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
FILE = "sensors/meuse_topsoil_metals.csv"
BOX, RESOLUTION, CRS = (5.72, 50.955, 5.765, 50.995), 9, "EPSG:28992"
EPSILONS, DELTA, SEED, USELESS = (0.5, 1.0, 3.0, 10.0), 1e-5, 155, 8
SPLITS = 12  # random halves that are published
NEAREST = 6  # samples from which a column is interpolated
SCATTER, FIELD, COLUMN = 0.4, 0.6, 0.4  # log units, of the maps without privacy
CLIP = 1.5  # deviations of the values


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=BESIDE, help="folder of the real files")
    parser.add_argument(
        "--releases", type=int, default=40, help="simulated releases of each row (default 40)"
    )
    asked = parser.parse_args()
    if not (asked.folder / FILE).is_file():
        print(f"{asked.folder / FILE} is not there: it is not shipped; name the folder that holds it.")
        return
    with TemporaryDirectory() as folder:
        plain = load_project(settings_of(asked.folder))
        columns = sample_columns(asked.folder, plain)
        rows = {"none": plain} | {
            name: with_columns(plain, Path(folder), {each: columns[each] for each in named})
            for name, named in (("distance", ("distance",)), ("distance and elevation", (*columns,)))
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
            own, other = (agreements(project, epsilon, truth, asked.releases) for truth in (smooth, drift))
            error = float(own.std(ddof=1) / np.sqrt(own.size))
            print(
                f"{epsilon:7g}  {name:22}  {own.mean():.3f} ({error:.3f})      {other.mean():.3f}", flush=True
            )
        found = [agreements(project, epsilon, smooth, asked.releases // 2).mean() for project in useless]
        print(f"{epsilon:7g}  {'a useless one':22}  {np.mean(found):.3f} (worst {min(found):.3f})")
    print("epsilon  beside a published half   its map alone  release (s.e.)")
    both = np.column_stack([*columns.values()])
    for epsilon in EPSILONS[1:]:
        for name, several in (
            ("none", [None]),
            ("distance and elevation", [both]),
            ("a useless one", [useless_column(plain, k)[:, None] for k in range(USELESS // 2)]),
        ):
            found = np.concatenate([beside_published(plain, each, epsilon, drift) for each in several])
            error = found[:, 1].std(ddof=1) / np.sqrt(len(found))
            free, own = found.mean(axis=0)
            print(f"{epsilon:7g}  {name:22}    {free:.3f}          {own:.3f} ({error:.3f})", flush=True)
    print(f"Seed {SEED}; {asked.releases} releases of each row, delta {DELTA:g}.")


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
    found = samples(folder)
    places = projected(project.domain.centres_lonlat, CRS)
    far, nearest = cKDTree(np.column_stack([found["x"], found["y"]])).query(places, k=NEAREST)
    weight = 1.0 / (far + 1.0) ** 2
    weight /= weight.sum(axis=1, keepdims=True)
    return {
        name: np.asarray((column[nearest] * weight).sum(axis=1))
        for name, column in (("distance", np.sqrt(found["dist"])), ("elevation", found["elev"]))
    }


def useless_column(project: Project, number: int) -> Floats:
    """(N,) a smooth field that has nothing to do with the values."""
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
    """(N,) where kriging of the records lies above the threshold; with columns, these are its drift."""
    placed, spacing = project.private.placed, project.lattice.spacing
    covariance = make_prior("exponential", project.lattice, FIXED_RANGE * spacing).correlation()
    if columns is None:
        covariance = FIELD**2 * covariance
    else:
        drift = standardised(columns)
        covariance = COLUMN**2 * (covariance + drift @ drift.T)
    covariance = covariance + 1.0  # the mean is not known
    value, index = np.log(placed.value), placed.index
    seen = covariance[np.ix_(index, index)] + SCATTER**2 * np.eye(index.size)
    middle = float(np.median(value))
    mean = middle + covariance[:, index] @ np.linalg.solve(seen, value - middle)
    return np.asarray(mean > np.log(project.settings.threshold))


def agreements(project: Project, epsilon: float, truth: Bools, releases: int) -> Floats:
    """(R,) agreement (IoU) of released sets with a map."""
    return np.array([iou(each, truth) for _, each in fixed_sets(project, epsilon, project.level, releases)])


def beside_published(project: Project, columns: Floats | None, epsilon: float, truth: Bools) -> Floats:
    """(SPLITS, 2) agreement with a map of the published half's map alone, and of a release of the rest.

    Raise `WorkflowError` for an epsilon that is too small, and a release that states no field.
    """
    lattice, placed, found = project.lattice, project.private.placed, []
    mechanism, response = mechanism_named("spectral-statistics"), project.response.forward(placed.value)
    for split in range(SPLITS):
        public = np.random.default_rng(SEED + split).uniform(size=response.size) < 0.5
        field = PublicField.of(Nodes.of(lattice), placed.index[public], response[public], columns)
        unit, steps = field.bound, FIXED_RANGE * lattice.spacing
        field = field.rescaled(0.0, unit, MapModel("exponential", steps, FIXED_RIDGE, 0.0, 1.0 / unit))
        mean, hidden = field.at_cells(lattice.domain_centres), placed.index[~public]
        rest = np.clip(response[~public] / unit - mean[hidden], -1.0, 1.0)
        counts = np.bincount(placed.index[public], minlength=lattice.size).astype(np.float64)
        facts = PublicFacts(lattice, hidden.size, counts=counts, covariates=columns, field=field)
        (start,) = mechanism.search.grid(facts, SearchSpec(("exponential",)))
        design = mechanism.calibrate(start, facts, Budget(epsilon, DELTA))
        if design is None:
            raise WorkflowError(f"Epsilon {epsilon:g} is too small for this design.")
        prepared = mechanism.prepare(design, facts, CollapsedRecords.from_records(hidden, rest))
        released = draw_release(prepared, SimulationEntropy(SEED + split), simulation=True)
        if released.mean is None:
            raise WorkflowError("The release states no field.")
        found.append((iou(mean > project.level, truth), iou(mean + released.mean > project.level, truth)))
    return np.array(found)


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
