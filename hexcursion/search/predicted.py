"""Worlds drawn from what is believed before a release: the public field, drifted by so much and so much."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from dpgp_core.mechanisms.drift_reading import DRIFTS, TRUSTS
from dpgp_core.noise import SimulationEntropy
from dpgp_core.spectral.counts import prior_from_reference
from dpgp_core.spectral.public_field import PublicField
from hexcursion.project.baseline import FieldModel
from hexcursion.project.model import Project
from hexcursion.project.records import PlacedObservations
from hexcursion.project.response import ResponseScale
from hexcursion.search.public_map import (
    as_many,
    in_scale,
    last_of_several,
    private_parts,
    public_field,
    public_part,
    scale_about,
    two_parts,
)
from hexcursion.search.scenes import private_n

SEED = 141421  # draws from public facts alone
FIELDS = 2  # changes of the field drawn for each drift, each one way and the other


def starting_point(
    project: Project, model: FieldModel
) -> tuple[PublicField, ResponseScale, list[PlacedObservations]]:
    """Return the public field that a release starts from, its response scale, and records for private ones.

    Where the reference spans several years, the last one plays the private records and the years before are
    the public field. Otherwise all of it is, and the private records are drawn by `predicted_records`, one
    set for each drift: halves of one year cannot show what changes. An earlier release has draws of its own
    for them.
    """
    last = last_of_several(project)
    public, played = (public_part(project), None) if last is None else two_parts(project.reference)
    field = public_field(project, public)
    scale = scale_about(project, field)
    field = in_scale(project, field, scale, model)
    if project.reference_origin:
        return field, scale, [as_many(project, each) for each in private_parts(project)]
    if played is None:
        return field, scale, predicted_records(project, field, scale)
    return field, scale, [as_many(project, played)]


def predicted_records(project: Project, field: PublicField, scale: ResponseScale) -> list[PlacedObservations]:
    """Draw private records as they may be, a few sets for each of `DRIFTS` and `TRUSTS`, from public facts.

    The reference shows where records lie and how they scatter; all drifts are equally likely. All sets lie at
    the same places, so that what depends on places alone is made once. `field` is in units of `scale`.
    """
    entropy = SimulationEntropy(SEED)
    mean = field.at_cells(project.lattice.domain_centres)
    own, drifted = field.roots
    index, made = _places(project, field, entropy), []
    for number, (_, drift, trust) in enumerate(product(range(FIELDS), DRIFTS, TRUSTS)):
        if number % 2 == 0:  # each drift goes one way and the other, so that few worlds stand for many
            by_own = own @ entropy.normal(field.nodes.size)
            by_drift = drifted @ entropy.normal(field.nodes.size)
        else:
            by_own, by_drift = -by_own, -by_drift
        change = np.sqrt(trust) * by_own + drift * by_drift
        value = (mean + field.nodes.spread(change))[index] + field.scatter * entropy.normal(index.size)
        made.append(PlacedObservations(index, scale.value(value), index.size, 0))
    return made


def _places(project: Project, field: PublicField, entropy: SimulationEntropy) -> NDArray[np.int64]:
    """(n,) cells of the records: the known ones, or drawn around those of the reference."""
    cell = project.settings.unit == "cell"
    if project.settings.places_public:
        index = project.private.placed.index
        return np.unique(index) if cell else index
    n, size = private_n(project), project.domain.size
    reference = np.bincount(project.reference.index, minlength=size).astype(np.float64)
    nodes = field.nodes
    expected = (prior_from_reference(nodes, reference, n).mean / nodes.cells_per_node)[nodes.place]
    if cell:  # n distinct ones: the first of as many exponential clocks
        return np.sort(np.argsort(-np.log(entropy.uniform(size)) / expected)[:n])
    ends = np.cumsum(expected)
    return np.asarray(np.minimum(np.searchsorted(ends, ends[-1] * entropy.uniform(n)), size - 1))
