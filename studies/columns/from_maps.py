"""An atlas whose columns start from published maps, against each alone and as many releases that do too.

Command: `python -m studies.columns.from_maps [FOLDER] [--releases N]`.

FOLDER as for `studies.columns.atlas`, whose tables, scores and judges these are; four columns each. `alone`:
each column released by itself at the whole budget. `k releases`: each at mu over the root of k. `atlas`: one
at the whole budget. `shuffled`: an atlas of records whose values are exchanged among their places. `map`: the
published maps themselves, without any private record. In generated worlds the fields drifted by .4 of their
deviations since the published records; a third of the Jura's samples is private and the others are published.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import process_time

import numpy as np

from dpgp_core.atlas.design import atlas_design
from dpgp_core.atlas.release import prepare_atlas
from dpgp_core.excursion import iou
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.spectral_design import FIXED_RANGE, FIXED_RIDGE
from dpgp_core.noise import SimulationEntropy
from dpgp_core.priors.lattice import Lattice
from dpgp_core.releasing import Released, draw_release
from dpgp_core.spectral.public_field import MapModel, PublicField
from studies.agreement.spectral_sensors import SURVEYS
from studies.columns.atlas import (
    DELTA,
    EPSILONS,
    METALS,
    PLACES,
    ROWS,
    SEED,
    SHARES,
    SQUARE,
    WORLDS,
    Judge,
    Score,
    Table,
    fields_of,
    guessed,
    records_of,
    survey_table,
)
from studies.material.real_files import real_files_parser

RELATED = 0.0, 0.9  # correlations of the fields of generated worlds
DRIFT = 0.4  # of their fields since the published records, in deviations
UNCUT = 8.0  # deviations beyond which a map without privacy cuts no value


def two_years(correlation: float, seed: int, count: int = 4) -> tuple[Table, Table]:
    """Such columns now and at an earlier time, since when their fields drifted: other records among the same
    clusters. Centres and deviations of both are guessed from the earlier ones."""
    generator = np.random.default_rng(seed)
    before = fields_of(generator, correlation, count)
    now = before + DRIFT * fields_of(generator, correlation, count)
    clusters = generator.uniform(0, ROWS, (PLACES, 2))
    (then, known), (cells, values) = (records_of(generator, each, clusters) for each in (before, now))
    return Table(SQUARE, cells, guessed(values, known)), Table(SQUARE, then, guessed(known))


def parted(table: Table) -> tuple[Table, Table]:
    """A third of the records of a survey, and the others, with the guesses of the whole."""
    third = np.random.default_rng(SEED).random(table.cells.size) < 1.0 / 3.0
    return tuple(  # type: ignore[return-value]
        replace(table, cells=table.cells[part], values=table.values[part]) for part in (third, ~third)
    )


@dataclass(frozen=True, eq=False)
class Published:
    """The maps of an earlier table, from which the columns of another start."""

    fields: tuple[PublicField, ...]
    bounds: Floats  # (k,) clip bounds of records about them
    counts: Floats  # (N,) earlier records of each hexagon

    @classmethod
    def of(cls, earlier: Table) -> Published:
        """By the likeliest law of each column."""
        lattice, fields = earlier.lattice, []
        for column in earlier.values.T:
            field = PublicField.of(Nodes.of(lattice), earlier.cells, column)
            reach = FIXED_RANGE * lattice.spacing
            shown = MapModel("exponential", reach, FIXED_RIDGE, 0.0, UNCUT / field.bound)
            fields.append((field.bound, field.rescaled(0.0, field.bound, shown)))
        counts = np.bincount(earlier.cells, minlength=lattice.size).astype(np.float64)
        return cls(tuple(field for _, field in fields), np.array([bound for bound, _ in fields]), counts)

    def part(self, column: int) -> Published:
        """The same for one column."""
        return replace(self, fields=self.fields[column : column + 1], bounds=self.bounds[column : column + 1])

    def maps(self, lattice: Lattice) -> Floats:
        """(k, N) in units of the bounds."""
        return np.array([field.at_cells(lattice.domain_centres) for field in self.fields])

    def released(self, table: Table, mu: float, seed: int) -> tuple[Released, ...]:
        """One release of all columns at this Gaussian parameter."""
        facts, maps = replace(table.facts, counts=self.counts), self.maps(table.lattice)
        design = atlas_design(table.lattice.spacing, len(self.fields), table.cells.size, drift=True)
        responses = table.values / self.bounds - maps[:, table.cells].T
        ready = prepare_atlas(replace(design, mu=mu, paths=1), facts, table.cells, responses, self.fields)
        layers = draw_release(ready, SimulationEntropy(seed), simulation=True).layers
        return tuple(layer.shifted(each) for layer, each in zip(layers, maps, strict=True))


def beside(table: Table, earlier: Table, epsilon: float, releases: int) -> dict[str, float]:
    """Mean agreement of every design that starts from a published table, and of the published maps."""
    public, judge, mu = Published.of(earlier), Judge.of(table), Budget(epsilon, DELTA).mu
    count, mixed = len(public.fields), table.shuffled(SEED)
    columns = [(public.part(at), replace(table, values=table.values[:, [at]])) for at in range(count)]
    found = {name: Score(judge) for name in ("alone", "k releases", "atlas", "shuffled")}
    for number in range(releases):
        for name, score in found.items():
            seed, start = SEED + number, process_time()
            if name in ("alone", "k releases"):
                each = mu if name == "alone" else mu / math.sqrt(count)
                layers = [
                    one.released(own, each, seed + 1_000 * at)[0] for at, (one, own) in enumerate(columns)
                ]
            else:
                layers = list(public.released(mixed if name == "shuffled" else table, mu, seed))
            score.add(layers, public.bounds.tolist(), process_time() - start)
    agreements: list[float] = []
    for own, shown in zip(judge.maps[:, judge.there], public.maps(table.lattice), strict=True):
        for share in SHARES:
            level, index = float(np.quantile(own, 1.0 - share)), len(agreements) // len(SHARES)
            agreements.append(iou(public.bounds[index] * shown[judge.there] > level, own > level))
    return {**{name: score.mean for name, score in found.items()}, "map": float(np.mean(agreements))}


def print_beside(name: str, tables: Sequence[tuple[Table, Table]], releases: int) -> None:
    """Lines of four columns that start from a published table: means over tables."""
    count, n = tables[0][0].values.shape[1], tables[0][0].cells.size
    for epsilon in EPSILONS:
        found = [beside(*pair, epsilon, releases) for pair in tables]
        means = "  ".join(f"{key} {np.mean([each[key] for each in found]):.3f}" for key in found[0])
        print(f"{name}, k {count}, n {n}, epsilon {epsilon:g}: {means}", flush=True)


def main() -> None:
    asked = real_files_parser(__doc__, 12).parse_args()
    if (asked.folder / "sensors").is_dir():
        jura = parted(survey_table(SURVEYS[1], METALS[:4], asked.folder))
        print_beside("Jura", [jura], asked.releases)
    else:
        print("The surveys are not there: they are not shipped; name the folder that holds `sensors`.")
    for correlation in RELATED:
        years = [two_years(correlation, SEED + each) for each in range(WORLDS)]
        print_beside(f"generated, related {correlation:g}", years, asked.releases // WORLDS)
    print(f"Seed {SEED}; {asked.releases} simulated releases of each row, delta {DELTA:g}.")


if __name__ == "__main__":
    main()
