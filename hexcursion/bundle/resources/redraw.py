"""Redraw every region of this bundle from its released paths, and check them against regions.geojson.

    python redraw.py                                     check the published regions
    python redraw.py --threshold 500000 --out new.geojson    draw the regions at another threshold

Needs Python 3.11 or newer with `geopandas` (with pyarrow) and `h3`; nothing else, no internet, no secrets.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from statistics import NormalDist
from typing import Any

import geopandas
import h3
import numpy as np
import pandas as pd
import shapely


def read(folder: Path) -> tuple[dict[str, Any], pd.DataFrame, np.ndarray]:
    """The statement, the table of the cells, and the paths (L, N), smoothed as published."""
    statement = json.loads((folder / "statement.json").read_text(encoding="utf-8"))
    table = pd.read_parquet(folder / "paths.parquet")
    cells = table["h3"].tolist()
    paths = table.filter(regex="^path_").to_numpy().T
    position = {cell: i for i, cell in enumerate(cells)}
    near = [[position[c] for c in h3.grid_disk(cell, 1) if c in position] for cell in cells]
    for _ in range(statement["products"]["smoothing"]):
        paths = np.array([paths[:, group].mean(axis=1) for group in near]).T
    return statement, table, paths


def response_of(threshold: float, statement: dict[str, Any]) -> float:
    """The threshold in response units, by the public map of the statement."""
    response = statement["response"]
    value = threshold
    if response["transform"] == "log":
        value = math.log(threshold)
    elif response["transform"] == "probit":  # a share in per cent
        value = NormalDist().inv_cdf(threshold / 100.0)
    return float((value - response["centre"]) / response["clip"])


def inner(inside: np.ndarray, confidence: float) -> np.ndarray:
    """The largest set {votes >= t} that a share >= confidence of the paths contains as a whole."""
    votes = inside.mean(axis=0)
    best = np.zeros(votes.size, dtype=bool)
    for share in np.unique(votes)[::-1]:
        candidate = votes >= share
        if inside[:, candidate].all(axis=1).mean() < confidence - 1e-9:
            break
        best = candidate
    return best


def surest(
    table: pd.DataFrame, inside: np.ndarray, level: float, direction: str, confidence: float
) -> np.ndarray:
    """The inner set by the order of the probabilities: all its cells at once in a share of the draws."""
    sign = 1.0 if direction == "above" else -1.0
    mean = table["mean"].to_numpy()
    score = sign * (mean - level) / np.maximum(table["sd"].to_numpy(), 1e-12)
    order = np.lexsort((-sign * mean, -score))
    holding = np.logical_and.accumulate(inside[:, order], axis=1).mean(axis=0)
    found = np.zeros(mean.size, dtype=bool)
    found[order] = holding >= confidence - 1e-9
    return found


def probability(
    table: pd.DataFrame, level: float, direction: str, mean: str = "mean", sd: str = "sd"
) -> np.ndarray | None:
    """(N,) probability of the asked side of the level given the release, where its mechanism has one."""
    if mean not in table:
        return None
    sign = 1.0 if direction == "above" else -1.0
    score = sign * (table[mean] - level) / np.maximum(table[sd], 1e-12)
    return np.array([0.5 * math.erfc(-value / math.sqrt(2.0)) for value in score])


def judged(statement: dict[str, Any], table: pd.DataFrame) -> np.ndarray:
    """(N,) the judged cells: the fewest that together hold a share of the expected records."""
    share = statement["products"]["judged"]
    expected = table["records"].to_numpy() if "records" in table else np.zeros(len(table))
    ranked = np.sort(expected)[::-1]
    total = float(expected.sum())
    if total <= 0.0:
        return np.ones(len(table), dtype=bool)
    last = min(int(np.searchsorted(np.cumsum(ranked), share * total - 1e-9 * total)), ranked.size - 1)
    return np.asarray(expected >= ranked[last])


def classes(there: np.ndarray, chance: np.ndarray) -> dict[str, np.ndarray]:
    """Judged cells that are likely on the asked side, open, or likely not."""
    written = np.round(chance, 4)
    likely, unlikely = written >= 0.8 - 1e-9, written <= 0.2 + 1e-9
    return {
        "likely": likely & there, "open": ~likely & ~unlikely & there, "likely-not": unlikely & there
    }  # fmt: skip


def products(
    folder: Path, statement: dict[str, Any], table: pd.DataFrame, paths: np.ndarray, level: float
) -> dict[str, np.ndarray]:
    """Cells of every product from the smoothed paths (L, N) and what lies beside them."""
    direction = statement["subject"]["direction"]
    other = "below" if direction == "above" else "above"
    inside = paths > level if direction == "above" else paths <= level
    draws = inside
    if "draws" in statement["paths"]:
        field = pd.read_parquet(folder / "draws.parquet").filter(regex="^draw_").to_numpy().T
        draws = field > level if direction == "above" else field <= level
    share = None if draws is not inside else probability(table, level, direction)
    if statement["products"].get("cut_by_map", False):
        share = probability(table, level, direction, "map_mean", "map_sd")
    votes = inside.mean(axis=0)
    there = judged(statement, table)
    made = classes(there, votes if (chance := probability(table, level, direction)) is None else chance)
    made |= {f"path {k + 1}": path for k, path in enumerate(inside)}
    made["vote-set"] = (votes if share is None else share) >= statement["products"]["cutoff"] - 1e-9
    wanted = votes.sum()
    if wanted <= 1e-9:
        made["vorobev"] = np.zeros(votes.size, dtype=bool)
    else:
        needed = max(1, math.ceil(wanted - 1e-9 * votes.size))
        made["vorobev"] = votes >= np.sort(votes)[::-1][needed - 1] - 1e-9
    confidence = statement["products"]["confidence"]
    if confidence is not None:
        ranked = statement["products"].get("excursion_function", False) and "mean" in table
        if ranked:
            made["inner"] = surest(table, draws, level, direction, confidence)
            made["outer"] = ~surest(table, ~draws, level, other, confidence)
        else:
            made["inner"] = inner(draws, confidence)
            made["outer"] = ~inner(~draws, confidence)
    return {name: cells & there for name, cells in made.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--threshold", type=float, help="in the data's own unit; default: as published")
    parser.add_argument("--out", type=Path, help="write the redrawn regions to this GeoJSON file")
    options = parser.parse_args()
    folder = Path(__file__).resolve().parent
    statement, table, paths = read(folder)
    cells = table["h3"].tolist()
    published = options.threshold is None
    transform = statement["response"]["transform"]
    if not published and transform == "log" and not options.threshold > 0:
        print("The threshold must be positive.", file=sys.stderr)
        return 2
    if not published and transform == "probit" and not 0 < options.threshold < 100:
        print("The threshold must be a share above 0 and below 100 per cent.", file=sys.stderr)
        return 2
    level = (
        statement["subject"]["threshold_response"] if published else response_of(options.threshold, statement)
    )
    made = products(folder, statement, table, paths, level)

    wrong = []
    if published:
        there = geopandas.read_file(folder / "regions.geojson", engine="pyogrio")
        centres = [h3.cell_to_latlng(cell) for cell in cells]
        points = shapely.points([(lon, lat) for lat, lon in centres])
        for row in there.itertuples():
            name = f"path {int(row.path)}" if row.product == "path" else row.product
            empty = row.geometry is None or row.geometry.is_empty
            drawn = np.zeros(len(cells), dtype=bool) if empty else shapely.contains(row.geometry, points)
            if name not in made or not np.array_equal(drawn, made[name]):
                wrong.append(name)
        print(f"{len(there) - len(wrong)} of {len(there)} published regions follow from the paths.")
        for name in wrong:
            print(f"DIFFERENT: {name}")
    for name, members in made.items():
        if not name.startswith("path"):
            print(f"{name}: {int(members.sum())} of {len(cells)} cells")
    if options.out is not None:
        chosen = {
            name: [c for c, m in zip(cells, members, strict=True) if m] for name, members in made.items()
        }
        shapes = [shapely.geometry.shape(h3.cells_to_geo(c)) if c else None for c in chosen.values()]
        frame = geopandas.GeoDataFrame({"product": list(chosen)}, geometry=shapes, crs="EPSG:4326")
        frame.to_file(options.out, driver="GeoJSON", engine="pyogrio", RFC7946="YES")
        print(f"Written: {options.out}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
