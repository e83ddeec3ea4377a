"""Spectral statistics on small public sensor tables: `python -m benchmarks.spectral_sensors [FOLDER]`.

FOLDER is ../shared/data beside the checkout unless named; where the files are absent one sentence says so.
Nothing but the number of records tunes a design: the reference data are simulated fields. The threshold is
the 60 % quantile, the response is centred there, and the figure is the mean IoU over simulated releases with
the map of a scikit-learn Gaussian process on the same records.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from benchmarks.london import real_files_parser
from dpgp_core.excursion.scores import iou, ious
from dpgp_core.mechanisms.base import Design
from dpgp_core.noise.entropy import SimulationEntropy
from geo import crs_by_name, to_lonlat
from studies.london.study import released_sets
from workflow.project.load import Project, load_project
from workflow.release.worth import Yardsticks, objections
from workflow.search.decision.choice import Choice, expected_of, tuning_of
from workflow.search.decision.tuning import search_task
from workflow.search.optimisation.optimise import search
from workflow.settings.model import ReleaseSettings, SourceSettings

SEED, EPSILONS, MARGIN = 155, (1.0, 3.0, 10.0), 0.08


@dataclass(frozen=True)
class Survey:
    """One table: its file, value column, coordinate columns and system, and its hexagons' resolution."""

    title: str
    file: str
    value: str
    x: str
    y: str
    crs: str
    resolution: int


SURVEYS = (
    Survey("Meuse lead", "meuse_topsoil_metals.csv", "lead", "x", "y", "EPSG:28992", 9),
    Survey("Jura cadmium", "jura_topsoil_metals_pred.csv", "Cd", "long", "lat", "EPSG:4326", 9),
    Survey("LAQN NO2 2023", "london_laqn_2023_station_means.csv", "no2_ugm3", "lon", "lat", "EPSG:4326", 7),
)


def main() -> None:
    parser = real_files_parser(__doc__)
    parser.add_argument(
        "--draws", type=int, default=40, help="simulated releases of each design (default 40)"
    )
    parser.add_argument("--only", default="", help="surveys whose title holds this")
    asked = parser.parse_args()
    if not (asked.folder / "sensors").is_dir():
        print("The sensor tables are not there: they are not shipped; name the folder that holds `sensors`.")
        return
    print("survey          n   cells  places   all    epsilon  told   IoU    SD     s.e.   design")
    for survey in (each for each in SURVEYS if asked.only in each.title):
        for line in _rows(survey, asked.folder, asked.draws):
            print(line, flush=True)
    print(f"Seed {SEED}; {asked.draws} simulated releases of each design; `all`: everything painted.")


def _rows(survey: Survey, folder: Path, draws: int) -> Iterator[str]:
    path = folder / "sensors" / survey.file
    table = pd.read_csv(path).dropna(subset=[survey.value])
    value = table[survey.value].to_numpy(dtype=np.float64)
    lon, lat = to_lonlat(
        table[survey.x].to_numpy(float), table[survey.y].to_numpy(float), crs_by_name(survey.crs)
    )
    wide, high = MARGIN * np.ptp(lon), MARGIN * np.ptp(lat)
    box = (lon.min() - wide, lat.min() - high, lon.max() + wide, lat.max() + high)
    threshold = float(np.quantile(value, 0.6))
    settings = ReleaseSettings(
        data=SourceSettings(str(path), value=survey.value, x=survey.x, y=survey.y, crs=survey.crs),
        value_unit="mg/kg" if survey.crs != "EPSG:4326" or "Jura" in survey.title else "ug/m3",
        bbox=(round(box[0], 4), round(box[1], 4), round(box[2], 4), round(box[3], 4)),
        resolution=survey.resolution, threshold=threshold,
        centre=threshold, clip=float(f"{np.std(value):.3g}"), mechanisms=("spectral-statistics",),
        focus="threshold",
    )  # fmt: skip
    for places in (False, True):
        project = load_project(settings.with_changes(places_public=places))
        truth, free = peer_map(project), None
        for epsilon in EPSILONS:
            made = replace(project, settings=project.settings.with_changes(epsilon=epsilon))
            found = search(replace(search_task(made, None, free), frontier=()))
            free, chosen = found.unconstrained, found.chosen
            choice = Choice(chosen.design, chosen.response, tuning_of(made, made.reference_kind, ""))
            values = ious(released_sets(made, choice, draws, SimulationEntropy(SEED)), truth)
            spread = float(values.std(ddof=1))
            yield (
                f"{survey.title:14}  {value.size:3}  {truth.size:4}  {'public' if places else 'hidden'}   "
                f"{iou(np.ones_like(truth), truth):.3f}  {epsilon:6.0f}  {chosen.utility.agreement:.3f}  "
                f"{values.mean():.3f}  {spread:.3f}  {spread / np.sqrt(draws):.3f}  "
                f"{_cut(chosen.design)}, range {getattr(chosen.design, 'lengthscale', 0.0):.0f} m"
            )
            against = objections(expected_of(made, chosen), Yardsticks(found.one_colour))
            verdict = f"stopped, {' and '.join(against)}" if against else "may be released"
            yield f"    said beforehand: {verdict}."


def _cut(design: Design) -> str:
    given = design == design.with_cutoff(design.cutoff)
    return f"cutoff {design.cutoff:g}" if given else "own cutoff"


def peer_map(project: Project) -> np.ndarray:
    """(N,) where scikit-learn's Gaussian process on the records lies above the threshold."""
    placed, centres = project.private.placed, project.lattice.domain_centres
    extent = float(np.ptp(centres, axis=0).max())
    kernel = ConstantKernel(1.0) * Matern(extent / 8.0, (extent / 100.0, extent), nu=1.5) + WhiteKernel(0.3)
    values = (placed.value - placed.value.mean()) / placed.value.std()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = GaussianProcessRegressor(kernel, random_state=SEED).fit(centres[placed.index], values)
    level = (project.settings.threshold - placed.value.mean()) / placed.value.std()
    return np.asarray(fitted.predict(centres) > level)


if __name__ == "__main__":
    main()
