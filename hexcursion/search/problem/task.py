"""What a search is asked and what it answers: tasks, scored designs and the frontier."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.grids import FRONTIER_EPSILONS
from dpgp_core.mechanisms.paths.design import PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.mechanisms.terms import Ask, Budget
from dpgp_core.releasing.facts import PublicFacts
from dpgp_core.simulation.world import Agreement, World, average
from hexcursion.errors import WorkflowError
from hexcursion.project.response import ResponseScale
from hexcursion.settings.words import Objective

Bools = NDArray[np.bool_]
Edge = Literal["smallest", "largest"]


@dataclass(frozen=True)
class Utility:
    """What a design achieves on reference data.

    Parameters
    ----------
    agreement, agreement_sd
        Expected IoU of the released set with the reference baseline over the whole domain, and its standard
        deviation over simulated releases; NaN where that baseline has one side only.
    holdout_iou
        Expected IoU with the held-out cells' own labels, the design being run without their records;
        computed for a search's answer only, otherwise NaN.
    bce
        Binary cross-entropy of the exceedance probabilities on held-out cells; NaN where not computed.
    effective_dimension
        `tr K (K + r^2)^-1`; NaN where not computed or without meaning.
    area_error
        Expected |released area - baseline area| over the baseline area; NaN where that map is empty.
    right
        Expected share of the shown hexagons that are right; NaN where nothing is shown.
    low, high
        Agreements (IoU) between which a release lies with a chance of 80 %, by simulated worlds; NaN on
        reference data, of which one world is known.
    error
        Standard error of `agreement` over simulated releases, or over several worlds.
    gain
        How much better it agrees than with values exchanged among places; NaN where not computed. See
        `Scene.gain`.
    """

    agreement: float
    agreement_sd: float
    holdout_iou: float = math.nan
    bce: float = math.nan
    effective_dimension: float = math.nan
    area_error: float = math.nan
    right: float = math.nan
    low: float = math.nan
    high: float = math.nan
    error: float = 0.0
    gain: float = math.nan

    @property
    def known_agreement(self) -> float:
        """The agreement as a rank: 0, as for two maps without a common cell, where it is undefined."""
        return self.agreement if math.isfinite(self.agreement) else 0.0

    @classmethod
    def of(cls, found: Agreement) -> Utility:
        """What simulated released sets achieve; the rest is not computed yet."""
        return cls(
            found.iou, found.iou_sd, area_error=found.area_error, right=found.right, low=found.low,
            high=found.high, error=found.error,
        )  # fmt: skip


@dataclass(frozen=True)
class Scored:
    """A design with its response scale, its cost at the task's delta and its utility on reference data.

    `epsilon` is an upper bound; `inf` where no finite guarantee exists.
    """

    design: Design
    response: ResponseScale
    epsilon: float
    utility: Utility


@dataclass(frozen=True)
class Unconstrained(Scored):
    """The baseline's design: a Gaussian process without privacy, with what releasing it would cost."""

    design: PosteriorSamplingDesign


@dataclass(frozen=True)
class FrontierPoint:
    """The best design found for one mechanism and prior at one epsilon."""

    epsilon: float
    scored: Scored


