"""The field's prior: eigenfunctions and public columns, and what clipping does to responses and levels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from scipy.special import ndtr

from dpgp_core._checks import positive
from dpgp_core.errors import InvalidValue
from dpgp_core.features.eigen import Eigenpairs
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Floats
from dpgp_core.spectral.ball import ONE_COLUMN, Ball

MOST_COLUMNS = 8  # more columns than these are refused: each takes its part of the noise's budget
COLUMN_REACH = 3.0
"""Deviations from the mean: a number further away counts as this far, or one odd cell would be all."""

SHARE = 0.25  # share of the variance that columns are believed to explain together, if they explain anything


@dataclass(frozen=True, eq=False)
class FieldBasis:
    """A field of mean variance 1: `rows @ z + sqrt(rest) e`, z (Q,) and e (M,) standard normal.

    Its variance is 1 at every node, but for what public columns add where they are far from their mean.
    """

    rows: Floats  # (M, Q) scaled eigenfunctions, then columns that the field's mean depends on
    rest: Floats  # (M,) variance of what they leave out, in [0, 1]; treated as independent from node to node

    @classmethod
    def of(cls, pairs: Eigenpairs, count: int | None = None) -> FieldBasis:
        """From the `count` leading eigenpairs (all by default), each node's variance scaled to 1."""
        kept = slice(None if count is None else max(1, count))
        rows = pairs.vectors[:, kept] * np.sqrt(pairs.values[kept])
        rows = rows / np.sqrt(pairs.variance)[:, None]
        rest = 1.0 - np.einsum("ij,ij->i", rows, rows)
        return cls(rows, np.clip(rest, 0.0, 1.0))

    def with_common(self, share: float) -> FieldBasis:
        """The same with a last column, the share of the variance that nodes have in common: the mean is not
        known.
        """
        return self.with_columns(np.ones((self.rest.size, 1)), share)

    def with_own(self, share: float) -> FieldBasis:
        """The same where neighbours share so much of the variance, in [0, 1]; the rest is each node's own."""
        rows = self.rows if share else self.rows[:, :1]
        return FieldBasis(np.sqrt(share) * rows, 1.0 - share + share * self.rest)

    def with_columns(self, columns: Floats, share: float) -> FieldBasis:
        """The same with columns (M, k) of mean square 1 in the field's mean, their weights normal of mean 0.

        `share`, in [0, 1), is the part of the mean variance that all columns together explain, equally.
        """
        added = np.sqrt(share / columns.shape[1]) * columns
        return FieldBasis(np.hstack([np.sqrt(1.0 - share) * self.rows, added]), (1.0 - share) * self.rest)

    def following(self, weight: Floats, count: int) -> FieldBasis:
        """The same in the `count` functions along which it varies most where the nodes have weight (M,) >= 0.

        What they leave out counts as independent from node to node.
        """
        if self.rows.shape[1] <= count:
            return self
        values, turned = np.linalg.eigh((self.rows * weight[:, None]).T @ self.rows)
        kept = turned[:, np.argsort(-values)[:count]]
        signs = np.sign(kept[np.abs(kept).argmax(axis=0), np.arange(count)])  # the same on every machine
        rows = self.rows @ (kept * signs)
        left = self.variance - np.einsum("ij,ij->i", rows, rows)
        return FieldBasis(rows, np.maximum(left, 0.0))

    @cached_property
    def variance(self) -> Floats:
        """(M,) variance of the field at each node."""
        return np.asarray(np.einsum("ij,ij->i", self.rows, self.rows) + self.rest)


def at_nodes(nodes: Nodes, columns: Floats) -> Floats:
    """(M, k) node means of public columns (N, k), `standardised` again; InvalidValue for other cells."""
    if columns.shape[0] != nodes.cells:
        raise InvalidValue("covariates need one number for each cell of the domain.")
    gathered = np.column_stack([nodes.gather(column) for column in columns.T])
    return standardised(gathered / nodes.cells_per_node[:, None])


