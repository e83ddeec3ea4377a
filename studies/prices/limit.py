"""The limit in the leaderboard: mean squared errors of released fields, and the proved least error.

Command: `python -m studies.prices.limit [--worlds N]`.

Worlds are drawn from the prior of the fixed design on a disk of hexagons, with records in few of them: there
the conditions of docs/limit.md hold. Every mechanism whose release is mu-GDP takes part and knows the prior:
it draws one release of each world, and the best of its grid's first three designs is shown. The numbers are
shares of the field's variance that remain. The last line, a control, reads the records of another field.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dpgp_core.bounds.limit import least_error
from dpgp_core.errors import CoreError
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.design import Budget, Design, SearchSpec
from dpgp_core.mechanisms.registry import MECHANISMS, mechanism_named
from dpgp_core.mechanisms.spectral_design import FIXED_RANGE, FIXED_RIDGE, FIXED_SPREAD
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice
from dpgp_core.releasing import PublicFacts, draw_release
from studies.material.disk import disk
from studies.reporting.tables import Cell, StudyTable

EPSILONS, DELTA, SEED, PRIOR = (0.25, 1.0, 3.0), 1e-5, 39, "exponential"
CONTROL = "spectral-statistics"
CELLS, RECORDS, UNEVEN = 217, 1_500, 3.0
"""Cells and records of a world; squared relative deviation of the expected records of a hexagon."""


@dataclass(frozen=True, eq=False)
class Worlds:
    """Fields (W, N) of one prior of covariance (N, N), and the records' cells (n,), the same in each."""

    lattice: Lattice
    covariance: Floats
    fields: Floats
    cells: np.ndarray[tuple[int], np.dtype[np.int64]]
    entropy: SimulationEntropy

    @classmethod
    def draw(cls, worlds: int, cells: int = CELLS, records: int = RECORDS) -> Worlds:
        """Draw them."""
        lattice, entropy = disk(cells), SimulationEntropy(SEED)
        prior = PublicFacts(lattice, records).prior(PRIOR, FIXED_RANGE * lattice.spacing)
        covariance = FIXED_SPREAD**2 * prior.correlation()
        root = np.linalg.cholesky(covariance + 1e-10 * np.eye(len(covariance)))
        fields = (root @ entropy.normal((len(covariance), worlds))).T
        rate = np.exp(np.sqrt(np.log(1.0 + UNEVEN)) * entropy.normal(len(covariance)))
        at = np.searchsorted(np.cumsum(rate / rate.sum()), entropy.uniform(records))
        return cls(lattice, covariance, fields, np.minimum(at, lattice.size - 1), entropy)

    @property
    def counts(self) -> Floats:
        """(N,) records of each cell."""
        return np.bincount(self.cells, minlength=self.lattice.size).astype(np.float64)

    def records(self, field: Floats) -> CollapsedRecords:
        """Records of one world, clipped as for a release."""
        scatter = FIXED_RIDGE * FIXED_SPREAD
        values = field[self.cells] + scatter * self.entropy.normal(self.cells.size)
        return CollapsedRecords.from_records(self.cells, np.clip(values, -1.0, 1.0))

    def shares_left(self, design: Design, facts: PublicFacts, *, exchanged: bool = False) -> Floats:
        """(2,) mean squared errors by records and by cells, as shares of the variance before."""
        mechanism, square = mechanism_named(design.mechanism), np.zeros(self.lattice.size)
        for number, field in enumerate(self.fields):
            source = self.fields[number - 1] if exchanged else field
            prepared = mechanism.prepare(design, facts, self.records(source))
            released = draw_release(prepared, self.entropy, simulation=True)
            mean = released.paths.mean(axis=0) if released.mean is None else released.mean
            square += np.square(mean - field) / len(self.fields)
        return self._shares(square)

    def limit(self, mu: float) -> Floats:
        """(2,) the same of the limit."""
        scatter = FIXED_RIDGE * FIXED_SPREAD
        records = least_error(self.covariance, self.counts, scatter, mu)
        cells = least_error(self.covariance, self.counts, scatter, mu, np.ones(self.lattice.size))
        before = np.diag(self.covariance)
        return np.array([records * self.counts.sum() / (self.counts @ before), cells / before.mean()])

    def _shares(self, square: Floats) -> Floats:
        before = np.diag(self.covariance)
        return np.array([self.counts @ square / (self.counts @ before), square.sum() / before.sum()])


