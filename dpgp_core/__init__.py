"""Differential privacy of Gaussian process posteriors: pure mathematics, no input or output of its own."""

from __future__ import annotations

from dpgp_core.accounting.conversion import (
    EpsilonBound,
    epsilon_from_rdp,
    epsilons_from_rdp,
    group_privacy,
    odds_factor,
)
from dpgp_core.accounting.curve import RdpCurve
from dpgp_core.accounting.gaussian import gaussian_delta, gaussian_epsilon, gaussian_mu
from dpgp_core.accounting.guarantee import Guarantee, PriorFacts
from dpgp_core.accounting.orders import ORDERS
from dpgp_core.accounting.rdp import covariance_rdp, path_rdp
from dpgp_core.audit.coverage import Coverage, Share, simulated_coverage
from dpgp_core.bounds.mmatrix import NotAnMMatrix, check_m_matrix
from dpgp_core.bounds.registry import BOUNDS, Bound, rkhs_bound
from dpgp_core.bounds.scale import Scales, smallest_noise, smallest_scale, smallest_scale_for
from dpgp_core.bounds.sensitivities import (
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
from dpgp_core.bounds.variance import variance_bound, variance_bounds
from dpgp_core.errors import (
    BoundRefused,
    CoreError,
    DesignError,
    HexcursionError,
    InvalidValue,
    NumericalFailure,
)
from dpgp_core.excursion.scores import (
    bce,
    effective_dimension,
    exceedance_probability,
    iou,
    ious,
)
from dpgp_core.excursion.selection import Selection, select, selection_curve
from dpgp_core.excursion.sets import (
    agreed,
    excursion,
    inner_set,
    outer_set,
    released_set,
    three_way,
    vorobev_set,
    vote_fraction,
)
from dpgp_core.excursion.smoothing import domain_adjacency, smooth
from dpgp_core.mechanisms.base import Mechanism
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.noisy_cell_statistics import (
    NoisyCellStatisticsDesign,
    log_evidence,
    noise_aware_posterior,
    reference_records,
)
from dpgp_core.mechanisms.paths.design import PosteriorSamplingDesign, path_guarantee
from dpgp_core.mechanisms.registry import MECHANISMS, design_from_mapping, mechanism_named, mechanism_of
from dpgp_core.mechanisms.sums.cell_sums import (
    NoisyStatistics,
    release_statistics,
    statistic_mu,
    statistic_noise_for,
)
from dpgp_core.mechanisms.terms import Ask, Budget, Parameter, Protection
from dpgp_core.noise.entropy import Entropy, SimulationEntropy, SystemEntropy
from dpgp_core.one_call import release
from dpgp_core.posterior.fitting import Posterior, fit, fit_cells
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.posterior.ridge_family import RidgeFamily, RidgeSlice
from dpgp_core.priors.lattice import Lattice
from dpgp_core.priors.registry import PRIORS, Prior, PriorFamily, can_make, make_prior
from dpgp_core.releasing.facts import PublicFacts
from dpgp_core.releasing.released import Prepared, Released, draw_release
from dpgp_core.simulation.world import Agreement, HeldOut, World

__version__ = "1.0.0"

__all__ = [
    "BOUNDS",
    "MECHANISMS",
    "ORDERS",
    "PRIORS",
    "Agreement",
    "Ask",
    "Bound",
    "BoundRefused",
    "Budget",
    "CollapsedRecords",
    "CoreError",
    "Coverage",
    "Design",
    "DesignError",
    "Entropy",
    "EpsilonBound",
    "Guarantee",
    "HeldOut",
    "HexcursionError",
    "InvalidValue",
    "Lattice",
    "Mechanism",
    "NoisyCellStatisticsDesign",
    "NoisyStatistics",
    "NotAnMMatrix",
    "NumericalFailure",
    "Parameter",
    "Posterior",
    "PosteriorSamplingDesign",
    "Prepared",
    "Prior",
    "PriorFacts",
    "PriorFamily",
    "Protection",
    "PublicFacts",
    "RdpCurve",
    "Released",
    "RidgeFamily",
    "RidgeSlice",
    "Scales",
    "Selection",
    "SensitivityBound",
    "Share",
    "SimulationEntropy",
    "SystemEntropy",
    "World",
    "__version__",
    "agreed",
    "bce",
    "can_make",
    "check_m_matrix",
    "covariance_rdp",
    "design_from_mapping",
    "domain_adjacency",
    "draw_release",
    "effective_dimension",
    "epsilon_from_rdp",
    "epsilons_from_rdp",
    "exceedance_probability",
    "excursion",
    "fit",
    "fit_cells",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "group_privacy",
    "inner_set",
    "iou",
    "ious",
    "log_evidence",
    "make_prior",
    "mechanism_named",
    "mechanism_of",
    "noise_aware_posterior",
    "odds_factor",
    "outer_set",
    "path_guarantee",
    "path_rdp",
    "reference_records",
    "release",
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
    "three_way",
    "variance_bound",
    "variance_bounds",
    "vorobev_set",
    "vote_fraction",
]
