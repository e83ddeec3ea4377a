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
from studies.reporting.pictures import draw_lines

DESIGNS = ((300, 3.0), (600, 5.0), (600, 8.0))
SCALE = 0.27
RIDGES = (2.0, 4.0, 8.0, 16.0, 32.0)
SCALES = (0.1, 0.27, 1.0, 4.0, np.inf)
SURFACE = ("sharp", "maximum-principle")
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


def proved(name: str, n: int, ridge: float, scale: float) -> float:
    """Epsilon of one path at delta n^-1.1: an upper bound; inf where no order is admissible."""
    variance = variance_bound(n, ridge)
    shift = BOUNDS[name].mean_shift(ORDERS, n=n, ridge=ridge, variance=variance)
    covariance = covariance_term(ORDERS, leverage(ridge, variance))
    rdp = rdp_from_shift(ORDERS, shift, covariance, np.asarray(scale), 1)
    return epsilon_from_rdp(ORDERS, rdp, n**-1.1).epsilon


def surface(name: str, n: int) -> None:
    """Print epsilon over ridge and scale, as figure 1 of arXiv:2606.17995.

    An infinite scale leaves the covariance term alone.
    """
    print(f"epsilon over ridge and scale, {name}, n {n}")
    print(f"{'ridge':>6}" + "".join(f"{f'scale {scale:g}':>12}" for scale in SCALES))
    for ridge in RIDGES:
        cells = (f"{proved(name, n, ridge, scale):>12.3g}" for scale in SCALES)
        print(f"{ridge:>6g}" + "".join(cells))


def draw_surface(n: int) -> None:
    """Draw the surface of the lattice prior's bound, a line for each ridge."""
    scales = np.geomspace(0.05, 4.0, 25)
    points = [(s, proved(SURFACE[1], n, ridge, s), f"ridge {ridge:g}") for ridge in RIDGES for s in scales]
    finite = [point for point in points if np.isfinite(point[1])]
    axes = ("scale, in clip bounds", "epsilon of one path")
    draw_lines("surface", f"Epsilon over ridge and scale, {n} records", axes, finite, log_x=True, log_y=True)


def main() -> None:
    """Print the table, with ratios to the published recipe, and two surfaces; draw one."""
    print(f"{'n':>5} {'ridge':>6} {'published':>10}  " + "  ".join(f"{name:>24}" for name in NAMES))
    for n, ridge in DESIGNS:
        published = published_recipe(n, ridge, variance_bound(n, ridge), n**-1.1)
        cells = []
        for name in NAMES:
            epsilon = proved(name, n, ridge, SCALE)
            cells.append(f"{epsilon:>14.3f} ({epsilon / published:.3f})".rjust(24))
        print(f"{n:>5} {ridge:>6g} {published:>10.3f}  " + "  ".join(cells))
    print(f"scale {SCALE}, delta n^-1.1, kappa 0; in brackets the ratio to the published, unproved recipe")
    for name in SURFACE:
        surface(name, 600)
    draw_surface(600)
    print("No random numbers: every figure is a formula, evaluated once.")


if __name__ == "__main__":
    main()
