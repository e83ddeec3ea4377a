"""What a first pass misses: `python -m studies.speed.first_pass [FOLDER]`.

A search without a frontier leaves a mechanism whose first pass, every second design of its grid at the clip
bound of the best so far, lies more than `BEHIND` behind that best. Each task is searched three times: every
mechanism to its end, none but the first, and as usual. Printed for each other mechanism: the best of its
first pass, its best at the end, and what lies between; then whether the usual search gives the design of the
whole one, and the CPU seconds of both.

FOLDER holds the real London files, ../shared/data beside the checkout unless named; where they are absent
only generated sales are searched.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import math
import time
from pathlib import Path

from hexcursion.errors import WorkflowError
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.search import optimise
from hexcursion.search.tuning import Tuned, tune
from hexcursion.settings import ReleaseSettings
from studies.london.task import generated_settings, real_settings
from studies.material.real_files import real_files_parser

EPSILONS = {"generated": (1.0, 4.0, 10.0), "London": (1.0, 4.0)}


def searched(project: Project, behind: float) -> tuple[Tuned, float]:
    """A search that leaves mechanisms so far behind, and its CPU seconds."""
    usual, start = optimise.BEHIND, time.process_time()
    optimise.BEHIND = behind
    try:
        return tune(project, beside=()), time.process_time() - start
    finally:
        optimise.BEHIND = usual


def report(name: str, settings: ReleaseSettings) -> None:
    """The three searches of one task, in words."""
    project = load_project(settings)
    first = {each.mechanism: each.agreement for each in searched(project, -math.inf)[0].result.left_early}
    whole, long = searched(project, math.inf)
    usual, short = searched(project, optimise.BEHIND)
    best: dict[str, float] = {}
    for point in whole.result.frontier:
        own = point.scored.design.mechanism
        best[own] = max(best.get(own, 0.0), point.scored.utility.known_agreement)
    for mechanism, agreement in first.items():
        print(
            f"{name}: {mechanism} {agreement:.3f}, at the end {best[mechanism]:.3f}, "
            f"{best[mechanism] - agreement:.3f} between"
        )
    same = "the same design" if usual.choice.design == whole.choice.design else "ANOTHER DESIGN"
    left = ", ".join(each.mechanism for each in usual.result.left_early) or "none"
    reached = " and ".join(f"{each.result.chosen.utility.agreement:.3f}" for each in (whole, usual))
    print(
        f"{name}: {same}, {whole.result.chosen.design.mechanism} ({reached}); left early: {left}; "
        f"{long:.1f} s whole, {short:.1f} s as usual",
        flush=True,
    )


def main() -> None:
    folder: Path = real_files_parser(__doc__).parse_args().folder
    tasks = {"generated": generated_settings()}
    try:
        tasks["London"] = real_settings(folder)
    except WorkflowError:
        print("The real London files are not there: generated sales alone.")
    for name, settings in tasks.items():
        for epsilon in EPSILONS[name]:
            report(f"{name}, epsilon {epsilon:g}", settings.with_changes(epsilon=epsilon))
    if "London" in tasks:
        cells = tasks["London"].with_changes(unit="cell", epsilon=10.0)
        report("London, cell records, epsilon 10", cells)
    print("No random numbers of its own: searches fix their seeds.")
    print("CPU seconds of one thread, each once, after the patterns of the domain were found.")


if __name__ == "__main__":
    main()
