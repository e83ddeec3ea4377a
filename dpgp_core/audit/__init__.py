"""Audits: attacks on released paths, and the lower bounds on epsilon that their success proves."""

from __future__ import annotations

from dpgp_core.audit.attack import (
    Attack,
    Scores,
    Statistics,
    area_deviation,
    area_under_curve,
    best_threshold,
    count_errors,
    roc,
    true_positive_rates,
)
from dpgp_core.audit.lower_bound import ErrorCounts, epsilon_lower_bound, rate_above, rate_below
from dpgp_core.audit.mixtures import LatentMixture, Mixture

__all__ = [
    "Attack",
    "ErrorCounts",
    "LatentMixture",
    "Mixture",
    "Scores",
    "Statistics",
    "area_deviation",
    "area_under_curve",
    "best_threshold",
    "count_errors",
    "epsilon_lower_bound",
    "rate_above",
    "rate_below",
    "roc",
    "true_positive_rates",
]
