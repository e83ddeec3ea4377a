"""Simulated releases of reference data: the world that judges them."""

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
OUTER = 0.9  # quantile at the upper end of the stated range of agreements; a tenth is beyond either end
SEED = 314159  # simulated draws on reference data only; a release never sees it


class PostProcessing(Protocol):
    """The part of a design that determines the publication of a release."""

    @property
    def smoothing(self) -> int: ...
    @property
    def cutoff(self) -> float: ...
    def settled(self, released: Released, level: Floats | float, direction: Direction) -> PostProcessing:
        """Take over a drawn release's own cutoff, if any; `level`, scalar or (N,), in response
        units."""
        ...


@dataclass(frozen=True)
class Agreement:
    """Average agreement of simulated released sets with the target map."""

    # iou, iou_sd: mean and standard deviation of the intersection over union; NaN if the true map
    # has one side only
    iou: float
    iou_sd: float
    # mean of |released area - true area| over the true area; NaN if the true map is empty
    area_error: float
    right: float  # mean share of the shown hexagons that are right; NaN if nothing is shown
    # low, high: range that contains the intersection over union of a release in one more world with
    # a chance of 80 %; NaN unless several worlds were simulated
    low: float = math.nan
    high: float = math.nan
    error: float = 0.0  # standard error of `iou`, over the releases of one world or over several worlds
    worlds: tuple[float, ...] = ()  # `iou` in each of several worlds


@dataclass(frozen=True)
class HeldOut:
    """Score of a design's model on held-out cells."""

    bce: float  # binary cross-entropy of its exceedance probabilities, NaN if it has none
    # `tr K (K + r^2 I)^-1` over the reference records, NaN if it has no meaning
    effective_dimension: float = math.nan


def average(found: Sequence[Agreement]) -> Agreement:
    """Average over several worlds of equal weight; the deviation is that of one release in one of
    them.

    The range is Student's prediction range for one more world: the k worlds are few, and the range
    of their quantiles would be too short. A world whose true map has one side only has no score.
    The result is NaN if no world has a score; if only one of several has one, the range is 0 to 1.
    """
    scores = [agreement for agreement in found if np.isfinite(agreement.iou)]
    mean = float(np.mean([agreement.iou for agreement in scores])) if scores else float("nan")
    square = sum(agreement.iou_sd**2 + (agreement.iou - mean) ** 2 for agreement in scores) / max(
        1, len(scores)
    )
    wide = 1.0 if scores and len(found) > 1 else float("nan")
    if (k := len(scores)) > 1:
        wide = float(stdtrit(k - 1, OUTER) * np.sqrt(square * k / (k - 1) * (1.0 + 1.0 / k)))
    errors = [agreement.area_error for agreement in found if np.isfinite(agreement.area_error)]
    rights = [agreement.right for agreement in found if np.isfinite(agreement.right)]
    return Agreement(
        mean,
        float(np.sqrt(square)) if scores else float("nan"),
        float(np.mean(errors)) if errors else float("nan"),
        float(np.mean(rights)) if rights else float("nan"),
        max(0.0, mean - wide) if np.isfinite(wide) else wide,
        min(1.0, mean + wide) if np.isfinite(wide) else wide,
        _standard_error([agreement.iou for agreement in scores]),
        tuple(agreement.iou for agreement in found),
    )


def _standard_error(values: Sequence[float] | Floats) -> float:
    """Standard error of the mean of k values; 0 for a single value, or if one is undefined."""
    defined = len(values) > 1 and bool(np.all(np.isfinite(values)))
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if defined else 0.0


