"""The pilot: an accounted look at the private records, for tuning without reference data."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np

from dpgp_core.cell_statistics import (
    log_evidence,
    reference_records,
    release_statistics,
    statistic_mu,
    statistic_noise_for,
)
from dpgp_core.curve import RdpCurve
from dpgp_core.entropy import SystemEntropy, random_name
from dpgp_core.priors import make_prior
from workflow.candidates import coarse_grid
from workflow.errors import WorkflowError
from workflow.ledger import Charge, Ledger
from workflow.project import Pilot, Project
from workflow.records import PlacedObservations, bin_records
from workflow.released import ResponseScale

MODEL_RIDGES = (0.7, 1.5, 3.0)
MODEL_SCALES = (0.25, 0.5, 1.0)


def fingerprint(project: Project, ledger: Ledger) -> str:
    """The ledger's name of the private dataset: all located rows, before any choice of domain."""
    observations = project.private.observations
    return ledger.fingerprint(observations.x, observations.y, observations.value)


def run_pilot(project: Project, ledger: Ledger) -> Project:
    """Pay for noisy cell statistics once and put what they say in the place of reference data.

    The share `settings.pilot` of epsilon is spent on one Gaussian release of all cells' sums and counts
    (docs/mathematics.md, section 11), charged to the ledger before it is drawn. Everything after it, the
    model choice by marginal likelihood and the whole search, is post-processing and free. Raises
    `WorkflowError` where the pilot shows no record, `BudgetExceeded` before anything is drawn.
    """
    settings = project.settings
    if settings.pilot is None or settings.reference is not None:
        raise WorkflowError("A pilot stands in for reference data: set `pilot` and leave `reference` out.")
    if project.pilot is not None:
        raise WorkflowError("A pilot was paid for already, and stands in for reference data.")
    records = bin_records(project.private.placed, project.response, settings.unit).records
    noise = statistic_noise_for(settings.pilot * settings.epsilon, settings.delta)
    mu = statistic_mu(noise)
    charge = Charge(
        dataset=fingerprint(project, ledger),
        unit=settings.unit,
        curve=RdpCurve.gaussian(mu),
        facts={"title": "Pilot for private tuning", "mechanism": "noisy-cell-statistics",
               "epsilon": settings.pilot * settings.epsilon, "delta": settings.delta, "n": records.n},
        gaussian_mu=mu,
    )  # fmt: skip
    if ledger.account(charge.dataset, charge.unit).budget is None:
        budget = settings.budget or settings.epsilon
        ledger.set_budget(charge.dataset, charge.unit, budget, settings.delta)
    with ledger.charged(charge) as reservation:
        reservation.begin_draw()
        statistics = release_statistics(records, project.domain.size, noise, SystemEntropy())
        digest = hashlib.sha256(statistics.sums.tobytes() + statistics.counts.tobytes()).hexdigest()
        reservation.commit(f"pilot-{random_name()}", digest)
    models = [
        (make_prior("car", project.lattice, lengthscale), ridge, scale)
        for lengthscale in coarse_grid(project.lattice, records.n, quick=True).lengthscales
        for ridge in MODEL_RIDGES
        for scale in MODEL_SCALES
    ]
    best = max(models, key=lambda model: log_evidence(statistics, *model))
    try:
        seen = reference_records(statistics, *best)
    except ValueError as error:
        raise WorkflowError("The pilot is too noisy to show any record: raise `pilot` or epsilon.") from error
    pilot = Pilot(charge.curve, settings.pilot * settings.epsilon, reservation.seal)
    stand_in = _observations(seen.index, seen.count, seen.mean, project.response)
    return replace(project, reference=stand_in, reference_kind="private selection", pilot=pilot)


def _observations(
    index: np.ndarray, count: np.ndarray, mean: np.ndarray, response: ResponseScale
) -> PlacedObservations:
    cells = np.repeat(index, count)
    return PlacedObservations(cells, np.asarray(response.value(np.repeat(mean, count))), int(cells.size), 0)
