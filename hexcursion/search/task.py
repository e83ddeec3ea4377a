"""What a search is asked and what it answers: tasks, scored designs, the frontier, and these as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpgp_core.errors import CoreError
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import Budget, Design, SearchSpec
from dpgp_core.mechanisms.grids import FRONTIER_EPSILONS
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import design_from_mapping
from dpgp_core.releasing import PublicFacts
from dpgp_core.simulation import Agreement, World, average
from hexcursion.errors import WorkflowError
from hexcursion.project.response import ResponseScale
from hexcursion.settings.names import Objective

Bools = NDArray[np.bool_]
Edge = Literal["smallest", "largest"]


def known(figure: float) -> float | None:
    """The figure, or None where it is not known: NaN."""
    return figure if math.isfinite(figure) else None


@dataclass(frozen=True)
class Utility:
    """What a design achieves on reference data; NaN where a figure is not computed or has no meaning."""

    # expected IoU of the released set with the reference baseline over the whole domain, by which a search
    # ranks designs; what screens show of a design is about the hexagons that its releases judge
    agreement: float
    agreement_sd: float  # its standard deviation over simulated releases
    # expected IoU with held-out cells' labels, run without their records; of an answer only
    holdout_iou: float = math.nan
    bce: float = math.nan  # binary cross-entropy of the exceedance probabilities on held-out cells
    effective_dimension: float = math.nan  # `tr K (K + r^2)^-1`
    # expected |released area - baseline area| over the baseline area, share of the shown hexagons that are
    # right, and IoU, from `low` to `high`, in which a release lies with a chance of 80 % by simulated worlds,
    # both NaN on reference data, of which one world is known; of a shown design within judged hexagons
    area_error: float = math.nan
    right: float = math.nan
    low: float = math.nan
    high: float = math.nan
    error: float = 0.0  # standard error of `agreement` over simulated releases, or over several worlds
    gain: float = math.nan  # how much better it agrees than with exchanged values: `Scene.gains`
    # share of records on the side that the map shows, over the hexagons that a release judges; the same of
    # the better map of one colour, of the public map and of a release of exchanged values; and how much
    # larger the first is than the better of the next two
    records: float = math.nan
    records_sd: float = math.nan  # its standard deviation over simulated releases
    aim_records: float = math.nan  # the same share of the map to be reached
    colour_records: float = math.nan
    public_records: float = math.nan
    mixed_records: float = math.nan
    records_gain: float = math.nan
    judged_iou: float = math.nan  # expected IoU of the shown set, within the hexagons that a release judges
    # what its releases tell of themselves, as `Promise` has it; NaN for those that tell no chances
    orange: float = math.nan
    finds: float = math.nan
    worlds: tuple[float, ...] = ()  # IoU in each of several worlds, NaN where its map has one side only

    @property
    def known_agreement(self) -> float:
        """The agreement as a rank: 0, as for two maps without a common cell, where it is undefined."""
        return known(self.agreement) or 0.0

    @property
    def known_records(self) -> float:
        """The share of records as a rank: 0 where no record is judged."""
        return known(self.records) or 0.0

    @property
    def records_spread(self) -> float:
        """The deviation of `records`: 0 where a single release shows none."""
        return known(self.records_sd) or 0.0

    @classmethod
    def of(cls, agreement: Agreement) -> Utility:
        """What simulated released sets achieve; the rest is not computed yet."""
        return cls(
            agreement.iou,
            agreement.iou_sd,
            area_error=agreement.area_error,
            right=agreement.right,
            low=agreement.low,
            high=agreement.high,
            error=agreement.error,
            worlds=agreement.worlds,
        )


@dataclass(frozen=True)
class Scored:
    """A design with its response scale, its cost at the task's delta and its utility on reference data."""

    design: Design
    response: ResponseScale
    epsilon: float  # upper bound; `inf` where no finite guarantee exists
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
    """One world of the search and the response scale behind it."""

    response: ResponseScale
    world: World
    # worlds of further simulated fields: a design is judged by the average over all
    others: tuple[World, ...] = ()
    controls: tuple[World, ...] = ()  # every so many of these worlds, values exchanged among places

    @property
    def worlds(self) -> tuple[World, ...]:
        """All of them; as many in every scene of a task."""
        return (self.world, *self.others)

    def agreement(self, design: Design) -> Agreement:
        """How simulated releases of a design compare with the maps to be reached."""
        return self.agreements((design,))[0]

    def agreements(self, designs: Sequence[Design]) -> list[Agreement]:
        """The same of several designs, world by world: what they share in a world is made once."""
        by_world = [
            [world.agreement(questions.simulate(design, world)) for design in designs]
            for world in self.worlds
        ]
        return [over(of_design) for of_design in zip(*by_world, strict=True)]

    def gained(self, design: Design, utility: Utility) -> Utility:
        """Return what a design achieves with its mean gain."""
        gains = self.gains(design, utility.worlds)
        return replace(utility, gain=float(np.mean(gains))) if gains else utility

    def gains(self, design: Design, worlds: Sequence[float] = ()) -> list[float]:
        """Return how much better (IoU) releases agree than those of values exchanged among places.

        Both are compared with the map of the values in their places; `worlds` is the agreement in each world
        where it is known. One number for each control, none where the map to be reached has one side only.
        """
        if not self.controls:
            return []
        step = len(self.worlds) // len(self.controls)
        agreements = worlds or [
            world.agreement(questions.simulate(design, world)).iou for world in self.worlds
        ]
        gains = [
            agreement - world.agreement(questions.simulate(design, control)).iou
            for agreement, world, control in zip(
                agreements[::step], self.worlds[::step], self.controls, strict=True
            )
        ]
        return [gain for gain in gains if math.isfinite(gain)]


