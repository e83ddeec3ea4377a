"""The pair of replaced records in two dimensions: designs at one order, bounds at the corners of a box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpgp_core.linalg import Floats, Ints


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
    # m11, m22, m12, m12_low: (N,) upper (and one lower) bounds on the entries of M = (Gamma^-1 + diag(x,
    # -y))^-1
    m11: Floats
    m22: Floats
    m12: Floats
    m12_low: Floats


def _peak(low: Floats, high: Floats, r2: Floats) -> Floats:
    """Largest sqrt(v)/(v + r^2) for low <= v <= high; the function rises up to v = r^2, then falls."""
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
    # M falls with x and rises with y; m11 rises and m22 falls with t^2; det below is its common denominator.
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
    """Matrices Q~ <= Q, affine in (v, w, c), that touch Q near the middle of each box: Z^T D + D Z - Z^T K Z.

    Any Z gives a valid minorant, so rounding in Z harms nothing; `strain` = 1/(1 - correlation^2) of the
    matrix that was inverted bounds how much is lost to cancellation when Q~ is evaluated.
    """

    z11: Floats
    z12: Floats
    z21: Floats
    z22: Floats
    strain: Floats

    def at(self, v: Floats, w: Floats, c: Floats, designs: Designs) -> tuple[Floats, Floats, Floats]:
        """Entries (11, 12, 22) of Q~ at a vertex, lowered by more than rounding can have raised them."""
        dv, dw = v + designs.r2, w + designs.r2
        one, two = dv * self.z11, dw * self.z22
        q11 = 2.0 * one - (v * self.z11**2 + 2.0 * c * self.z11 * self.z21 + w * self.z21**2)
        q22 = 2.0 * two - (v * self.z12**2 + 2.0 * c * self.z12 * self.z22 + w * self.z22**2)
        q12 = dv * self.z12 + dw * self.z21
        q12 -= v * self.z11 * self.z12 + w * self.z21 * self.z22
        q12 -= c * (self.z11 * self.z22 + self.z21 * self.z12)
        slack = 1e-13 * self.strain
        q11 += (designs.order - 1.0) * dv - slack * one
        q22 -= designs.order * dw + slack * two
        return q11, q12, q22


@dataclass(frozen=True, eq=False)
class Hull:
    """Prisms in (v, w, c) that contain the curved boxes low <= (v, w, t) <= high, c = t sqrt(v w).

    sqrt(v w) is concave: above its corner values, below its tangent plane of slopes tilt/2 and 1/(2 tilt).
    `sag` bounds how far (in t) the lower face lies below t = low[2]; docs/joint-bound.md, section 4.
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
        """The eight vertices (v, w, c, whether on the upper face); v, w and c are (N,), one entry a box."""
        found = []
        for v in (self.low[0], self.high[0]):
            for w in (self.low[1], self.high[1]):
                found.append((v, w, self.low[2] * np.sqrt(v * w), False))
                found.append((v, w, self.high[2] * 0.5 * (v * self.tilt + w / self.tilt), True))
        return found

    def sag(self) -> Floats:
        """(N,) low[2] times 1 - (worst ratio of the chord of sqrt to sqrt, for v times for w)."""
        root_low, root_high = np.sqrt(self.low[:2]), np.sqrt(self.high[:2])
        chord = 2.0 * np.sqrt(root_low * root_high) / (root_low + root_high)
        sag: Floats = self.low[2] * (1.0 - chord[0] * chord[1] * (1.0 - 1e-14))
        return sag

    def minorant(self, designs: Designs) -> Minorant:
        """The minorant of Q with Z = K^-1 D at the middle, K widened by the box to stay well-conditioned."""
        v, w, t = self.middle
        half = 0.5 * (self.high - self.low)
        c, reach = t * np.sqrt(v * w), half[2] * np.sqrt(v * w)
        wide_v, wide_w = v + half[0] + reach * self.tilt, w + half[1] + reach / self.tilt
        det = wide_v * wide_w - c * c
        dv, dw = v + designs.r2, w + designs.r2
        return Minorant(
            wide_w * dv / det, -c * dw / det, -c * dv / det, wide_v * dw / det, wide_v * wide_w / det
        )
