"""An atlas: several columns of one table under one promise, against each alone and as many releases.

Command: `python -m studies atlas`, or `python -m studies.columns.atlas [FOLDER] [--releases N]`.

FOLDER is ../shared/data of the checkout unless named; without the files the generated worlds remain. Each
column is the logarithm of one more than the value; its public centre is .25 of its deviations off and its
public deviation is 1.2 times the true one. `alone`: each column released by itself at the whole budget, which
all together do not keep. `k releases`: each at mu over the root of k, which they keep. `apart` and
`likelier`: one atlas at the whole budget, its columns read by themselves, or so or with the others as the
released sums choose. `shuffled`: an
atlas read apart of records whose values are exchanged among their places. Scored is the agreement with the
map of the same column without privacy (the posterior mean of the records themselves, range 8 spacings), mean
over columns and two thresholds, above which that map has 40 and 20 % of the hexagons with records, over these
hexagons; a map wholly above reaches .30. `ECE` is the mean distance of stated
chances of that map from what it shows, in ten bins, alone and then as is likelier; so are CPU seconds, of one
release of all columns with its reading. Then the same with 30 % of all values missing at random: with
presence sums, and with the complete records alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as made
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np

from dpgp_core.atlas.design import CLIP, AtlasDesign, Columns, atlas_design
from dpgp_core.atlas.release import calibrated, prepare_atlas
from dpgp_core.excursion import agreed, exceedance_probability, iou
from dpgp_core.linalg import Bools, Floats, Ints
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.spectral_design import FIXED_RANGE, FIXED_RIDGE, fixed_design
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice
from dpgp_core.priors.registry import make_prior
from dpgp_core.releasing import PublicFacts, Released, draw_release
from hexcursion.errors import WorkflowError
from hexcursion.project.load import load_project
from studies.agreement.answers import calibration_error
from studies.agreement.panel import LONDON, LUCAS, TOLEDO
from studies.agreement.spectral_sensors import SURVEYS, Survey, survey_settings
from studies.material.real_files import real_files_parser

SEED, DELTA, EPSILONS = 155, 1e-5, (1.0, 3.0)
OFF, WIDE = 0.25, 1.2  # of the public guesses: of the centre, in deviations, and of the deviation
SHARES = 0.4, 0.2  # of the records' hexagons above a threshold
MEAN = 0.3  # variance of the mean of the map without privacy, where the field has variance 1
MISSING = 0.3
ALONE = 1.23
"""Clip bound of one column alone, in guessed deviations: as its fixed design believes records to scatter."""
LONDON_BOX = next(each.box for each in SURVEYS if each.title.startswith("LAQN"))
METALS = ("Cd", "Cu", "Pb", "Zn", "Co", "Cr", "Ni")
TABLES: dict[str, tuple[Survey, tuple[str, ...], tuple[int, ...]]] = {
    "Meuse": (SURVEYS[0], ("lead", "cadmium", "copper", "zinc"), (2, 4)),
    "Jura": (SURVEYS[1], METALS, (2, 4, 7)),
    "wells": (SURVEYS[3], ("Arsenic", "Depth"), (2,)),
    "Lucas County": (
        Survey("Lucas County", LUCAS, "price", "lon", "lat", "EPSG:4326", 8, TOLEDO),
        ("price", "syear"),
        (2,),
    ),
    "London 2018": (
        Survey("London 2018", LONDON, "price", "lon", "lat", "EPSG:4326", 8, LONDON_BOX),
        ("price", "new_build"),
        (2,),
    ),
}
"""Their survey, columns, and numbers of columns."""
LARGE = ("wells", "Lucas County", "London 2018")
WHERE = {"London 2018": (("year", "2018"),)}
GENERATED = {0.0: (2, 4, 10), 0.5: (2, 4, 10), 0.9: (4,)}
"""Correlation of the fields of generated worlds -> numbers of columns."""
WORLDS, ROWS, PLACES, RECORDS = 3, 20, 40, 600  # generated worlds: their number, side, clusters and records
SQUARE = Lattice.grid(ROWS, ROWS, 1_000.0)


@dataclass(frozen=True, eq=False)
class Table:
    """Records of one area with several columns, in public deviations from public centres."""

    lattice: Lattice
    cells: Ints  # (n,)
    values: Floats  # (n, k), NaN where a value is missing

    @property
    def facts(self) -> PublicFacts:
        """The public facts: the domain and the number of records."""
        return PublicFacts(self.lattice, n=self.cells.size)

    def shuffled(self, seed: int) -> Table:
        """The same with values exchanged among the places."""
        order = np.random.default_rng(seed).permutation(self.cells.size)
        return replace(self, values=self.values[order])

    def gappy(self, seed: int) -> Table:
        """The same with a share MISSING of all values gone, at random."""
        gone = np.random.default_rng(seed).random(self.values.shape) < MISSING
        return replace(self, values=np.where(gone, np.nan, self.values))

    def complete(self) -> Table:
        """The records without any gap."""
        whole = ~np.isnan(self.values).any(axis=1)
        return replace(self, cells=self.cells[whole], values=self.values[whole])


@dataclass(frozen=True, eq=False)
class Judge:
    """The maps without privacy of all columns, in cells with records."""

    there: Ints  # hexagons with records
    maps: Floats  # (k, N)

    @classmethod
    def of(cls, table: Table) -> Judge:
        """By the posterior mean given the records themselves."""
        there, place, count = np.unique(table.cells, return_inverse=True, return_counts=True)
        prior = make_prior("exponential", table.lattice, FIXED_RANGE * table.lattice.spacing)
        covariance, maps = prior.correlation() + MEAN, []
        for column in table.values.T:
            mean = np.bincount(place, column) / count
            deviation = column.std() / math.hypot(1.0, FIXED_RIDGE)
            seen = covariance[np.ix_(there, there)] + np.diag(FIXED_RIDGE**2 / count)
            centred = (mean - column.mean()) / deviation
            maps.append(column.mean() + deviation * covariance[:, there] @ np.linalg.solve(seen, centred))
        return cls(there, np.array(maps))

    def scores(self, layer: Released, column: int, clip: float) -> Iterator[tuple[float, Floats, Bools]]:
        """Agreement, stated chances of the map and what it shows, at each threshold; responses are in clips.

        Raises WorkflowError for a release that states no map without privacy.
        """
        found = self.maps[column][self.there]
        for share in SHARES:
            level = float(np.quantile(found, 1.0 - share))
            chance, shown = layer.set_chance(level / clip), layer.shown_map
            if chance is None or shown is None:
                raise WorkflowError("The release states no map without privacy.")
            region = agreed(chance, layer.own_cutoff(level / clip))
            stated = exceedance_probability(*shown, level / clip, "above")
            yield iou(region[self.there], found > level), stated[self.there], found > level


@dataclass(eq=False)
class Score:
    """Mean agreement and calibration error of releases, and CPU seconds of one."""

    judge: Judge
    agreements: list[float] = made(default_factory=list)
    chances: list[Floats] = made(default_factory=list)
    shown: list[Bools] = made(default_factory=list)
    seconds: list[float] = made(default_factory=list)

    def add(self, layers: Sequence[Released], clips: float | Sequence[float], seconds: float) -> None:
        """Score all layers of one release, or of as many, which have one clip bound or each its own."""
        self.seconds.append(seconds)
        bounds = np.broadcast_to(clips, len(layers)).tolist()
        for column, (layer, clip) in enumerate(zip(layers, bounds, strict=True)):
            for agreement, chance, shown in self.judge.scores(layer, column, clip):
                self.agreements.append(agreement)
                self.chances.append(chance)
                self.shown.append(shown)

    @property
    def mean(self) -> float:
        """Mean agreement."""
        return float(np.mean(self.agreements))

    @property
    def ece(self) -> float:
        """Mean distance of stated chances from observed shares."""
        return calibration_error(np.concatenate(self.chances), np.concatenate(self.shown))


def released_atlas(table: Table, epsilon: float, reading: Columns, seed: int) -> tuple[Released, ...]:
    """One release of all columns, presence summed where values are missing."""
    count = table.values.shape[1]
    gaps = bool(np.isnan(table.values).any())
    design: AtlasDesign = atlas_design(table.lattice.spacing, count, table.cells.size, gaps)
    design = calibrated(replace(design, reading=reading, paths=1), table.facts, Budget(epsilon, DELTA))
    ready = prepare_atlas(design, table.facts, table.cells, table.values / CLIP)
    return draw_release(ready, SimulationEntropy(seed), simulation=True).layers


def released_alone(table: Table, mu: float, seed: int) -> tuple[Released, ...]:
    """A release of each column by itself, each at this Gaussian parameter."""
    mechanism = MECHANISMS["spectral-statistics"]
    design, made_of = replace(fixed_design(table.lattice.spacing), mu=mu, paths=1), []
    for number, column in enumerate(table.values.T):
        records = CollapsedRecords.from_records(table.cells, np.clip(column / ALONE, -1.0, 1.0))
        ready = mechanism.prepare(design, table.facts, records)
        made_of.append(draw_release(ready, SimulationEntropy(seed + 1_000 * number), simulation=True))
    return tuple(made_of)


def compared(table: Table, epsilon: float, releases: int) -> dict[str, Score]:
    """Every design on one table."""
    mu, count = Budget(epsilon, DELTA).mu, table.values.shape[1]
    judge, mixed = Judge.of(table), table.shuffled(SEED)
    names = ("alone", "k releases", "apart", "likelier", "shuffled")
    found = {name: Score(judge) for name in names}
    for number in range(releases):
        seed = SEED + number
        for name, score in found.items():
            start = process_time()
            if name == "alone":
                layers, clip = released_alone(table, mu, seed), ALONE
            elif name == "k releases":
                layers, clip = released_alone(table, mu / math.sqrt(count), seed), ALONE
            else:
                reading: Columns = "likelier" if name == "likelier" else "apart"
                given = mixed if name == "shuffled" else table
                layers, clip = released_atlas(given, epsilon, reading, seed), CLIP
            score.add(layers, clip, process_time() - start)
    return found


def survey_table(survey: Survey, columns: Sequence[str], folder: Path) -> Table:
    """The records of a survey with these columns, in guessed deviations from guessed centres.

    Raises WorkflowError if its columns are not of the same records.
    """
    projects = []
    for column in columns:
        settings = survey_settings(replace(survey, value=column), folder)
        data = replace(settings.data, where=WHERE.get(survey.title, ()), equal_rows="each")
        projects.append(load_project(settings.with_changes(data=data)))
    placed = [project.private.placed for project in projects]
    if any(not np.array_equal(each.index, placed[0].index) for each in placed):
        raise WorkflowError("The columns of this survey are not of the same records.")
    values = np.log1p(np.column_stack([each.value for each in placed]))
    return Table(projects[0].lattice, placed[0].index, guessed(values))


def guessed(values: Floats, known: Floats | None = None) -> Floats:
    """(n, k) values in guessed deviations from guessed centres, by `known` (m, k) where others tell them."""
    told = values if known is None else known
    deviation = told.std(axis=0)
    return np.asarray((values - told.mean(axis=0) - OFF * deviation) / (WIDE * deviation))


def world(correlation: float, seed: int, count: int = 4) -> Table:
    """Columns whose fields have this correlation, at clustered places of a square of cells."""
    generator = np.random.default_rng(seed)
    fields = fields_of(generator, correlation, count)
    cells, values = records_of(generator, fields, generator.uniform(0, ROWS, (PLACES, 2)))
    return Table(SQUARE, cells, guessed(values))


def fields_of(generator: np.random.Generator, correlation: float, count: int) -> Floats:
    """(N, k) fields of variance 1 with this correlation."""
    prior = make_prior("exponential", SQUARE, FIXED_RANGE * SQUARE.spacing).correlation()
    root = np.linalg.cholesky(prior + 1e-9 * np.eye(SQUARE.size))
    alike = np.full((count, count), correlation) + (1.0 - correlation) * np.eye(count)
    return root @ generator.normal(size=(SQUARE.size, count)) @ np.linalg.cholesky(alike).T


def records_of(generator: np.random.Generator, fields: Floats, clusters: Floats) -> tuple[Ints, Floats]:
    """Cells (n,) of records about clusters, and their values (n, k)."""
    middle = clusters[generator.integers(0, PLACES, RECORDS)]
    place = np.clip(np.floor(middle + generator.normal(0.0, 1.5, middle.shape)), 0, ROWS - 1).astype(np.int64)
    cells = place[:, 0] * ROWS + place[:, 1]
    return cells, fields[cells] + FIXED_RIDGE * generator.normal(size=(RECORDS, fields.shape[1]))


def row(name: str, count: int, n: int, epsilon: float, found: Sequence[dict[str, Score]]) -> str:
    """One line of the table: means over tables."""
    means = "  ".join(f"{np.mean([each[key].mean for each in found]):.3f}" for key in found[0])
    eces = "  ".join(f"{np.mean([each[key].ece for each in found]):.3f}" for key in ("alone", "likelier"))
    seconds = "  ".join(
        f"{np.mean([each[key].seconds for each in found]):5.2f}" for key in ("alone", "likelier")
    )
    return f"{name:22} {count:2}  {n:6}  {epsilon:7g}  {means}   {eces}   {seconds}"


def gaps(table: Table, epsilon: float, releases: int) -> tuple[float, float]:
    """Agreement with the maps of all values where some are missing: presence sums, complete records alone."""
    judge = Judge.of(table)
    summed, whole = Score(judge), Score(judge)
    for number in range(releases):
        gappy = table.gappy(SEED + number)
        summed.add(released_atlas(gappy, epsilon, "apart", SEED + number), CLIP, 0.0)
        whole.add(released_atlas(gappy.complete(), epsilon, "apart", SEED + number), CLIP, 0.0)
    return summed.mean, whole.mean


HEAD = "table                   k       n  epsilon  alone  k rel  apart  like.  shuf.   ECE           CPU s"


def print_surveys(titles: Sequence[str], folder: Path, releases: int) -> None:
    """Print the lines of some surveys whose files are in a folder."""
    for title in titles:
        survey, columns, sizes = TABLES[title]
        for count in sizes:
            table = survey_table(survey, columns[:count], folder)
            for epsilon in EPSILONS:
                found = compared(table, epsilon, releases)
                print(row(title, count, table.cells.size, epsilon, [found]), flush=True)


def main() -> None:
    asked = real_files_parser(__doc__, 12).parse_args()
    print(HEAD)
    known = (asked.folder / "sensors").is_dir()
    if known:
        print_surveys([title for title in TABLES if title not in LARGE], asked.folder, asked.releases)
    for correlation, counts in GENERATED.items():
        for count, epsilon in product(counts, EPSILONS):
            many = [
                compared(world(correlation, SEED + each, count), epsilon, asked.releases // WORLDS)
                for each in range(WORLDS)
            ]
            print(row(f"generated, related {correlation:g}", count, RECORDS, epsilon, many), flush=True)
    if known:
        table = survey_table(SURVEYS[1], METALS[:4], asked.folder)
        print(
            "Jura, four metals, epsilon 3, 30 % of the values missing: agreement with the maps of all values"
        )
        summed, whole = gaps(table, 3.0, asked.releases)
        print(f"presence sums {summed:.3f}; complete records alone {whole:.3f}")
    else:
        print("The surveys are not there: they are not shipped; name the folder that holds `sensors`.")
    print(f"Seed {SEED}; {asked.releases} simulated releases of each row, delta {DELTA:g}.")


if __name__ == "__main__":
    main()