def contested(worlds: Worlds, epsilon: float) -> Iterator[tuple[str, PublicFacts, Design, float]]:
    """Every mu-GDP mechanism with its facts, a design within the budget, and its mu."""
    for name in sorted(MECHANISMS):
        mechanism = mechanism_named(name)
        public = mechanism.protection.what == "values"
        facts = PublicFacts(worlds.lattice, int(worlds.cells.size), places_public=public)
        design = mechanism.search.fixed(worlds.lattice.spacing)
        grid = mechanism.search.grid(facts, SearchSpec((PRIOR,), 100, quick=True))
        designs = grid[:3] if design is None else (design,)
        for shape in designs:
            try:
                priced = mechanism.calibrate(shape, facts, Budget(epsilon, DELTA))
                mu = None if priced is None else mechanism.guarantee(priced, facts).exact_gaussian_mu
            except CoreError:
                continue  # no proof covers it for these records
            if priced is not None and mu is not None:
                yield name, facts, replace(priced, paths=1) if mechanism.free_paths else priced, mu


TITLE = "Worlds of the prior"
COLUMNS = (
    "data",
    "epsilon",
    "mechanism",
    "left by records",
    "limit",
    "left by hexagons",
    "limit by hexagons",
)


def shares(worlds: Worlds) -> Iterator[tuple[float, str, Floats, Floats]]:
    """For each budget each mechanism, best first: its (2,) shares left and (2,) limits."""
    for epsilon in EPSILONS:
        best: dict[str, tuple[Floats, Floats]] = {}
        for name, facts, design, mu in contested(worlds, epsilon):
            remaining = worlds.shares_left(design, facts)
            if name not in best or remaining[0] < best[name][0][0]:
                best[name] = remaining, worlds.limit(mu)
        for name, (remaining, bound) in sorted(best.items(), key=lambda each: float(each[1][0][0])):
            yield epsilon, name, remaining, bound


def table(worlds: Worlds) -> StudyTable:
    """The same as a table of the leaderboard."""
    rows: list[tuple[Cell, ...]] = []
    for epsilon, name, remaining, bound in shares(worlds):
        pairs = [round(float(figure), 3) for pair in zip(remaining, bound, strict=True) for figure in pair]
        rows.append((TITLE, epsilon, mechanism_named(name).title, *pairs))
    title = f"{TITLE}: share of the field's variance left, beside what no mechanism can beat"
    return StudyTable("worlds-of-the-prior", title, COLUMNS, tuple(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--worlds", type=int, default=40, help="worlds, each released once (default 40)")
    worlds = Worlds.draw(parser.parse_args().worlds)
    print(f"{worlds.lattice.size} hexagons, {int((worlds.counts > 0).sum())} occupied, {RECORDS} records")
    print("epsilon  mechanism                by records (limit)  by hexagons (limit)")
    for epsilon, name, remaining, bound in shares(worlds):
        pairs = [f"{a:.3f} ({b:.3f})" for a, b in zip(remaining, bound, strict=True)]
        print(f"{epsilon:7g}  {name:23}  {pairs[0]:18}  {pairs[1]}", flush=True)
    name, facts, design, _ = next(each for each in contested(worlds, EPSILONS[-1]) if each[0] == CONTROL)
    left = worlds.shares_left(design, facts, exchanged=True)
    print(f"{EPSILONS[-1]:7g}  {'another field':23}  {left[0]:.3f}               {left[1]:.3f}")
    print(f"Seed {SEED}; {len(worlds.fields)} worlds, delta {DELTA:g}.")


if __name__ == "__main__":
    main()
