"""What clipping does to a public prior: mean, spread and scatter of clipped responses, and levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr

from dpgp_core._checks import positive
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats

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
        return PublicPrior(mean, factor * self.deviation, self.ridge / factor, self.law)

    def moments(self, value: Floats) -> tuple[Floats, Floats]:
        """First and second moment of a response where the field has these values, of any shape.

        Of counted records: of their number over the expected one, linear around a field of 0.
        """
        if self.counted:
            first = 1.0 + np.asarray(value)
            return first, np.square(first) + 1.0
        if self.law == "yes-no":
            return 2.0 * ndtr(np.asarray(value) / self.scatter) - 1.0, np.ones(np.shape(value))
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

    def level(self, threshold: Floats | float, share: Floats | float = 0.0) -> Floats:
        """Where a threshold (response units, before clipping) lies among clipped responses; scalars or
        arrays.

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
        wide = np.sqrt(prior.scatter**2 + np.square(deviation))
        at = value / wide
        centre = 2.0 * ndtr(at) - 1.0
        slope = 2.0 * np.exp(-0.5 * np.square(at)) / np.sqrt(2.0 * np.pi) / wide
        left = 1.0 - np.square(centre) - np.square(slope * deviation)
        return cls(
            centre + slope * (prior.mean - value), slope * prior.deviation, np.sqrt(np.maximum(left, 1e-6))
        )


def clipped_moments(value: Floats, scatter: float) -> tuple[Floats, Floats]:
    """First and second moment of `clip(value + e, -1, 1)`, `e ~ N(0, scatter^2)`, for values of any shape."""
    value = np.asarray(value, dtype=np.float64)
    low, high = (-1.0 - value) / scatter, (1.0 - value) / scatter
    below, above = ndtr(low), ndtr(-high)
    between = ndtr(high) - below
    at_low, at_high = (np.exp(-0.5 * np.square(x)) / np.sqrt(2.0 * np.pi) for x in (low, high))
    first = above - below + value * between - scatter * (at_high - at_low)
    second = (
        above + below + (np.square(value) + scatter**2) * between
        - 2.0 * value * scatter * (at_high - at_low)
        - scatter**2 * (high * at_high - low * at_low)
    )  # fmt: skip
    first = np.clip(first, -1.0, 1.0)
    return first, np.clip(second, np.square(first), 1.0)
