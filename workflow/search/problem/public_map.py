"""The public map: what reference data alone say, as a prior mean and as the free map."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpgp_core.excursion.scores import iou
from dpgp_core.excursion.sets import excursion
from dpgp_core.noise.entropy import SimulationEntropy
from dpgp_core.posterior.fitting import fit
from dpgp_core.priors.registry import make_prior
from workflow.errors import WorkflowError
from workflow.project.baseline import FieldModel
from workflow.project.model import Project
from workflow.project.records import PlacedObservations, bin_records, public_n
from workflow.project.response import ResponseScale
from workflow.search.problem.facts import private_n
from workflow.search.problem.task import SearchResult

Floats = NDArray[np.float64]
HALVING_SEED = 271828  # splits reference data only
THINNING_SEED = 161803  # draws among reference data only
LEAST_YEAR = 0.1
MORE = 1.25  # times as many reference records as private ones are no more than these


@dataclass(frozen=True, eq=False)
class PublicMap:
    """A public prior mean.

    Parameters
    ----------
    mean
        (N,) in units of the response scale under which it was asked for
    origin
        where it comes from, in words
    """

    mean: Floats
    origin: str


def answered(project: Project, result: SearchResult) -> Project:
    """The project as a search answered it: with or without the public map, where it tried both."""
    if project.settings.prior_mean is not None or not project.settings.tries_public_map:
        return project
    return replace(project, settings=project.settings.with_changes(prior_mean=result.public_mean))


def public_map(project: Project, model: FieldModel, scale: ResponseScale) -> PublicMap | None:
    """The public prior mean under a response scale, where the settings ask for one."""
    if not project.settings.prior_mean:
        return None
    mean = reference_mean(project, project.reference, model, scale)
    return PublicMap(mean, "posterior mean of the public reference data")


def last_year(placed: PlacedObservations) -> int | None:
    """The last of several calendar years of reference observations; None where they do not span two.

    Each side needs a share LEAST_YEAR of the observations: a year that has just begun says nothing.
    """
    if placed.year is None or placed.year.size == 0:
        return None
    last = int(placed.year.max())
    share = float((placed.year == last).mean())
    return last if LEAST_YEAR <= share <= 1.0 - LEAST_YEAR else None


def two_parts(placed: PlacedObservations) -> tuple[PlacedObservations, PlacedObservations]:
    """Reference observations as public ones and stand-ins for the private ones.

    The years before the last and the last one, where they span two years: what changes from year to year is
    then seen. Otherwise two random halves, which are blind to it.

    Raises
    ------
    WorkflowError
        If there are too few of them to split.
    """
    last = last_year(placed)
    first = (
        SimulationEntropy(HALVING_SEED).uniform(placed.index.size) < 0.5
        if last is None or placed.year is None
        else placed.year < last
    )
    if first.all() or not first.any():
        raise WorkflowError(
            "There are too few reference observations to split: name a larger reference file."
        )
    return placed.part(first), placed.part(~first)


def has_reference(project: Project) -> bool:
    """Whether real reference data stand in for the private ones, and neither simulated ones nor a pilot's."""
    return project.reference_kind in ("reference data", "public reference data")


def records_each(project: Project) -> int:
    """How many private records each one of the reference's private part stands for: two if it is a half."""
    return 1 if project.settings.unit == "cell" or last_year(project.reference) is not None else 2


def public_and_private_parts(project: Project) -> tuple[PlacedObservations, PlacedObservations]:
    """`two_parts` of the reference data, the second no larger than the private data are."""
    public, private = two_parts(project.reference)
    return public, as_many(project, private, records_each(project))


def as_many(project: Project, placed: PlacedObservations, each: int = 1) -> PlacedObservations:
    """Reference observations that play the private ones: as many of them, at random, where they are more.

    More records make every map better, with and without privacy noise, so what is expected would be too good.
    The number of private records is used where it is public.

    Parameters
    ----------
    each
        How many private records each of them stands for.
    """
    unit, most = project.settings.unit, private_n(project) // each
    many = public_n(placed, unit)
    if not has_reference(project) or many <= MORE * most:
        return placed
    kept = SimulationEntropy(THINNING_SEED).uniform(many).argsort() < most
    return placed.part(np.isin(placed.index, np.unique(placed.index)[kept]) if unit == "cell" else kept)


def reference_mean(
    project: Project, placed: PlacedObservations, model: FieldModel, scale: ResponseScale
) -> Floats:
    """(N,) posterior mean of reference observations under a model, in response units of `scale`."""
    records = bin_records(placed, project.response, project.settings.unit).records
    posterior = fit(make_prior(model.prior, project.lattice, model.lengthscale), records, model.ridge)
    transformed = posterior.mean * project.response.clip + project.response.centre
    return np.asarray((transformed - scale.centre) / scale.clip)


def free_map_basis(project: Project) -> str:
    """How `free_map_agreement` is estimated, as the end of a sentence."""
    last = last_year(project.reference)
    return (
        ", by two halves of the reference data, which cannot show what has changed since"
        if last is None
        else f", by {last} against the years before"
    )


def free_map_agreement(project: Project, model: FieldModel) -> float:
    """IoU of the maps of the reference data's two parts: what the free map is expected to reach."""
    direction = project.settings.direction
    public, private = two_parts(project.reference)
    sets = [
        excursion(reference_mean(project, part, model, project.response), project.level, direction)
        for part in (public, as_many(project, private))
    ]
    return iou(sets[0], sets[1])
