"""The neural process on London, beside others.

Command: `python -m plugins.peers.studies.convcnp_london [FOLDER] [--draws N]`.

FOLDER is ../shared/data beside the checkout unless named; where the real files are absent, one sentence says
so and the generated sales alone are used. Every design is found by the search on the earlier year and
released, in simulation, on the later one; the figure is the mean IoU with that year's map without
privacy, fitted to its own records by likelihood.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dpgp_core.excursion import iou, ious
from dpgp_core.noise import SimulationEntropy
from hexcursion.project.baseline import curators_map, free_map
from hexcursion.project.model import Project
from hexcursion.search.choice import Choice, tuning_of
from hexcursion.search.optimise import search
from hexcursion.search.tuning import search_task
from studies.london.study import released_sets
from studies.material.real_files import both_sales, real_files_parser

SEED, EPSILONS = 2018, (0.5, 1.0, 3.0)
MECHANISMS = ("convcnp", "spectral-statistics", "sparse-gp", "noisy-cell-statistics")


def main() -> None:
    parser = real_files_parser(__doc__)
    parser.add_argument("--draws", type=int, default=60, help="simulated releases of each design")
    parser.add_argument("--mechanism", choices=MECHANISMS, action="append", help="only these")
    parser.add_argument("--quick", action="store_true", help="search coarse grids")
    parser.add_argument("--sales", choices=("real", "generated"), help="only these")
    options = parser.parse_args()
    print(
        f"Seed {SEED}, {options.draws} simulated releases of each design, one record of point data exchanged."
    )
    print("sales      mechanism              epsilon  told   IoU    SD     s.e.   free   CPU s  design")
    for name, project in both_sales(options.folder):
        for mechanism in options.mechanism or MECHANISMS if options.sales in (None, name) else ():
            for line in _rows(project, mechanism, options.draws, options.quick):
                print(f"{name:9}  {line}", flush=True)


def _rows(project: Project, mechanism: str, draws: int, quick: bool) -> Iterator[str]:
    free = None
    for epsilon in EPSILONS:
        changes = {
            "epsilon": epsilon,
            "mechanisms": (mechanism,),
            "unit": "point",
            "priors": ("car", "exponential"),
            "quick": quick,
        }
        question = replace(project, settings=project.settings.with_changes(**changes))
        start = time.process_time()
        result = search(replace(search_task(question, unconstrained=free), frontier=()))
        spent = time.process_time() - start
        free, proposal = result.unconstrained, result.chosen
        truth = curators_map(question, result.model).inside
        choice = Choice(proposal.design, proposal.response, tuning_of(question, question.reference_kind, ""))
        values = ious(released_sets(question, choice, draws, SimulationEntropy(SEED)), truth)
        spread = float(values.std(ddof=1))
        yield (
            f"{mechanism:21}  {epsilon:7.1f}  {proposal.utility.agreement:.3f}  {values.mean():.3f}  "
            f"{spread:.3f}  {spread / np.sqrt(draws):.3f}  "
            f"{iou(free_map(question, result.model), truth):.3f}  {spent:5.1f}  clip "
            f"{proposal.response.clip:g}, cutoff {proposal.design.cutoff:g}, "
            + ", ".join(
                f"{what} {_short(getattr(proposal.design, what))}"
                for what in ("sums", "width", "lengthscale")
                if hasattr(proposal.design, what)
            )
        )


def _short(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


if __name__ == "__main__":
    main()
