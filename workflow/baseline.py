"""The non-private baseline: for the curator's eyes, in no export."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dpgp_core.design import Design
from dpgp_core.posterior import fit
from dpgp_core.priors import make_prior
from dpgp_core.scores import iou
from workflow.project import Project
from workflow.records import PlacedObservations, bin_records

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Baseline:
    """The non-private posterior on the private records; never exported.

    mean         (N,) posterior mean, response units
    probability  (N,) posterior probability of lying on the asked side of the threshold
    inside       (N,) cells whose probability exceeds one half
    """

    mean: Floats
    probability: Floats
    inside: Bools


@dataclass(frozen=True)
class Agreement:
    """How a released set compares with the baseline set (curator only)."""

    iou: float
    agree_in: int
    falsely_in: int
    falsely_out: int


def fit_baseline(project: Project, design: Design) -> Baseline:
    """Fit the unconstrained design to the private records, without a public prior mean."""
    return _fit(project, design, project.private.placed)


def free_map(project: Project, design: Design) -> Bools:
    """What public knowledge alone gives, at epsilon 0: the same fit on the reference data."""
    return _fit(project, design, project.reference).inside


def _fit(project: Project, design: Design, placed: PlacedObservations) -> Baseline:
    settings = project.settings
    records = bin_records(placed, project.response, settings.unit).records
    posterior = fit(make_prior(design.prior, project.lattice, design.lengthscale), records, design.ridge)
    sign = 1.0 if settings.direction == "above" else -1.0
    distance = sign * (posterior.mean - project.level)
    sd = np.maximum(design.scale * np.sqrt(posterior.variance), 1e-12)
    return Baseline(posterior.mean, ndtr(distance / sd), distance > 0)


def compare(released: Bools, baseline: Bools) -> Agreement:
    """IoU and the cells falsely in and falsely out."""
    return Agreement(
        iou(released, baseline),
        int((released & baseline).sum()),
        int((released & ~baseline).sum()),
        int((baseline & ~released).sum()),
    )
