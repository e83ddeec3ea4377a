"""What a search and a release may know beforehand: public facts and the size of the grid, from a project."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.design import Ask, Design, Protects
from dpgp_core.releasing import PublicFacts
from dpgp_core.spectral.prior import Law
from hexcursion.ledger.places import home
from hexcursion.project.model import Project
from hexcursion.project.records import public_n

PUBLIC_WORK = "public"
"""Folder, beside the ledger, of what was computed from public geography alone."""


def private_n(project: Project) -> int:
    """Return the number of records of the unit of protection that may be known.

    Where their true number is private and a pilot was paid for, the number that its noisy counts show.
    """
    if project.settings.relation == "add-or-remove" and project.pilot is not None:
        return public_n(project.reference, project.settings.unit)
    return project.public_n


def public_facts(project: Project) -> PublicFacts:
    """The public facts of a project's release."""
    settings = project.settings
    return PublicFacts(
        project.lattice,
        private_n(project),
        relation=settings.relation,
        places_public=settings.places_public,
        counts=_public_counts(project) if project.exposure is None else project.exposure.values,
        single=settings.unit == "cell",
        law=_law(project),
        covariates=None if project.covariates is None else project.covariates.values,
        store=home() / PUBLIC_WORK,
    )


def _law(project: Project) -> Law:
    """Of a record's response."""
    if project.exposure is not None:
        return project.exposure.law
    return "amount" if project.answers is None else "yes-no"


def _public_counts(project: Project) -> Floats | None:
    """(N,) records per cell of published reference data, where the settings let them be used."""
    if not project.settings.uses_public_counts:
        return None
    relative = project.relative  # with a public map the reference is simulated: its own records count
    places = relative.places if relative is not None and relative.places is not None else None
    index = project.reference.index if places is None else places
    counts = np.bincount(index, minlength=project.domain.size).astype(np.float64)
    return np.minimum(counts, 1.0) if project.settings.unit == "cell" else counts


def protects(project: Project) -> Protects:
    """Say what a release hides: places that were declared public are used and not hidden.

    That holds for every mechanism then, as its design may have been tuned on the known places.
    """
    return "values" if project.settings.places_public else "values and places"


def cut(ask: Ask, designs: Iterable[Design]) -> tuple[Design, ...]:
    """The designs, each once, with the cutoff that is asked for where one is."""
    if ask.cutoff is None:
        return tuple(designs)
    return tuple(dict.fromkeys(design.with_cutoff(ask.cutoff) for design in designs))


def ask_of(project: Project) -> Ask:
    """Priors, paths, size of the grid and cutoff that the settings ask for."""
    settings = project.settings
    chosen = None if project.pilot is None else project.pilot.model
    model = None if chosen is None else (chosen.lengthscale, chosen.ridge)
    return Ask(
        project.priors,
        settings.paths,
        settings.quick,
        cutoff=settings.cutoff,
        model=model,
        looks=settings.looks,
    )
