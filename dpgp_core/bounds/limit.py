"""The limit: the least mean squared error that any private release of values can have, proved."""

from __future__ import annotations

import math

import numpy as np
import scipy  # loads its parts on first use: scipy.optimize takes long to import

from dpgp_core._checks import positive
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats

# Results are rounded down by this factor, far more than double precision loses.
_DOWN = 1.0 - 1e-9

_STEPS, _NEWTON = 60, 60


def contrast(mu: float) -> float:
    """`kappa^2 = D/(1 - D/4)`, D the triangular discrimination of N(0, 1) and N(mu, 1).

    With `a = exp(-mu^2/8) E[1/cosh(mu Z/2)]`, `D = 4 (1 - a)` and `kappa^2 = 4 (1/a - 1)`. The
    trapezoidal rule converges exponentially, and what double precision loses, below 1e-13, is taken
    off a.
    """
    mu = positive("mu", mu)
    step = 0.02 / max(1.0, mu)
    points = np.arange(-12.0, 12.0 + step, step)
    density = np.exp(-0.5 * np.square(points)) / math.sqrt(2.0 * math.pi)
    # exp(-mu^2/8)/cosh(mu z/2) in one exponent: neither factor over- or underflows alone
    half = 0.5 * mu * np.abs(points)
    share = 2.0 * np.exp(-mu * mu / 8.0 - half) / (1.0 + np.exp(-2.0 * half))
    a = step * float(density @ share) * (1.0 - 1e-13) - 1e-13
    return math.inf if a <= 0.0 else 4.0 * (1.0 / a - 1.0)


def least_error(
    covariance: Floats, counts: Floats, scatter: float, mu: float, weights: Floats | None = None
) -> float:
    """A lower bound on the weighted mean squared error of every estimate of a normal field.

    The field is N(mean, covariance) on N cells, records are its value at their cell plus
    independent noise of deviation `scatter`. An estimate may use a release that is mu-GDP under a
    change of the *value* of one record, and also the places of all records. Under add-or-remove mu
    is twice that of the release. `weights` (N,) of the cells' errors are scaled to sum 1; without
    them errors are averaged over records. The result is in squared units of the field. See
    docs/limit.md. Raises InvalidValue for shapes that disagree or numbers out of range.
    """
    m = np.asarray(counts, dtype=np.float64)
    sigma, tau = np.asarray(covariance, dtype=np.float64), positive("scatter", scatter)
    if m.ndim != 1 or sigma.shape != (m.size, m.size) or not np.all(np.isfinite(sigma)):
        raise InvalidValue("the covariance needs one row and one column for each count.")
    if not np.all(np.isfinite(m) & (m >= 0)) or not np.any(m > 0):
        raise InvalidValue("counts must be finite and not negative, and some must be positive.")
    occupied = m > 0
    root = np.sqrt(m[occupied]) / tau
    scaled = root[:, None] * sigma[np.ix_(occupied, occupied)] * root
    power = 0.25 * float(m.sum()) * contrast(mu)
    if weights is None:
        return (
            least_sum(np.asarray(np.linalg.eigvalsh(scaled), dtype=np.float64), power)
            / float(m.sum())
            * tau**2
        )
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != m.shape or not np.all(np.isfinite(w) & (w >= 0)) or not w.sum() > 0:
        raise InvalidValue("weights must be finite and not negative, one for each cell, and not all zero.")
    w = w / w.sum()
    # Regression of all cells on the occupied ones; `unseen` is the variance that it leaves.
    across = np.linalg.solve(sigma[np.ix_(occupied, occupied)], sigma[occupied])
    unseen = np.diag(sigma) - np.einsum("ij,ij->j", across, sigma[occupied])
    across = across / root[:, None]
    beyond = float(w @ np.maximum(unseen, 0.0))
    return (beyond + _least_weighted(scaled, (across * w) @ across.T, power)) * _DOWN


