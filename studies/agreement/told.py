"""What is told where private records are fewer than reference ones.

Command: `python -m studies.agreement.told [FOLDER]`.

FOLDER is ../shared/data beside the checkout unless named; where the files are absent one sentence says so.
The sales of 2017 are the reference; so many of the sales of 2018, drawn at random, are the private ones.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import math
from dataclasses import replace

import numpy as np

from dpgp_core.excursion import iou, ious
from dpgp_core.noise import SimulationEntropy
from hexcursion.errors import WorkflowError
from hexcursion.project.baseline import fit_baseline, free_map
from hexcursion.project.model import Project
from hexcursion.search import public_map
from hexcursion.search.choice import Choice, tuning_of
from hexcursion.search.optimise import search
from hexcursion.search.tuning import search_task
from studies.london.study import released_sets
from studies.london.task import load_task, real_settings
from studies.material.real_files import real_files_parser

SEED, PRIVATE, DRAWN, RELEASES = 1, (1_000, 3_000), 8, 40
PLAYED = (("all of them", math.inf), ("as many", public_map.MORE))


def main() -> None:
    """Print, for two numbers of private records, what is told and what is reached."""
    asked = real_files_parser(__doc__).parse_args()
    try:
        settings = real_settings(asked.folder).with_changes(
            mechanisms=("spectral-statistics",),
            priors=("car", "exponential"),
            epsilon=1.0,
            public_counts=False,
            focus="all",
        )
        whole = load_task(settings, "region")
    except WorkflowError as error:
        print(error)
        return
    print(f"{whole.reference.index.size:,} flats sold in 2017 are the reference; epsilon 1.")
    print(f"Seed {SEED} draws the private ones.")
    print("private  reference  search told  reached  free map told  reached")
    for n in PRIVATE:
        for name, more in PLAYED:
            public_map.MORE = more
            print(
                f"{n:>7,}  {name:11}" + _row([_fewer(whole, n, SEED + k) for k in range(DRAWN)]), flush=True
            )
    print(f"Reached: mean IoU of {DRAWN} draws of private records, {RELEASES} simulated releases of each.")


def _fewer(whole: Project, n: int, seed: int) -> Project:
    placed = whole.private.placed
    drawn = np.zeros(placed.index.size, dtype=bool)
    drawn[np.random.default_rng(seed).permutation(drawn.size)[:n]] = True
    return replace(whole, private=replace(whole.private, placed=placed.part(drawn)))


def _row(projects: list[Project]) -> str:
    found = search(replace(search_task(projects[0]), frontier=()))
    chosen, model, reached, free = found.chosen, found.model, [], []
    for project in projects:
        choice = Choice(chosen.design, chosen.response, tuning_of(project, project.reference_kind, ""))
        truth = fit_baseline(project, model).inside
        reached.append(ious(released_sets(project, choice, RELEASES, SimulationEntropy(SEED)), truth).mean())
        free.append(iou(free_map(project, model), truth))
    told = public_map.free_map_agreement(projects[0], model)
    return f"{chosen.utility.agreement:11.3f}  {np.mean(reached):7.3f}  {told:13.3f}  {np.mean(free):7.3f}"


if __name__ == "__main__":
    main()
