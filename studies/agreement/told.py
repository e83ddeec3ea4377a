"""What is told where private records are fewer than reference ones, or where there are none.

Command: `python -m studies.agreement.told [FOLDER]`; `--alone` prints its second table only.

FOLDER is ../shared/data beside the checkout unless named; where the files are absent one sentence says so.
The sales of 2017 are the reference; so many of the sales of 2018, drawn at random, are the private ones.

The second table asks how near a survey without reference data can be told by its release. Worlds have its
places and values that the reading does not believe in: skewed (exponentials of a field and of what each
record adds), of ranges and shares of the records' own that are drawn from RANGES and OWN, centred at their
60 % quantile, with their deviation as clip bound. Told is the mean of the agreement given the release;
`quarter` the agreement that it falls short of with a chance of one quarter, by joint draws; `fitted` the
best linear guess from eight numbers of the release, fitted to these very worlds, each left out in its turn:
nobody has it. `range holds` is the share of the releases whose 80 % range, as it is published, holds what
is reached, `above` of those that reach more than it says, `width` its mean width. Other rows ask the same
of two looks; of places that are public; of counted records, where they are denser than on average and where
they are more for the people of a generated population, the logarithm of both being such a field; and of
answers, yes in the upper 40 % of a world, where more than 40 % say yes.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import math
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from tempfile import NamedTemporaryFile

import numpy as np
import pandas as pd

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
from hexcursion.settings.model import ReleaseSettings
from studies.agreement.panel import simulated
from studies.agreement.spectral_sensors import SURVEYS, survey_settings
from studies.london.study import released_sets
from studies.london.task import load_task, real_settings
from studies.material.real_files import real_files_parser

SEED, PRIVATE, DRAWN, RELEASES = 1, (1_000, 3_000), 8, 40
KINDS = {
    "amounts": 120,
    "two looks": 40,
    "public places": 40,
    "density": 40,
    "relative risk": 40,
    "answers": 40,
}
"""What is released, and in how many worlds that is tried."""
EACH, EPSILONS, TOO_HIGH = 5, (0.5, 1.0), 0.05
RANGES, OWN, SKEWS = (2.0, 4.0, 8.0, 16.0), (0.3, 0.5, 0.7), (0.3, 0.7, 1.1)
LEAST_SIDE = 0.05  # share of the area: a world's map that covers less, or leaves less, is not judged
PLAYED = (("all of them", math.inf), ("as many", public_map.MORE))


def main() -> None:
    """Print, for two numbers of private records, what is told and what is reached."""
    parser = real_files_parser(__doc__)
    parser.add_argument("--alone", action="store_true", help="surveys without reference data alone")
    asked = parser.parse_args()
    if not asked.alone:
        _print_fewer(asked)
    _print_alone(asked)


def _print_fewer(asked: Namespace) -> None:
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
    print(
        "survey        released       epsilon  worlds   told  reached  less: mean     sd  too high", end="  "
    )
    print("fitted: sd  quarter: mean  too high  range holds  above  width")
    for kind, survey, epsilon in product(KINDS, SURVEYS[:2], EPSILONS):
        project = _project(kind, survey_settings(survey, asked.folder).with_changes(epsilon=epsilon))
        found = np.array(list(_worlds(project, KINDS[kind])))
        reached, told, quarter = found[:, 0], found[:, 1], found[:, 2]
        read = np.column_stack([np.ones(len(found)), found[:, 1:-3], np.square(told)])
        hat = read @ np.linalg.pinv(read)
        left = (reached - hat @ reached) / (1.0 - hat.diagonal())
        gap, low = told - reached, quarter - reached
        print(
            f"{survey.title:13} {kind:14}{epsilon:7g}  {len(found):6}  {told.mean():5.3f}  "
            f"{reached.mean():7.3f}  "
            f"{gap.mean():+10.3f}  {gap.std():5.3f}  {(gap > TOO_HIGH).mean():8.2f}  {left.std():10.3f}  "
            f"{low.mean():+13.3f}  {(low > TOO_HIGH).mean():8.2f}"
            f"  {found[:, -3].mean():11.2f}  {found[:, -2].mean():5.2f}  {found[:, -1].mean():5.2f}",
            flush=True,
        )
    print(f"Seed {SEED}; means of {EACH} releases of each world; too high: by more than {TOO_HIGH:g}.")


def _project(kind: str, settings: ReleaseSettings) -> Project:
    """A survey whose records are read as one of KINDS."""
    own = {"transform": None, "centre": None, "clip": None, "value_unit": ""}
    if kind == "two looks":
        settings = settings.with_changes(looks=2)
    elif kind == "public places":
        settings = settings.with_changes(places_public=True)
    elif kind == "answers":
        settings = settings.with_changes(values="yes-no", yes_above=settings.threshold, threshold=40.0, **own)
    elif kind in ("density", "relative risk"):
        data = replace(settings.data, equal_rows="each")
        settings = settings.with_changes(values="count", data=data, threshold=1.0, **own)
    project = load_project(settings)
    if kind == "density":
        assert project.exposure is not None
        return load_project(settings.with_changes(threshold=project.exposure.average))
    if kind == "relative risk":
        with NamedTemporaryFile("w", suffix=".csv") as people:
            number = np.random.default_rng(SEED).lognormal(5.0, 1.0, project.domain.size).round() + 1.0
            pd.DataFrame({"h3": project.domain.cells, "population": number}).to_csv(people, index=False)
            people.flush()
            return load_project(settings.with_changes(population_file=people.name))
    return project


def _worlds(project: Project, worlds: int) -> Iterator[Floats]:
    """Of each world, averaged over its releases: reached, told, its quarter, and what else a release says."""
    tuned, rng, lattice = tune(project, beside=()), np.random.default_rng(SEED), project.lattice
    for number in range(worlds):
        reach, own, skew = (float(rng.choice(each)) for each in (RANGES, OWN, SKEWS))
        prior = make_prior("exponential" if number % 2 else "car", lattice, reach * lattice.spacing)
        placed = _records(
            project, prior.colour(rng.standard_normal((prior.white_size, 1)))[:, 0], own, skew, rng
        )
        world = replace(project, private=replace(project.private, placed=placed))
        truth, said = fit_baseline(world, tuned.result.model).inside, []
        if abs(truth.mean() - 0.5) > 0.5 - LEAST_SIDE:
            continue
        for drawn, region, chance in simulated(world, tuned.choice, EACH, SEED + 100 * number):
            assert drawn.shown_map is not None
            mean, sd = drawn.shown_map[0] - project.level, drawn.shown_map[1]
            spread = np.maximum(drawn.paths.std(axis=0), 1e-9)
            joint = ious(mean + sd * (drawn.paths - drawn.paths.mean(axis=0)) / spread > 0.0, region)
            shown = exceedance_probability(mean, sd, 0.0)
            told = stated_scores(shown, region).agreement
            more = (shown.mean(), region.mean(), chance.mean(), mean.mean(), mean.std())
            assert drawn.map_draws is not None
            between = agreement_range(mean, sd, drawn.map_draws, 0.0, "above", region) or (told, told)
            low, high, hit = min(between[0], told), max(between[1], told), iou(region, truth)
            said.append(
                (hit, told, np.nanquantile(joint, 0.25), *more, low <= hit <= high, hit > high, high - low)
            )
        yield np.mean(said, axis=0)


def _records(
    project: Project, field: Floats, own: float, skew: float, rng: np.random.Generator
) -> PlacedObservations:
    """The records of a world of a field (N,): values, answers of yes and no, or counted records."""
    places = project.private.placed.index
    if project.exposure is not None:
        share = project.exposure.values * np.exp(skew * field)
        counts = rng.multinomial(places.size, share / share.sum())
        placed = PlacedObservations(
            np.repeat(np.arange(counts.size), counts), np.ones(places.size), places.size, 0
        )
        return project.exposure.ones(placed)
    field, scatter = math.sqrt(1.0 - own) * field[places], math.sqrt(own) * rng.standard_normal(places.size)
    value = np.exp(skew * (field + scatter))
    value = (value - np.quantile(value, 0.6)) / value.std()
    if project.answers is not None:
        return PlacedObservations(places, np.where(value > 0.0, 100.0, 0.0), places.size, 0)
    return PlacedObservations(places, project.response.value(value), places.size, 0)


if __name__ == "__main__":
    main()
