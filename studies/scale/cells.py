"""A whole search and release against the number of hexagons.

Command: `python -m studies.scale.cells [--largest 178000]`.

Generated readings at random places of a box in the middle of England, hexagons of resolution 8, values that
wave over the box, no reference data, the default mechanisms and priors. The run is the default of the command
line: the full search, for one budget, on five simulated fields. `--quick` runs the quick search, `--frontier`
adds the further budgets of the app, `--mechanisms` names mechanisms. Each size runs once, in a separate
process, so that peaks of memory do not mix; CPU seconds of one thread. Expected figures are the program's
forecast. Exponents are fitted to the three largest sizes, since small ones are mostly fixed cost.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
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
from studies.material.home import home
from studies.reporting.measures import growth, run_child

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 178_000)
SEED, RECORDS = 5, 100_000
MIDDLE = -1.5, 52.5  # degrees
CELL_KM2 = 0.66  # at resolution 8 in the middle of England
KM = 111.2  # of one degree of latitude
STEPS = ("load", "search", "plan", "publish")


def settings_of(cells: int, folder: Path, quick: bool, seed: int = SEED) -> ReleaseSettings:
    """Settings of a release of generated readings over a square of about `cells` hexagons."""
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


def _measure(cells: int, options: argparse.Namespace) -> None:
    with home() as folder:
        settings = settings_of(cells, folder, options.quick)
        if options.mechanisms:
            settings = settings.with_changes(mechanisms=tuple(options.mechanisms))
        fast = speed()
        marks = [time.process_time()]
        peaks = []

        def mark() -> None:
            marks.append(time.process_time())
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)

        project = load_project(settings)
        mark()
        tuned = tune(project, frontier=FRONTIER_EPSILONS if options.frontier else ())
        mark()
        forecast = search_estimate(asked_of(project, not options.frontier), min(fast, speed()))
        marks[-1] = time.process_time()
        ledger = open_ledger(None)
        plan = plan_release(project, tuned.choice, ledger)
        mark()
        published = publish(plan, ledger, folder / "bundle")
        mark()
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
                "told": forecast.seconds,
                "told MB": forecast.megabytes,
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--least", type=int, default=SIZES[0], help="fewest cells (default 1000)")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="most cells (default 178000)")
    parser.add_argument("--quick", action="store_true", help="the quick search, on one simulated field")
    parser.add_argument("--frontier", action="store_true", help="with the further budgets of the app")
    parser.add_argument("--mechanisms", nargs="+", help="names (default: the usual ones)")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        _measure(options.measure, options)
        return
    heads = ("cells", *(f"{step} s" for step in STEPS), "expected", "search MB", "expected", "peak MB")
    print(" ".join(f"{head:>10}" for head in (*heads, "geojson MB", "IoU")) + "  mechanism", flush=True)
    start, rows = time.monotonic(), []
    for cells in SIZES:
        if not options.least <= cells <= options.largest:
            continue
        command = [sys.executable, "-m", "studies.scale.cells", "--measure", str(cells)]
        row = run_child([*command, *_passed_on(options)])
        rows.append(row)
        steps = [f"{row[step]:.1f}" for step in STEPS]
        sizes = [f"{row[key]:.0f}" for key in ("told", "searched", "told MB", "peak")]
        figures = (str(row["cells"]), *steps, *sizes, f"{row['geojson']:.1f}", f"{row['agreement']:.3f}")
        print(" ".join(f"{figure:>10}" for figure in figures) + f"  {row['mechanism']}", flush=True)
    for step in (*STEPS, "searched", "peak", "geojson"):
        last = rows[-3:]
        if len(last) == 3:
            slope = growth([row["cells"] for row in last], [row[step] for row in last])
            print(f"{step} grows like cells^{slope:.2f}")
    print(f"Seed {SEED} of {RECORDS:,} generated readings; every size once, CPU seconds of one thread.")
    print(f"The whole benchmark took {time.monotonic() - start:.0f} s.")


def _passed_on(options: argparse.Namespace) -> list[str]:
    """Options of each size, for its process."""
    flags = [f"--{name}" for name in ("quick", "frontier") if getattr(options, name)]
    return flags + (["--mechanisms", *options.mechanisms] if options.mechanisms else [])


if __name__ == "__main__":
    main()