def standardised(columns: Floats) -> Floats:
    """Scale public columns (N, k): mean 0, mean square at most 1, cut off beyond COLUMN_REACH deviations.

    Raises InvalidValue for no column or too many, a number that is not finite, or a constant column.
    """
    found = np.asarray(columns, dtype=np.float64)
    if found.ndim != 2 or not 1 <= found.shape[1] <= MOST_COLUMNS:
        raise InvalidValue(f"between 1 and {MOST_COLUMNS} covariates can be read together.")
    if not np.all(np.isfinite(found)):
        raise InvalidValue("every number of a covariate must be finite.")
    largest = np.abs(found).max(axis=0)
    found = found / np.where(largest > 0, largest, 1.0)  # squares of very large numbers would overflow
    for _ in range(2):
        found = found - found.mean(axis=0)
        deviation = found.std(axis=0)
        if not np.all(deviation > 1e-12):
            raise InvalidValue("a covariate is the same everywhere: leave it out.")
        found = np.clip(found / deviation, -COLUMN_REACH, COLUMN_REACH)
    return np.asarray(np.clip(found / np.sqrt(np.square(found).mean(axis=0)), -COLUMN_REACH, COLUMN_REACH))


Law = Literal["amount", "yes-no", "rate", "density"]
"""What a response is: an amount, clipped to [-1, 1], or the answer to a question, -1 or 1.

Of counted records it is always 1: the field is the logarithm of their number over what is expected of public
numbers, relative to the average ("rate") or as it is ("density").
"""

_REACH, _POINTS = 8.0, 1_601


@dataclass(frozen=True)
class PublicPrior:
    """What is believed, from public knowledge, of responses before clipping; all in response units."""

    mean: float  # of the field over the domain
    deviation: float  # lambda > 0 of the field
    ridge: float  # r > 0: a record scatters around its cell's value with standard deviation r lambda
    # of a response: the value clipped, or its sign; or 1, and the field says how many records there are
    law: Law = "amount"
    ball: Ball = ONE_COLUMN  # which the vector of a record's responses is cut to, all columns being alike

    def __post_init__(self) -> None:
        if not np.isfinite(self.mean):
            raise InvalidValue("the prior mean must be a finite number.")
        positive("the prior's standard deviation", self.deviation)
        positive("the ridge", self.ridge)

    @property
    def counted(self) -> bool:
        """Whether records are counted and have no values."""
        return self.law in ("rate", "density")

    @property
    def scatter(self) -> float:
        """Standard deviation `r lambda` of one record around its cell's value, before clipping."""
        return self.ridge * self.deviation

    def scaled(self, factor: float) -> PublicPrior:
        """The same with a field so much wider; records scatter as before, and rates keep their mean."""
        mean = self.mean * factor**2 if self.counted else self.mean
        return PublicPrior(mean, factor * self.deviation, self.ridge / factor, self.law, self.ball)

    def moments(self, value: Floats) -> tuple[Floats, Floats]:
        """First and second moment of a response where the field has these values, of any shape.

        Of counted records: of their number over the expected one, linear around a field of 0.
        """
        if self.counted:
            first = 1.0 + np.asarray(value)
            return first, np.square(first) + 1.0
        if self.law == "yes-no":
            return 2.0 * ndtr(np.asarray(value) / self.scatter) - 1.0, np.ones(np.shape(value))
        if self.ball != ONE_COLUMN:
            return self.ball.moments(value, self.scatter, self.mean, self.deviation)
        return clipped_moments(value, self.scatter)


