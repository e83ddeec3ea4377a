"""Spectral statistics on public sensor tables, without reference data.

Command: `python -m studies.agreement.spectral_sensors [FOLDER]`.

FOLDER is ../shared/data of the checkout unless named; where the files are absent one sentence says so.
Without reference data one fixed design is released. The threshold is the 60 % quantile of the values (10 ug/l
for the wells), where the response is centred, with one standard deviation as clip bound. Printed are what is
expected beforehand, with the range of eight of ten simulated releases, and mean IoUs over simulated releases:
with the map without privacy of the fixed model, which the range is about (`own`; the panel judges these
surveys by the map fitted by likelihood, and by records); with the map of a scikit-learn Gaussian process
on the logarithms of the same records (of 2,000 at most), its range held at eight spacings of the hexagons
(`IoU`, with standard deviation and error); and with the same at a fitted range, which falls to one or two
spacings at Jura and in London (`fitted`). CPU seconds are those of the search or of the fixed design.

`--hidden` leaves out public places and epsilon 10.

`--scale log` models logarithms in place of the values.

`--oracle` measures what a search could reach at most: it judges every design of a grid by the target map
itself, which no release can do. The best design, and the same with its own cutoff, are judged again on other
releases; the median of the grid is given for comparison.
"""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from time import process_time
from typing import get_args

import numpy as np
import pandas as pd
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from dpgp_core.excursion import iou, ious
from dpgp_core.mechanisms.design import Budget, Design
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.mechanisms.spectral_statistics import COMMON, PATHS, PRIOR, SIGNAL, STRATEGY
from dpgp_core.noise import SimulationEntropy
from hexcursion.project.baseline import fit_baseline
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.response import ResponseScale
from hexcursion.record import Expected
from hexcursion.releasing.release_guard import objections
from hexcursion.search.choice import Choice, tuning_of
from hexcursion.search.tuning import tune
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.names import Focus, Transform
from studies.excursions.fields import Bools
from studies.london.study import released_sets
from studies.material.real_files import real_files_parser

SEED, EPSILONS = 155, (1.0, 3.0, 10.0)
TARGET_RANGE = 8.0  # of the target map, in spacings of the hexagons
# Values below are raised to this bound before logarithms; a target map is fitted to fewer records.
LEAST, MOST = 0.5, 2_000
CLIPS = 0.5, 1.0, 2.0, 3.0  # of the oracle's grid, in standard deviations of the values
RANGES = 0.05, 0.12, 0.25, 0.5  # in extents of the area
SPREADS = 0.5, 1.0  # of the field, in standard deviations of the values
RIDGES = 0.7, 1.5
CUTOFFS = 0.5, 0.4, 0.3, None  # None: the release's own
GLANCE = 16  # releases by which the oracle chooses


@dataclass(frozen=True)
class Survey:
    """One table: its file, value column, coordinate columns and system, its hexagons' resolution, its box.

    Without a `threshold` it is the 60 % quantile of the values.
    """

    title: str
    file: str
    value: str
    x: str
    y: str
    crs: str
    resolution: int
    box: tuple[float, float, float, float]
    threshold: float | None = None


SURVEYS = (
    Survey(
        "Meuse lead", "sensors/meuse_topsoil_metals.csv", "lead", "x", "y", "EPSG:28992", 9,
        (5.72, 50.955, 5.765, 50.995),
    ),
    Survey(
        "Jura cadmium", "sensors/jura_topsoil_metals_pred.csv", "Cd", "long", "lat", "EPSG:4326", 9,
        (6.81, 47.11, 6.90, 47.17),
    ),
    Survey(
        "LAQN NO2 2023", "sensors/london_laqn_2023_station_means.csv", "no2_ugm3", "lon", "lat", "EPSG:4326",
        7,
        (-0.51, 51.28, 0.33, 51.69),
    ),
    Survey(
        "arsenic wells", "wells/bangladesh_wells_arsenic.csv.gz", "Arsenic", "lon", "lat", "EPSG:4326", 5,
        (88.0, 20.6, 92.8, 26.7), 10.0,
    ),
)  # fmt: skip


OTHERS = tuple(
    replace(survey, title=f"{survey.title.split()[0]} {name}", value=column or name)
    for survey, name, column in (
        *((SURVEYS[0], name, "") for name in ("cadmium", "copper", "zinc")),
        (SURVEYS[1], "cobalt", "Co"),
        (SURVEYS[1], "chromium", "Cr"),
        (SURVEYS[1], "copper", "Cu"),
        (SURVEYS[1], "nickel", "Ni"),
        (SURVEYS[1], "lead", "Pb"),
        (SURVEYS[1], "zinc", "Zn"),
    )
)
"""The other metals of the same samples: no setting was chosen on them."""


