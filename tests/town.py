"""A small simulated town: sensor tables of two years on a box of about 250 hexagons."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings

BOX = (10.0, 50.0, 10.12, 50.08)
THRESHOLD = 30.0


@dataclass(frozen=True)
class Town:
    """Files of one town: private and reference sensor tables."""

    private: Path
    reference: Path

    def settings(self, **changes: object) -> ReleaseSettings:
        """Point records at epsilon 2, quick search by posterior sampling, everything public named."""
        columns = {"value": "no2", "x": "lon", "y": "lat"}
        base: dict[str, object] = {
            "data": SourceSettings(str(self.private), **columns),
            "reference": SourceSettings(str(self.reference), **columns),
            "reference_public": True,
            "prior_mean": False,  # one search, not one with and one without the public map
            "bbox": BOX,
            "resolution": 8,
            "threshold": THRESHOLD,
            "epsilon": 2.0,
            "value_name": "NO2",
            "value_unit": "ug/m3",
            "quick": True,
            "mechanisms": ("posterior-sampling",),
            "accept_dropped": True,  # many rows lie at the rim of the box
            "accept_low_agreement": True,  # last year's map of this town is as good as this year's
        }
        return ReleaseSettings(**{**base, **changes})  # type: ignore[arg-type]

    def uploaded(self, plan: ReleaseSettings) -> ReleaseSettings:
        """The same with the names under which a browser uploads the two files."""
        assert plan.reference is not None
        return plan.with_changes(
            data=replace(plan.data, path=self.private.name),
            reference=replace(plan.reference, path=self.reference.name),
        )


def field(lon: np.ndarray, lat: np.ndarray) -> np.ndarray:
    """The true field, ug/m3: one hill in the west."""
    west, south, east, north = BOX
    x, y = (lon - west) / (east - west), (lat - south) / (north - south)
    return 20.0 + 25.0 * np.exp(-((x - 0.3) ** 2 + (y - 0.5) ** 2) / 0.06)


def write_town(folder: Path, n: int = 3000, seed: int = 5) -> Town:
    """Two tables of n readings each, spread evenly, with noise of 4 ug/m3."""
    paths = []
    for number, name in enumerate(("private.csv", "reference.csv")):
        rng = np.random.default_rng([seed, number])
        lon = rng.uniform(BOX[0], BOX[2], n)
        lat = rng.uniform(BOX[1], BOX[3], n)
        value = field(lon, lat) + 4.0 * rng.standard_normal(n)
        rows = "\n".join(f"{a:.6f},{b:.6f},{c:.4f}" for a, b, c in zip(lon, lat, value, strict=True))
        path = folder / name
        path.write_text(f"lon,lat,no2\n{rows}\n", encoding="utf-8")
        paths.append(path)
    return Town(*paths)