@dataclass(frozen=True)
class ClippedPrior:
    """The same after clipping to [-1, 1]: the law of `g(f) = E[clip(f + e) | f]` and of the rest."""

    # mean, deviation: of g(f) for a field value f drawn from the prior
    mean: float
    deviation: float
    record_noise: float  # standard deviation of `clip(f + e) - g(f)`, on average over the prior
    before: PublicPrior  # the prior before clipping

    @classmethod
    def of(cls, prior: PublicPrior) -> ClippedPrior:
        """By quadrature over f in equal steps; given f the moments are closed formulas."""
        points = np.linspace(-_REACH, _REACH, _POINTS)
        weights = np.exp(-0.5 * np.square(points))
        weights /= weights.sum()
        first, second = prior.moments(prior.mean + prior.deviation * points)
        mean = float(weights @ first)
        spread = float(weights @ np.square(first - mean))
        rest = float(weights @ (second - np.square(first)))
        return cls(mean, float(np.sqrt(max(spread, 1e-18))), float(np.sqrt(max(rest, 1e-18))), prior)

    @property
    def slope(self) -> float:
        """Of a clipped response in the field, on average."""
        return self.deviation / self.before.deviation

    def level(self, threshold: Floats | float, share: Floats | float = 0.0) -> Floats:
        """Where a threshold (response units, before clipping) lies among clipped responses.

        `share`, in [0, 1], is the field's posterior over its prior deviation. A field value known exactly
        exceeds the threshold where g(f) exceeds g(threshold). Of one about which nothing is known, the normal
        law with the moments of g(f) gives the right probability at the level `mean + deviation (threshold -
        prior mean)/(prior deviation)`. In between the level is interpolated. The result has the shape that
        both broadcast to.
        """
        exact, vague = self.ends(threshold)
        return np.asarray(exact + np.clip(share, 0.0, 1.0) * (vague - exact))

    def ends(self, threshold: Floats | float) -> tuple[Floats, Floats]:
        """The levels for the shares 0 and 1 at one threshold, or at one a node, (M,)."""
        threshold = np.asarray(threshold, dtype=np.float64)
        exact = self.before.moments(threshold)[0]
        return exact, self.mean + self.deviation * (threshold - self.before.mean) / self.before.deviation


@dataclass(frozen=True, eq=False)
class LinearLaw:
    """Answers of yes and no, made linear in the field around what is known of it at each node.

    A response is `mean + deviation (B z + rest)` plus noise of deviation `record_noise`, (M,) each, for a
    field `before.mean + before.deviation (B z + rest)`.
    """

    mean: Floats
    deviation: Floats
    record_noise: Floats

    @classmethod
    def around(cls, prior: PublicPrior, value: Floats, deviation: Floats) -> LinearLaw:
        """For a field N(value, deviation^2) at each node (M,): the best linear guess, and what it leaves."""
        made = cls.about(prior.mean, value, deviation, prior.scatter)
        return cls(made.mean, made.deviation * prior.deviation, made.record_noise)

    @classmethod
    def about(
        cls, start: Floats | float, value: Floats, deviation: Floats, scatter: float = 1.0
    ) -> LinearLaw:
        """The same in the field less `start`, a number or (M,): `mean + deviation (field - start)`.

        `scatter` is that of a record around the field.
        """
        wide = np.sqrt(scatter**2 + np.square(deviation))
        at = value / wide
        centre = 2.0 * ndtr(at) - 1.0
        slope = 2.0 * np.exp(-0.5 * np.square(at)) / np.sqrt(2.0 * np.pi) / wide
        left = 1.0 - np.square(centre) - np.square(slope * deviation)
        return cls(centre + slope * (start - value), slope, np.sqrt(np.maximum(left, 1e-6)))


def clipped_moments(value: Floats, scatter: Floats | float) -> tuple[Floats, Floats]:
    """First and second moment of `clip(value + e, -1, 1)`, `e ~ N(0, scatter^2)`, for values of any shape."""
    value = np.asarray(value, dtype=np.float64)
    low, high = (-1.0 - value) / scatter, (1.0 - value) / scatter
    below, above = ndtr(low), ndtr(-high)
    between = ndtr(high) - below
    at_low, at_high = (np.exp(-0.5 * np.square(x)) / np.sqrt(2.0 * np.pi) for x in (low, high))
    first = above - below + value * between - scatter * (at_high - at_low)
    second = (
        above
        + below
        + (np.square(value) + scatter**2) * between
        - 2.0 * value * scatter * (at_high - at_low)
        - scatter**2 * (high * at_high - low * at_low)
    )
    first = np.clip(first, -1.0, 1.0)
    return first, np.clip(second, np.square(first), 1.0)


