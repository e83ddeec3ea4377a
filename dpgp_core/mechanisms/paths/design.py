"""Posterior paths as a design: its numbers, what it costs, and the least noise that a budget allows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpgp_core._checks import whole
from dpgp_core.accounting.guarantee import Guarantee, PriorFacts
from dpgp_core.accounting.rdp import ORDERS, RdpCurve, amplitude, covariance_term, leverage, rdp_from_shift
from dpgp_core.accounting.tails import GaussianPairs, least_total
from dpgp_core.bounds.registry import BOUNDS, Bound, rkhs_bound, variance_bound
from dpgp_core.errors import BoundRefused, DesignError
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.design import Design


@dataclass(frozen=True)
class PosteriorSamplingDesign(Design):
    """Released paths `f ~ N(m_D, scale^2 k_D + noise_scale^2 k)`, responses clipped to [-1, 1].

    Parameters
    ----------
    prior
        Name in `PRIORS`.
    lengthscale
        Range of the prior, metres, > 0.
    ridge
        Effective ridge r > 0, the noise-to-signal ratio: `K + r^2 I`.
    scale
        Posterior scale sigma >= 0, response units.
    noise_scale
        Extra prior noise eta >= 0, response units (paper, Proposition 2).
    bound
        Name in `BOUNDS` of the proved bound that prices the design.
    """

    mechanism: ClassVar[str] = "posterior-sampling"

    prior: str
    lengthscale: float
    ridge: float
    scale: float
    noise_scale: float = 0.0
    bound: str = "sharp"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_unless_positive("lengthscale", "ridge")
        self.refuse_if_negative("scale", "noise_scale")

    @property
    def noise_share(self) -> float:
        """Share of the prior noise in the released variance."""
        return self.noise_scale**2 / (self.scale**2 + self.noise_scale**2)


def path_guarantee(
    design: PosteriorSamplingDesign, n: int, prior_facts: PriorFacts, *, rkhs_norm: float | None = None
) -> Guarantee:
    """Upper bound on the cost of releasing `design` on n records (replace-one, responses in [-1, 1]).

    `prior_facts` are those of the prior that is really used; `rkhs_norm` is the norm, response units, that
    the opt-in bound "rkhs" assumes. Source: Maciazek, arXiv:2606.17995, Theorem 3.1 and Proposition 2; for
    the mean term the source of the bound. Raises BoundRefused for a bound that is unknown, unproved, or does
    not hold for the prior.
    """
    terms = _terms(design, n, prior_facts, rkhs_norm)
    bound, total, pairs = terms.bound, terms.total, terms.pairs
    assumption = bound.requires if bound.name == "rkhs" else ""
    if design.scale > 0.0:
        return Guarantee(terms.curve(total), bound.name, bound.source, True, None, assumption, pairs)
    # A plain Gaussian mechanism: every S(alpha) bounds the same squared distance of means.
    exact = math.sqrt(design.paths * float(terms.shift.min())) / total * (1.0 + 2.0**-50)
    return Guarantee(terms.curve(total), bound.name, bound.source, True, exact, assumption)


def sharpened_paths(
    design: PosteriorSamplingDesign, n: int, prior_facts: PriorFacts, epsilon: float, delta: float
) -> PosteriorSamplingDesign:
    """The design with the least noise that the sharper conversion of `path_guarantee` allows, else unchanged.

    It takes a design that costs at most (epsilon, delta), for example one from `smallest_scale_for`, keeps
    its share of prior noise, and saves about 8 % of the noise. Source: docs/accounting.md, section 5. About
    50 ms.
    """
    if design.scale == 0.0:
        return design
    terms = _terms(design, n, prior_facts, None)
    found = least_total(
        epsilon, delta, shift=terms.shift, covariance=terms.covariance, pairs=terms.pairs, start=terms.total
    )
    for nudge in (1e-12, 1e-9, 1e-6):  # the split into two scales is rounded
        less = found / terms.total * (1.0 + nudge)
        offer = replace(design, scale=design.scale * less, noise_scale=design.noise_scale * less)
        if less < 1.0 and path_guarantee(offer, n, prior_facts).epsilon(delta).epsilon <= epsilon:
            return offer
    return design


@dataclass(frozen=True, eq=False)
class _Terms:
    """What the curve of a design is made of, on `ORDERS`: mean shift at total scale 1, covariance term."""

    bound: Bound
    total: float
    shift: Floats
    covariance: Floats
    pairs: GaussianPairs

    def curve(self, total: float) -> RdpCurve:
        return RdpCurve(
            rdp_from_shift(ORDERS, self.shift, self.covariance, np.asarray(total), self.pairs.paths)
        )


def _terms(
    design: PosteriorSamplingDesign, n: int, prior_facts: PriorFacts, rkhs_norm: float | None
) -> _Terms:
    n = whole("n", n)
    bound = _bound_for(design, prior_facts, rkhs_norm)
    variance = variance_bound(n, design.ridge, prior_facts.kappa)
    total, share = amplitude(design.scale, design.noise_scale)
    if total == 0.0:
        raise DesignError("a design with scale 0 and noise_scale 0 releases the mean itself: add noise.")
    shift = bound.mean_shift(ORDERS, n=n, ridge=design.ridge, variance=variance, noise_share=share)
    p = leverage(design.ridge, variance, share)
    return _Terms(bound, total, shift, covariance_term(ORDERS, p), GaussianPairs(float(p), design.paths))


def _bound_for(design: PosteriorSamplingDesign, facts: PriorFacts, rkhs_norm: float | None) -> Bound:
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