@dataclass(frozen=True)
class Scene:
    """One world of the search and the response scale behind it.

    Parameters
    ----------
    others
        Worlds of further simulated fields, each with its own map to be reached: a design is judged by the
        average over all of them.
    controls
        Every so many of these worlds, from the first on, with their values exchanged among places.
    """

    response: ResponseScale
    world: World
    others: tuple[World, ...] = ()
    controls: tuple[World, ...] = ()

    @property
    def worlds(self) -> tuple[World, ...]:
        """All of them; as many in every scene of a task."""
        return (self.world, *self.others)

    def agreement(self, design: Design) -> Agreement:
        """How simulated releases of a design compare with the maps to be reached."""
        return self.agreements((design,))[0]

    def agreements(self, designs: Sequence[Design]) -> list[Agreement]:
        """The same of several designs, world by world: what they share in a world is made once."""
        found = [
            [world.agreement(mechanism_of(design).simulate(design, world)) for design in designs]
            for world in self.worlds
        ]
        return [over(each) for each in zip(*found, strict=True)]

    def gain(self, design: Design) -> float:
        """How much better (IoU) releases agree than those of values that were exchanged among places.

        Both are compared with the map of the values in their places. NaN where there are no controls, or the
        map to be reached has one side only.
        """
        if not self.controls:
            return math.nan
        simulate = mechanism_of(design).simulate
        pairs = zip(self.worlds[:: len(self.worlds) // len(self.controls)], self.controls, strict=True)
        gains = [
            world.agreement(simulate(design, world)).iou - world.agreement(simulate(design, control)).iou
            for world, control in pairs
        ]
        known = [gain for gain in gains if math.isfinite(gain)]
        return float(np.mean(known)) if known else math.nan


def glanced(design: Design, world: World) -> Agreement:
    """The agreement by which a search ranks its candidates: quicker, where its mechanism can."""
    return world.agreement(mechanism_of(design).glance(design, world))


def over(found: Sequence[Agreement]) -> Agreement:
    """The agreement over all worlds of a scene."""
    return found[0] if len(found) == 1 else average(found)


@dataclass(frozen=True)
class SearchTask:
    """What the search is asked; picklable, and without anything private but the public number of records.

    Parameters
    ----------
    scenes
        One per response scale that is tried.
    baseline_scene
        Fits the non-private baseline, without a public prior mean.
    facts
        Public facts of the planned release.
    budget
        Epsilon, delta and, where asked for, the bound.
    ask
        Priors, paths and size of the grid.
    mechanisms
        Names of the mechanisms to try.
    objective
        "iou" (expected agreement) or "bce" (the paper's).
    frontier
        Further epsilons at which designs are shown.
    walked
        Epsilons beyond these at which mechanisms with quick simulations are tried, and shown.
    unconstrained
        The baseline's design where it is known already.
    public_mean
        Whether the scenes' records are residuals of the public map.
    unsearched
        Whether no reference data tell designs apart: a mechanism that has a fixed design is not searched.
    """

    scenes: tuple[Scene, ...]
    baseline_scene: Scene
    facts: PublicFacts
    budget: Budget
    ask: Ask
    mechanisms: tuple[str, ...]
    objective: Objective = "iou"
    frontier: tuple[float, ...] = FRONTIER_EPSILONS
    walked: tuple[float, ...] = ()
    unconstrained: Unconstrained | None = None
    public_mean: bool = False
    unsearched: bool = False

    @property
    def n(self) -> int:
        """The public number of records."""
        return self.facts.n

    @property
    def epsilon(self) -> float:
        """The budget that is asked for."""
        return self.budget.epsilon

    def loss(self, utility: Utility) -> float:
        """What the search minimises; an agreement that is undefined counts as none."""
        return utility.bce if self.objective == "bce" else -utility.known_agreement

    def aiming_at(self, baseline: Bools) -> SearchTask:
        """The same task with another map to be reached.

        Parameters
        ----------
        baseline
            (N,) the map's set
        """
        scenes = tuple(replace(scene, world=scene.world.aiming_at(baseline)) for scene in self.scenes)
        plain = Scene(self.baseline_scene.response, self.baseline_scene.world.aiming_at(baseline))
        return replace(self, scenes=scenes, baseline_scene=plain)

    def scene_of(self, response: ResponseScale) -> Scene:
        """The scene of a response scale.

        Raises
        ------
        WorkflowError
            For one that the search did not try.
        """
        for scene in self.scenes:
            if scene.response == response:
                return scene
        raise WorkflowError("the response scale is none of the search's own.")


@dataclass(frozen=True)
class LeftEarly:
    """A mechanism that was not searched to its end, because a first pass lay far behind another's best.

    Parameters
    ----------
    mechanism
        Its name in `MECHANISMS`.
    designs
        Number of designs scored.
    agreement
        The best IoU among them.
    """

    mechanism: str
    designs: int
    agreement: float


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What the search found; every utility figure is on reference data.

    Parameters
    ----------
    unconstrained
        Best held-out BCE without privacy: the baseline's design, with its own epsilon.
    chosen
        Best design under the constraint.
    frontier
        Best design per (mechanism, prior) and epsilon, epsilon increasing.
    baseline
        (N,) reference excursion set of the unconstrained design.
    evaluated
        Number of designs scored.
    on_edge
        (what, "smallest" or "largest") of everything chosen that lies at the end of what was tried.
    cutoffs
        The chosen design with every cutoff that was tried, largest first; empty where it has one only.
    public_mean
        Whether the releases that were compared start from the public map.
    left_early
        Mechanisms that were not searched to their end.
    further
        Shares inside of the maps of further simulated fields, over which agreements are averages.
    fixed
        Whether the chosen design was not searched, for want of reference data.
    """

    unconstrained: Unconstrained
    chosen: Scored
    frontier: tuple[FrontierPoint, ...]
    baseline: Bools
    evaluated: int
    objective: Objective
    on_edge: tuple[tuple[str, Edge], ...] = ()
    public_mean: bool = False
    cutoffs: tuple[Scored, ...] = ()
    left_early: tuple[LeftEarly, ...] = ()
    further: tuple[float, ...] = ()
    fixed: bool = False

    @property
    def one_colour(self) -> float:
        """IoU of the map that calls every hexagon inside, averaged as agreements are."""
        first = float(self.baseline.mean())
        return float(np.mean([share for share in (first, *self.further) if 0.0 < share < 1.0] or [first]))

    @property
    def model(self) -> PosteriorSamplingDesign:
        """The Gaussian process behind the non-private baseline."""
        return self.unconstrained.design

    @property
    def loss(self) -> float:
        """What the search has minimised, of its answer."""
        return self.loss_of(self.chosen.utility)

    def loss_of(self, utility: Utility) -> float:
        """What the search has minimised, of any design."""
        return utility.bce if self.objective == "bce" else -utility.known_agreement

    @property
    def bce_increase(self) -> float:
        """Relative increase of the held-out BCE under the constraint."""
        return self.chosen.utility.bce / self.unconstrained.utility.bce - 1.0

    @property
    def iou_gap(self) -> float:
        """Relative loss of held-out IoU under the constraint."""
        free = self.unconstrained.utility.holdout_iou
        return (free - self.chosen.utility.holdout_iou) / free if free > 0 else math.nan


def family_of(design: Design) -> tuple[str, str]:
    """Mechanism and, where the design has one, prior: what the frontier compares."""
    return design.mechanism, mechanism_of(design).family_of(design)
