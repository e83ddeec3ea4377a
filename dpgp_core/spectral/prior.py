"""The field's prior: eigenfunctions, public columns, and the effect of clipping on responses and
levels."""

from __future__ import annotations

from dataclasses import dataclass, replace
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

MOST_COLUMNS = 8  # more columns are refused: each takes a part of the noise's budget
COLUMN_REACH = 3.0
"""Deviations from the mean at which a column is cut off: otherwise one odd cell would dominate
it."""

SHARE = 0.25  # assumed share of the variance that columns explain together, if they explain anything


@dataclass(frozen=True, eq=False)
class FieldBasis:
    """A field of mean variance 1: `rows @ z + sqrt(rest) e`, z (Q,) and e (M,) standard normal.

    Its variance is 1 at every node, except that public columns far from their mean add to it.
    """

    rows: Floats  # (M, Q) scaled eigenfunctions, then the columns of the field's mean
    rest: Floats  # (M,) variance outside their span, in [0, 1]; treated as independent between nodes

    @classmethod
    def of(cls, pairs: Eigenpairs, count: int | None = None) -> FieldBasis:
        """Take the `count` leading eigenpairs (all by default) and scale each node's variance to
        1."""
        leading = slice(None if count is None else max(1, count))
        rows = pairs.vectors[:, leading] * np.sqrt(pairs.values[leading])
        rows = rows / np.sqrt(pairs.variance)[:, None]
        remainder = 1.0 - np.einsum("ij,ij->i", rows, rows)
        return cls(rows, np.clip(remainder, 0.0, 1.0))

    def with_common(self, share: float) -> FieldBasis:
        """Add a constant column with a share of the variance: an unknown mean that all nodes
        share."""
        return self.with_columns(np.ones((self.rest.size, 1)), share)

    def with_own(self, share: float) -> FieldBasis:
        """Reduce the variance that neighbours share to `share`, in [0, 1]; the rest is
        independent."""
        rows = self.rows if share else self.rows[:, :1]
        return FieldBasis(np.sqrt(share) * rows, 1.0 - share + share * self.rest)

    def with_columns(self, columns: Floats, share: float) -> FieldBasis:
        """Add columns (M, k) of mean square 1 to the field's mean, with normal weights of mean 0.

        `share`, in [0, 1), is the part of the mean variance that all columns together explain,
        equally.
        """
        explained = np.sqrt(share / columns.shape[1]) * columns
        return FieldBasis(np.hstack([np.sqrt(1.0 - share) * self.rows, explained]), (1.0 - share) * self.rest)

    def following(self, weight: Floats, count: int) -> FieldBasis:
        """Reduce to the `count` functions of largest variance under node weights (M,) >= 0.

        The remaining variance is treated as independent between nodes.
        """
        # With W = diag(weight) and rows R the weighted variances are eigenvalues of sqrt(W) R R^T
        # sqrt(W); the small matrix R^T W R has the same nonzero ones.
        if self.rows.shape[1] <= count:
            return self
        values, turned = np.linalg.eigh((self.rows * weight[:, None]).T @ self.rows)
        directions = turned[:, np.argsort(-values)[:count]]
        # LAPACK may return either sign; the largest entry is made positive, so machines agree.
        signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(count)])
        rows = self.rows @ (directions * signs)
        left = self.variance - np.einsum("ij,ij->i", rows, rows)
        return FieldBasis(rows, np.maximum(left, 0.0))

    @cached_property
    def variance(self) -> Floats:
        """(M,) variance of the field at each node."""
        return np.asarray(np.einsum("ij,ij->i", self.rows, self.rows) + self.rest)


def at_nodes(nodes: Nodes, columns: Floats) -> Floats:
    """(M, k) node means of public columns (N, k), `standardised` again; InvalidValue for other
    cells."""
    if columns.shape[0] != nodes.cells:
        raise InvalidValue("covariates need one number for each cell of the domain.")
    gathered = np.column_stack([nodes.gather(column) for column in columns.T])
    return standardised(gathered / nodes.cells_per_node[:, None])


