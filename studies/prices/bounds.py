"""Epsilon of one design under each bound and the published recipe: `python -m studies.prices.bounds`."""

from __future__ import annotations

import numpy as np

from dpgp_core import variance_bound
from dpgp_core.accounting.rdp import (
    ORDERS,
    classical_shift,
    covariance_term,
    epsilon_from_rdp,
    leverage,
    rdp_from_shift,
)
from dpgp_core.bounds.registry import BOUNDS
from dpgp_core.bounds.sensitivities import sensitivity_paper_code

DESIGNS = ((300, 3.0), (600, 5.0), (600, 8.0))
SCALE = 0.27
NAMES = ("triangle", "sharp", "joint-sharp", "maximum-principle", "joint-maximum-principle")


def published_recipe(n: int, ridge: float, variance: float, delta: float) -> float:
    """Theorem 3.1 as published (2 psi), the published code's constant (not proved), Mironov's conversion."""
    tau = variance / ridge**2
    orders = ORDERS[(ORDERS - 1.0) * tau < 1.0]
    less = orders - 1.0
    one = 0.5 * np.log1p(tau) - np.log((1.0 + orders * tau) / (1.0 + tau)) / (2.0 * less)
    two = -0.5 * np.log1p(tau) - np.log1p(-less * tau) / (2.0 * less)
    sensitivity = np.asarray(float(sensitivity_paper_code(n, ridge, variance)))
    shift = classical_shift(orders, sensitivity, leverage(ridge, variance))
    rdp = 2.0 * np.maximum(one, two) + 0.5 * orders * shift / SCALE**2
    return float(np.min(rdp + np.log(1.0 / delta) / less))


def main() -> None:
    """Print the table; ratios are to the published recipe."""
    print(f"{'n':>5} {'ridge':>6} {'published':>10}  " + "  ".join(f"{name:>24}" for name in NAMES))
    for n, ridge in DESIGNS:
        variance, delta = variance_bound(n, ridge), n**-1.1
        published = published_recipe(n, ridge, variance, delta)
        covariance = covariance_term(ORDERS, leverage(ridge, variance))
        cells = []
        for name in NAMES:
            shift = BOUNDS[name].mean_shift(ORDERS, n=n, ridge=ridge, variance=variance)
            rdp = rdp_from_shift(ORDERS, shift, covariance, np.asarray(SCALE), 1)
            epsilon = epsilon_from_rdp(ORDERS, rdp, delta).epsilon
            cells.append(f"{epsilon:>14.3f} ({epsilon / published:.3f})".rjust(24))
        print(f"{n:>5} {ridge:>6g} {published:>10.3f}  " + "  ".join(cells))
    print(f"scale {SCALE}, delta n^-1.1, kappa 0; in brackets the ratio to the published, unproved recipe")
    print("No random numbers: every figure is a formula, evaluated once.")


if __name__ == "__main__":
    main()