@dataclass(frozen=True, eq=False)
class World:
    """Reference records under one response scale, and the question. Pure and picklable."""

    facts: PublicFacts  # public facts of the planned release
    records: CollapsedRecords  # all reference records, response units
    training: CollapsedRecords  # records outside the held-out cells
    held_out: Ints  # positions of the h held-out cells, shape (h,)
    labels: Bools  # whether the true value of each held-out cell is on the side of the question, shape (h,)
    # level, direction: the threshold in response units and the side of the question
    level: float
    direction: Direction
    offset: Floats  # (N,) public prior mean, response units; zeros without one
    baseline: Bools | None = None  # (N,) the target map, None before it is computed
    # middle, spread: median and robust standard deviation of the reference's cells before clipping,
    # response units, less the public prior mean
    middle: float = 0.0
    spread: float = 0.5
    # whether `middle` comes from reference data instead of a guess
    mean_known: bool = True
    # the threshold on the scale of mean responses, if it differs from that of the field; None for
    # one scale
    seen_level: float | None = None
    usual: float = 0.0  # mean response to which the map without privacy returns far from all records
    # records on either side of the threshold in each cell; None if a single record has no side
    sides: Sides | None = None

    @property
    def cache(self) -> Cache:
        """Cache shared with the other worlds of the same domain."""
        return self.facts.cache

    @property
    def sides_of_records(self) -> Sides:
        """Records on either side; records without a side take that of the target map.

        Raises InvalidValue if the target map is missing, too.
        """
        if self.sides is not None:
            return self.sides
        if self.baseline is None:
            raise InvalidValue("the map to be reached is not known: run the unconstrained search first.")
        count = np.zeros(self.baseline.size)
        np.add.at(count, self.records.index, self.records.count)
        return Sides(count * self.baseline, count * ~self.baseline)

    @property
    def public_side(self) -> Bools | None:
        """(N,) cells of the public map on the side of the question; None without a public map."""
        return None if self.facts.field is None else self.inside(np.zeros_like(self.offset))

    def aiming_at(self, baseline: Bools) -> World:
        """Set the target map, (N,)."""
        return replace(self, baseline=baseline)

    @cached_property
    def key(self) -> int:
        """Key of this world in a shared cache."""
        records = self.records
        parts = (records.index, records.count, records.mean, self.offset)
        return hash((*(part.tobytes() for part in parts), self.level, self.direction))

    def releases(self, paths: int) -> int:
        """Number of simulated releases, for a number of paths in each."""
        return SIMULATED_RELEASES if paths == 1 else max(4, SIMULATED_RELEASES // paths)

    def family(
        self, prior: str, lengthscale: float, draws: int = 1, *, training: bool = False
    ) -> RidgeFamily:
        """Posteriors of the world's records for every ridge, with shared simulated draws."""
        records = self.training if training else self.records
        return self.cache.family(prior, lengthscale, records, draws, SEED)

    def inside(self, field: Floats) -> Bools:
        """Excursion, (..., N), of means of responses (without their public prior mean) at the
        threshold."""
        level = self.level if self.seen_level is None else self.seen_level
        return excursion(field + self.offset, level, self.direction)

    def probability(self, mean: Floats, sd: Floats, offset: Floats) -> Floats:
        """Exceedance probabilities (k,) of normal values, response units; `offset` is added to the
        mean."""
        return exceedance_probability(mean + offset, sd, self.level, self.direction)

    def probabilities(self, released: Released) -> Floats:
        """(N,) exceedance probabilities of a release, or vote fractions if it has none."""
        full = released.shifted(self.offset)
        chance = full.probability(self.level, self.direction)
        return vote_fraction(full.paths, self.level, self.direction) if chance is None else chance

    def published(self, released: Released, design: PostProcessing) -> Bools:
        """(N,) the published set of a release, by the design's smoothing and cutoff."""
        full = released.shifted(self.offset)
        chance = full.set_chance(self.level, self.direction)
        if chance is not None:
            return agreed(chance, design.settled(full, self.level, self.direction).cutoff)
        paths = smooth(self.facts.lattice, full.paths, design.smoothing)
        return released_set(paths, self.level, design.cutoff, self.direction)

    def bce(self, probability: Floats) -> float:
        """Cross-entropy, nats a cell, of probabilities (h,) at the held-out cells against their
        labels."""
        return bce(probability, self.labels)

    def held_out_bce(self, mean: Floats, sd: Floats) -> float:
        """Cross-entropy, nats a cell, of normal marginals (h,) at the held-out cells against their
        labels.

        Mean and deviation are those of the field without its public prior mean, response units.
        """
        return self.bce(self.probability(mean, sd, self.offset[self.held_out]))

    def agreement(self, sets: Bools) -> Agreement:
        """Compare released sets (S, N) with the target map; InvalidValue if that map is missing."""
        if self.baseline is None:
            raise InvalidValue("the map to be reached is not known: run the unconstrained search first.")
        common = np.count_nonzero(sets & self.baseline, axis=1)
        shown_areas, area = np.count_nonzero(sets, axis=1), int(np.count_nonzero(self.baseline))
        two_sided = 0 < area < self.baseline.size
        values = common / (shown_areas + area - common) if two_sided else np.full(len(sets), np.nan)
        spread = float(values.std(ddof=1)) if values.size > 1 else 0.0
        error = float(np.abs(shown_areas - area).mean() / area) if area else float("nan")
        not_empty = shown_areas > 0
        right = common[not_empty] / shown_areas[not_empty]
        return Agreement(
            float(values.mean()),
            spread,
            error,
            float(right.mean()) if not_empty.any() else float("nan"),
            error=_standard_error(values),
        )

    def held_out_iou(self, sets: Bools) -> float:
        """Mean IoU of sets (S, N) with the labels of the held-out cells; NaN if one is
        undefined."""
        return float(ious(np.atleast_2d(sets)[:, self.held_out], self.labels).mean())
