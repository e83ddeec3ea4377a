"""Differential privacy of Gaussian process posteriors: pure mathematics, no input or output of its own."""

from __future__ import annotations

from dpgp_core.bounds import BOUNDS, Bound, rkhs_bound
from dpgp_core.cell_statistics import (
    NoisyStatistics,
    log_evidence,
    noise_aware_posterior,
    reference_records,
    release_statistics,
    statistic_mu,
    statistic_noise_for,
)
from dpgp_core.conversion import (
    EpsilonBound,
    epsilon_from_rdp,
    epsilons_from_rdp,
    group_privacy,
    odds_factor,
)
from dpgp_core.coverage import Coverage, Share, model_world, simulated_coverage
from dpgp_core.curve import RdpCurve
from dpgp_core.design import NOISY_CELL_STATISTICS, POSTERIOR_SAMPLING, Design
from dpgp_core.entropy import Entropy, SimulationEntropy, SystemEntropy
from dpgp_core.excursion import (
    excursion,
    inner_set,
    outer_set,
    released_set,
    support_step,
    three_way,
    vorobev_set,
    vote_fraction,
)
from dpgp_core.gaussian import gaussian_delta, gaussian_epsilon, gaussian_mu
from dpgp_core.guarantee import BoundRefused, Guarantee, PriorFacts, guarantee
from dpgp_core.lattice import Lattice
from dpgp_core.mechanisms import MECHANISMS, Mechanism, PrivateDraw, draw_paths, draw_release, free_paths
from dpgp_core.mmatrix import MMatrixFacts, NotAnMMatrix, check_m_matrix
from dpgp_core.numerics import NumericalFailure
from dpgp_core.orders import ORDERS, orders_for
from dpgp_core.posterior import Posterior, fit, fit_cells
from dpgp_core.priors import PRIORS, Prior, PriorFamily, can_make, make_prior
from dpgp_core.rdp import covariance_rdp, path_rdp
from dpgp_core.records import CollapsedRecords
from dpgp_core.ridge_family import RidgeFamily, RidgeSlice
from dpgp_core.scale import Scales, smallest_noise, smallest_scale, smallest_scale_for
from dpgp_core.scores import bce, effective_dimension, exceedance, expected_iou, iou, ious
from dpgp_core.selection import Selection, select, selection_curve
from dpgp_core.sensitivities import (
    SensitivityBound,
    sensitivity_bounds,
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
from dpgp_core.smoothing import domain_adjacency, smooth
from dpgp_core.variance import variance_bound, variance_bounds

__all__ = [
    "BOUNDS",
    "MECHANISMS",
    "NOISY_CELL_STATISTICS",
    "ORDERS",
    "POSTERIOR_SAMPLING",
    "PRIORS",
    "Bound",
    "BoundRefused",
    "CollapsedRecords",
    "Coverage",
    "Design",
    "Entropy",
    "EpsilonBound",
    "Guarantee",
    "Lattice",
    "MMatrixFacts",
    "Mechanism",
    "NoisyStatistics",
    "NotAnMMatrix",
    "NumericalFailure",
    "Posterior",
    "Prior",
    "PriorFacts",
    "PriorFamily",
    "PrivateDraw",
    "RdpCurve",
    "RidgeFamily",
    "RidgeSlice",
    "Scales",
    "Selection",
    "SensitivityBound",
    "Share",
    "SimulationEntropy",
    "SystemEntropy",
    "bce",
    "can_make",
    "check_m_matrix",
    "covariance_rdp",
    "domain_adjacency",
    "draw_paths",
    "draw_release",
    "effective_dimension",
    "epsilon_from_rdp",
    "epsilons_from_rdp",
    "exceedance",
    "excursion",
    "expected_iou",
    "fit",
    "fit_cells",
    "free_paths",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "group_privacy",
    "guarantee",
    "inner_set",
    "iou",
    "ious",
    "log_evidence",
    "make_prior",
    "model_world",
    "noise_aware_posterior",
    "odds_factor",
    "orders_for",
    "outer_set",
    "path_rdp",
    "reference_records",
    "release_statistics",
    "released_set",
    "rkhs_bound",
    "select",
    "selection_curve",
    "sensitivity_bounds",
    "sensitivity_constant",
    "sensitivity_diagonal",
    "sensitivity_line_exponential",
    "sensitivity_maximum_principle",
    "sensitivity_paper_code",
    "sensitivity_rkhs",
    "sensitivity_separate",
    "sensitivity_sharp",
    "sensitivity_triangle",
    "simulated_coverage",
    "smallest_noise",
    "smallest_scale",
    "smallest_scale_for",
    "smooth",
    "statistic_mu",
    "statistic_noise_for",
    "support_step",
    "three_way",
    "variance_bound",
    "variance_bounds",
    "vorobev_set",
    "vote_fraction",
]
