"""House sales of Lucas County, Ohio, 1993 to 1998: the real place that ships with the program."""

from __future__ import annotations

from pathlib import Path

SALES = Path(__file__).with_name("sales.csv.gz")
"""25,357 sales: `price` (dollars), `lon`, `lat` (WGS 84), `year`; README.md says where they are from."""

TOLEDO = (-83.75, 41.56, -83.35, 41.74)
"""West, south, east, north: the city and its suburbs."""
