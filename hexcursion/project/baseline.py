"""The non-private baseline: only for the curator, never exported."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpgp_core.excursion import exceedance_probability, excursion, iou
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.spectral_release import map_of_counts
from dpgp_core.posterior.fitting import fit, mean_about
from dpgp_core.posterior.likelihood import fit_by_likelihood
from dpgp_core.priors.registry import make_prior
from dpgp_core.releasing import PublicFacts
from hexcursion.project.model import Project
from hexcursion.project.records import PlacedObservations, bin_records
from hexcursion.project.response import ResponseScale

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
FieldModel = PosteriorSamplingDesign
"""A Gaussian process fitted without privacy: prior, lengthscale (metres), ridge and scale."""


@dataclass(frozen=True, eq=False)
class Baseline:
    """The non-private posterior on the private records; never exported."""

    mean: Floats  # (N,) posterior mean, response units
    probability: Floats  # (N,) of the side of the threshold in the question
    inside: Bools  # (N,) cells whose probability exceeds one half


@dataclass(frozen=True)
class Agreement:
    """How a released set compares with the baseline set (curator only)."""

    iou: float  # intersection over union; NaN where both are empty
    agree_in: int  # cells in both sets
    falsely_in: int  # cells in the released set only
    falsely_out: int  # cells in the baseline only


def curators_map(project: Project, model: FieldModel, cut: ResponseScale | None = None) -> Baseline:
    """Fit level, scatter and range to the private records by likelihood, independently of the
    search.

    Values are cut by the project's response scale or by `cut`, the scale of a release about one
    threshold: the typical value is the mean of cut values, which a few large values lift where they
    are cut far from the threshold. Counts over a public exposure are fitted with the lengthscale of
    `model`.
    """
    if project.exposure is not None:
        return fit_baseline(project, model)
    used = project if cut is None else replace(project, response=cut)
    records = bin_records(used.private.placed, used.response, used.settings.unit)
    field = fit_by_likelihood(used.lattice, records)
    fitted = _read(used, field.mean, field.sd)
    if cut is None:
        return fitted
    scale = project.response
    return replace(fitted, mean=(cut.centre + cut.clip * fitted.mean - scale.centre) / scale.clip)


def fit_baseline(project: Project, model: FieldModel) -> Baseline:
    """Fit the model of the unconstrained search to the private records, without a public prior
    mean."""
    return _fit(project, model, project.private.placed)


def free_map(project: Project, model: FieldModel) -> Bools:
    """Return the (N,) set of public knowledge alone, at epsilon 0: the same fit on the reference
    data."""
    return _fit(project, model, project.reference).inside


def _fit(project: Project, model: FieldModel, observations: PlacedObservations) -> Baseline:
    settings = project.settings
    if project.exposure is not None:
        counts = np.bincount(observations.index, minlength=project.lattice.size).astype(np.float64)
        facts = PublicFacts(
            project.lattice, observations.index.size, counts=project.exposure.values, law=project.exposure.law
        )
        mean, sd = map_of_counts(facts, counts, model.lengthscale)
        probability = exceedance_probability(mean, sd, project.level, settings.direction)
        return Baseline(mean, probability, excursion(mean, project.level, settings.direction))
    records = bin_records(observations, project.response, settings.unit)
    posterior = fit(make_prior(model.prior, project.lattice, model.lengthscale), records, model.ridge)
    mean = mean_about(posterior, records, project.usual_answer)
    return _read(project, mean, model.scale * np.sqrt(posterior.variance))


def _read(project: Project, mean: Floats, sd: Floats) -> Baseline:
    """Return the baseline of a fitted mean and standard deviation, (N,) each, in response units."""
    level, direction = project.response.seen(project.level), project.settings.direction
    probability = exceedance_probability(mean, sd, level, direction)
    return Baseline(project.response.field_of(mean), probability, excursion(mean, level, direction))


def compare(released: Bools, baseline: Bools) -> Agreement:
    """Return the IoU of two sets, (N,) each, and the cells falsely in and falsely out."""
    return Agreement(
        iou(released, baseline),
        int((released & baseline).sum()),
        int((released & ~baseline).sum()),
        int((baseline & ~released).sum()),
    )
