"""A made-up people: ages and heights in the form of the published table, from a curve with scatter."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def made_up(folder: Path) -> Path:
    """300 women and one man who is left out; 60 cm at birth, 150 cm grown up."""
    generator = np.random.default_rng(1)
    age = generator.uniform(0.0, 85.0, 300)
    height = 60.0 + 90.0 * (1.0 - np.exp(-age / 8.0)) + 3.0 * generator.normal(size=300)
    rows = [f"{a:.2f},{h:.2f},0" for a, h in zip(age, height, strict=True)]
    path = folder / "people.csv"
    path.write_text("\n".join(["age,height,male", *rows, "30,170,1"]) + "\n", encoding="utf-8")
    return path