def quick_agreement(design: Design, world: World) -> Agreement:
    """The agreement by which a search ranks its candidates: quicker, where its mechanism can."""
    return world.agreement(questions.simulate(design, world, quick=True))


def over(agreements: Sequence[Agreement]) -> Agreement:
    """The agreement over all worlds of a scene."""
    return agreements[0] if len(agreements) == 1 else average(agreements)


@dataclass(frozen=True)
class SearchTask:
    """What the search is asked; picklable, and without anything private but the public number of records."""

    scenes: tuple[Scene, ...]  # one per response scale that is tried
    baseline_scene: Scene  # fits the baseline without privacy, without a public prior mean
    facts: PublicFacts
    budget: Budget
    ask: SearchSpec
    mechanisms: tuple[str, ...]
    objective: Objective = "iou"  # "iou" (expected agreement) or "bce" (the paper's)
    frontier: tuple[float, ...] = FRONTIER_EPSILONS  # further epsilons at which designs are shown
    walked: tuple[float, ...] = ()  # epsilons beyond these, for mechanisms with quick simulations
    unconstrained: Unconstrained | None = None  # the baseline's design where it is known already
    public_mean: bool = False  # whether the scenes' records are residuals of the public map
    unsearched: bool = False  # whether no reference data tell designs apart: fixed designs are not searched

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
        """Return the same task with another map to be reached, the set `baseline`, (N,)."""
        scenes = tuple(replace(scene, world=scene.world.aiming_at(baseline)) for scene in self.scenes)
        plain = Scene(self.baseline_scene.response, self.baseline_scene.world.aiming_at(baseline))
        return replace(self, scenes=scenes, baseline_scene=plain)

    def scene_of(self, response: ResponseScale) -> Scene:
        """Return the scene of a response scale; `WorkflowError` for one that the search did not try."""
        for scene in self.scenes:
            if scene.response == response:
                return scene
        raise WorkflowError("the response scale is none of the search's own.")


