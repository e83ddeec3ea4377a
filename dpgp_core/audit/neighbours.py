"""Neighbouring datasets that look worst for a design: few places, extreme responses, exact divergences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpgp_core.audit.gaussians import renyi_divergence
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Prior

CROWDS = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Core records beside the replaced ones, in units of the ridge squared."""


@dataclass(frozen=True)
class Pair:
    """Two datasets that differ in one record: `first` has a record at cells[0], `second` at cells[1]."""

    first: CollapsedRecords
    second: CollapsedRecords
    cells: tuple[int, int]  # where the two replaced records lie; equal when only a response is replaced
    # exact Renyi divergence of one path's values at these cells, at the order it was sought for
    divergence: float

    @property
    def watched(self) -> tuple[int, ...]:
        """The cells whose released values tell the datasets apart, without repetition."""
        return tuple(sorted(set(self.cells)))


def worst_pair(design: Design, prior: Prior, n: int, order: float = 2.0) -> Pair:
    """The candidate pair with the largest exact divergence at a Renyi order > 1.

    Without prior noise a path's values at the two replaced records' cells are sufficient: given them, the
    rest of the path has the same law under both datasets. So the attack loses nothing by looking there only.
    Raises InvalidValue for fewer than two records.
    """
    if n < 2:
        raise InvalidValue("an audit needs at least two records: one is replaced, one stays.")
    best: Pair | None = None
    for x, other in _places(prior, design):
        park = _far_from(prior, (x, other))
        cells = np.unique([x, other, park])
        covariance = among(prior, cells)
        where = {int(cell): k for k, cell in enumerate(cells)}
        for core in _cores(design, n, x, other, park):
            for response in (-1.0, 1.0) if x != other else (-1.0,):
                data = [[*core, (x, 1, 1.0)], [*core, (other, 1, response)]]
                value = _divergence(design, covariance, where, data, (x, other), order)
                if best is None or value > best.divergence:
                    best = Pair(_collapse(data[0]), _collapse(data[1]), (x, other), value)
    assert best is not None  # there is always a place
    return best


def among(prior: Prior, cells: np.ndarray) -> Floats:
    """Prior covariance (k, k) among cells at positions (k,), in units of the prior's variance."""
    if prior.graph is not None:
        inside = prior.lattice.inside[cells]
        right = np.zeros((prior.lattice.centres.shape[0], cells.size), order="F")
        right[inside, np.arange(cells.size)] = 1.0
        return np.asarray(prior.graph.factor.solve(right)[inside])
    return np.asarray(prior.correlation()[np.ix_(cells, cells)])


Rows = list[tuple[int, int, float]]
"""Groups of records: cell, how many, and their common response."""


def _places(prior: Prior, design: Design) -> Iterator[tuple[int, int]]:
    """Pairs of cells: from the domain's middle to itself, its neighbour, and ever farther cells."""
    centres = prior.lattice.domain_centres
    middle = int(np.argmin(np.linalg.norm(centres - centres.mean(axis=0), axis=1)))
    corner = _far_from(prior, (middle,))
    for x in dict.fromkeys((middle, corner)):
        distance = np.linalg.norm(centres - centres[x], axis=1)
        wanted = [0.0, prior.lattice.spacing, *(factor * prior.lengthscale for factor in (0.5, 1.0, 2.0))]
        others = [int(np.argmin(np.abs(distance - goal))) for goal in (*wanted, float(distance.max()))]
        yield from ((x, other) for other in dict.fromkeys(others))


def _far_from(prior: Prior, cells: tuple[int, ...]) -> int:
    centres = prior.lattice.domain_centres
    distance = np.min([np.linalg.norm(centres - centres[cell], axis=1) for cell in cells], axis=0)
    return int(np.argmax(distance))


def _cores(design: Design, n: int, x: int, other: int, park: int) -> Iterator[Rows]:
    """Common cores of n - 1 records: crowds that pull against the replaced records, the rest parked away."""
    ridge = float(getattr(design, "ridge", 1.0))
    crowds = {min(round(factor * ridge**2), (n - 1) // 2) for factor in CROWDS}
    for near in sorted(crowds):
        for far in sorted(crowds) if x != other else (0,):
            for pull in (-1.0, 1.0):
                rest = n - 1 - near - far
                rows = [(x, near, -1.0), (other, far, pull), (park, rest, 0.0)]
                yield [row for row in rows if row[1] > 0]


def _collapse(rows: Rows) -> CollapsedRecords:
    index = np.concatenate([np.full(count, cell) for cell, count, _ in rows])
    return CollapsedRecords.from_records(index, np.concatenate([np.full(c, y) for _, c, y in rows]))


def _divergence(
    design: Design, covariance: Floats, where: dict[int, int], data: list[Rows], ends: tuple[int, int],
    order: float,
) -> float:  # fmt: skip
    """The larger of the two directions' divergences."""
    seen = sorted({where[cell] for cell in ends})
    laws = []
    for rows in data:
        count, pull = np.zeros(len(where)), np.zeros(len(where))
        for cell, number, response in rows:
            count[where[cell]] += number
            pull[where[cell]] += number * response
        law = mechanism_of(design).law(design, covariance, count, pull, seen)
        if law is None:
            raise InvalidValue(f"The audit knows no law of {design.mechanism}: name the pair to attack.")
        laws.append(law)
    one, two = laws
    return max(renyi_divergence(*one, *two, order), renyi_divergence(*two, *one, order))