def standardised(columns: Floats) -> Floats:
    """Scale public columns (N, k): mean 0, mean square at most 1, cut off beyond COLUMN_REACH
    deviations.

    Raises InvalidValue for no column or too many, a number that is not finite, or a constant
    column.
    """
    # Cutting off moves mean and deviation, so columns are standardised twice.
    scaled = np.asarray(columns, dtype=np.float64)
    if scaled.ndim != 2 or not 1 <= scaled.shape[1] <= MOST_COLUMNS:
        raise InvalidValue(f"between 1 and {MOST_COLUMNS} covariates can be read together.")
    if not np.all(np.isfinite(scaled)):
        raise InvalidValue("every number of a covariate must be finite.")
    largest = np.abs(scaled).max(axis=0)
    # Divide by the largest number first: squares of very large numbers would overflow.
    scaled = scaled / np.where(largest > 0, largest, 1.0)
    for _ in range(2):
        scaled = scaled - scaled.mean(axis=0)
        deviation = scaled.std(axis=0)
        if not np.all(deviation > 1e-12):
            raise InvalidValue("a covariate is the same everywhere: leave it out.")
        scaled = np.clip(scaled / deviation, -COLUMN_REACH, COLUMN_REACH)
    return np.asarray(np.clip(scaled / np.sqrt(np.square(scaled).mean(axis=0)), -COLUMN_REACH, COLUMN_REACH))


Law = Literal["amount", "yes-no", "rate", "density"]
"""Kind of a response: an amount, clipped to [-1, 1], or the answer to a question, -1 or 1.

For counted records it is always 1: the field is the logarithm of their number over the number
expected from public numbers, either relative to the average ("rate") or absolute ("density").
"""

_REACH, _POINTS = 8.0, 1_601


@dataclass(frozen=True)
class PublicPrior:
    """Public belief on responses before clipping; all in response units."""

    mean: float  # of the field over the domain
    deviation: float  # lambda > 0 of the field
    ridge: float  # r > 0: a record scatters around its cell's value with standard deviation r lambda
    # kind of response: the clipped value, its sign, or 1 if the field is the log rate of records
    law: Law = "amount"
    ball: Ball = ONE_COLUMN  # ball to which the vector of a record's responses is cut
    column: int | None = None  # the column of amounts that is read, in units of its reach; None: the first

    def __post_init__(self) -> None:
        if not np.isfinite(self.mean):
            raise InvalidValue("the prior mean must be a finite number.")
        positive("the prior's standard deviation", self.deviation)
        positive("the ridge", self.ridge)

    @property
    def counted(self) -> bool:
        """Whether the release counts records, which then have no values."""
        return self.law in ("rate", "density")

    @property
    def scatter(self) -> float:
        """Standard deviation `r lambda` of one record around its cell's value, before clipping."""
        return self.ridge * self.deviation

    def scaled(self, factor: float) -> PublicPrior:
        """Multiply the field's deviation; the scatter of records and the mean rate do not
        change."""
        # The mean of exp(u) is exp(mean + deviation^2/2): a log rate of mean -deviation^2/2 has
        # mean rate 1 only if its mean grows with the square of the factor.
        mean = self.mean * factor**2 if self.counted else self.mean
        return replace(self, mean=mean, deviation=factor * self.deviation, ridge=self.ridge / factor)

    def moments(self, value: Floats) -> tuple[Floats, Floats]:
        """First and second moment of a response at field values of any shape.

        For counted records: moments of their number over the expected number, linearised at a field
        of 0.
        """
        if self.counted:
            first = 1.0 + np.asarray(value)
            return first, np.square(first) + 1.0
        if self.law == "yes-no":
            return 2.0 * ndtr(np.asarray(value) / self.scatter) - 1.0, np.ones(np.shape(value))
        if self.ball != ONE_COLUMN:
            return self.ball.moments(value, self.scatter, self.mean, self.deviation, self.column)
        return clipped_moments(value, self.scatter)

    def first_moment(self, value: Floats) -> Floats:
        """The first of the two `moments`, of any shape: of columns cut together at half their cost."""
        if self.law == "amount" and self.ball != ONE_COLUMN:
            return self.ball.first_moment(value, self.scatter, self.mean, self.deviation, self.column)
        return self.moments(value)[0]


@lru_cache(maxsize=256)
def _clipped(prior: PublicPrior) -> tuple[float, float, float]:
    """Mean and deviation of g(f), and the record noise, as in `ClippedPrior`; cached for several releases."""
    # Law of total variance: `spread` is the variance of g(f), `remainder` the mean variance given f.
    points = np.linspace(-_REACH, _REACH, _POINTS)
    weights = np.exp(-0.5 * np.square(points))
    weights /= weights.sum()
    first, second = prior.moments(prior.mean + prior.deviation * points)
    mean = float(weights @ first)
    spread = float(weights @ np.square(first - mean))
    remainder = float(weights @ (second - np.square(first)))
    return mean, float(np.sqrt(max(spread, 1e-18))), float(np.sqrt(max(remainder, 1e-18)))