ROUNDS = 12  # of Newton's method in `before_cut`
LEAST_INSIDE = 0.02  # chance of a response within its bounds, below which it is taken for so much there


def before_cut(mean: Floats, scatter: Floats) -> tuple[Floats, Floats]:
    """(M,) values whose responses, scattered by `scatter` (M,) and clipped to [-1, 1], have the means (M,).

    Then by how much each value moves with its mean. The mean of what lies beyond the bounds is taken as one
    just inside them.
    """
    wanted, value, inside = np.clip(mean, -0.999, 0.999), mean, np.ones(mean.shape)
    for _ in range(ROUNDS):
        inside = np.maximum(ndtr((1.0 - value) / scatter) - ndtr((-1.0 - value) / scatter), LEAST_INSIDE)
        value = value + np.clip((wanted - clipped_moments(value, scatter)[0]) / inside, -0.5, 0.5)
    return np.clip(value, -REACH, REACH), 1.0 / inside


def share_of_yes(mean: Floats, deviation: Floats) -> tuple[Floats, Floats]:
    """(M,) expected shares of yes where their probits are N(mean, deviation^2), and how they move with it."""
    total = np.hypot(1.0, deviation)
    return ndtr(mean / total), np.exp(-0.5 * np.square(mean / total)) / (np.sqrt(2.0 * np.pi) * total)


REACH = 3.0  # the released field is said within so many clip bounds of the centre
STEPS = 6001
GROUPS = 64  # of cells by how well they are known, in going back to the field before clipping
NEAR = 0.02  # clip bounds: so near the centre the slope there is taken


@lru_cache(maxsize=16)
def _ends_of_grid(prior: ClippedPrior) -> tuple[Floats, Floats]:
    """`prior.ends` of the grid in `unclipped`, which several layers share."""
    return prior.ends(np.linspace(-REACH, REACH, STEPS))


def unclipped(
    clipped: Floats, spread: Floats, prior: ClippedPrior, paths: Floats
) -> tuple[Floats, Floats, Floats]:
    """Paths, mean and deviation of the field before clipping, from the posterior of the clipped one.

    From the clipped field's mean and deviation `clipped`, `spread` (N,) and its paths (L, N): (L, N), (N,)
    and (N,), response units, within REACH of the centre. A value t of the field stands for the level
    `prior.level(t, share)` of the clipped one, where the share is the cell's posterior over its prior
    deviation. It increases in t, so paths exceed t as often as `exceedance` states. The deviation is that for
    which a normal law states the same probability at the centre, 0.
    """
    field, step = np.linspace(-REACH, REACH, STEPS, retstep=True)
    share = np.clip(spread / prior.deviation, 0.0, 1.0)
    group = np.rint(share * GROUPS).astype(np.int64)
    order = np.argsort(group, kind="stable")
    rows = np.vstack([clipped, paths])[:, order]  # cells that are known alike lie side by side
    found, slope = np.empty(rows.shape), np.empty(share.size)
    exact, vague = _ends_of_grid(prior)
    numbers, starts = np.unique(group[order], return_index=True)
    for number, start, end in zip(numbers, starts, [*starts[1:], share.size], strict=True):
        level = exact + number / GROUPS * (vague - exact)
        part = rows[:, start:end].flatten()  # a copy: rows are read below
        rising = np.argsort(part)  # in order, each is found beside the one before: half of the time
        part[rising] = np.interp(part[rising], level, field)
        found[:, start:end] = part.reshape(-1, end - start)
        mean, apart = found[0, start:end], rows[0, start:end] - level[STEPS // 2]
        near = np.abs(mean) < NEAR
        there = (level[STEPS // 2 + 1] - level[STEPS // 2 - 1]) / (2.0 * step)
        slope[start:end] = np.where(near, there, apart / np.where(near, 1.0, mean))
    back = np.argsort(order)
    found = found[:, back]
    return found[1:], found[0], spread / np.maximum(slope[back], 1e-3)
