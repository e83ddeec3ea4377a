"""Releases of several periods read together: agreement in London, calibration, change, attack and time.

Command: `python -m studies.agreement.series [FOLDER] [--part london]`.

FOLDER is ../shared/data of the checkout unless named; where the file of London's sales is absent one
sentence says so. All sums are released in simulation, by the design for data of which nothing is known and
without public data. The target map shows all sales of 2018; a reading shows the set that it expects to agree
best. Spots grow within the clip bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from data_loaders.lucas_county import SALES
from dpgp_core.accounting.gaussian import gaussian_epsilon, gaussian_mu
from dpgp_core.excursion import cutoff_for_map, iou
from dpgp_core.linalg import Floats, cholesky
from dpgp_core.mechanisms.spectral_design import fixed_design
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.fitting import fit
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice
from dpgp_core.priors.registry import make_prior
from dpgp_core.spectral.cost import release_mu
from dpgp_core.spectral.model import Prepared, PublicCounts, SpectralModel, SpectralPlan
from dpgp_core.spectral.prior import PublicPrior
from dpgp_core.spectral.series import EXPLAINED, SeriesPrior, SeriesReading, read_series
from dpgp_core.spectral.series_states import Period
from dpgp_core.spectral.sums import ExactNoise, GridRecords, release_sums
from geo import Domain
from hexcursion.bundle.published.series import LEVEL, SHIFT
from hexcursion.errors import WorkflowError
from hexcursion.project.example import COUNTY_THRESHOLD, county_settings
from hexcursion.project.load import build_lattice, load_project
from studies.london.task import load_task, real_settings
from studies.material.disk import SPACING, rings
from studies.material.real_files import real_files_parser
from studies.reporting.measures import calibration_error, standard_error

SEED, DELTA = 2018, 1e-5
FILE = "house_sales/london_transactions_2015_2018_latlon.csv.gz"
CLIP, STILL = 1.2, 0.98  # in logarithms; the memory of a stated prior
EPSILONS, DRAWS = (0.25, 1.0), 6
RADIUS, WORLDS, PERIODS, RECORDS, SPEED = 10, 100, 5, 2_000, 11_000
MEMORIES = (0.8, 0.95)
SPOTS, RISE, WIDE = (0.05, 0.1, 0.2), 0.1, 1_500.0  # response units a period, and in all; metres
LEVELS, RISES = (-0.3, 0.0, 0.3), (0.0, 0.2)  # response units
SURE = 0.8


@dataclass(frozen=True)
class Plan:
    """One domain's model, and the plan by which every period is released."""

    model: SpectralModel
    made: Prepared
    clip: float

    @classmethod
    def of(cls, lattice: Lattice, epsilon: float, n: int, clip: float) -> Plan:
        """The design for data of which nothing is known, at an epsilon."""
        design, model = fixed_design(lattice.spacing), SpectralModel(lattice)
        belief = PublicPrior(design.middle, design.spread * design.amplitude, design.ridge)
        plan = SpectralPlan(
            design.strategy,
            design.prior,
            design.lengthscale,
            belief,
            gaussian_mu(epsilon, DELTA),
            n / lattice.size,
            "replace-one",
            design.signal,
            design.common,
        )
        return cls(model, model.prepare(plan), clip)

    def period(
        self, at: float, cell: Any, response: Floats, entropy: SimulationEntropy, centre: float
    ) -> Period:
        """One simulated release."""
        records = GridRecords.of(cell, response)
        made = self.made
        released = release_sums(made.features, made.nodes, records, made.noise, ExactNoise(entropy))
        return Period(at, made, released, PublicCounts("unknown", float(records.n)), centre, self.clip)

    def prior(self, middle: float) -> SeriesPrior:
        """As `hexcursion series` takes it from this design."""
        belief = self.made.plan.field
        deviation = self.clip * belief.deviation
        return SeriesPrior(
            self.made.plan.prior,
            self.made.plan.lengthscale,
            middle,
            deviation,
            belief.ridge * deviation,
            level=LEVEL * deviation,
            shift=SHIFT * deviation,
        )


@dataclass(frozen=True, eq=False)
class Town:
    """Sales of several years at one place: by year their number, cells and logarithms of prices."""

    lattice: Lattice
    sales: dict[int, tuple[int, Any, Floats]]
    threshold: float
    each: int

    @classmethod
    def of(
        cls, domain: Domain, table: pd.DataFrame, years: Sequence[int], threshold: float, each: int
    ) -> Town:
        """Sales inside the domain, of a table with columns price, year, lat and lon."""
        cell = domain.locate(table["lon"].to_numpy(), table["lat"].to_numpy())
        sales = {}
        for year in years:
            kept = (table["year"].to_numpy() == year) & (cell >= 0)
            prices = np.log(table["price"].to_numpy()[kept].astype(np.float64))
            sales[year] = int(kept.sum()), cell[kept], prices
        return cls(build_lattice(domain), sales, threshold, each)