@dataclass(frozen=True)
class ClippedPrior:
    """The prior after clipping to [-1, 1]: the law of `g(f) = E[clip(f + e) | f]` and of the
    remainder."""

    # mean, deviation: those of g(f) for a field value f drawn from the prior
    mean: float
    deviation: float
    record_noise: float  # standard deviation of `clip(f + e) - g(f)`, on average over the prior
    before: PublicPrior  # the prior before clipping

    @classmethod
    def of(cls, prior: PublicPrior) -> ClippedPrior:
        """Integrate over f by quadrature in equal steps; given f the moments are closed
        formulas."""
        return cls(*_clipped(prior), prior)

    @property
    def slope(self) -> float:
        """Mean slope of a clipped response in the field."""
        return self.deviation / self.before.deviation

    def level(self, threshold: Floats | float, share: Floats | float = 0.0) -> Floats:
        """Map a threshold (response units, before clipping) to a level of clipped responses.

        `share`, in [0, 1], is the field's posterior deviation over its prior deviation. At share 0
        the field value is exact, and exceeds the threshold where g(f) exceeds g(threshold). At
        share 1 the field has its prior law, and the normal law with the moments of g(f) gives the
        right probability at the level `mean + deviation (threshold - prior mean)/(prior
        deviation)`. Between them the level is interpolated. The result has the broadcast shape of
        both arguments.
        """
        exact, vague = self.ends(threshold)
        return np.asarray(exact + np.clip(share, 0.0, 1.0) * (vague - exact))

    def ends(self, threshold: Floats | float) -> tuple[Floats, Floats]:
        """The levels for the shares 0 and 1, at one threshold or at thresholds (M,) of the
        nodes."""
        threshold = np.asarray(threshold, dtype=np.float64)
        exact = self.before.first_moment(threshold)
        return exact, self.mean + self.deviation * (threshold - self.before.mean) / self.before.deviation


@dataclass(frozen=True, eq=False)
class LinearLaw:
    """Answers of yes and no, linearised in the field around its law at each node.

    A response is `mean + deviation (B z + rest)` plus noise of deviation `record_noise`, (M,) each,
    for a field `before.mean + before.deviation (B z + rest)`.
    """

    mean: Floats
    deviation: Floats
    record_noise: Floats

    @classmethod
    def around(cls, prior: PublicPrior, value: Floats, deviation: Floats) -> LinearLaw:
        """Best linear predictor of an answer from a field N(value, deviation^2) at each node
        (M,)."""
        law = cls.about(prior.mean, value, deviation, prior.scatter)
        return cls(law.mean, law.deviation * prior.deviation, law.record_noise)

    @classmethod
    def about(
        cls, start: Floats | float, value: Floats, deviation: Floats, scatter: float = 1.0
    ) -> LinearLaw:
        """Best linear predictor `mean + deviation (field - start)`, with `start` a number or (M,).

        `scatter` is the deviation of a record around the field.
        """
        # A record is N(value, wide^2), so the share of yes is Phi(at). By Stein's lemma the best
        # slope is the expected derivative of `2 Phi(f / scatter) - 1`, which is 2 phi(at) / wide.
        # An answer has mean square 1; what mean and slope do not explain is noise
        # (docs/spectral-statistics.md, section 4, "Answers of yes and no").
        wide = np.sqrt(scatter**2 + np.square(deviation))
        at = value / wide
        centre = 2.0 * ndtr(at) - 1.0
        slope = 2.0 * np.exp(-0.5 * np.square(at)) / np.sqrt(2.0 * np.pi) / wide
        left = 1.0 - np.square(centre) - np.square(slope * deviation)
        return cls(centre + slope * (start - value), slope, np.sqrt(np.maximum(left, 1e-6)))


def clipped_moments(value: Floats, scatter: Floats | float) -> tuple[Floats, Floats]:
    """First and second moment of `clip(value + e, -1, 1)`, `e ~ N(0, scatter^2)`, for values of any
    shape."""
    value = np.asarray(value, dtype=np.float64)
    low, high = (-1.0 - value) / scatter, (1.0 - value) / scatter
    # Moments of a normal law censored at -1 and 1: point masses beyond the bounds, truncated
    # moments between.
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
    # Rounding must not break |E y| <= 1 and (E y)^2 <= E y^2 <= 1: variances are differences of
    # these.
    first = np.clip(first, -1.0, 1.0)
    return first, np.clip(second, np.square(first), 1.0)


