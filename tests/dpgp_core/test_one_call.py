"""A release in one call, and a library that needs numpy and scipy only."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import dpgp_core
from dpgp_core import Lattice
from dpgp_core.errors import HexcursionError, InvalidValue
from dpgp_core.noise import SystemEntropy
from hexcursion.version import VERSION
from tests.dpgp_core.hexmap import disk

LATTICE = disk(3, padding=1)
CELLS = np.arange(60 * LATTICE.size) % LATTICE.size
VALUES = np.where(LATTICE.domain_centres[CELLS, 0] > LATTICE.domain_centres[:, 0].mean(), 0.6, -0.6)

BLOCKED = """
import sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        first = name.split(".")[0]
        if first not in OURS and first not in sys.stdlib_module_names and not first.startswith("_"):
            raise ModuleNotFoundError(name)
OURS = {"dpgp_core", "numpy", "scipy"}
sys.meta_path.insert(0, Nothing())
import dpgp_core
print(dpgp_core.__version__, sorted({"pandas", "geopandas", "streamlit"} & set(sys.modules)))
"""


def test_the_library_needs_numpy_and_scipy_only() -> None:
    run = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == (f"{VERSION} []\n", "")


def test_one_call_releases_what_the_records_say_within_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(
        "dpgp_core.mechanisms.registry.draw_release",
        lambda ready, entropy: drawn.append((ready, entropy)) or ready,
    )
    dpgp_core.release(VALUES, CELLS, LATTICE, 3.0, 1e-5)
    ((ready, entropy),) = drawn
    assert type(entropy) is SystemEntropy
    facts = dpgp_core.PublicFacts(LATTICE, n=VALUES.size)
    cost = dpgp_core.MECHANISMS["spectral-statistics"].guarantee(ready.design, facts).epsilon(1e-5).epsilon
    assert 2.7 < cost <= 3.0
    monkeypatch.undo()
    released = dpgp_core.release(VALUES, CELLS, LATTICE, 3.0, 1e-5)
    probability = released.probability(0.0)
    assert probability is not None
    right = (probability > 0.5) == (LATTICE.domain_centres[:, 0] > LATTICE.domain_centres[:, 0].mean())
    assert right.mean() > 0.8
    again = dpgp_core.release(VALUES, CELLS, LATTICE, 3.0, 1e-5)
    assert not np.array_equal(again.mean, released.mean)


def test_a_value_beyond_the_bounds_counts_as_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is proved holds for values in [-1, 1]: an outlier must not weigh more."""
    seen: list[Any] = []
    monkeypatch.setattr(
        "dpgp_core.mechanisms.registry.draw_release", lambda ready, entropy: seen.append(ready.records)
    )
    for most in (1.0, 1e9):
        dpgp_core.release(np.where(CELLS == 0, most, VALUES), CELLS, LATTICE, 1.0, 1e-5)
    one, other = (vars(each) for each in seen)
    assert len(one) >= 3
    assert all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"values": [0.1, np.nan]}, "finite"),
        ({"values": [[0.1, 0.2]]}, "finite numbers, one for each record"),
        ({"cells": [0.5, 1.0]}, "whole numbers"),
        ({"cells": [1]}, "one for each value"),
        ({"cells": [0, 37]}, "from 0 to 36"),
        ({"cells": [0, -1]}, "from 0 to 36"),
        ({"epsilon": 0.0}, "epsilon must be a finite number above 0"),
        ({"values": ["secret", 0.2]}, r"^values must be finite numbers, one for each record\.$"),
        ({"epsilon": float("inf")}, "epsilon must be a finite number above 0"),
        ({"epsilon": float("nan")}, "epsilon must be a finite number above 0"),
        ({"delta": 1.5}, "delta must lie strictly between 0 and 1"),
        ({"values": [], "cells": np.zeros(0, dtype=int)}, "there are no records"),
    ],
)
def test_what_cannot_be_released_is_refused_before_anything_is_drawn(
    changes: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpgp_core.mechanisms.registry.draw_release", lambda *_: pytest.fail("drawn"))
    asked = {"values": [0.1, 0.2], "cells": [0, 1], "lattice": LATTICE, "epsilon": 1.0, "delta": 1e-5}
    with pytest.raises(HexcursionError, match=said):
        dpgp_core.release(**{**asked, **changes})  # type: ignore[arg-type]


def test_a_grid_counts_its_cells_row_after_row() -> None:
    grid = Lattice.grid(rows=2, columns=3, spacing=10.0)
    assert grid.domain_centres.tolist() == [[0, 0], [10, 0], [20, 0], [0, 10], [10, 10], [20, 10]]
    touching = {(int(a), int(b)) for a, b in zip(*grid.adjacency.nonzero(), strict=True) if a < b}
    assert touching == {(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)}
    assert (grid.adjacency != grid.adjacency.T).nnz == 0
    assert (grid.adjacency.max(), grid.size, grid.spacing) == (1.0, 6, 10.0)
    with pytest.raises(InvalidValue, match="rows and columns must be at least 1"):
        Lattice.grid(0, 3, 10.0)
