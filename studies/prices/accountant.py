"""The accountant, vectorised against scalar: `python -m studies.prices.accountant [--designs 400]`.

Three questions a search asks of hundreds of designs, each answered twice in this one run: by the library, and
by a straightforward scalar implementation of the same formulas (a Python loop over orders with `math`, a
bisection for the scale, a scan of Theorem A+'s box). CPU seconds of one thread; the answers are compared too.
The scan is a sample maximum over 40^3 points: it certifies nothing and lies a little below the supremum.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import math
import time
from collections.abc import Callable

import numpy as np

from dpgp_core import BOUNDS, ORDERS, variance_bound
from dpgp_core.accounting.rdp import covariance_term, epsilons_from_rdp, leverage, rdp_from_shift
from dpgp_core.bounds.registry import smallest_scale_for
from dpgp_core.bounds.sharp import sharp_supremum

N, DELTA, EPSILON, SEED = 30_000, 1e-5, 1.0, 1


def scalar_rdp(order: float, ridge: float, variance: float, sensitivity: float, scale: float) -> float:
    """docs/mathematics.md, sections 2 and 7, as one would write them down."""
    if order * variance / (variance + ridge**2) >= 1.0:
        return math.inf
    p, less_one = variance / (variance + ridge**2), order - 1.0
    f1 = -(math.log1p(less_one * p) + less_one * math.log1p(-p)) / (2.0 * less_one)
    f2 = -(math.log1p(-order * p) - order * math.log1p(-p)) / (2.0 * less_one)
    factor = (variance + ridge**2) / (ridge**2 - less_one * variance)
    return f1 + f2 + order / 2.0 * factor * (sensitivity / scale) ** 2


def scalar_epsilon(ridge: float, variance: float, sensitivity: float, scale: float) -> float:
    """Section 5: the best of all public orders."""
    best = math.inf
    for order in ORDERS.tolist():
        rdp = scalar_rdp(order, ridge, variance, sensitivity, scale)
        cost = math.log1p(-1.0 / order) - (math.log(DELTA) + math.log(order)) / (order - 1.0)
        best = min(best, rdp + cost)
    return max(0.0, best)


def scalar_scale(ridge: float, variance: float, sensitivity: float) -> float:
    """The least scale by bisection to 1e-6, `inf` if even a huge one does not fit the budget."""
    low, high = 1e-9, 1e9
    if scalar_epsilon(ridge, variance, sensitivity, high) > EPSILON:
        return math.inf
    while high > low * (1.0 + 1e-6):
        middle = math.sqrt(low * high)
        if scalar_epsilon(ridge, variance, sensitivity, middle) <= EPSILON:
            high = middle
        else:
            low = middle
    return high


def scalar_principle(ridge: float, variance: float) -> float:
    """Section 8: Theorem B."""
    top = 1.0 / (4.0 * ridge**2) if variance >= ridge**2 else variance / (variance + ridge**2) ** 2
    return 2.0 * math.sqrt(2.0 * top)


def scalar_sharp(n: int, ridge: float, variance: float, steps: int = 40) -> float:
    """Section 6: the largest value of Theorem A+'s expression on a grid of (v, v', c)."""
    best = 0.0
    for i in range(1, steps + 1):
        v = variance * i / steps
        for j in range(1, i + 1):
            w = variance * j / steps
            a, b = 1.0 / (v + ridge**2), 1.0 / (w + ridge**2)
            for k in range(steps + 1):
                c = math.sqrt(v * w) * k / steps
                j11, j12, j22 = a * a * v, -a * b * c, b * b * w
                g11 = v * (v * j11 + c * j12) + c * (v * j12 + c * j22)
                g22 = c * (c * j11 + w * j12) + w * (c * j12 + w * j22)
                g12 = v * (c * j11 + w * j12) + c * (c * j12 + w * j22)
                s = g11 + g22
                rest = (
                    j11 * v
                    + j22 * w
                    + 2.0 * j12 * c
                    - (s + math.sqrt(max(0.0, s * s - 4.0 * g12 * g12))) / 2.0
                )
                first = math.sqrt(a * a * v + b * b * w + 2.0 * a * b * c)
                best = max(best, first + math.sqrt(n - 1) / ridge * math.sqrt(max(0.0, rest)))
    return best


def seconds(work: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def report(title: str, count: int, fast: float, slow: float, slow_count: int) -> None:
    quick, plain = count / fast, slow_count / slow
    print(f"{title:<34} {quick:>12,.0f}/s {plain:>12,.1f}/s {quick / plain:>10,.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--designs", type=int, default=400, help="designs priced by the library (default 400)"
    )
    parser.add_argument(
        "--scalar", type=int, default=20, help="of them priced by the scalar code (default 20)"
    )
    options = parser.parse_args()
    random = np.random.default_rng(SEED)
    ridge = 10.0 ** random.uniform(0.5, 2.0, options.designs)
    variance = np.array([variance_bound(N, float(r), 0.05) for r in ridge])
    some = np.linspace(0, options.designs - 1, options.scalar).astype(int)
    bound = BOUNDS["maximum-principle"]
    scale = 3.0 / ridge

    def price_all() -> object:
        shift = bound.mean_shift(ORDERS, n=N, ridge=ridge, variance=variance)
        covariance = covariance_term(ORDERS, leverage(ridge, variance))
        return epsilons_from_rdp(ORDERS, rdp_from_shift(ORDERS, shift, covariance, scale, 1), DELTA)

    def price_some() -> object:
        cases = [(float(ridge[i]), float(variance[i]), float(scale[i])) for i in some]
        return [scalar_epsilon(r, v, scalar_principle(r, v), s) for r, v, s in cases]

    def solve_all() -> object:
        return smallest_scale_for(bound, EPSILON, DELTA, n=N, ridge=ridge, kappa=0.05).scale

    def solve_some() -> object:
        cases = [(float(ridge[i]), float(variance[i])) for i in some]
        return [scalar_scale(r, v, scalar_principle(r, v)) for r, v in cases]

    few = some[:: max(1, options.scalar // 3)]
    many = slice(0, min(64, options.designs))

    def certify() -> object:
        return sharp_supremum(N - 1, ridge[many] ** 2, variance[many])

    def scan() -> object:
        return [scalar_sharp(N, float(ridge[i]), float(variance[i])) for i in few]

    print(f"{'':<34} {'library':>14} {'scalar':>14} {'ratio':>10}")
    print("-" * 75)
    fast, answers = seconds(price_all)
    slow, plain = seconds(price_some)
    np.testing.assert_allclose(np.asarray(answers)[some], np.asarray(plain), rtol=1e-7)
    report("epsilon of a design", options.designs, fast, slow, len(some))
    fast, answers = seconds(solve_all)
    slow, plain = seconds(solve_some)
    np.testing.assert_allclose(np.asarray(answers)[some], np.asarray(plain), rtol=1e-5)
    report("least scale for epsilon 1", options.designs, fast, slow, len(some))
    fast, answers = seconds(certify)
    slow, plain = seconds(scan)
    certified = sharp_supremum(N - 1, ridge[few] ** 2, variance[few])
    excess = certified / np.asarray(plain)
    assert np.all((excess >= 1.0) & (excess < 1.02)), excess
    report("Theorem A+ (certified | scanned)", ridge[many].size, fast, slow, len(few))
    print(
        f"Seed {SEED} draws {options.designs} designs, {options.scalar} of them for the scalar code; each "
        "way timed once, in CPU seconds; the answers of both agree."
    )


if __name__ == "__main__":
    main()