ROUNDS = 12  # of Newton's method in `before_cut`
LEAST_INSIDE = 0.02  # lower bound on the assumed chance of a response within its bounds


def before_cut(mean: Floats, scatter: Floats) -> tuple[Floats, Floats]:
    """(M,) values whose responses, scattered by `scatter` (M,) and clipped to [-1, 1], have the
    means (M,).

    The second result is the derivative of each value by its mean. Means beyond the bounds are moved
    just inside them.
    """
    # Newton's method: the derivative of the clipped mean by the value is the chance of a response
    # inside.
    target, value, inside = np.clip(mean, -0.999, 0.999), mean, np.ones(mean.shape)
    for _ in range(ROUNDS):
        inside = np.maximum(ndtr((1.0 - value) / scatter) - ndtr((-1.0 - value) / scatter), LEAST_INSIDE)
        value = value + np.clip((target - clipped_moments(value, scatter)[0]) / inside, -0.5, 0.5)
    return np.clip(value, -REACH, REACH), 1.0 / inside


def share_of_yes(mean: Floats, deviation: Floats) -> tuple[Floats, Floats]:
    """(M,) expected shares of yes if their probits are N(mean, deviation^2), and their
    derivatives."""
    total = np.hypot(1.0, deviation)
    return ndtr(mean / total), np.exp(-0.5 * np.square(mean / total)) / (np.sqrt(2.0 * np.pi) * total)


REACH = 3.0  # the released field is limited to this number of clip bounds around the centre
STEPS = 6001
GROUPS = 64  # groups of cells by posterior deviation, for undoing the clipping
NEAR = 0.02  # clip bounds around the centre within which the slope at the centre is used


@lru_cache(maxsize=16)
def _ends_of_grid(prior: ClippedPrior) -> tuple[Floats, Floats]:
    """`prior.ends` on the grid of `unclipped`, cached for several layers."""
    return prior.ends(np.linspace(-REACH, REACH, STEPS))


def unclipped(
    clipped: Floats, spread: Floats, prior: ClippedPrior, paths: Floats
) -> tuple[Floats, Floats, Floats]:
    """Paths, mean and deviation of the field before clipping, from the posterior of the clipped
    field.

    The inputs are the clipped field's mean and deviation `clipped`, `spread` (N,) and its paths (L,
    N); the results (L, N), (N,) and (N,) are in response units, within REACH of the centre. A value
    t of the field corresponds to the level `prior.level(t, share)` of the clipped one, where
    `share` is the cell's posterior over its prior deviation. The level increases in t, so paths
    exceed t as often as `exceedance` states. The returned deviation is that of the normal law with
    the same probability at the centre, 0.
    """
    field, step = np.linspace(-REACH, REACH, STEPS, retstep=True)
    # The level depends on the cell through its share alone: cells with nearly equal share use one
    # curve.
    share = np.clip(spread / prior.deviation, 0.0, 1.0)
    group = np.rint(share * GROUPS).astype(np.int64)
    order = np.argsort(group, kind="stable")
    rows = np.vstack([clipped, paths])[:, order]  # cells of one group are adjacent columns
    fields, slope = np.empty(rows.shape), np.empty(share.size)
    exact, vague = _ends_of_grid(prior)
    numbers, starts = np.unique(group[order], return_index=True)
    for number, start, end in zip(numbers, starts, [*starts[1:], share.size], strict=True):
        level = exact + number / GROUPS * (vague - exact)
        part = rows[:, start:end].flatten()  # a copy: rows are read below
        rising = np.argsort(part)  # sorted queries make the interpolation twice as fast
        part[rising] = np.interp(part[rising], level, field)
        fields[:, start:end] = part.reshape(-1, end - start)
        mean, apart = fields[0, start:end], rows[0, start:end] - level[STEPS // 2]
        # The deviation is that of the clipped field over the slope of the chord from the centre to
        # the mean. Near the centre the chord is a quotient of two small numbers: use the tangent
        # there.
        near = np.abs(mean) < NEAR
        tangent = (level[STEPS // 2 + 1] - level[STEPS // 2 - 1]) / (2.0 * step)
        slope[start:end] = np.where(near, tangent, apart / np.where(near, 1.0, mean))
    back = np.argsort(order)
    fields = fields[:, back]
    return fields[1:], fields[0], spread / np.maximum(slope[back], 1e-3)