def least_sum(variances: Floats, power: float) -> float:
    """Least `sum s/(1 + s r)` over `0 <= r <= 1` with `(sum r)^2 <= power sum (r - r^2)`.

    `variances` (k,) are s >= 0, prior variances in units of the noise of all records;
    `power` is `n kappa^2/4` for n records, infinite without privacy. For all eta >= 0 and t the
    dual `sum min_r [s/(1 + s r) + eta (power r^2 + (2 t - power) r)] - eta t^2` is a lower bound,
    since `(sum r)^2 >= 2 t sum r - t^2`; the best pair is found by two nested roots, and what the
    inner minimum may miss, by convexity, is taken off. So no failure to converge can overstate it.
    """
    s = np.maximum(np.asarray(variances, dtype=np.float64), 0.0)
    free = float(np.sum(s / (1.0 + s)))
    if math.isinf(power):
        return free * _DOWN

    def lowest(eta: float, t: float) -> Floats:
        return _minimisers(s, power, eta, t)

    def sum_at(eta: float) -> float:
        """t = sum r, at which the dual is largest for this eta."""
        high = float(s.size)
        if lowest(eta, high).sum() >= high:
            return high
        return float(scipy.optimize.brentq(lambda t: lowest(eta, t).sum() - t, 0.0, high, xtol=1e-10 * high))

    def slack(log_eta: float) -> float:
        eta = math.exp(log_eta)
        return _slack(lowest(eta, sum_at(eta)), power)

    def dual(eta: float) -> float:
        t = sum_at(eta)
        r = lowest(eta, t)
        slope = eta * (2.0 * power * r + 2.0 * t - power) - np.square(s / (1.0 + s * r))
        # A convex function is above its tangent, so the minimum is missed by at most this.
        missed = np.maximum(slope * r, -slope * (1.0 - r))
        value = s / (1.0 + s * r) + eta * r * (power * r + 2.0 * t - power)
        return float(np.sum(value - np.maximum(missed, 0.0)) - eta * t * t)

    top = float(s.max(initial=0.0))
    if top == 0.0:
        return 0.0
    low, high = math.log(1e-18 * min(1.0, top * top / power)), math.log(1e3 * top * top * (1.0 + 1.0 / power))
    bounds = [free]
    if slack(low) > 0.0 > slack(high):
        bounds.append(dual(math.exp(scipy.optimize.brentq(slack, low, high, xtol=1e-7))))
    else:
        bounds.append(dual(math.exp(low if slack(low) <= 0.0 else high)))
    return max(bounds) * _DOWN


def _minimisers(s: Floats, power: float, eta: float, t: float) -> Floats:
    """Return the (k,) minimisers of the dual of `least_sum` at eta and t.

    With u = 1 + s r, they are the positive root of `c3 u^3 + c2 u^2 = s^2`.
    """
    # Newton from above: the cubic is convex there, so the iterates fall to the root.
    safe = np.maximum(s, 1e-300)
    c3, c2 = 2.0 * power * eta / safe, eta * (2.0 * t - power - 2.0 * power / safe)
    u = 1.0 + s
    for _ in range(_NEWTON):
        slope = u * (3.0 * c3 * u + 2.0 * c2)
        value = u * u * (c3 * u + c2) - s * s
        new = np.where((slope > 0) & (value > 0), u - value / np.where(slope > 0, slope, 1.0), u)
        if np.all(np.abs(new - u) <= 1e-15 * u):
            break
        u = new
    return np.asarray(np.where(s > 0, np.clip((u - 1.0) / safe, 0.0, 1.0), 0.0))


def _slack(r: Floats, power: float) -> float:
    """The amount by which r violates the condition of `least_sum`."""
    return float(r.sum() ** 2 - power * np.sum(r - r * r))


def _least_weighted(scaled: Floats, weight: Floats, power: float) -> float:
    """Least `tr weight (scaled^-1 + R)^-1` over the same condition on the spectrum of R.

    The objective is convex: at any R0 its tangent, minimised over all R, is a lower bound. R0
    follows the minimiser (Frank and Wolfe), and the best bound is kept.
    """
    size = len(scaled)
    inverse = np.linalg.inv(scaled)
    inverse = 0.5 * (inverse + inverse.T)

    def at(r: Floats) -> tuple[float, Floats]:
        inner = np.linalg.inv(inverse + r)
        return float(np.sum(weight * inner)), inner @ weight @ inner

    r = np.zeros((size, size))
    value, slope = at(r)
    best = float(np.sum(weight * np.linalg.inv(inverse + np.eye(size))))
    for _ in range(_STEPS):
        gain, vectors = np.linalg.eigh(slope)
        powers, largest = most_linear(gain, power)
        best = max(best, value + float(np.sum(slope * r)) - largest)
        if value - best <= 1e-4 * value:
            break
        toward = (vectors * powers) @ vectors.T - r
        moves = [(at(r + share * toward)[0], share) for share in (1.0, 0.6, 0.35, 0.2, 0.1, 0.05, 0.02)]
        r = r + min(moves)[1] * toward
        value, slope = at(r)
    return best * _DOWN


def most_linear(gain: Floats, power: float) -> tuple[Floats, float]:
    """Maximiser (k,) of `sum gain r` under the condition of `least_sum`, and a bound from above."""
    g = np.maximum(np.asarray(gain, dtype=np.float64), 0.0)
    if math.isinf(power) or not g.max() > 0:
        return np.ones(g.size), float(g.sum())

    def highest(eta: float, t: float) -> Floats:
        return np.asarray(np.clip((g / eta + power - 2.0 * t) / (2.0 * power), 0.0, 1.0))

    def sum_at(eta: float) -> float:
        return float(scipy.optimize.brentq(lambda t: highest(eta, t).sum() - t, 0.0, float(g.size) + 1.0))

    def slack(log_eta: float) -> float:
        eta = math.exp(log_eta)
        return _slack(highest(eta, sum_at(eta)), power)

    low, high = math.log(1e-12 * g.max() / (power + g.size)), math.log(1e6 * g.max() / power)
    inside = slack(low) > 0.0 > slack(high)
    eta = math.exp(scipy.optimize.brentq(slack, low, high, xtol=1e-9) if inside else low)
    t = sum_at(eta)
    r = highest(eta, t)
    return r, float(np.sum(g * r - eta * r * (power * r + 2.0 * t - power))) + eta * t * t
