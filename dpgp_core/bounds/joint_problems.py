"""The joint suprema: two records in the plane, bounds over boxes, and what rules a box out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpgp_core.linalg import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Designs:
    """What a supremum depends on, one entry (K,) for each design at one order."""

    order: Floats  # alpha >= 1 with alpha p(top) < 1
    r2: Floats  # squared ridge
    growth: Floats  # R = sqrt(n-1)/r for the generic bound, 0 where it plays no part
    top: Floats  # V_n, the largest core variance

    def take(self, rows: Ints) -> Designs:
        """The designs at `rows` (N,) among the K designs, repeated at will."""
        return Designs(self.order[rows], self.r2[rows], self.growth[rows], self.top[rows])


@dataclass(frozen=True, eq=False)
class Corners:
    """Bounds over N boxes of (v, w, t), entrywise; docs/joint-bound.md, section 5."""

    # p_low, p_high, q_low, q_high: (N,) bounds on the leverages v/(v + r^2), w/(w + r^2)
    p_low: Floats
    p_high: Floats
    q_low: Floats
    q_high: Floats
    # a, b: (N,) upper bounds on sqrt(v)/(v + r^2), sqrt(w)/(w + r^2)
    a: Floats
    b: Floats
    # m11, m22, m12, m12_low: (N,) upper (and one lower) bounds on the entries of M = (Gamma^-1 +
    # diag(x, -y))^-1
    m11: Floats
    m22: Floats
    m12: Floats
    m12_low: Floats


def _peak(low: Floats, high: Floats, r2: Floats) -> Floats:
    """Largest sqrt(v)/(v + r^2) for low <= v <= high."""
    # The function rises up to v = r^2 and then falls.
    ends = np.maximum(np.sqrt(low) / (low + r2), np.sqrt(high) / (high + r2))
    return np.where((low < r2) & (r2 < high), 0.5 / np.sqrt(r2), ends)


def corners(low: Floats, high: Floats, designs: Designs) -> Corners:
    """Bounds over the boxes low <= (v, w, t) <= high, arrays (3, N); N entries in `designs`."""
    r2, order = designs.r2, designs.order
    p_low, p_high = low[0] / (low[0] + r2), high[0] / (high[0] + r2)
    q_low, q_high = low[1] / (low[1] + r2), high[1] / (high[1] + r2)
    x_low, x_high = (order - 1.0) * p_low, (order - 1.0) * p_high
    y_low, y_high = order * q_low, order * q_high
    t2_low, t2_high = low[2] ** 2, high[2] ** 2
    # M falls with x and rises with y; m11 rises and m22 falls with t^2; det below is its common
    # denominator.
    base, cross = (1.0 + x_low) * (1.0 - y_high), x_low * y_high
    loosest, tightest = base + cross * t2_low, base + cross * t2_high
    strictest = (1.0 + x_high) * (1.0 - y_low) + x_high * y_low * t2_high
    return Corners(
        p_low,
        p_high,
        q_low,
        q_high,
        _peak(low[0], high[0], r2),
        _peak(low[1], high[1], r2),
        m11=(1.0 - y_high + y_high * t2_high) / tightest,
        m22=(1.0 + x_low - x_low * t2_low) / loosest,
        m12=high[2] / loosest,
        m12_low=low[2] / strictest,
    )


@dataclass(frozen=True, eq=False)
class Minorant:
    """Matrices Q~ = Z^T D + D Z - Z^T K Z <= Q, affine in (v, w, c), near Q at each box's middle.

    Any Z gives a valid minorant, so rounding in Z harms nothing; `strain` = 1/(1 - correlation^2)
    of the matrix that was inverted bounds how much is lost to cancellation when Q~ is evaluated.
    """

    z11: Floats
    z12: Floats
    z21: Floats
    z22: Floats
    strain: Floats

    def at(self, v: Floats, w: Floats, c: Floats, designs: Designs) -> tuple[Floats, Floats, Floats]:
        """Entries (11, 12, 22) of Q~ at a vertex, lowered by more than their rounding error."""
        dv, dw = v + designs.r2, w + designs.r2
        first, second = dv * self.z11, dw * self.z22
        q11 = 2.0 * first - (v * self.z11**2 + 2.0 * c * self.z11 * self.z21 + w * self.z21**2)
        q22 = 2.0 * second - (v * self.z12**2 + 2.0 * c * self.z12 * self.z22 + w * self.z22**2)
        q12 = dv * self.z12 + dw * self.z21
        q12 -= v * self.z11 * self.z12 + w * self.z21 * self.z22
        q12 -= c * (self.z11 * self.z22 + self.z21 * self.z12)
        slack = 1e-13 * self.strain
        q11 += (designs.order - 1.0) * dv - slack * first
        q22 -= designs.order * dw + slack * second
        return q11, q12, q22


@dataclass(frozen=True, eq=False)
class Hull:
    """Prisms in (v, w, c) that contain the curved boxes low <= (v, w, t) <= high, c = t sqrt(v w).

    sqrt(v w) is concave: above its corner values, below its tangent plane of slopes tilt/2 and 1/(2
    tilt). `sag` bounds the distance (in t) of the lower face below t = low[2]; docs/joint-bound.md,
    section 4.
    """

    # low, high, middle: (3, N) ends and middles of the N boxes in (v, w, t)
    low: Floats
    high: Floats
    middle: Floats
    tilt: Floats  # (N,) sqrt(w/v) at the middle

    @classmethod
    def around(cls, low: Floats, high: Floats) -> Hull:
        """The hulls of boxes (3, N) with high > low >= 0."""
        middle = 0.5 * (low + high)
        return cls(low, high, middle, np.sqrt(middle[1] / middle[0]))

    def vertices(self) -> list[tuple[Floats, Floats, Floats, bool]]:
        """The eight vertices (v, w, c, whether on the upper face), each array of shape (N,)."""
        corners = []
        for v in (self.low[0], self.high[0]):
            for w in (self.low[1], self.high[1]):
                corners.append((v, w, self.low[2] * np.sqrt(v * w), False))
                corners.append((v, w, self.high[2] * 0.5 * (v * self.tilt + w / self.tilt), True))
        return corners

    def sag(self) -> Floats:
        """(N,) low[2] times 1 - (worst ratio of the chord of sqrt to sqrt, for v times for w)."""
        root_low, root_high = np.sqrt(self.low[:2]), np.sqrt(self.high[:2])
        chord = 2.0 * np.sqrt(root_low * root_high) / (root_low + root_high)
        sag: Floats = self.low[2] * (1.0 - chord[0] * chord[1] * (1.0 - 1e-14))
        return sag

    def minorant(self, designs: Designs) -> Minorant:
        """The minorant of Q with Z = K^-1 D at the middle."""
        # K is widened by the box to stay well-conditioned; any Z is valid.
        v, w, t = self.middle
        half = 0.5 * (self.high - self.low)
        c, reach = t * np.sqrt(v * w), half[2] * np.sqrt(v * w)
        wide_v, wide_w = v + half[0] + reach * self.tilt, w + half[1] + reach / self.tilt
        det = wide_v * wide_w - c * c
        dv, dw = v + designs.r2, w + designs.r2
        return Minorant(
            wide_w * dv / det, -c * dw / det, -c * dv / det, wide_v * dw / det, wide_v * wide_w / det
        )


class Problem(Protocol):
    """A supremum over pairs (v, w, t): 0 < v, w <= V_n, 0 <= t <= 1."""

    def corner_bound(self, low: Floats, high: Floats, designs: Designs) -> Floats:
        """(N,) upper bounds over boxes (3, N), first order in their width, exact at a point."""

    def ruled_out(self, low: Floats, high: Floats, designs: Designs, target: Floats) -> Bools:
        """(N,) True where nothing in the box exceeds `target`; second order in its width."""


@dataclass(frozen=True, eq=False)
class _Duals:
    """Per box: weight theta of the two prior variances, and the two parts of the bound."""

    theta: Floats
    first: Floats
    spread: Floats


def _duals(low: Floats, high: Floats, k: Corners) -> _Duals:
    """Upper bounds over boxes on e^T J e (`first`) and, for R = 1, on mu^T J mu (`spread`).

    docs/joint-bound.md, section 5. theta is the best weight at the middle, and any weight is valid.
    """
    first = k.a * k.a * k.m11 + 2.0 * k.a * k.b * k.m12 + k.b * k.b * k.m22
    k11, k22 = k.p_high**2 * k.m11, k.q_high**2 * k.m22
    upper, lower = k.p_high * k.q_high * k.m12, k.p_low * k.q_low * k.m12_low
    k12, reach = 0.5 * (upper + lower), 0.5 * (upper - lower)
    skew = np.sqrt(np.sqrt(k11 / k22))
    k11, k22 = k11 + reach * skew, k22 + reach / skew
    t, half = 0.5 * (low[2] + high[2]), 0.5 * (high[2] - low[2])
    first_wide, second_wide = 1.0 + half / skew**2, 1.0 + half * skew**2
    det = first_wide * second_wide - t * t
    n11, n22, n12 = second_wide / det, first_wide / det, t / det
    # Rounded down near v = 1, where they are infinite.
    odds_v, odds_w = low[:2] / np.maximum(1.0 - low[:2], 1e-9)
    # Both prior variances bind along (m1, m2); theta makes that direction stationary.
    m1, m2 = np.sqrt(odds_w), np.sqrt(odds_v)
    energy = n11 * m1 * m1 + n22 * m2 * m2 + 2.0 * n12 * m1 * m2 + odds_v * odds_w
    # Where v or w may be 0 any theta is valid.
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (k11 * m1 * m1 + k22 * m2 * m2 + 2.0 * k12 * m1 * m2) / energy
        theta = ((k11 * m1 + k12 * m2) / ratio - (n11 * m1 + n12 * m2)) / (odds_v * m1)
    theta = np.where(np.isfinite(theta), np.clip(theta, 0.0, 1.0), 0.0)
    n11, n22 = n11 + theta * odds_v, n22 + (1.0 - theta) * odds_w
    det = n11 * n22 - n12 * n12
    # The larger root of the characteristic polynomial of N^-1 K.
    half_trace = 0.5 * (n22 * k11 + n11 * k22 - 2.0 * n12 * k12) / det
    product = (k11 * k22 - k12 * k12) / det
    spread = half_trace + np.sqrt(np.maximum(half_trace**2 - product, 0.0))
    return _Duals(theta, first, spread)


class GenericPairs:
    """Any prior with k(x,x) <= 1; core means fill an ellipse (docs/joint-bound.md, section 2)."""

    def corner_bound(self, low: Floats, high: Floats, designs: Designs) -> Floats:
        """(N,) upper bounds over boxes (3, N): see `Problem`."""
        duals = _duals(low, high, corners(low, high, designs))
        bound: Floats = (np.sqrt(duals.first) + designs.growth * np.sqrt(duals.spread)) ** 2
        return bound

    def ruled_out(self, low: Floats, high: Floats, designs: Designs, target: Floats) -> Bools:
        """Flags (N,): sigma/(1+omega) Q~ - (R^2/omega) N~ >= e e^T at all vertices."""
        # Both matrices are affine in (v, w, c), so the vertices of the hull decide.
        hull = Hull.around(low, high)
        v, w, t = hull.middle
        duals = _duals(hull.middle, hull.middle, corners(hull.middle, hull.middle, designs))
        omega = np.maximum(designs.growth * np.sqrt(duals.spread / duals.first), 1e-9)
        theta = np.clip(duals.theta, 0.01, 0.99)
        minorant = hull.minorant(designs)
        # N~ = (I-Y)^T K' (I-Y) + Y^T T Y with Y = (K' + T)^-1 K' at the middle; K' has -c off the
        # diagonal.
        c = t * np.sqrt(v * w)
        a, d = v + (1.0 - v) / theta, w + (1.0 - w) / (1.0 - theta)
        det = a * d - c * c
        y11, y12 = (d * v - c * c) / det, c * (w - d) / det
        y21, y22 = c * (v - a) / det, (a * w - c * c) / det
        x11, x12, x21, x22 = 1.0 - y11, -y12, -y21, 1.0 - y22
        residual_share, mean_share = target / (1.0 + omega), designs.growth**2 / omega
        ruled = np.ones(v.shape, dtype=np.bool_)
        for v, w, c, _ in hull.vertices():
            q11, q12, q22 = minorant.at(v, w, c, designs)
            t1, t2 = (1.0 - v) / theta, (1.0 - w) / (1.0 - theta)
            first, second = v * x11**2 + w * x21**2, v * x12**2 + w * x22**2
            n11 = first - 2.0 * c * x11 * x21 + t1 * y11**2 + t2 * y21**2
            n22 = second - 2.0 * c * x12 * x22 + t1 * y12**2 + t2 * y22**2
            n12 = v * x11 * x12 + w * x21 * x22 - c * (x11 * x22 + x21 * x12)
            n12 += t1 * y11 * y12 + t2 * y21 * y22
            # N~ is raised by more than its rounding error.
            m11 = residual_share * q11 - mean_share * (n11 * (1.0 + 1e-13) + 1e-13 * first)
            m22 = residual_share * q22 - mean_share * (n22 * (1.0 + 1e-13) + 1e-13 * second)
            m12 = residual_share * q12 - mean_share * n12
            # M >= e e^T for all signs of e: det >= m11 + m22 + 2 |m12| (Schur complement).
            det = m11 * m22 - m12 * m12
            ruled &= (m11 > 0.0) & (det > 0.0) & (m11 + m22 + 2.0 * np.abs(m12) <= det)
        return ruled & (minorant.strain < 1e6)


class LatticePairs:
    """Lattice priors with a maximum principle: residuals (2, 2-2t), (2-2t, 2) or (2, 2)."""

    def corner_bound(self, low: Floats, high: Floats, designs: Designs) -> Floats:
        """(N,) upper bounds over boxes (3, N): see `Problem`."""
        k = corners(low, high, designs)
        first, second, cross = k.a * k.a * k.m11, k.b * k.b * k.m22, k.a * k.b * k.m12
        complement = 1.0 - low[2]
        apart = 2.0 * complement * cross + np.maximum(
            first + complement * complement * second, complement * complement * first + second
        )
        # a = sqrt(p(1-p))/r is unimodal in p, so its least value on a box is at an end.
        lowest = np.minimum(k.p_low * (1.0 - k.p_low), k.p_high * (1.0 - k.p_high))
        lowest = lowest * np.minimum(k.q_low * (1.0 - k.q_low), k.q_high * (1.0 - k.q_high))
        alike = first + second - 2.0 * np.sqrt(lowest) / designs.r2 * k.m12_low
        bound: Floats = 4.0 * np.maximum(apart, alike)
        return bound

    def ruled_out(self, low: Floats, high: Floats, designs: Designs, target: Floats) -> Bools:
        """Flags (N,), see `Problem`: u^T Q~^-1 u <= sigma at all vertices and extreme residuals."""
        hull = Hull.around(low, high)
        minorant = hull.minorant(designs)
        rest_low, rest_high = np.minimum(1.0, 1.0 - low[2] + hull.sag()), 1.0 - high[2]
        ruled = np.ones(target.shape, dtype=np.bool_)
        for v, w, c, upper in hull.vertices():
            q11, q12, q22 = minorant.at(v, w, c, designs)
            complement = rest_high if upper else rest_low
            room = 0.25 * target * (q11 * q22 - q12 * q12)
            ruled &= (q11 > 0.0) & (room > 0.0) & (q11 + q22 + 2.0 * q12 <= room)
            ruled &= q22 + complement * complement * q11 - 2.0 * complement * q12 <= room
            ruled &= complement * complement * q22 + q11 - 2.0 * complement * q12 <= room
        return ruled & (minorant.strain < 1e6)
