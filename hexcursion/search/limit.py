"""The limit of designs: what releases lose of a field, and the least that any release can lose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpgp_core.accounting.gaussian import gaussian_mu
from dpgp_core.bounds.limit import least_error
from dpgp_core.features.nodes import MOST_NODES
from dpgp_core.linalg import Floats, Ints
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.drift_reading import TRUSTS, suppositions
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, draw_release
from hexcursion.errors import Report, WorkflowError
from hexcursion.project.model import Project
from hexcursion.project.response import ResponseScale
from hexcursion.search.public_map import answered, as_many, starting_point
from hexcursion.search.scenes import project_scene, public_facts
from hexcursion.search.task import SearchResult, Unconstrained

WORLDS = 12  # fields drawn, each released once
SEED = 112358  # simulated fields and releases only; a release never sees it
MOST_CELLS, MOST_OCCUPIED = 4_000, 1_500  # of dense matrices: hexagons, and those that hold records
UP = 1.0 + 1e-6  # mu is rounded upwards by so much: the limit is then never overstated


def why_no_limit(project: Project) -> str:
    """Why no limit is drawn for a project, as a sentence; "" where the conditions of docs/limit.md hold."""
    if project.settings.values != "amount":
        return "The limit is proved for amounts, not for answers of yes and no or for counts."
    if project.covariates is not None:
        return "The limit is not computed for releases with public numbers per hexagon."
    most_cells = min(MOST_CELLS, MOST_NODES) if project.settings.prior_mean else MOST_CELLS
    if project.domain.size > most_cells:
        return f"The limit is computed for at most {most_cells:,} hexagons: take coarser ones to see it."
    if np.unique(project.reference.index).size > MOST_OCCUPIED:
        return (
            f"The limit is computed for at most {MOST_OCCUPIED:,} hexagons with records: take coarser ones "
            "to see it."
        )
    return ""


@dataclass(frozen=True, eq=False)
class LossWorlds:
    """Fields drawn from the model of the map without privacy, and records in them: there the limit holds.

    Responses are those of `scale`. Every field has the same records' places, those of the reference data.
    Where a release starts from a public map, fields are what they differ from it by, as often under each of
    its drifts: whoever knows which one is true does no worse, so the limit is the mean of their limits.
    """

    facts: PublicFacts
    scale: ResponseScale
    cells: Ints  # (n,) of the records of the unit of protection
    # of the field at the k cells that hold records, in their order, (k, k) each: all are equally likely
    covariances: tuple[Floats, ...]
    scatter: float  # of a record around the field
    fields: Floats  # (W, N)

    @classmethod
    def of(cls, project: Project, free: Unconstrained, worlds: int = WORLDS) -> LossWorlds:
        """Draw them for a project; `WorkflowError` where the limit's conditions do not hold."""
        if why := why_no_limit(project):
            raise WorkflowError(why)
        facts = public_facts(project)
        if project.settings.prior_mean:
            return cls._about_a_map(project, facts, free, worlds)
        world = project_scene(project, facts, as_many(project, project.reference), project.response).world
        occupied = world.records.index
        prior = facts.prior(free.design.prior, free.design.lengthscale)
        fields = prior.colour(SimulationEntropy(SEED).normal((prior.white_size, worlds)))
        return cls(
            facts,
            project.response,
            np.repeat(occupied, world.records.count),
            (world.spread**2 * prior.correlation()[np.ix_(occupied, occupied)],),
            free.design.ridge * world.spread,
            world.middle + world.spread * fields.T,
        )

    @classmethod
    def _about_a_map(
        cls, project: Project, facts: PublicFacts, free: Unconstrained, worlds: int
    ) -> LossWorlds:
        field, scale, (observations, *_) = starting_point(project, free.design)
        offset = field.at_cells(project.lattice.domain_centres)
        records = project_scene(project, facts, observations, scale, offset).world.records
        beliefs, entropy = suppositions(TRUSTS), SimulationEntropy(SEED)
        map_root, drifted = field.roots
        at = np.ix_(records.index, records.index)
        about_map, drift_at = field.covariance[at], field.drift[at]
        return cls(
            replace(facts, field=field),
            scale,
            np.repeat(records.index, records.count),
            tuple(trust * about_map + drift**2 * drift_at for trust, drift in beliefs),
            field.scatter,
            np.array(
                [
                    np.sqrt(trust) * (map_root @ entropy.normal(field.nodes.size))
                    + drift * (drifted @ entropy.normal(field.nodes.size))
                    for trust, drift in beliefs * max(1, worlds // len(beliefs))
                ]
            ),
        )

    @cached_property
    def counts(self) -> Floats:
        """(k,) records of each cell that holds some."""
        return np.unique(self.cells, return_counts=True)[1].astype(np.float64)

    @cached_property
    def variance(self) -> float:
        """Of the field before any release, averaged over records."""
        variances = np.mean([np.diag(covariance) for covariance in self.covariances], axis=0)
        return float(np.average(variances, weights=self.counts))

    def lost(self, design: Design, response: ResponseScale) -> tuple[float, float]:
        """Share of the field's variance that releases of a design leave, averaged over records, and its s.e.

        `response` is the design's own scale; what it releases is moved to the scale of these worlds.
        """
        mechanism, entropy = mechanism_of(design), SimulationEntropy(SEED + 1)
        variant = replace(design, paths=1) if mechanism.free_paths else design
        wide, shift = self.scale.clip / response.clip, (self.scale.centre - response.centre) / response.clip
        left = []
        for field in self.fields:
            value = field[self.cells] + self.scatter * entropy.normal(self.cells.size)
            responses = np.clip(value * wide + shift, -1.0, 1.0)
            records = CollapsedRecords.from_records(self.cells, responses)
            released = draw_release(mechanism.prepare(variant, self.facts, records), entropy, simulation=True)
            estimate = released.paths.mean(axis=0) if released.mean is None else released.mean
            apart = ((estimate - shift) / wide - field)[self.cells]
            left.append(float(np.mean(np.square(apart))) / self.variance)
        return float(np.mean(left)), float(np.std(left, ddof=1) / np.sqrt(len(left)))

    def limit(self, epsilon: float, delta: float) -> float:
        """The least share that any release of the privacy curve of Gaussian noise can leave: proved."""
        steps = 2.0 if self.facts.relation == "add-or-remove" else 1.0  # a value leaves, and another comes
        mu = steps * gaussian_mu(epsilon, delta) * UP
        errors = [least_error(covariance, self.counts, self.scatter, mu) for covariance in self.covariances]
        return float(np.mean(errors)) / self.variance

    def bounds(self, design: Design) -> bool:
        """Whether the limit holds for a design: its release is mu-GDP."""
        return mechanism_of(design).guarantee(design, self.facts).exact_gaussian_mu is not None


@dataclass(frozen=True)
class Loss:
    """What one dot of the frontier loses: shares of the field's variance, 0 to 1, averaged over records."""

    number: int  # of the frontier's point
    epsilon: float
    design: Design
    lost: float
    error: float  # standard error over the worlds
    limit: float  # no release of the privacy curve of a Gaussian mechanism of this epsilon loses less


def losses(project: Project, result: SearchResult, report: Report | None = None) -> tuple[Loss, ...]:
    """What every design of a frontier loses whose release is mu-GDP, with the limit at its epsilon.

    `report(fraction, text)` may raise to cancel. Raise `WorkflowError` where no limit is drawn.
    """
    return tuple(_losses(answered(project, result), result, report or (lambda fraction, text: None)))


def _losses(project: Project, result: SearchResult, tell: Report) -> Iterator[Loss]:
    tell(0.0, "Drawing fields from the model of the map without privacy")
    worlds = LossWorlds.of(project, result.unconstrained)
    limits: dict[float, float] = {}
    for number, point in enumerate(result.frontier):
        design, epsilon = point.scored.design, point.epsilon
        if not worlds.bounds(design):
            continue
        tell(number / len(result.frontier), f"Simulating releases at epsilon {epsilon:g}")
        if epsilon not in limits:
            limits[epsilon] = worlds.limit(epsilon, project.delta)
        lost, error = worlds.lost(design, point.scored.response)
        yield Loss(number, epsilon, design, lost, error, limits[epsilon])
