"""Simulated releases of reference data: the world they are judged in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import stdtrit

from dpgp_core.errors import InvalidValue
from dpgp_core.excursion import (
    Direction,
    agreed,
    bce,
    exceedance_probability,
    excursion,
    ious,
    released_set,
    vote_fraction,
)
from dpgp_core.linalg import Bools, Floats, Ints
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.posterior.ridge_family import Cache, RidgeFamily
from dpgp_core.priors.lattice import smooth
from dpgp_core.releasing import PublicFacts, Released
from dpgp_core.yardstick import Sides

SIMULATED_RELEASES = 12
OUTER = 0.9  # the range of agreements told beforehand leaves out a tenth at either end
SEED = 314159  # simulated draws on reference data only; a release never sees it


class PostProcessing(Protocol):
    """The part of a design that says how a release is published."""

    @property
    def smoothing(self) -> int: ...
    @property
    def cutoff(self) -> float: ...
    def settled(self, released: Released, level: Floats | float, direction: Direction) -> PostProcessing:
        """The same for a drawn release, whose cutoff may be its own; `level`, scalar or (N,), response
        units.
        """
        ...


@dataclass(frozen=True)
class Agreement:
    """How simulated released sets compare with the map to be reached, on average."""

    # iou, iou_sd: mean and standard deviation of the intersection over union; NaN where the true map has one
    # side only
    iou: float
    iou_sd: float
    # mean of |released area - true area| over the true area; NaN where the true map is empty
    area_error: float
    right: float  # mean share of the shown hexagons that are right; NaN where nothing is shown
    # low, high: between these the intersection over union of a release in one more world lies with a chance
    # of 80 %; NaN unless several worlds were simulated
    low: float = math.nan
    high: float = math.nan
    error: float = 0.0  # standard error of `iou`, over the releases of one world or over several worlds
    worlds: tuple[float, ...] = ()  # `iou` in each of several worlds


@dataclass(frozen=True)
class HeldOut:
    """How the model behind a design does on held-out cells."""

    bce: float  # binary cross-entropy of its exceedance probabilities, NaN where it has none
    # `tr K (K + r^2 I)^-1` over the reference records, NaN where that has no meaning
    effective_dimension: float = math.nan


def average(found: Sequence[Agreement]) -> Agreement:
    """Over several worlds of equal weight; the deviation is that of one release in one of them.

    The range is Student's for one more draw from as many as there are worlds: the k of them are few, and
    their quantiles would hold less than they say. A world whose true map has one side only gives no score:
    NaN remains where none gives one. Where one of several does, the range is from 0 to 1.
    """
    scores = [each for each in found if np.isfinite(each.iou)]
    mean = float(np.mean([each.iou for each in scores])) if scores else float("nan")
    square = sum(each.iou_sd**2 + (each.iou - mean) ** 2 for each in scores) / max(1, len(scores))
    wide = 1.0 if scores and len(found) > 1 else float("nan")
    if (k := len(scores)) > 1:
        wide = float(stdtrit(k - 1, OUTER) * np.sqrt(square * k / (k - 1) * (1.0 + 1.0 / k)))
    errors = [each.area_error for each in found if np.isfinite(each.area_error)]
    rights = [each.right for each in found if np.isfinite(each.right)]
    return Agreement(
        mean,
        float(np.sqrt(square)) if scores else float("nan"),
        float(np.mean(errors)) if errors else float("nan"),
        float(np.mean(rights)) if rights else float("nan"),
        max(0.0, mean - wide) if np.isfinite(wide) else wide,
        min(1.0, mean + wide) if np.isfinite(wide) else wide,
        _standard_error([each.iou for each in scores]),
        tuple(each.iou for each in found),
    )


def _standard_error(values: Sequence[float] | Floats) -> float:
    """Of the mean of k values; 0 where one value, or one that is not defined, says nothing of it."""
    known = len(values) > 1 and bool(np.all(np.isfinite(values)))
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if known else 0.0


@dataclass(frozen=True, eq=False)
class World:
    """Reference records under one response scale, and the question asked of them. Pure and picklable."""

    facts: PublicFacts  # public facts of the release that is planned
    records: CollapsedRecords  # all reference records, response units
    training: CollapsedRecords  # those outside the held-out cells
    held_out: Ints  # positions of the h held-out cells, shape (h,)
    labels: Bools  # whether each held-out cell truly lies on the asked side, shape (h,)
    # level, direction: the threshold in response units and its asked side
    level: float
    direction: Direction
    offset: Floats  # (N,) public prior mean, response units; zeros without one
    baseline: Bools | None = None  # (N,) the map to be reached, None before it is known
    # middle, spread: median and robust standard deviation of the reference's cells before clipping, response
    # units, less the public prior mean
    middle: float = 0.0
    spread: float = 0.5
    # whether `middle` comes from reference data, and not from a guess about fields that nobody has seen
    mean_known: bool = True
    # the threshold among means of responses, where that is another than among values of the field; None where
    # they have one scale
    seen_level: float | None = None
    usual: float = 0.0  # mean response that the map without privacy returns to far from all records
    # records on either side of the threshold in each cell; None where a record alone has no side
    sides: Sides | None = None

    @property
    def cache(self) -> Cache:
        """Work shared with the other worlds of the same domain."""
        return self.facts.cache

    @property
    def sides_of_records(self) -> Sides:
        """Records on either side; those without a side of their own are on that of the map to be reached.

        Raises InvalidValue if that is not known either.
        """
        if self.sides is not None:
            return self.sides
        if self.baseline is None:
            raise InvalidValue("the map to be reached is not known: run the unconstrained search first.")
        count = np.zeros(self.baseline.size)
        np.add.at(count, self.records.index, self.records.count)
        return Sides(count * self.baseline, count * ~self.baseline)

    def aiming_at(self, baseline: Bools) -> World:
        """The same world with its map to be reached, (N,)."""
        return replace(self, baseline=baseline)

    @cached_property
    def key(self) -> int:
        """Tells worlds that share a cache apart."""
        held = self.records
        parts = (held.index, held.count, held.mean, self.offset)
        return hash((*(part.tobytes() for part in parts), self.level, self.direction))

    def releases(self, paths: int) -> int:
        """How many releases of so many paths are simulated."""
        return SIMULATED_RELEASES if paths == 1 else max(4, SIMULATED_RELEASES // paths)

    def family(
        self, prior: str, lengthscale: float, draws: int = 1, *, training: bool = False
    ) -> RidgeFamily:
        """Posteriors of the world's records for every ridge, with their shared simulated draws."""
        records = self.training if training else self.records
        return self.cache.family(prior, lengthscale, records, draws, SEED)

    def inside(self, field: Floats) -> Bools:
        """Excursion, (..., N), of means of responses (without their public prior mean) at the threshold."""
        level = self.level if self.seen_level is None else self.seen_level
        return excursion(field + self.offset, level, self.direction)

    def probability(self, mean: Floats, sd: Floats, offset: Floats) -> Floats:
        """Exceedance probabilities (k,) of normal values, response units; `offset` is added to the mean."""
        return exceedance_probability(mean + offset, sd, self.level, self.direction)

    def probabilities(self, released: Released) -> Floats:
        """(N,) exceedance probabilities of a release, vote fractions where it has none."""
        full = released.shifted(self.offset)
        found = full.probability(self.level, self.direction)
        return vote_fraction(full.paths, self.level, self.direction) if found is None else found

    def published(self, released: Released, design: PostProcessing) -> Bools:
        """(N,) the set that a release would publish, by the design's smoothing and cutoff."""
        full = released.shifted(self.offset)
        found = full.set_chance(self.level, self.direction)
        if found is not None:
            return agreed(found, design.settled(full, self.level, self.direction).cutoff)
        paths = smooth(self.facts.lattice, full.paths, design.smoothing)
        return released_set(paths, self.level, design.cutoff, self.direction)

    def bce(self, probability: Floats) -> float:
        """Cross-entropy, nats a cell, of probabilities (h,) at the held-out cells against their labels."""
        return bce(probability, self.labels)

    def held_out_bce(self, mean: Floats, sd: Floats) -> float:
        """Cross-entropy, nats a cell, of normal marginals (h,) at the held-out cells against their labels.

        Of the field without its public prior mean, response units.
        """
        return self.bce(self.probability(mean, sd, self.offset[self.held_out]))

    def agreement(self, sets: Bools) -> Agreement:
        """How (S, N) released sets compare with the map to be reached; InvalidValue if that is not known."""
        if self.baseline is None:
            raise InvalidValue("the map to be reached is not known: run the unconstrained search first.")
        common = np.count_nonzero(sets & self.baseline, axis=1)
        shown, area = np.count_nonzero(sets, axis=1), int(np.count_nonzero(self.baseline))
        two_sided = 0 < area < self.baseline.size
        values = common / (shown + area - common) if two_sided else np.full(len(sets), np.nan)
        spread = float(values.std(ddof=1)) if values.size > 1 else 0.0
        error = float(np.abs(shown - area).mean() / area) if area else float("nan")
        some = shown > 0
        right = common[some] / shown[some]
        return Agreement(
            float(values.mean()),
            spread,
            error,
            float(right.mean()) if some.any() else float("nan"),
            error=_standard_error(values),
        )

    def held_out_iou(self, sets: Bools) -> float:
        """Mean IoU of sets (S, N) with the labels of the held-out cells; NaN where one is undefined."""
        return float(ious(np.atleast_2d(sets)[:, self.held_out], self.labels).mean())