def main() -> None:
    parser = real_files_parser(__doc__)
    parser.add_argument(
        "--draws", type=int, default=40, help="simulated releases of each design (default 40)"
    )
    parser.add_argument("--only", default="", help="surveys whose title holds this")
    parser.add_argument("--scale", choices=get_args(Transform), default="identity", help="of the values")
    parser.add_argument("--focus", choices=get_args(Focus), help="of the oracle's designs")
    parser.add_argument("--hidden", action="store_true", help="leave out public places and epsilon 10")
    parser.add_argument("--oracle", action="store_true", help="best of a grid of designs, truth known")
    options = parser.parse_args()
    if not (options.folder / "sensors").is_dir():
        print("The sensor tables are not there: they are not shipped; name the folder that holds `sensors`.")
        return
    rows = _oracle_rows if options.oracle else _rows
    middle = (
        "median  own    best  "
        if options.oracle
        else "told   80 % range  own    IoU    SD     s.e.   fitted  CPU s "
    )
    print(f"survey          n   cells  places   all    epsilon  {middle}  design")
    for survey in (each for each in SURVEYS if options.only in each.title):
        for line in rows(survey, options):
            print(line, flush=True)
    print(f"Seed {SEED}; {options.draws} simulated releases of each design; `all`: everything painted.")


def survey_settings(
    survey: Survey,
    folder: Path,
    *,
    scale: Transform = "identity",
    focus: Focus | None = None,
    places: bool = False,
    clip: float = 1.0,
) -> ReleaseSettings:
    """A survey in its box, its places public or not, the clip bound in standard deviations of the values."""
    path = folder / survey.file
    value = pd.read_csv(path)[survey.value].dropna().to_numpy(dtype=np.float64)
    threshold = float(np.quantile(value, 0.6)) if survey.threshold is None else survey.threshold
    spread = float(np.std(np.log(value) if scale == "log" else value))
    return ReleaseSettings(
        data=SourceSettings(
            str(path), value=survey.value, x=survey.x, y=survey.y, crs=survey.crs, missing=("none",)
        ),
        value_unit="mg/kg" if "topsoil" in survey.file else "ug/m3",
        bbox=survey.box,
        resolution=survey.resolution,
        threshold=threshold,
        transform=scale,
        centre=float(np.log(threshold)) if scale == "log" else threshold,
        clip=float(f"{clip * spread:.3g}"),
        mechanisms=("spectral-statistics",),
        places_public=places,
        **({} if focus is None else {"focus": focus}),
    )


def _project(survey: Survey, options: Namespace, places: bool, clip: float = 1.0) -> Project:
    return load_project(
        survey_settings(
            survey, options.folder, scale=options.scale, focus=options.focus, places=places, clip=clip
        )
    )


def _at(project: Project, epsilon: float) -> Project:
    return replace(project, settings=project.settings.with_changes(epsilon=epsilon))


def _choice(project: Project, design: Design, response: ResponseScale) -> Choice:
    return Choice(design, response, tuning_of(project, project.reference_kind, ""))


def _head(survey: Survey, project: Project, truth: Bools) -> str:
    settings = project.settings
    return (
        f"{survey.title:14}  {project.private.placed.index.size:3}  {truth.size:4}  "
        f"{'public' if settings.places_public else 'hidden'}   "
        f"{iou(np.ones_like(truth), truth):.3f}  {settings.epsilon:6.0f}"
    )


def _rows(survey: Survey, options: Namespace) -> Iterator[str]:
    draws = options.draws
    for places in (False,) if options.hidden else (False, True):
        loaded = _project(survey, options, places)
        truth, fitted = smooth_map(loaded), peer_map(loaded)
        for epsilon in EPSILONS[: 2 if options.hidden else None]:
            project = _at(loaded, epsilon)
            start = process_time()
            tuned = tune(project, frontier=())
            took = process_time() - start
            choice = tuned.choice
            released = released_sets(project, choice, draws, SimulationEntropy(SEED))
            values, baseline = ious(released, truth), fit_baseline(project, tuned.result.model).inside
            spread, expected = float(values.std(ddof=1)), choice.expected
            agreement = float("nan") if expected is None or expected.agreement is None else expected.agreement
            yield (
                f"{_head(survey, project, truth)}  {agreement:.3f}  {_range(expected)}  "
                f"{ious(released, baseline).mean():.3f}  {values.mean():.3f}  {spread:.3f}  "
                f"{spread / np.sqrt(draws):.3f}  {ious(released, fitted).mean():.3f}   {took:5.1f}  "
                f"{_cut(choice.design)}, range {getattr(choice.design, 'lengthscale', 0.0):.0f} m"
            )
            against = objections(expected, choice.yardsticks)
            verdict = f"stopped, {' and '.join(against)}" if against else "may be released"
            yield f"    said beforehand: {verdict}."


