"""Two looks at the flats of London by the fixed rule, compared with one look.

Command: `python -m studies.agreement.looks [FOLDER] [--releases N]`.

FOLDER is ../shared/data of the checkout unless named; where the files are absent one sentence says so.
Sales of 2018 without reference data: range, deviation and scatter are public guesses, the centre is the
median of 2017. All figures are about the occupied hexagons: the root mean squared difference in logarithms to
the map without privacy of the same model, over hexagons and weighted by records; the agreement (IoU) of the
sets above three prices; and that difference in units of the deviation that the release states of the field,
and of the one that it states of the map. "Smooth" are the error and the agreement above the last price with
the map without privacy in the 300 functions along which the prior varies most. In the last rows values are
exchanged among records, a control. To find the source of the loss, "normal records" replace the prices by the
map without privacy and normal scatter of the stated size; a line gives the movement of that map, for both, if
records are only clipped about it. The last table gives the coverage of intervals in worlds drawn from the
prior of the design.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from scipy.special import ndtr

from dpgp_core.excursion import exceedance_probability, iou
from dpgp_core.linalg import Floats, Ints
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
from studies.reporting.measures import standard_error, stated_field

SEED, DELTA, EPSILONS = 2018, 1e-5, (0.25, 0.5, 1.0, 3.0)
PRICES = (350_000.0, 442_413.0, 700_000.0)
FIELD, SCATTER = 0.5, 0.433  # in logarithms: public guesses
RANGE = 10_000.0  # metres, likewise
COMMON = 0.3  # of the field's variance, that all of London shares
WIDE, USUAL = 2.0, 1.2  # clip bound of a first look in deviations of a value, and the usual one in logarithms
WORLDS, NINETY = 12, 1.645  # simulated for the coverage; deviations within which nine in ten lie
CLIPPED = (0.4, 0.6, 1.0)  # clip bounds about the map, in logarithms: a second look's is about the first
WRONG = 0.7  # in logarithms: a centre twice too high
SMOOTH = 300  # functions of the prior in which the smooth map is kriged


@dataclass(frozen=True, eq=False)
class Sales:
    """Logarithms of prices less their public centre (n,), their hexagons, and the map without privacy.

    Parameters
    ----------
    exact
        (N,) that map: kriging of the values with the model of the design
    smooth
        (N,) the same in the SMOOTH functions along which the prior varies most
    counts
        (N,) sales of 2017
    facts
        public facts, and the work that all ways share
    """

    project: Project
    facts: PublicFacts
    value: Floats
    centre: float
    exact: Floats
    smooth: Floats
    counts: Floats

    @classmethod
    def of(cls, project: Project) -> Sales:
        """From the loaded files."""
        centre = float(np.median(np.log(project.reference.value)))
        value = np.log(project.private.placed.value) - centre
        facts = PublicFacts(project.lattice, value.size)
        counts = np.bincount(project.reference.index, minlength=project.domain.size).astype(np.float64)
        covariance = of_prior(facts)
        exact, smooth = (
            kriged(each, project.private.placed.index, value) for each in (covariance, smoothed(covariance))
        )
        return cls(project, facts, value, centre, exact, smooth, counts)

    def as_modelled(self) -> Sales:
        """Replace the prices by the map without privacy and normal scatter around it."""
        index = self.project.private.placed.index
        value = self.exact[index] + SCATTER * SimulationEntropy(SEED + 2).normal(self.value.size)
        covariance = of_prior(self.facts)
        exact, smooth = (kriged(each, index, value) for each in (covariance, smoothed(covariance)))
        return replace(self, value=value, exact=exact, smooth=smooth)

    def hidden(self, bound: float) -> float:
        """Movement of the map without privacy if records are clipped at `bound` (logarithms) about it.

        It is the root mean square over occupied hexagons, which no second look of that clip can see.
        """
        index = self.project.private.placed.index
        apart = self.value - self.exact[index]
        clipped = np.clip(apart, -bound, bound) / (2.0 * ndtr(bound / SCATTER) - 1.0)
        movement = kriged(of_prior(self.facts), index, self.exact[index] + clipped) - self.exact
        return float(np.sqrt(np.mean(np.square(movement[np.unique(index)]))))


def of_prior(facts: PublicFacts) -> Floats:
    """(N, N) covariance of the field under the model of the design, squared logarithms."""
    corr = facts.prior("exponential", RANGE).correlation()
    return np.asarray(FIELD**2 * ((1.0 - COMMON) * corr + COMMON))


def smoothed(covariance: Floats, functions: int = SMOOTH) -> Floats:
    """(N, N) the part of a covariance (N, N) in its `functions` largest eigenvalues."""
    size = len(covariance)
    values, vectors = scipy.linalg.eigh(covariance, subset_by_index=(size - functions, size - 1))
    return np.asarray((vectors * values) @ vectors.T)


def kriged(covariance: Floats, index: Ints, value: Floats) -> Floats:
    """(N,) map without privacy of values (n,) in hexagons `index` (n,), for a field of covariance (N, N)."""
    count = np.bincount(index, minlength=len(covariance))
    occupied = count > 0
    mean = np.bincount(index, value, minlength=len(covariance))[occupied] / count[occupied]
    observed = covariance[np.ix_(occupied, occupied)] + np.diag(SCATTER**2 / count[occupied])
    return np.asarray(covariance[:, occupied] @ np.linalg.solve(observed, mean))


@dataclass(frozen=True)
class Way:
    """One way to release the sales: clip bound (logarithms), share of a first look, public facts."""

    name: str
    clip: float
    first: float = 0.0
    counts: bool = False
    wrong: float = 0.0
    shuffled: bool = False
    places: bool = False  # whether the places of the sales are public
    normal: bool = False  # whether records scatter as the model says

    def releases(self, sales: Sales, epsilon: float, number: int) -> Iterator[Released]:
        """Released fields in logarithms less the centre.

        Raises
        ------
        WorkflowError
            If one states no field.
        """
        mechanism, records_at = SpectralStatistics(), sales.project.private.placed
        spread = float(np.hypot(FIELD, self.wrong))
        design = SpectralStatisticsDesign(
            "water-filled", "exponential", RANGE,
            signal=min(0.5, FIELD / self.clip), middle=0.0, spread=spread / self.clip, amplitude=1.0,
            ridge=SCATTER / spread, mu=1.0, common=1.0 - (1.0 - COMMON) * FIELD**2 / spread**2,
            cutoff_from="release", first=self.first,
        )  # fmt: skip
        counts = sales.counts if self.counts else None
        facts = replace(sales.facts, counts=counts, places_public=self.places)
        priced = mechanism.calibrate(design, facts, Budget(epsilon, DELTA))
        entropy = SimulationEntropy(SEED)
        value = sales.value - self.wrong
        value = value[entropy.uniform(value.size).argsort()] if self.shuffled else value
        records = CollapsedRecords.from_records(records_at.index, np.clip(value / self.clip, -1.0, 1.0))
        prepared = mechanism.prepare(priced, facts, records)
        for _ in range(number):
            released = draw_release(prepared, entropy, simulation=True)
            if released.mean is None or released.sd is None or released.map_sd is None:
                raise WorkflowError("The release states no field.")
            yield replace(
                released,
                paths=self.clip * released.paths + self.wrong,
                mean=self.clip * released.mean + self.wrong,
                sd=self.clip * released.sd,
                map_sd=self.clip * released.map_sd,
            )


def scores(sales: Sales, released: Released) -> Floats:
    """(9,) errors by hexagons and by records, three agreements, two standardised errors, and of the smooth
    map the error by hexagons and the agreement above the last price.

    Raises
    ------
    WorkflowError
        If the release states no field.
    """
    records_at = sales.project.private.placed
    occupied = np.unique(records_at.index)
    if released.mean is None or released.sd is None or released.map_sd is None:
        raise WorkflowError("The release states no field.")
    apart, at = released.mean - sales.exact, []
    for price in PRICES:
        level = float(np.log(price)) - sales.centre
        inside = exceedance_probability(released.mean, released.sd, level)[occupied] >= released.own_cutoff(
            level
        )
        at.append(iou(inside, sales.exact[occupied] > level))
    return np.array(
        [
            np.sqrt(np.mean(np.square(apart[occupied]))),
            np.sqrt(np.mean(np.square(apart[records_at.index]))),
            *at,
            *(np.sqrt(np.mean(np.square((apart / sd)[occupied]))) for sd in (released.sd, released.map_sd)),
            np.sqrt(np.mean(np.square((released.mean - sales.smooth)[occupied]))),
            iou(inside, sales.smooth[occupied] > level),
        ]
    )


def ways() -> tuple[Way, ...]:
    """All ways to release the sales."""
    wide = WIDE * float(np.hypot(FIELD, SCATTER))
    unsure = WIDE * float(np.sqrt(FIELD**2 + SCATTER**2 + WRONG**2))
    return (
        Way("one look, usual clip", USUAL),
        Way("one look, wide clip", 1.85),
        Way("two looks", wide, FIRST),
        Way("two looks, public counts", wide, FIRST, counts=True),
        Way("one look, wrong centre", 1.85, wrong=WRONG),
        Way("two looks, wrong centre", unsure, FIRST, wrong=WRONG),
        Way("two looks, normal records", wide, FIRST, normal=True),
        Way("two looks, shuffled", wide, FIRST, shuffled=True),
    )


def coverage(sales: Sales, epsilon: float, way: Way, worlds: int = WORLDS) -> Floats:
    """(2, 3) shares of occupied, empty and all hexagons in the stated 90 % interval, and their s.e.

    Over fields drawn from the prior of the design, with London's places and normal records.

    Raises
    ------
    WorkflowError
        If a release states no field.
    """
    cells, entropy = np.unique(sales.project.private.placed.index), SimulationEntropy(SEED + 1)
    corr = sales.facts.prior("exponential", RANGE).correlation()
    root = FIELD * np.linalg.cholesky((1.0 - COMMON) * corr + COMMON)
    occupied, shares = np.isin(np.arange(len(corr)), cells), []
    for _ in range(worlds):
        field = root @ entropy.normal(len(corr))
        value = field[sales.project.private.placed.index] + SCATTER * entropy.normal(sales.value.size)
        (released,) = way.releases(replace(sales, value=value), epsilon, 1)
        mean, sd = stated_field(released)
        inside = np.abs(mean - field) <= NINETY * sd
        shares.append([inside[occupied].mean(), inside[~occupied].mean(), inside.mean()])
    return np.array([np.mean(shares, axis=0), np.std(shares, axis=0, ddof=1) / np.sqrt(worlds)])


def main() -> None:
    options = real_files_parser(__doc__, 8).parse_args()
    try:
        sales = Sales.of(load_task(real_settings(options.folder), "region"))
    except WorkflowError as error:
        print(error)
        return
    occupied = np.unique(sales.project.private.placed.index)
    hexagons = f"{sales.project.domain.size:,} hexagons, {occupied.size} occupied"
    print(f"{hexagons}, {sales.value.size:,} flats sold in 2018")
    finer = np.sqrt(np.mean(np.square((sales.exact - sales.smooth)[occupied])))
    print(f"The map without privacy is {finer:.3f} (root mean square) from its smooth part.")
    print(
        "epsilon  way                          RMSE (s.e.)    by records  IoU 350  442  700    in sd, map sd"
        "  smooth: RMSE, IoU 700"
    )
    modelled = sales.as_modelled()
    for epsilon in EPSILONS:
        for way in ways():
            source = modelled if way.normal else sales
            rows = np.array(
                [scores(source, each) for each in way.releases(source, epsilon, options.releases)]
            )
            mean, error = rows.mean(axis=0), standard_error(rows[:, 0])
            print(
                f"{epsilon:7g}  {way.name:27}  {mean[0]:.3f} ({error:.3f})  {mean[1]:.3f}       "
                f"{mean[2]:.3f} {mean[3]:.3f} {mean[4]:.3f}  {mean[5]:.2f}  {mean[6]:.2f}"
                f"           {mean[7]:.3f}  {mean[8]:.3f}",
                flush=True,
            )
    for bound in CLIPPED:
        print(
            f"clipped {bound:g} about it, without noise, the map moves {sales.hidden(bound):.3f}, "
            f"of normal records {modelled.hidden(bound):.3f}"
        )
    print("epsilon  way            90 % intervals hold (s.e.): occupied       empty          all hexagons")
    plain = ways()[2]
    public = replace(plain, name="places public", places=True)
    for epsilon, way in (*((each, plain) for each in EPSILONS), (1.0, public)):
        share, error = coverage(sales, epsilon, way)
        figures = "  ".join(f"{mean:.3f} ({apart:.3f})" for mean, apart in zip(share, error, strict=True))
        print(f"{epsilon:7g}  {way.name:40}  {figures}", flush=True)
    print(
        f"Seed {SEED}; {options.releases} simulated releases of each row, {WORLDS} simulated worlds, "
        f"delta {DELTA:g}."
    )


if __name__ == "__main__":
    main()
