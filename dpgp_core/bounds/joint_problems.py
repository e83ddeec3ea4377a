"""The two joint suprema: what rules a box out, for generic priors and for lattice priors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpgp_core.bounds.joint_geometry import Corners, Designs, Hull, corners
from dpgp_core.linalg import Bools, Floats


class Problem(Protocol):
    """A supremum over pairs (v, w, t): 0 < v, w <= V_n, 0 <= t <= 1."""

    def corner_bound(self, low: Floats, high: Floats, designs: Designs) -> Floats:
        """(N,) upper bounds over boxes (3, N), first order in their width; the value itself at a point."""

    def ruled_out(self, low: Floats, high: Floats, designs: Designs, target: Floats) -> Bools:
        """(N,) True where nothing in the box exceeds `target`; second order in the width of the box."""


@dataclass(frozen=True, eq=False)
class _Duals:
    """Per box: weight theta of the two prior variances, and the two parts of the bound."""

    theta: Floats
    first: Floats
    spread: Floats


def _duals(low: Floats, high: Floats, k: Corners) -> _Duals:
    """Upper bounds over boxes on e^T J e (`first`) and on the largest mu^T J mu for R = 1 (`spread`).

    docs/joint-bound.md, section 5. theta is the best weight at the middle, and any weight is valid.
    """
    first = k.a * k.a * k.m11 + 2.0 * k.a * k.b * k.m12 + k.b * k.b * k.m22
    k11, k22 = k.p_high**2 * k.m11, k.q_high**2 * k.m22
    upper, lower = k.p_high * k.q_high * k.m12, k.p_low * k.q_low * k.m12_low
    k12, reach = 0.5 * (upper + lower), 0.5 * (upper - lower)
    skew = np.sqrt(np.sqrt(k11 / k22))
    k11, k22 = k11 + reach * skew, k22 + reach / skew
    t, half = 0.5 * (low[2] + high[2]), 0.5 * (high[2] - low[2])
    one, two = 1.0 + half / skew**2, 1.0 + half * skew**2
    det = one * two - t * t
    n11, n22, n12 = two / det, one / det, t / det
    # Rounded down near v = 1, where they are infinite.
    odds_v, odds_w = low[:2] / np.maximum(1.0 - low[:2], 1e-9)
    # Both prior variances bind along (m1, m2); theta makes that direction stationary.
    m1, m2 = np.sqrt(odds_w), np.sqrt(odds_v)
    energy = n11 * m1 * m1 + n22 * m2 * m2 + 2.0 * n12 * m1 * m2 + odds_v * odds_w
    with np.errstate(divide="ignore", invalid="ignore"):  # where v or w may be 0 any theta will do
        ratio = (k11 * m1 * m1 + k22 * m2 * m2 + 2.0 * k12 * m1 * m2) / energy
        theta = ((k11 * m1 + k12 * m2) / ratio - (n11 * m1 + n12 * m2)) / (odds_v * m1)
    theta = np.where(np.isfinite(theta), np.clip(theta, 0.0, 1.0), 0.0)
    n11, n22 = n11 + theta * odds_v, n22 + (1.0 - theta) * odds_w
    det = n11 * n22 - n12 * n12
    half_trace = 0.5 * (n22 * k11 + n11 * k22 - 2.0 * n12 * k12) / det
    product = (k11 * k22 - k12 * k12) / det
    spread = half_trace + np.sqrt(np.maximum(half_trace**2 - product, 0.0))
    return _Duals(theta, first, spread)


class GenericPairs:
    """Any prior with k(x,x) <= 1: the core means lie in the ellipse of docs/joint-bound.md, section 2."""

    def corner_bound(self, low: Floats, high: Floats, designs: Designs) -> Floats:
        """(N,) upper bounds over boxes (3, N): see `Problem`."""
        duals = _duals(low, high, corners(low, high, designs))
        bound: Floats = (np.sqrt(duals.first) + designs.growth * np.sqrt(duals.spread)) ** 2
        return bound

    def ruled_out(self, low: Floats, high: Floats, designs: Designs, target: Floats) -> Bools:
        """Flags (N,), see `Problem`: where sigma/(1+omega) Q~ - (R^2/omega) N~ >= e e^T at all vertices."""
        hull = Hull.around(low, high)
        v, w, t = hull.middle
        duals = _duals(hull.middle, hull.middle, corners(hull.middle, hull.middle, designs))
        omega = np.maximum(designs.growth * np.sqrt(duals.spread / duals.first), 1e-9)
        theta = np.clip(duals.theta, 0.01, 0.99)
        minorant = hull.minorant(designs)
        # N~ = (I-Y)^T K' (I-Y) + Y^T T Y with Y = (K' + T)^-1 K' at the middle; K' has -c off the diagonal.
        c = t * np.sqrt(v * w)
        a, d = v + (1.0 - v) / theta, w + (1.0 - w) / (1.0 - theta)
        det = a * d - c * c
        y11, y12 = (d * v - c * c) / det, c * (w - d) / det
        y21, y22 = c * (v - a) / det, (a * w - c * c) / det
        x11, x12, x21, x22 = 1.0 - y11, -y12, -y21, 1.0 - y22
        wanted, taken = target / (1.0 + omega), designs.growth**2 / omega
        ruled = np.ones(v.shape, dtype=np.bool_)
        for v, w, c, _ in hull.vertices():
            q11, q12, q22 = minorant.at(v, w, c, designs)
            t1, t2 = (1.0 - v) / theta, (1.0 - w) / (1.0 - theta)
            one, two = v * x11**2 + w * x21**2, v * x12**2 + w * x22**2
            n11 = one - 2.0 * c * x11 * x21 + t1 * y11**2 + t2 * y21**2
            n22 = two - 2.0 * c * x12 * x22 + t1 * y12**2 + t2 * y22**2
            n12 = v * x11 * x12 + w * x21 * x22 - c * (x11 * x22 + x21 * x12)
            n12 += t1 * y11 * y12 + t2 * y21 * y22
            # Raised by more than rounding can have lowered it.
            m11 = wanted * q11 - taken * (n11 * (1.0 + 1e-13) + 1e-13 * one)
            m22 = wanted * q22 - taken * (n22 * (1.0 + 1e-13) + 1e-13 * two)
            m12 = wanted * q12 - taken * n12
            det = m11 * m22 - m12 * m12
            ruled &= (m11 > 0.0) & (det > 0.0) & (m11 + m22 + 2.0 * np.abs(m12) <= det)
        return ruled & (minorant.strain < 1e6)


class LatticePairs:
    """Lattice priors with a maximum principle: residual sizes (2, 2-2t), (2-2t, 2) apart or (2, 2) alike."""

    def corner_bound(self, low: Floats, high: Floats, designs: Designs) -> Floats:
        """(N,) upper bounds over boxes (3, N): see `Problem`."""
        k = corners(low, high, designs)
        one, two, cross = k.a * k.a * k.m11, k.b * k.b * k.m22, k.a * k.b * k.m12
        rest = 1.0 - low[2]
        apart = 2.0 * rest * cross + np.maximum(one + rest * rest * two, rest * rest * one + two)
        # a = sqrt(p(1-p))/r is unimodal in p, so its least value on a box is at an end.
        least = np.minimum(k.p_low * (1.0 - k.p_low), k.p_high * (1.0 - k.p_high))
        least = least * np.minimum(k.q_low * (1.0 - k.q_low), k.q_high * (1.0 - k.q_high))
        alike = one + two - 2.0 * np.sqrt(least) / designs.r2 * k.m12_low
        bound: Floats = 4.0 * np.maximum(apart, alike)
        return bound

    def ruled_out(self, low: Floats, high: Floats, designs: Designs, target: Floats) -> Bools:
        """Flags (N,), see `Problem`: where u^T Q~^-1 u <= sigma at all vertices, for the three extreme
        residuals.
        """
        hull = Hull.around(low, high)
        minorant = hull.minorant(designs)
        rest_low, rest_high = np.minimum(1.0, 1.0 - low[2] + hull.sag()), 1.0 - high[2]
        ruled = np.ones(target.shape, dtype=np.bool_)
        for v, w, c, upper in hull.vertices():
            q11, q12, q22 = minorant.at(v, w, c, designs)
            rest = rest_high if upper else rest_low
            room = 0.25 * target * (q11 * q22 - q12 * q12)
            ruled &= (q11 > 0.0) & (room > 0.0) & (q11 + q22 + 2.0 * q12 <= room)
            ruled &= q22 + rest * rest * q11 - 2.0 * rest * q12 <= room
            ruled &= rest * rest * q22 + q11 - 2.0 * rest * q12 <= room
        return ruled & (minorant.strain < 1e6)
