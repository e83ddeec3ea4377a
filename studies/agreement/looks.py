"""Two looks at the flats of London: what is reached with the fixed rule, beside one look.

Command: `python -m studies.agreement.looks [FOLDER] [--releases N] [--coverage]`.

FOLDER is ../shared/data beside the checkout unless named; where the files are absent one sentence says so.
Sales of 2018 without reference data: range, deviation and scatter are public guesses, the centre is the
median of 2017. All figures are about the occupied hexagons: the root mean squared difference in logarithms to
the map without privacy of the same model, over hexagons and weighted by records; the agreement (IoU) of what
lies above three prices; and that difference in units of the deviation that the release states of the
field, and of the one that it states of the map. In the last rows values are exchanged among records: nothing
is left.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dpgp_core.excursion import exceedance_probability, iou
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.spectral_design import FIRST, SpectralStatisticsDesign
from dpgp_core.mechanisms.spectral_statistics import SpectralStatistics
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, Released, draw_release
from hexcursion.errors import WorkflowError
from hexcursion.project.model import Project
from studies.london.task import load_task, real_settings
from studies.material.real_files import real_files_parser

SEED, DELTA, EPSILONS = 2018, 1e-5, (0.25, 0.5, 1.0, 3.0)
PRICES = (350_000.0, 442_413.0, 700_000.0)
FIELD, SCATTER = 0.5, 0.433  # in logarithms: public guesses
RANGE = 10_000.0  # metres, likewise
COMMON = 0.3  # of the field's variance, that all of London shares
WIDE, USUAL = 2.0, 1.2  # clip bound of a first look in deviations of a value, and the usual one in logarithms
WORLDS, NINETY = 6, 1.645  # simulated for the coverage; deviations within which nine in ten lie
WRONG = 0.7  # in logarithms: a centre twice too high


@dataclass(frozen=True, eq=False)
class Sales:
    """Logarithms of prices less their public centre (n,), their hexagons, and the map without privacy.

    Parameters
    ----------
    exact
        (N,) that map: kriging of the values with the model of the design
    counts
        (N,) sales of 2017
    """

    project: Project
    value: Floats
    centre: float
    exact: Floats
    counts: Floats

    @classmethod
    def of(cls, project: Project) -> Sales:
        """From the loaded files."""
        placed = project.private.placed
        centre = float(np.median(np.log(project.reference.value)))
        value = np.log(placed.value) - centre
        facts = PublicFacts(project.lattice, value.size)
        corr = facts.prior("exponential", RANGE).correlation()
        covariance = FIELD**2 * ((1.0 - COMMON) * corr + COMMON)
        count = np.bincount(placed.index, minlength=len(corr))
        some = count > 0
        mean = np.bincount(placed.index, value, minlength=len(corr))[some] / count[some]
        seen = covariance[np.ix_(some, some)] + np.diag(SCATTER**2 / count[some])
        exact = covariance[:, some] @ np.linalg.solve(seen, mean)
        counts = np.bincount(project.reference.index, minlength=len(corr)).astype(np.float64)
        return cls(project, value, centre, np.asarray(exact), counts)


@dataclass(frozen=True)
class Way:
    """One way to release the sales: clip bound (logarithms), share of a first look, what else is public."""

    name: str
    clip: float
    first: float = 0.0
    counts: bool = False
    wrong: float = 0.0
    shuffled: bool = False
    places: bool = False  # whether the places of the sales are public

    def releases(self, sales: Sales, epsilon: float, number: int) -> Iterator[Released]:
        """Released fields in logarithms less the centre.

        Raises
        ------
        WorkflowError
            If one states no field.
        """
        mechanism, placed = SpectralStatistics(), sales.project.private.placed
        spread = float(np.hypot(FIELD, self.wrong))
        design = SpectralStatisticsDesign(
            "water-filled", "exponential", RANGE,
            signal=min(0.5, FIELD / self.clip), middle=0.0, spread=spread / self.clip, amplitude=1.0,
            ridge=SCATTER / spread, mu=1.0, common=1.0 - (1.0 - COMMON) * FIELD**2 / spread**2,
            cutoff_from="release", first=self.first,
        )  # fmt: skip
        facts = PublicFacts(
            sales.project.lattice,
            sales.value.size,
            counts=sales.counts if self.counts else None,
            places_public=self.places,
        )
        priced = mechanism.calibrate(design, facts, Budget(epsilon, DELTA))
        entropy = SimulationEntropy(SEED)
        value = sales.value - self.wrong
        value = value[entropy.uniform(value.size).argsort()] if self.shuffled else value
        records = CollapsedRecords.from_records(placed.index, np.clip(value / self.clip, -1.0, 1.0))
        prepared = mechanism.prepare(priced, facts, records)
        for _ in range(number):
            found = draw_release(prepared, entropy, simulation=True)
            if found.mean is None or found.sd is None or found.map_sd is None:
                raise WorkflowError("The release states no field.")
            yield replace(
                found,
                paths=self.clip * found.paths + self.wrong,
                mean=self.clip * found.mean + self.wrong,
                sd=self.clip * found.sd,
                map_sd=self.clip * found.map_sd,
            )


def scores(sales: Sales, found: Released) -> Floats:
    """(7,) errors by hexagons and by records, three agreements, and two standardised errors.

    Raises
    ------
    WorkflowError
        If the release states no field.
    """
    placed = sales.project.private.placed
    some = np.unique(placed.index)
    if found.mean is None or found.sd is None or found.map_sd is None:
        raise WorkflowError("The release states no field.")
    apart, at = found.mean - sales.exact, []
    for price in PRICES:
        level = float(np.log(price)) - sales.centre
        chance = exceedance_probability(found.mean, found.sd, level)[some]
        at.append(iou(chance >= found.own_cutoff(level), sales.exact[some] > level))
    return np.array(
        [
            np.sqrt(np.mean(np.square(apart[some]))),
            np.sqrt(np.mean(np.square(apart[placed.index]))),
            *at,
            *(np.sqrt(np.mean(np.square((apart / sd)[some]))) for sd in (found.sd, found.map_sd)),
        ]
    )


def ways() -> tuple[Way, ...]:
    """Everything that is compared."""
    wide = WIDE * float(np.hypot(FIELD, SCATTER))
    unsure = WIDE * float(np.sqrt(FIELD**2 + SCATTER**2 + WRONG**2))
    return (
        Way("one look, usual clip", USUAL),
        Way("one look, wide clip", 1.85),
        Way("two looks", wide, FIRST),
        Way("two looks, public counts", wide, FIRST, counts=True),
        Way("one look, wrong centre", 1.85, wrong=WRONG),
        Way("two looks, wrong centre", unsure, FIRST, wrong=WRONG),
        Way("two looks, shuffled", wide, FIRST, shuffled=True),
    )


def coverage(sales: Sales, epsilon: float, way: Way, worlds: int = WORLDS) -> Floats:
    """(4,) shares of occupied, empty and all hexagons in the stated 90 % interval, and the s.e. of the last.

    Over fields drawn from the prior of the design, with London's places and normal records.

    Raises
    ------
    WorkflowError
        If a release states no field.
    """
    some, entropy = np.unique(sales.project.private.placed.index), SimulationEntropy(SEED + 1)
    corr = PublicFacts(sales.project.lattice, 1).prior("exponential", RANGE).correlation()
    root = FIELD * np.linalg.cholesky((1.0 - COMMON) * corr + COMMON)
    occupied, held = np.isin(np.arange(len(corr)), some), []
    for _ in range(worlds):
        field = root @ entropy.normal(len(corr))
        value = field[sales.project.private.placed.index] + SCATTER * entropy.normal(sales.value.size)
        (found,) = way.releases(replace(sales, value=value), epsilon, 1)
        if found.mean is None or found.sd is None:
            raise WorkflowError("The release states no field.")
        inside = np.abs(found.mean - field) <= NINETY * found.sd
        held.append([inside[occupied].mean(), inside[~occupied].mean(), inside.mean()])
    error = np.std(held, axis=0, ddof=1)[2] / np.sqrt(worlds)
    return np.array([*np.mean(held, axis=0), error])


def main() -> None:
    parser = real_files_parser(__doc__)
    parser.add_argument("--releases", type=int, default=8, help="simulated releases of each row (default 8)")
    parser.add_argument("--coverage", action="store_true", help="of intervals in simulated worlds, instead")
    asked = parser.parse_args()
    try:
        sales = Sales.of(load_task(real_settings(asked.folder), "region"))
    except WorkflowError as error:
        print(error)
        return
    some = np.unique(sales.project.private.placed.index).size
    print(f"{sales.project.domain.size:,} hexagons, {some} occupied, {sales.value.size:,} flats sold in 2018")
    print("epsilon  way                       RMSE (s.e.)    by records  IoU 350  442  700    in sd, map sd")
    for epsilon in EPSILONS:
        if asked.coverage:
            for way in (ways()[2], replace(ways()[2], name="places public", places=True)):
                occupied, empty, every, error = coverage(sales, epsilon, way)
                print(
                    f"{epsilon:7g}  {way.name}: 90 % intervals cover {occupied:.3f} of occupied, {empty:.3f} "
                    f"of empty, {every:.3f} ({error:.3f}) of all hexagons",
                    flush=True,
                )
            continue
        for way in ways():
            found = np.array([scores(sales, each) for each in way.releases(sales, epsilon, asked.releases)])
            mean, error = found.mean(axis=0), found[:, 0].std(ddof=1) / np.sqrt(len(found))
            print(
                f"{epsilon:7g}  {way.name:24}  {mean[0]:.3f} ({error:.3f})  {mean[1]:.3f}       "
                f"{mean[2]:.3f} {mean[3]:.3f} {mean[4]:.3f}  {mean[5]:.2f}  {mean[6]:.2f}",
                flush=True,
            )
    print(f"Seed {SEED}; {asked.releases} simulated releases of each row, delta {DELTA:g}.")


if __name__ == "__main__":
    main()
