"""Differential privacy of Gaussian process posteriors: pure mathematics, without input or output."""

from __future__ import annotations

from dpgp_core.accounting.gaussian import gaussian_delta, gaussian_epsilon, gaussian_mu
from dpgp_core.accounting.guarantee import Guarantee
from dpgp_core.accounting.rdp import ORDERS, RdpCurve, epsilon_from_rdp, group_privacy, path_rdp
from dpgp_core.atlas.design import AtlasDesign
from dpgp_core.atlas.release import release_atlas
from dpgp_core.bounds.registry import BOUNDS, smallest_scale, variance_bound
from dpgp_core.bounds.sensitivities import (
    sensitivity_bounds,
    sensitivity_maximum_principle,
    sensitivity_separate,
    sensitivity_sharp,
    sensitivity_triangle,
)
from dpgp_core.errors import BoundRefused, CoreError, DesignError, InvalidValue, NumericalFailure
from dpgp_core.excursion import exceedance_probability, three_way
from dpgp_core.mechanisms.base import Mechanism
from dpgp_core.mechanisms.design import Budget, Design, Protection
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import MECHANISMS, design_from_mapping, release
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.noise import SimulationEntropy, SystemEntropy
from dpgp_core.posterior.fitting import fit
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice, Prior
from dpgp_core.priors.registry import PRIORS, PriorFamily, make_prior
from dpgp_core.releasing import Prepared, PublicFacts, Released, draw_release

__version__ = "1.0.0"

__all__ = [
    "BOUNDS",
    "MECHANISMS",
    "ORDERS",
    "PRIORS",
    "AtlasDesign",
    "BoundRefused",
    "Budget",
    "CollapsedRecords",
    "CoreError",
    "Design",
    "DesignError",
    "Guarantee",
    "InvalidValue",
    "Lattice",
    "Mechanism",
    "NumericalFailure",
    "PosteriorSamplingDesign",
    "Prepared",
    "Prior",
    "PriorFamily",
    "Protection",
    "PublicFacts",
    "RdpCurve",
    "Released",
    "SimulationEntropy",
    "SpectralStatisticsDesign",
    "SystemEntropy",
    "__version__",
    "design_from_mapping",
    "draw_release",
    "epsilon_from_rdp",
    "exceedance_probability",
    "fit",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "group_privacy",
    "make_prior",
    "path_rdp",
    "release",
    "release_atlas",
    "sensitivity_bounds",
    "sensitivity_maximum_principle",
    "sensitivity_separate",
    "sensitivity_sharp",
    "sensitivity_triangle",
    "smallest_scale",
    "three_way",
    "variance_bound",
]
