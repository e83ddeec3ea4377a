"""The moving picture of a posterior path: `python -m studies.screens.path [--out FILE]`.

Five paths of the posterior, simulated from the public year of the shipped example, are shown one after the
other. The seed is fixed. A system that asks for less motion shows the first path only.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import h3
import numpy as np
from numpy.typing import NDArray

from dpgp_core.linalg import Bools
from geo import Domain
from geo.colours import colour
from hexcursion.door.pipeline import search_design
from hexcursion.project.example import county_settings
from hexcursion.project.load import load_project
from hexcursion.search.bench import simulated_release

WIDTH, SECONDS = 360, 1.2  # pixels of the picture, and of one path
STATIC = Path(__file__).resolve().parents[2] / "static"


def shape_of(domain: Domain, cells: Bools) -> str:
    """The outline of a set of cells as SVG path data, y downwards."""
    west, north = domain.centres_lonlat[:, 0].min(), domain.centres_lonlat[:, 1].max()
    flat, per_degree = np.cos(np.radians(north)), _per_degree(domain)
    outline = h3.cells_to_h3shape([cell for cell, inside in zip(domain.cells, cells, strict=True) if inside])
    polygons = outline if isinstance(outline, h3.LatLngMultiPoly) else (outline,)
    rings = [ring for polygon in polygons for ring in (polygon.outer, *polygon.holes)]
    path_data = []
    for ring in rings:
        lat, lon = np.array(ring).T
        x, y = (lon - west) * flat * per_degree + 5, (north - lat) * per_degree + 5
        points: NDArray[np.int64] = np.rint(np.column_stack([x, y])).astype(np.int64)
        path_data.append("M" + "L".join(f"{a} {b}" for a, b in points.tolist()) + "Z")
    return "".join(path_data)


def _per_degree(domain: Domain) -> float:
    lon, north = domain.centres_lonlat[:, 0], domain.centres_lonlat[:, 1].max()
    return float((WIDTH - 10) / ((lon.max() - lon.min()) * np.cos(np.radians(north))))


def picture() -> str:
    """The picture as SVG."""
    project = load_project(
        county_settings().with_changes(mechanisms=("posterior-sampling",), priors=("car",))
    )
    tuned = search_design(project, beside=())
    domain, sets = project.domain, simulated_release(project, tuned.result, tuned.result.chosen).paths
    lat = domain.centres_lonlat[:, 1]
    height = round((lat.max() - lat.min()) * _per_degree(domain)) + 10
    share = 100 / len(sets)
    frames = "\n".join(
        f'<path class="p" style="animation-delay:{number * SECONDS:g}s" d="{shape_of(domain, cells)}"/>'
        for number, cells in enumerate(sets)
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">
<style>
.g{{fill:{colour("outside", "light")}}}.p{{fill:{colour("inside", "light")};fill-rule:evenodd;opacity:0;\
animation:p {len(sets) * SECONDS:g}s steps(1) infinite}}
@keyframes p{{0%{{opacity:1}}{share:g}%{{opacity:0}}}}
@media (prefers-reduced-motion:reduce){{.p{{animation:none}}.p:nth-of-type(2){{opacity:1}}}}
</style>
<path class="g" d="{shape_of(domain, np.ones(domain.size, dtype=bool))}"/>
{frames}
</svg>
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=STATIC / "path.svg", help="file of the picture")
    out = parser.parse_args().out
    out.write_text(picture(), encoding="utf-8")
    print(f"{out}: {out.stat().st_size / 1e3:.1f} kB")


if __name__ == "__main__":
    main()
