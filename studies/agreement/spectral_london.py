"""Spectral statistics on real London.

Command: `python -m studies.agreement.spectral_london [FOLDER] [--part cells]`.

FOLDER is ../shared/data of the checkout unless named; where the files are absent one sentence says so.
Every design is found by the search on the sales of 2017 alone and released, in simulation, on those of 2018;
the figure is the mean IoU with the non-private map of 2018, all of Greater London at resolution 8.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dpgp_core.excursion import iou, ious
from dpgp_core.noise import SimulationEntropy
from hexcursion.errors import WorkflowError
from hexcursion.project.baseline import curators_map, free_map
from hexcursion.project.model import Project
from hexcursion.search.choice import Choice, tuning_of
from hexcursion.search.optimise import search
from hexcursion.search.scenes import private_n
from hexcursion.search.tuning import search_task
from studies.london.study import released_sets
from studies.london.task import load_task, real_settings
from studies.material.real_files import real_files_parser

SEED = 2018
PAPER, HIGH = 442_413.0, 700_000.0  # thresholds in pounds
POINT, CELL = (0.25, 0.5, 1.0), (0.5, 1.0, 3.0)
FOCUSES = ("all", "threshold")
Row = tuple[float, bool, str]
"""Epsilon, whether the counts of 2017 are public, and the focus."""

PARTS: dict[str, tuple[str, float, tuple[Row, ...]]] = {
    "counts": ("point", PAPER, tuple((e, True, f) for f in FOCUSES for e in POINT)),
    "plain": ("point", PAPER, tuple((e, False, f) for f in FOCUSES for e in POINT)),
    "cells": ("cell", PAPER, tuple((e, False, f) for f in FOCUSES for e in CELL)),
    "high": ("point", HIGH, tuple((1.0, True, f) for f in FOCUSES)),
}


def main() -> None:
    parser = real_files_parser(__doc__)
    parser.add_argument(
        "--draws", type=int, default=60, help="simulated releases of each design (default 60)"
    )
    parser.add_argument("--part", choices=PARTS, action="append", help="only these parts of the table")
    options = parser.parse_args()
    try:
        base = real_settings(options.folder).with_changes(
            mechanisms=("spectral-statistics",), priors=("car", "exponential")
        )
        plain = load_task(base, "region")
    except WorkflowError as error:
        print(error)
        return
    print(
        f"{plain.domain.size:,} hexagons, {plain.private.placed.index.size:,} flats sold in 2018, seed {SEED}"
    )
    print("threshold  unit   counts  focus      epsilon  told   IoU    SD     s.e.   free   CPU s  design")
    start = time.process_time()
    for part in options.part or PARTS:
        unit, threshold, rows = PARTS[part]
        project = replace(plain, settings=plain.settings.with_changes(unit=unit, threshold=threshold))
        for line in _rows(project, rows, options.draws):
            print(line, flush=True)
    print(
        f"Seed {SEED}; `told` is what the search on 2017 expected, IoU is with the non-private map of 2018, "
        "`free` the map of 2017."
    )
    print(
        f"{options.draws} simulated releases of each design; "
        f"{time.process_time() - start:,.0f} s of CPU time."
    )


def _rows(project: Project, rows: tuple[Row, ...], draws: int) -> Iterator[str]:
    settings = project.settings
    if settings.unit == "cell":
        project = replace(project, settings=settings.with_changes(delta=private_n(project) ** -1.1))
    free = None
    for epsilon, counts, focus in rows:
        changes = {"epsilon": epsilon, "public_counts": counts, "focus": focus}
        case = replace(project, settings=project.settings.with_changes(**changes))
        start = time.process_time()
        result = search(replace(search_task(case, unconstrained=free), frontier=()))
        spent = time.process_time() - start
        free, model = result.unconstrained, result.model
        truth = curators_map(case, model).inside
        candidate = result.chosen
        choice = Choice(candidate.design, candidate.response, tuning_of(case, case.reference_kind, ""))
        values = ious(released_sets(case, choice, draws, SimulationEntropy(SEED)), truth)
        spread = float(values.std(ddof=1))
        yield (
            f"{settings.threshold:>9,.0f}  {settings.unit:5}  {'2017' if counts else '-':6}  {focus:9}  "
            f"{epsilon:7.2f}  {candidate.utility.agreement:.3f}  {values.mean():.3f}  {spread:.3f}  "
            f"{spread / np.sqrt(draws):.3f}  {iou(free_map(case, model), truth):.3f}  {spent:5.1f}  "
            f"clip {candidate.response.clip:g}, cutoff {candidate.design.cutoff:g}, "
            f"range {getattr(candidate.design, 'lengthscale', 0.0) / 1000.0:.1f} km"
            + "".join(f", {what} {end}" for what, end in result.on_edge)
        )


if __name__ == "__main__":
    main()