def london(folder: Path) -> Iterator[str]:
    """Agreement with the map of all sales of 2018, of one to four years read together."""
    path = folder / FILE
    if not path.exists():
        yield f"There is no {FILE} in {folder}: London is left out."
        return
    try:
        domain = load_task(real_settings(folder), "region").domain
    except WorkflowError as error:
        yield str(error)
        return
    table = pd.read_csv(path, usecols=["price", "year", "lat", "lon"])
    yield from _town(Town.of(domain, table, range(2015, 2019), 550_000.0, 11_000))


def lucas(_: Path) -> Iterator[str]:
    """The same of houses in Lucas County, half of whose sales are drawn."""
    domain = load_project(county_settings()).domain
    yield from _town(Town.of(domain, pd.read_csv(SALES), range(1993, 1999), COUNTY_THRESHOLD, 2_000))


def _town(town: Town) -> Iterator[str]:
    """Compare two maps of the last year with that of all its sales: by a stated prior, and as a series."""
    lattice, sales, centre = town.lattice, town.sales, float(np.log(town.threshold))
    first, *_, previous, last = years = tuple(sales)
    rows = {
        f"{last} alone": (last,),
        f"{previous} and {last}": (previous, last),
        f"{first} to {last}": years,
        f"{first} to {previous}, before {last} is released": years[:-1],
    }
    _, cell, response = sales[last]
    records = CollapsedRecords.from_records(cell, np.clip((response - centre) / CLIP, -1.0, 1.0))
    design = fixed_design(lattice.spacing)
    truth = fit(make_prior(design.prior, lattice, design.lengthscale), records, design.ridge).mean > 0.0
    sizes = ", ".join(f"{sales[year][0]:,} sales of {year}" for year in years)
    yield f"{lattice.size:,} hexagons; {town.each:,} of {sizes} in a release"
    yield f"{truth.mean():.2f} of the map of all sales of {last} lies above {town.threshold:,.0f}"
    yield f"{'':48}  stated, p >= .5         chosen, p >= .5         chosen, best set        others' prices"
    yield f"epsilon  {'read':39}  {3 * 'IoU    gain    s.e.     '}stated  chosen"
    for epsilon in EPSILONS:
        plan = Plan.of(lattice, epsilon, town.each, CLIP)
        scores_of = np.empty((len(rows), DRAWS, 5))
        for draw in range(DRAWS):
            entropy, generator = SimulationEntropy(SEED + draw), np.random.default_rng(SEED + draw)
            periods = {}
            for year, (n, cells, values) in sales.items():
                order = generator.permutation(n)
                sample, holdout = order[: town.each], order[town.each :]
                periods[year] = plan.period(
                    year, cells[sample], (values[sample] - centre) / CLIP, entropy, centre
                )
            for row, of in enumerate(rows.values()):
                released = [periods[year] for year in of]
                scores, errors = [], []
                for choose in (False, True):
                    read = read_series(
                        plan.model,
                        released,
                        replace(plan.prior(centre), memory=STILL),
                        (float(last),),
                        choose=choose,
                    )
                    chance, off = read.above(centre)[-1], response[holdout] - read.mean[-1, cell[holdout]]
                    scores.append(iou(chance >= 0.5, truth))
                    errors.append(float(np.sqrt(np.mean(np.square(off)))))
                best = iou(chance >= cutoff_for_map(chance, chance), truth)
                scores_of[row, draw] = [*scores, best, *errors]
        gains = scores_of - scores_of[0]
        for name, each_draw, gain in zip(rows, scores_of, gains, strict=True):
            mean = each_draw.mean(axis=0)
            parts = [
                f"{mean[k]:.3f}  {gain[:, k].mean():+.3f}  {standard_error(gain[:, k]):.3f}" for k in range(3)
            ]
            yield f"{epsilon:7.2f}  {name:39}  {'    '.join(parts)}    {mean[3]:.3f}   {mean[4]:.3f}"


def _disk(radius: int) -> Lattice:
    """The hexagons within `radius` rings around one, with the centres of the stored figures.

    They differ from those of `rings` in their last bits. The eigenvalues of a disk are degenerate, so its
    eigenvectors, and with them all figures, depend on these bits.
    """
    lattice, step = rings(radius), SPACING * np.sqrt(0.75)
    x, y = lattice.centres.T
    return replace(lattice, centres=np.column_stack([x, step * np.rint(y / step)]))


