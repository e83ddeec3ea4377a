"""A whole search and release against the number of hexagons.

Command: `python -m studies.scale.cells [--largest 178000]`.

Generated readings at random places of a box in the middle of England, hexagons of resolution 8, values that
wave over the box; no reference data, the mechanisms and priors that a release tries unless told otherwise.
What runs is what the command line does where nothing is chosen: the full search, for one budget, on five
simulated fields. `--quick` runs the quick one, `--frontier` adds the budgets that the app shows beside it,
`--mechanisms` names what is tried. Each size runs once, in a process of its own, so that each peak of memory
is its own; CPU seconds of one thread. Expected is what the program says beforehand. Fitted exponents are of
the three largest sizes: what is small is mostly fixed cost.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from dpgp_core.mechanisms.grids import FRONTIER_EPSILONS
from hexcursion.estimates.forecasts import asked_of
from hexcursion.estimates.model import search_estimate, speed
from hexcursion.ledger import open_ledger
from hexcursion.project.load import load_project
from hexcursion.releasing.transaction import plan_release, publish
from hexcursion.search.tuning import tune
from hexcursion.settings.data_settings import SourceSettings
from hexcursion.settings.model import ReleaseSettings

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 178_000)
SEED, RECORDS = 5, 100_000
MIDDLE = -1.5, 52.5  # degrees
CELL_KM2 = 0.66  # at resolution 8 in the middle of England
KM = 111.2  # of one degree of latitude
STEPS = ("load", "search", "plan", "publish")


def settings_of(cells: int, folder: Path, quick: bool, seed: int = SEED) -> ReleaseSettings:
    """Readings over a square of about so many hexagons, and what is asked of them."""
    high = float(np.sqrt(cells * CELL_KM2)) / KM
    wide = high / float(np.cos(np.radians(MIDDLE[1])))
    generator = np.random.default_rng(seed)
    u, v = generator.uniform(-0.5, 0.5, (2, RECORDS))
    value = 10.0 + 3.0 * np.sin(7.0 * u) * np.cos(5.0 * v) + generator.normal(0.0, 1.0, RECORDS)
    table = np.column_stack([MIDDLE[0] + wide * u, MIDDLE[1] + high * v, value])
    path = folder / "readings.csv"
    np.savetxt(path, table, fmt="%.6f", delimiter=",", header="lon,lat,value", comments="")
    half_wide, half_high = wide / 2, high / 2
    box = (MIDDLE[0] - half_wide, MIDDLE[1] - half_high, MIDDLE[0] + half_wide, MIDDLE[1] + half_high)
    return ReleaseSettings(
        data=SourceSettings(str(path), value="value", x="lon", y="lat"),
        value_unit="ug/m3",
        bbox=tuple(round(side, 5) for side in box),
        resolution=8,
        threshold=11.0,
        centre=10.0,
        clip=4.0,
        accept_low_agreement=True,
        quick=quick,
    )


def _measure(cells: int, asked: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ |= {"HEXCURSION_HOME": str(folder / "home"), "HEXCURSION_WITNESS": str(folder / "witness")}
        settings = settings_of(cells, folder, asked.quick)
        if asked.mechanisms:
            settings = settings.with_changes(mechanisms=tuple(asked.mechanisms))
        fast = speed()
        marks = [time.process_time()]
        peaks = []

        def done() -> None:
            marks.append(time.process_time())
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)

        project = load_project(settings)
        done()
        tuned = tune(project, beside=FRONTIER_EPSILONS if asked.frontier else ())
        done()
        said = search_estimate(asked_of(project, not asked.frontier), min(fast, speed()))
        marks[-1] = time.process_time()
        ledger = open_ledger(None)
        plan = plan_release(project, tuned.choice, ledger)
        done()
        published = publish(plan, ledger, folder / "bundle")
        done()
        spent = dict(zip(STEPS, np.diff(marks).tolist(), strict=True))
        size = (published.folder / "cells.geojson").stat().st_size / 1e6
        agreement = tuned.result.chosen.utility.agreement
    print(
        json.dumps(
            spent
            | {
                "cells": project.domain.size,
                "searched": peaks[1],
                "peak": peaks[-1],
                "geojson": size,
                "designs": tuned.result.evaluated,
                "mechanism": tuned.choice.design.mechanism,
                "agreement": agreement,
                "told": said.seconds,
                "told MB": said.megabytes,
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--least", type=int, default=SIZES[0], help="fewest cells (default 1000)")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="most cells (default 178000)")
    parser.add_argument("--quick", action="store_true", help="the quick search, on one simulated field")
    parser.add_argument(
        "--frontier", action="store_true", help="with the budgets that the app shows beside it"
    )
    parser.add_argument("--mechanisms", nargs="+", help="what is tried (default: what is usual)")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        _measure(asked.measure, asked)
        return
    heads = ("cells", *(f"{step} s" for step in STEPS), "expected", "search MB", "expected", "peak MB")
    print(" ".join(f"{head:>10}" for head in (*heads, "geojson MB", "IoU")) + "  mechanism", flush=True)
    start, rows = time.monotonic(), []
    for cells in SIZES:
        if not asked.least <= cells <= asked.largest:
            continue
        command = [
            sys.executable,
            "-m",
            "studies.scale.cells",
            "--measure",
            str(cells),
            *_passed_on(asked),
        ]
        found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
        rows.append(found)
        steps = [f"{found[step]:.1f}" for step in STEPS]
        sizes = [f"{found[key]:.0f}" for key in ("told", "searched", "told MB", "peak")]
        shown = (str(found["cells"]), *steps, *sizes, f"{found['geojson']:.1f}", f"{found['agreement']:.3f}")
        print(" ".join(f"{figure:>10}" for figure in shown) + f"  {found['mechanism']}", flush=True)
    for step in (*STEPS, "searched", "peak", "geojson"):
        last = rows[-3:]
        if len(last) == 3:
            slope = np.polyfit(np.log([row["cells"] for row in last]), np.log([row[step] for row in last]), 1)
            print(f"{step} grows like cells^{slope[0]:.2f}")
    print(f"Seed {SEED} of {RECORDS:,} generated readings; every size once, CPU seconds of one thread.")
    print(f"The whole benchmark took {time.monotonic() - start:.0f} s.")


def _passed_on(asked: argparse.Namespace) -> list[str]:
    """What was asked of each size, for its process."""
    flags = [f"--{name}" for name in ("quick", "frontier") if getattr(asked, name)]
    return flags + (["--mechanisms", *asked.mechanisms] if asked.mechanisms else [])


if __name__ == "__main__":
    main()
