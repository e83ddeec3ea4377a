"""A village where three pollutants are measured together, and the settings of its atlas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import hexcursion
from tests.town import BOX

COLUMNS = ("no2", "o3", "pm")
PLAN: dict[str, Any] = {
    "value": list(COLUMNS),
    "lon": "lon",
    "lat": "lat",
    "area": BOX,
    "resolution": 7,
    "threshold": {"no2": 30.0, "o3": 60.0, "pm": 12.0},
    "centre": {"no2": 28.0, "o3": 58.0, "pm": 2.5},
    "clip": {"no2": 15.0, "o3": 16.0, "pm": 0.6},
    "transform": {"pm": "log"},
    "value_unit": "ug/m3",
    "epsilon": 3.0,
    "quick": True,
    "accept_low_agreement": True,
    "derived": [["both", "no2", "pm"], ["ratio", "o3", "pm", 4.5]],
}
"""Three columns on 16 hexagons."""

OPTIONS = [
    "--value", *COLUMNS, "--lon", "lon", "--lat", "lat", "--bbox", *map(str, BOX), "--resolution", "7",
    "--threshold", "no2=30", "o3=60", "pm=12", "--centre", "no2=28", "o3=58", "pm=2.5",
    "--clip", "no2=15", "o3=16", "pm=.6", "--transform", "pm=log", "--value-unit", "ug/m3",
    "--epsilon", "3", "--quick", "--accept-low-agreement",
    "--derived", "both", "no2", "pm", "--derived", "ratio", "o3", "pm", "4.5",
]  # fmt: skip
"""The same on the command line."""

FILE = """
epsilon = 3.0
bbox = [10.0, 50.0, 10.12, 50.08]
resolution = 7
quick = true
accept_low_agreement = true
value_unit = "ug/m3"
derived = [["both", "no2", "pm"], ["ratio", "o3", "pm", 4.5]]

[data]
path = "{path}"
x = "lon"
y = "lat"

[columns.no2]
threshold = 30
centre = 28
clip = 15

[columns.o3]
threshold = 60
centre = 58
clip = 16

[columns.pm]
threshold = 12
centre = 2.5
clip = 0.6
transform = "log"
"""
"""The same as a settings file."""


def village(n: int = 700, seed: int = 3) -> pandas.DataFrame:
    """n records in the box: no2 and pm high in the west, o3 in the east, around planes."""
    rng = np.random.default_rng(seed)
    west, south, east, north = BOX
    lon, lat = rng.uniform(west, east, n), rng.uniform(south, north, n)
    slope = 2.0 * (lon - west) / (east - west) - 1.0
    return pandas.DataFrame(
        {
            "lon": lon.round(6),
            "lat": lat.round(6),
            "no2": (28.0 - 8.0 * slope + 4.0 * rng.standard_normal(n)).round(3),
            "o3": (58.0 + 9.0 * slope + 5.0 * rng.standard_normal(n)).round(3),
            "pm": np.exp(2.5 - 0.3 * slope + 0.2 * rng.standard_normal(n)).round(3),
        }
    )


def written(folder: Path, frame: pandas.DataFrame) -> Path:
    """The records as a file."""
    path = folder / "village.csv"
    frame.to_csv(path, index=False)
    return path


def atlas_of(factory: pytest.TempPathFactory, frame: pandas.DataFrame | None = None, **settings: Any) -> Path:
    """A released atlas of the village, or of other records, with a ledger that no test shares."""
    folder = factory.mktemp("atlas")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEXCURSION_HOME", str(folder / "home"))
        patch.setenv("HEXCURSION_WITNESS", str(folder / "witness"))
        hexcursion.release(village() if frame is None else frame, **settings, out=folder / "atlas")
    return folder / "atlas"
