"""House sales of Lucas County, Ohio, 1993 to 1998: the real data that ship with the program."""

from __future__ import annotations

from pathlib import Path

SALES = Path(__file__).with_name("sales.csv.gz")
"""25,357 sales: `price` (dollars), `lon`, `lat` (WGS 84), `year`; README.md states their source."""

TOLEDO = (-83.75, 41.56, -83.35, 41.74)
"""West, south, east, north: the city and its suburbs."""