def _range(expected: Expected | None) -> str:
    """The stated range of agreement of eight of ten simulated releases, if any."""
    low, high = getattr(expected, "low", None), getattr(expected, "high", None)
    return f"{low:.2f} to {high:.2f}" if low is not None and high is not None else "-" * 12


def _oracle_rows(survey: Survey, options: Namespace) -> Iterator[str]:
    for places in (False, True):
        loaded = [_project(survey, options, places, clip) for clip in CLIPS]
        truth = smooth_map(loaded[0])
        for epsilon in EPSILONS:
            projects = [_at(project, epsilon) for project in loaded]
            grid = [
                (project, design)
                for project, clip in zip(projects, CLIPS, strict=True)
                for design in _designs(project, clip)
            ]
            values = [_judged(*each, truth, GLANCE, SEED + 1) for each in grid]
            order = sorted(range(len(grid)), key=values.__getitem__)
            best = grid[order[-1]]
            own_cutoff = grid[next(k for k in reversed(order) if _chooses(grid[k][1]))]
            again = [_judged(*each, truth, options.draws, SEED) for each in (own_cutoff, best)]
            figures = "  ".join(f"{value:.3f}" for value in again)
            yield (
                f"{_head(survey, projects[0], truth)}  {np.median(values):.3f}   {figures}   "
                f"{_cut(best[1])}, clip bound {best[0].response.clip:g}, "
                f"range {getattr(best[1], 'lengthscale', 0.0):.0f} m"
            )


def _judged(project: Project, design: Design, truth: Bools, releases: int, seed: int) -> float:
    choice = _choice(project, design, project.response)
    return float(ious(released_sets(project, choice, releases, SimulationEntropy(seed)), truth).mean())


def _designs(project: Project, clip: float) -> Iterator[SpectralStatisticsDesign]:
    """The oracle's grid under one clip bound, at the project's budget."""
    mu = Budget(project.settings.epsilon, project.delta, project.settings.bound).mu
    extent = float(np.ptp(project.lattice.domain_centres, axis=0).max())
    for share, spread, ridge, cutoff in product(RANGES, SPREADS, RIDGES, CUTOFFS):
        yield SpectralStatisticsDesign(
            STRATEGY, PRIOR, share * extent, SIGNAL, 0.0, spread / clip, 1.0, ridge, mu, COMMON,
            "design" if cutoff else "release", cutoff=cutoff or 0.5, paths=PATHS,
        )  # fmt: skip


def _chooses(design: Design) -> bool:
    """Whether its releases choose their own cutoffs."""
    return design != design.with_cutoff(design.cutoff)


def _cut(design: Design) -> str:
    return "own cutoff" if _chooses(design) else f"cutoff {design.cutoff:g}"


def peer_map(project: Project) -> Bools:
    """(N,) where scikit-learn's Gaussian process on the records is above the threshold, range fitted."""
    extent = float(np.ptp(project.lattice.domain_centres, axis=0).max())
    value = project.private.placed.value
    covariance = Matern(extent / 8.0, (extent / 100.0, extent), nu=1.5)
    return _above(project, covariance, value, project.settings.threshold, float(value.mean()))


def smooth_map(project: Project) -> Bools:
    """(N,) the same on logarithms about their median, of exponential covariance, at `TARGET_RANGE`."""
    value = np.log(np.maximum(project.private.placed.value, LEAST))
    covariance = Matern(TARGET_RANGE * project.lattice.spacing, "fixed", nu=0.5)
    return _above(project, covariance, value, np.log(project.settings.threshold), float(np.median(value)))


def _above(project: Project, covariance: Matern, value: np.ndarray, threshold: float, mean: float) -> Bools:
    index, centres = project.private.placed.index, project.lattice.domain_centres
    sample = np.random.default_rng(SEED).permutation(index.size)[:MOST]
    index, value = index[sample], value[sample]
    kernel = ConstantKernel(1.0) * covariance + WhiteKernel(0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = GaussianProcessRegressor(kernel, random_state=SEED)
        fitted.fit(centres[index], (value - mean) / value.std())
    return np.asarray(fitted.predict(centres) > (threshold - mean) / value.std())


if __name__ == "__main__":
    main()
