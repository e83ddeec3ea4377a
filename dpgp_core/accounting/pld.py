"""Privacy-loss distributions on a grid: pessimistic discretisation, composition and epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dpgp_core._checks import non_negative, open_unit, positive
from dpgp_core.accounting.gaussian import gaussian_delta
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats

_EPS = 2.0**-52
_FARTHEST = 300.0
_LOSS_ROUNDING = 1e-12
"""Added to every epsilon: losses on the grid are logarithms of doubles, exact to 1e-13."""

# Mass that a grid may move to infinity at its upper end; it stays in every delta.
NEGLIGIBLE = 1e-22


@dataclass(frozen=True, eq=False)
class PrivacyLoss:
    """The log ratio L = log(p/q) of a symmetric pair of distributions, under p, on a grid."""

    step: float  # distance of neighbouring losses, a power of two
    # (K+1,) mass at the losses 0, step, ..., K step; at -k step it is e^(-k step) masses[k]. Each
    # is an upper bound, so they may add up to slightly more than 1
    masses: Floats = field(repr=False)
    infinite: float  # mass at an infinite loss

    def __post_init__(self) -> None:
        masses = np.array(self.masses, dtype=np.float64)
        if math.frexp(self.step)[0] != 0.5 or masses.ndim != 1 or masses.size * self.step > 4.0 * _FARTHEST:
            raise InvalidValue("a privacy loss lives on a grid of powers of two, of losses below 1200.")
        if not (np.all(masses >= 0.0) and self.infinite >= 0.0):
            raise InvalidValue("masses are never negative and never NaN.")
        masses.setflags(write=False)
        object.__setattr__(self, "masses", masses)

    @classmethod
    def from_profile(cls, step: float, deltas: Floats) -> PrivacyLoss:
        """Return a pair that dominates every symmetric mechanism with delta(k step) <= deltas[k].

        The profile is decreasing, convex in e^epsilon and symmetric, so it is at most the lower
        convex hull of the points, their mirror images, (0, 1) and a horizontal line to the right.
        The hull is the profile of a pair with losses at its corners. Source: docs/accounting.md,
        Theorem 2 (connecting the dots: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022; Zhu,
        Dong, Wang 2022, Prop. 8). Raises InvalidValue for losses beyond the grid.
        """
        heights = np.minimum.accumulate(np.clip(np.asarray(deltas, dtype=np.float64), 0.0, 1.0))
        losses = step * np.arange(heights.size)
        if losses[-1] > _FARTHEST:
            raise InvalidValue(f"a profile is discretised up to losses of {_FARTHEST:g}: use larger noise.")
        gammas = np.exp(losses)
        # Hulls and slopes are taken in gamma = e^epsilon, in which a profile is convex.
        corners, slopes = _lower_hull(gammas, heights)
        first = _first_corner(gammas, heights, corners, slopes)
        corners, slopes = corners[first:], slopes[first:]
        at, high = gammas[corners], heights[corners]
        mirrored = -(1.0 - high[0]) / (1.0 + at[0])  # slope to the mirror image of the first corner
        # The mass at a corner is gamma times the change of slope there.
        left_slopes = np.concatenate([[mirrored], slopes[:-1]])
        weights = slopes - left_slopes + 8.0 * _EPS * (np.abs(slopes) + np.abs(left_slopes))
        if corners[0] == 0:
            weights[0] = 2.0 * slopes[0] + 1.0 - high[0] + 8.0 * _EPS
        masses = np.zeros(heights.size)
        masses[corners] = np.maximum(0.0, at * weights) * (1.0 + 4.0 * _EPS)
        return cls(step, masses, float(heights[-1]))

    @property
    def reach(self) -> float:
        """The largest finite loss."""
        return self.step * (self.masses.size - 1)

    def compose(self, other: PrivacyLoss) -> PrivacyLoss:
        """The sum of two independent losses of one step: it dominates adaptive composition.

        Every product and sum is of numbers >= 0, so the rounding error is relative and is added.
        Raises InvalidValue for different steps.
        """
        if self.step != other.step:
            raise InvalidValue("privacy losses compose on one grid: discretise both with the same step.")
        short, long = sorted((self._both(), other._both()), key=lambda values: int(np.count_nonzero(values)))
        places = np.flatnonzero(short)
        # A pure release has few atoms: shifted sums are faster than a convolution then.
        if places.size <= 16:
            total = np.zeros(short.size + long.size - 1)
            for place in places.tolist():
                total[place : place + long.size] += short[place] * long
        else:
            total = np.convolve(short, long)
        total *= 1.0 + (min(short.size, long.size) + 8.0) * _EPS
        masses = total[total.size // 2 :]
        infinite = self.infinite + other.infinite
        return PrivacyLoss(self.step, *_shortened(self.step, masses, infinite * (1.0 + 4.0 * _EPS)))

    def profile(self) -> Floats:
        """(K+1,) upper bounds on delta at epsilon = 0, step, ..., K step, at most 1.

        delta(k step) = infinite + sum over j > k of masses[j] (1 - e^((k-j) step)), as a sum of
        positive terms: consecutive values differ by (gamma_(k+1) - gamma_k) sum over j > k of
        masses[j]/gamma_j.
        """
        losses = self.step * np.arange(self.masses.size)
        beyond = np.append(_suffix_sums(self.masses * np.exp(-losses))[1:], 0.0)
        steps = math.expm1(self.step) * np.exp(losses) * beyond
        rounding = 1.0 + 8.0 * _EPS * self.masses.size
        return np.asarray(np.minimum(1.0, (self.infinite + _suffix_sums(steps)) * rounding))

    def delta(self, epsilon: float) -> float:
        """Upper bound on delta at `epsilon` >= 0."""
        epsilon = max(0.0, non_negative("epsilon", epsilon) - _LOSS_ROUNDING)
        values = self.profile()
        if epsilon >= self.reach:
            return float(values[-1])
        k = int(epsilon / self.step)  # exact, for a step that is a power of two: below the last
        part = math.expm1(epsilon - k * self.step) / math.expm1(
            self.step
        )  # delta is linear in e^epsilon here
        mixed = float(values[k] + min(1.0, max(0.0, part)) * (values[k + 1] - values[k]))
        return min(1.0, mixed + 8.0 * _EPS * float(values[k]))

    def epsilon(self, delta: float) -> float:
        """Upper bound on epsilon at `delta` in (0, 1); `inf` where the grid proves nothing."""
        values = self.profile()
        fits = np.flatnonzero(values <= open_unit("delta", delta))
        if fits.size == 0:
            return math.inf
        k = int(fits[0])
        if k == 0:
            return 0.0
        share = float((values[k - 1] - delta) / (values[k - 1] - values[k]))
        inside = math.log1p(min(1.0, share * (1.0 + 1e-9)) * math.expm1(self.step))
        return min(k * self.step, (k - 1) * self.step + inside * (1.0 + 1e-12)) + _LOSS_ROUNDING

    def _both(self) -> Floats:
        """(2K+1,) masses from -K step to K step."""
        losses = self.step * np.arange(1, self.masses.size)
        mirrored = self.masses[1:] * np.exp(-losses) * (1.0 + 4.0 * _EPS)
        return np.concatenate([mirrored[::-1], self.masses])


def gaussian_loss(mu: float, step: float) -> PrivacyLoss:
    """The loss of N(0, 1) against N(mu, 1), discretised from its exact profile; mu > 0."""
    mu = positive("mu", mu)
    last = math.ceil(gaussian_reach(mu) / step)
    return PrivacyLoss.from_profile(step, np.array([gaussian_delta(k * step, mu) for k in range(last + 1)]))


def gaussian_reach(mu: float) -> float:
    """A loss that N(0, 1) against N(mu, 1) exceeds with probability below `NEGLIGIBLE`."""
    return 0.5 * mu * mu + 9.8 * mu


def response_loss(epsilon: float, step: float) -> PrivacyLoss:
    """The loss of randomised response with odds e^epsilon, which dominates all pure epsilon-DP.

    Profile (e^epsilon - e^x)/(1 + e^epsilon) for x <= epsilon and 0 beyond (Kairouz, Oh, Viswanath
    2015).
    """
    epsilon = positive("epsilon", epsilon)
    last = math.ceil(epsilon / step)
    losses = step * np.arange(last + 1)
    share = -np.expm1(losses - epsilon) / (1.0 + math.exp(-epsilon))  # below 0 at most at the last
    return PrivacyLoss.from_profile(step, share * (1.0 + 16.0 * _EPS))


def _suffix_sums(values: Floats) -> Floats:
    return np.asarray(np.cumsum(values[::-1])[::-1])


def _lower_hull(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Corners of the lower convex hull, and the slopes to their right: 0 after the last corner."""
    xs, ys = x.tolist(), y.tolist()
    corners: list[int] = []
    slopes: list[float] = []  # slopes[i] joins kept[i] and kept[i + 1]
    for i in range(len(xs)):
        while corners:
            slope = (ys[i] - ys[corners[-1]]) / (xs[i] - xs[corners[-1]])
            if not slopes or slopes[-1] < slope:
                slopes.append(slope)
                break
            slopes.pop()
            corners.pop()
        corners.append(i)
    return np.array(corners, dtype=np.intp), np.array([*slopes, 0.0])


def _first_corner(x: Floats, y: Floats, corners: Floats, slopes: Floats) -> int:
    """The first corner of the hull of the points and their mirror images (1/x, 1 - (1 - y)/x).

    The mirrored hull is the mirror image of the hull. It is convex across x = 1 exactly if the
    slope from the mirror image of its first corner, -(1-y)/(1+x), is not above the slope to the
    right of that corner.
    """
    mirrored = -(1.0 - y[corners]) / (1.0 + x[corners])
    return int(np.argmax(slopes >= mirrored))  # the slope after the last corner is 0


def _shortened(step: float, masses: Floats, infinite: float) -> tuple[Floats, float]:
    """Move up to `NEGLIGIBLE` mass at the upper end, with its mirrored mass, to infinity."""
    losses = step * np.arange(masses.size)
    tail = _suffix_sums(masses * (1.0 + np.exp(-losses)))
    keep = max(1, int(np.count_nonzero(tail > NEGLIGIBLE)))
    if keep == masses.size:
        return masses, infinite
    return masses[:keep], infinite + float(tail[keep]) * (1.0 + 1e-9)
