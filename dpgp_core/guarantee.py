"""What a design costs: where a design, n and a prior's proved facts become a privacy guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpgp_core._checks import whole
from dpgp_core.bounds import BOUNDS, Bound, rkhs_bound
from dpgp_core.conversion import EpsilonBound, group_privacy
from dpgp_core.curve import RdpCurve
from dpgp_core.design import NOISY_CELL_STATISTICS, Design
from dpgp_core.gaussian import gaussian_epsilon
from dpgp_core.orders import ORDERS
from dpgp_core.rdp import amplitude, covariance_term, leverage, rdp_from_shift
from dpgp_core.variance import variance_bound


class BoundRefused(ValueError):
    """A bound that does not hold for this prior, or is not proved, was asked to price a release."""


class PriorFacts(Protocol):
    """What the accountant must know of a prior; every field is public."""

    @property
    def name(self) -> str: ...

    @property
    def kappa(self) -> float:
        """Lower bound on the prior correlation between any two cells, in [0, 1]."""

    @property
    def bounds(self) -> tuple[str, ...]:
        """Names of the bounds that hold for this prior."""


@dataclass(frozen=True)
class Guarantee:
    """The proved cost of one release.

    curve              RDP curve, what the ledger stores
    bound              name of the bound that priced it; source  where its proof stands
    proved             always True: an unproved guarantee does not exist
    exact_gaussian_mu  mu if the release is a plain Gaussian mechanism, else None
    assumption         what is assumed beyond replace-one neighbours and clipped responses, "" if nothing
    """

    curve: RdpCurve
    bound: str
    source: str
    proved: bool
    exact_gaussian_mu: float | None = None
    assumption: str = ""

    def __post_init__(self) -> None:
        if not self.proved:
            raise BoundRefused(f"the bound {self.bound!r} is not proved and cannot back a release.")

    def epsilon(self, delta: float) -> EpsilonBound:
        """Upper bound on epsilon at `delta`: exact for a Gaussian mechanism, else from the curve."""
        from_curve = self.curve.epsilon(delta)
        if self.exact_gaussian_mu is None:
            return from_curve
        exact = gaussian_epsilon(self.exact_gaussian_mu, delta)
        return EpsilonBound(exact, None, False) if exact <= from_curve.epsilon else from_curve

    def group(self, delta: float, q: int) -> tuple[float, float]:
        """(epsilon, delta) for a person with up to `q` records."""
        epsilon = self.epsilon(delta).epsilon
        return group_privacy(epsilon, delta, q) if math.isfinite(epsilon) else (math.inf, 1.0)


def _bound_for(design: Design, facts: PriorFacts, rkhs_norm: float | None) -> Bound:
    if design.bound == "rkhs":
        if rkhs_norm is None:
            raise BoundRefused("the bound 'rkhs' needs an assumed norm: pass rkhs_norm, or choose 'sharp'.")
        return rkhs_bound(rkhs_norm)
    if design.bound not in BOUNDS:
        raise BoundRefused(f"there is no bound named {design.bound!r}: choose one of {', '.join(BOUNDS)}.")
    bound = BOUNDS[design.bound]
    if not bound.proved:
        raise BoundRefused(f"the bound {bound.name!r} is not proved, so it backs no release: choose 'sharp'.")
    if bound.name not in facts.bounds:
        raise BoundRefused(
            f"the bound {bound.name!r} does not hold for the prior {facts.name!r} "
            f"(it needs {bound.requires}): choose one of {', '.join(facts.bounds)}."
        )
    return bound


def guarantee(
    design: Design, n: int, prior_facts: PriorFacts, *, rkhs_norm: float | None = None
) -> Guarantee:
    """The proved cost of releasing `design` on `n` records (replace-one, responses clipped to [-1, 1]).

    prior_facts  the prior that is really used: its lower correlation bound and the bounds that hold for it
    rkhs_norm    only for the opt-in bound "rkhs": the assumed norm, response units
    Raises BoundRefused for a bound that is unknown, unproved, or does not hold for the prior.
    """
    n = whole("n", n)
    if design.mechanism == NOISY_CELL_STATISTICS:
        # Sums and weighted counts with weight 1: squared L2 sensitivity max(4, 2 + 2) = 4 (section 11).
        mu = 2.0 / design.statistic_noise * (1.0 + 2.0**-50)
        source = "docs/mathematics.md, section 11"
        return Guarantee(RdpCurve.gaussian(mu), "noisy-cell-statistics", source, True, mu)
    bound = _bound_for(design, prior_facts, rkhs_norm)
    variance = variance_bound(n, design.ridge, prior_facts.kappa)
    assumption = bound.requires if bound.name == "rkhs" else ""
    total, share = amplitude(design.scale, design.noise_scale)
    if total == 0.0:
        raise ValueError("a design with scale 0 and noise_scale 0 releases the mean itself: add noise.")
    shift = bound.mean_shift(ORDERS, n=n, ridge=design.ridge, variance=variance, noise_share=share)
    covariance = covariance_term(ORDERS, leverage(design.ridge, variance, share))
    curve = RdpCurve(rdp_from_shift(ORDERS, shift, covariance, np.asarray(total), design.paths))
    exact = None
    if design.scale == 0.0:  # plain Gaussian: every S(alpha) bounds the same squared distance of means
        exact = math.sqrt(design.paths * float(shift.min())) / total * (1.0 + 2.0**-50)
    return Guarantee(curve, bound.name, bound.source, True, exact, assumption)
