"""The ball: the vectors of clipped responses that a record may have, and the effect of cutting to
it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from dpgp_core._checks import positive, whole
from dpgp_core.errors import InvalidValue, NumericalFailure
from dpgp_core.linalg import Bools, Floats, Ints
from dpgp_core.posterior.records import RESPONSE_BITS

_ONE = 1 << RESPONSE_BITS
MOST_COLUMNS = 20
"""Largest number of columns of an atlas: more were never measured, and each column needs more
noise."""

# Grid sizes: of the law of squared lengths, of its nodes, and of responses in [0, 1].
_CELLS, _NODES, _STEPS = (
    256,
    48,
    512,
)


@dataclass(frozen=True)
class Ball:
    """Vectors of `columns` responses, each in [-1, 1] times its reach and together at most `radius`
    long, response units.

    With `presence` a vector with `m` present columns is at most `radius sqrt(m/columns)` long, and
    the presence of each column is summed instead of the number of records. One column of radius 1
    is the ordinary release. Raises InvalidValue for a number out of range.
    """

    # The set V of Theorem D, and with `presence` the radii of Corollary 5
    # (docs/spectral-statistics.md, section 2): with one radius for all patterns of missing columns
    # that corollary is false.

    columns: int = 1
    radius: float = 1.0
    presence: bool = False
    # the largest response of each column, in (0, 1] and a multiple of 2^-10; () for 1 in all of them
    reaches: tuple[float, ...] = ()
    # the columns, from 0 and increasing, that are answers of yes and no: their response is always
    # the reach or minus the reach, and only the amounts beside them are shortened
    answers: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if whole("columns", self.columns) > MOST_COLUMNS:
            raise InvalidValue(f"an atlas has at most {MOST_COLUMNS} columns: leave some out.")
        positive("radius", self.radius)
        if self.radius > math.sqrt(self.columns):
            raise InvalidValue("no vector is longer than the root of the number of columns: use that radius.")
        if len(self.reaches) not in (0, self.columns):
            raise InvalidValue("every column needs its reach, or none has one.")
        if any(not 0.0 < reach <= 1.0 or (reach * _ONE) % 1.0 for reach in self.reaches):
            raise InvalidValue("a reach is a multiple of 2^-10, above 0 and at most 1.")
        if list(self.answers) != sorted(set(self.answers)) or not set(self.answers) <= set(
            range(self.columns)
        ):
            raise InvalidValue("the columns of answers are numbered from 0, each once and in order.")
        squares = [self.whole_reach(column) ** 2 for column in self.answers]
        if self.limit < sum(squares) or (
            self.presence and self.columns * max(squares, default=0) > self.limit
        ):
            raise InvalidValue("answers of this reach are longer than the radius: take a smaller reach.")
        if self.amounts and self.limit == sum(squares):
            raise InvalidValue("answers of this reach leave nothing to the amounts: take a smaller reach.")

    @property
    def amounts(self) -> tuple[int, ...]:
        """The columns that are no answers."""
        return tuple(column for column in range(self.columns) if column not in self.answers)

    def reach(self, column: int) -> float:
        """The largest response of a column."""
        return self.reaches[column] if self.reaches else 1.0

    def whole_reach(self, column: int) -> int:
        """The same in units of 2^-10."""
        return int(self.reach(column) * _ONE)

    @property
    def parts(self) -> int:
        """Number of released vectors of counts: one, or one for the presence of each column."""
        return self.columns if self.presence else 1

    @property
    def said(self) -> str:
        """Clause on the ball for a design's description; "" for one column."""
        if self == ONE_COLUMN:
            return ""
        yes = f", {len(self.answers)} of them answers of yes and no" if self.answers else ""
        reaches = (
            f", which reach {', '.join(f'{reach:.4g}' for reach in self.reaches)}" if self.reaches else ""
        )
        return f"; {self.columns} columns{yes} in a ball of radius {self.radius:.4g}{reaches}"

    @property
    def limit(self) -> int:
        """Radius squared in units of 2^-20, rounded down: the largest sum of squares of whole
        responses."""
        return int(Fraction(self.radius) ** 2 * _ONE**2)

    def cut(self, responses: Floats) -> tuple[Ints, Bools]:
        """Whole responses (n, columns) in units of 2^-10, and their presence; NaN marks a missing
        response.

        Each column is clipped to [-1, 1], multiplied by its reach and rounded first, as one column
        alone is. A vector of amounts that is too long beside its answers is then scaled to the
        ball, rounding towards 0: `floor(sqrt(w^2 limit / sum w^2))` in whole numbers, whose squares
        sum to at most the limit. Raises InvalidValue for responses of another shape, infinite ones,
        and answers other than -1 and 1, and NumericalFailure if a record is outside the ball after
        the cut.
        """
        if responses.ndim != 2 or responses.shape[1] != self.columns:
            raise InvalidValue(f"every record needs {self.columns} responses, NaN where there is none.")
        present = ~np.isnan(responses)
        if np.any(np.isinf(responses)):
            raise InvalidValue("responses must be finite, or NaN where there is none.")
        clipped = np.where(present, np.clip(responses, -1.0, 1.0), 0.0)
        if np.any(np.abs(clipped[:, list(self.answers)]) != present[:, list(self.answers)]):
            raise InvalidValue("answers of yes and no must be 1 and -1, or NaN where there is none.")
        reach = np.array([self.whole_reach(column) for column in range(self.columns)])
        integers = np.rint(clipped * reach).astype(np.int64)
        limits, amounts = self._limits(present), list(self.amounts)
        left = limits - np.square(integers[:, list(self.answers)]).sum(axis=1)
        integers[:, amounts] = _shortened(integers[:, amounts], left)
        if np.any(np.square(integers).sum(axis=1) > limits):
            raise NumericalFailure("a record left the ball: nothing was released.")
        return integers, present

    def _limits(self, present: Bools) -> Ints:
        """(n,) largest sum of squares of whole responses of records with these columns present."""
        if not self.presence:
            return np.full(len(present), self.limit, dtype=np.int64)
        return np.asarray(self.limit * present.sum(axis=1) // self.columns, dtype=np.int64)

    def moments(
        self, value: Floats, scatter: float, mean: float, deviation: float, column: int | None = None
    ) -> tuple[Floats, Floats]:
        """First and second moment of a cut response of a column of amounts, for field values of any
        shape, in units of its reach; the first such column unless another is named.

        A record scatters normally around its field with deviation `scatter`; its other amounts have
        the law `N(mean, deviation^2 + scatter^2)`, independent of this one.
        """
        at, cut_response, square = self._scattered(value, scatter, mean, deviation, column)
        return cut_response, np.asarray(np.interp(np.abs(at), *square) @ _normal_nodes()[1])

    def first_moment(
        self, value: Floats, scatter: float, mean: float, deviation: float, column: int | None
    ) -> Floats:
        """The first of the `moments`, of any shape, at half their cost."""
        return self._scattered(value, scatter, mean, deviation, column)[1]

    def _scattered(
        self, value: Floats, scatter: float, mean: float, deviation: float, column: int | None
    ) -> tuple[Floats, Floats, tuple[Floats, Floats]]:
        """Responses (..., 241) around each value, the mean of their cut ones, and squares by size."""
        # This belief shapes the reading only: the price follows from the cut, whatever the columns
        # are.
        total = float(np.hypot(deviation, scatter))
        amount = next(iter(self.amounts), 0) if column is None else column  # answers alone: no amount is read
        steps, first, second = _cut_response(self, amount, float(f"{mean:.12g}"), float(f"{total:.12g}"))
        size, weight = _normal_nodes()
        at = np.asarray(value, dtype=np.float64)[..., None] + scatter * size
        cut_response = np.sign(at) * np.interp(np.abs(at), steps, first)
        return at, np.asarray(cut_response @ weight), (steps, second)


ONE_COLUMN = Ball()


@lru_cache(maxsize=1)
def _normal_nodes() -> tuple[Floats, Floats]:
    points = np.linspace(-6.0, 6.0, 241)
    weight = np.exp(-0.5 * np.square(points))
    return points, weight / weight.sum()


def _shortened(integers: Ints, limits: Ints) -> Ints:
    """Whole vectors (n, c) that are at most the roots of `limits` (n,) long, rounded towards 0."""
    square = np.square(integers).sum(axis=1)
    long = square > limits
    # At most 2^20 times 20 2^20 in size: below 2^53, so doubles hold it and its root is known to a
    # unit.
    scaled = np.square(integers[long]) * limits[long, None] // square[long, None]
    root = np.sqrt(scaled.astype(np.float64)).astype(np.int64)
    # The root of the double may be off by one; exact comparison of integers makes it the floor.
    root -= np.square(root) > scaled
    root += np.square(root + 1) <= scaled
    integers[long] = np.sign(integers[long]) * root
    return integers


@lru_cache(maxsize=64)
def _cut_response(ball: Ball, column: int, mean: float, deviation: float) -> tuple[Floats, Floats, Floats]:
    """Responses (S,) of a column from 0 to 1 reach, and first and second moment of each after the
    cut to the ball."""
    steps = np.linspace(0.0, 1.0, _STEPS + 1)
    reach = ball.reach(column)
    reaches = tuple(ball.reach(other) for other in ball.amounts if other != column)
    square, weight = _others(reaches, mean, deviation)
    answers_square = sum(ball.reach(other) ** 2 for other in ball.answers)
    radius = ball.radius if not answers_square else math.sqrt(max(ball.radius**2 - answers_square, 0.0))
    # Cutting scales all amounts by the radius that is theirs over their length, if that is below 1.
    length = np.sqrt(np.square(reach * steps)[:, None] + square)
    share = np.minimum(1.0, radius / np.maximum(length, 1e-12))
    return steps, steps * (share @ weight), np.square(steps) * (np.square(share) @ weight)


def _others(reaches: tuple[float, ...], mean: float, deviation: float) -> tuple[Floats, Floats]:
    """Squared lengths (J,) of clipped normal responses of these reaches, and their probabilities."""
    if not reaches:
        return np.zeros(1), np.ones(1)
    edges = np.sqrt(np.linspace(0.0, 1.0, _CELLS + 1))
    # Squares of independent responses add, so their law is a convolution.
    total, clipped = np.ones(1), 0.0
    for reach in reaches:
        near = np.minimum(edges / reach, 1.0)
        inside = ndtr((near - mean) / deviation) - ndtr((-near - mean) / deviation)
        # The law of one square on a grid. Clipped responses are a point mass at their reach, in the last
        # entry or in the last cell that is within reach.
        last = min(_CELLS, int(reach**2 * _CELLS))
        law = np.diff(inside, append=inside[-1])
        law[last] += 1.0 - inside[-1]
        total = np.convolve(total, law)
        clipped += 1.0 - inside[-1] if last == _CELLS else 0.0
    # The mean square of a response that is not clipped is the middle of its cell: half a cell for
    # each.
    middle = (np.arange(total.size) + 0.5 * (len(reaches) - clipped)) / _CELLS
    group = np.minimum((np.cumsum(total) - 0.5 * total) * _NODES, _NODES - 1).astype(np.int64)
    weight = np.bincount(group, total, _NODES)
    positive = weight > 0
    return (
        np.bincount(group, total * middle, _NODES)[positive] / weight[positive],
        weight[positive] / weight.sum(),
    )
