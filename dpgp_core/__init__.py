"""Differential privacy of Gaussian process posteriors: pure mathematics, no input or output of its own."""

from __future__ import annotations

from dpgp_core.bounds import BOUNDS, Bound, rkhs_bound
from dpgp_core.conversion import (
    EpsilonBound,
    epsilon_from_rdp,
    epsilons_from_rdp,
    group_privacy,
    odds_factor,
)
from dpgp_core.curve import RdpCurve
from dpgp_core.design import NOISY_CELL_STATISTICS, POSTERIOR_SAMPLING, Design
from dpgp_core.gaussian import gaussian_delta, gaussian_epsilon, gaussian_mu
from dpgp_core.guarantee import BoundRefused, Guarantee, PriorFacts, guarantee
from dpgp_core.lattice import Lattice
from dpgp_core.orders import ORDERS, orders_for
from dpgp_core.rdp import covariance_rdp, path_rdp
from dpgp_core.records import CollapsedRecords
from dpgp_core.scale import Scales, smallest_noise, smallest_scale, smallest_scale_for
from dpgp_core.sensitivities import (
    SensitivityBound,
    sensitivities,
    sensitivity_constant,
    sensitivity_diagonal,
    sensitivity_line_exponential,
    sensitivity_maximum_principle,
    sensitivity_paper_code,
    sensitivity_rkhs,
    sensitivity_separate,
    sensitivity_sharp,
    sensitivity_triangle,
)
from dpgp_core.variance import variance_bound, variance_bounds

__all__ = [
    "BOUNDS",
    "NOISY_CELL_STATISTICS",
    "ORDERS",
    "POSTERIOR_SAMPLING",
    "Bound",
    "BoundRefused",
    "CollapsedRecords",
    "Design",
    "EpsilonBound",
    "Guarantee",
    "Lattice",
    "PriorFacts",
    "RdpCurve",
    "Scales",
    "SensitivityBound",
    "covariance_rdp",
    "epsilon_from_rdp",
    "epsilons_from_rdp",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "group_privacy",
    "guarantee",
    "odds_factor",
    "orders_for",
    "path_rdp",
    "rkhs_bound",
    "sensitivities",
    "sensitivity_constant",
    "sensitivity_diagonal",
    "sensitivity_line_exponential",
    "sensitivity_maximum_principle",
    "sensitivity_paper_code",
    "sensitivity_rkhs",
    "sensitivity_separate",
    "sensitivity_sharp",
    "sensitivity_triangle",
    "smallest_noise",
    "smallest_scale",
    "smallest_scale_for",
    "variance_bound",
    "variance_bounds",
]
