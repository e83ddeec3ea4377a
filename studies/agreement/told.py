"""What is told where private records are fewer than reference ones, or where there are none.

Command: `python -m studies.agreement.told [FOLDER]`.

FOLDER is ../shared/data beside the checkout unless named; where the files are absent one sentence says so.
The sales of 2017 are the reference; so many of the sales of 2018, drawn at random, are the private ones.

`--alone` asks how near a survey without reference data can be told by its release. Worlds have its places and
values that the reading does not believe in: skewed (exponentials of a field and of what each record adds), of
ranges and shares of the records' own that are drawn from RANGES and OWN, centred at their 60 % quantile, with
their deviation as clip bound. Told is the mean of the agreement given the release; `quarter` the agreement
that it falls short of with a chance of one quarter, by joint draws; `fitted` the best linear guess from eight
numbers of the release, fitted to these very worlds, each left out in its turn: nobody has it. `range holds`
is the share of the releases whose 80 % range, as it is published, holds what is reached; `width` its mean.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import math
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from dpgp_core.excursion import agreement_range, exceedance_probability, iou, ious, stated_scores
from dpgp_core.linalg import Floats
from dpgp_core.noise import SimulationEntropy
from dpgp_core.priors.registry import make_prior
from hexcursion.errors import WorkflowError
from hexcursion.project.baseline import fit_baseline, free_map
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.records import PlacedObservations
from hexcursion.search import public_map
from hexcursion.search.choice import Choice, tuning_of
from hexcursion.search.optimise import search
from hexcursion.search.tuning import search_task, tune
from studies.agreement.panel import simulated
from studies.agreement.spectral_sensors import SURVEYS, survey_settings
from studies.london.study import released_sets
from studies.london.task import load_task, real_settings
from studies.material.real_files import real_files_parser

SEED, PRIVATE, DRAWN, RELEASES = 1, (1_000, 3_000), 8, 40
WORLDS, EACH, EPSILONS, TOO_HIGH = 120, 5, (0.5, 1.0), 0.05
RANGES, OWN, SKEWS = (2.0, 4.0, 8.0, 16.0), (0.3, 0.5, 0.7), (0.3, 0.7, 1.1)
LEAST_SIDE = 0.05  # share of the area: a world's map that covers less, or leaves less, is not judged
PLAYED = (("all of them", math.inf), ("as many", public_map.MORE))


def main() -> None:
    """Print, for two numbers of private records, what is told and what is reached."""
    parser = real_files_parser(__doc__)
    parser.add_argument("--alone", action="store_true", help="surveys without reference data")
    asked = parser.parse_args()
    if asked.alone:
        _print_alone(asked)
        return
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


def _print_alone(asked: Namespace) -> None:
    if not (asked.folder / "sensors").is_dir():
        print("The sensor tables are not there: they are not shipped; name the folder that holds `sensors`.")
        return
    print("survey        epsilon  worlds   told  reached  less: mean     sd  too high", end="  ")
    print("fitted: sd  quarter: mean  too high  range holds  width")
    for survey, epsilon in product(SURVEYS[:2], EPSILONS):
        project = load_project(survey_settings(survey, asked.folder).with_changes(epsilon=epsilon))
        found = np.array(list(_worlds(project)))
        reached, told, quarter = found[:, 0], found[:, 1], found[:, 2]
        read = np.column_stack([np.ones(len(found)), found[:, 1:-2], np.square(told)])
        hat = read @ np.linalg.pinv(read)
        left = (reached - hat @ reached) / (1.0 - hat.diagonal())
        gap, low = told - reached, quarter - reached
        print(
            f"{survey.title:13} {epsilon:7g}  {len(found):6}  {told.mean():5.3f}  {reached.mean():7.3f}  "
            f"{gap.mean():+10.3f}  {gap.std():5.3f}  {(gap > TOO_HIGH).mean():8.2f}  {left.std():10.3f}  "
            f"{low.mean():+13.3f}  {(low > TOO_HIGH).mean():8.2f}"
            f"  {found[:, -2].mean():11.2f}  {found[:, -1].mean():5.2f}",
            flush=True,
        )
    print(f"Seed {SEED}; means of {EACH} releases of each world; too high: by more than {TOO_HIGH:g}.")


def _worlds(project: Project) -> Iterator[Floats]:
    """Of each world, averaged over its releases: reached, told, its quarter, and what else a release says."""
    tuned, rng, lattice = tune(project, beside=()), np.random.default_rng(SEED), project.lattice
    places = project.private.placed.index
    for number in range(WORLDS):
        reach, own, skew = (float(rng.choice(each)) for each in (RANGES, OWN, SKEWS))
        prior = make_prior("exponential" if number % 2 else "car", lattice, reach * lattice.spacing)
        field = prior.colour(rng.standard_normal((prior.white_size, 1)))[places, 0]
        value = np.exp(
            skew * (math.sqrt(1.0 - own) * field + math.sqrt(own) * rng.standard_normal(places.size))
        )
        value = project.response.value((value - np.quantile(value, 0.6)) / value.std())
        world = replace(
            project,
            private=replace(project.private, placed=PlacedObservations(places, value, places.size, 0)),
        )
        truth, said = fit_baseline(world, tuned.result.model).inside, []
        if abs(truth.mean() - 0.5) > 0.5 - LEAST_SIDE:
            continue
        for drawn, region, chance in simulated(world, tuned.choice, EACH, SEED + 100 * number):
            assert drawn.shown_map is not None
            mean, sd = drawn.shown_map
            spread = np.maximum(drawn.paths.std(axis=0), 1e-9)
            joint = ious(mean + sd * (drawn.paths - drawn.paths.mean(axis=0)) / spread > 0.0, region)
            shown = exceedance_probability(mean, sd, 0.0)
            told = stated_scores(shown, region).agreement
            more = (shown.mean(), region.mean(), chance.mean(), mean.mean(), mean.std())
            assert drawn.map_draws is not None
            between = agreement_range(mean, sd, drawn.map_draws, 0.0, "above", region) or (told, told)
            low, high, hit = min(between[0], told), max(between[1], told), iou(region, truth)
            said.append((hit, told, np.nanquantile(joint, 0.25), *more, low <= hit <= high, high - low))
        yield np.mean(said, axis=0)


if __name__ == "__main__":
    main()