@dataclass(frozen=True)
class LeftEarly:
    """A mechanism that was not searched to its end, because a first pass lay far behind another's best."""

    mechanism: str
    designs: int  # number of designs scored
    agreement: float  # the best IoU among them


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What the search found; every utility figure is on reference data."""

    # best held-out BCE without privacy: the baseline's design, with its own epsilon
    unconstrained: Unconstrained
    chosen: Scored
    frontier: tuple[FrontierPoint, ...]  # best design per (mechanism, prior) and epsilon, epsilon increasing
    baseline: Bools  # (N,) reference excursion set of the unconstrained design
    evaluated: int  # number of designs scored
    objective: Objective
    # (what, "smallest" or "largest") of choices at the end of the tried range
    on_edge: tuple[tuple[str, Edge], ...] = ()
    public_mean: bool = False  # whether the compared releases start from the public map
    # the chosen design with every cutoff tried, largest first; empty for one
    cutoffs: tuple[Scored, ...] = ()
    left_early: tuple[LeftEarly, ...] = ()  # not searched to their end
    # shares inside of further simulated fields' maps; agreements average over them
    further: tuple[float, ...] = ()
    free_worlds: tuple[float, ...] = ()  # IoU of the free map in each of several predicted worlds
    fixed: bool = False  # whether the chosen design was not searched, for want of reference data

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
    return design.mechanism, str(getattr(design, "prior", ""))


_NONE = (
    "A worker of the Dask cluster sent no answer of this search: let every worker run the same version of "
    "this program."
)
RECORDS = (
    "records",
    "records_sd",
    "aim_records",
    "colour_records",
    "public_records",
    "mixed_records",
    "records_gain",
    "judged_iou",
    "orange",
    "finds",
)
_PLAIN = (type(None), bool, int, float, str)


def scored_mapping(candidate: Scored) -> dict[str, Any]:
    """Return a scored design as plain values without unknown figures, for `scored_from` to read back."""
    utility = asdict(candidate.utility)
    for name in RECORDS:
        if math.isnan(utility[name]):
            del utility[name]
    if math.isnan(candidate.utility.low):
        del utility["low"], utility["high"]
    if not candidate.utility.worlds:
        del utility["worlds"]
    return {
        "design": candidate.design.to_mapping(),
        "response": asdict(candidate.response),
        "epsilon": candidate.epsilon,
        "utility": utility,
    }


def scored_from(stored: Mapping[str, Any]) -> Scored:
    """The scored design that `scored_mapping` wrote; a `CoreError` where its design is invalid."""
    return Scored(design_from_mapping(stored["design"]), *judged_from(stored))


def judged_from(stored: Mapping[str, Any]) -> tuple[ResponseScale, float, Utility]:
    """Everything but the design of what `scored_mapping` wrote."""
    figures = dict(stored["utility"])
    worlds = tuple(map(float, figures.pop("worlds", ())))
    utility = Utility(**{name: float(value) for name, value in figures.items()}, worlds=worlds)
    return ResponseScale(**stored["response"]), float(stored["epsilon"]), utility


def answer_bytes(answer: Any) -> bytes:
    """Write numbers, texts, None and (scored) designs, in lists and tuples, as JSON, or raise `TypeError`."""
    return json.dumps(_written(answer)).encode()


def answer_from(content: object) -> Any:
    """Read what `answer_bytes` wrote, and make no other objects than those.

    Raise `WorkflowError` for anything else.
    """
    if isinstance(content, bytes):
        try:
            return _read(json.loads(content))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, CoreError):
            pass
    raise WorkflowError(_NONE)


def _written(answer: Any) -> Any:
    if type(answer) in _PLAIN:
        return answer
    if isinstance(answer, float):  # a number of NumPy's
        return float(answer)
    if isinstance(answer, list):
        return [_written(item) for item in answer]
    if isinstance(answer, tuple):
        return {"tuple": [_written(item) for item in answer]}
    if isinstance(answer, Design):
        return {"design": answer.to_mapping()}
    if type(answer) is Scored:
        return {"scored": scored_mapping(answer)}
    raise TypeError(f"An answer of a search is made of numbers, texts and designs, not {type(answer)}.")


def _read(stored: Any) -> Any:
    if type(stored) in _PLAIN:
        return stored
    if isinstance(stored, list):
        return [_read(item) for item in stored]
    ((kind, inner),) = stored.items()
    if kind == "tuple":
        return tuple(_read(item) for item in inner)
    if kind == "design":
        return design_from_mapping(inner)
    if kind == "scored":
        return scored_from(inner)
    raise WorkflowError(_NONE)
