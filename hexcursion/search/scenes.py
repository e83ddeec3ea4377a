"""Public facts that a search and a release may know beforehand, and worlds that judge simulated releases."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpgp_core.excursion import Direction, excursion
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.design import Design, Protects, SearchSpec, Unit
from dpgp_core.mechanisms.spectral_design import FIXED_SPREAD
from dpgp_core.noise import SimulationEntropy
from dpgp_core.releasing import Owner, PublicFacts
from dpgp_core.simulation import World
from dpgp_core.spectral.prior import Law
from dpgp_core.yardstick import Sides
from hexcursion.ledger.places import home
from hexcursion.project.model import Project
from hexcursion.project.records import PlacedObservations, bin_records, cell_medians, cell_shares, public_n
from hexcursion.project.response import ResponseScale
from hexcursion.search.task import Scene
from hexcursion.settings.model import ReleaseSettings

PUBLIC_WORK = "public"
"""Folder, next to the ledger, of computations from public geography alone."""


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
        owner=protected_owner(settings),
        places_public=settings.places_public,
        counts=_public_counts(project) if project.exposure is None else project.exposure.values,
        single=settings.unit == "cell",
        law=_law(project),
        covariates=None if project.covariates is None else project.covariates.values,
        store=home() / PUBLIC_WORK,
    )


def protected_owner(settings: ReleaseSettings) -> Owner | None:
    """The owner whose records a release protects together, None where no column names one."""
    most_records = settings.records_per_owner
    return None if most_records is None else Owner(most_records, settings.owner_once_per_hexagon)


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


def cut(ask: SearchSpec, designs: Iterable[Design]) -> tuple[Design, ...]:
    """The designs, each once, with the cutoff that is asked for where one is."""
    if ask.cutoff is None:
        return tuple(designs)
    return tuple(dict.fromkeys(design.with_cutoff(ask.cutoff) for design in designs))


def ask_of(project: Project) -> SearchSpec:
    """Priors, paths, size of the grid and cutoff that the settings ask for."""
    settings = project.settings
    return SearchSpec(
        project.priors,
        settings.paths,
        settings.quick,
        cutoff=settings.cutoff,
        looks=settings.looks,
    )


HOLDOUT_SHARE = 4  # one cell in four is held out
SHUFFLING_SEED = 577215  # exchanges reference values only


@dataclass(frozen=True)
class Question:
    """The question of a map: on which side of a threshold are the values of which records, and where."""

    cells: tuple[str, ...]  # names of the domain's N cells
    unit: Unit
    threshold: float  # in the data's own unit
    direction: Direction

    @classmethod
    def of(cls, project: Project) -> Question:
        """The question of a project's settings."""
        settings = project.settings
        return cls(project.domain.cells, settings.unit, settings.threshold, settings.direction)


@dataclass(frozen=True, eq=False)
class Start:
    """What public knowledge says of the field before any record is read, response units."""

    prior_mean: Floats | None = None  # (N,) subtracted from the records and added to every field
    # Mean and deviation of the field, where known without looking at the reference: those of the law that a
    # simulated field was drawn from, of which one field says little.
    belief: tuple[float, float] | None = None
    usual: float = 0.0  # response to which the map without privacy returns far from all records
    own: ResponseScale | None = None  # scale whose clip bound limits values first: see `bin_records`


NO_START = Start()


def make_scene(
    facts: PublicFacts,
    question: Question,
    reference: PlacedObservations,
    response: ResponseScale,
    start: Start = NO_START,
) -> Scene:
    """Make the world of some reference observations, never the private ones, under one response scale.

    A cell is held out by its name, whatever the data.
    """
    direction, prior_mean = question.direction, start.prior_mean
    offset = np.zeros(facts.lattice.size) if prior_mean is None else prior_mean
    level = float(response.forward(question.threshold))
    records = bin_records(reference, response, question.unit, prior_mean, start.own)
    shares = response.transform == "probit"
    labelled, medians = cell_shares(reference) if shares else cell_medians(reference)
    held_out = _held_out(question.cells)
    test = held_out[labelled]
    keep = ~held_out[records.index]
    if test.all() or not test.any():  # tiny domains: judge on the training cells themselves
        test, keep = np.ones_like(test), np.ones_like(keep)
    field = response.forward(medians) - offset[labelled]
    middle = float(np.median(field))
    spread = max(1.4826 * float(np.median(np.abs(field - middle))), 1e-3)
    if start.belief is not None:
        middle, spread = start.belief
    own_side = None
    if facts.law == "amount" and not shares:
        by_cell = (labelled, medians)
        cell, value = by_cell if question.unit == "cell" else (reference.index, reference.value)
        own_side = Sides.of(cell, excursion(response.forward(value), level, direction), facts.lattice.size)
    world = World(
        replace(facts, reads="map"),  # the world's releases are simulations
        records,
        records.part(keep),
        labelled[test],
        excursion(response.forward(medians[test]), level, direction),
        level,
        direction,
        offset,
        middle=middle,
        spread=spread,
        mean_known=start.belief is None,
        seen_level=response.seen(level),
        usual=start.usual,
        sides=own_side,
    )
    return Scene(response, world)


@lru_cache(maxsize=2)
def _held_out(cells: tuple[str, ...]) -> NDArray[np.bool_]:
    """(N,) which cells are held out."""
    return np.array([zlib.crc32(cell.encode()) % HOLDOUT_SHARE == 0 for cell in cells])


def shuffled(observations: PlacedObservations) -> PlacedObservations:
    """The same observations with their values exchanged among their places: nothing is left to be mapped."""
    order = np.argsort(SimulationEntropy(SHUFFLING_SEED).uniform(observations.value.size))
    return replace(observations, value=observations.value[order])


def project_scene(
    project: Project,
    facts: PublicFacts,
    observations: PlacedObservations,
    scale: ResponseScale,
    prior_mean: Floats | None = None,
    *,
    from_field: bool = False,
) -> Scene:
    """Make the world of reference or simulated observations for a project's question.

    `observations` never holds private records; `prior_mean` is (N,), response units. Values drawn
    `from_field`, that of a published reference, are not cut as the map without privacy cuts: that field is
    one of cut values.
    """
    wide = project.response
    belief = ((wide.centre - scale.centre) / scale.clip, FIXED_SPREAD * wide.clip / scale.clip)
    start = Start(
        prior_mean,
        belief if project.simulated else None,
        project.usual_answer,
        None if prior_mean is None or from_field else wide,
    )
    return make_scene(facts, Question.of(project), observations, scale, start)