def _worlds(
    plan: Plan, root: Floats, memory: float, count: int, spot: float = 0.0
) -> Iterator[tuple[Floats, SeriesReading]]:
    """Generated fields of all periods (T, N), and the reading of their releases.

    A hot spot of deviation WIDE grows by `spot` response units from each period to the next.
    """
    belief, size = plan.made.plan.field, root.shape[0]
    centres = plan.model.nodes.lattice.domain_centres
    for world in range(count):
        generator = np.random.default_rng([SEED, world])
        entropy = SimulationEntropy(SEED + world)
        level = LEVEL * belief.deviation * generator.normal()
        uneven = np.exp(root @ generator.normal(size=size))
        at = centres[generator.integers(size)]
        bump = np.exp(-np.square(centres - at).sum(axis=1) / (2.0 * WIDE**2))
        deviations = root @ generator.normal(size=size)
        fields, periods = [], []
        for period in range(PERIODS):
            if period:
                deviations = memory * deviations + np.sqrt(1.0 - memory**2) * (
                    root @ generator.normal(size=size)
                )
            shift = SHIFT * belief.deviation * generator.normal() * (memory < 1.0)
            field = level + shift + belief.deviation * deviations + spot * period * bump
            cell = generator.choice(size, RECORDS, p=uneven / uneven.sum())
            response = field[cell] + belief.scatter * generator.normal(size=RECORDS)
            fields.append(field)
            periods.append(plan.period(float(period), cell, response, entropy, 0.0))
        yield np.array(fields), read_series(plan.model, periods, plan.prior(0.0))


def calibration() -> Iterator[str]:
    """Stated and true chances of values and of rises in generated series, and how often change is stated."""
    lattice = _disk(RADIUS)
    root = cholesky(
        make_prior("exponential", lattice, fixed_design(lattice.spacing).lengthscale).correlation()
        + 1e-9 * np.eye(lattice.size),
        "the generated field",
        "use another range",
    )
    yield (
        f"{WORLDS} generated series of {PERIODS} periods on {lattice.size} hexagons, {RECORDS:,} records "
        f"a period; values at {len(LEVELS)} levels, rises by more than {RISES[0]} and {RISES[1]}; ten bins"
    )
    yield "epsilon  memory  ECE value  rise > 0  rise > .2  right where likely risen  steps told as change"
    for epsilon in EPSILONS:
        plan = Plan.of(lattice, epsilon, RECORDS, 1.0)
        for memory in MEMORIES:
            yield f"{epsilon:7.2f}  {memory:6.2f}  {_calibrated(plan, root, memory)}"
        rises, changes = [], []
        for _, read in _worlds(plan, root, 1.0, WORLDS):
            rises.append([float((read.risen(by)[1:] >= SURE).mean()) for by in RISES])
            changes += [*~read.explained]
        any_rise, clear_rise = np.mean(rises, axis=0)
        yield (
            f"{epsilon:7.2f}  nothing changes: {any_rise:.3f} of hexagons called risen by more than 0, "
            f"{clear_rise:.4f} by more than {RISES[1]}; {np.mean(changes):.3f} of steps told as change"
        )
        for spot in SPOTS:
            changes, hits, false = [], [], []
            for fields, read in _worlds(plan, root, 1.0, WORLDS, spot):
                changes += [*~read.explained]
                rose, change = read.risen(RISE)[0] >= SURE, fields[-1] - fields[0]
                hits.append(float(rose[change > 0.5 * spot * (PERIODS - 1)].mean()))
                false.append(float(rose[change <= RISE].mean()))
            yield (
                f"{epsilon:7.2f}  a spot grows by {spot} a period, the rest stays: {np.mean(changes):.2f} of "
                f"steps told as change; called risen by more than {RISE} over all periods: "
                f"{np.mean(hits):.2f} of the spot's inner half, {np.mean(false):.4f} of what did not"
            )


def _calibrated(plan: Plan, root: Floats, memory: float) -> str:
    """Calibration in worlds of one memory, as a line of the table."""
    values: list[tuple[Floats, Floats]] = []
    rises: dict[float, list[tuple[Floats, Floats]]] = {by: [] for by in RISES}
    changes = []
    for fields, read in _worlds(plan, root, memory, WORLDS):
        values += [(read.above(level).ravel(), (fields > level).ravel()) for level in LEVELS]
        for by, pairs in rises.items():
            pairs.append((read.risen(by)[1:].ravel(), (np.diff(fields, axis=0) > by).ravel()))
        changes += [*~read.explained]
    likely = np.concatenate([true[stated >= SURE] for pairs in rises.values() for stated, true in pairs])
    apart = "  ".join(f"{_ece(pairs):8.3f}" for pairs in rises.values())
    return f"{_ece(values):9.3f}  {apart}   {likely.mean():.2f} of {likely.size:10,}  {np.mean(changes):.3f}"


