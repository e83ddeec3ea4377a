"""What a search is asked and what it answers: tasks, scored designs and the frontier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgp_core.design import Design
from workflow.candidates import FRONTIER_EPSILONS
from workflow.evaluation import Evaluator, Utility
from workflow.released import ResponseScale

Bools = NDArray[np.bool_]


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
class FrontierPoint:
    """The best design found for one mechanism and prior at one epsilon."""

    epsilon: float
    scored: Scored


@dataclass(frozen=True)
class SearchTask:
    """What the search is asked: judges on reference data (one per clip bound), the public n and the budget.

    `unconstrained` is the baseline's design where it is known already; `baseline_judge` fits the non-private
    baseline, without a public prior mean.
    """

    judges: tuple[Evaluator, ...]
    baseline_judge: Evaluator
    n: int
    epsilon: float
    delta: float
    paths: int
    priors: tuple[str, ...]
    mechanisms: tuple[str, ...]
    objective: str = "iou"
    bound: str | None = None
    quick: bool = False
    frontier: tuple[float, ...] = FRONTIER_EPSILONS
    unconstrained: Scored | None = None

    def loss(self, utility: Utility) -> float:
        """What the search minimises."""
        return utility.bce if self.objective == "bce" else -utility.agreement


@dataclass(frozen=True)
class SearchResult:
    """What the search found; every utility figure is on reference data.

    unconstrained   best held-out BCE without privacy: the baseline's design, with its own epsilon
    chosen          best design under the constraint
    frontier        best design per (mechanism, prior) and epsilon, epsilon increasing
    baseline        (N,) reference excursion set of the unconstrained design
    evaluated       number of designs scored
    """

    unconstrained: Scored
    chosen: Scored
    frontier: tuple[FrontierPoint, ...]
    baseline: Bools
    evaluated: int
    objective: str

    @property
    def bce_increase(self) -> float:
        """Relative increase of the held-out BCE under the constraint."""
        return self.chosen.utility.bce / self.unconstrained.utility.bce - 1.0

    @property
    def iou_gap(self) -> float:
        """Relative loss of held-out IoU under the constraint."""
        free = self.unconstrained.utility.holdout_iou
        return (free - self.chosen.utility.holdout_iou) / free if free > 0 else 0.0

    def smallest_epsilon_for(self, agreement: float) -> FrontierPoint | None:
        """The cheapest point of the frontier that reaches this agreement on reference data, or None."""
        reached = [point for point in self.frontier if point.scored.utility.agreement >= agreement]
        return min(reached, key=lambda point: point.epsilon) if reached else None
