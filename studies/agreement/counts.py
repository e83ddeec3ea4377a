"""Counted records: the relative risk of generated cases, and the density of real sales from counts alone.

Command: `python -m studies counts [FOLDER]`.

FOLDER is ../shared/data of the checkout unless named; one sentence says where a file is absent. 400 cases
over the postcodes of London as public population; their log risk is a field of deviation .5 and range 10 km,
which the reading assumes as well. AUC: how well stated chances of a risk above 1.5 rank the hexagons of all
worlds; ECE: their calibration error in ten bins. In the control the cases are drawn from people alone, so
that AUC is .5. Last the risks are shuffled over hexagons, so that neighbours share nothing, and the coverage
of intervals is measured. Then flats sold in 2018: hexagons with more than 5, 20 and 60 sales per square
kilometre, by the released counts alone with a chance above one half, against the true counts, over all
hexagons. In their control the counts are shuffled over hexagons: chances must become uncertain (ECE).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from dpgp_core.excursion import exceedance_probability, iou
from dpgp_core.linalg import Bools, Floats
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.registry import mechanism_named
from dpgp_core.mechanisms.spectral_design import FIXED_RIDGE, SPREADS_OF_COUNTS, fixed_design
from dpgp_core.mechanisms.spectral_release import map_of_counts, records_again
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice
from dpgp_core.priors.registry import make_prior
from dpgp_core.releasing import PublicFacts, Relation, Released, draw_release
from hexcursion.bundle.density import Density
from hexcursion.errors import WorkflowError
from hexcursion.project.model import Project
from hexcursion.project.public_numbers import LEAST, even_exposure
from studies.london.task import load_task, real_settings
from studies.material.real_files import real_files_parser
from studies.reporting.measures import calibration_error, standard_error, stated_field

SEED, DELTA, CASES, RISK, WORLDS = 400, 1e-5, 400, 1.5, 30
RANGE = 10_000.0  # metres
RELATIONS: tuple[Relation, ...] = ("replace-one", "add-or-remove")
EPSILONS, DENSITIES, DENSITY_EPSILONS, DRAWS = (None, 0.5, 1.0, 3.0), (5.0, 20.0, 60.0), (0.25, 1.0, 3.0), 6
Cases = Literal["of risks", "of shuffled risks", "of people"]
Worlds = list[tuple[Floats, np.ndarray]]
"""Relative risks (N,) of the hexagons, and cases (N,) in them."""


def main() -> None:
    options = real_files_parser(__doc__ or "").parse_args()
    try:
        project = load_task(real_settings(options.folder), "region")
    except WorkflowError as error:
        print(error)
        return
    people = postcodes(options.folder, project)
    print(f"{CASES} cases over {project.domain.size:,} hexagons; risk above {RISK:g}; {WORLDS} worlds each")
    print("neighbours     epsilon  true   AUC    ECE    90 %   control: AUC, ECE   shuffled: 90 %")
    for relation in RELATIONS:
        for epsilon in EPSILONS:
            worlds = made_worlds(project.lattice, people)
            control_worlds = made_worlds(project.lattice, people, cases="of people")
            rough = made_worlds(project.lattice, people, cases="of shuffled risks")
            row = scores(project.lattice, people, worlds, relation, epsilon)
            control = scores(project.lattice, people, control_worlds, relation, epsilon)
            wrong = scores(project.lattice, people, rough, relation, epsilon)
            epsilon_text = "none" if epsilon is None else f"{epsilon:g}"
            print(
                f"{relation:13}  {epsilon_text:>7}  {row[0]:.3f}  {row[1]:.3f}  {row[2]:.3f}  {row[3]:.3f}  "
                f"{control[1]:.3f}, {control[2]:.3f}         {wrong[3]:.3f}",
                flush=True,
            )
    print(f"{project.public_n:,} flats; density per square kilometre, from counts alone and beside amounts")
    print("epsilon  above  true   alone: IoU (s.e.), ECE   beside: IoU, ECE   shuffled: ECE")
    for epsilon in DENSITY_EPSILONS:
        alone, with_amounts = (densities(project, epsilon, law) for law in ("density", "amount"))
        shuffled = densities(project, epsilon, "density", shuffled=True)
        for above in DENSITIES:
            own, other = alone[above], with_amounts[above]
            print(
                f"{epsilon:7g}  {above:5g}  {own[0]:.3f}  {own[1]:.3f} ({own[2]:.3f}), {own[3]:.3f}        "
                f"{other[1]:.3f}, {other[3]:.3f}       {shuffled[above][3]:.3f}",
                flush=True,
            )
    print(f"Seed {SEED}; delta {DELTA:g}; {DRAWS} releases of the flats.")


def postcodes(folder: Path, project: Project) -> Floats:
    """(N,) number of postcodes of each hexagon, as its population."""
    places = pd.read_csv(folder / "postcodes" / "london_postcodes_nspl_style.csv.gz", usecols=["lat", "long"])
    at = project.domain.locate(places["long"], places["lat"])
    number = np.bincount(at[at >= 0], minlength=project.domain.size).astype(np.float64)
    return np.maximum(number, LEAST * number.mean())


def made_worlds(lattice: Lattice, people: Floats, *, cases: Cases = "of risks") -> Worlds:
    """Worlds whose cases follow people and a risk, a risk shuffled over hexagons, or people alone."""
    prior = make_prior("exponential", lattice, RANGE)
    field, places = SimulationEntropy(SEED), np.random.default_rng(SEED)
    share, worlds = people / people.sum(), []
    for _ in range(WORLDS):
        risk = np.exp(SPREADS_OF_COUNTS["rate"] * prior.colour(field.normal((prior.white_size, 1)))[:, 0])
        if cases == "of shuffled risks":
            risk = places.permutation(risk)
        risk /= share @ risk
        worlds.append((risk, places.multinomial(CASES, share if cases == "of people" else share * risk)))
    return worlds


def scores(
    lattice: Lattice, people: Floats, worlds: Worlds, relation: Relation, epsilon: float | None
) -> tuple[float, float, float, float]:
    """Share truly above, AUC, ECE and coverage of 90 % intervals, over all worlds."""
    facts = PublicFacts(lattice, CASES, relation=relation, counts=people, law="rate")
    chances, truths, covered = [], [], []
    for number, (risk, cases) in enumerate(worlds):
        if epsilon is None:
            mean, sd = map_of_counts(facts, cases.astype(np.float64), RANGE)
        else:
            mean, sd = stated_field(released(facts, cases, epsilon, number, (RANGE, FIXED_RIDGE)))
        chance, true = exceedance_probability(mean, sd, float(np.log(RISK)), "above"), risk > RISK
        chances.append(chance)
        truths.append(true)
        covered.append(float((np.abs(np.log(risk) - mean) < 1.645 * sd).mean()))
    chance, true = np.concatenate(chances), np.concatenate(truths)
    return (
        float(true.mean()),
        area_under(chance, true),
        calibration_error(chance, true),
        float(np.mean(covered)),
    )


def released(
    facts: PublicFacts,
    counts: np.ndarray,
    epsilon: float,
    seed: int,
    model: tuple[float, float] | None = None,
) -> Released:
    """One simulated release of the fixed design; every response is 1."""
    mechanism = mechanism_named("spectral-statistics")
    fixed = fixed_design(facts.lattice.spacing)
    if model is not None:
        fixed = replace(fixed, lengthscale=model[0], ridge=model[1])
    design = mechanism.calibrate(fixed, facts, Budget(epsilon, DELTA))
    occupied = np.flatnonzero(counts)
    records = CollapsedRecords(occupied, counts[occupied], np.ones(occupied.size))
    prepared = mechanism.prepare(replace(design, paths=1), facts, records)
    return draw_release(prepared, SimulationEntropy(SEED + seed), simulation=True)


def area_under(chance: Floats, true: Bools) -> float:
    """Chance that a hexagon that is truly above ranks above one that is not."""
    order = np.empty(chance.size)
    order[np.argsort(chance, kind="stable")] = np.arange(1, chance.size + 1)
    inside = int(true.sum())
    return float((order[true].sum() - inside * (inside + 1) / 2) / (inside * (chance.size - inside)))


def densities(
    project: Project, epsilon: float, law: str, *, shuffled: bool = False
) -> dict[float, tuple[float, float, float, float]]:
    """For each density: share truly above, mean IoU, its standard error, and ECE.

    Raises
    ------
    WorkflowError
        Where a release keeps no sums.
    """
    counts = np.bincount(project.private.placed.index, minlength=project.domain.size)
    if shuffled:
        counts = np.random.default_rng(SEED).permutation(counts)
    over, n = even_exposure(project.domain, int(counts.sum())), int(counts.sum())
    facts = PublicFacts(project.lattice, n)
    if law == "density":
        facts = replace(facts, counts=over.values, law="density")
    mechanism = mechanism_named("spectral-statistics")
    design = mechanism.calibrate(fixed_design(project.lattice.spacing), facts, Budget(epsilon, DELTA))
    readings: dict[float, list[tuple[Bools, Floats]]] = {above: [] for above in DENSITIES}
    for seed in range(DRAWS):
        sums = released(facts, counts, epsilon, seed).sums
        if sums is None:
            raise WorkflowError("The release keeps no sums.")
        mean, sd = records_again(design, facts, sums)
        for above, rows_of in readings.items():
            density = Density(project.domain, above, mean, sd, "flat")
            rows_of.append((density.denser, density.probability))
    rows = {}
    for above, rows_of in readings.items():
        true = counts / project.domain.areas > above
        ious = np.array([iou(denser, true) for denser, _ in rows_of])
        chance = np.concatenate([probability for _, probability in rows_of])
        rows[above] = (
            float(true.mean()),
            float(ious.mean()),
            standard_error(ious),
            calibration_error(chance, np.tile(true, len(rows_of))),
        )
    return rows


if __name__ == "__main__":
    main()