def _ece(pairs: Sequence[tuple[Floats, Floats]]) -> float:
    """Expected calibration error of stated chances and outcomes, in ten bins."""
    stated, true = (np.concatenate(part) for part in zip(*pairs, strict=True))
    return calibration_error(stated, true)


def worst_mu(releases: Sequence[Prepared], records: Sequence[int] = (1,)) -> float:
    """Largest shift of all releases together, in units of their noise, over all pairs of nodes.

    A person has `records` in each period, all at one node, and is exchanged for another person who has as
    many at another node, or with other responses: -1 and 1 in each period.
    """
    total = np.zeros((releases[0].nodes.size,) * 2)
    for release, count in zip(releases, records, strict=True):
        phi, noise = release.features.values, release.noise
        products = phi @ phi.T
        norms = np.diag(products)
        squares = norms[:, None] + norms[None, :]
        counts = 0.0 if noise.counts is None else (squares - 2.0 * products) / noise.counts**2
        total += count**2 * ((squares + 2.0 * np.abs(products)) / noise.sums**2 + counts)
    return float(np.sqrt(total.max()))


def attack() -> Iterator[str]:
    """The exact cost of a whole series: of one sale, a station in every period, an owner of several sales."""
    lattice = _disk(RADIUS)
    yield f"{'who':58}  exact mu  declared  epsilon declared"
    for epsilon in EPSILONS:
        release = Plan.of(lattice, epsilon, RECORDS, 1.0).made
        coloured = SpectralModel(lattice).prepare(replace(release.plan, strategy="coloured"))
        rows = {
            "a sale in one of any number of periods": ([release], [1]),
            "a station in 4 periods": ([release] * 4, [1] * 4),
            "a station in 8 periods": ([release] * 8, [1] * 8),
            "a station in 4 periods, whose features alternate": ([release, coloured] * 2, [1] * 4),
            "an owner of 2 sales in the first of 4 periods, then 1 each": ([release] * 4, [2, 1, 1, 1]),
        }
        for who, (releases, records) in rows.items():
            declared = float(
                np.sqrt(
                    sum(
                        (q * release_mu(each.products, each.noise)) ** 2
                        for q, each in zip(records, releases, strict=True)
                    )
                )
            )
            yield (
                f"{who:58}  {worst_mu(releases, records):8.6f}  {declared:8.6f}  "
                f"{gaussian_epsilon(declared, DELTA):.3f}"
            )


def speed() -> Iterator[str]:
    """CPU time of one reading."""
    lattice = _disk(28)
    plan = Plan.of(lattice, 1.0, SPEED, 1.0)
    generator = np.random.default_rng(SEED)
    field = 0.5 * lattice.domain_centres[:, 0] / lattice.domain_centres[:, 0].max()
    periods = []
    for period in range(20):
        cell = generator.integers(0, lattice.size, SPEED)
        response = field[cell] + 0.64 * generator.normal(size=SPEED)
        periods.append(plan.period(float(period), cell, response, SimulationEntropy(period), 0.0))
    start = time.process_time()
    read_series(plan.model, periods, plan.prior(0.0))
    yield (
        f"20 periods of {lattice.size:,} hexagons, {plan.made.features.size} sums each, read together with a "
        f"choice of memory, deviation and range: {time.process_time() - start:.1f} CPU seconds"
    )


PARTS: dict[str, Callable[[Path], Iterator[str]]] = {
    "london": london,
    "lucas": lucas,
    "calibration": lambda _: calibration(),
    "attack": lambda _: attack(),
    "speed": lambda _: speed(),
}


def main() -> None:
    parser = real_files_parser(__doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="only these parts")
    options = parser.parse_args()
    start = time.process_time()
    print(f"Seed {SEED}; delta {DELTA:g}; change is told above log evidence {EXPLAINED:.3f}.")
    for name in options.part or PARTS:
        print(f"\n{name}")
        for line in PARTS[name](options.folder):
            print(line, flush=True)
    print(f"The whole benchmark took {time.process_time() - start:,.0f} s of CPU time.")


if __name__ == "__main__":
    main()
