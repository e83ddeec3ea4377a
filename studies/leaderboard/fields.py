"""The maps of the leaderboard: each a project, its delta, and the set without privacy to be reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from dpgp_core.noise import SimulationEntropy
from geo import crs_by_name, to_lonlat
from hexcursion.project.baseline import curators_map
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.search.score import unconstrained_design
from hexcursion.search.task import Unconstrained
from hexcursion.search.tuning import search_task
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings
from studies.excursions.fields import Bools, Floats
from studies.excursions.plane_worlds import Plumes
from studies.london.task import generated_settings, load_task, real_settings

MARGIN = 0.08  # of a survey's extent, added around it
HIGHER = 700_000.0  # pounds
PLUME_SENSORS, PLUME_NOISE, PLUME_SEED = 800, 0.3, 21
CORNER, SIDE = (10.0, 50.0), 0.1  # of the plumes' square, degrees


@dataclass(frozen=True, eq=False)
class Contest:
    """One data set, ready to be contested.

    Parameters
    ----------
    title
    project
        With private places.
    truth
        (N,) the set to be reached.
    aim
        What that set is, in words.
    free
        The baseline's design on the reference data; None before its search.
    """

    title: str
    project: Project
    truth: Bools
    aim: str
    free: Unconstrained | None = None


@dataclass(frozen=True)
class Survey:
    """One table of a few stations or samples.

    Parameters
    ----------
    file
        in the folder `sensors` of the real files
    value, unit
        column of the measured value, and its unit of measure
    x, y, crs
        columns of the coordinates, and their reference system
    resolution
        of the hexagons
    """

    title: str
    file: str
    value: str
    unit: str
    x: str
    y: str
    crs: str
    resolution: int


SURVEYS = (
    Survey(
        "LAQN NO2 2023",
        "london_laqn_2023_station_means.csv",
        "no2_ugm3",
        "ug/m3",
        "lon",
        "lat",
        "EPSG:4326",
        7,
    ),
    Survey("Meuse lead", "meuse_topsoil_metals.csv", "lead", "mg/kg", "x", "y", "EPSG:28992", 9),
    Survey("Jura cadmium", "jura_topsoil_metals_pred.csv", "Cd", "mg/kg", "long", "lat", "EPSG:4326", 9),
)


def contests(
    folder: Path | None, scratch: Path, peer_map: Callable[[Project], Bools]
) -> list[tuple[str, Callable[[], list[Contest]]]]:
    """The maps of the leaderboard in order, each made when it is needed.

    Parameters
    ----------
    folder
        Of the real files; None leaves them out.
    scratch
        Where generated tables are written.
    peer_map
        (N,) the set to be reached on a project of a survey: another program's map of the same records.
    """
    generated: list[tuple[str, Callable[[], list[Contest]]]] = [
        ("plumes", lambda: [plumes(scratch)]),
        ("generated city", lambda: city(generated_settings(), "Generated city", ())),
    ]
    if folder is None:
        return generated
    surveys = [
        (entry.title, partial(_one_survey, entry, folder, peer_map))
        for entry in SURVEYS
        if (folder / "sensors" / entry.file).is_file()
    ]
    return [*surveys, *generated, ("London", lambda: city(real_settings(folder), "London", (HIGHER,)))]


def _one_survey(table_of: Survey, folder: Path, peer_map: Callable[[Project], Bools]) -> list[Contest]:
    return [survey(table_of, folder, peer_map)]


def city(settings: ReleaseSettings, title: str, further: tuple[float, ...]) -> list[Contest]:
    """Sales of one year, designs tuned on those of the year before, at one threshold and further ones."""
    plain = load_task(settings, "region")
    contests_of_city = []
    for threshold in (settings.threshold, *further):
        project = replace(plain, settings=plain.settings.with_changes(threshold=threshold))
        free = baseline_design(project)
        truth = curators_map(project, free.design).inside
        name = f"{title}, {threshold:,.0f} GBP"
        contests_of_city.append(Contest(name, project, truth, "map without privacy of the later year", free))
    return contests_of_city


def baseline_design(project: Project) -> Unconstrained:
    """The Gaussian process without privacy that does best on the reference data."""
    return unconstrained_design(search_task(project))


def survey(table_of: Survey, folder: Path, peer_map: Callable[[Project], Bools]) -> Contest:
    """A table of stations; the threshold is the 60 % quantile, and nothing but n tunes a design.

    `folder` and `peer_map` as for `contests`.
    """
    path = folder / "sensors" / table_of.file
    table = pd.read_csv(path).dropna(subset=[table_of.value])
    value, x, y = (
        table[name].to_numpy(dtype=np.float64) for name in (table_of.value, table_of.x, table_of.y)
    )
    lon, lat = to_lonlat(x, y, crs_by_name(table_of.crs))
    wide, high = MARGIN * np.ptp(lon), MARGIN * np.ptp(lat)
    box = (lon.min() - wide, lat.min() - high, lon.max() + wide, lat.max() + high)
    threshold = float(np.quantile(value, 0.6))
    settings = ReleaseSettings(
        data=SourceSettings(str(path), value=table_of.value, x=table_of.x, y=table_of.y, crs=table_of.crs),
        value_unit=table_of.unit,
        bbox=(round(box[0], 4), round(box[1], 4), round(box[2], 4), round(box[3], 4)),
        resolution=table_of.resolution,
        threshold=threshold,
        centre=threshold,
        clip=float(f"{np.std(value):.3g}"),
    )
    project = load_project(settings)
    return Contest(table_of.title, project, peer_map(project), "map of scikit-learn's Gaussian process")


def plumes(scratch: Path, sensors: int = PLUME_SENSORS) -> Contest:
    """One field of two plumes on a square, known everywhere, seen by sensors with noise."""
    entropy = SimulationEntropy(PLUME_SEED)
    field = Plumes.draw(1, entropy)
    places = entropy.uniform((sensors, 2))
    noise = 2.0 * entropy.uniform(sensors) - 1.0
    value = (1.0 - PLUME_NOISE) * field.at(places)[0] + PLUME_NOISE * noise
    path = scratch / f"plumes-{sensors}.csv"
    lonlat = on_the_ground(places)
    pd.DataFrame({"lon": lonlat[:, 0], "lat": lonlat[:, 1], "value": value}).to_csv(path, index=False)
    west, south = CORNER
    settings = ReleaseSettings(
        data=SourceSettings(str(path), value="value", x="lon", y="lat", crs="EPSG:4326"),
        value_unit="units",
        bbox=(west, south, west + SIDE, south + SIDE),
        resolution=8,
        threshold=0.0,
        centre=0.0,
        clip=1.0,
    )
    project = load_project(settings)
    inside = (project.domain.centres_lonlat - np.array(CORNER)) / SIDE
    return Contest("Plumes", project, field.at(np.clip(inside, 0.0, 1.0))[0] > 0.0, "true field")


def on_the_ground(places: Floats) -> Floats:
    """(n, 2) longitude and latitude of places in the unit square."""
    return np.asarray(np.array(CORNER) + SIDE * places)
