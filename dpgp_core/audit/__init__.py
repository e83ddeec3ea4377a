"""Audits: attacks on releases, the bounds on epsilon they prove, and how often stated sets are right."""

from __future__ import annotations

from dpgp_core.audit.attack import (
    Attack,
    Scores,
    Statistics,
    area_under_curve,
    best_threshold,
    count_errors,
    roc,
    true_positive_rates,
)
from dpgp_core.audit.design import AuditRow, DesignAudit, audit_design, own_sampler
from dpgp_core.audit.gaussians import NormalLaw, renyi_divergence
from dpgp_core.audit.lower_bound import ErrorCounts, epsilon_lower_bound, rate_above, rate_below
from dpgp_core.audit.mixtures import LatentMixture, Mixture
from dpgp_core.audit.neighbours import Pair, worst_pair

__all__ = [
    "Attack",
    "AuditRow",
    "DesignAudit",
    "ErrorCounts",
    "LatentMixture",
    "Mixture",
    "NormalLaw",
    "Pair",
    "Scores",
    "Statistics",
    "area_under_curve",
    "audit_design",
    "best_threshold",
    "count_errors",
    "epsilon_lower_bound",
    "own_sampler",
    "rate_above",
    "rate_below",
    "renyi_divergence",
    "roc",
    "true_positive_rates",
    "worst_pair",
]
