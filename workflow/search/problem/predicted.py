"""Worlds drawn from what is believed before a release: the public field, drifted by so much and so much."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtrik

from dpgp_core.linalg.numerics import Floats
from dpgp_core.mechanisms.drift_reading import DRIFTS, TRUSTS
from dpgp_core.noise.entropy import SimulationEntropy
from dpgp_core.spectral.counts import prior_from_reference
from dpgp_core.spectral.public_field import PublicField
from workflow.project.model import Project
from workflow.project.records import PlacedObservations
from workflow.project.response import ResponseScale
from workflow.search.problem.facts import private_n

SEED = 141421  # draws from public facts alone


def predicted_records(project: Project, field: PublicField, scale: ResponseScale) -> list[PlacedObservations]:
    """Private records as they may be, one set for each drift of `DRIFTS`, from public facts alone.

    The reference shows where records lie and how they scatter. Drifts are as likely as the reading takes them.

    Parameters
    ----------
    field
        What the reference says of the field, in units of `scale`.
    """
    entropy = SimulationEntropy(SEED)
    mean = field.at(project.lattice.domain_centres)
    own, drifted = field.roots
    made = []
    for number, drift in enumerate(DRIFTS):
        trust = TRUSTS[number % len(TRUSTS)]
        change = np.sqrt(trust) * (own @ entropy.normal(field.nodes.size))
        change += drift * (drifted @ entropy.normal(field.nodes.size))
        counts = _counts(project, field, entropy)
        index = np.repeat(np.arange(counts.size), counts)
        value = (mean + field.nodes.spread(change))[index] + field.scatter * entropy.normal(index.size)
        made.append(PlacedObservations(index, scale.value(value), index.size, 0))
    return made


def _counts(project: Project, field: PublicField, entropy: SimulationEntropy) -> NDArray[np.int64]:
    """(N,) records of each cell: the known ones, or drawn around those of the reference."""
    settings, size = project.settings, project.domain.size
    if settings.places_public:
        known = np.bincount(project.private.placed.index, minlength=size)
        return np.asarray(np.minimum(known, 1) if settings.unit == "cell" else known)
    reference = np.bincount(project.reference.index, minlength=size).astype(np.float64)
    expected = _per_cell(field, reference, float(private_n(project)))
    drawn = np.ceil(pdtrik(entropy.uniform(size), np.maximum(expected, 1e-9)))
    counts = np.maximum(drawn, 0.0).astype(np.int64)
    return np.asarray(np.minimum(counts, 1) if settings.unit == "cell" else counts)


def _per_cell(field: PublicField, reference: Floats, n: float) -> Floats:
    """(N,) expected counts: as the reading expects them at its nodes, evenly within a node."""
    nodes = field.nodes
    at_nodes = prior_from_reference(nodes, reference, n).mean
    return np.asarray((at_nodes / nodes.cells_per_node)[nodes.place])
